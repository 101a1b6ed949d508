package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/piweb-go/piweb/internal/confine"
	"github.com/piweb-go/piweb/internal/ignore"
	"github.com/piweb-go/piweb/internal/watch"
)

// IndexOptions say how an index is built. The zero value is right for programs.
type IndexOptions struct {
	// All offers what is ignored too, but never what .git holds.
	All bool
	// Include and Exclude are globs for paths, as doublestar has them: files that
	// match none of the first, where there are some, or one of the second are not
	// offered. They say nothing of what may be sent.
	Include, Exclude []string
	// Home and Getenv lead to the user's own ignore rules; see ignore.Options.
	Home   string
	Getenv func(name string) string
	// Stale is the age at which names are looked at again where the system cannot
	// watch all folders; 0 for 5 s. It happens when somebody searches.
	Stale time.Duration
	// Watch bounds the watching of folders.
	Watch watch.Options
	// NoWatch looks again instead of watching.
	NoWatch bool
}

// Index knows the names below one folder. It is built in the background from the
// moment it is opened. It is safe for concurrent use and must be closed.
type Index struct {
	root *confine.Root
	dir  string // of the root, without links
	opts IndexOptions

	opened fs.FileInfo // the folder

	tree    atomic.Pointer[tree]
	state   atomic.Int32 // see the states below
	limited atomic.Bool  // there are more files than an index holds
	blind   atomic.Bool  // the system does not tell of all changes
	scanned atomic.Int64 // when the last walk began, Unix nanoseconds
	first   chan struct{}
	again   chan struct{} // asks for a walk; holds one

	mu      sync.Mutex
	dirs    map[string]*dir // the latest values; only the goroutine of the index and its walks change it
	changed []string        // files that changed while we looked, the latest last
	recent  []recent        // and before, as git knows it, the latest first
	stamp   stamp           // of git's index
	index   string          // its path
	known   *tracked        // what it tracks
	refined map[string]refined
	dead    error

	stop context.CancelFunc
	done chan struct{}
}

// The states of an index.
const (
	starting int32 = iota // nothing is known
	listing               // what git tracks is known, or a part of the rest
	complete              // every name is known
)

// refined is what a search left for the next keystroke.
type refined struct {
	tree *tree
	live []int32
}

// OpenIndex starts to index a folder, which is a path of ours.
func OpenIndex(folder string, o IndexOptions) (*Index, error) {
	root, err := confine.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	_, opened, err := root.Resolve(".")
	if err != nil {
		root.Close()
		return nil, err
	}
	if o.Stale <= 0 {
		o.Stale = 5 * time.Second
	}
	ctx, stop := context.WithCancel(context.Background())
	x := &Index{root: root, dir: root.Path(), opts: o, opened: opened, dirs: map[string]*dir{}, refined: map[string]refined{}, stop: stop,
		first: make(chan struct{}), again: make(chan struct{}, 1), done: make(chan struct{})}
	x.tree.Store(emptyTree)
	go func() {
		defer close(x.done)
		x.run(ctx)
	}()
	return x, nil
}

// Close ends the index and waits for its goroutines.
func (x *Index) Close() error {
	x.stop()
	<-x.done
	return x.root.Close()
}

// Complete tells whether every name is known, and how many files there are.
func (x *Index) Complete() (done bool, files int) {
	return x.state.Load() == complete, x.tree.Load().files
}

// Err says why the index cannot go on: its folder is gone.
func (x *Index) Err() error {
	if err := x.there(); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.dead
}

// run builds the index, then keeps it fresh.
func (x *Index) run(ctx context.Context) {
	rules := x.scan(ctx)
	if x.Err() != nil {
		return
	}
	var batches chan watch.Batch
	if !x.opts.NoWatch && !x.opts.All && ctx.Err() == nil {
		w, err := x.watch(rules)
		if err == nil {
			batches = make(chan watch.Batch)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				if err := w.Run(ctx, func(b watch.Batch) {
					select {
					case batches <- b:
					case <-ctx.Done():
					}
				}); errors.Is(err, watch.ErrRoot) {
					x.die(err)
				}
			}()
			defer func() {
				_ = w.Close()
				<-ended
			}()
			x.blind.Store(!w.Complete())
			rules = x.scan(ctx) // what changed before the watches stood
			x.blind.Store(!w.Complete())
		} else {
			x.blind.Store(true)
		}
	} else {
		x.blind.Store(true)
	}
	for x.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-x.again:
			rules = x.scan(ctx)
		case b := <-batches:
			if b.All || slices.ContainsFunc(b.Paths, isRuleFile) {
				rules = x.scan(ctx)
				continue
			}
			x.refresh(ctx, rules, b.Paths)
		}
	}
}

