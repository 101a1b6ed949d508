package resource

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/piweb-go/piweb/internal/confine"
	"github.com/piweb-go/piweb/internal/ignore"
)

// Scope says whose a skill, template or profile is.
type Scope string

// The scopes.
const (
	Project Scope = "project" // the working folder's or a folder's above it; needs trust
	User    Scope = "user"
)

// Lists is what the settings say about one kind of resource: paths of files and
// folders, globs among what these hold, and changes to what is found: "!glob"
// takes away, "+path" brings back, "-path" takes away for good. Project paths are
// relative to <cwd>/.pi, the user's to the agent directory.
type Lists struct{ Project, User []string }

// Bounds of one discovery.
const (
	maxDepth   = 16
	maxEntries = 20_000 // files and folders looked at, per location
	maxFound   = 2000   // resources of one kind
	maxText    = 2 << 20
)

// location is a place where resources of one kind lie.
type location struct {
	dir   string // looked through; or, of settings, one file
	owner string // the folder that brings it: links may lead to below it
	base  string // modifiers count from here
	scope Scope
	mods  []string
	form  form
	exact bool // of settings: modifiers may be globs that select

	// Of packages: what the settings want of it, nil for all.
	brought bool
	wanted  []string
	optIn   bool
}

// form says which files of a folder count.
type form int

const (
	skillsOfPi     form = iota // SKILL.md folders, and *.md in the root
	skillsOfAgents             // SKILL.md folders, and *.md below the root
	flatMarkdown               // *.md in the root, nothing below
	deepMarkdown               // *.md at any depth: templates of packages
)

// file is a resource that was found.
type file struct {
	path  string
	scope Scope
	owner string
}

// locations lists where resources of one kind lie, the strongest first.
func (p Place) locations(name string, lists Lists, f form) []location {
	var out []location
	settings := func(scope Scope, base, owner string, entries []string) {
		mods, plain := split(entries)
		for _, entry := range plain {
			out = append(out, location{dir: p.resolve(base, entry), owner: owner, base: base, scope: scope, mods: mods, form: f, exact: true})
		}
	}
	auto := func(scope Scope, dir, owner, base string, entries []string, f form) {
		mods, _ := split(entries)
		out = append(out, location{dir: dir, owner: owner, base: base, scope: scope, mods: mods, form: f})
	}
	if p.Trusted && p.Cwd != "" {
		base := filepath.Join(p.Cwd, ".pi")
		settings(Project, base, p.Cwd, lists.Project)
		auto(Project, filepath.Join(base, name), p.Cwd, base, lists.Project, f)
		if f == skillsOfPi {
			for _, dir := range upToRoot(p.Cwd) {
				agents := filepath.Join(dir, ".agents")
				if p.Home == "" || !sameFolder(filepath.Join(agents, "skills"), filepath.Join(p.Home, ".agents", "skills")) {
					auto(Project, filepath.Join(agents, "skills"), dir, agents, lists.Project, skillsOfAgents)
				}
			}
		}
	}
	if p.AgentDir != "" {
		settings(User, p.AgentDir, "", lists.User)
		auto(User, filepath.Join(p.AgentDir, name), "", p.AgentDir, lists.User, f)
	}
	if f == skillsOfPi && p.Home != "" {
		agents := filepath.Join(p.Home, ".agents")
		auto(User, filepath.Join(agents, "skills"), "", agents, lists.User, skillsOfAgents)
	}
	return append(out, p.packaged(name, f)...)
}

// upToRoot lists dir and the folders above it to the git root, or to the top.
func upToRoot(dir string) []string {
	root := nearestGit(dir)
	var out []string
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		out = append(out, dir)
		if dir == root || filepath.Dir(dir) == dir {
			return out
		}
	}
}

