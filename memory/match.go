package memory

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Limits of what is looked at in a result.
const (
	maxDepth   = 64
	maxScanned = 8 << 20 // bytes of texts
)

// foldName brings names and texts to a form in which case and the way in which a
// system composes letters make no difference.
func foldName(s string) string { return cases.Fold().String(norm.NFC.String(s)) }

// haystack are the texts of a result: the values that are strings, but none below a
// key named base64, and no data URI.
type haystack struct {
	texts  []string
	left   int
	strict bool // a name must not be the end of another one
}

func textsOf(raw json.RawMessage) *haystack {
	h := &haystack{left: maxScanned}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) == nil {
		h.walk(v, maxDepth)
	}
	return h
}

func (h *haystack) walk(v any, depth int) {
	if depth == 0 || h.left <= 0 {
		return
	}
	switch v := v.(type) {
	case string:
		if strings.HasPrefix(v, "data:") && strings.Contains(v[:min(len(v), 200)], ";base64,") {
			return
		}
		v = cut(v, h.left)
		h.left -= len(v)
		h.texts = append(h.texts, foldName(v))
	case []any:
		for _, x := range v {
			h.walk(x, depth-1)
		}
	case map[string]any:
		for k, x := range v {
			if k != "base64" {
				h.walk(x, depth-1)
			}
		}
	}
}

// names tells whether a whole file name stands in one of the texts, as it is or as an
// address spells it.
func (h *haystack) names(name string) bool {
	if strings.TrimSpace(name) == "" {
		return false // it would be everywhere
	}
	plain, spelled := foldName(name), foldName(url.PathEscape(norm.NFC.String(name)))
	for _, t := range h.texts {
		if h.in(t, plain) || spelled != plain && h.in(t, spelled) {
			return true
		}
	}
	return false
}

func (h *haystack) in(text, name string) bool {
	for at := 0; ; {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(text[:at+i])
		if !h.strict || at+i == 0 || !unicode.IsLetter(before) && !unicode.IsDigit(before) && !strings.ContainsRune("-_.", before) {
			return true
		}
		at += i + 1
	}
}

// kindOf is the type of a file as results name it, for what a content type says.
func kindOf(contentType string) string {
	t, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(contentType)), ";")
	switch {
	case strings.HasPrefix(t, "image/"):
		return "image"
	case strings.HasPrefix(t, "audio/"):
		return "audio"
	case t == "application/pdf":
		return "pdf"
	case t == "text/html":
		return "html"
	case t == "message/rfc822":
		return "email"
	case t != "" && !strings.Contains(t, "/"):
		return t // an item of a message says its kind
	}
	return "doc"
}
