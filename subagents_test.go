package piweb_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/attachment"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/subagent"
	"github.com/piweb-go/piweb/toolselect"
)

// delegating is a world whose subagents are on, with a parent that may delegate.
func delegating(t *testing.T, script string) (*world, *piweb.Session) {
	t.Helper()
	w := newWorld(t, modeltest.Parse(t, script))
	if err := w.rt.SubagentSettings().SetBuiltIn(true); err != nil {
		t.Fatal(err)
	}
	w.put(".pi/agent/settings.json", `{"defaultProvider":"rec","defaultModel":"m1","defaultProjectTrust":"always"}`)
	return w, w.create("read", "bash")
}

// requestOf is the first request whose last message has the text.
func (w *world) requestOf(text string) modeltest.Recorded {
	w.t.Helper()
	for _, r := range w.provider.Requests() {
		var body struct {
			Messages []struct {
				Role    string
				Content json.RawMessage
			}
		}
		if json.Unmarshal(r.Body, &body) != nil || len(body.Messages) == 0 {
			continue
		}
		if last := body.Messages[len(body.Messages)-1]; last.Role == "user" && strings.Contains(string(last.Content), text) {
			return r
		}
	}
	w.t.Fatalf("nobody asked %q", text)
	return modeltest.Recorded{}
}

// TestDelegateAtTheProvider: a model delegates; what the child's request carries
// is its profile's and no more, and the parent gets the result in its place.
func TestDelegateAtTheProvider(t *testing.T) {
	const profiles = "---\ntools: none\n---\nONLY THIS BODY"
	for _, c := range []struct {
		name, profile string
		head          func(string) bool
		tools         []string
	}{
		{"Chat Only", profiles, func(h string) bool { return h == "ONLY THIS BODY" }, nil},
		{"replace", "---\ntools: read\nprompt_mode: replace\n---\nREPLACED", func(h string) bool { return h == "REPLACED" }, []string{"read"}},
		{"append", "---\ntools: read, ls\n---\nAPPENDED", func(h string) bool {
			return strings.Contains(h, "APPENDED") && strings.Contains(h, "read") && !strings.Contains(h, "GLOBAL")
		}, []string{"read", "ls"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, s := delegating(t, `{"steps":[
				{"match":"please delegate","toolCalls":[{"name":"Agent","arguments":{"prompt":"the child's task","description":"A task","subagent_type":"helper"}}]},
				{"match":"the child's task","text":"the child's answer"},
				{"text":"the parent goes on","repeat":true}]}`)
			w.put("my project 漢/.pi/agents/helper.md", c.profile)
			w.say(s, "please delegate")
			child := w.requestOf("the child's task")
			head, _ := modeltest.Head(child.Body)
			if !c.head(string(head)) {
				t.Errorf("the child's head is %q", head)
			}
			if got := modeltest.ToolNames(child.Body); !slices.Equal(got, c.tools) {
				t.Errorf("the child has the tools %v", got)
			}
			if got := modeltest.ToolNames(w.requestOf("please delegate").Body); !slices.Contains(got, "Agent") {
				t.Errorf("the parent has the tools %v", got)
			}
			runs, err := w.rt.Subagents().Children(t.Context(), s.Log().Path())
			if err != nil || len(runs) != 1 || runs[0].Status != subagent.Completed || runs[0].Text != "the child's answer" {
				t.Fatalf("%+v (%v)", runs, err)
			}
			checkLastResult(t, s, runs[0])
			w.reopenedChild(runs[0], c.tools)
		})
	}
}

func checkLastResult(t *testing.T, s *piweb.Session, r piweb.SubagentRun) {
	t.Helper()
	c, err := s.Log().Context()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(c.Messages, func(m message.Message) bool { return m.Role() == message.RoleToolResult })
	if i < 0 {
		t.Fatal("the parent has no result")
	}
	res := c.Messages[i].(*message.ToolResult)
	if text := res.Content.PlainText(); !strings.Contains(text, r.ID) || !strings.HasSuffix(text, "completed.\n\nthe child's answer") || res.IsError {
		t.Errorf("the result is %q", text)
	}
	if !strings.Contains(string(res.Details), `"sessionId":"`+r.ID+`"`) {
		t.Errorf("its details are %s", res.Details)
	}
}

