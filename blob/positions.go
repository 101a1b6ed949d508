package blob

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Where the line of an entry may hold bytes that can live elsewhere. Writing and
// reading ask the same code, so that what was moved out is always found again.
//
// Source of the rules: oh-my-pi, "Persistence transform" (later generation).

// place is what stands at a position.
type place int

const (
	placeImage     place = iota // base64 of a picture
	placeURL                    // a data URL of a picture
	placeText                   // any other string
	placeTransient              // a member that is not kept
)

// maxDepth is how deep values are looked into. Nothing that a program writes is
// deeper; a line that is stays as it is.
const maxDepth = 200

var errTooDeep = errors.New("the value is nested too deeply")

// edit replaces src[from:to].
type edit struct {
	from, to int
	with     []byte
}

// walker finds the positions of a line, which must be valid JSON.
type walker struct {
	src   []byte
	edits []edit
	// visit is asked for the replacement of a JSON string; nil keeps it. The
	// MIME type is that of the object around a picture.
	visit func(p place, raw []byte) ([]byte, error)
}

// rewrite walks a line and returns it with the replacements in it; the line
// itself, if there are none.
func rewrite(line []byte, visit func(place, []byte) ([]byte, error)) ([]byte, error) {
	w := &walker{src: line, visit: visit}
	at := w.blank(0)
	if at >= len(line) {
		return line, nil
	}
	err := w.value(at, w.skip(at), "", 0)
	if errors.Is(err, errTooDeep) {
		return line, nil
	}
	if err != nil || len(w.edits) == 0 {
		return line, err
	}
	size := len(line)
	for _, e := range w.edits {
		size += len(e.with) - (e.to - e.from)
	}
	out := make([]byte, 0, size)
	at = 0
	for _, e := range w.edits {
		out = append(append(out, line[at:e.from]...), e.with...)
		at = e.to
	}
	return append(out, line[at:]...), nil
}

// member is a member of an object.
type member struct {
	key      string
	at       int // of the key's quote
	from, to int // of the value
}

func (w *walker) value(from, to int, key string, depth int) error {
	if depth > maxDepth {
		return errTooDeep
	}
	switch w.src[from] {
	case '{':
		return w.object(from, key, depth)
	case '[': // the key counts for the elements, too
		for at := w.blank(from + 1); at < to && w.src[at] != ']'; {
			end := w.skip(at)
			if err := w.value(at, end, key, depth+1); err != nil {
				return err
			}
			if at = w.blank(end); at < to && w.src[at] == ',' {
				at = w.blank(at + 1)
			}
		}
	case '"':
		switch {
		case key == "image_url" && isDataURL(w.src[from+1:to-1]), key == "image_url" && isRefText(w.src[from:to]):
			return w.ask(placeURL, from, to)
		case !isSignature(key):
			return w.ask(placeText, from, to)
		}
	}
	return nil
}

