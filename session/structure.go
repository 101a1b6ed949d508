package session

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/tidwall/gjson"
)

// One pass over a record does everything that opening a file needs: it tells
// whether the bytes have the shape of one JSON object and where that ends, and it
// picks the fields of the envelope on its way, in any order. Nothing is allocated
// and nothing is decoded.
//
// Shape means: strings are closed, brackets balanced, and outside of strings
// stands nothing but what JSON has there. Every accident that writers of session
// files are known for shows in it: a torn record, two on one line, a fragment in
// front of one, a run of NULs, a value that was cut out. To look at the shape costs
// a fraction of a validation, because the inside of a string is jumped over.
//
// What a validation would refuse beyond that (a control character inside a string,
// an unknown escape, a bracket closed by one of the other kind) is refused where it
// could decide something: every record is validated here but the bodies of what
// people, models and tools said, which are most of a file. Those are validated when
// they are opened, and always where they are the last record.
//
// The grammar is that of RFC 8259, as JSON.parse and encoding/json read it;
// TestStructureAgainstDecoder and FuzzStructure hold both passes against the latter.
//
// A key that stands several times in an object counts with its last value, as in
// JSON.parse: what real pi makes of such a line is what we make of it.

// maxDepth is how deep a record may be nested. Deeper ones are treated as
// damaged: no writer makes them, and a parser must not be led to exhaust its
// stack. It is the limit of encoding/json.
const maxDepth = 10000

// rawEntry is the envelope of a record. Its strings alias the line: clone what is
// kept.
type rawEntry struct {
	typ, customType, role string // "" where they are no strings
	id, parent            string // likewise
	hasID                 bool   // there is one that is not empty
	hasParent             bool   // there is the key, whatever its value
	timestamp             string // raw JSON
}

// readHead reads the envelope of a JSON object; that of any other value is empty.
func readHead(value []byte) (h rawEntry) {
	if len(value) > 0 && value[0] == '{' {
		h.read(value, shape)
	}
	return h
}

// read reads the object that d begins with and returns where it ends, or -1 where
// there is none.
func (h *rawEntry) read(d []byte, g grammar) int {
	return g.fields(d, 0, maxDepth, func(key []byte, at int) int {
		if key = plainKey(key); string(key) == "message" && d[at] == '{' {
			h.role = ""
			return g.fields(d, at, maxDepth-1, func(key []byte, at int) int {
				end := g.value(d, at, maxDepth-2)
				if end > 0 && string(plainKey(key)) == "role" {
					h.role = text(d[at:end])
				}
				return end
			})
		}
		end := g.value(d, at, maxDepth-1)
		if end < 0 {
			return -1
		}
		switch string(key) {
		case "type":
			h.typ = text(d[at:end])
		case "id":
			h.id = text(d[at:end])
			h.hasID = h.id != ""
		case "parentId":
			h.parent, h.hasParent = text(d[at:end]), true
		case "timestamp":
			h.timestamp = alias(d[at:end])
		case "customType":
			h.customType = text(d[at:end])
		case "message":
			h.role = ""
		}
		return end
	})
}

// said tells whether a record is what a person, a model or a tool said, so that
// nothing in its body decides what a session may do.
func (h *rawEntry) said() bool { return isSaid(h.typ, h.role) }

func isSaid(typ, role string) bool {
	return typ == TypeMessage && (role == "user" || role == "assistant" || role == "toolResult")
}

// field is the value of a key at the top of a JSON object; where the key stands
// several times, the last one. It aliases the object.
func field(object []byte, key string) (v gjson.Result) {
	shape.fields(object, 0, maxDepth, func(k []byte, at int) int {
		end := shape.value(object, at, maxDepth-1)
		if end > 0 && string(plainKey(k)) == key {
			v = gjson.Parse(alias(object[at:end]))
		}
		return end
	})
	return v
}

// plainKey undoes the escapes of a key, which no known writer makes.
func plainKey(key []byte) []byte {
	for _, c := range key {
		if c == '\\' {
			quoted := append(append([]byte{'"'}, key...), '"')
			var s string
			_ = json.Unmarshal(quoted, &s)
			return []byte(s)
		}
	}
	return key
}

// text is the value of a JSON string, and "" for any other value. It aliases the
// value where that is possible; what is not UTF-8 becomes U+FFFD, as for any
// reader, so that an id and a reference to it stay the same when they are written.
func text(value []byte) string {
	if value[0] != '"' {
		return ""
	}
	inner := alias(value[1 : len(value)-1])
	if strings.IndexByte(inner, '\\') < 0 && utf8.ValidString(inner) {
		return inner
	}
	var s string
	_ = json.Unmarshal(value, &s)
	return s
}

