package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/piweb-go/piweb/internal/confine"
	"github.com/piweb-go/piweb/internal/ignore"
)

const (
	// maxFiles bounds the memory of one index: about half a gigabyte of names. It
	// is far beyond any repository that we know, and reaching it is told.
	maxFiles = 10_000_000
	// readBatch is how many names are read between two looks at the context.
	readBatch = 4096
)

// heavy are folders of which nobody means a file, unless it is tracked.
var heavy = map[string]bool{"node_modules": true, ".next": true, "dist": true, "coverage": true, ".turbo": true, ".venv": true, "__pycache__": true, ".hg": true, ".svn": true, ".jj": true}

// walk lists folders below a root.
type walk struct {
	root    *confine.Root
	dir     string // of the root, without links
	rules   *ignore.Rules
	all     bool                   // what is ignored is offered too
	wanted  func(path string) bool // nil for all
	tracked *tracked
	emit    func(*dir) // called from several goroutines

	mu    sync.Mutex // over tracked.dirs
	files atomic.Int64
	full  atomic.Bool // maxFiles was reached
}

// step is a folder to list.
type step struct {
	path   string
	parent *ignore.Folder // nil for a root of the walk
	folder *ignore.Folder // of a root of the walk
	closed bool
}

// run lists the folders of the steps and all below them. It returns early only
// with the error of ctx.
func (w *walk) run(ctx context.Context, steps ...step) error {
	var (
		mu      sync.Mutex
		more    = sync.NewCond(&mu)
		todo    = steps
		running int
	)
	stop := context.AfterFunc(ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		more.Broadcast()
	})
	defer stop()
	var group sync.WaitGroup
	for range max(4, runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			for {
				for len(todo) == 0 && running > 0 && ctx.Err() == nil {
					more.Wait()
				}
				if len(todo) == 0 || ctx.Err() != nil {
					more.Broadcast()
					return
				}
				s := todo[len(todo)-1] // the deepest first: few are open at any time
				todo = todo[:len(todo)-1]
				running++
				mu.Unlock()
				d, below := w.list(ctx, s)
				if d != nil {
					w.emit(d)
				}
				mu.Lock()
				running--
				todo = append(todo, below...)
				if len(below) > 0 || running == 0 {
					more.Broadcast()
				}
			}
		})
	}
	group.Wait()
	return ctx.Err()
}

// entry is a name that a folder holds.
type entry struct {
	name string
	kind fs.FileMode
}

// list reads one folder; nil where that is not possible.
func (w *walk) list(ctx context.Context, s step) (*dir, []step) {
	if strings.Count(s.path, "/") >= ignore.MaxDepth {
		return nil, nil
	}
	entries, err := w.read(ctx, s.path)
	if err != nil {
		return nil, nil
	}
	folder := s.folder
	if folder == nil && s.parent != nil {
		folder = s.parent.EnterListed(s.path[strings.LastIndexByte(s.path, '/')+1:], func(name string) (fs.FileMode, bool) {
			for _, e := range entries {
				if e.name == name {
					return e.kind, true
				}
			}
			return 0, false
		})
	}
	known := w.known(s, entries)
	var files []named
	var below []step
	for _, e := range entries {
		if isGit(e.name) || !utf8.ValidString(e.name) {
			continue
		}
		if e.kind.IsDir() {
			if next, ok := w.enter(s, folder, e.name); ok {
				below = append(below, next)
			}
			continue
		}
		var fl flags
		switch {
		case e.kind.IsRegular():
		case e.kind&fs.ModeSymlink != 0:
			fl = isLink
		default:
			continue // pipes, sockets, devices
		}
		if known != nil {
			if _, ok := known.find(e.name); ok {
				fl |= isTracked
			}
		}
		if fl&isTracked == 0 && (s.closed || folder != nil && folder.Ignored(e.name, false)) {
			continue
		}
		if w.wanted != nil && !w.wanted(join(s.path, e.name)) {
			continue
		}
		files = append(files, named{e.name, fl})
	}
	if w.files.Add(int64(len(files))) > maxFiles {
		w.full.Store(true)
		return nil, nil
	}
	return newDir(s.path, files, s.closed), below
}

// enter decides on a folder in one that is being listed.
func (w *walk) enter(s step, folder *ignore.Folder, name string) (step, bool) {
	next := step{path: join(s.path, name), parent: folder}
	if w.all {
		return next, true
	}
	if next.closed = s.closed || heavy[name] || folder.Ignored(name, true); !next.closed {
		return next, true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return next, w.tracked.dirs[next.path] != nil
}

// known is what is tracked in a folder. A repository that is met on the way, and
// that no other one has as submodule, adds its own.
func (w *walk) known(s step, entries []entry) *dir {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.tracked.dirs[s.path]
	if d == nil && s.path != "" && !s.closed {
		for _, e := range entries {
			if e.name == ".git" {
				w.tracked.inner(w.dir, s.path, 0)
				return w.tracked.dirs[s.path]
			}
		}
	}
	return d
}

// read reads the names in a folder.
func (w *walk) read(ctx context.Context, path string) ([]entry, error) {
	at := "."
	if path != "" {
		at = filepath.FromSlash(path)
	}
	f, err := w.root.OpenFolder(at, true)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []entry
	for {
		batch, err := f.ReadDir(readBatch)
		for _, e := range batch {
			all = append(all, entry{e.Name(), e.Type()})
		}
		switch {
		case errors.Is(err, io.EOF) || err == nil && len(batch) < readBatch:
			return all, nil
		case err != nil:
			return nil, err
		case ctx.Err() != nil || len(all) > maxFiles:
			return nil, ctx.Err()
		}
	}
}
