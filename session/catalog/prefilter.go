package catalog

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// To decode every line of every file costs twenty times what it costs to read
// them. A sieve tells from the bytes of a line that a text cannot be in it. It
// looks for a fragment of the text, and never misses: whatever a line can hold
// whose fold has the fragment, one of these is in the bytes
//
//   - the fragment itself, case of ASCII letters aside;
//   - another spelling of one of its runes (ſ for s, É for é, a compatibility
//     ideograph), or a combining mark that makes one of its runes;
//   - an escape \uXXXX of one of those.
//
// A backslash, a quote and a slash may be written with a backslash in front; a
// fragment holds none of them, unless the text is nothing else.

// sieve finds the lines that may hold one text.
type sieve struct {
	literals [][]byte        // any of them, in bytes with ASCII letters in lower case
	units    map[uint16]bool // what an escape must stand for to count
	always   bool            // every line may hold it
}

// newSieve makes the sieve of a folded text.
func newSieve(text string) sieve {
	s := sieve{units: map[uint16]bool{}}
	frag := fragment([]rune(text))
	if len(frag) == 0 {
		s.always = true
		return s
	}
	if r := frag[0]; r == '"' || r == '\\' {
		s.literals = append(s.literals, []byte{'\\', byte(r)}) // always written so, or as \uXXXX
	} else {
		s.spell(nil, frag)
	}
	for _, r := range frag {
		s.others(r)
	}
	return s
}

// spell adds all ways to write the runes that differ by case alone.
func (s *sieve) spell(begin []byte, rest []rune) {
	if len(rest) == 0 {
		s.add(bytes.Clone(begin))
		return
	}
	for _, r := range cases(rest[0]) {
		s.spell(utf8.AppendRune(bytes.Clone(begin), r), rest[1:])
	}
}

// others adds what else a rune may be written as: as a literal of its own, which
// lets more lines through, but is rare.
func (s *sieve) others(r rune) {
	s.unit(r)
	if r < utf8.RuneSelf {
		s.unit(rune(upperASCII(byte(r))))
	}
	for _, other := range spellings()[r] {
		s.unit(other)
		if other >= utf8.RuneSelf && !slices.Contains(cases(r), other) {
			s.add([]byte(string(other)))
		}
	}
	for i, part := range norm.NFD.String(string(r)) {
		s.unit(part)
		if i > 0 { // the base alone is no sign, every mark is
			s.add([]byte(string(part)))
		}
	}
}

func (s *sieve) add(literal []byte) {
	if !slices.ContainsFunc(s.literals, func(l []byte) bool { return bytes.Equal(l, literal) }) {
		s.literals = append(s.literals, literal)
	}
}

func (s *sieve) unit(r rune) {
	if a, b := utf16.EncodeRune(r); a != utf8.RuneError {
		s.units[uint16(a)], s.units[uint16(b)] = true, true
		return
	}
	s.units[uint16(r)] = true
}

// fragment chooses what a sieve looks for: the longest run of runes with few ways
// to write it. It is empty where there is no good one.
func fragment(text []rune) []rune {
	const maxWays = 8 // each is a pass over the bytes
	var best []rune
	bestScore := 0
	for from := range text {
		ways, size := 1, 0
		for to := from; to < len(text) && steady(text[to]); to++ {
			ways *= len(cases(text[to]))
			if ways > maxWays {
				break
			}
			size += utf8.RuneLen(text[to])
			if score := 8*size - 4*ways; score > bestScore || best == nil {
				best, bestScore = text[from:to+1], score
			}
		}
	}
	if best != nil {
		return best
	}
	for i, r := range text {
		if r == '"' || r == '\\' || r == '/' {
			return text[i : i+1]
		}
	}
	return nil
}

// steady tells whether a rune of a fold can be part of a longer fragment.
func steady(r rune) bool {
	switch r {
	case '"', '\\', '/', 0x7f, utf8.RuneError:
		return false
	}
	return r > ' ' && !mark(r)
}

// cases are the ways to write a rune that differ by case; of ASCII letters only
// the lower one, because that is what is searched.
func cases(r rune) []rune {
	if r < utf8.RuneSelf || unicode.ToUpper(r) == r {
		return []rune{r}
	}
	return append([]rune{r}, spellings()[r]...)
}

// mark tells whether a rune may join the one before it.
func mark(r rune) bool { return !norm.NFC.PropertiesString(string(r)).BoundaryBefore() }

// find returns the first place in block, from the place from on, that may belong
// to the text, or -1. Of two places in one line it may return the later one: no
// literal goes over the end of a line, so that what overlaps a place that was
// found is in the same line.
func (s *sieve) find(block []byte, from int) int {
	if s.always {
		if from < len(block) {
			return from
		}
		return -1
	}
	best, end := -1, len(block)
	for _, l := range s.literals {
		if i := bytes.Index(block[from:end], l); i >= 0 {
			best = from + i
			end = min(len(block), best+len(l)-1) // only what is before it is better
		}
	}
	if i := s.escape(block[:min(len(block), end+5)], from); i >= 0 && (best < 0 || i < best) {
		best = i
	}
	return best
}

// escape finds an escape of a rune of the fragment.
func (s *sieve) escape(block []byte, from int) int {
	for {
		i := bytes.Index(block[from:], []byte(`\u`))
		if i < 0 {
			return -1
		}
		from += i
		if v, ok := hex4(block[from+2:]); ok && s.units[v] {
			return from
		}
		from += 2
	}
}

func hex4(b []byte) (v uint16, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		v = v<<4 | uint16(c)
	}
	return v, true
}

func lowerASCII(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func upperASCII(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - ('a' - 'A')
	}
	return c
}

// lower writes src into dst with ASCII letters in lower case, eight bytes at a
// time; all other bytes stay. dst has the length of src.
func lower(dst, src []byte) {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	n := len(src) &^ 7
	for i := 0; i < n; i += 8 {
		x := binary.LittleEndian.Uint64(src[i:])
		low := x &^ high
		fromA := low + (0x80-'A')*ones   // high bit where >= 'A'
		pastZ := low + (0x80-'Z'-1)*ones // high bit where > 'Z'
		upper := (fromA &^ pastZ) & high &^ x
		binary.LittleEndian.PutUint64(dst[i:], x|upper>>2) // 0x80>>2 is the bit between cases
	}
	for i := n; i < len(src); i++ {
		dst[i] = lowerASCII(src[i])
	}
}
