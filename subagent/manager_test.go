package subagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
)

func unmarshal(data json.RawMessage, v any) error { return json.Unmarshal(data, v) }

func yes() *bool { b := true; return &b }

// TestLifeOfAChild: what stands in the file, and in which order.
func TestLifeOfAChild(t *testing.T) {
	w, m := newWorld(t)
	r := w.start(m, Spec{Task: "count", Description: "Counting"})
	end := w.wait(m, r.ID)
	if end.Status != Completed || end.Text != "done: count" || end.CompletedAt == "" || end.Profile != DefaultProfile {
		t.Errorf("%+v", end)
	}
	want := []string{"subagent", "session_info", "subagent-status queued", "subagent-status running", "user count", "assistant done: count", "subagent-result completed"}
	if d := cmp.Diff(want, w.entries(r.Path)); d != "" {
		t.Error(d)
	}
	h, err := session.ReadHeader(r.Path)
	if err != nil || h.ParentSession != w.parent.Path() {
		t.Errorf("the header names the parent %q (%v)", h.ParentSession, err)
	}
	again, err := w.manager().Run(t.Context(), w.parent.Path(), r.ID) // another process
	if err != nil {
		t.Fatal(err)
	}
	if again.Status != Completed || again.Text != end.Text || again.Spent.Turns != 1 || again.Spent.Tokens != 100 || again.Task != "count" {
		t.Errorf("from its file: %+v", again)
	}
}

