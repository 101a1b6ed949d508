package tool

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/piweb-go/piweb/internal/ignore"
)

// nameGlob is the glob of a call of grep or find: against the base name, or
// against the path below the folder searched if it holds a slash.
type nameGlob struct {
	pattern string
	path    bool
	root    string // with a slash at its end, for an absolute pattern; or ""
	fold    bool   // the pattern has no capital, and case does not count
}

// maxAlternatives bounds what the braces of a glob multiply to: each
// combination costs a comparison.
const maxAlternatives = 1024

// newNameGlob reads a glob that counts from the folder root.
func newNameGlob(pattern, root string) (nameGlob, error) {
	if runtime.GOOS == "windows" {
		pattern = strings.ReplaceAll(pattern, `\`, "/")
	}
	for strings.HasPrefix(pattern, "./") {
		pattern = pattern[2:]
	}
	g := nameGlob{path: strings.Contains(pattern, "/")}
	if filepath.IsAbs(pattern) {
		g.root = strings.TrimSuffix(filepath.ToSlash(root), "/") + "/"
	}
	// To doublestar a/** is also a itself; to ripgrep and fd it is what a holds.
	if strings.HasSuffix(pattern, "/**") {
		pattern += "/*"
	}
	if pattern == "" {
		return g, errors.New("it is empty")
	}
	if !doublestar.ValidatePattern(pattern) {
		return g, errors.New("a bracket, a brace or a backslash stands alone; a backslash before it makes it an ordinary character")
	}
	if n := alternatives(pattern); n > maxAlternatives {
		return g, fmt.Errorf("its braces make more than %d alternatives", maxAlternatives)
	}
	g.pattern = pattern
	return g, nil
}

// smartCase lets case count only if the pattern holds a capital.
func (g nameGlob) smartCase() nameGlob {
	g.fold = g.pattern == strings.ToLower(g.pattern)
	return g
}

// alternatives is how many patterns braces stand for; more than maxAlternatives are
// counted as one more. Braces in braces multiply as others do.
func alternatives(pattern string) int {
	type level struct{ sum, product int }
	most := func(n int) int { return min(n, maxAlternatives+1) }
	open := []level{{0, 1}}
	for i := 0; i < len(pattern); i++ {
		top := &open[len(open)-1]
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case c == '{':
			open = append(open, level{0, 1})
		case c == ',' && len(open) > 1:
			top.sum, top.product = most(top.sum+top.product), 1
		case c == '}' && len(open) > 1:
			n := most(top.sum + top.product)
			open = open[:len(open)-1]
			top = &open[len(open)-1]
			top.product = most(top.product * n)
		}
	}
	n := 1
	for _, l := range open {
		n = most(n * most(l.sum+l.product))
	}
	return n
}

// match says whether the glob names the entry.
func (g nameGlob) match(e ignore.Entry) bool {
	subject := e.Name()
	if g.path {
		subject = g.root + e.Path
	}
	if g.fold {
		subject = strings.ToLower(subject)
	}
	return doublestar.MatchUnvalidated(g.pattern, subject)
}

// fileFilter is the glob of grep, which means what it means to rg --glob:
// read like a line of an ignore file, it chooses files, or leaves out what it
// matches if it begins with "!". It is stronger than the ignore rules, but for
// one thing: it does not bring an ignored folder back, so that * is not a way
// into all dependencies.
type fileFilter struct {
	glob    nameGlob
	negated bool
	dirOnly bool
}

func newFileFilter(pattern string) (*fileFilter, error) {
	f := &fileFilter{}
	pattern, f.negated = strings.CutPrefix(pattern, "!")
	for strings.HasPrefix(pattern, "./") {
		pattern = pattern[2:]
	}
	pattern, f.dirOnly = strings.CutSuffix(pattern, "/")
	rest, anchored := strings.CutPrefix(pattern, "/")
	glob, err := newNameGlob(rest, "")
	if err != nil {
		return nil, err
	}
	glob.path = glob.path || anchored
	f.glob = glob
	return f, nil
}

// choose is the filter's opinion on an entry of a walk.
func (f *fileFilter) choose(e ignore.Entry) ignore.Choice {
	matched := (!f.dirOnly || e.IsDir()) && f.glob.match(e)
	switch {
	case f.negated && matched:
		return ignore.Drop
	case f.negated, e.IsDir():
		return ignore.AskRules
	case matched:
		return ignore.Keep
	}
	return ignore.Drop
}

// ignoring is how a search asks for ignore rules; files are the names besides
// .gitignore, the strongest last.
func (o Options) ignoring(git ignore.GitFiles, files ...string) ignore.Options {
	env := map[string]string{}
	for _, pair := range o.Environ() {
		if name, value, ok := strings.Cut(pair, "="); ok {
			env[name] = value
		}
	}
	return ignore.Options{
		Git:    git,
		Files:  files,
		Home:   o.Home,
		Getenv: func(name string) string { return env[name] },
	}
}
