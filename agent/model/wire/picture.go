package wire

import (
	_ "embed"
	"strings"

	"github.com/piweb-go/piweb/message"
)

// The only words of our own that every wire may show a provider. Each stands
// where something cannot be sent as it is.
var (
	//go:embed prose/no-picture-input.md
	proseNoPictureInput string
	//go:embed prose/bad-picture.md
	proseBadPicture string
	//go:embed prose/only-picture.md
	proseOnlyPicture string
	//go:embed prose/no-output.md
	proseNoOutput string

	//go:embed prose/attached.md
	proseAttached string // fixed by spec/media-memory.md §1.5
	//go:embed prose/attached-label.md
	proseAttachedLabel string
)

// Line is an embedded text without the end of its file.
func Line(prose string) string { return strings.TrimSpace(prose) }

// NoOutput is the text of a tool result without text: one that holds pictures
// beside it, or nothing at all.
func NoOutput(pictures int) string {
	if pictures > 0 {
		return Line(proseOnlyPicture)
	}
	return Line(proseNoOutput)
}

// Attached goes before the pictures of tool results on a wire whose results take
// none.
func Attached() string { return Line(proseAttached) }

// AttachedLabel goes before each picture where several calls gave some.
func AttachedLabel(tool, id string) string {
	return Valid(strings.NewReplacer("{tool}", tool, "{id}", id).Replace(Line(proseAttachedLabel)))
}

// Instead is the text that stands for a picture that cannot be sent, or "". seeing
// says whether the model takes pictures. It is the last guard: a request with one
// bad picture is refused as a whole, again and again.
func Instead(b message.Block, seeing bool) string {
	switch {
	case !seeing:
		return Line(proseNoPictureInput)
	case !strings.HasPrefix(b.MimeType, "image/") || strings.ContainsAny(b.MimeType, ";, \"") || !isBase64(b.Data):
		return Line(proseBadPicture)
	}
	return ""
}

// isBase64 accepts what a data URL may hold: the standard alphabet with padding,
// not empty.
func isBase64(s string) bool {
	if s == "" || len(s)%4 != 0 {
		return false
	}
	body := strings.TrimRight(s, "=")
	if len(s)-len(body) > 2 {
		return false
	}
	for i := range len(body) {
		c := body[i]
		switch {
		case 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '+', c == '/':
		default:
			return false
		}
	}
	return true
}
