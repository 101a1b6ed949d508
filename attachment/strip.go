package attachment

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/piweb-go/piweb/message"
)

const (
	// minStrip is how long base64 must be to be moved, in characters. What is
	// shorter costs less than its marker.
	minStrip = 1024
	// maxPreview is how large "preview" in the details may be to stay, in bytes: a
	// thumbnail that the page shows beside the call.
	maxPreview = 96 << 10
	// maxStrips bounds how many attachments one result can make.
	maxStrips = 200
)

// Strip frees a tool's result of bytes that would go into the session's file as
// base64, and returns what is to be recorded. A picture in the content stays,
// unless the details name an output attachment of the session and do not set
// keepInlineImages: then that attachment's marker stands for it, and further
// pictures are stored and get their own. Data URLs in texts, base64 in details and
// blocks of data that is no picture are stored as attachments of the session, each
// for itself, and markers stand for them. Where storing fails, a note says what
// was left out; nothing large remains.
//
// It takes time in proportion to the result and does not depend on its depth.
func (c *Scope) Strip(ctx context.Context, tool string, content message.Content, details json.RawMessage) (message.Content, json.RawMessage) {
	if len(details) > 0 && !json.Valid(details) {
		details = nil
	}
	s := &stripper{scope: c, ctx: ctx, tool: tool}
	return s.content(content, details), s.details(details)
}

// MayStrip tells whether a result could hold anything for Strip.
func MayStrip(content message.Content, details json.RawMessage) bool {
	if len(details) >= minStrip {
		return true
	}
	for _, b := range content {
		if b.Type == message.TypeImage && len(details) > 0 || len(b.Text) >= minStrip || len(b.Raw) >= minStrip {
			return true
		}
	}
	return false
}

type stripper struct {
	scope *Scope
	ctx   context.Context
	tool  string
	n     int
}

// keep stores bytes and returns the marker that stands for them.
func (s *stripper) keep(mimeType string, data []byte) string {
	if mimeType = cleanType(mimeType); mimeType == octets {
		mimeType = cleanType(http.DetectContentType(data))
	}
	note := fmt.Sprintf("[data left out type=%s bytes=%d]", markerType(mimeType), len(data))
	if s.n++; s.n > maxStrips {
		return note
	}
	name := fmt.Sprintf("%s-%d%s", s.tool, s.n, extension(mimeType))
	d, err := s.scope.Put(s.ctx, name, mimeType, ToolOutput, bytes.NewReader(data))
	if err != nil {
		return note
	}
	return Marker(d)
}

func extension(mimeType string) string {
	switch kindOf(mimeType) { // the system's tables differ
	case "image/png":
		return ".png"
	case "image/jpeg":
		return ".jpg"
	case "text/plain":
		return ".txt"
	case octets:
		return ".bin"
	}
	if list, err := mime.ExtensionsByType(mimeType); err == nil && len(list) > 0 {
		return list[0]
	}
	return ""
}

func (s *stripper) content(content message.Content, details json.RawMessage) message.Content {
	named, replace := s.named(details)
	out := make(message.Content, 0, len(content))
	for _, b := range content {
		switch {
		case b.Type == message.TypeText:
			if text := s.text(b.Text); text != b.Text {
				b = message.Text(text)
			}
		case b.Type == message.TypeImage && replace:
			if named != "" {
				b, named = message.Text(named), ""
			} else if data, err := base64.StdEncoding.DecodeString(b.Data); err == nil {
				b = message.Text(s.keep(b.MimeType, data))
			}
		case b.Type != message.TypeImage && b.Raw != nil:
			b = s.foreign(b)
		}
		out = append(out, b)
	}
	if content == nil {
		return nil
	}
	return out
}

// named is the marker of the output attachment that the details name, where they
// name one that is the session's and want pictures replaced.
func (s *stripper) named(details json.RawMessage) (marker string, replace bool) {
	if v := gjson.GetBytes(details, "keepInlineImages"); v.Type == gjson.True {
		return "", false
	}
	for _, key := range []string{"outputAttachmentId", "attachmentId"} {
		v := gjson.GetBytes(details, key)
		if v.Type != gjson.String || v.Str == "" {
			continue
		}
		id, err := ParseID(v.Str)
		if err != nil {
			return "", false
		}
		d, err := s.scope.Find(s.ctx, id)
		if err != nil {
			return "", false
		}
		return Marker(d), true
	}
	return "", false
}

