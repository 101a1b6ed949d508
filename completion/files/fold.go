package files

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// fold is the form in which names and queries are compared: compatibility
// characters such as full-width letters as plain ones, lower case, one normal form,
// and without accents, so that whoever cannot type é finds it by e.
func fold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return norm.NFC.String(strings.Map(func(r rune) rune {
		if r >= 0x300 && r <= 0x36f {
			return -1
		}
		return r
	}, norm.NFD.String(foldKeepingMarks(s))))
}

// foldKeepingMarks is fold with the accents: who types one means it.
func foldKeepingMarks(s string) string {
	return norm.NFKC.String(strings.Map(unicode.ToLower, norm.NFKC.String(s)))
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// lowered maps ASCII to lower case.
var lowered = func() (t [256]byte) {
	for i := range t {
		t[i] = byte(i)
	}
	for c := byte('A'); c <= 'Z'; c++ {
		t[c] = c + 'a' - 'A'
	}
	return t
}()

// bits says which bit of a mask a byte of ASCII sets.
var bits = func() (t [utf8.RuneSelf]uint64) {
	for i := range t {
		c := lowered[i]
		switch {
		case c >= 'a' && c <= 'z':
			t[i] = 1 << (c - 'a')
		case c >= '0' && c <= '9':
			t[i] = 1 << (26 + c - '0')
		case c == '.':
			t[i] = 1 << 36
		case c == '_':
			t[i] = 1 << 37
		case c == '-':
			t[i] = 1 << 38
		case c == ' ':
			t[i] = 1 << 39
		default:
			t[i] = 1 << (40 + c%8)
		}
	}
	return t
}()

// maskOf has a bit for each kind of letter in a text. A text that holds all
// letters of a query has all bits of its mask; the reverse does not hold.
func maskOf(s string) (mask uint64) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= utf8.RuneSelf {
			return maskOfRunes(fold(s))
		}
		mask |= bits[c]
	}
	return mask
}

// letters are the kinds of letters of a text that has them once, twice, and more often.
// A text whose letters lack one of a query's cannot match, and neither can one that has
// it less often.
type letters [3]uint64

func lettersOf(s string) (l letters) {
	if !isASCII(s) {
		for _, r := range fold(s) {
			l.add(bitOf(r))
		}
		return l
	}
	for i := 0; i < len(s); i++ {
		l.add(bits[s[i]&(utf8.RuneSelf-1)])
	}
	return l
}

func (l *letters) add(bit uint64) {
	l[2] |= l[1] & bit
	l[1] |= l[0] & bit
	l[0] |= bit
}

// with are the letters of two texts, one behind the other.
func (l letters) with(o letters) letters {
	return letters{l[0] | o[0], l[1] | o[1] | l[0]&o[0], l[2] | o[2] | l[1]&o[0] | l[0]&o[1]}
}

// or are the letters that one of two texts has.
func (l letters) or(o letters) letters { return letters{l[0] | o[0], l[1] | o[1], l[2] | o[2]} }

// hold tells whether all of a query's are there.
func (l *letters) hold(q *letters) bool {
	return l[0]&q[0] == q[0] && l[1]&q[1] == q[1] && l[2]&q[2] == q[2]
}

func maskOfRunes(folded string) (mask uint64) {
	for _, r := range folded {
		mask |= bitOf(r)
	}
	return mask
}

func bitOf(r rune) uint64 {
	if r < utf8.RuneSelf {
		return bits[r]
	}
	return 1 << (48 + uint32(r)*2654435761>>28)
}
