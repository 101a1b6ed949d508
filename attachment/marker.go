package attachment

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// markerStart begins a marker.
const markerStart = "[attachment id="

// The largest parts of a marker that is read, in bytes. They keep reading linear:
// a start without an end costs at most their sum.
const (
	maxMarkerType = 255
	maxMarkerName = 4 * maxName
)

// Marker is the one line that stands for an attachment in a text:
//
//	[attachment id=att_… type=image/png name=cat.png]
//
// A name cannot end it, break the line, or begin another: brackets become round,
// and whatever does not print becomes a blank. The type loses its parameters. The
// real name is in the descriptor.
func Marker(d Descriptor) string {
	return markerStart + d.ID.String() + " type=" + markerType(d.MimeType) + " name=" + markerName(d.Name) + "]"
}

func markerType(mimeType string) string {
	kind := kindOf(mimeType)
	if kind == "" || len(kind) > maxMarkerType || strings.ContainsFunc(kind, func(r rune) bool {
		return r <= ' ' || r >= utf8.RuneSelf || r == '[' || r == ']'
	}) {
		return octets
	}
	return kind
}

func markerName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r == '[':
			return '('
		case r == ']':
			return ')'
		case r == utf8.RuneError || !unicode.IsPrint(r) && !joins(r):
			return ' '
		}
		return r
	}, name)
	return strings.TrimRight(cut(strings.Join(strings.Fields(name), " "), maxName), " ")
}

// joins are the signs without a shape of their own that hold emoji and scripts
// together. Those that turn the direction of writing are not among them.
func joins(r rune) bool { return r == '\u200c' || r == '\u200d' || r == '\ufe0f' }

// Markers are the lines for several attachments, in order.
func Markers(list []Descriptor) string {
	lines := make([]string, len(list))
	for i, d := range list {
		lines[i] = Marker(d)
	}
	return strings.Join(lines, "\n")
}

// Inject puts markers in front of a message, with a blank line between. Without
// attachments the message is unchanged.
func Inject(list []Descriptor, text string) string {
	if len(list) == 0 {
		return text
	}
	return Markers(list) + "\n\n" + text
}

// Found is a marker in a text.
type Found struct {
	Start, End int // bytes of the text
	ID         ID
	MimeType   string
	Name       string // as the marker has it; the descriptor's is the real one
}

// FindMarkers finds the markers of a text from left to right, in time that grows
// with its length alone. A marker gives no right: whoever opens what it names asks
// Scope first. Only a user's own message is searched; a marker that a tool or a
// file printed is text.
func FindMarkers(text string) []Found { return findMarkers(text, func(int) {}) }

// findMarkers tells look how many bytes each start made it look at.
func findMarkers(text string, look func(bytes int)) []Found {
	var list []Found
	for at := 0; ; {
		i := strings.Index(text[at:], markerStart)
		if i < 0 {
			return list
		}
		at += i
		f, ok := parseMarker(text[at:], look)
		if !ok {
			at += len(markerStart)
			continue
		}
		f.Start, f.End = at, at+f.End
		list = append(list, f)
		at = f.End
	}
}

// Title is what a user's text says in a list: the text without its markers, and
// where nothing else is said, the names of the files.
func Title(text string) string {
	found := FindMarkers(text)
	if len(found) == 0 {
		return text
	}
	var b strings.Builder
	var names []string
	at := 0
	for _, f := range found {
		b.WriteString(text[at:f.Start])
		at = f.End
		names = append(names, f.Name)
	}
	b.WriteString(text[at:])
	if strings.TrimSpace(b.String()) == "" {
		return strings.Join(names, ", ")
	}
	return strings.TrimLeft(b.String(), "\r\n")
}

// parseMarker reads the marker at the start of text; End is its length.
func parseMarker(text string, look func(bytes int)) (f Found, ok bool) {
	at := len(markerStart)
	if len(text) < at+idLength {
		return f, false
	}
	look(idLength)
	id, err := ParseID(text[at : at+idLength])
	if err != nil {
		return f, false
	}
	f.ID = id
	at += idLength
	rest, ok := strings.CutPrefix(text[at:], " type=")
	if !ok {
		return f, false
	}
	part := head(rest, maxMarkerType+1)
	look(len(part))
	end := strings.IndexAny(part, " ]\n\r\t")
	if end <= 0 || rest[end] != ' ' {
		return f, false
	}
	f.MimeType = rest[:end]
	if rest, ok = strings.CutPrefix(rest[end:], " name="); !ok {
		return f, false
	}
	part = head(rest, maxMarkerName+1)
	look(len(part))
	end = strings.IndexAny(part, "]\n\r")
	if end < 0 || rest[end] != ']' {
		return f, false
	}
	f.Name = rest[:end]
	f.End = len(text) - len(rest) + end + 1
	return f, true
}

func head(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