// TestPrompts: what reaches the child's first prompt, by profile.
func TestWhatAChildGets(t *testing.T) {
	w, m := newWorld(t)
	w.said = []message.Message{&message.User{Content: message.Content{message.Text("earlier")}}}
	w.put(".pi/agents/talker.md", "---\ntools: none\ninherit_context: true\nmodel: q/other\nthinking: high\n---\nONLY THIS\n")
	w.put("notes.md", "the notes\n")
	w.wait(m, w.start(m, Spec{Profile: "TALKER", Task: "answer", InputFiles: []string{"notes.md"}}).ID)
	d := w.made[0]
	if d.Model != "q/other" || d.Thinking != "high" || d.CWD != w.cwd {
		t.Errorf("%+v", d)
	}
	user := w.entries(w.files[0])[4]
	const task = "user answer\n\n<documents>\n<document path=\"notes.md\">\nthe notes\n\n</document>\n</documents>\n\n"
	if !strings.HasPrefix(user, task) || !strings.Contains(user, `[{"role":"user","text":"earlier"}]`) {
		t.Errorf("the first message is %q", user)
	}
	err := w.Look(w.files[0], func(v View) error {
		f, err := policy.Gather(v.(policy.View))
		p, _ := policy.Resolve(f)
		if p.Kind != policy.Child || p.Prompt.Text() != "ONLY THIS" || len(p.Tools) != 0 {
			t.Errorf("its policy is %s", p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRefusedStarts: each error of a start, in the order in which they are found,
// and none of them leaves a file.
func TestRefusedStarts(t *testing.T) {
	w, m := newWorld(t)
	w.put("a.txt", "a")
	w.put("bad.txt", "\xc3\x28")
	w.put(".pi/agents/off.md", "---\nenabled: false\n---\nx\n")
	w.put(".pi/agents/broken-model.md", "---\nmodel: nobody/has-it\n---\nx\n")
	w.put(".pi/agents/taker.md", "---\nallow_input_files: true\n---\nx\n")
	minus, inf := -1.0, 1e300
	many := slices.Repeat([]string{"a.txt"}, 9)
	for _, c := range []struct {
		name string
		spec Spec
		want error
		text string
	}{
		{"no task", Spec{Task: " \n"}, ErrSpec, "empty"},
		{"unknown profile", Spec{Task: "t", Profile: "nobody"}, ErrProfile, "explore"},
		{"profile that is off", Spec{Task: "t", Profile: "off"}, ErrProfile, "off"},
		{"negative turns", Spec{Task: "t", MaxTurns: &minus}, ErrSpec, "max_turns"},
		{"endless turns", Spec{Task: "t", MaxTurns: &inf}, ErrSpec, "max_turns"},
		{"thinking", Spec{Task: "t", Thinking: "extreme"}, ErrSpec, "extreme"},
		{"nine files", Spec{Task: "t", InputFiles: many}, nil, "at most"},
		{"file outside", Spec{Task: "t", InputFiles: []string{"../x"}}, nil, "../x"},
		{"file that is missing", Spec{Task: "t", InputFiles: []string{"none.txt"}}, nil, "does not exist"},
		{"file that is no text", Spec{Task: "t", InputFiles: []string{"bad.txt"}}, nil, "not valid UTF-8"},
		{"files by a model", Spec{Task: "t", InputFiles: []string{"a.txt"}, ByModel: true}, ErrSpec, "allow_input_files"},
		{"model", Spec{Task: "t", Model: "nobody/has-it"}, ErrSpec, "nobody/has-it"},
		{"model of the profile", Spec{Task: "t", Profile: "broken-model"}, ErrSpec, "nobody/has-it"},
		{"isolation", Spec{Task: "t", Isolation: "prison"}, ErrSpec, "prison"},
		{"isolation without a repository", Spec{Task: "t", Isolation: "worktree"}, ErrSpec, "git repository"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := m.Start(t.Context(), w.parent.Path(), c.spec)
			if err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("error %v", err)
			}
		})
	}
	if len(w.files) != 0 {
		t.Errorf("refused starts left %v", w.files)
	}
	if _, err := m.Start(t.Context(), w.parent.Path(), Spec{Task: "t", Profile: "taker", InputFiles: []string{"a.txt"}, ByModel: true}); err != nil {
		t.Errorf("a profile that takes files: %v", err)
	}
}

// TestSR2SwitchedOff: nothing is looked at while subagents are off.
func TestSR2SwitchedOff(t *testing.T) {
	w, m := newWorld(t)
	if err := NewSettingsFile(w.agentDir, nil).SetBuiltIn(false); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Start(t.Context(), "/nowhere.jsonl", Spec{Task: "t"}); !errors.Is(err, ErrOff) || !strings.Contains(err.Error(), "piweb agents enable") {
		t.Errorf("error %v", err)
	}
}

// TestQueue has the rows SQ1 and SQ2: in order, so many at once, and one that is
// taken out never starts.
func TestQueue(t *testing.T) {
	w, m := newWorld(t)
	w.limits(Limits{Concurrent: 1})
	var mu sync.Mutex
	var order []string
	gate := make(chan struct{})
	w.model = func(c *child, text string) {
		mu.Lock()
		order = append(order, text)
		mu.Unlock()
		<-gate
		c.answer(turn{text: text})
	}
	one := w.start(m, Spec{Task: "one"})
	two := w.start(m, Spec{Task: "two"})
	three := w.start(m, Spec{Task: "three"})
	if one.Status != Running || two.Status != Queued || three.Status != Queued {
		t.Errorf("%s %s %s", one.Status, two.Status, three.Status)
	}
	if r, err := m.Run(t.Context(), w.parent.Path(), two.ID); err != nil || r.Status != Queued || !r.Status.Waiting() {
		t.Errorf("D5: a queued child is %s (%v)", r.Status, err)
	}
	if err := m.Cancel(t.Context(), w.parent.Path(), two.ID); err != nil {
		t.Fatal(err)
	}
	if r := w.wait(m, two.ID); r.Status != Aborted {
		t.Errorf("taken out it is %s", r.Status)
	}
	close(gate)
	if r := w.wait(m, three.ID); r.Status != Completed {
		t.Errorf("three is %s", r.Status)
	}
	if d := cmp.Diff([]string{"one", "three"}, order); d != "" {
		t.Error(d)
	}
	if n := len(m.lanes) + len(m.runs); n != 0 {
		t.Errorf("%d things are left on the table", n)
	}
}

// TestD4CrashIsInterrupted, D6: a child that ran or waited when its process died
// has a file, is interrupted, does not wait for ever, and can be resumed.
func TestD4CrashIsInterrupted(t *testing.T) {
	w, m := newWorld(t)
	w.limits(Limits{Concurrent: 1})
	w.model = func(c *child, _ string) { c.hang() }
	running, queued := w.start(m, Spec{Task: "runs"}), w.start(m, Spec{Task: "waits"})
	w.until("it runs", func() bool { return slices.Contains(w.entries(running.Path), "user runs") })
	m.Close() // as the end of the process
	other := w.manager()
	for _, id := range []string{running.ID, queued.ID} {
		r, err := other.Wait(t.Context(), w.parent.Path(), id)
		if err != nil || r.Status != Interrupted {
			t.Errorf("%s (%v)", r.Status, err)
		}
	}
	w.model = func(c *child, text string) { c.answer(turn{text: "again: " + text}) }
	for _, id := range []string{running.ID, queued.ID} {
		if _, err := other.Resume(t.Context(), w.parent.Path(), id, "go on", nil); err != nil {
			t.Fatal(err)
		}
		if r := w.wait(other, id); r.Status != Completed || r.Text != "again: go on" {
			t.Errorf("resumed: %+v", r.Result)
		}
	}
	if _, err := other.Resume(t.Context(), w.parent.Path(), "nobody", "x", nil); !errors.Is(err, ErrNoChild) {
		t.Errorf("SR4: error %v", err)
	}
}

// TestD7AnswerAtTheLimitIsKept: a child that answers with its last turn is done;
// one that would go on is told to wrap up, once, and then stopped.
func TestD7AnswerAtTheLimitIsKept(t *testing.T) {
	two := 2.9 // floored
	call := turn{text: "looking", more: true}
	for _, c := range []struct {
		name   string
		turns  []turn
		status Status
		text   string
		asked  int
		heard  int
	}{
		{"answers with the last turn", []turn{call, {text: "the answer"}, {text: "an extra turn"}}, Completed, "the answer", 2, 0},
		{"wraps up", []turn{call, call, {text: "so far"}, {text: "more"}}, Completed, "so far", 3, 1},
		{"goes on", []turn{call, call, {text: "still looking", more: true}, call}, Failed, "still looking", 3, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, m := newWorld(t)
			w.model = func(ch *child, _ string) { ch.answer(c.turns...) }
			r := w.wait(m, w.start(m, Spec{Task: "t", MaxTurns: &two}).ID)
			ch := w.children[r.ID]
			if r.Status != c.status || r.Text != c.text || ch.asked != c.asked || len(ch.heard) != c.heard {
				t.Errorf("%s %q (%s), asked %d times, told %d times", r.Status, r.Text, r.Error, ch.asked, len(ch.heard))
			}
		})
	}
}

// TestFailures: how a run that goes wrong ends (SR5), with what it said.
func TestFailures(t *testing.T) {
	w, m := newWorld(t)
	w.model = func(c *child, _ string) { c.answer(turn{text: "half", more: true}, turn{fail: "the provider broke"}) }
	r := w.wait(m, w.start(m, Spec{Task: "t"}).ID)
	if r.Status != Failed || r.Error != "the provider broke" || r.Text != "half" {
		t.Errorf("%+v", r.Result)
	}
	if d := cmp.Diff(fmt.Sprintf("The subagent %s failed: the provider broke\n\nIts last words were:\n\nhalf", r.ID), r.FinalText()); d != "" {
		t.Error(d)
	}
	w.model = func(c *child, _ string) { c.hang() }
	hanging := w.start(m, Spec{Task: "t"})
	w.until("it runs", func() bool { return slices.Contains(w.entries(hanging.Path), "user t") })
	if err := m.Cancel(t.Context(), w.parent.Path(), hanging.ID); err != nil {
		t.Fatal(err)
	}
	if r := w.wait(m, hanging.ID); r.Status != Aborted {
		t.Errorf("stopped it is %s", r.Status)
	}
	if err := m.Cancel(t.Context(), w.parent.Path(), hanging.ID); !errors.Is(err, ErrNotRunning) {
		t.Errorf("stopped twice: %v", err)
	}
}

// TestOnlyItsOwnChildren: a session reaches no child of another one.
func TestOnlyItsOwnChildren(t *testing.T) {
	w, m := newWorld(t)
	stop := make(chan struct{})
	w.model = func(c *child, _ string) { <-stop }
	r := w.start(m, Spec{Task: "t"})
	defer w.wait(m, r.ID)
	defer close(stop)
	stranger, err := session.Create(session.NewSession{Dir: w.dir, CWD: w.cwd, ID: "stranger"}, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	if err := stranger.Persist(); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"look":   second(m.Run(t.Context(), stranger.Path(), r.ID)),
		"wait":   second(m.Wait(t.Context(), stranger.Path(), r.ID)),
		"steer":  m.Steer(t.Context(), stranger.Path(), r.ID, "x"),
		"cancel": m.Cancel(t.Context(), stranger.Path(), r.ID),
		"resume": second(m.Resume(t.Context(), stranger.Path(), r.ID, "x", nil)),
	} {
		if !errors.Is(err, ErrNoChild) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func second(_ Run, err error) error { return err }

// TestDeliveredOnce has the rows SE9, SR1, SR6 and SR8: a background result
// reaches its parent once, whoever asks and however often the program starts.
func TestDeliveredOnce(t *testing.T) {
	w, m := newWorld(t)
	r := w.start(m, Spec{Task: "t", Background: yes()})
	w.until("it is delivered", func() bool { return len(w.delivered()) == 1 })
	n := w.delivered()[0]
	if text := n.Content.PlainText(); !strings.Contains(text, "The user did not write this") || !strings.HasSuffix(text, "completed.\n\ndone: t") || n.CustomType != NoticeType || !n.Display {
		t.Errorf("notice %+v", n)
	}
	w.wait(m, r.ID)
	for _, other := range []*Manager{m, w.manager()} {
		if p, err := other.Pending(t.Context(), w.parent.Path()); err != nil || len(p) != 0 {
			t.Errorf("pending again: %v (%v)", p, err)
		}
		other.deliver(w.parent.Path())
	}
	if n := len(w.delivered()); n != 1 {
		t.Errorf("delivered %d times", n)
	}
	// A resumed child has a further result, and that one is delivered too.
	if _, err := m.Resume(t.Context(), w.parent.Path(), r.ID, "more", yes()); err != nil {
		t.Fatal(err)
	}
	w.until("the second one is delivered", func() bool { return len(w.delivered()) == 2 })
}

// TestRuling38: after a restart nothing is woken; the result waits, and goes in
// with the next prompt.
func TestRuling38(t *testing.T) {
	w, m := newWorld(t)
	w.deliver = func(session.CustomMessage) error { return ErrNotHere }
	r := w.start(m, Spec{Task: "t", Background: yes()})
	w.wait(m, r.ID)
	other := w.manager()
	p, err := other.Pending(t.Context(), w.parent.Path())
	if err != nil || len(p) != 1 || p[0].ID != r.ID {
		t.Fatalf("pending %v (%v)", p, err)
	}
	in := other.atPrompt(t.Context(), w.parent.Path())
	if len(in) != 1 || in[0].CustomType != NoticeType {
		t.Fatalf("with the prompt goes %v", in)
	}
	// The prompt was refused: nothing is lost.
	if in = other.atPrompt(t.Context(), w.parent.Path()); len(in) != 1 {
		t.Fatalf("after a refused prompt: %v", in)
	}
	if _, err := w.parent.Commit(session.CustomMessage{CustomType: in[0].CustomType, Content: in[0].Content, Display: true, Details: in[0].Details}); err != nil {
		t.Fatal(err)
	}
	if in = other.atPrompt(t.Context(), w.parent.Path()); len(in) != 0 {
		t.Errorf("delivered again: %v", in)
	}
}

// TestFetchedIsDelivered is SR7: what a tool has handed out is not delivered too,
// and what it handed out and nobody recorded is not lost.
func TestFetchedIsDelivered(t *testing.T) {
	w, m := newWorld(t)
	gate := make(chan struct{})
	w.model = func(c *child, _ string) { <-gate; c.answer(turn{text: "x"}) }
	w.deliver = func(session.CustomMessage) error { return ErrNotHere }
	r := w.start(m, Spec{Task: "t", Background: yes()})
	close(gate)
	end := w.wait(m, r.ID)
	m.hand(end)
	if p, _ := m.Pending(t.Context(), w.parent.Path()); len(p) != 0 {
		t.Errorf("pending while its result is on the way: %v", p)
	}
	if in := m.atPrompt(t.Context(), w.parent.Path()); len(in) != 1 {
		t.Errorf("the result got lost on its way: %v", in)
	}
}

// TestLimitOfChildren: a model that always spawns comes to the limit, with
// restarts and resumes between, and whatever starts at once.
func TestLimitOfChildren(t *testing.T) {
	w, m := newWorld(t)
	w.limits(Limits{Total: 5, Concurrent: 2})
	var started, refused atomic.Int64
	for range 3 {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				r, err := m.Start(t.Context(), w.parent.Path(), Spec{Task: "spawn"})
				switch {
				case err == nil:
					started.Add(1)
					w.wait(m, r.ID)
				case errors.Is(err, ErrBudget):
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		m.Close()
		m = w.manager()
	}
	if started.Load() != 5 || refused.Load() != 19 {
		t.Errorf("%d started, %d refused", started.Load(), refused.Load())
	}
}

// TestLimitsOfSpending: each limit stops a child within one turn, and starts too.
func TestLimitsOfSpending(t *testing.T) {
	for _, c := range []struct {
		name   string
		limits Limits
		cost   float64
		turns  int
		text   string
	}{
		{"turns", Limits{Turns: 3}, 0, 3, "3 of 3 turns"},
		{"tokens, where prices are unknown", Limits{Tokens: 350}, 0, 4, "400 of 350 tokens"},
		{"dollars", Limits{Dollars: 1}, 0.4, 3, "1.20 of 1 dollars"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, m := newWorld(t)
			w.limits(c.limits)
			w.model = func(ch *child, _ string) {
				ch.answer(slices.Repeat([]turn{{text: "x", cost: c.cost, more: true}}, 20)...)
			}
			r := w.wait(m, w.start(m, Spec{Task: "t"}).ID)
			if ch := w.children[r.ID]; r.Status != Failed || ch.asked != c.turns || !strings.Contains(r.Error, c.text) {
				t.Errorf("%s after %d turns: %s", r.Status, ch.asked, r.Error)
			}
			for _, other := range []*Manager{m, w.manager()} {
				if _, err := other.Start(t.Context(), w.parent.Path(), Spec{Task: "t"}); !errors.Is(err, ErrBudget) {
					t.Errorf("a further start: %v", err)
				}
				if _, err := other.Resume(t.Context(), w.parent.Path(), r.ID, "more", nil); !errors.Is(err, ErrBudget) {
					t.Errorf("a resume: %v", err)
				}
			}
			w.limits(Limits{})
			if _, err := m.Start(t.Context(), w.parent.Path(), Spec{Task: "t"}); err != nil {
				t.Errorf("after the limit was raised: %v", err)
			}
		})
	}
}

// TestTurnsOfManyChildren: the limit of turns holds however many run at once.
func TestTurnsOfManyChildren(t *testing.T) {
	w, m := newWorld(t)
	w.limits(Limits{Turns: 23, Concurrent: 8})
	var asked atomic.Int64
	w.model = func(c *child, _ string) {
		c.answer(slices.Repeat([]turn{{text: "x", more: true}}, 30)...)
		asked.Add(int64(c.asked))
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			r, err := m.Start(t.Context(), w.parent.Path(), Spec{Task: "t"})
			if err == nil {
				w.wait(m, r.ID)
			} else if !errors.Is(err, ErrBudget) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := asked.Load(); n > 23 || n < 16 {
		t.Errorf("%d turns of at most 23", n)
	}
}

// TestDepth: a child may not start children, unless the limit says so.
func TestDepth(t *testing.T) {
	w, m := newWorld(t)
	r := w.start(m, Spec{Task: "t"})
	w.wait(m, r.ID)
	if _, err := m.Start(t.Context(), r.Path, Spec{Task: "t"}); !errors.Is(err, ErrDepth) {
		t.Errorf("error %v", err)
	}
	w.limits(Limits{Depth: 2})
	deeper, err := m.Start(t.Context(), r.Path, Spec{Task: "t"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Wait(t.Context(), r.Path, deeper.ID); err != nil {
		t.Error(err)
	}
}

// TestCarriedSpending: a fork carries what was spent in the tree that it comes
// from, and no later entry makes it less (openai/codex#30692).
func TestCarriedSpending(t *testing.T) {
	w, m := newWorld(t)
	for _, c := range []*Spending{{Children: 2, Turns: 5}, {Children: 1, Turns: 1}, {Children: -100}, nil} {
		entry, err := Budget{Limits: Limits{Total: 2}, Carried: c}.Payload()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.parent.Append(entry); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Start(t.Context(), w.parent.Path(), Spec{Task: "t"}); !errors.Is(err, ErrBudget) {
		t.Errorf("error %v", err)
	}
}

// TestForeignUsageMakesNothingCheaper: a child's file may say anything.
func TestForeignUsageMakesNothingCheaper(t *testing.T) {
	var s Spending
	s.addUsage(message.Usage{Input: -1000, Output: 50, TotalTokens: -5, Cost: message.Cost{Total: -3}})
	if s.Tokens != 50 || s.Dollars != 0 || s.Unpriced != 50 {
		t.Errorf("%+v", s)
	}
	s.addUsage(message.Usage{Input: 1 << 62, Output: 1 << 62, CacheRead: 1 << 62})
	if s.Tokens <= 0 {
		t.Errorf("it wrapped around: %+v", s)
	}
}

func TestSteer(t *testing.T) {
	w, m := newWorld(t)
	w.limits(Limits{Concurrent: 1})
	w.model = func(c *child, _ string) {
		select {
		case text := <-c.steered:
			c.answer(turn{text: "heard " + text})
		case <-c.abort:
		}
	}
	r, queued := w.start(m, Spec{Task: "t"}), w.start(m, Spec{Task: "q"})
	w.until("it runs", func() bool { return slices.Contains(w.entries(r.Path), "user t") })
	if err := m.Steer(t.Context(), w.parent.Path(), r.ID, "  "); !errors.Is(err, ErrSpec) {
		t.Errorf("an empty word: %v", err)
	}
	if err := m.Steer(t.Context(), w.parent.Path(), queued.ID, "x"); !errors.Is(err, ErrNotRunning) {
		t.Errorf("to a queued one: %v", err)
	}
	if err := m.Steer(t.Context(), w.parent.Path(), r.ID, "left"); err != nil {
		t.Fatal(err)
	}
	if r := w.wait(m, r.ID); r.Text != "heard left" {
		t.Errorf("%q", r.Text)
	}
	if err := m.Steer(t.Context(), w.parent.Path(), r.ID, "late"); !errors.Is(err, ErrNotRunning) {
		t.Errorf("to an ended one: %v", err)
	}
	if err := m.Cancel(t.Context(), w.parent.Path(), queued.ID); err == nil {
		w.wait(m, queued.ID)
	}
}

// TestBrokenFilesHideNoOther: a child whose file is gone or damaged is not listed,
// counts against the limit of children, and hides no other.
func TestBrokenFilesHideNoOther(t *testing.T) {
	w, m := newWorld(t)
	a, b := w.start(m, Spec{Task: "a"}), w.start(m, Spec{Task: "b"})
	w.wait(m, a.ID)
	w.wait(m, b.ID)
	if err := os.WriteFile(a.Path, []byte("not a session\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	runs, err := m.Children(context.Background(), w.parent.Path())
	if err != nil || len(runs) != 1 || runs[0].ID != b.ID {
		t.Errorf("%v (%v)", runs, err)
	}
	if tr, err := m.tree(t.Context(), w.parent.Path()); err != nil || tr.spent.Children != 2 {
		t.Errorf("%+v (%v)", tr, err)
	}
}

// TestLongAnswer: what goes into the parent is bounded and names the whole, which
// is kept, also after a resume at the same address.
func TestLongAnswer(t *testing.T) {
	w, m := newWorld(t)
	long := strings.Repeat("an answer of many lines, 漢字\n", 4000)
	w.model = func(c *child, text string) { c.answer(turn{text: long + text}) }
	r := w.wait(m, w.start(m, Spec{Task: "one"}).ID)
	got := r.FinalText()
	if len(got) > maxText+300 || !utf8.ValidString(got) || !strings.Contains(got, "read agent://0-general-purpose for all of it") {
		t.Errorf("%d bytes, ending in %q", len(got), got[len(got)-200:])
	}
	if w.kept["agent://0-general-purpose"] != strings.TrimSpace(long+"one") || r.Text != strings.TrimSpace(long+"one") {
		t.Error("the whole is not kept")
	}
	if _, err := m.Resume(t.Context(), w.parent.Path(), r.ID, "two", nil); err != nil {
		t.Fatal(err)
	}
	w.wait(m, r.ID)
	if len(w.kept) != 1 || w.kept["agent://0-general-purpose"] != strings.TrimSpace(long+"two") {
		t.Errorf("%d outputs are kept", len(w.kept))
	}
	short := Run{ID: "x", Result: Result{Status: Completed, Text: "short", Output: "agent://1-x"}}
	if s := short.FinalText(); strings.Contains(s, "agent://") {
		t.Errorf("a short answer says %q", s)
	}
}

// TestSetLimits: a raised limit lets those start that wait; a child has no limits of
// its own.
func TestSetLimits(t *testing.T) {
	w, m := newWorld(t)
	w.limits(Limits{Concurrent: 1})
	release := make(chan struct{})
	w.model = func(c *child, text string) {
		<-release
		c.answer(turn{text: "done"})
	}
	a, b := w.start(m, Spec{Task: "a", Background: new(bool)}), w.start(m, Spec{Task: "b", Background: new(bool)})
	if now, err := m.Run(t.Context(), w.parent.Path(), b.ID); err != nil || now.Status != Queued {
		t.Fatalf("%v (%v)", now.Status, err)
	}
	if err := m.SetLimits(t.Context(), w.parent.Path(), Limits{Concurrent: 33}); !errors.Is(err, ErrLimits) {
		t.Errorf("33 at once: %v", err)
	}
	if err := m.SetLimits(t.Context(), a.Path, Limits{Total: 1}); !errors.Is(err, ErrLimits) {
		t.Errorf("a child's: %v", err)
	}
	if err := m.SetLimits(t.Context(), w.parent.Path(), Limits{Concurrent: 2}); err != nil {
		t.Fatal(err)
	}
	w.until("both run", func() bool {
		now, err := m.Run(t.Context(), w.parent.Path(), b.ID)
		return err == nil && now.Status == Running
	})
	close(release)
	w.wait(m, a.ID)
	w.wait(m, b.ID)
}
