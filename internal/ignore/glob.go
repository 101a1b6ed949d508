package ignore

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
	gitignore "github.com/sabhiram/go-gitignore"
)

// A glob is matched by go-gitignore. That library turns each line into a
// regular expression, and gets much of git's syntax wrong on the way, so the
// line that it is given is not git's: it is written so that all that the
// library does to it leaves the expression that git means.
//
//	/            at the start: the library anchors the line
//	\x{2a}       a literal byte, so none of its own special characters occur
//	[^/]         for ?
//	[^/]{0,}     for *
//	(|…{0,}\x{2f})  for **/ at the start or after a slash, … being any byte
//	[\x{61}…]    for a class, worked out byte by byte
//	$            at the end: what the library adds for "and all below" cannot match
//
// Git matches bytes and the library runes, so a name is handed over with each
// byte as the rune of that number. Expressions are those of RE2: time grows
// with the length of name and pattern and never explodes.
//
// Two short cuts come first, each held against the long way by a test: the
// literal ends of a glob, and doublestar, which is much faster where it means
// the same as git: only * and ? between ASCII literals, on an ASCII name.

// glob is one pattern with a wildcard.
type glob struct {
	start, end string // literal bytes with which every name that matches begins and ends
	simple     string // the pattern for doublestar, or ""
	line       string // the pattern for go-gitignore

	once    sync.Once
	matcher *gitignore.GitIgnore
}

// newGlob reads a pattern whose first wildcard is at wild. path says that the
// pattern is matched against paths. ok is false if nothing can match.
func newGlob(pattern string, wild int, path, fold bool) (g *glob, ok bool) {
	line, ok := translate(pattern, wild, path, fold)
	if !ok {
		return nil, false
	}
	g = &glob{line: line, start: lowerIf(fold, pattern[:wild])}
	// A slash is no safe end: the one of "**/" may match nothing.
	last := strings.LastIndexAny(pattern, `*?[]\/`)
	g.end = lowerIf(fold, pattern[last+1:])
	if !strings.ContainsAny(pattern, `[\{}`) && !strings.Contains(pattern, "**") && isASCII(pattern) {
		g.simple = lowerIf(fold, pattern)
	}
	return g, true
}

// match says whether the glob matches all of name.
func (g *glob) match(name string) bool {
	if !strings.HasPrefix(name, g.start) || !strings.HasSuffix(name, g.end) {
		return false
	}
	ascii := isASCII(name)
	if ascii && g.simple != "" {
		return doublestar.MatchUnvalidated(g.simple, name)
	}
	return g.matchSlow(name, ascii)
}

// matchSlow is the long way, without short cuts.
func (g *glob) matchSlow(name string, ascii bool) bool {
	g.once.Do(func() { g.matcher = gitignore.CompileIgnoreLines(g.line) })
	if !ascii {
		name = bytesAsRunes(name)
	}
	return g.matcher.MatchesPath(name)
}

func bytesAsRunes(name string) string {
	wide := make([]byte, 0, 2*len(name))
	for i := 0; i < len(name); i++ {
		wide = utf8.AppendRune(wide, rune(name[i]))
	}
	return string(wide)
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

const anyBytes = `[\x{0}-\x{ff}]{0,}`

// translate writes a pattern as a line for go-gitignore.
func translate(p string, wild int, path, fold bool) (line string, ok bool) {
	var out strings.Builder
	out.WriteByte('/')
	literal := func(c byte) { fmt.Fprintf(&out, `\x{%x}`, c) }
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
			if i == len(p) {
				return "", false
			}
			literal(p[i]) // git does not fold the case of an escaped letter
		case '?':
			out.WriteString("[^/]")
		case '*':
			end := i
			for end < len(p) && p[end] == '*' {
				end++
			}
			// Git cuts the literal beginning off before it matches, so that in
			// a**/b the stars count as standing at the start.
			first := i == wild || p[i-1] == '/'
			switch rest := p[end:]; {
			case !path || end-i < 2 || !first:
				out.WriteString("[^/]{0,}")
			case rest == "" || strings.HasPrefix(rest, `\/`):
				out.WriteString(anyBytes)
			case rest[0] == '/':
				out.WriteString("(|" + anyBytes + `\x{2f})`)
				end++ // the slash
			default:
				out.WriteString("[^/]{0,}")
			}
			i = end - 1
		case '[':
			set, end, ok := readClass(p, i, fold)
			if !ok || !writeSet(&out, &set) {
				return "", false
			}
			i = end
		default:
			c := p[i]
			if fold {
				c = lower(c)
			}
			literal(c)
		}
	}
	out.WriteByte('$')
	return out.String(), true
}

