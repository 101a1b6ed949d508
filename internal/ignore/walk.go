package ignore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// MaxDepth is how many folders below its root a walk goes down.
const MaxDepth = 1000

// ErrTooDeep is reported for a folder at [MaxDepth], which is not entered.
var ErrTooDeep = fmt.Errorf("more than %d folders deep", MaxDepth)

// Entry is what a walk meets.
type Entry struct {
	Path string      // below the root, with forward slashes, bytes as on disk
	Type fs.FileMode // the type bits; a link is a link
	name int
}

// EntryAt is an entry of which somebody else than a walk knows: its path below a
// root, with forward slashes, and its type bits.
func EntryAt(path string, mode fs.FileMode) Entry {
	return Entry{Path: path, Type: mode, name: strings.LastIndexByte(path, '/') + 1}
}

// IsDir says that the entry is a folder, and not a link to one.
func (e Entry) IsDir() bool { return e.Type.IsDir() }

// Name is the last part of the path.
func (e Entry) Name() string { return e.Path[e.name:] }

// Choice is an opinion on an entry that comes before the rules.
type Choice uint8

const (
	AskRules Choice = iota // the rules decide
	Keep                   // not ignored, whatever the rules say
	Drop                   // left out, a folder with all that it holds
)

// WalkOptions is how a walk goes.
type WalkOptions struct {
	Options

	// Sorted asks for entries in the order of the bytes of their paths, a
	// folder with a slash at its end. Then fn is called from one goroutine.
	Sorted bool

	// Workers is how many folders are read at once where order does not
	// matter; 0 for a number that fits the machine. fn is then called from
	// several goroutines.
	Workers int

	// Choose, if not nil, is asked before the rules.
	Choose func(Entry) Choice

	// OpenFolder, if not nil, opens the folders of the walk, by their path below the
	// root with forward slashes, "" for the root.
	OpenFolder func(rel string) (fs.ReadDirFile, error)

	// OnError, if not nil, is told of folders that cannot be read, by their
	// path below the root; the walk goes on.
	OnError func(path string, err error)
}

