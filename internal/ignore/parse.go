package ignore

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// The bounds of one ignore file. Git has none, but it trusts its work tree.
const (
	MaxFileBytes = 1 << 20 // bytes of a file that are read, up to the last whole line
	MaxRuleBytes = 4096    // bytes of one pattern; a longer one is left out
	MaxRules     = 10_000  // rules of a file; further ones are left out
)

// The reasons for which a part of an ignore file does not count. They arrive at
// [Options.Report].
var (
	ErrFileTooLarge = fmt.Errorf("only the first %d bytes count", MaxFileBytes)
	ErrTooManyRules = fmt.Errorf("only the first %d rules count", MaxRules)
	ErrRuleTooLong  = fmt.Errorf("a pattern of more than %d bytes does not count", MaxRuleBytes)
)

// rule is one pattern, ready to match.
type rule struct {
	negate  bool // the pattern began with "!"
	dirOnly bool // the pattern ended in a slash
	// byName says that the pattern holds no other slash: it is matched against
	// base names at any depth. Otherwise it is matched against the path below
	// the folder of the file.
	byName bool

	kind ruleKind
	text string // the whole name or path, or the end of a name
	glob *glob
}

type ruleKind uint8

const (
	ruleLiteral ruleKind = iota // text, and nothing else
	ruleSuffix                  // "*" and text; only by name
	ruleGlob                    // glob
)

// parse reads an ignore file. fold says that case does not count. What goes
// wrong is joined in the error; the list holds all the rest.
func parse(data []byte, fold bool) (*list, error) {
	var errs []error
	if len(data) > MaxFileBytes {
		data = data[:bytes.LastIndexByte(data[:MaxFileBytes], '\n')+1]
		errs = append(errs, ErrFileTooLarge)
	}
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	l := &list{fold: fold}
	for line := range bytes.Lines(data) {
		pattern := cleanLine(string(line))
		if pattern == "" {
			continue
		}
		if len(pattern) > MaxRuleBytes {
			errs = append(errs, ErrRuleTooLong)
			continue
		}
		r, ok := parseRule(pattern, fold)
		if !ok {
			continue
		}
		if len(l.rules) == MaxRules {
			errs = append(errs, ErrTooManyRules)
			break
		}
		l.add(r)
	}
	return l, errors.Join(errs...)
}

// cleanLine is the pattern that a line holds, or "".
func cleanLine(line string) string {
	line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	return trimSpaces(cString(line))
}

// cString ends a line where git, which is written in C, sees its end, and drops
// comments.
func cString(line string) string {
	line, _, _ = strings.Cut(line, "\x00")
	if strings.HasPrefix(line, "#") {
		return ""
	}
	return line
}

// trimSpaces drops the spaces at the end that no backslash protects. Tabs stay.
func trimSpaces(line string) string {
	end := len(line)
	inSpaces := false
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			if !inSpaces {
				inSpaces, end = true, i
			}
		case '\\':
			i++
			if i == len(line) {
				return line
			}
			inSpaces = false
		default:
			inSpaces = false
		}
	}
	if inSpaces {
		return line[:end]
	}
	return line
}

// parseRule reads one pattern. ok is false if nothing can ever match it.
func parseRule(pattern string, fold bool) (r rule, ok bool) {
	pattern, r.negate = strings.CutPrefix(pattern, "!")
	pattern, r.dirOnly = strings.CutSuffix(pattern, "/")
	r.byName = !strings.Contains(pattern, "/")
	if pattern == "" {
		return rule{}, false
	}
	if !r.byName {
		pattern = strings.TrimPrefix(pattern, "/")
	}
	wild := strings.IndexAny(pattern, `*?[\`)
	switch {
	case wild < 0:
		r.kind, r.text = ruleLiteral, lowerIf(fold, pattern)
		return r, pattern != ""
	case r.byName && wild == 0 && pattern[0] == '*' && !strings.ContainsAny(pattern[1:], `*?[\`):
		r.kind, r.text = ruleSuffix, lowerIf(fold, pattern[1:])
		return r, true
	}
	r.kind = ruleGlob
	r.glob, ok = newGlob(pattern, wild, !r.byName, fold)
	return r, ok
}

// lowerIf folds ASCII letters, the only ones whose case git knows.
func lowerIf(fold bool, s string) string {
	if !fold {
		return s
	}
	for i := 0; i < len(s); i++ {
		if 'A' <= s[i] && s[i] <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				b[i] = lower(b[i])
			}
			return string(b)
		}
	}
	return s
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
