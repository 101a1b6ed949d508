package catalog

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/piweb-go/piweb/internal/watch"
)

// maxTrust is how long a list relies on events alone. Now and then all files are
// looked at, whatever the events said: a network's files change without any.
const maxTrust = 30 * time.Second

// maxDirty bounds what is remembered of events; more is "everything".
const maxDirty = 4096

// retry is how often a root that is not there, or not any more, is tried again.
const retry = 2 * time.Second

// watched is what the events say since the last look. Without a watcher everything
// must be looked at.
type watched struct {
	mu    sync.Mutex
	on    bool // events come for every folder
	all   bool // everything must be looked at
	since time.Time
	dirty map[string]bool
	links []string // files that are links: nobody tells of changes behind them
}

// take returns what must be looked at, and starts anew; all is true where that is
// everything.
func (w *watched) take(now time.Time) (paths []string, all bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.on || w.all || now.Sub(w.since) > maxTrust || now.Before(w.since) {
		w.all, w.since = false, now
		clear(w.dirty)
		return nil, true
	}
	paths = append(slices.Collect(maps.Keys(w.dirty)), w.links...)
	clear(w.dirty)
	return paths, false
}

// untrust makes the next look one at everything.
func (w *watched) untrust() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = true
}

func (w *watched) set(on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.on, w.all = on, true
}

func (w *watched) seen(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if path == "" || w.all || len(w.dirty) >= maxDirty {
		w.all = true
		clear(w.dirty)
		return
	}
	if w.dirty == nil {
		w.dirty = map[string]bool{}
	}
	w.dirty[path] = true
}

// keepLinks remembers which of all files are links.
func (w *watched) keepLinks(files []string) {
	w.mu.Lock()
	on := w.on
	w.mu.Unlock()
	if !on {
		return
	}
	var links []string
	for _, f := range files {
		if info, err := os.Lstat(f); err == nil && info.Mode()&os.ModeSymlink != 0 {
			links = append(links, f)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.links = links
}

func (w *watched) isLink(path string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Contains(w.links, path)
}

// Watch listens for changes of the files until ctx ends, so that List looks only
// at what changed. It may be left out: without it List looks at every file's size
// and time. changed, if it is not nil, is told that the list may be another one,
// some 100 ms after a change; it runs on Watch's goroutine and may call List.
//
// A root that does not exist yet is waited for. Where the system gives no watches,
// Watch waits for the end of ctx and List goes on as without it.
func (c *Catalogue) Watch(ctx context.Context, changed func()) {
	defer c.watched.set(false)
	for ctx.Err() == nil {
		c.watchOnce(ctx, changed)
		c.watched.set(false)
		select {
		case <-ctx.Done():
		case <-time.After(retry):
		}
	}
}

func (c *Catalogue) watchOnce(ctx context.Context, changed func()) {
	w, err := watch.New(c.root, watch.Options{Depth: 1, Seen: c.watched.seen})
	if err != nil {
		return
	}
	defer w.Close()
	c.watched.set(w.Complete())
	if changed != nil {
		changed() // what happened before the watch
	}
	_ = w.Run(ctx, func(watch.Batch) {
		if !w.Complete() {
			c.watched.set(false)
		}
		if changed != nil {
			changed()
		}
	})
}

// named sorts paths that events named into files that are sessions and such that
// are none any more. A folder or a new link among them says that everything must be
// looked at.
func (c *Catalogue) named(paths []string) (files, gone []string, all bool) {
	for _, path := range paths {
		info, err := os.Lstat(path)
		switch {
		case err != nil:
			gone = append(gone, path)
		case info.IsDir() || info.Mode()&os.ModeSymlink != 0 && !c.watched.isLink(path):
			return nil, nil, true
		case isSession(path, fs.FileInfoToDirEntry(info)):
			files = append(files, path)
		default:
			gone = append(gone, path)
		}
	}
	return files, gone, false
}