// Walk calls fn for all that the rules do not ignore below root, hidden names
// included. Links are met, never followed, but for the root itself. What .git
// names is left out, ignored folders are not read. The root is not met.
//
// fn may return fs.SkipDir for a folder, to stay out of it, or fs.SkipAll to
// end the walk; any other error ends the walk and comes back. Walk returns soon
// after ctx is done, with its error, and after the last call of fn.
func Walk(ctx context.Context, root string, opts WalkOptions, fn func(Entry) error) error {
	rules, err := Open(root, opts.Options)
	if err != nil {
		return err
	}
	w := &walker{ctx: ctx, opts: opts, fn: fn, root: root, above: len(rules.root.prefix)}
	top := &task{folder: rules.root}
	entries, err := w.read("")
	if err != nil {
		return err
	}
	top.entries = entries
	if opts.Sorted {
		err = w.sorted(top)
	} else {
		err = w.parallel(top)
	}
	if errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

type walker struct {
	ctx   context.Context
	opts  WalkOptions
	fn    func(Entry) error
	root  string
	above int // bytes of an entry's path, from the root of the file system, that lead to the root
}

// task is a folder to walk.
type task struct {
	folder  *Folder // nil until the folder was read, but for the root
	parent  *Folder
	entry   Entry
	entries []fs.DirEntry
}

// readBatch is how many entries of a folder are read before the context is
// looked at.
const readBatch = 2048

func (w *walker) open(rel string) (fs.ReadDirFile, error) {
	if w.opts.OpenFolder != nil {
		return w.opts.OpenFolder(rel)
	}
	return os.Open(filepath.Join(w.root, filepath.FromSlash(rel)))
}

func (w *walker) read(rel string) ([]fs.DirEntry, error) {
	f, err := w.open(rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []fs.DirEntry
	for {
		if err := w.ctx.Err(); err != nil {
			return nil, err
		}
		batch, err := f.ReadDir(readBatch)
		if all == nil {
			all = batch
		} else {
			all = append(all, batch...)
		}
		if errors.Is(err, io.EOF) || err == nil && len(batch) < readBatch {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// enter reads the folder of a task. ok is false if the walk goes on without it.
func (w *walker) enter(t *task) (ok bool, err error) {
	if t.folder != nil {
		return true, nil
	}
	if t.parent.depth >= MaxDepth {
		w.report(t.entry.Path, ErrTooDeep)
		return false, nil
	}
	t.entries, err = w.read(t.entry.Path)
	if err != nil {
		if ctxErr := w.ctx.Err(); ctxErr != nil {
			return false, ctxErr
		}
		w.report(t.entry.Path, err)
		return false, nil
	}
	t.folder = t.parent.enterListed(t.entry.Name(), func(name string) (fs.FileMode, bool) {
		for _, e := range t.entries {
			if e.Name() == name {
				return e.Type(), true
			}
		}
		return 0, false
	})
	return true, nil
}

func (w *walker) report(path string, err error) {
	if w.opts.OnError != nil {
		w.opts.OnError(path, err)
	}
}

// visit passes an entry to fn, unless it is left out. enter says that it is a
// folder to walk.
func (w *walker) visit(f *Folder, d fs.DirEntry) (e Entry, enter bool, err error) {
	name := d.Name()
	if name == dotGit {
		return Entry{}, false, nil
	}
	full := f.prefix + name
	e = Entry{Path: full[w.above:], Type: d.Type(), name: len(f.prefix) - w.above}
	choice := AskRules
	if w.opts.Choose != nil {
		choice = w.opts.Choose(e)
	}
	if choice == Drop || choice == AskRules && f.ignored(full, e.IsDir()) {
		return Entry{}, false, nil
	}
	err = w.fn(e)
	if e.IsDir() && errors.Is(err, fs.SkipDir) {
		return e, false, nil
	}
	return e, e.IsDir() && err == nil, err
}

// sorted walks in the order of paths.
func (w *walker) sorted(t *task) error {
	if ok, err := w.enter(t); !ok {
		return err
	}
	slices.SortFunc(t.entries, compareEntries)
	for i, d := range t.entries {
		if i%256 == 0 {
			if err := w.ctx.Err(); err != nil {
				return err
			}
		}
		e, enter, err := w.visit(t.folder, d)
		if err != nil {
			return err
		}
		if enter {
			if err := w.sorted(&task{parent: t.folder, entry: e}); err != nil {
				return err
			}
		}
	}
	return w.ctx.Err()
}

// compareEntries orders names as their paths will be: what a folder holds comes
// behind its name and a slash.
func compareEntries(a, b fs.DirEntry) int {
	x, y := a.Name(), b.Name()
	n := min(len(x), len(y))
	if c := strings.Compare(x[:n], y[:n]); c != 0 {
		return c
	}
	return int(byteAt(a, n)) - int(byteAt(b, n))
}

// byteAt is the byte of a name, the slash of a folder at its end, then nothing.
func byteAt(d fs.DirEntry, i int) byte {
	switch name := d.Name(); {
	case i < len(name):
		return name[i]
	case d.IsDir():
		return '/'
	}
	return 0
}

// parallel walks with several goroutines, the deepest folders first, so that
// few are open to do at any time.
func (w *walker) parallel(top *task) error {
	workers := w.opts.Workers
	if workers <= 0 {
		workers = min(max(4, runtime.GOMAXPROCS(0)), 32) // waiting for the disk needs more than cores
	}
	var (
		mu      sync.Mutex
		more    = sync.NewCond(&mu)
		todo    = []*task{top}
		running int
		failed  error
	)
	stop := context.AfterFunc(w.ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		if failed == nil {
			failed = w.ctx.Err()
		}
		more.Broadcast()
	})
	defer stop()
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			for {
				for len(todo) == 0 && running > 0 && failed == nil {
					more.Wait()
				}
				if failed != nil || len(todo) == 0 {
					more.Broadcast()
					return
				}
				t := todo[len(todo)-1]
				todo = todo[:len(todo)-1]
				running++
				mu.Unlock()
				found, err := w.one(t)
				mu.Lock()
				running--
				todo = append(todo, found...)
				if err != nil && failed == nil {
					failed = err
				}
				if len(found) > 0 || running == 0 || failed != nil {
					more.Broadcast()
				}
			}
		})
	}
	group.Wait()
	mu.Lock()
	defer mu.Unlock()
	return failed
}

// one walks the entries of one folder and returns the folders among them.
func (w *walker) one(t *task) ([]*task, error) {
	if ok, err := w.enter(t); !ok {
		return nil, err
	}
	var found []*task
	for i, d := range t.entries {
		if i%256 == 0 {
			if err := w.ctx.Err(); err != nil {
				return nil, err
			}
		}
		e, enter, err := w.visit(t.folder, d)
		if err != nil {
			return nil, err
		}
		if enter {
			found = append(found, &task{parent: t.folder, entry: e})
		}
	}
	return found, nil
}