// there says whether the folder is still the one that was opened. Nobody tells of
// its end while we have it open.
func (x *Index) there() error {
	now, err := os.Stat(x.dir)
	if err == nil && !os.SameFile(x.opened, now) {
		err = fmt.Errorf("%s: %w", x.dir, fs.ErrNotExist)
	}
	return err
}

// die ends the use of the index; its owner opens another.
func (x *Index) die(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.dead = err
}

// ruleFiles are the names of ignore files that count, besides git's.
var ruleFiles = []string{".ignore"}

func isRuleFile(path string) bool {
	name := filepath.Base(path)
	return name == ".gitignore" || slices.Contains(ruleFiles, name)
}

// watch watches the folders that the walk has entered, and of new ones those that
// it would.
func (x *Index) watch(rules *ignore.Rules) (*watch.Watcher, error) {
	o := x.opts.Watch
	o.Skip = func(path string) bool {
		rel, err := filepath.Rel(x.dir, path)
		if err != nil || isGit(filepath.Base(path)) {
			return true
		}
		rel = filepath.ToSlash(rel)
		x.mu.Lock()
		known := x.dirs[rel] != nil
		x.mu.Unlock()
		return !known && (heavy[filepath.Base(path)] || rules != nil && rules.Match(rel, true))
	}
	return watch.New(x.dir, o)
}

// scan looks at everything. The rules that it read hold until the next one.
func (x *Index) scan(ctx context.Context) *ignore.Rules {
	x.scanned.Store(time.Now().UnixNano())
	if err := x.there(); err != nil {
		x.die(err)
		return nil
	}
	known := &tracked{dirs: map[string]*dir{}}
	if !x.opts.All {
		known = x.scanTracked()
	}
	w := x.walk(nil, known)
	top := step{}
	if !x.opts.All {
		rules, err := ignore.Open(x.dir, ignore.Options{Git: ignore.GitEverywhere, Files: ruleFiles, Home: x.opts.Home, Getenv: x.opts.Getenv})
		if err != nil {
			x.die(err)
			return nil
		}
		w.rules, top.folder = rules, rules.Root()
	}
	met := map[string]bool{}
	last := time.Now()
	w.emit = func(d *dir) {
		x.mu.Lock()
		defer x.mu.Unlock()
		met[d.path] = true
		if old := x.dirs[d.path]; !d.equal(old) {
			x.dirs[d.path] = d
		}
		if now := time.Now(); x.state.Load() != complete && now.Sub(last) > 50*time.Millisecond {
			x.publish(listing)
			last = time.Now() // of a large tree this takes a while itself
		}
	}
	if err := w.run(ctx, top); err != nil {
		return w.rules
	}
	x.limited.Store(w.full.Load())
	x.mu.Lock()
	defer x.mu.Unlock()
	for path := range x.dirs {
		if !met[path] {
			delete(x.dirs, path)
		}
	}
	x.publish(complete)
	return w.rules
}

// walk is a walk by the options of the index.
func (x *Index) walk(rules *ignore.Rules, known *tracked) *walk {
	return &walk{root: x.root, dir: x.dir, rules: rules, all: x.opts.All, wanted: x.wanted, tracked: known}
}

// wanted says whether the options let a path be offered.
func (x *Index) wanted(path string) bool {
	matches := func(globs []string) bool {
		return slices.ContainsFunc(globs, func(g string) bool { return matchGlob(g, path) })
	}
	return (len(x.opts.Include) == 0 || matches(x.opts.Include)) && !matches(x.opts.Exclude)
}

// matchGlob is doublestar's rule, but what a folder/** matches is inside of it. A
// glob that is none matches nothing.
func matchGlob(glob, path string) bool {
	ok, err := doublestar.Match(glob, path)
	if folder, all := strings.CutSuffix(glob, "/**"); ok && all {
		itself, _ := doublestar.Match(folder, path)
		deeper, _ := doublestar.Match(folder+"/*/**", path)
		child, _ := doublestar.Match(folder+"/*", path)
		ok = !itself || deeper || child
	}
	return ok && err == nil
}