// writeSet writes a set of bytes as a class. An empty one has no form.
func writeSet(out *strings.Builder, set *[256]bool) bool {
	set['/'] = false // no class matches a slash
	empty := true
	out.WriteByte('[')
	for lo := 0; lo < len(set); lo++ {
		if !set[lo] {
			continue
		}
		hi := lo
		for hi+1 < len(set) && set[hi+1] {
			hi++
		}
		fmt.Fprintf(out, `\x{%x}-\x{%x}`, lo, hi)
		lo, empty = hi, false
	}
	out.WriteByte(']')
	return !empty
}

// readClass reads the class that begins at p[start]. end is the place of its
// closing bracket. A class that git cannot read matches nothing, nor does the
// pattern around it.
func readClass(p string, start int, fold bool) (set [256]bool, end int, ok bool) {
	i := start + 1
	at := func(i int) byte { // 0 behind the end, as in C
		if i < len(p) {
			return p[i]
		}
		return 0
	}
	negated := at(i) == '!' || at(i) == '^'
	if negated {
		i++
	}
	var previous byte // the byte that a following "-" begins a range at, or 0
	for first := true; first || at(i) != ']'; first = false {
		c := at(i)
		switch {
		case c == 0:
			return set, 0, false
		case c == '\\':
			i++
			if c = at(i); c == 0 {
				return set, 0, false
			}
			set[c] = true
			previous = c
		case c == '-' && previous != 0 && at(i+1) != 0 && at(i+1) != ']':
			i++
			if c = at(i); c == '\\' {
				i++
				if c = at(i); c == 0 {
					return set, 0, false
				}
			}
			addRange(&set, previous, c, fold)
			previous = 0
		case c == '[' && at(i+1) == ':':
			closing := strings.IndexByte(p[i+2:], ']')
			if closing < 0 {
				return set, 0, false
			}
			name, named := strings.CutSuffix(p[i+2:i+2+closing], ":")
			if !named { // an ordinary bracket after all
				set['['] = true
				previous = '['
				break
			}
			if !addNamed(&set, name, fold) {
				return set, 0, false
			}
			previous = 0
			i += 2 + closing
		default:
			set[c] = true
			previous = c
		}
		i++
	}
	if negated {
		for c := range set {
			set[c] = !set[c]
		}
	}
	return set, i, true
}

func addRange(set *[256]bool, lo, hi byte, fold bool) {
	for c := range len(set) {
		b := byte(c)
		upper := b
		if fold && 'a' <= b && b <= 'z' {
			upper -= 'a' - 'A'
		}
		if lo <= b && b <= hi || lo <= upper && upper <= hi {
			set[c] = true
		}
	}
}

// addNamed adds a class such as [:digit:], as git's own tables have it.
func addNamed(set *[256]bool, name string, fold bool) bool {
	isUpper := func(c byte) bool { return 'A' <= c && c <= 'Z' }
	isLower := func(c byte) bool { return 'a' <= c && c <= 'z' }
	isDigit := func(c byte) bool { return '0' <= c && c <= '9' }
	isSpace := func(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
	isGraph := func(c byte) bool { return '!' <= c && c <= '~' }
	isAlnum := func(c byte) bool { return isUpper(c) || isLower(c) || isDigit(c) }
	var is func(c byte) bool
	switch name {
	case "alnum":
		is = isAlnum
	case "alpha":
		is = func(c byte) bool { return isUpper(c) || isLower(c) }
	case "blank":
		is = func(c byte) bool { return c == ' ' || c == '\t' }
	case "cntrl":
		is = func(c byte) bool { return c < ' ' || c == 0x7f }
	case "digit":
		is = isDigit
	case "graph":
		is = isGraph
	case "lower":
		is = isLower
	case "print":
		is = func(c byte) bool { return c == ' ' || isGraph(c) }
	case "punct":
		is = func(c byte) bool { return isGraph(c) && !isAlnum(c) }
	case "space":
		is = isSpace
	case "upper":
		is = func(c byte) bool { return isUpper(c) || fold && isLower(c) }
	case "xdigit":
		is = func(c byte) bool { return isDigit(c) || 'a' <= lower(c) && lower(c) <= 'f' }
	default:
		return false
	}
	for c := range len(set) {
		if is(byte(c)) {
			set[c] = true
		}
	}
	return true
}
