package resource

import (
	"encoding/json"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/piweb-go/piweb/internal/confine"
)

// Package is an entry of the setting "packages": something that pi installed, and
// what of it counts. Nothing is ever installed or fetched here.
type Package struct {
	Source string // "npm:NAME[@VERSION]", a git URL, or a path
	// Skills and Prompts select among what the package brings; nil for what it
	// says itself, empty for nothing.
	Skills, Prompts []string
	// OptIn takes only what Skills and Prompts name: the setting autoload is false.
	OptIn bool
}

// Packages are those of the two settings files.
type Packages struct{ Project, User []Package }

// maxManifest bounds a package.json, in bytes.
const maxManifest = 1 << 20

// installed is a package that is on disk.
type installed struct {
	Package
	scope Scope
	id    string // the same for two ways to write one source
	root  string
}

// installed lists the packages of a place, the project's first. Of one that both
// name the project's entry counts; one that only opts in adds to the user's.
func (p Place) installed() (out []installed) {
	at := map[string]int{}
	add := func(scope Scope, base string, list []Package) {
		for _, pkg := range list {
			i := installed{Package: pkg, scope: scope}
			if i.id, i.root = p.source(base, pkg.Source); i.root == "" {
				continue
			}
			had, twice := at[i.id]
			switch {
			case !twice:
				at[i.id] = len(out)
				out = append(out, i)
			case out[had].scope == Project && scope == User:
				if out[had].OptIn {
					out[had].root = i.root
					out = append(out, i)
				}
			case scope == Project:
				out[had] = i
			}
		}
	}
	if p.Trusted && p.Cwd != "" {
		add(Project, filepath.Join(p.Cwd, ".pi"), p.Packages.Project)
	}
	if p.AgentDir != "" {
		add(User, p.AgentDir, p.Packages.User)
	}
	return out
}

// source is where a package lies below the folder of its settings, and its
// identity. The root is "" for what is no source.
func (p Place) source(base, source string) (id, root string) {
	source = strings.TrimSpace(source)
	if spec, ok := strings.CutPrefix(source, "npm:"); ok {
		name := strings.TrimSpace(spec)
		if at := strings.LastIndexByte(name, '@'); at > 0 {
			name = name[:at]
		}
		if !filepath.IsLocal(filepath.FromSlash(name)) || name == "." {
			return "", ""
		}
		return "npm:" + name, filepath.Join(base, "npm", "node_modules", filepath.FromSlash(name))
	}
	if host, repo, ok := gitSource(source); ok {
		return "git:" + host + "/" + repo, filepath.Join(base, "git", host, filepath.FromSlash(repo))
	}
	if source == "" || strings.HasPrefix(source, "git:") || strings.Contains(source, "://") {
		return "", ""
	}
	root = p.resolve(base, source)
	return "local:" + root, root
}

// gitSource reads a git URL: with the prefix "git:" also the short forms.
func gitSource(source string) (host, repo string, ok bool) {
	short, prefixed := strings.CutPrefix(source, "git:")
	if prefixed && !strings.HasPrefix(short, "//") {
		source = strings.TrimSpace(short)
	} else {
		prefixed = false
	}
	switch {
	case strings.Contains(source, "://"):
		u, err := url.Parse(source)
		if err != nil || !slices.Contains([]string{"https", "http", "ssh", "git"}, strings.ToLower(u.Scheme)) {
			return "", "", false
		}
		host, repo = u.Hostname(), strings.TrimLeft(u.Path, "/")
	case !prefixed:
		return "", "", false
	case strings.HasPrefix(source, "git@"):
		host, repo, _ = strings.Cut(source[len("git@"):], ":")
	default:
		host, repo, _ = strings.Cut(source, "/")
		if strings.HasPrefix(source, "github:") {
			host, repo = "github.com", source[len("github:"):]
		} else if !strings.Contains(host, ".") && host != "localhost" {
			host, repo = "github.com", source // user/project
		}
	}
	repo, _, _ = strings.Cut(repo, "#")
	repo, _, _ = strings.Cut(repo, "@")
	repo = strings.TrimSuffix(strings.TrimRight(repo, "/"), ".git")
	if host == "" || host == ".." || host == "." || strings.ContainsAny(host+repo, "\\\x00") || strings.Contains(host, "/") ||
		!strings.Contains(repo, "/") || !filepath.IsLocal(filepath.FromSlash(repo)) || path.Clean(repo) != repo {
		return "", "", false
	}
	return host, repo, true
}

