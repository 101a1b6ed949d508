package catalog

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/piweb-go/piweb/internal/durable"
	"github.com/piweb-go/piweb/session"
)

// Options inject what tests and programs need to control. The zero value is right
// for programs.
type Options struct {
	FS      durable.FS       // of the cache; nil for the machine's
	Now     func() time.Time // nil for time.Now
	Workers int              // files that are read at once; 0 for two per processor
	// Progress is told how many files of many have been read or searched, by one
	// goroutine at a time; it must not call back. nil to be told nothing.
	Progress func(session.Progress)
	// Problem is told what is wrong with the cache. Nothing depends on it: without
	// a cache the files are read. nil to be told nothing.
	Problem func(error)
}

// pause is how long a cache that could not be written is left alone.
const pause = 30 * time.Second

// Catalogue is the sessions of one root. It is safe for concurrent use.
type Catalogue struct {
	root string
	opts Options

	turn chan struct{} // held by the one that looks at all files, and writes the cache
	once sync.Once     // loads the cache

	store *store    // by the holder of turn, once it is loaded
	pause time.Time // until then no cache is written; by the holder of turn

	mu      sync.Mutex
	records map[string]*record
	pending map[string]bool // changed and not in the cache yet
	sorted  []Info          // of records, nil where it must be made anew
	watched watched
}

