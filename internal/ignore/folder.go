package ignore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// GitFiles says where .gitignore files and the other lists of git count.
type GitFiles uint8

const (
	GitInRepository GitFiles = iota // below a folder that holds .git, as git and ripgrep have it
	GitEverywhere                   // also outside of repositories
	GitNowhere                      // not at all
)

// Case says whether case counts in the rules of git's files.
type Case uint8

const (
	CaseOfRepository Case = iota // as core.ignorecase of the repository says
	CaseMatters
	CaseFolded // A and a are one, ASCII only
)

// Options chooses the rules. The zero value is git's own behaviour, without a
// user's configuration.
type Options struct {
	Git  GitFiles
	Case Case

	// Files are names of further ignore files, the strongest last, such as
	// ".ignore". Each is stronger than all that git reads, and counts
	// everywhere.
	Files []string

	// OnlyBelow leaves out the ignore files above the root.
	OnlyBelow bool

	// Home and Getenv lead to the user's configuration of git, and so to
	// core.excludesFile: without them there is none. Getenv may be nil.
	Home   string
	Getenv func(name string) string

	// OpenFile, if not nil, opens the files that rules come from, for reading.
	OpenFile func(path string) (*os.File, error)

	// Report is told of ignore files that do not count as a whole; it may be
	// nil, and is called from any goroutine.
	Report func(path string, err error)
}

// Rules decides what is ignored below one folder, its root. It is a snapshot:
// a file that was read is not read again. It may be used from many goroutines.
type Rules struct {
	opts Options
	user config
	root *Folder

	mu    sync.Mutex
	known map[string]*Folder // by path below the root
}

// maxKnown bounds the folders that Match remembers.
const maxKnown = 4096

// Folder is a folder on the way of a walk, with the rules in force for its
// entries. It never changes.
type Folder struct {
	rules  *Rules
	path   string // on disk
	prefix string // what stands before a name in entry.path: "" or ends in "/"
	depth  int    // folders below the root

	repository *repository // nil outside
	git        *source     // git's lists, the strongest first
	extra      []*source   // the same for each of Options.Files
}

// source is one list with the place that its paths count from, in a chain.
type source struct {
	list *list
	base int // bytes of entry.path before the folder of the file
	next *source
}

// Open reads the rules in force at root, which must be an absolute path: those
// of the folders above it too, up to the top of the repository or, for
// Options.Files, of the file system. The root itself is never ignored: a rule
// from above that excludes it, or a folder on the way to it, does not count, so
// that a folder that is named on purpose has contents.
func Open(root string, opts Options) (*Rules, error) {
	if !filepath.IsAbs(root) {
		return nil, fmt.Errorf("ignore: %s is not an absolute path", root)
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, fmt.Errorf("ignore: %w", err)
	}
	if opts.Getenv == nil {
		opts.Getenv = func(string) string { return "" }
	}
	if opts.Report == nil {
		opts.Report = func(string, error) {}
	}
	r := &Rules{opts: opts, known: map[string]*Folder{}}
	if opts.Git != GitNowhere {
		r.user = r.opts.userConfig()
	}

	volume := filepath.VolumeName(real) + string(filepath.Separator)
	at := &Folder{rules: r, path: volume, extra: make([]*source, len(opts.Files))}
	if opts.Git == GitEverywhere {
		at.pushUserRules(volume, r.user, opts.Case == CaseFolded)
	}
	load := func() {
		if !opts.OnlyBelow || at.path == real {
			at.load(onDisk(at.path))
		}
	}
	load()
	for name := range strings.SplitSeq(strings.TrimPrefix(real, volume), string(filepath.Separator)) {
		if name == "" {
			break
		}
		at = at.admitting(name).child(name)
		load()
	}
	at.depth = 0
	r.root = at
	return r, nil
}

// Root is the folder that a walk begins with.
func (r *Rules) Root() *Folder { return r.root }

// Match says whether the rules ignore rel, a path below the root with forward
// slashes, be there such a file or not. A folder that is ignored decides for
// all in it. What is not below the root, and the root, is not ignored.
func (r *Rules) Match(rel string, isDir bool) bool {
	rel = strings.TrimSuffix(rel, "/")
	at, done := r.root, 0
	for done < len(rel) {
		name, _, deeper := strings.Cut(rel[done:], "/")
		if name == "" || name == "." || name == ".." {
			return false
		}
		if at.Ignored(name, deeper || isDir) {
			return true
		}
		if !deeper || at.depth >= MaxDepth {
			return false
		}
		done += len(name)
		at = r.folder(at, rel[:done], name)
		done++
	}
	return false
}

// folder is at.Enter, remembered.
func (r *Rules) folder(at *Folder, rel, name string) *Folder {
	r.mu.Lock()
	next := r.known[rel]
	r.mu.Unlock()
	if next != nil {
		return next
	}
	next = at.Enter(name)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.known) >= maxKnown {
		clear(r.known)
	}
	r.known[strings.Clone(rel)] = next
	return next
}

// Ignored says whether the rules ignore an entry of the folder. A link is no
// folder, whatever it leads to.
func (f *Folder) Ignored(name string, isDir bool) bool {
	return f.ignored(f.prefix+name, isDir)
}

// ignored takes the path of an entry from the root of the file system.
func (f *Folder) ignored(path string, isDir bool) bool {
	at, place := f.decider(path, isDir)
	return at != nil && !at.list.rules[place].negate
}

