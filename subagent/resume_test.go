package subagent

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestResumedOnce: of many who go on with one child at once, one does. The others
// hear that it waits or runs, and leave nothing in its file.
func TestResumedOnce(t *testing.T) {
	w, m := newWorld(t)
	r := w.start(m, Spec{Task: "begin"})
	w.wait(m, r.ID)
	before := len(w.entries(r.Path))
	w.model = func(c *child, _ string) { c.hang() }
	var begun atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			switch _, err := m.Resume(t.Context(), w.parent.Path(), r.ID, "go on", nil); {
			case err == nil:
				begun.Add(1)
			case !errors.Is(err, ErrSpec):
				t.Errorf("refused with: %v", err)
			}
		})
	}
	all.Wait()
	if n := begun.Load(); n != 1 {
		t.Errorf("%d of 8 went on with the child", n)
	}
	w.until("it runs", func() bool { return strings.Contains(strings.Join(w.entries(r.Path)[before:], "\n"), "user go on") })
	if err := m.Cancel(t.Context(), w.parent.Path(), r.ID); err != nil {
		t.Fatal(err)
	}
	w.wait(m, r.ID)
	if n := strings.Count(strings.Join(w.entries(r.Path)[before:], "\n"), "queued"); n != 1 {
		t.Errorf("its file says %d times that it was queued:\n%s", n, strings.Join(w.entries(r.Path)[before:], "\n"))
	}
}
