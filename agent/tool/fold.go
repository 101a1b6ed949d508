package tool

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// fold writes a text in the plain form in which edit looks for what it does not
// find exactly: compatibility characters composed (NFKC), no blanks at the ends
// of lines, straight quotes, one dash, one space. Folding a text is folding
// each of its lines, because nothing folds into or across a line feed.
func fold(text string) string {
	var out strings.Builder
	out.Grow(len(text))
	for line := range strings.Lines(text) {
		body, ended := strings.CutSuffix(line, "\n")
		out.WriteString(foldLine(body))
		if ended {
			out.WriteByte('\n')
		}
	}
	return out.String()
}

func foldLine(line string) string {
	if isASCII(line) {
		return strings.TrimRightFunc(line, isBlank)
	}
	line = strings.TrimRightFunc(norm.NFKC.String(line), isBlank)
	return strings.Map(foldRune, line)
}

func foldRune(r rune) rune {
	switch {
	case r >= '\u2018' && r <= '\u201B': // single quotes
		return '\''
	case r >= '\u201C' && r <= '\u201F': // double quotes
		return '"'
	case r >= '\u2010' && r <= '\u2015', r == '\u2212': // hyphens, dashes, minus
		return '-'
	case r == '\u00A0', r >= '\u2002' && r <= '\u200A', r == '\u202F', r == '\u205F', r == '\u3000': // spaces
		return ' '
	}
	return r
}

// isBlank says what does not count at the end of a line.
func isBlank(r rune) bool { return unicode.IsSpace(r) || r == '\uFEFF' }

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