// alias is a string of the same bytes.
func alias(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// grammar is how closely a pass looks.
type grammar bool

const (
	shape  grammar = false // of the record only
	strict grammar = true  // JSON, and nothing else
)

// fields reads the object at d[i] and returns where it ends, or -1 where there is
// none. For each field, in order, value is called with the key as it stands between
// its quotes and the place where its value must begin; it answers where the value
// ends, or -1. What it was told before a -1 means nothing. depth is how deep the
// object may be nested, itself included.
func (g grammar) fields(d []byte, i, depth int, value func(key []byte, at int) int) int {
	if depth < 1 {
		return -1
	}
	if i = space(d, i+1); i < len(d) && d[i] == '}' {
		return i + 1
	}
	for {
		if i >= len(d) || d[i] != '"' {
			return -1
		}
		key := i + 1
		if i = g.string(d, key); i < 0 {
			return -1
		}
		end := i - 1
		if i = space(d, i); i >= len(d) || d[i] != ':' {
			return -1
		}
		if i = space(d, i+1); i >= len(d) {
			return -1
		}
		if i = value(d[key:end], i); i < 0 {
			return -1
		}
		if i = space(d, i); i >= len(d) {
			return -1
		}
		if d[i] == '}' {
			return i + 1
		}
		if d[i] != ',' {
			return -1
		}
		i = space(d, i+1)
	}
}

// string goes from inside a string to behind its closing quote, or gives -1.
func (g grammar) string(d []byte, i int) int {
	if g == strict {
		return skipString(d, i)
	}
	return jumpString(d, i)
}

// value returns where the value at d[i] ends, or -1.
func (g grammar) value(d []byte, i, depth int) int {
	switch c := d[i]; {
	case c == '"':
		return g.string(d, i+1)
	case g == shape && (c == '{' || c == '['):
		return jumpBrackets(d, i, depth)
	}
	return skipValue(d, i, depth)
}

// wholeValue returns where the JSON value ends that d begins with, and its
// envelope; -1 where there is no whole one. Of what was said only the shape is
// looked at, unless g is strict; everything else is valid.
func wholeValue(d []byte, g grammar) (n int, h rawEntry) {
	if d[0] != '{' {
		return skipValue(d, 0, maxDepth), h
	}
	if n = h.read(d, shape); n > 0 && (g == strict || !h.said()) && !valid(d[:n]) {
		return -1, rawEntry{}
	}
	return n, h
}

// valid tells whether d is one JSON value of bounded depth and nothing else.
func valid(d []byte) bool {
	return len(d) > 0 && skipValue(d, 0, maxDepth) == len(d)
}

// outside says what a byte is that stands outside of strings.
var outside = func() (class [256]byte) {
	for _, c := range []byte(" \t\r\n,:0123456789+-.eEtrufalsn") { // true, false, null
		class[c] = plain
	}
	class['"'] = quote
	class['{'], class['['] = opens, opens
	class['}'], class[']'] = closes, closes
	return class
}()

const (
	_ = iota // what does not stand there
	plain
	quote
	opens
	closes
)

// jumpBrackets returns where the object or list at d[i] ends by its shape, or -1.
func jumpBrackets(d []byte, i, most int) int {
	for depth := 0; i < len(d); {
		switch outside[d[i]] {
		case plain:
			i++
		case quote:
			if i = jumpString(d, i+1); i < 0 {
				return -1
			}
		case opens:
			if depth++; depth > most {
				return -1
			}
			i++
		case closes:
			i++
			if depth--; depth == 0 {
				return i
			}
		default:
			return -1
		}
	}
	return -1
}

// jumpString goes from inside a string to behind its closing quote, or gives -1.
func jumpString(d []byte, i int) int {
	for {
		n := bytes.IndexByte(d[i:], '"')
		if n < 0 {
			return -1
		}
		end := i + n
		back := end
		for back > i && d[back-1] == '\\' {
			back--
		}
		// An escape cannot reach over i: what stands before it is a quote that opened
		// the string, or one that was escaped.
		if i = end + 1; (end-back)%2 == 0 {
			return i
		}
	}
}

// space goes on to what is no white space.
func space(d []byte, i int) int {
	for i < len(d) && d[i] <= ' ' && (d[i] == ' ' || d[i] == '\t' || d[i] == '\r' || d[i] == '\n') {
		i++
	}
	return i
}

// skipValue returns where the JSON value at d[i] ends, or -1 where there is none.
// depth is how deep it may be nested.
func skipValue(d []byte, i, depth int) int {
	var in nesting
value:
	if i >= len(d) {
		return -1
	}
	switch c := d[i]; c {
	case '"':
		i = skipString(d, i+1)
	case '{':
		if in.depth++; in.depth > depth {
			return -1
		}
		in.push(true)
		if i = space(d, i+1); i < len(d) && d[i] == '}' {
			i++
			in.pop()
			goto after
		}
		goto key
	case '[':
		if in.depth++; in.depth > depth {
			return -1
		}
		in.push(false)
		if i = space(d, i+1); i < len(d) && d[i] == ']' {
			i++
			in.pop()
			goto after
		}
		goto value
	case 't':
		i = literal(d, i, "true")
	case 'f':
		i = literal(d, i, "false")
	case 'n':
		i = literal(d, i, "null")
	default:
		i = skipNumber(d, i)
	}
	if i < 0 {
		return -1
	}
after:
	if in.depth == 0 {
		return i
	}
	if i = space(d, i); i >= len(d) {
		return -1
	}
	switch object := in.object(); d[i] {
	case ',':
		i = space(d, i+1)
		if !object {
			goto value
		}
		goto key
	case '}':
		if !object {
			return -1
		}
	case ']':
		if object {
			return -1
		}
	default:
		return -1
	}
	in.pop()
	i++
	goto after
key:
	if i >= len(d) || d[i] != '"' {
		return -1
	}
	if i = skipString(d, i+1); i < 0 {
		return -1
	}
	if i = space(d, i); i >= len(d) || d[i] != ':' {
		return -1
	}
	i = space(d, i+1)
	goto value
}

// nesting remembers for each open bracket whether it is that of an object: the
// inner 64 in one word, those further out on a heap that nearly no record needs.
type nesting struct {
	depth int
	bits  uint64
	outer []uint64
}

// push and pop are called with depth changed, or to be changed, by one.
func (n *nesting) push(object bool) {
	if n.depth > 1 && n.depth%64 == 1 {
		n.outer = append(n.outer, n.bits)
	}
	n.bits <<= 1
	if object {
		n.bits |= 1
	}
}

func (n *nesting) pop() {
	n.depth--
	n.bits >>= 1
	if n.depth > 0 && n.depth%64 == 0 {
		n.bits = n.outer[len(n.outer)-1]
		n.outer = n.outer[:len(n.outer)-1]
	}
}

func (n *nesting) object() bool { return n.bits&1 == 1 }

func literal(d []byte, i int, word string) int {
	if len(d)-i < len(word) || string(d[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

// skipNumber reads a number: -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
func skipNumber(d []byte, i int) int {
	if i < len(d) && d[i] == '-' {
		i++
	}
	switch {
	case i >= len(d):
		return -1
	case d[i] == '0':
		i++
	default:
		if i = digits(d, i); i < 0 {
			return -1
		}
	}
	if i < len(d) && d[i] == '.' {
		if i = digits(d, i+1); i < 0 {
			return -1
		}
	}
	if i < len(d) && d[i]|0x20 == 'e' {
		if i++; i < len(d) && (d[i] == '+' || d[i] == '-') {
			i++
		}
		i = digits(d, i)
	}
	return i
}

// digits reads one or more.
func digits(d []byte, i int) int {
	from := i
	for i < len(d) && d[i]-'0' <= 9 {
		i++
	}
	if i == from {
		return -1
	}
	return i
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// stops marks the bytes of a word that a string does not simply go on with: a
// quote, a backslash, a control character. The lowest mark is right; those above
// it may be marked wrongly. Turning one bit puts the quote next to the control
// characters, so that one subtraction finds both.
func stops(w uint64) uint64 {
	return (((w ^ ones*2) - ones*0x21) | ((w ^ ones*'\\') - ones)) &^ w & highs
}

// skipString goes from inside a string to behind its closing quote; -1 where there
// is none, and for what may not stand in a string.
func skipString(d []byte, i int) int {
	for i < len(d) {
		if len(d)-i >= 8 {
			m := stops(binary.LittleEndian.Uint64(d[i:]))
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) >> 3
		}
		switch c := d[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			if i = skipEscape(d, i+1); i < 0 {
				return -1
			}
		case c < ' ':
			return -1
		default: // only in the last bytes
			i++
		}
	}
	return -1
}

// escapes are the characters that stand behind a backslash for themselves.
var escapes = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

// skipEscape goes behind the escape whose backslash stands before d[i].
func skipEscape(d []byte, i int) int {
	if i < len(d) && escapes[d[i]] {
		return i + 1
	}
	if i+5 > len(d) || d[i] != 'u' {
		return -1
	}
	for _, c := range d[i+1 : i+5] {
		if c-'0' > 9 && (c|0x20)-'a' > 5 {
			return -1
		}
	}
	return i + 5
}
