package piweb

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/piweb-go/piweb/internal/watch"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/resource"
)

// edits notices changes in the folders that sessions have read from. It is safe
// for concurrent use.
type edits struct {
	set     watch.Set
	running sync.WaitGroup

	mu   sync.Mutex
	ears map[*ear]bool
}

// ear is one session's wish to hear of changes.
type ear struct {
	edits   *edits
	wanted  func() []resource.Folder
	mu      sync.Mutex
	folders []resource.Folder // as watched; of a deep one all that lie in it
	ended   bool
	queued  chan struct{} // one wake-up at most
}

const (
	depthOfResources = 8    // how deep folders of skills are watched
	mostFolders      = 2000 // of one session
	// settle is how long changes may come in until the files are read: editors
	// write in several steps.
	settle = 150 * time.Millisecond
)

func newEdits() *edits {
	e := &edits{ears: map[*ear]bool{}}
	e.set.Tell = e.heard
	return e
}

// Watch tells when a file that a session reads may have changed.
func (h *host) Watch(cwd string, loads policy.Loads, changed func()) (stop func()) {
	e := &ear{edits: h.edits, queued: make(chan struct{}, 1)}
	e.wanted = func() []resource.Folder {
		return resource.Folders(h.place(h.config(cwd), cwd), loads.Skills, loads.Templates)
	}
	ctx, cancel := context.WithCancel(context.Background())
	h.edits.mu.Lock()
	h.edits.ears[e] = true
	h.edits.mu.Unlock()
	e.take()
	h.edits.running.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-e.queued:
			}
			pause := time.NewTimer(settle)
			select {
			case <-ctx.Done():
				pause.Stop()
				return
			case <-pause.C:
			}
			e.take() // folders come and go
			changed()
		}
	})
	return func() {
		cancel()
		e.leave()
	}
}

// take watches the folders that are there now, and no others.
func (e *ear) take() {
	var now []resource.Folder
	for _, f := range e.wanted() {
		now = append(now, f)
		if f.Deep {
			now = append(now, below(f.Path)...)
		}
		if len(now) > mostFolders {
			break
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended {
		return
	}
	var have []resource.Folder
	for _, f := range now {
		if slices.Contains(have, f) {
			continue
		}
		if slices.Contains(e.folders, f) || e.edits.set.Add(f.Path) == nil {
			have = append(have, f)
		}
	}
	for _, f := range e.folders {
		if !slices.Contains(have, f) {
			e.edits.set.Remove(f.Path)
		}
	}
	e.folders = have
}

// below lists the folders in a folder.
func below(root string) (out []resource.Folder) {
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if d.Type()&fs.ModeSymlink != 0 {
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				out = append(out, resource.Folder{Path: path, Deep: true})
			}
			return nil
		}
		if !d.IsDir() || path == root {
			return nil
		}
		if strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || len(out) >= mostFolders ||
			strings.Count(strings.TrimPrefix(path, root), string(filepath.Separator)) > depthOfResources {
			return fs.SkipDir
		}
		out = append(out, resource.Folder{Path: path, Deep: true})
		return nil
	})
	return out
}

func (e *ear) leave() {
	e.edits.mu.Lock()
	delete(e.edits.ears, e)
	e.edits.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = true
	for _, f := range e.folders {
		e.edits.set.Remove(f.Path)
	}
	e.folders = nil
}

// heard wakes those whom a change concerns. In a folder that is not of resources
// only names that can matter count: a home folder is busy.
func (w *edits) heard(path string) {
	w.mu.Lock()
	ears := make([]*ear, 0, len(w.ears))
	for e := range w.ears {
		ears = append(ears, e)
	}
	w.mu.Unlock()
	for _, e := range ears {
		if e.concerned(path) {
			select {
			case e.queued <- struct{}{}:
			default:
			}
		}
	}
}

func (e *ear) concerned(path string) bool {
	if path == "" {
		return true
	}
	dir, matters := filepath.Dir(path), resource.MayMatter(filepath.Base(path))
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.ContainsFunc(e.folders, func(f resource.Folder) bool { return f.Path == dir && (f.Deep || matters) })
}

// close ends all watching and waits for it.
func (w *edits) close() error {
	w.mu.Lock()
	ears := make([]*ear, 0, len(w.ears))
	for e := range w.ears {
		ears = append(ears, e)
	}
	w.mu.Unlock()
	for _, e := range ears {
		e.leave()
	}
	return w.set.Close()
}