// packaged lists where the resources of one kind lie in the packages.
func (p Place) packaged(name string, f form) (out []location) {
	if f == flatMarkdown {
		f = deepMarkdown
	}
	for _, pkg := range p.installed() {
		wanted := pkg.Skills
		if name == "prompts" {
			wanted = pkg.Prompts
		}
		if pkg.OptIn && len(wanted) == 0 || wanted != nil && len(wanted) == 0 {
			continue
		}
		entries, mods, listed := manifest(pkg.root, name)
		if !listed {
			if wanted == nil && hasManifest(pkg.root) {
				continue // it lists what it brings, and nothing of this kind
			}
			entries = []string{name}
		}
		for _, dir := range expand(pkg.root, entries) {
			out = append(out, location{dir: dir, owner: pkg.root, base: pkg.root, scope: pkg.scope, form: f, exact: true, brought: true,
				mods: mods, wanted: wanted, optIn: pkg.OptIn})
		}
	}
	return out
}

// readManifest is the member "pi" of a package's package.json; false where there is
// none that can be read. Lists that hold more than strings do not count.
func readManifest(root string) (lists map[string][]string, ok bool) {
	data, err := confine.ReadRegular(filepath.Join(root, "package.json"), maxManifest)
	if err != nil {
		return nil, false
	}
	var doc struct{ Pi map[string]json.RawMessage }
	if json.Unmarshal([]byte(strings.TrimPrefix(string(data), "\ufeff")), &doc) != nil || doc.Pi == nil {
		return nil, false
	}
	lists = map[string][]string{}
	for _, kind := range []string{"extensions", "skills", "prompts", "themes"} {
		var entries []string
		if raw, has := doc.Pi[kind]; has && json.Unmarshal(raw, &entries) == nil && entries != nil {
			lists[kind] = entries
		}
	}
	return lists, true
}

// hasManifest tells whether a package says what it brings, of any kind.
func hasManifest(root string) bool {
	lists, _ := readManifest(root)
	return len(lists) > 0
}

// manifest splits what a package says of one kind: where its resources lie, and
// what of that is off.
func manifest(root, kind string) (entries, mods []string, listed bool) {
	lists, _ := readManifest(root)
	list, listed := lists[kind]
	for _, e := range list {
		if e != "" && strings.ContainsAny(e[:1], "!+-") {
			mods = append(mods, e)
		} else {
			entries = append(entries, e)
		}
	}
	return entries, mods, listed
}

// expand makes paths of the entries of a manifest. What leads out of the package
// is left out, and a glob finds no hidden files.
func expand(root string, entries []string) (out []string) {
	for _, e := range entries {
		e = filepath.ToSlash(e)
		names := []string{path.Clean(e)}
		if strings.ContainsAny(e, "*?") {
			names, _ = doublestar.Glob(os.DirFS(root), path.Clean(e), doublestar.WithNoHidden())
			slices.Sort(names)
			names = names[:min(len(names), maxFound)]
		}
		for _, n := range names {
			if filepath.IsLocal(filepath.FromSlash(n)) {
				out = append(out, filepath.Join(root, filepath.FromSlash(n)))
			}
		}
	}
	return out
}

// mentions tells whether the settings name a file of a package that only opts in,
// and whether they want it. The last word counts.
func (l location) mentions(path string) (named, wanted bool) {
	for _, m := range l.wanted {
		rest := strings.TrimLeft(m[:min(1, len(m))], "!+-") + m[min(1, len(m)):]
		exact := strings.HasPrefix(m, "+") || strings.HasPrefix(m, "-")
		if exact && l.is(path, rest) || !exact && l.matches(path, rest) {
			named, wanted = true, !strings.HasPrefix(m, "-") && !strings.HasPrefix(m, "!")
		}
	}
	return named, wanted
}