// resolve is a path of the settings.
func (p Place) resolve(base, entry string) string {
	entry = strings.TrimSpace(entry)
	switch {
	case entry == "~" && p.Home != "":
		return p.Home
	case strings.HasPrefix(entry, "~/") && p.Home != "":
		return filepath.Join(p.Home, entry[2:])
	case filepath.IsAbs(entry):
		return filepath.Clean(entry)
	}
	return filepath.Join(base, filepath.FromSlash(entry))
}

// split tells modifiers and globs from paths.
func split(entries []string) (mods, plain []string) {
	for _, e := range entries {
		if strings.TrimSpace(e) == "" {
			continue
		}
		if strings.ContainsAny(e[:1], "!+-") || strings.ContainsAny(e, "*?") {
			mods = append(mods, e)
		} else {
			plain = append(plain, e)
		}
	}
	return mods, plain
}

// find looks through the locations. The same file by two ways counts once, as
// what the stronger location says of it.
func (r *reader) find(p Place, what string, locations []location) []file {
	var out []file
	seen := map[string]bool{} // by path and by real path
	for _, l := range locations {
		paths := r.look(l)
		for _, path := range paths {
			real, err := filepath.EvalSymlinks(path)
			if err != nil {
				real = path
			}
			if seen[path] || seen[real] {
				continue
			}
			if named, _ := l.mentions(path); l.optIn && !named {
				continue
			}
			seen[path], seen[real] = true, true
			if !l.admits(path) {
				r.omit(path, "the setting \""+what+"\" switches it off", nil)
				continue
			}
			if len(out) >= maxFound {
				r.omit(l.dir, "there are too many files; the rest is left out", nil)
				return out
			}
			out = append(out, file{path, l.scope, l.owner})
		}
	}
	return out
}

// look lists the candidates of one location, by name.
func (r *reader) look(l location) []string {
	info, err := os.Stat(l.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		switch {
		case l.brought && !isFolder(l.owner):
			r.omit(l.owner, "the settings name this package, and it is not installed; pi installs it", err)
		case l.exact && !l.brought:
			r.omit(l.dir, "the settings name it, and it is not there", err)
		}
		return nil
	case err != nil:
		r.omit(l.dir, "it cannot be looked at: "+short(err), err)
		return nil
	case info.Mode().IsRegular() && l.exact:
		if !strings.HasSuffix(l.dir, ".md") {
			r.omit(l.dir, "it is no Markdown file", nil)
			return nil
		}
		return []string{l.dir}
	case !info.IsDir():
		return nil
	}
	rules, err := ignore.Open(l.dir, ignore.Options{Git: ignore.GitNowhere, Files: []string{".gitignore", ".ignore", ".fdignore"}, OnlyBelow: true})
	if err != nil {
		r.omit(l.dir, "it cannot be looked at: "+short(err), err)
		return nil
	}
	w := &looker{r: r, l: l, left: maxEntries, way: map[string]bool{}}
	w.folder(l.dir, rules.Root(), 0)
	return w.found
}

// looker walks one location.
type looker struct {
	r     *reader
	l     location
	left  int
	way   map[string]bool // real folders on the way, against links in a circle
	found []string
}

func (w *looker) folder(dir string, rules *ignore.Folder, depth int) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || w.way[real] {
		return
	}
	w.way[real] = true
	defer delete(w.way, real)
	entries, err := os.ReadDir(dir)
	if err != nil {
		w.r.omit(dir, "it cannot be looked at: "+short(err), err)
		return
	}
	if w.l.form == skillsOfPi || w.l.form == skillsOfAgents {
		const skill = "SKILL.md"
		if info, err := os.Stat(filepath.Join(dir, skill)); err == nil && info.Mode().IsRegular() && named(entries, skill) && !rules.Ignored(skill, false) {
			w.found = append(w.found, filepath.Join(dir, skill))
			return
		}
	}
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") || name == "node_modules" {
			continue
		}
		if w.left--; w.left < 0 {
			w.r.omit(w.l.dir, "it holds too many files; the rest is left out", nil)
			return
		}
		path := filepath.Join(dir, name)
		info, err := os.Stat(path) // links are followed
		if err != nil || rules.Ignored(name, info.IsDir()) {
			continue
		}
		switch {
		case info.IsDir():
			if w.l.form != flatMarkdown && depth < maxDepth {
				w.folder(path, rules.Enter(name), depth+1)
			}
		case info.Mode().IsRegular() && strings.HasSuffix(name, ".md"):
			if w.l.form == deepMarkdown || depth == 0 && w.l.form != skillsOfAgents || depth > 0 && w.l.form == skillsOfAgents {
				w.found = append(w.found, path)
			}
		}
	}
}

