package sources

import (
	"strings"
	"unicode/utf16"

	"golang.org/x/text/unicode/norm"
)

// fold is the form in which texts are compared.
func fold(s string) string { return strings.ToLower(norm.NFKC.String(s)) }

// how a text matches, the best last.
const (
	no = iota
	letters
	holds
	word
	begins
)

// match says how well a label matches what was typed, and which part of it does, in
// UTF-16 units. Letters in order are enough.
func match(label, typed string) (score int, parts [][2]int) {
	if typed == "" {
		return letters, nil
	}
	text, want := fold(label), fold(typed)
	at := strings.Index(text, want)
	if at < 0 {
		rest := text
		for _, r := range want {
			i := strings.IndexRune(rest, r)
			if i < 0 {
				return no, nil
			}
			rest = rest[i+len(string(r)):]
		}
		return letters, nil
	}
	if len(text) == len(label) { // then places are the same in both
		from := len(utf16.Encode([]rune(label[:at])))
		parts = [][2]int{{from, from + len(utf16.Encode([]rune(label[at:at+len(want)])))}}
	}
	switch {
	case at == 0:
		return begins, parts
	case strings.ContainsRune(" -_./:", rune(text[at-1])):
		return word, parts
	}
	return holds, parts
}

// clean is a text for one line: without controls, and not long.
func clean(s string, most int) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' }), " ")
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}
