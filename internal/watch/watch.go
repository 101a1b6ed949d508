// Package watch tells that something changed in a folder and the folders below
// it, so that a cache need not look at every file again.
//
// What the system tells of files is a hint, never the truth: events come in
// bursts, are lost when the queue of the kernel is full, do not come from other
// machines, and a system has only so many watches to give. So a [Batch] either
// names what to look at, or says that everything must be looked at, and the user
// keeps looking by itself now and then where [Watcher.Complete] is false.
//
// Only folders are watched, never single files: a file that is replaced by a
// rename is another file. A new folder is watched first and told afterwards as a
// change, with everything that was made in it before the watch. The root may be a
// link.
package watch

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
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Options bound a watcher. The zero value is right for programs.
type Options struct {
	Quiet time.Duration // a batch is told after so long without an event; 0 for 100 ms
	Most  time.Duration // and after so long in any case; 0 for 200 ms
	// Depth is how many levels of folders below the root are watched; 0 for all.
	Depth int
	// Limit is how many folders are watched at most; 0 for 50 000. The system may
	// allow less.
	Limit int
	// Skip tells of a folder below the root that it is not watched, nor what is in
	// it. nil for none.
	Skip func(dir string) bool
	// Seen is told of each event at once, and of "" where everything may have
	// changed. It is called from one goroutine and must be quick. nil for none.
	Seen func(path string)
}

// Batch is what happened since the last one.
type Batch struct {
	// Paths were made, written, renamed or removed, in order and each once, with
	// the root as it was given in front.
	Paths []string
	// All says that events were lost, or that there is more than Paths can tell:
	// look at everything.
	All bool
}

// ErrRoot is the end of Run because the root itself was moved or removed.
var ErrRoot = errors.New("the watched folder is gone")

const (
	defaultLimit = 50_000
	maxPaths     = 4096 // of a batch; more is "everything"
)

// Watcher watches one folder. It must be closed.
type Watcher struct {
	root string // as given
	real string // without links
	opts Options
	fsn  *fsnotify.Watcher

	blind atomic.Bool // a folder could not be watched

	mu      sync.Mutex
	folders map[string]bool // watched, by real path
}

// New watches root and the folders below it. A folder that cannot be watched is
// no error: see Complete.
func New(root string, opts Options) (*Watcher, error) {
	if opts.Quiet <= 0 {
		opts.Quiet = 100 * time.Millisecond
	}
	if opts.Most <= 0 {
		opts.Most = 200 * time.Millisecond
	}
	if opts.Limit <= 0 {
		opts.Limit = defaultLimit
	}
	if opts.Seen == nil {
		opts.Seen = func(string) {}
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", root, err)
	}
	if real, err = filepath.Abs(real); err != nil {
		return nil, fmt.Errorf("watch %s: %w", root, err)
	}
	fsn, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", root, err)
	}
	w := &Watcher{root: root, real: real, opts: opts, fsn: fsn, folders: map[string]bool{}}
	if err := fsn.Add(real); err != nil {
		_ = fsn.Close()
		return nil, fmt.Errorf("watch %s: %w", root, err)
	}
	w.folders[real] = true
	w.addBelow(real, nil)
	return w, nil
}

// Complete tells whether every folder is watched. Where it is false some changes
// are not told: look by yourself before you rely on what you know.
func (w *Watcher) Complete() bool { return !w.blind.Load() }

// Folders is how many folders are watched.
func (w *Watcher) Folders() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.folders)
}

// Close gives the watches back. Run ends then.
func (w *Watcher) Close() error { return w.fsn.Close() }

// addBelow watches the folders below dir, which is watched itself. found is told
// what is in the new ones.
func (w *Watcher) addBelow(dir string, found func(path string)) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			w.blind.Store(true)
		}
		return
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if found != nil {
			found(path)
		}
		if w.isFolder(path, e) && w.add(path) {
			w.addBelow(path, found)
		}
	}
}