func (w *walker) object(from int, key string, depth int) error {
	members := w.members(from)
	if w.signed(members, key) {
		return nil
	}
	m, isPicture := w.picture(members, key)
	if isPicture {
		n := len(w.edits)
		if err := w.ask(placeImage, m.from, m.to); err != nil {
			return err
		}
		if len(w.edits) > n || isRefText(w.src[m.from:m.to]) {
			return nil // the rest of it is left as it is
		}
	}
	for i, other := range members {
		if isPicture && other.at == m.at {
			continue // a picture is never cut
		}
		if isTransient(other.key) {
			if with, err := w.visit(placeTransient, nil); err != nil {
				return err
			} else if with != nil {
				w.drop(members, i)
			}
			continue
		}
		if err := w.value(other.from, other.to, other.key, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// drop takes a member away, with one comma.
func (w *walker) drop(members []member, i int) {
	m := members[i]
	if i+1 < len(members) {
		w.edits = append(w.edits, edit{m.at, members[i+1].at, nil})
		return
	}
	// The last one takes the comma behind the last that is kept, and with it what
	// was dropped between them.
	from := members[0].at
	for _, kept := range members[:i] {
		if !isTransient(kept.key) {
			from = kept.to
		}
	}
	for n := len(w.edits); n > 0 && w.edits[n-1].from >= from; n-- {
		w.edits = w.edits[:n-1]
	}
	w.edits = append(w.edits, edit{from, m.to, nil})
}

// isTransient names the members that mean nothing once an answer is whole.
func isTransient(key string) bool { return key == "jsonlEvents" || key == "partialJson" }

func (w *walker) ask(p place, from, to int) error {
	with, err := w.visit(p, w.src[from:to])
	if err == nil && with != nil {
		w.edits = append(w.edits, edit{from, to, with})
	}
	return err
}

// picture finds the member that holds a picture, if the object is one: an image
// block under "content", whatever says it is a picture under "images" and
// "frames", and a picture that a provider made.
func (w *walker) picture(members []member, key string) (member, bool) {
	typ := w.text(members, "type")
	field := "data"
	switch {
	case typ == "image_generation_call":
		field = "result"
	case key == "content" && typ == "image":
	case (key == "images" || key == "frames") && (typ == "image" || len(w.text(members, "mimeType")) >= 6 && strings.EqualFold(w.text(members, "mimeType")[:6], "image/")):
	default:
		return member{}, false
	}
	for _, m := range members {
		if m.key == field {
			return m, w.src[m.from] == '"'
		}
	}
	return member{}, false
}

// signed tells an object that must come back exactly: a provider has signed it,
// or will be asked to take it back.
func (w *walker) signed(members []member, key string) bool {
	switch w.text(members, "type") {
	case "thinking":
		return w.text(members, "thinkingSignature") != ""
	case "text":
		return w.text(members, "textSignature") != ""
	case "toolCall":
		return w.text(members, "thoughtSignature") != ""
	case "redactedThinking":
		return w.text(members, "data") != ""
	case "reasoning":
		return w.text(members, "encrypted_content") != ""
	case "anthropicServerTool", "anthropicCompaction":
		return true
	}
	return key == "anthropicCompaction" && w.has(members, "content")
}

func (w *walker) has(members []member, key string) bool {
	for _, m := range members {
		if m.key == key {
			return w.src[m.from] == '"'
		}
	}
	return false
}

// text is the beginning of a string member, "" for none: long ones are not
// copied to be compared with a word.
func (w *walker) text(members []member, key string) string {
	const enough = 64
	for _, m := range members {
		if m.key != key || w.src[m.from] != '"' {
			continue
		}
		if m.to-m.from > enough {
			return string(w.src[m.from+1 : m.from+enough])
		}
		var s string
		_ = json.Unmarshal(w.src[m.from:m.to], &s)
		return s
	}
	return ""
}

func (w *walker) members(from int) []member {
	var out []member
	at := w.blank(from + 1)
	for at < len(w.src) && w.src[at] == '"' {
		end := w.skip(at)
		m := member{at: at, key: w.key(at, end)}
		m.from = w.blank(w.blank(end) + 1) // behind the colon
		if m.from >= len(w.src) {
			break
		}
		m.to = w.skip(m.from)
		out = append(out, m)
		if at = w.blank(m.to); at < len(w.src) && w.src[at] == ',' {
			at = w.blank(at + 1)
		}
	}
	return out
}

func (w *walker) key(from, to int) string {
	raw := w.src[from+1 : to-1]
	for _, c := range raw {
		if c == '\\' {
			var s string
			_ = json.Unmarshal(w.src[from:to], &s)
			return s
		}
	}
	return string(raw)
}

func (w *walker) blank(at int) int {
	for at < len(w.src) && (w.src[at] == ' ' || w.src[at] == '\t' || w.src[at] == '\n' || w.src[at] == '\r') {
		at++
	}
	return at
}

// skip returns where the value at a place ends.
func (w *walker) skip(at int) int {
	depth := 0
	for at < len(w.src) {
		switch w.src[at] {
		case '"':
			at = w.skipString(at)
			if depth == 0 {
				return at
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return at // the end of what is around
			}
			if depth--; depth == 0 {
				return at + 1
			}
		case ',', ' ', '\t', '\n', '\r', ':':
			if depth == 0 {
				return at
			}
		}
		at++
	}
	return at
}

func (w *walker) skipString(at int) int {
	for at++; at < len(w.src); at++ {
		i := indexQuote(w.src[at:])
		if i < 0 {
			return len(w.src)
		}
		at += i
		if w.src[at] == '"' {
			return at + 1
		}
		at++ // behind the backslash
	}
	return len(w.src)
}

// quoted is a JSON string without its quotes, and whether nothing in it is
// escaped.
func quoted(raw []byte) (text []byte, plain bool) {
	text = raw[1 : len(raw)-1]
	return text, indexQuote(text) < 0
}

// unquote reads a JSON string.
func unquote(raw []byte) (string, error) {
	if text, plain := quoted(raw); plain {
		return string(text), nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", fmt.Errorf("blob: read a string of the entry: %w", err)
	}
	return s, nil
}