// Open makes a catalogue of the sessions in root (see [Files]) with its cache in
// cacheDir; with "" it remembers only in memory. Nothing is read or written yet,
// and there is nothing to close.
func Open(root, cacheDir string, opts Options) *Catalogue {
	if abs, err := filepath.Abs(root); err == nil {
		root = abs
	}
	if opts.FS == nil {
		opts.FS = durable.OS{}
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Workers <= 0 {
		opts.Workers = 2 * runtime.GOMAXPROCS(0)
	}
	return &Catalogue{root: root, opts: opts, turn: make(chan struct{}, 1), store: newStore(opts.FS, cacheDir, root),
		records: map[string]*record{}, pending: map[string]bool{}}
}

// Root is the folder of the sessions, as an absolute path.
func (c *Catalogue) Root() string { return c.root }

// Filter says which part of the list is wanted. The zero value is all of it.
type Filter struct {
	CWD   string // only sessions of this working folder, by their headers
	Text  string // only sessions whose name (or first text) or id holds this, whatever its case
	After Cursor // only what stands behind it
	Limit int    // at most so many; 0 for no limit
}

// Cursor is a place in the list. The zero value is its beginning. It holds
// whatever happens to the sessions in front of it.
type Cursor struct {
	Modified time.Time `json:"ts,omitzero"`
	Problem  bool      `json:"problem,omitempty"` // among those that could not be read
	Path     string    `json:"path,omitempty"`
}

// Page is a part of the list.
type Page struct {
	Infos []Info
	Total int    // sessions that fit the filter, those of other pages included
	Next  Cursor // for the next page; zero where there is none
}

// List returns the sessions, the newest first; what could not be read stands at
// the end. Only files that changed since the last look are read.
func (c *Catalogue) List(ctx context.Context, f Filter) (Page, error) {
	if err := c.refresh(ctx); err != nil {
		return Page{}, err
	}
	all := c.infos()
	if f == (Filter{}) {
		return Page{Infos: slices.Clone(all), Total: len(all)}, nil
	}
	here := sameFolder(f.CWD)
	text := strings.ToLower(strings.TrimSpace(f.Text))
	var page Page
	for _, i := range all {
		if f.CWD != "" && (i.Problem != "" || !here(i.CWD)) || !i.holds(text) {
			continue
		}
		page.Total++
		if !f.After.before(i) {
			continue
		}
		if f.Limit > 0 && len(page.Infos) == f.Limit {
			last := page.Infos[f.Limit-1]
			page.Next = Cursor{last.Modified, last.Problem != "", last.Path}
			continue
		}
		page.Infos = append(page.Infos, i)
	}
	return page, nil
}

func (a Cursor) before(i Info) bool {
	if a == (Cursor{}) {
		return true
	}
	at := Info{Modified: a.Modified, Path: a.Path}
	if a.Problem {
		at.Problem = "problem"
	}
	return newest(&at, &i) < 0
}

func (i *Info) holds(text string) bool {
	title := i.Name
	if title == "" {
		title = i.First
	}
	return text == "" || strings.Contains(strings.ToLower(title+"\n"+i.ID), text)
}

// sameFolder compares working folders with one: as they are written, and where
// that differs, as they are without links.
func sameFolder(dir string) func(string) bool {
	dir = filepath.Clean(dir)
	real := resolve(dir)
	known := map[string]bool{}
	return func(other string) bool {
		if other == "" {
			return false
		}
		same, ok := known[other]
		if !ok {
			same = filepath.Clean(other) == dir || resolve(filepath.Clean(other)) == real
			known[other] = same
		}
		return same
	}
}

func resolve(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// infos is the whole list. It must not be changed.
func (c *Catalogue) infos() []Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sorted == nil {
		infos := make([]Info, 0, len(c.records))
		order := make([]*Info, 0, len(c.records)) // an Info is large to be moved about
		for path, r := range c.records {
			infos = append(infos, r.describe(path))
			order = append(order, &infos[len(infos)-1])
		}
		slices.SortFunc(order, func(a, b *Info) int { return newest(a, b) })
		c.sorted = make([]Info, len(order))
		for i, info := range order {
			c.sorted[i] = *info
		}
	}
	return c.sorted
}

// Describe returns what the list shows of one file, read anew if it changed.
func (c *Catalogue) Describe(path string) Info {
	r, err := c.look(path)
	if err != nil {
		return Info{Path: path, Problem: err.Error()}
	}
	return r.describe(path)
}

// look returns the record of a file as it is now.
func (c *Catalogue) look(path string) (*record, error) {
	c.mu.Lock()
	old := c.records[path]
	c.mu.Unlock()
	now := c.opts.Now() // before the look: see holds
	var r *record
	info, err := os.Stat(path)
	switch {
	case err != nil:
		err = openFailed(path, err)
	case old.holds(keyOf(info)):
		return old, nil
	default:
		r, err = scanFile(path, info, old, now)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remember(path, r, err)
	return r, err
}

// remember takes the result of a scan over.
func (c *Catalogue) remember(path string, r *record, err error) {
	c.sorted = nil
	switch {
	case missing(err):
		delete(c.records, path)
	case err != nil: // not for the cache: it may be readable the next moment
		c.records[path] = &record{info: Info{Problem: err.Error()}}
	default:
		c.records[path] = r
		c.pending[path] = true
	}
}

// load reads the cache, the first time.
func (c *Catalogue) load() {
	c.once.Do(func() {
		records := c.store.load()
		c.mu.Lock()
		defer c.mu.Unlock()
		maps.Copy(records, c.records)
		c.records = records
	})
}

// refresh makes the records those of the files as they are now.
func (c *Catalogue) refresh(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { c.save(); <-c.turn }()
	c.load()
	paths, all := c.watched.take(c.opts.Now())
	if !all {
		var files, gone []string
		if files, gone, all = c.named(paths); !all {
			c.drop(gone)
			return c.lookAt(ctx, files)
		}
	}
	files, err := Files(c.root)
	if err != nil {
		c.watched.untrust()
		return err
	}
	c.watched.keepLinks(files)
	c.forget(files)
	return c.lookAt(ctx, files)
}

// save writes what was learnt to the cache. It is called with the turn.
func (c *Catalogue) save() {
	c.mu.Lock()
	changed := slices.Collect(maps.Keys(c.pending))
	now := c.opts.Now()
	if len(changed) == 0 && (!c.store.stale || len(c.records) == 0) || now.Before(c.pause) {
		c.mu.Unlock()
		return
	}
	clear(c.pending)
	all := make(map[string]*record, len(c.records))
	for path, r := range c.records {
		if r.key != (key{}) { // else it could not be read, and says so for now only
			all[path] = r
		}
	}
	c.mu.Unlock()
	if err := c.store.put(changed, all); err != nil {
		c.store.stale, c.pause = true, now.Add(pause)
		if c.opts.Problem != nil {
			c.opts.Problem(err)
		}
	}
}

// trySave saves unless somebody else is at it, and will.
func (c *Catalogue) trySave() {
	select {
	case c.turn <- struct{}{}:
		c.save()
		<-c.turn
	default:
	}
}

// drop forgets what is gone: files, and folders with the files in them.
func (c *Catalogue) drop(paths []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, path := range paths {
		if !strings.HasSuffix(path, ".jsonl") {
			for file := range c.records {
				if filepath.Dir(file) == path {
					delete(c.records, file)
					c.sorted = nil
				}
			}
		}
		if c.records[path] != nil {
			delete(c.records, path)
			c.sorted = nil
		}
	}
}

// forget drops the records of files that are gone.
func (c *Catalogue) forget(files []string) {
	there := make(map[string]bool, len(files))
	for _, f := range files {
		there[f] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for path := range c.records {
		if !there[path] {
			delete(c.records, path)
			c.sorted = nil
		}
	}
}

// lookAt looks at files, several at a time, until ctx ends.
func (c *Catalogue) lookAt(ctx context.Context, files []string) error {
	told := c.progress("reading the sessions", len(files))
	err := each(ctx, c.opts.Workers, len(files), func(i int) {
		_, _ = c.look(files[i]) // a failure is a record, too
		told.done(1)
	})
	if err != nil {
		c.watched.untrust()
	}
	return err
}

// each calls f for 0 to n-1 from several goroutines, until ctx ends.
func each(ctx context.Context, workers, n int, f func(i int)) error {
	const share = 16 // that a worker takes at once
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min((n+share-1)/share, workers) {
		wg.Go(func() {
			for {
				to := int(next.Add(share))
				for i := to - share; i < min(to, n); i++ {
					if ctx.Err() != nil {
						return
					}
					f(i)
				}
				if to >= n {
					return
				}
			}
		})
	}
	wg.Wait()
	return ctx.Err()
}

// candidate is a file with what its name and a look at it tell.
type candidate struct {
	path string
	key  key
}

// candidates lists the files by their times, the last written first.
func (c *Catalogue) candidates(ctx context.Context) ([]candidate, error) {
	c.load()
	files, err := Files(c.root)
	if err != nil {
		return nil, err
	}
	list := make([]candidate, len(files))
	err = each(ctx, c.opts.Workers, len(files), func(i int) {
		if info, err := os.Stat(files[i]); err == nil {
			list[i] = candidate{files[i], keyOf(info)}
		}
	})
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(f candidate) bool { return f.path == "" })
	slices.SortFunc(list, func(a, b candidate) int {
		if c := cmp.Compare(b.key.mtime, a.key.mtime); c != 0 {
			return c
		}
		return strings.Compare(filepath.Base(b.path), filepath.Base(a.path)) // names begin with times
	})
	return list, nil
}

// identity is the id and the working folder of a file: what is known of it, or
// what its header says. ok is false for what is no session; the id is then from
// the name.
func (c *Catalogue) identity(f candidate) (id, cwd string, ok bool) {
	c.mu.Lock()
	r := c.records[f.path]
	c.mu.Unlock()
	if r.holds(f.key) {
		if r.info.Problem != "" {
			return nameID(f.path), "", false
		}
		return r.info.ID, r.info.CWD, true
	}
	h, err := readHeader(f.path)
	if err != nil {
		return nameID(f.path), "", false
	}
	return h.ID, h.CWD, true
}

// Find resolves what a person calls a session, as pi does: a path (anything with
// a separator, or ending in .jsonl), else an id or the beginning of one among the
// sessions of the working folder cwd, else among all. An exact id goes before a
// beginning; more than one hit is ErrAmbiguous and lists the paths. With an empty
// cwd all sessions are looked at alike.
func (c *Catalogue) Find(ctx context.Context, cwd, ref string) (string, error) {
	if isPath(ref) {
		return ref, nil
	}
	files, err := c.candidates(ctx)
	if err != nil {
		return "", err
	}
	here := sameFolder(cwd)
	var all, own []identified
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		id, folder, _ := c.identity(f)
		all = append(all, identified{f.path, id})
		if cwd != "" && here(folder) {
			own = append(own, identified{f.path, id})
		}
	}
	hits := match(own, ref)
	if len(hits) == 0 {
		hits = match(all, ref)
	}
	return decide(hits, c.root, ref)
}

// MostRecent is the session of a working folder that was written last, by the
// time of its file, as pi continues. With an empty cwd it is the last of all.
// Where there is none the error is ErrNone.
func (c *Catalogue) MostRecent(ctx context.Context, cwd string) (Info, error) {
	defer c.trySave()
	files, err := c.candidates(ctx)
	if err != nil {
		return Info{}, err
	}
	here := sameFolder(cwd)
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return Info{}, err
		}
		if _, folder, ok := c.identity(f); ok && (cwd == "" || here(folder)) {
			if info := c.Describe(f.path); info.Problem == "" {
				return info, nil
			}
		}
	}
	return Info{}, fmt.Errorf("no session of %s is in %s yet: %w", cmp.Or(cwd, "any folder"), c.root, ErrNone)
}
