package catalog

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Two texts are alike for a search where their folds are: composed (NFC), without
// case, every white space a space. Composition is done before and after the case
// is taken away, because some pairs have a composed form in one case only.

const combiningIota = 0x345 // its upper case is a letter; as a mark it stays

// foldRune takes the case away. The letters that fold to an ASCII one besides its
// own upper case are ſ (s), K (k), ı and İ (i).
func foldRune(r rune) rune {
	switch {
	case r < utf8.RuneSelf:
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		if r == '\t' || r == '\n' || r == '\r' || r == '\v' || r == '\f' {
			return ' '
		}
		return r
	case r == combiningIota:
		return r
	case unicode.IsSpace(r):
		return ' '
	}
	return unicode.ToLower(unicode.ToUpper(r))
}

// folded is a text as it is compared, with the way back.
type folded struct {
	text string
	at   []int32 // for each byte of text, where its source begins; nil where it is the same place
	size int     // of the source
}

// source is where the bytes from..to of the fold come from.
func (f *folded) source(from, to int) (int, int) {
	if f.at == nil {
		return from, to
	}
	start, stop := int(f.at[from]), f.size
	// The end is where the source of the next byte begins, if that is another one.
	for ; to < len(f.at); to++ {
		if at := int(f.at[to]); at > int(f.at[to-1]) {
			stop = at
			break
		}
	}
	return start, stop
}

// fold folds a text.
func fold(s string) folded {
	if isASCII(s) {
		return folded{text: foldASCII(s), size: len(s)}
	}
	f := folded{size: len(s), at: make([]int32, 0, len(s))}
	var out strings.Builder
	out.Grow(len(s))
	var iter norm.Iter
	iter.InitString(norm.NFC, s)
	for !iter.Done() {
		from := iter.Pos()
		seg := iter.Next()
		before := out.Len()
		foldSegment(&out, seg)
		for range out.Len() - before {
			f.at = append(f.at, int32(from))
		}
	}
	f.text = out.String()
	return f
}

func foldSegment(out *strings.Builder, seg []byte) {
	if r, n := utf8.DecodeRune(seg); n == len(seg) {
		out.WriteRune(foldRune(r))
		return
	}
	lower := make([]rune, 0, 8)
	for _, r := range string(seg) {
		lower = append(lower, foldRune(r))
	}
	out.WriteString(norm.NFC.String(string(lower)))
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func foldASCII(s string) string {
	for i := 0; i < len(s); i++ {
		if c := s[i]; 'A' <= c && c <= 'Z' || c < ' ' {
			b := []byte(s)
			for ; i < len(b); i++ {
				b[i] = byte(foldRune(rune(b[i])))
			}
			return string(b)
		}
	}
	return s
}

// spellings gives, for a rune of a fold, all other runes that can stand for it
// alone: its other cases, and the characters that normalisation replaces by it or
// by a sequence with it. A composed rune can also be spelled as a base and marks;
// that is not listed here.
var spellings = sync.OnceValue(func() map[rune][]rune {
	all := map[rune][]rune{}
	seen := map[rune]bool{}
	note := func(r rune) {
		if seen[r] {
			return
		}
		seen[r] = true
		for _, k := range fold(string(r)).text {
			if k != r {
				all[k] = append(all[k], r)
			}
		}
	}
	for _, cr := range unicode.CaseRanges {
		for r := rune(cr.Lo); r <= rune(cr.Hi); r++ {
			note(r)
		}
	}
	// The places of Unicode where characters are that NFC never leaves as they are.
	// A test goes through all of Unicode.
	for _, span := range [...][2]rune{{0x340, 0x37E}, {0x387, 0x387}, {0x958, 0xB5D}, {0xF43, 0xFB9}, {0x1F71, 0x2001}, {0x2126, 0x232A},
		{0x2ADC, 0x2ADC}, {0xF900, 0xFAFF}, {0xFB1D, 0xFB4E}, {0x1D15E, 0x1D1C0}, {0x2F800, 0x2FA1F}} {
		for r := span[0]; r <= span[1]; r++ {
			if !norm.NFC.IsNormalString(string(r)) {
				note(r)
			}
		}
	}
	return all
})
