package watch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// watching runs a watcher and gathers what it tells.
type watching struct {
	t    *testing.T
	w    *Watcher
	stop context.CancelFunc
	err  chan error

	mu      sync.Mutex
	paths   map[string]bool
	all     bool
	batches int
}

func start(t *testing.T, root string, o Options) *watching {
	t.Helper()
	w, err := New(root, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	g := &watching{t: t, w: w, stop: cancel, err: make(chan error, 1), paths: map[string]bool{}}
	go func() {
		g.err <- w.Run(ctx, func(b Batch) {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.batches++
			g.all = g.all || b.All
			for _, p := range b.Paths {
				g.paths[p] = true
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		_ = w.Close()
	})
	return g
}

// told waits until a path was told, and forgets it.
func (g *watching) told(path string) {
	g.t.Helper()
	g.until("a word of "+path, func() bool {
		ok := g.paths[path]
		delete(g.paths, path)
		return ok
	})
}

func (g *watching) until(what string, ok func() bool) {
	g.t.Helper()
	for range 2000 {
		g.mu.Lock()
		done := ok()
		g.mu.Unlock()
		if done {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	g.t.Fatalf("there never was %s; there was %v", what, g.paths)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestEachKindOfChange: through a link to the root, and in folders that are made
// while it watches.
func TestEachKindOfChange(t *testing.T) {
	real := t.TempDir()
	root := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(real, root); err != nil {
		root = real
	}
	write(t, filepath.Join(root, "old", "f"), "x")
	g := start(t, root, Options{})
	if !g.w.Complete() || g.w.Folders() != 2 {
		t.Fatalf("%d folders, complete %v", g.w.Folders(), g.w.Complete())
	}
	for _, dir := range []string{"", "old", "new", filepath.Join("new", "deep", "deeper")} {
		f := filepath.Join(root, dir, "file")
		write(t, f, "a")
		g.told(f)
		write(t, f, "b")
		g.told(f)
		write(t, f+".tmp", "c")
		if err := os.Rename(f+".tmp", f); err != nil {
			t.Fatal(err)
		}
		g.told(f)
		write(t, f, "d") // the new file is watched like the old one
		g.told(f)
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
		g.told(f)
	}
	if err := os.Rename(filepath.Join(root, "new"), filepath.Join(root, "moved")); err != nil {
		t.Fatal(err)
	}
	f := filepath.Join(root, "moved", "deep", "deeper", "file")
	g.until("a watch of the moved folders", func() bool { return g.w.Folders() == 5 })
	write(t, f, "e")
	g.told(f)
	if err := os.RemoveAll(filepath.Join(root, "moved")); err != nil {
		t.Fatal(err)
	}
	g.until("the end of their watches", func() bool { return g.w.Folders() == 2 })
	g.stop()
	if err := <-g.err; err != nil {
		t.Error(err)
	}
}

// TestNothingIsMissedInNewFolders: files made at once with their folders are told.
func TestNothingIsMissedInNewFolders(t *testing.T) {
	root := t.TempDir()
	g := start(t, root, Options{})
	var want []string
	for i := range 100 {
		f := filepath.Join(root, fmt.Sprint("d", i), "sub", "file")
		write(t, f, "x")
		want = append(want, f)
	}
	for _, f := range want {
		g.told(f)
	}
}

func TestBatches(t *testing.T) {
	root := t.TempDir()
	g := start(t, root, Options{})
	for i := range 500 {
		write(t, filepath.Join(root, fmt.Sprint("f", i%50)), "x")
	}
	for i := range 50 {
		g.told(filepath.Join(root, fmt.Sprint("f", i)))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.batches > 50 {
		t.Errorf("%d batches", g.batches)
	}
}

// TestLimit: the watches that there are stay, and it says that it does not see all.
func TestLimit(t *testing.T) {
	root := t.TempDir()
	for i := range 10 {
		write(t, filepath.Join(root, fmt.Sprint("d", i), "f"), "x")
	}
	g := start(t, root, Options{Limit: 4})
	if g.w.Complete() || g.w.Folders() != 4 {
		t.Errorf("%d folders, complete %v", g.w.Folders(), g.w.Complete())
	}
	f := filepath.Join(root, "f")
	write(t, f, "x")
	g.told(f)
}

func TestDepthAndSkip(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "a", "b", "c", "f"), "x")
	write(t, filepath.Join(root, "skipped", "f"), "x")
	g := start(t, root, Options{Depth: 2, Skip: func(dir string) bool { return dir == filepath.Join(root, "skipped") }})
	if g.w.Folders() != 3 || !g.w.Complete() {
		t.Errorf("%d folders, complete %v", g.w.Folders(), g.w.Complete())
	}
}

// TestOverflow: what the system says about lost events becomes "look at
// everything", at once and in the batch.
func TestOverflow(t *testing.T) {
	root := t.TempDir()
	var mu sync.Mutex
	seen := false
	g := start(t, root, Options{Seen: func(path string) {
		mu.Lock()
		defer mu.Unlock()
		seen = seen || path == ""
	}})
	g.w.fsn.Errors <- fsnotify.ErrEventOverflow
	g.until("an overflow", func() bool { return g.all })
	mu.Lock()
	defer mu.Unlock()
	if !seen {
		t.Error("Seen was not told")
	}
}

func TestRootIsGone(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	write(t, filepath.Join(root, "d", "f"), "x")
	g := start(t, root, Options{})
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	if err := <-g.err; !errors.Is(err, ErrRoot) {
		t.Errorf("it ended with %v", err)
	}
	if _, err := New(root, Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("watching nothing: %v", err)
	}
}

func TestClose(t *testing.T) {
	g := start(t, t.TempDir(), Options{})
	if err := g.w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-g.err; err != nil {
		t.Error(err)
	}
}
