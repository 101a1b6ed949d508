package tool

import "strings"

// toLF writes every line end as LF: CRLF and a lone CR too.
func toLF(text string) string {
	if !strings.Contains(text, "\r") {
		return text
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
}

// splice applies a plan that was made for toLF(original) to original. What the
// plan does not replace keeps its bytes, line ends included; the line ends of a
// new text become that of the line where it goes in. So toLF of the result is
// the plan applied to toLF(original).
func splice(original string, plan []replacement) string {
	var out seamWriter
	offsets := newOffsetMap(original)
	at := 0
	for _, r := range plan {
		start := offsets.original(r.start)
		out.write(original[at:start])
		text := r.text
		if ending := lineEndAt(original, start); ending != "\n" {
			text = strings.ReplaceAll(text, "\n", ending)
		}
		out.write(text)
		at = offsets.original(r.end)
	}
	out.write(original[at:])
	return out.String()
}

// offsetMap translates growing offsets of toLF(text) into offsets of text. Only
// CRLF changes lengths; the offset of its LF becomes that of its CR, so that
// neither half is ever left alone.
type offsetMap struct {
	text  string
	next  int // offset in text of the next CRLF, -1 after the last
	crlfs int // before next
}

func newOffsetMap(text string) *offsetMap {
	return &offsetMap{text: text, next: strings.Index(text, "\r\n")}
}

func (m *offsetMap) original(lf int) int {
	for m.next >= 0 && m.next-m.crlfs < lf {
		m.crlfs++
		after := m.next + len("\r\n")
		if m.next = strings.Index(m.text[after:], "\r\n"); m.next >= 0 {
			m.next += after
		}
	}
	return lf + m.crlfs
}

// lineEndAt is the line end of the line that holds offset; for a last line
// without one it is that of the line before. CR counts only in a text without
// any LF, as the files of old Macs are: elsewhere it is a character in a line.
func lineEndAt(text string, offset int) string {
	feed := strings.IndexByte(text[offset:], '\n')
	if feed >= 0 {
		feed += offset
	} else {
		feed = strings.LastIndexByte(text[:offset], '\n')
	}
	switch {
	case feed < 0 && strings.Contains(text, "\r"):
		return "\r"
	case feed > 0 && text[feed-1] == '\r':
		return "\r\n"
	}
	return "\n"
}

// seamWriter joins pieces. Where one ends in CR and the next begins with LF,
// two line ends would become one CRLF; a further LF keeps them two.
type seamWriter struct {
	strings.Builder
	endsInCR bool
}

func (w *seamWriter) write(piece string) {
	if piece == "" {
		return
	}
	if w.endsInCR && piece[0] == '\n' {
		w.WriteByte('\n')
	}
	w.WriteString(piece)
	w.endsInCR = piece[len(piece)-1] == '\r'
}

// applyPlan applies a plan to the text that it was made for.
func applyPlan(text string, plan []replacement) string {
	var out strings.Builder
	at := 0
	for _, r := range plan {
		out.WriteString(text[at:r.start])
		out.WriteString(r.text)
		at = r.end
	}
	out.WriteString(text[at:])
	return out.String()
}