func named(entries []fs.DirEntry, name string) bool {
	for _, e := range entries {
		if e.Name() == name {
			return true
		}
	}
	return false
}

// admits applies the modifiers of the settings to a file.
func (l location) admits(path string) bool {
	switch {
	case !l.chosen(l.mods, path):
		return false
	case l.optIn:
		_, wanted := l.mentions(path)
		return wanted
	}
	return l.chosen(l.wanted, path)
}

func (l location) chosen(mods []string, path string) bool {
	in, selects := true, false
	for _, m := range mods {
		if l.exact && m != "" && !strings.ContainsAny(m[:1], "!+-") {
			if !selects {
				in, selects = false, true
			}
			in = in || l.matches(path, m)
		}
	}
	for _, sign := range []byte{'!', '+', '-'} { // in this order, whatever theirs is
		for _, m := range mods {
			if m == "" || m[0] != sign {
				continue
			}
			rest := m[1:]
			switch {
			case sign == '!' && l.matches(path, rest):
				in = false
			case sign == '+' && l.is(path, rest):
				in = true
			case sign == '-' && l.is(path, rest):
				in = false
			}
		}
	}
	return in
}

// names are the ways in which the settings may speak of a file: relative, by its
// base name, absolute; of a SKILL.md also those of its folder.
func (l location) names(path string) (exact, loose []string) {
	add := func(path string) {
		rel, err := filepath.Rel(l.base, path)
		if err == nil {
			exact = append(exact, filepath.ToSlash(rel))
		}
		exact = append(exact, filepath.ToSlash(path))
		loose = append(loose, filepath.Base(path))
	}
	add(path)
	if filepath.Base(path) == "SKILL.md" {
		add(filepath.Dir(path))
	}
	return exact, append(loose, exact...)
}

func (l location) is(path, name string) bool {
	name = strings.TrimPrefix(filepath.ToSlash(name), "./")
	exact, _ := l.names(path)
	for _, n := range exact {
		if n == name {
			return true
		}
	}
	return false
}

func (l location) matches(path, glob string) bool {
	_, all := l.names(path)
	for _, n := range all {
		if ok, err := doublestar.Match(filepath.ToSlash(glob), n); err == nil && ok {
			return true
		}
	}
	return false
}

// text reads a resource. A link of a project's may lead into the agent
// directory, the home folder, the project, and the folder that brings it; the
// user's own may lead anywhere.
func (r *reader) text(f file) (ContextFile, bool) {
	roots := r.roots
	if f.owner != "" {
		roots = append(roots[:len(roots):len(roots)], f.owner)
	} else if real, err := filepath.EvalSymlinks(f.path); err == nil {
		roots = append(roots[:len(roots):len(roots)], filepath.Dir(real))
	}
	open, real, err := confine.OpenWithin(f.path, roots...)
	switch {
	case errors.Is(err, confine.ErrOutside):
		r.omit(f.path, "it leads to "+filepath.ToSlash(real)+", outside the agent directory, the home folder and the project", err)
		return ContextFile{}, false
	case err != nil:
		r.omit(f.path, "it cannot be read: "+short(err), err)
		return ContextFile{}, false
	}
	defer open.Close()
	c, ok := r.readOpen(f.path, real, open)
	if ok && len(c.Text) > maxText {
		r.omit(f.path, "it is too large", confine.ErrTooBig)
		return ContextFile{}, false
	}
	return c, ok
}
