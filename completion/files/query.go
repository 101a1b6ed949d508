package files

import (
	"strings"
	"unicode/utf8"
)

// maxQuery is how many characters of a query are looked at; no path is longer.
const maxQuery = 1024

// query is what was typed, made ready.
type query struct {
	text  string // folded
	runes []rune
	ascii bool

	typed  string // as typed, where it has capitals; then their case orders
	accent string // with its accents, where it has some; then they must be there

	name   string // what stands behind the last slash
	nameR  []rune
	nameM  uint64
	folder string // what stands before it
	slash  bool
	suffix []uint64 // masks of the characters from a place on, slashes left out
	all    letters  // slashes left out
}

func newQuery(text string) *query {
	text = strings.ReplaceAll(text, `\`, "/")
	for strings.HasPrefix(text, "./") {
		text = text[2:]
	}
	q := &query{text: fold(text)}
	q.runes = []rune(q.text)
	q.ascii = isASCII(q.text)
	if text != strings.ToLower(text) {
		q.typed = text
	}
	if !isASCII(text) {
		if kept := foldKeepingMarks(text); kept != q.text {
			q.accent = kept
		}
	}
	at := strings.LastIndexByte(q.text, '/')
	q.slash = at >= 0
	q.name, q.folder = q.text[at+1:], q.text[:max(at, 0)]
	q.nameR = []rune(q.name)
	q.nameM = maskOfRunes(q.name)
	q.suffix = make([]uint64, len(q.runes)+1)
	for i := len(q.runes) - 1; i >= 0; i-- {
		q.suffix[i] = q.suffix[i+1]
		if q.runes[i] != '/' {
			q.suffix[i] |= bitOf(q.runes[i])
			q.all.add(bitOf(q.runes[i]))
		}
	}
	return q
}

// advance is how many characters of the query are found when, behind k of them,
// a text is read to its end.
func (q *query) advance(text string, k int) int {
	if q.ascii {
		for k < len(q.text) {
			at := strings.IndexByte(text, q.text[k])
			if at < 0 {
				break
			}
			text = text[at+1:]
			k++
		}
		return k
	}
	for k < len(q.runes) && text != "" {
		r, size := utf8.DecodeRuneInString(text)
		if r == q.runes[k] {
			k++
		}
		text = text[size:]
	}
	return k
}

// inOrder says that the characters of a pattern occur in a text in order.
func inOrder(text string, pattern []rune, ascii bool) bool {
	if ascii {
		for _, r := range pattern {
			at := strings.IndexByte(text, byte(r))
			if at < 0 {
				return false
			}
			text = text[at+1:]
		}
		return true
	}
	k := 0
	for _, r := range text {
		if k < len(pattern) && r == pattern[k] {
			k++
		}
	}
	return k == len(pattern)
}

// accented says that a path has the accents of the query, if that has any.
func (q *query) accented(path string) bool {
	return q.accent == "" || inOrder(foldKeepingMarks(path), []rune(q.accent), false)
}