// isFolder follows a link only where the depth is bounded: links can make a tree
// endless.
func (w *Watcher) isFolder(path string, e os.DirEntry) bool {
	if e.IsDir() {
		return true
	}
	if e.Type()&os.ModeSymlink == 0 || w.opts.Depth == 0 {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// add watches one folder; false where it is not to be watched or cannot be.
func (w *Watcher) add(dir string) bool {
	below, err := filepath.Rel(w.real, dir)
	if err != nil || w.opts.Depth > 0 && strings.Count(below, string(filepath.Separator)) >= w.opts.Depth {
		return false
	}
	if w.opts.Skip != nil && w.opts.Skip(filepath.Join(w.root, below)) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.folders[dir] && len(w.folders) >= w.opts.Limit {
		w.blind.Store(true)
		return false
	}
	if err := w.fsn.Add(dir); err != nil {
		// Gone again is no loss. ENOSPC is the limit of the system: the watches
		// that there are stay.
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			w.blind.Store(true)
		}
		return false
	}
	w.folders[dir] = true
	return true
}

// drop forgets a folder that was moved or removed, and those below it.
func (w *Watcher) drop(dir string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.folders[dir] {
		return
	}
	for f := range w.folders {
		if f == dir || strings.HasPrefix(f, dir+string(filepath.Separator)) {
			_ = w.fsn.Remove(f)
			delete(w.folders, f)
		}
	}
}

// Run tells batches until ctx ends, the watcher is closed (both nil), or the root
// is gone (ErrRoot). fn is called from one goroutine at a time; while it runs,
// events are still taken.
func (w *Watcher) Run(ctx context.Context, fn func(Batch)) error {
	c := collector{paths: map[string]bool{}}
	batches, done := make(chan Batch, 1), make(chan struct{}, 1)
	var teller sync.WaitGroup
	teller.Go(func() {
		for b := range batches {
			fn(b)
			done <- struct{}{}
		}
	})
	defer teller.Wait()
	defer close(batches)
	wake := time.NewTimer(time.Hour)
	defer wake.Stop()
	for idle := true; ; {
		if idle && c.due(w.opts) {
			batches <- c.batch()
			c, idle = collector{paths: map[string]bool{}}, false
		}
		select {
		case <-ctx.Done():
			return nil
		case <-done:
			idle = true
			continue
		case <-wake.C:
			continue
		case event, ok := <-w.fsn.Events:
			if !ok {
				return nil
			}
			if w.take(event, &c) {
				return fmt.Errorf("watch %s: %w", w.root, ErrRoot)
			}
		case _, ok := <-w.fsn.Errors:
			if !ok {
				return nil
			}
			// An overflow, or something that we cannot judge: events may be lost,
			// those of new folders among them.
			w.note("", &c)
			w.addBelow(w.real, nil)
		}
		wake.Reset(c.wait(w.opts))
	}
}

// take handles one event; true where the root is gone.
func (w *Watcher) take(event fsnotify.Event, c *collector) bool {
	if event.Op == fsnotify.Chmod {
		return false // indexers do it all the time, and it changes nothing that is read
	}
	if event.Op.Has(fsnotify.Remove) || event.Op.Has(fsnotify.Rename) {
		if event.Name == w.real {
			w.note("", c)
			return true
		}
		w.drop(event.Name)
	}
	w.note(event.Name, c)
	if event.Op.Has(fsnotify.Create) {
		info, err := os.Lstat(event.Name)
		if err == nil && w.isFolder(event.Name, fs.FileInfoToDirEntry(info)) && w.add(event.Name) {
			w.addBelow(event.Name, func(path string) { w.note(path, c) })
		}
	}
	return false
}

// note remembers a path, and tells Seen.
func (w *Watcher) note(path string, c *collector) {
	if path != "" {
		below, err := filepath.Rel(w.real, path)
		if err != nil {
			return
		}
		path = filepath.Join(w.root, below)
	}
	w.opts.Seen(path)
	now := time.Now()
	if c.first.IsZero() {
		c.first = now
	}
	c.last = now
	if path == "" || len(c.paths) >= maxPaths {
		c.all = true
		return
	}
	c.paths[path] = true
}

// collector gathers a batch.
type collector struct {
	paths       map[string]bool
	all         bool
	first, last time.Time // of the events; zero where there are none
}

func (c *collector) wait(o Options) time.Duration {
	if c.first.IsZero() {
		return time.Hour
	}
	now := time.Now()
	return max(0, min(c.last.Add(o.Quiet).Sub(now), c.first.Add(o.Most).Sub(now)))
}

func (c *collector) due(o Options) bool { return !c.first.IsZero() && c.wait(o) <= 0 }

func (c *collector) batch() Batch {
	b := Batch{All: c.all, Paths: make([]string, 0, len(c.paths))}
	for p := range c.paths {
		b.Paths = append(b.Paths, p)
	}
	slices.Sort(b.Paths)
	return b
}
