package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/piweb-go/piweb/internal/watch"
)

// lookAgain is how often a file is looked at where the system tells nothing of it,
// as on a network file system.
const lookAgain = time.Second

// Watch calls changed once when it watches, so that nothing falls between, and then
// after each change of the file at path, until ctx ends. Changes that come close
// together are one call. changed is called from one goroutine.
func Watch(ctx context.Context, path string, changed func()) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	look := make(chan struct{}, 1)
	wake := func() {
		select {
		case look <- struct{}{}:
		default:
		}
	}
	name := filepath.Base(path)
	w, err := watch.New(filepath.Dir(path), watch.Options{
		Quiet: 10 * time.Millisecond, Most: 50 * time.Millisecond,
		Skip: func(string) bool { return true },
	})
	if err == nil {
		done := make(chan struct{})
		defer func() {
			cancel()
			_ = w.Close()
			<-done
		}()
		go func() {
			defer close(done)
			_ = w.Run(ctx, func(b watch.Batch) {
				for _, p := range b.Paths {
					if b.All = b.All || filepath.Base(p) == name; b.All {
						break
					}
				}
				if b.All {
					wake()
				}
			})
		}()
	}
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	last, _ := os.Stat(path)
	changed()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look:
		case <-tick.C:
		}
		if now, _ := os.Stat(path); !sameState(last, now) {
			last = now
			changed()
		}
	}
}

// sameState compares what two looks at a file saw; nil is a file that was not
// there.
func sameState(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// Follow tells fn of entries that other programs append, in order and soon after
// they were written, until ctx ends (nil), the session is closed (ErrClosed) or its
// file is replaced (ErrReplaced). It only reads; where a run holds the branch, the
// entries are siblings of it. fn is called from one goroutine.
func (s *Session) Follow(ctx context.Context, fn func([]Entry)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.mu.Lock()
	told := len(s.foreign)
	s.mu.Unlock()
	look := func() {
		err := s.Refresh()
		s.mu.Lock()
		if err == nil && s.closed {
			err = ErrClosed
		}
		var news []Entry
		for ; told < len(s.foreign); told++ {
			news = append(news, s.entries[s.foreign[told].from:s.foreign[told].to]...)
		}
		s.mu.Unlock()
		if len(news) > 0 {
			fn(news)
		}
		if errors.Is(err, ErrReplaced) || errors.Is(err, ErrClosed) {
			cancel(err)
		}
	}
	Watch(ctx, s.Path(), look)
	if err := context.Cause(ctx); errors.Is(err, ErrReplaced) || errors.Is(err, ErrClosed) {
		return err
	}
	return nil
}

// span is a range of entries.
type span struct{ from, to int }