// decider finds the rule that decides on an entry: its list, or nil if there is
// none, and its place there.
func (f *Folder) decider(path string, isDir bool) (at *source, place int) {
	e := entry{path: path, name: len(f.prefix), isDir: isDir}
	for i := len(f.extra) - 1; i >= 0; i-- {
		if at, place := f.extra[i].find(&e); at != nil {
			return at, place
		}
	}
	return f.git.find(&e)
}

func (s *source) find(e *entry) (at *source, place int) {
	for ; s != nil; s = s.next {
		if place := s.list.find(e, s.base); place >= 0 {
			return s, place
		}
	}
	return nil, 0
}

// without is the chain less one rule of one of its lists.
func (s *source) without(at *source, place int) *source {
	switch s {
	case nil:
		return nil
	case at:
		return &source{list: s.list.without(place), base: s.base, next: s.next}
	}
	return &source{list: s.list, base: s.base, next: s.next.without(at, place)}
}

// maxForgiven is how many rules may exclude the way to a root one after the
// other, before none of them counts.
const maxForgiven = 100

// admitting is the folder less the rules that exclude an entry of it.
func (f *Folder) admitting(name string) *Folder {
	for range maxForgiven {
		at, place := f.decider(f.prefix+name, true)
		if at == nil || at.list.rules[place].negate {
			return f
		}
		next := *f
		next.git = f.git.without(at, place)
		next.extra = make([]*source, len(f.extra))
		for i, chain := range f.extra {
			next.extra[i] = chain.without(at, place)
		}
		f = &next
	}
	next := *f
	next.git, next.extra = nil, make([]*source, len(f.extra))
	return &next
}

// Enter is the folder of that name in f, with the rules that its files add.
func (f *Folder) Enter(name string) *Folder {
	next := f.child(name)
	next.load(onDisk(next.path))
	return next
}

// enterListed is Enter for a folder whose entries are known.
func (f *Folder) enterListed(name string, list func(name string) (fs.FileMode, bool)) *Folder {
	next := f.child(name)
	next.load(list)
	return next
}

// child is the folder of that name before its own files are read.
func (f *Folder) child(name string) *Folder {
	next := *f
	next.path = filepath.Join(f.path, name)
	next.prefix = f.prefix + name + "/"
	next.depth++
	return &next
}

// onDisk looks for the entries of a folder one by one.
func onDisk(dir string) func(name string) (fs.FileMode, bool) {
	return func(name string) (fs.FileMode, bool) {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil {
			return 0, false
		}
		return info.Mode().Type(), true
	}
}

// load adds what the folder itself says: that a repository begins, and its
// ignore files. find tells of the folder's entries.
func (f *Folder) load(find func(name string) (fs.FileMode, bool)) {
	if f.rules.opts.Git != GitNowhere {
		if _, ok := find(dotGit); ok {
			f.repository = f.rules.opts.openRepository(f.path, f.rules.user)
			f.git = nil // rules end where another repository begins
			f.pushUserRules(f.path, f.repository.config, f.fold())
			f.push(&f.git, f.repository.exclude, f.fold())
		}
	}
	f.loadFiles(find)
}

// loadFiles adds the ignore files of the folder.
func (f *Folder) loadFiles(find func(name string) (fs.FileMode, bool)) {
	opts := &f.rules.opts
	if opts.Git == GitEverywhere || opts.Git == GitInRepository && f.repository != nil {
		// Git does not follow a link of this name.
		if kind, ok := find(".gitignore"); ok && kind.IsRegular() {
			f.push(&f.git, filepath.Join(f.path, ".gitignore"), f.fold())
		}
	}
	copied := false
	for i, name := range opts.Files {
		kind, ok := find(name)
		if !ok || !kind.IsRegular() && kind&fs.ModeSymlink == 0 {
			continue
		}
		if !copied { // the chains are shared with the folder above
			f.extra = append([]*source(nil), f.extra...)
			copied = true
		}
		f.push(&f.extra[i], filepath.Join(f.path, name), opts.Case == CaseFolded)
	}
}

// fold says whether case is folded in git's files here.
func (f *Folder) fold() bool {
	switch f.rules.opts.Case {
	case CaseMatters:
		return false
	case CaseFolded:
		return true
	}
	return f.repository != nil && f.repository.config.ignoreCase
}

// FoldsCase says whether case does not count in the rules of git here.
func (f *Folder) FoldsCase() bool { return f.fold() }

func (f *Folder) pushUserRules(top string, c config, fold bool) {
	if file := f.rules.opts.excludesFile(c, top); file != "" {
		f.push(&f.git, file, fold)
	}
}

// push puts the rules of a file in front of a chain.
func (f *Folder) push(chain **source, file string, fold bool) {
	data, err := f.rules.opts.readBounded(file)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			f.rules.opts.Report(file, err)
		}
		return
	}
	l, err := parse(data, fold)
	if err != nil {
		f.rules.opts.Report(file, err)
	}
	if len(l.rules) > 0 {
		*chain = &source{list: l, base: len(f.prefix), next: *chain}
	}
}

// EnterListed is Enter for a folder whose entries the caller has read: find gives
// the type bits of an entry, and whether there is one of that name.
func (f *Folder) EnterListed(name string, find func(name string) (fs.FileMode, bool)) *Folder {
	return f.enterListed(name, find)
}

// Folder is the folder at rel below the root, with the rules in force in it, be it
// ignored or not.
func (r *Rules) Folder(rel string) *Folder {
	at, done := r.root, 0
	for done < len(rel) {
		name, _, _ := strings.Cut(rel[done:], "/")
		done += len(name)
		at = r.folder(at, rel[:done], name)
		done++
	}
	return at
}