// reopenedChild: days later, in another process, the child may do what it could.
func (w *world) reopenedChild(r piweb.SubagentRun, tools []string) {
	w.t.Helper()
	if err := w.rt.Close(); err != nil {
		w.t.Fatal(err)
	}
	rt := w.runtime()
	x, err := rt.Explain(w.t.Context(), r.Path, piweb.ExplainOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	if x.Decide.Kind != policy.Child || !slices.Equal(x.Decide.Tools, append([]string{}, tools...)) || !x.Record.OK() {
		w.t.Errorf("reopened: %+v, receipts hold: %v", x.Decide, x.Record.OK())
	}
	s, err := rt.Open(w.t.Context(), r.Path, piweb.OpenOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	turn, err := s.Prompt(w.t.Context(), piweb.Input{Text: "and now?"})
	if err == nil {
		err = turn.Wait(w.t.Context())
	}
	if err != nil {
		w.t.Fatal(err)
	}
	if got := modeltest.ToolNames(w.last().Body); !slices.Equal(got, tools) {
		w.t.Errorf("reopened it asked with %v", got)
	}
}

// TestControlToolsByKind: who is offered the tools that delegate.
func TestControlToolsByKind(t *testing.T) {
	w, s := delegating(t, `{"steps":[{"text":"ok","repeat":true}]}`)
	control := []string{"Agent", "get_subagent_result", "steer_subagent"}
	has := func() bool {
		names := modeltest.ToolNames(w.last().Body)
		n := 0
		for _, c := range control {
			if slices.Contains(names, c) {
				n++
			}
		}
		if n != 0 && n != len(control) {
			t.Errorf("some of the control tools: %v", names)
		}
		return n > 0
	}
	w.say(s, "pinned")
	if !has() {
		t.Error("a pinned session cannot delegate")
	}
	w.choose(s, toolselect.ChatOnly())
	w.say(s, "chat")
	if has() {
		t.Error("a Chat Only session can delegate")
	}
	w.choose(s, toolselect.Clear())
	w.say(s, "cleared")
	if !has() {
		t.Error("a session by settings cannot delegate")
	}
	if err := w.rt.SubagentSettings().SetBuiltIn(false); err != nil {
		t.Fatal(err)
	}
	w.choose(s, toolselect.ChatOnly())
	w.choose(s, toolselect.Clear()) // loads everything anew
	w.say(s, "off")
	if has() {
		t.Error("subagents are off, and offered")
	}
}

// TestBackgroundWakesItsParent: the result of a background child begins a turn of
// its parent, once, and says that no user said it.
func TestBackgroundWakesItsParent(t *testing.T) {
	w, s := delegating(t, `{"steps":[
		{"match":"please delegate","toolCalls":[{"name":"Agent","arguments":{"prompt":"the child's task","description":"A task","run_in_background":true}}]},
		{"match":"the child's task","delayMs":200,"text":"the child's answer"},
		{"match":"Report of a subagent","text":"I have read the report"},
		{"text":"the parent goes on","repeat":true}]}`)
	w.say(s, "please delegate")
	w.eventually("the parent has read the report", func() bool { return strings.Contains(w.transcript(s), "I have read the report") })
	if n := strings.Count(w.transcript(s), "Report of a subagent"); n != 1 {
		t.Errorf("%d reports", n)
	}
	p, err := w.rt.Subagents().Pending(t.Context(), s.Log().Path())
	if err != nil || len(p) != 0 {
		t.Errorf("pending: %v (%v)", p, err)
	}
}

// TestResultWaitsForTheNextPrompt is RULINGS 38: after a restart nothing is woken.
func TestResultWaitsForTheNextPrompt(t *testing.T) {
	w, s := delegating(t, `{"steps":[
		{"match":"please delegate","toolCalls":[{"name":"Agent","arguments":{"prompt":"the child's task","description":"A task","run_in_background":true}}]},
		{"match":"the child's task","delayMs":300,"text":"the child's answer"},
		{"text":"the parent goes on","repeat":true}]}`)
	w.say(s, "please delegate")
	path := s.Log().Path()
	if err := w.rt.Release(s); err != nil { // not idle: nobody is to be woken
		t.Fatal(err)
	}
	w.eventually("the child has ended", func() bool {
		runs, err := w.rt.Subagents().Children(t.Context(), path)
		return err == nil && len(runs) == 1 && runs[0].Status == subagent.Completed
	})
	if err := w.rt.Close(); err != nil {
		t.Fatal(err)
	}
	rt := w.runtime()
	asked := w.provider.Count()
	p, err := rt.Subagents().Pending(t.Context(), path)
	if err != nil || len(p) != 1 {
		t.Fatalf("pending: %v (%v)", p, err)
	}
	if w.provider.Count() != asked {
		t.Error("somebody was woken")
	}
	again, err := rt.Open(t.Context(), path, piweb.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		turn, err := again.Prompt(t.Context(), piweb.Input{Text: "what came of it?"})
		if err == nil {
			err = turn.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(w.transcript(again), "the child's answer"); n != 1 {
		t.Errorf("the result was delivered %d times", n)
	}
}

func (w *world) transcript(s *piweb.Session) string {
	w.t.Helper()
	c, err := s.Log().Context()
	if err != nil {
		w.t.Fatal(err)
	}
	var b strings.Builder
	for _, m := range c.Messages {
		b.WriteString(message.ContentOf(m).PlainText() + "\n")
	}
	return b.String()
}

func (w *world) eventually(what string, cond func() bool) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("never came: %s", what)
		}
	}
}

// TestReadingSessionDoesNotWiden: a session that was pinned to reading cannot get
// around it by a child that may do more; a person can.
func TestReadingSessionDoesNotWiden(t *testing.T) {
	w, _ := delegating(t, `{"steps":[
		{"match":"please delegate","toolCalls":[{"name":"Agent","arguments":{"prompt":"t","description":"d"}},{"name":"Agent","arguments":{"prompt":"look around","description":"d","subagent_type":"explore"}}]},
		{"text":"ok","repeat":true}]}`)
	s := w.create("read", "grep")
	w.say(s, "please delegate")
	runs, err := w.rt.Subagents().Children(t.Context(), s.Log().Path())
	if err != nil || len(runs) != 1 || runs[0].Profile != "explore" {
		t.Errorf("%+v (%v)", runs, err)
	}
	if !strings.Contains(w.transcript(s), "tools only read") {
		t.Errorf("the model is not told why:\n%s", w.transcript(s))
	}
	if _, err := w.rt.Subagents().Start(t.Context(), s.Log().Path(), piweb.SubagentSpec{Task: "by a person"}); err != nil {
		t.Error(err)
	}
}

// TestForksCarryTheirSpending: an adversary that spawns, forks, and reopens comes to
// the limit all the same (openai/codex#30692).
func TestForksCarryTheirSpending(t *testing.T) {
	w, s := delegating(t, `{"steps":[{"text":"ok","repeat":true}]}`)
	w.say(s, "hello")
	entry, err := subagent.Budget{Limits: subagent.Limits{Total: 4}}.Payload()
	if err == nil {
		err = s.RecordNow(entry)
	}
	if err != nil {
		t.Fatal(err)
	}
	rt, path, started := w.rt, s.Log().Path(), 0
	for round := range 8 {
		r, err := rt.Subagents().Start(t.Context(), path, piweb.SubagentSpec{Task: "again"})
		switch {
		case err == nil:
			started++
			if _, err := rt.Subagents().Wait(t.Context(), path, r.ID); err != nil {
				t.Fatal(err)
			}
		case !errors.Is(err, subagent.ErrBudget):
			t.Fatal(err)
		}
		f, err := rt.Fork(t.Context(), path, piweb.ForkOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if path = f.Path; round%3 == 2 {
			if err := rt.Close(); err != nil {
				t.Fatal(err)
			}
			rt = w.runtime()
		}
	}
	if started != 4 {
		t.Errorf("%d subagents were started, 4 are allowed", started)
	}
}

// TestDelegateBeforeTheFirstPrompt is RULINGS 24: the parent gets its file first.
func TestDelegateBeforeTheFirstPrompt(t *testing.T) {
	w, s := delegating(t, `{"steps":[{"text":"ok","repeat":true}]}`)
	r, err := w.rt.Subagents().Start(t.Context(), s.Log().Path(), piweb.SubagentSpec{Task: "go"})
	if err != nil {
		t.Fatal(err)
	}
	if h, err := session.ReadHeader(s.Log().Path()); err != nil || h.ID != s.ID() {
		t.Errorf("the parent's file: %+v (%v)", h, err)
	}
	if r, err := w.rt.Subagents().Wait(t.Context(), s.Log().Path(), r.ID); err != nil || r.Status != subagent.Completed {
		t.Errorf("%+v (%v)", r, err)
	}
}

// TestRefusedStartLeavesNoParent: a start that is refused gives a parent that was
// never prompted no file.
func TestRefusedStartLeavesNoParent(t *testing.T) {
	w, s := delegating(t, `{"steps":[{"text":"ok","repeat":true}]}`)
	for _, spec := range []piweb.SubagentSpec{{Task: "go", Profile: "nobody"}, {Task: "go", InputFiles: []string{"../outside"}}} {
		if _, err := w.rt.Subagents().Start(t.Context(), s.Log().Path(), spec); err == nil {
			t.Error("a start that must be refused")
		}
		if _, err := os.Lstat(s.Log().Path()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the parent's file: %v", err)
		}
	}
}

// TestCraftedHeaderHandsNothingOver: a subagent's file that names somebody else's
// session in its header gets nothing of that session's attachments from whoever
// resumes it.
func TestCraftedHeaderHandsNothingOver(t *testing.T) {
	w, s := delegating(t, `{"steps":[{"text":"ok","repeat":true}]}`)
	other := w.create("read")
	w.say(other, "mine")
	store, err := w.rt.Attachments()
	if err != nil {
		t.Fatal(err)
	}
	secret, err := store.Put(t.Context(), attachment.New{SessionID: other.ID(), Name: "secret", MimeType: "text/plain"}, strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	m := w.rt.Subagents()
	path := s.Log().Path()
	r, err := m.Start(t.Context(), path, piweb.SubagentSpec{Task: "go"})
	if err == nil {
		r, err = m.Wait(t.Context(), path, r.ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	otherPath := other.Log().Path()
	if err := w.rt.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(r.Path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := bytes.Cut(data, []byte("\n"))
	forged := bytes.Replace(head, []byte(path), []byte(otherPath), 1)
	if bytes.Equal(forged, head) {
		t.Fatalf("the header does not name the parent: %s", head)
	}
	if err := os.WriteFile(r.Path, append(append(forged, '\n'), rest...), 0o600); err != nil {
		t.Fatal(err)
	}
	rt := w.runtime()
	if _, err := rt.Subagents().Resume(t.Context(), path, r.ID, "look at "+secret.ID.String(), nil); err == nil {
		if _, err := rt.Subagents().Wait(t.Context(), path, r.ID); err != nil {
			t.Fatal(err)
		}
	}
	if store, err = rt.Attachments(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Check(t.Context(), r.ID, secret.ID); !errors.Is(err, attachment.ErrForeign) {
		t.Errorf("the subagent may use it: %v", err)
	}
}

// TestTaskIsVerbatim: what looks like a mention or a command in a child's task is
// text, because no person typed it.
func TestTaskIsVerbatim(t *testing.T) {
	w, s := delegating(t, `{"steps":[{"text":"ok","repeat":true}]}`)
	const task = "/reload and read @go.mod @file:go.mod"
	r, err := w.rt.Subagents().Start(t.Context(), s.Log().Path(), piweb.SubagentSpec{Task: task})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.rt.Subagents().Wait(t.Context(), s.Log().Path(), r.ID); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(r.Path)
	if err != nil || !strings.Contains(string(data), `"text":"`+task+`"`) {
		t.Errorf("the child's file: %s (%v)", data, err)
	}
}
