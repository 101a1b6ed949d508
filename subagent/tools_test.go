package subagent

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/tool"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
)

// The rows SE1 to SE14 of pi-web's table that concern the tools; delivery is in
// manager_test.go.

// extension constructs the extension of the parent.
func (w *world) extension(m *Manager) agent.Extension {
	w.t.Helper()
	x, err := m.Extension().New(w.t.Context(), agent.Env{SessionID: w.parent.ID(), SessionFile: w.parent.Path, CWD: w.cwd, AgentDir: w.agentDir,
		Admits: func(policy.Tool) (bool, string) { return true, "" }})
	if err != nil {
		w.t.Fatal(err)
	}
	return x
}

// call calls a control tool as a model does.
func (w *world) call(ctx context.Context, m *Manager, name string, args map[string]any) tool.Result {
	w.t.Helper()
	x := w.extension(m)
	i := slices.IndexFunc(x.Tools, func(t agent.Tool) bool { return t.Declaration().Name == name })
	if i < 0 {
		w.t.Fatalf("there is no tool %s", name)
	}
	raw, err := json.Marshal(args)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := tool.Check(x.Tools[i].Declaration(), raw); err != nil {
		return tool.Error(err.Error())
	}
	r, err := x.Tools[i].Run(ctx, &tool.Call{ID: "call-1", Name: name, Arguments: raw, CWD: w.cwd})
	if err != nil {
		return tool.Error(err.Error())
	}
	return r
}

func TestSE1To3WhatIsOffered(t *testing.T) {
	w, m := newWorld(t)
	names := func() (out []string) {
		for _, tl := range w.extension(m).Tools {
			out = append(out, tl.Declaration().Name)
		}
		return out
	}
	if d := cmp.Diff([]string{"Agent", "get_subagent_result", "steer_subagent"}, names()); d != "" {
		t.Errorf("SE1: %s", d)
	}
	if err := m.settings.SetBuiltIn(false); err != nil {
		t.Fatal(err)
	}
	if got := names(); len(got) != 0 {
		t.Errorf("SE2: %v", got)
	}
	w.switchOn()
	w.put(".pi/agents/quiet.md", "---\ntools: none\nmodel: p/small\ndescription: Only talks\n---\nx")
	w.put(".pi/agents/off.md", "---\nenabled: false\ndescription: Never seen\n---\nx")
	text := w.extension(m).Tools[0].Declaration().Description
	if !strings.Contains(text, "- quiet: Only talks (Tools: none; Model: p/small)") || strings.Contains(text, "Never seen") || !strings.Contains(text, "- explore: ") {
		t.Errorf("SE3: %s", text)
	}
	x, err := m.Extension().New(t.Context(), agent.Env{Admits: func(policy.Tool) (bool, string) { return false, "a subagent" }})
	if err != nil || len(x.Tools) != 0 || x.Hooks.Prompt != nil {
		t.Errorf("a subagent gets %+v (%v)", x, err)
	}
}

func TestSE6And7Foreground(t *testing.T) {
	w, m := newWorld(t)
	r := w.call(t.Context(), m, AgentTool, map[string]any{"prompt": "count", "description": "Counting"})
	if text := r.Content.PlainText(); r.IsError || !strings.HasSuffix(text, "completed.\n\ndone: count") {
		t.Errorf("SE6: %+v", r)
	}
	var d Details
	if err := json.Unmarshal(r.Details, &d); err != nil || d.Kind != "pi-web-subagent" || d.Status != Completed || d.CompletedAt == "" || d.Description != "Counting" {
		t.Errorf("SE6: %+v (%v)", d, err)
	}
	if r := w.call(t.Context(), m, AgentTool, map[string]any{"prompt": "x", "description": "d", "subagent_type": "nobody"}); !r.IsError || !strings.Contains(r.Content.PlainText(), "nobody") {
		t.Errorf("SE7, the start fails: %+v", r)
	}
	w.model = func(c *child, _ string) { c.answer(turn{fail: "the provider broke"}) }
	if r := w.call(t.Context(), m, AgentTool, map[string]any{"prompt": "x", "description": "d"}); !r.IsError || !strings.Contains(r.Content.PlainText(), "the provider broke") {
		t.Errorf("SE7, the run fails: %+v", r)
	}
	if r := w.call(t.Context(), m, AgentTool, map[string]any{"prompt": "x", "description": "d", "input_files": slices.Repeat([]string{"a"}, 9)}); !r.IsError || len(w.files) != 2 {
		t.Errorf("nine files: %+v", r)
	}
}

// TestForegroundEndsWithItsParent: whoever waits is stopped, so the child is too.
func TestForegroundEndsWithItsParent(t *testing.T) {
	w, m := newWorld(t)
	ctx, stop := context.WithCancel(t.Context())
	w.model = func(c *child, _ string) {
		stop()
		c.hang()
	}
	r := w.call(ctx, m, AgentTool, map[string]any{"prompt": "x", "description": "d"})
	if r.IsError || !strings.Contains(r.Content.PlainText(), "was stopped") {
		t.Errorf("%+v", r)
	}
	runs, err := m.Children(t.Context(), w.parent.Path())
	if err != nil || len(runs) != 1 || runs[0].Status != Aborted {
		t.Errorf("%+v (%v)", runs, err)
	}
}

