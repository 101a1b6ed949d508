package piweb_test

import (
	"fmt"
	"testing"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/wrapper"
)

// TestOwnersFollowSessions: what comes of a session belongs to its owner: a fork, a
// clone, a subagent; in the trash and out of it; and memories are kept for the owner.
func TestOwnersFollowSessions(t *testing.T) {
	w := newWorld(t, modeltest.Parse(t, `{"steps":[{"text":"Yes.","repeat":true}]}`))
	rt := w.rt
	owner := func(path string) string {
		t.Helper()
		name, err := rt.OwnerOf(path)
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	s := w.create()
	w.say(s, "hello")
	path := s.Log().Path()
	if got := owner(path); got != "" {
		t.Errorf("a session of the terminal belongs to %q", got)
	}
	key, err := wrapper.RealPath(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := rt.Owners().Set(key, "alice"); err != nil {
		t.Fatal(err)
	}
	if err := rt.SubagentSettings().SetBuiltIn(true); err != nil {
		t.Fatal(err)
	}
	run, err := rt.Subagents().Start(t.Context(), path, piweb.SubagentSpec{Profile: "general-purpose", Task: "look"})
	if err != nil {
		t.Fatal(err)
	}
	if got := owner(run.Path); got != "alice" {
		t.Errorf("a subagent belongs to %q", got)
	}
	w.eventually("the subagent has ended", func() bool {
		now, err := rt.Subagents().Run(t.Context(), path, run.ID)
		return err == nil && now.CompletedAt != ""
	})
	scope, err := rt.CompletionScope(path, s)
	if err != nil || scope.UserID != "alice" {
		t.Errorf("completion asks for %q, %v", scope.UserID, err)
	}
	w.eventually("nothing runs", func() bool { state, _ := s.State(); return state != wrapper.Running })
	if err := rt.Release(s); err != nil {
		t.Fatal(err)
	}
	clone, err := rt.Clone(t.Context(), path, piweb.ForkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := owner(clone.Path); got != "alice" {
		t.Errorf("a clone belongs to %q", got)
	}
	gone, err := rt.Delete(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range gone {
		if got := owner(tr.Path); got != "alice" {
			t.Errorf("in the trash %s belongs to %q", tr.Path, got)
		}
	}
	if got := owner(path); got != "" {
		t.Errorf("the place of a deleted session belongs to %q", got)
	}
	if _, err := rt.Restore(t.Context(), "", gone[0].Path); err != nil {
		t.Fatal(err)
	}
	if got := owner(path) + owner(run.Path); got != "alicealice" {
		t.Errorf("restored they belong to %q", got)
	}
	all, err := rt.Owners().All()
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(len(all)) != "3" {
		t.Errorf("known are %v", all)
	}
}
