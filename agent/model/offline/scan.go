package offline

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// scan reads one line from left to right.
type scan struct{ rest string }

// quotes lists the signs in which an operand may stand: the opening one, and the
// one that closes it.
func quotes() [][2]string {
	return [][2]string{
		{`"`, `"`}, {`'`, `'`}, {"“", "”"}, {"‘", "’"}, {"„", "“"},
		{"«", "»"}, {"「", "」"}, {"『", "』"}, {"《", "》"},
	}
}

func (s *scan) blanks() { s.rest = strings.TrimLeftFunc(s.rest, unicode.IsSpace) }

// end says that nothing but a closing sign is left.
func (s *scan) end() bool {
	rest := strings.TrimSpace(s.rest)
	if word, tail, _ := strings.Cut(rest, " "); strings.EqualFold(strings.TrimRight(word, ".,!"), "please") {
		rest = tail
	}
	return strings.Trim(rest, ".,;!?。，！？ ") == ""
}

// word takes w off the front if it stands there as a word of its own. A failed
// try takes nothing.
func (s *scan) word(w string) bool {
	rest := strings.TrimLeftFunc(s.rest, unicode.IsSpace)
	if len(rest) < len(w) || !strings.EqualFold(rest[:len(w)], w) {
		return false
	}
	next, _ := utf8.DecodeRuneInString(rest[len(w):])
	if len(rest) > len(w) && !unicode.IsSpace(next) && !opensQuote(rest[len(w):]) && next != ',' {
		return false
	}
	s.rest = rest[len(w):]
	return true
}

func opensQuote(rest string) bool {
	if strings.HasPrefix(rest, "`") {
		return true
	}
	for _, q := range quotes() {
		if strings.HasPrefix(rest, q[0]) {
			return true
		}
	}
	return false
}

// quoted takes a quoted operand off the front. Backticks may be doubled, as in
// Markdown, for an operand that holds a backtick.
func (s *scan) quoted() (string, bool) {
	s.blanks()
	if n := len(s.rest) - len(strings.TrimLeft(s.rest, "`")); n > 0 {
		return s.between(s.rest[:n], s.rest[:n])
	}
	for _, q := range quotes() {
		if strings.HasPrefix(s.rest, q[0]) {
			return s.between(q[0], q[1])
		}
	}
	return "", false
}

func (s *scan) between(opening, closing string) (string, bool) {
	inside, rest, ok := strings.Cut(s.rest[len(opening):], closing)
	if !ok {
		return "", false
	}
	if len(opening) > 1 && opening[0] == '`' {
		inside = strings.TrimSpace(inside) // the blanks that keep the backticks apart
	}
	s.rest = rest
	return inside, true
}

// last takes the operand that ends the line: quoted, or a bare word. The
// punctuation behind a bare word belongs to the sentence.
func (s *scan) last() (string, bool) {
	if operand, ok := s.quoted(); ok {
		return operand, operand != "" && s.end()
	}
	s.blanks()
	if opensQuote(s.rest) {
		return "", false // a quotation that nothing closes
	}
	operand := s.rest
	if i := strings.IndexFunc(operand, unicode.IsSpace); i >= 0 {
		operand = operand[:i]
	}
	s.rest = s.rest[len(operand):]
	operand = bare(operand)
	return operand, operand != "" && s.end()
}

// bare strips the punctuation of the sentence from a word, but leaves the dots
// of "." and "../..".
func bare(word string) string {
	stripped := strings.TrimRight(word, ".,;:!?。，！？")
	if stripped == "" || strings.HasSuffix(stripped, "/") || strings.HasSuffix(stripped, `\`) {
		return strings.TrimRight(word, ",;:!?。，！？")
	}
	return stripped
}

// colon takes a colon off the front.
func (s *scan) colon() bool {
	s.blanks()
	for _, c := range []string{":", "："} {
		if strings.HasPrefix(s.rest, c) {
			s.rest = s.rest[len(c):]
			return true
		}
	}
	return false
}

// beforeColon takes a bare word that a colon ends. A colon inside the word, as
// in a drive letter, does not end it; a full-width one always does.
func (s *scan) beforeColon() (string, bool) {
	s.blanks()
	if opensQuote(s.rest) {
		return "", false
	}
	word := s.rest
	if i := strings.IndexFunc(word, unicode.IsSpace); i >= 0 {
		word = word[:i]
	}
	if i := strings.Index(word, "："); i > 0 {
		s.rest = s.rest[i+len("："):]
		return word[:i], true
	}
	if strings.HasSuffix(word, ":") {
		s.rest = s.rest[len(word):]
		return strings.TrimSuffix(word, ":"), true
	}
	return "", false
}
