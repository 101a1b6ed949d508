package piweb_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/subagent"
	"github.com/piweb-go/piweb/wrapper"
)

const littleToKeep = `{"defaultProvider":"rec","defaultModel":"m1","retry":{"baseDelayMs":1},"compaction":{"keepRecentTokens":1}}`

// TestCompactElsewhere: a session that another program holds is summed up there, and
// what keeps it from being summed up is told as it is here.
func TestCompactElsewhere(t *testing.T) {
	w := newWorld(t, modeltest.Parse(t, `{"steps":[
		{"match":"for ever","text":"I","stall":true},
		{"match":"plain","text":"ok","repeat":true},
		{"match":"sleep","toolCalls":[{"name":"bash","arguments":{"command":"sleep 60"}}]},
		{"repeat":true,"text":"a summary"}
	]}`))
	serving := w.runtime(reachable)
	theirs, err := serving.Create(t.Context(), w.project, piweb.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.say(theirs, "plain")
	path := theirs.Log().Path()
	if _, err := w.rt.Compact(t.Context(), path, "", piweb.OpenOptions{}); !errors.Is(err, agent.ErrNothingToCompact) {
		t.Errorf("nothing to sum up: %v", err)
	}
	w.put(".pi/agent/settings.json", littleToKeep)
	if err := serving.Release(theirs); err != nil {
		t.Fatal(err)
	}
	if theirs, err = serving.Open(t.Context(), path, piweb.OpenOptions{}); err != nil {
		t.Fatal(err)
	}
	w.say(theirs, "plain words")
	before := theirs.Log().Len()
	done, err := w.rt.Compact(t.Context(), path, "mind plain words", piweb.OpenOptions{})
	if err != nil || done.Summary == "" || done.TokensBefore == 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	if e, _ := theirs.Log().Entry(theirs.Log().Leaf()); theirs.Log().Len() != before+1 || e.Type != session.TypeCompaction || !theirs.Log().Held() {
		t.Errorf("there: %d entries more, the last is %s, held %v", theirs.Log().Len()-before, e.Type, theirs.Log().Held())
	}

	// Who asked may stop it: nothing is recorded.
	w.say(theirs, "plain, too")
	before = theirs.Log().Len()
	stopping, stop := context.WithCancel(t.Context())
	defer stop()
	asked := w.provider.Count()
	go func() {
		for w.provider.Count() == asked && stopping.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		stop()
	}()
	if _, err := w.rt.Compact(stopping, path, "take for ever", piweb.OpenOptions{}); err == nil || theirs.Log().Len() != before {
		t.Errorf("stopped: %v, %d entries more", err, theirs.Log().Len()-before)
	}

	turn, err := theirs.Prompt(t.Context(), piweb.Input{Text: "sleep"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.rt.Compact(t.Context(), path, "", piweb.OpenOptions{}); !errors.Is(err, wrapper.ErrRunning) {
		t.Errorf("while a prompt runs: %v", err)
	}
	theirs.Abort()
	_ = turn.Wait(context.WithoutCancel(t.Context()))

	// Nobody holds it any more: it is done here.
	if err := serving.Release(theirs); err != nil {
		t.Fatal(err)
	}
	ours, err := w.rt.Open(t.Context(), path, piweb.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.say(ours, "plain again")
	if done, err = w.rt.Compact(t.Context(), path, "", piweb.OpenOptions{}); err != nil || done.Summary == "" {
		t.Errorf("here: %+v, %v", done, err)
	}
}

// TestLimitsElsewhere: who holds a session records what its subagents may use.
func TestLimitsElsewhere(t *testing.T) {
	w, serving, theirs, path := held(t)
	if err := w.rt.SetLimits(t.Context(), path, subagent.Limits{Total: 3}); err != nil {
		t.Fatal(err)
	}
	over, err := serving.Subagents().Overview(t.Context(), path)
	if err != nil || over.Limits.Total != 3 || !theirs.Log().Held() {
		t.Errorf("%+v, %v", over.Limits, err)
	}
	if err := w.rt.SetLimits(t.Context(), path, subagent.Limits{Total: -1}); !errors.Is(err, subagent.ErrLimits) {
		t.Errorf("limits that are none: %v", err)
	}
}

// TestDeleteTakesSubagentsFromElsewhere: a subagent that another program holds goes
// with its parent, which nobody holds; while it runs, nothing goes.
func TestDeleteTakesSubagentsFromElsewhere(t *testing.T) {
	w := newWorld(t, modeltest.Parse(t, `{"steps":[{"match":"plain","text":"ok","repeat":true},
		{"match":"wait","toolCalls":[{"name":"bash","arguments":{"command":"sleep 60"}}],"repeat":true}]}`))
	s := w.create("read")
	w.say(s, "plain")
	path, id := s.Log().Path(), s.ID()
	child := w.child("child", "c", id, path)
	grandchild := w.child("grandchild", "g", "c", child)
	if err := w.rt.Release(s); err != nil {
		t.Fatal(err)
	}
	serving := w.runtime(reachable)
	if err := serving.Rename(t.Context(), child, "n"); err != nil { // not live, so nobody holds it
		t.Fatal(err)
	}
	theirs, err := serving.Open(t.Context(), child, piweb.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := theirs.SetName(t.Context(), "held"); err != nil || !theirs.Log().Held() {
		t.Fatal(err)
	}
	gone, err := w.rt.Delete(t.Context(), path)
	if err != nil || len(gone) != 3 {
		t.Fatalf("%v, %v", gone, err)
	}
	if state, _ := theirs.State(); state != wrapper.Closed {
		t.Errorf("the subagent is %s there", state)
	}
	for _, p := range []string{path, child, grandchild} {
		if _, err := os.Stat(p); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", p, err)
		}
	}
	if back, err := w.rt.Restore(t.Context(), w.project, path); err != nil || len(back) != 3 {
		t.Errorf("back: %v, %v", back, err)
	}
}
