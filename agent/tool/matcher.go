package tool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// maxPattern bounds what a search may look for, in bytes.
const maxPattern = 32 << 10

// lineMatcher says whether a line matches. A line comes without its end.
type lineMatcher struct {
	text []byte         // if not nil, a line matches that holds it; re is not needed then
	re   *regexp.Regexp // else a line matches that it matches
	// need is a text that every line that matches holds; it may be empty. To
	// look for it in a whole block costs much less than to try each line.
	need []byte
	// fold says that need is in lower case, and to be looked for in a block
	// that was turned into lower case too.
	fold bool
}

var errManyLines = errors.New("it asks for a line feed, but each line is searched on its own")

// newLineMatcher reads the pattern of a call.
func newLineMatcher(pattern string, literal, ignoreCase bool) (*lineMatcher, error) {
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("it is longer than %s", formatSize(maxPattern))
	}
	if literal && strings.Contains(pattern, "\n") {
		return nil, errManyLines
	}
	if literal && !ignoreCase {
		return &lineMatcher{text: []byte(pattern), need: []byte(pattern)}, nil
	}
	expr := pattern
	if literal {
		expr = regexp.QuoteMeta(pattern)
	}
	if ignoreCase {
		expr = "(?i)" + expr
	}
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		if e, ok := errors.AsType[*syntax.Error](err); ok {
			return nil, fmt.Errorf("%s: %s", e.Code, e.Expr)
		}
		return nil, err
	}
	parsed = parsed.Simplify()
	if asksForLineFeed(parsed) {
		return nil, errManyLines
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	need := requiredText(parsed)
	m := &lineMatcher{re: re, need: []byte(need.text), fold: need.fold}
	if m.fold {
		m.need = appendLower(nil, m.need)
	}
	return m, nil
}

// asksForLineFeed says that a literal of the expression holds a line feed,
// which no line does. A class such as \s may hold one without harm.
func asksForLineFeed(re *syntax.Regexp) bool {
	if re.Op == syntax.OpLiteral {
		return strings.ContainsRune(string(re.Rune), '\n')
	}
	for _, sub := range re.Sub {
		if asksForLineFeed(sub) {
			return true
		}
	}
	return false
}

// required is a text that each match of an expression holds.
type required struct {
	text string
	fold bool // in any case, ASCII only
}

// requiredText is the longest text that it is easy to see each match holds.
func requiredText(re *syntax.Regexp) required {
	switch re.Op {
	case syntax.OpLiteral:
		text := string(re.Rune)
		switch {
		case re.Flags&syntax.FoldCase != 0:
			return required{text, true}.ascii()
		case strings.ContainsRune(text, utf8.RuneError): // an invalid byte matches, but is another text
			return required{}
		}
		return required{text, false}
	case syntax.OpCapture, syntax.OpPlus:
		return requiredText(re.Sub[0])
	case syntax.OpConcat:
		var longest required
		for _, sub := range re.Sub {
			if r := requiredText(sub); len(r.text) > len(longest.text) {
				longest = r
			}
		}
		return longest
	}
	return required{}
}

// ascii cuts a text without case to its longest part whose letters have two
// forms each. K and S have a third one beyond ASCII.
func (r required) ascii() required {
	longest := ""
	for part := range strings.FieldsFuncSeq(r.text, func(c rune) bool {
		return c >= utf8.RuneSelf || strings.ContainsRune("kKsS", c)
	}) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	return required{longest, true}
}

// appendLower adds text to dst with ASCII letters in lower case.
func appendLower(dst, text []byte) []byte {
	for _, c := range text {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}

func (m *lineMatcher) match(line []byte) bool {
	if m.text != nil {
		return bytes.Contains(line, m.text)
	}
	return m.re.Match(line)
}

// matchReader is match for a line that is read piece by piece.
func (m *lineMatcher) matchReader(r io.RuneReader) bool {
	re := m.re
	if re == nil {
		re = regexp.MustCompile(regexp.QuoteMeta(string(m.text)))
	}
	return re.MatchReader(r)
}
