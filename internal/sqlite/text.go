package sqlite

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// TextVersion names the treatment of texts. What was indexed under another one must
// be indexed anew.
const TextVersion = 1

// Tokenizer is the tokenizer for a table of what [Words] returns.
const Tokenizer = "unicode61 remove_diacritics 2"

// Fold brings text to the form in which it is compared: compatibility forms become
// plain ones, and letters lose their case. Whatever does not print becomes a blank.
func Fold(s string) string {
	s = cases.Fold().String(norm.NFKC.String(strings.ToValidUTF8(s, " ")))
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, norm.NFC.String(s))
}

// Apart tells whether a letter belongs to a script that is written without spaces.
func Apart(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Yi) && !unicode.Is(unicode.M, r) || r == 'ー'
}

// Words prepares a text for an index of words. It is folded; letters of scripts
// without spaces stand apart, so that any run of them is a phrase; where the script
// changes, a word ends; and behind the text stand the parts of its identifiers, so
// that fetchUserName is found by "user".
func Words(text string) string {
	var b strings.Builder
	spread(&b, Fold(text))
	seen := map[string]bool{}
	for _, word := range strings.FieldsFunc(norm.NFKC.String(strings.ToValidUTF8(text, " ")), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.M, r) }) {
		parts := identifierParts(word)
		if len(parts) < 2 || seen[word] {
			continue
		}
		seen[word] = true
		b.WriteByte('\n')
		spread(&b, Fold(strings.Join(parts, " ")))
	}
	return b.String()
}

// spread writes a folded text with blanks at the borders of words.
func spread(b *strings.Builder, text string) {
	before := none
	for _, r := range text {
		k := kindOf(r)
		if k == mark && before != none {
			k = before // it belongs to its letter
		} else if before != none && k != none && (k != before || k == alone) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		before = k
	}
}

// kind is to which kind of word a letter belongs. Digits go with the letters around
// them: sha256 is one word.
type kind int

const (
	none   kind = iota // no letter
	latin              // and digits
	others             // any other script with spaces
	alone              // a script without spaces
	mark               // a sign on the letter before it
)

func kindOf(r rune) kind {
	switch {
	case r < 0x80:
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return latin
		}
		return none
	case Apart(r):
		return alone
	case unicode.Is(unicode.M, r):
		return mark
	case unicode.Is(unicode.Latin, r), unicode.IsDigit(r):
		return latin
	case unicode.IsLetter(r), unicode.IsNumber(r):
		return others
	}
	return none
}

// identifierParts splits a word where its letters change between lower and upper
// case or to digits, as in fetchUserName, HTTPServer or sha256.
func identifierParts(word string) (parts []string) {
	if len(word) > maxTerm {
		return nil
	}
	rs := []rune(word)
	start := 0
	for i := 1; i < len(rs); i++ {
		a, b := rs[i-1], rs[i]
		cut := unicode.IsLower(a) && unicode.IsUpper(b) || unicode.IsLetter(a) && unicode.IsDigit(b) && !Apart(a) || unicode.IsDigit(a) && unicode.IsLetter(b) && !Apart(b) ||
			unicode.IsUpper(a) && unicode.IsUpper(b) && i+1 < len(rs) && unicode.IsLower(rs[i+1])
		if cut {
			parts = append(parts, string(rs[start:i]))
			start = i
		}
	}
	return append(parts, string(rs[start:]))
}
