//go:build unix

package mcp

import (
	"errors"
	"testing"
)

func TestResourcesOfRunningServers(t *testing.T) {
	w := newWorld(t, Options{})
	w.configure(map[string]any{"a": w.stdio("plain"), "silent": w.stdio("silent")})
	if got := w.pool.Resources(t.Context(), w.at); len(got) != 0 || len(w.noted("server")) != 0 {
		t.Errorf("nothing runs, and %v", got)
	}
	w.pool.opts.Grace = 1
	c := w.open()
	defer c.close()
	until(t, "the resource", func() bool { return len(w.pool.Resources(t.Context(), w.at)) == 1 })
	r := w.pool.Resources(t.Context(), w.at)[0]
	if r != (Resource{"a", "note://one", "one", "A note"}) {
		t.Errorf("%+v", r)
	}
	if text, err := w.pool.ReadResource(t.Context(), w.at, "a", "note://one"); err != nil || text != "the note" {
		t.Errorf("%q, %v", text, err)
	}
	for _, ref := range [][2]string{{"a", "note://none"}, {"silent", "note://one"}, {"nobody", "note://one"}} {
		if text, err := w.pool.ReadResource(t.Context(), w.at, ref[0], ref[1]); err == nil || ref[0] != "a" && !errors.Is(err, ErrNoResource) {
			t.Errorf("%v: %q, %v", ref, text, err)
		}
	}
	other := w.at
	other.Trusted = true
	if got := w.pool.Resources(t.Context(), other); len(got) != 0 {
		t.Errorf("a place of other trust sees %v", got)
	}
}
