package catalog

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestWatchedList: with a watcher the list follows every kind of change, and looks
// at no file that nobody named.
func TestWatchedList(t *testing.T) {
	root := filepath.Join(t.TempDir(), "sessions")
	target := put(t, t.TempDir(), "", "behind-a-link", "")
	c := Open(root, "", Options{})
	ctx, cancel := context.WithCancel(t.Context())
	var told atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Watch(ctx, func() { told.Add(1) })
	}()
	until := func(what string, ok func() bool) {
		t.Helper()
		for range 2000 {
			if ok() {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
		t.Fatalf("never: %s", what)
	}
	same := func(what string) {
		t.Helper()
		until(what, func() bool { return cmp.Equal(mustList(t, Open(root, "", Options{})), mustList(t, c)) })
	}
	same("a root that is not there")
	a := put(t, root, "--a--", "a", "")
	until("the root is watched", func() bool { _, all := c.watched.take(time.Now()); return !all })
	c.watched.untrust()
	same("watching began")
	before := told.Load()
	appendTo(t, a, msg("m", "user", `"q"`, "2026-01-02T00:00:00.000Z"))
	same("an append")
	until("it is told", func() bool { return told.Load() > before })
	b := put(t, root, "--new.folder--", "b", "")
	same("a new folder")
	appendTo(t, b, msg("m", "user", `"q"`, "2026-01-02T00:00:00.000Z"))
	same("an append there")
	if err := os.Rename(b, filepath.Join(root, "c.jsonl")); err != nil {
		t.Fatal(err)
	}
	same("a rename")
	if err := os.Symlink(target, filepath.Join(root, "link.jsonl")); err == nil {
		same("a link")
		appendTo(t, target, msg("m", "user", `"q"`, "2026-01-02T00:00:00.000Z"))
		same("a change behind the link")
	}
	if err := os.Rename(filepath.Join(root, "--a--"), filepath.Join(t.TempDir(), "away")); err != nil {
		t.Fatal(err)
	}
	same("a folder moved away")
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	same("the root is gone")
	cancel()
	<-done
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func TestWatchedTrust(t *testing.T) {
	var w watched
	now := time.Now()
	if _, all := w.take(now); !all {
		t.Error("without a watcher everything must be looked at")
	}
	w.set(true)
	if _, all := w.take(now); !all {
		t.Error("the first look is at everything")
	}
	w.seen("x")
	if paths, all := w.take(now); all || len(paths) != 1 {
		t.Errorf("%v %v", paths, all)
	}
	if paths, all := w.take(now); all || len(paths) != 0 {
		t.Errorf("%v %v", paths, all)
	}
	if _, all := w.take(now.Add(maxTrust + 1)); !all {
		t.Error("trusted for ever")
	}
	for i := range maxDirty + 1 {
		w.seen(string(rune(i + 1)))
	}
	if _, all := w.take(now.Add(maxTrust + 1)); !all {
		t.Error("events without bound")
	}
}