// scanTracked reads git's index. At the first time it is all that is known for a
// moment.
func (x *Index) scanTracked() *tracked {
	known, repo, err := readTracked(x.dir)
	if err != nil {
		known = &tracked{dirs: map[string]*dir{}}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.index = repo.index
	x.stamp = stampOf(repo.index)
	x.known, x.recent = known, known.recent
	if x.state.Load() == starting && len(known.dirs) > 0 {
		if len(x.opts.Include)+len(x.opts.Exclude) == 0 { // else the walk comes first
			for path, d := range known.dirs {
				x.dirs[path] = d
			}
			x.publish(listing)
		}
	}
	return known
}

// publish shows what is known to searches. It is called under mu.
func (x *Index) publish(state int32) {
	t := newTree(x.dirs)
	if old := x.tree.Load(); !slices.Equal(t.dirs, old.dirs) {
		x.tree.Store(t)
	}
	if x.state.Swap(state) == starting {
		close(x.first)
	}
}

// refresh looks again at the folders of some paths.
func (x *Index) refresh(ctx context.Context, rules *ignore.Rules, paths []string) {
	x.mu.Lock()
	folders := map[string]bool{}
	for _, path := range paths {
		rel, err := filepath.Rel(x.dir, path)
		if err != nil {
			continue
		}
		rel = filepath.ToSlash(rel)
		for at := rel; ; { // the nearest folder that is known
			at = at[:max(strings.LastIndexByte(at, '/'), 0)]
			if x.dirs[at] != nil || at == "" {
				folders[at] = true
				break
			}
		}
	}
	known := x.known
	var before []*dir
	for path := range folders {
		if d := x.dirs[path]; d != nil {
			before = append(before, d)
		}
	}
	x.mu.Unlock()

	w := x.walk(rules, known)
	var found []*dir
	var mu sync.Mutex
	w.emit = func(d *dir) {
		mu.Lock()
		defer mu.Unlock()
		found = append(found, d)
	}
	gone, added := map[string]bool{}, []step(nil)
	for _, old := range before {
		d, below := w.list(ctx, step{path: old.path, folder: rules.Folder(old.path), closed: old.closed})
		if ctx.Err() != nil {
			return
		}
		if d == nil {
			gone[old.path] = true
			continue
		}
		found = append(found, d)
		there := map[string]bool{}
		x.mu.Lock()
		for _, s := range below {
			there[s.path] = true
			if x.dirs[s.path] == nil {
				added = append(added, s)
			}
		}
		for _, child := range x.children(old.path) {
			if !there[child] {
				gone[child] = true
			}
		}
		x.mu.Unlock()
	}
	if w.run(ctx, added...) != nil {
		return
	}
	x.apply(found, gone, paths)
}

// children are the known folders right in one. It is called under mu.
func (x *Index) children(path string) (all []string) {
	t := x.tree.Load()
	prefix := path + "/"
	if path == "" {
		prefix = ""
	}
	n, _ := t.dir(prefix)
	for ; n < len(t.dirs) && strings.HasPrefix(t.dirs[n].path, prefix); n++ {
		if rest := t.dirs[n].path[len(prefix):]; rest != "" && strings.IndexByte(rest, '/') < 0 {
			all = append(all, t.dirs[n].path)
		}
	}
	return all
}

// apply brings what a refresh found into the index.
func (x *Index) apply(found []*dir, gone map[string]bool, paths []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var changed []*dir
	newOnes := false
	for _, d := range found {
		old := x.dirs[d.path]
		if d.equal(old) {
			continue
		}
		newOnes = newOnes || old == nil
		x.dirs[d.path] = d
		changed = append(changed, d)
	}
	for path := range gone {
		if path == "" {
			continue
		}
		for at := range x.dirs {
			if at == path || strings.HasPrefix(at, path+"/") {
				delete(x.dirs, at)
				newOnes = true
			}
		}
	}
	x.noteChanged(paths)
	switch {
	case newOnes:
		x.publish(complete)
	case len(changed) > 0:
		x.tree.Store(x.tree.Load().with(changed))
	}
}

// manyChanges is how many paths of one batch are a checkout rather than work.
const manyChanges = 100

// noteChanged remembers what was worked on, the latest last. It is called under mu.
func (x *Index) noteChanged(paths []string) {
	if len(paths) > manyChanges {
		return
	}
	for _, path := range paths {
		rel, err := filepath.Rel(x.dir, path)
		if err != nil || rel == "." {
			continue
		}
		rel = filepath.ToSlash(rel)
		x.changed = slices.DeleteFunc(x.changed, func(p string) bool { return p == rel })
		x.changed = append(x.changed, rel)
	}
	if extra := len(x.changed) - 4*maxRecent; extra > 0 {
		x.changed = slices.Delete(x.changed, 0, extra)
	}
}

// Points of paths; see rank.go.
const (
	pointsMentioned = 60 // by the session
	pointsChanged   = 50 // while we looked
	pointsRecent    = 30 // changed lately, as git's index has it
	pointsStep      = 1  // less for each that came later
)

// points are those of single paths: what the session mentioned, the latest first,
// and what changed lately.
func (x *Index) points(mentioned []string) map[string]int {
	x.mu.Lock()
	defer x.mu.Unlock()
	points := make(map[string]int, len(mentioned)+len(x.changed)+len(x.recent))
	give := func(path string, most, n int) {
		points[path] += max(most-n*pointsStep, 1)
	}
	for n, path := range mentioned[:min(len(mentioned), 4*maxRecent)] {
		if points[path] == 0 {
			give(path, pointsMentioned, n)
		}
	}
	for n := range x.changed {
		give(x.changed[len(x.changed)-1-n], pointsChanged, n)
	}
	for n, r := range x.recent {
		if points[r.path] == 0 {
			give(r.path, pointsRecent, n)
		}
	}
	return points
}

// stale asks for a look at everything where that is due.
func (x *Index) stale() {
	if x.state.Load() != complete {
		return
	}
	x.mu.Lock()
	index, was := x.index, x.stamp
	x.mu.Unlock()
	old := x.blind.Load() && time.Since(time.Unix(0, x.scanned.Load())) > x.opts.Stale
	if old || index != "" && stampOf(index) != was {
		select {
		case x.again <- struct{}{}:
		default: // somebody asked already
		}
	}
}

// Hit is an answer of a search.
type Hit struct {
	Path    string // below the folder, with forward slashes; a folder ends in one
	Folder  bool
	Link    bool
	Matches [][2]int // parts of the path that matched, in UTF-16 units
}

// Found is what a search found.
type Found struct {
	Hits []Hit // the best first
	// Partial says that the index is not complete yet.
	Partial bool
	// Limited says that there are more files than an index holds.
	Limited bool
}

// Search finds the best limit names for a query, in what is known now. mentioned
// are paths that go before equals, the first of them first. It ends early with the
// error of ctx.
func (x *Index) Search(ctx context.Context, text string, limit int, mentioned []string) (Found, error) {
	x.stale()
	f := Found{Partial: x.state.Load() != complete, Limited: x.limited.Load()}
	t, q := x.tree.Load(), newQuery(text)
	within := x.narrowed(t, q)
	hits, live, err := search(ctx, t, q, limit, x.points(mentioned), within)
	if err != nil {
		return f, fmt.Errorf("search for files: %w", err)
	}
	x.remember(t, q, live)
	f.Hits = make([]Hit, 0, len(hits))
	for i := range hits {
		f.Hits = append(f.Hits, q.show(&hits[i]))
	}
	return f, nil
}

// maxRefined is how many searches are remembered for the next keystroke.
const maxRefined = 8

// narrowed are the folders that a query can match, if a shorter one was searched in
// the same tree.
func (x *Index) narrowed(t *tree, q *query) (within []int32) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for n := len(q.text); n > 0; n-- {
		if r, ok := x.refined[q.text[:n]]; ok && r.tree == t {
			return r.live
		}
	}
	return nil
}

func (x *Index) remember(t *tree, q *query, live []int32) {
	if q.text == "" {
		return
	}
	if live == nil {
		live = []int32{}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for text, r := range x.refined {
		if r.tree != t || len(x.refined) >= maxRefined {
			delete(x.refined, text)
		}
	}
	x.refined[q.text] = refined{t, live}
}
