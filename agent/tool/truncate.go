package tool

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// The limits of what a tool shows at once, from spec/pi.md §4. The one that is
// met first counts.
const (
	MaxLines = 2000  // lines
	MaxBytes = 51200 // bytes of UTF-8, 50 KiB
)

// noLineLimit stands for "no limit" in a record, pi's largest safe integer.
const noLineLimit = 1<<53 - 1 // lines

// Cut says which limit cut an output. The zero value is null in JSON: nothing
// was cut.
type Cut string

// The limits that can cut.
const (
	CutNone  Cut = ""
	CutLines Cut = "lines"
	CutBytes Cut = "bytes"
)

// MarshalJSON writes null for CutNone.
func (c Cut) MarshalJSON() ([]byte, error) {
	if c == CutNone {
		return []byte("null"), nil
	}
	return []byte(`"` + string(c) + `"`), nil
}

// Truncation is pi's record of how an output was cut, as it stands in the
// details of a result. A trailing line feed does not begin a line. Sizes are in
// bytes of UTF-8.
type Truncation struct {
	Content               string `json:"content"` // what is shown, without notes
	Truncated             bool   `json:"truncated"`
	TruncatedBy           Cut    `json:"truncatedBy"`
	TotalLines            int    `json:"totalLines"`
	TotalBytes            int    `json:"totalBytes"`
	OutputLines           int    `json:"outputLines"`
	OutputBytes           int    `json:"outputBytes"`
	LastLinePartial       bool   `json:"lastLinePartial"`       // tail only: the end of one long line is shown
	FirstLineExceedsLimit bool   `json:"firstLineExceedsLimit"` // head only: nothing could be shown
	MaxLines              int    `json:"maxLines"`
	MaxBytes              int    `json:"maxBytes"`
}

// size is how much there is of a text.
type size struct{ lines, bytes int }

func sizeOf(text string) size {
	s := size{lines: strings.Count(text, "\n"), bytes: len(text)}
	if text != "" && !strings.HasSuffix(text, "\n") {
		s.lines++
	}
	return s
}

// cutter holds the limits of one truncation.
type cutter struct{ maxLines, maxBytes int }

var standardCut = cutter{MaxLines, MaxBytes}

func (c cutter) fits(s size) bool { return s.lines <= c.maxLines && s.bytes <= c.maxBytes }

// whole is the record of a text that fits.
func (c cutter) whole(text string, s size) Truncation {
	return Truncation{
		Content:    text,
		TotalLines: s.lines, TotalBytes: s.bytes,
		OutputLines: s.lines, OutputBytes: s.bytes,
		MaxLines: c.maxLines, MaxBytes: c.maxBytes,
	}
}

// head keeps the first whole lines of a text. start may be just the beginning
// of the text, whose whole size is s, as long as it holds maxBytes+2 bytes: a
// line that start holds only a part of is then too long anyway, and a line that
// ends at the limit is seen to have a follower.
func (c cutter) head(start string, s size) Truncation {
	if c.fits(s) {
		return c.whole(start, s)
	}
	t := Truncation{
		Truncated: true, TruncatedBy: CutLines,
		TotalLines: s.lines, TotalBytes: s.bytes,
		MaxLines: c.maxLines, MaxBytes: c.maxBytes,
	}
	end := 0 // of the lines kept
	for next := 0; next < len(start) && t.OutputLines < c.maxLines; {
		lineEnd := len(start)
		if i := strings.IndexByte(start[next:], '\n'); i >= 0 {
			lineEnd = next + i
		}
		if lineEnd > c.maxBytes {
			t.TruncatedBy = CutBytes
			break
		}
		end, next = lineEnd, lineEnd+1
		t.OutputLines++
	}
	t.FirstLineExceedsLimit = t.OutputLines == 0
	t.Content, t.OutputBytes = start[:end], end
	return t
}

// tail keeps the last whole lines of a text, or the end of its last line where
// that alone is too long. end may be just the end of the text, whose whole size
// is s, as long as it holds maxBytes+2 bytes: one for a trailing line feed, one
// to tell that a line is too long.
func (c cutter) tail(end string, s size) Truncation {
	if c.fits(s) {
		return c.whole(end, s)
	}
	t := Truncation{
		Truncated: true, TruncatedBy: CutLines,
		TotalLines: s.lines, TotalBytes: s.bytes,
		MaxLines: c.maxLines, MaxBytes: c.maxBytes,
	}
	body := strings.TrimSuffix(end, "\n")
	start := len(body) + 1 // of the lines kept
	for start > 0 && t.OutputLines < c.maxLines {
		lineStart := strings.LastIndexByte(body[:start-1], '\n') + 1
		if len(body)-lineStart > c.maxBytes {
			t.TruncatedBy = CutBytes
			break
		}
		start = lineStart
		t.OutputLines++
	}
	if t.OutputLines == 0 {
		start = runeStartAfter(body, len(body)-c.maxBytes)
		t.OutputLines, t.LastLinePartial = 1, true
	}
	t.Content = body[start:]
	t.OutputBytes = len(t.Content)
	return t
}

// runeStartAfter is the first boundary of a rune at or after i, so that no
// half of a rune is shown.
func runeStartAfter(s string, i int) int {
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	return i
}

// formatSize prints a size as pi does: B, KB or MB in steps of 1024, with one
// decimal.
func formatSize(bytes int) string {
	const kib, mib = 1 << 10, 1 << 20 // bytes
	switch {
	case bytes < kib:
		return fmt.Sprintf("%dB", bytes)
	case bytes < mib:
		return fmt.Sprintf("%.1fKB", float64(bytes)/kib)
	}
	return fmt.Sprintf("%.1fMB", float64(bytes)/mib)
}