func TestSE8Resume(t *testing.T) {
	w, m := newWorld(t)
	first := w.start(m, Spec{Task: "one"})
	w.wait(m, first.ID)
	r := w.call(t.Context(), m, AgentTool, map[string]any{"prompt": "two", "description": "d", "resume": first.ID})
	if !strings.HasSuffix(r.Content.PlainText(), "done: two") || len(w.files) != 1 {
		t.Errorf("%+v, files %v", r, w.files)
	}
}

// TestResumeKeepsAnswersOfSiblings: a file that says that its answer is kept where a
// sibling's is does not lose that answer when it is resumed; an honest one replaces
// its own.
func TestResumeKeepsAnswersOfSiblings(t *testing.T) {
	w, m := newWorld(t)
	one, two := w.start(m, Spec{Task: "one"}), w.start(m, Spec{Task: "two"})
	one, two = w.wait(m, one.ID), w.wait(m, two.ID)
	resume := func(task string) Run {
		t.Helper()
		if _, err := m.Resume(t.Context(), w.parent.Path(), two.ID, task, nil); err != nil {
			t.Fatal(err)
		}
		return w.wait(m, two.ID)
	}
	if r := resume("again"); r.Output != two.Output || w.kept[two.Output] != "done: again" {
		t.Errorf("kept at %q: %v", r.Output, w.kept)
	}
	log, err := session.Open(two.Path, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	forged, err := payload(ResultType, Result{Status: Completed, CompletedAt: "2026-01-01T00:01:00.000Z", Output: one.Output})
	if err != nil {
		t.Fatal(err)
	}
	_, err = log.Commit(forged)
	for end := time.Now().Add(time.Minute); errors.Is(err, session.ErrInUse) && time.Now().Before(end); time.Sleep(time.Millisecond) {
		_, err = log.Commit(forged) // the run lets the file go behind its result
	}
	if err := errors.Join(err, log.Close()); err != nil {
		t.Fatal(err)
	}
	if r := resume("forged"); r.Output == one.Output || w.kept[one.Output] != "done: one" || w.kept[r.Output] != "done: forged" {
		t.Errorf("kept at %q: %v", r.Output, w.kept)
	}
}

func TestSE9To12(t *testing.T) {
	w, m := newWorld(t)
	w.limits(Limits{Concurrent: 1})
	gate := make(chan struct{})
	w.model = func(c *child, text string) {
		<-gate
		switch text {
		case "fails":
			c.answer(turn{fail: "broke"})
		case "says nothing":
			c.answer(turn{})
		default:
			c.answer(turn{text: "done"})
		}
	}
	r := w.call(t.Context(), m, AgentTool, map[string]any{"prompt": "x", "description": "d", "run_in_background": true})
	if text := r.Content.PlainText(); r.IsError || !strings.HasPrefix(text, "Started the subagent ") {
		t.Errorf("SE9: %+v", r)
	}
	var d Details
	if err := json.Unmarshal(r.Details, &d); err != nil || d.Status != Running || d.CompletedAt != "" {
		t.Errorf("SE9: %+v (%v)", d, err)
	}
	queued := w.start(m, Spec{Task: "says nothing"})
	fails := w.start(m, Spec{Task: "fails"})
	result := func(id string, wait bool) string {
		return w.call(t.Context(), m, ResultTool, map[string]any{"agent_id": id, "wait": wait}).Content.PlainText()
	}
	if got := result("nobody", false); !strings.Contains(got, "no such subagent") {
		t.Errorf("SE10 missing: %q", got)
	}
	if got := result(d.SessionID, false); !strings.HasSuffix(got, "is running.") {
		t.Errorf("SE10 running: %q", got)
	}
	if got := result(queued.ID, false); !strings.HasSuffix(got, "is queued.") {
		t.Errorf("D5: %q", got)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if r := w.call(ctx, m, ResultTool, map[string]any{"agent_id": d.SessionID, "wait": true}); !r.IsError || r.Content.PlainText() != "Result wait aborted" {
		t.Errorf("SE11: %+v", r)
	}
	if r := w.call(t.Context(), m, SteerTool, map[string]any{"agent_id": d.SessionID, "message": " left "}); r.IsError || <-w.children[d.SessionID].steered != "left" {
		t.Errorf("SE12: %+v", r)
	}
	close(gate)
	if got := result(d.SessionID, true); !strings.HasSuffix(got, "completed.\n\ndone") {
		t.Errorf("SE10 completed: %q", got)
	}
	if got := result(queued.ID, true); !strings.HasSuffix(got, "completed without text output.") {
		t.Errorf("SE10 empty, D5 waits for a queued one: %q", got)
	}
	if got := result(fails.ID, true); !strings.HasSuffix(got, "failed: broke") {
		t.Errorf("SE10 failed: %q", got)
	}
	if r := w.call(t.Context(), m, SteerTool, map[string]any{"agent_id": fails.ID, "message": "x"}); !r.IsError {
		t.Errorf("SE12: %+v", r)
	}
}
