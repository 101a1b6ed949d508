package piweb_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/subagent"
	"github.com/piweb-go/piweb/toolselect"
	"github.com/piweb-go/piweb/wrapper"
)

// TestCase025AtTheProvider starts each profile of public bug reports with a task and
// a conversation, and looks at what the provider was asked: an empty list of tools is
// none, a missing one is the default, and no body is no system prompt.
func TestCase025AtTheProvider(t *testing.T) {
	w, s := delegating(t, `{"steps":[{"text":"ok","repeat":true}]}`)
	files, err := filepath.Glob("fixtures/cases/025-profile-without-tools/agents/*.md")
	if err != nil || len(files) != 6 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		w.put(".pi/agent/agents/"+filepath.Base(f), string(data))
	}
	w.say(s, "CTX of the parent")
	const body = "Answer in one line."
	yes := true
	for _, c := range []struct {
		name     string
		tools    []string
		chatOnly bool
		head     string
	}{
		{"omitted", toolselect.Builtins(), false, ""},
		{"blank", toolselect.Builtins(), false, ""}, // a key without a value says nothing, as in pi-web
		{"empty-string", toolselect.Builtins(), false, ""},
		{"empty-list", nil, true, body},
		{"none-but-skills", nil, false, ""},
		{"no-body", nil, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := w.rt.Subagents().Start(t.Context(), s.Log().Path(), piweb.SubagentSpec{Profile: c.name, Task: "T", Inherit: &yes})
			if err == nil {
				r, err = w.rt.Subagents().Wait(t.Context(), s.Log().Path(), r.ID)
			}
			if err != nil || r.Status != subagent.Completed {
				t.Fatalf("%+v (%v)", r, err)
			}
			req := w.last()
			if got := modeltest.ToolNames(req.Body); !slices.Equal(got, c.tools) {
				t.Errorf("tools %v, want %v", got, c.tools)
			}
			head, sent := modeltest.Head(req.Body)
			switch {
			case c.chatOnly && (string(head) != c.head || sent != (c.head != "")):
				t.Errorf("the head is %q (%v), want %q and no more", head, sent, c.head)
			case !c.chatOnly && !strings.Contains(string(head), body):
				t.Errorf("the head has not the body: %q", head)
			}
			var asked struct {
				Messages []struct {
					Role    string
					Content any
				}
			}
			if err := json.Unmarshal(req.Body, &asked); err != nil {
				t.Fatal(err)
			}
			task, _ := json.Marshal(asked.Messages[len(asked.Messages)-1].Content)
			inTask := strings.Contains(string(task), "CTX of the parent")
			if inTask != c.chatOnly || strings.Contains(string(head), "CTX of the parent") == c.chatOnly {
				t.Errorf("the context is in the wrong place: task %s, head %q", task, head)
			}
			if r.ChatOnly != c.chatOnly {
				t.Errorf("Chat Only: %v", r.ChatOnly)
			}
		})
	}
}

// TestAdversary spawns, resumes, forks and restarts for ever, by a model and by hand.
// However it goes about it, what lies in the files stays below each limit.
func TestAdversary(t *testing.T) {
	w, s := delegating(t, `{"steps":[
		{"match":"spawn","toolCalls":[{"name":"Agent","arguments":{"prompt":"child task","description":"a"}},{"name":"Agent","arguments":{"prompt":"child task","description":"b","run_in_background":true}}],"repeat":true},
		{"match":"child task","toolCalls":[{"name":"ls","arguments":{}}],"repeat":true},
		{"text":"ok","repeat":true}]}`)
	w.say(s, "hello")
	limits := subagent.Limits{Total: 5, Turns: 24, Concurrent: 2}
	entry, err := subagent.Budget{Limits: limits}.Payload()
	if err == nil {
		err = s.RecordNow(entry)
	}
	if err != nil {
		t.Fatal(err)
	}
	rt, path := w.rt, s.Log().Path()
	for round := range 6 {
		m := rt.Subagents()
		if live, err := rt.Open(t.Context(), path, piweb.OpenOptions{}); err == nil { // the model spawns, in each of its turns
			if turn, err := live.Prompt(t.Context(), piweb.Input{Text: "spawn"}); err == nil {
				stop := time.AfterFunc(300*time.Millisecond, func() { live.Abort() }) // it would go on for ever
				_ = turn.Wait(t.Context())
				stop.Stop()
			}
		}
		for range 3 {
			if r, err := m.Start(t.Context(), path, piweb.SubagentSpec{Task: "child task"}); err == nil {
				_, _ = m.Wait(t.Context(), path, r.ID)
			}
		}
		runs, err := m.Children(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			if again, err := m.Resume(t.Context(), path, r.ID, "child task", nil); err == nil {
				_, _ = m.Wait(t.Context(), path, again.ID)
			}
		}
		var f piweb.Forked
		w.eventually("the session is idle and forks", func() bool { // the result of a child may have woken it
			f, err = rt.Fork(t.Context(), path, piweb.ForkOptions{})
			return !errors.Is(err, wrapper.ErrRunning)
		})
		if err != nil {
			t.Fatal(err)
		}
		path = f.Path
		if round%2 == 1 {
			if err := rt.Close(); err != nil {
				t.Fatal(err)
			}
			rt = w.runtime()
		}
	}
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	children, turns := 0, 0
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		log, err := session.Open(f, session.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if r, ok, err := subagent.ReadRun(log); err == nil && ok {
			children++
			turns += r.Spent.Turns
		}
		log.Close()
	}
	if children == 0 || children > limits.Total || turns > limits.Turns+limits.Concurrent || turns < limits.Turns {
		t.Errorf("%d children of %d, %d turns of %d", children, limits.Total, turns, limits.Turns)
	}
}