// foreign moves the data of a block that no provider knows, such as sound.
func (s *stripper) foreign(b message.Block) message.Block {
	for _, path := range []string{"data", "blob", "resource.blob", "source.data"} {
		v := gjson.GetBytes(b.Raw, path)
		if v.Type != gjson.String || len(v.Str) < minStrip {
			continue
		}
		data, ok := fromBase64(v.Str)
		if !ok {
			continue
		}
		kind := ""
		for _, p := range []string{"mimeType", "resource.mimeType", "source.media_type"} {
			if t := gjson.GetBytes(b.Raw, p); kind == "" && t.Type == gjson.String {
				kind = t.Str
			}
		}
		return message.Text(s.keep(kind, data))
	}
	return b
}

// text replaces the data URLs of a text.
func (s *stripper) text(text string) string {
	if len(text) < minStrip {
		return text
	}
	var out strings.Builder
	done := 0
	for at := 0; ; {
		i := strings.Index(text[at:], "data:")
		if i < 0 {
			break
		}
		at += i
		kind, from, ok := dataURL(text[at:])
		if !ok {
			at += len("data:")
			continue
		}
		from += at
		end := from
		for end < len(text) && base64Char(text[end]) {
			end++
		}
		if end-from < minStrip {
			at = end
			continue
		}
		data, ok := fromBase64(text[from:end])
		if !ok {
			at = end
			continue
		}
		out.WriteString(text[done:at])
		out.WriteString(s.keep(kind, data))
		at, done = end, end
	}
	if done == 0 {
		return text
	}
	out.WriteString(text[done:])
	return out.String()
}

// dataURL reads the head of a data URL of base64: its type, and where the data
// begins. The head is looked for in a bounded part of the text.
func dataURL(text string) (kind string, from int, ok bool) {
	const most = 256
	top := head(text, most)
	i := strings.Index(top, ";base64,")
	if i < 0 || strings.ContainsAny(top[:i], " \t\r\n\"'<>()") {
		return "", 0, false
	}
	return strings.TrimPrefix(top[:i], "data:"), i + len(";base64,"), true
}

func base64Char(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '+' || c == '/' || c == '='
}

// details replaces the long base64 strings of the details. The rest keeps its
// bytes.
func (s *stripper) details(raw json.RawMessage) json.RawMessage {
	if len(raw) < minStrip {
		return raw
	}
	skipFrom, skipTo := 0, 0
	if v := gjson.GetBytes(raw, "preview"); v.Exists() && v.Index > 0 && len(v.Raw) <= maxPreview {
		skipFrom, skipTo = v.Index, v.Index+len(v.Raw)
	}
	var out []byte
	done := 0
	for from, to := range literals(raw) {
		if to-from < minStrip || from >= skipFrom && to <= skipTo {
			continue
		}
		text, ok := unquote(raw[from:to])
		if !ok {
			continue
		}
		fresh, ok := s.value(text)
		if !ok {
			continue
		}
		literal, err := message.Marshal(fresh)
		if err != nil {
			continue
		}
		out = append(append(out, raw[done:from]...), literal...)
		done = to
	}
	if done == 0 {
		return raw
	}
	return append(out, raw[done:]...)
}

// value is what stands for a string of the details that holds data.
func (s *stripper) value(text string) (string, bool) {
	if data, ok := fromBase64(text); ok {
		return s.keep("", data), true
	}
	fresh := s.text(text)
	return fresh, fresh != text
}

// fromBase64 decodes a string that is base64 and nothing else: it must come back
// as the same characters, and look like bytes rather than like a long word or a
// hash.
func fromBase64(text string) ([]byte, bool) {
	if len(text) < minStrip {
		return nil, false
	}
	var upper, lower, digit bool
	for i := range len(text) {
		switch c := text[i]; {
		case 'A' <= c && c <= 'Z':
			upper = true
		case 'a' <= c && c <= 'z':
			lower = true
		case '0' <= c && c <= '9' || c == '+' || c == '/':
			digit = true
		case c == '=':
		default:
			return nil, false
		}
	}
	if !upper || !lower && !digit {
		return nil, false
	}
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding} {
		if data, err := enc.Strict().DecodeString(text); err == nil {
			return data, true
		}
	}
	return nil, false
}
