// Package structure reads JSON where it lies: it says where a value ends, hands out
// the fields of an object without decoding them, and tells whether bytes are JSON.
//
// Session files are mostly the insides of strings, which a reader that wants an id
// and a role has to jump over, not to look at. There are two passes. That by shape
// wants strings closed and brackets balanced, and nothing outside of strings but
// what JSON has there; every accident that writers of session files are known for
// shows in it. The strict one wants the grammar of RFC 8259 as JSON.parse and
// encoding/json read it, and costs several times as much. Neither allocates.
//
// A key is the key that is spelled so, to the letter, and of keys that repeat in an
// object the last counts: both as for JSON.parse, so that what real pi makes of a
// line is what we make of it. encoding/json takes "ROLE" for "role" and mixes
// repeated objects; [Unmarshal] is encoding/json without either.
//
// The package knows nothing of sessions and keeps nothing of what it is given.
// Strings and slices that it hands out alias the bytes: clone what is kept. The tests
// hold everything here against encoding/json.
package structure

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// MaxDepth is how deep a value may be nested. A deeper one is treated as damaged: no
// writer makes them, and a parser must not be led to exhaust its stack. It is the
// limit of encoding/json.
const MaxDepth = 10000

// Alias is a string of the same bytes.
func Alias(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// unsafeBytes are the bytes of a string, to be read only.
func unsafeBytes(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// Grammar is how closely a pass looks.
type Grammar bool

const (
	Shape  Grammar = false // strings, brackets, and what stands between them
	Strict Grammar = true  // JSON, and nothing else
)

// Fields reads the object at d[i] and returns where it ends, or -1 where there is
// none. For each field, in order, value is called with the key as it stands between
// its quotes and the place where its value must begin; it answers where the value
// ends, or -1. What it was told before a -1 means nothing. depth is how deep the
// object may be nested, itself included.
func (g Grammar) Fields(d []byte, i, depth int, value func(key []byte, at int) int) int {
	if depth < 1 {
		return -1
	}
	if i = Space(d, i+1); i < len(d) && d[i] == '}' {
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
		if i = Space(d, i); i >= len(d) || d[i] != ':' {
			return -1
		}
		if i = Space(d, i+1); i >= len(d) {
			return -1
		}
		if i = value(d[key:end], i); i < 0 {
			return -1
		}
		if i = Space(d, i); i >= len(d) {
			return -1
		}
		if d[i] == '}' {
			return i + 1
		}
		if d[i] != ',' {
			return -1
		}
		i = Space(d, i+1)
	}
}

// string goes from inside a string to behind its closing quote, or gives -1.
func (g Grammar) string(d []byte, i int) int {
	if g == Strict {
		return skipString(d, i)
	}
	return jumpString(d, i)
}

// Value returns where the value at d[i] ends, or -1.
func (g Grammar) Value(d []byte, i, depth int) int {
	switch c := d[i]; {
	case c == '"':
		return g.string(d, i+1)
	case g == Shape && (c == '{' || c == '['):
		return jumpBrackets(d, i, depth)
	}
	return skipValue(d, i, depth)
}

// Valid tells whether d is one JSON value of bounded depth and nothing else.
func Valid(d []byte) bool {
	return len(d) > 0 && skipValue(d, 0, MaxDepth) == len(d)
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

// Space goes on to what is no JSON white space.
func Space(d []byte, i int) int {
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
		if i = Space(d, i+1); i < len(d) && d[i] == '}' {
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
		if i = Space(d, i+1); i < len(d) && d[i] == ']' {
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
	if i = Space(d, i); i >= len(d) {
		return -1
	}
	switch object := in.object(); d[i] {
	case ',':
		i = Space(d, i+1)
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
	if i = Space(d, i); i >= len(d) || d[i] != ':' {
		return -1
	}
	i = Space(d, i+1)
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
