package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/piweb-go/piweb/agent/tool"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/toolselect"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// played is a model that answers with prepared deltas, a list per request.
type played struct {
	mu       sync.Mutex
	answers  [][]Delta
	fail     error // after the deltas of the last answer
	requests []Request
	wait     chan struct{} // if not nil, the stream waits here after its deltas
}

func (p *played) Info() ModelInfo {
	return ModelInfo{API: "played", Provider: "test", ID: "m", Cost: Price{Input: 1, Output: 2}}
}

func (p *played) Stream(ctx context.Context, req Request) iter.Seq2[Delta, error] {
	p.mu.Lock()
	n := len(p.requests)
	p.requests = append(p.requests, req)
	p.mu.Unlock()
	return func(yield func(Delta, error) bool) {
		if n >= len(p.answers) {
			yield(nil, errors.New("no more answers"))
			return
		}
		for _, d := range p.answers[n] {
			if !yield(d, nil) {
				return
			}
		}
		if p.wait != nil && n == len(p.answers)-1 {
			select {
			case <-ctx.Done():
				yield(nil, ctx.Err())
			case <-p.wait:
			}
		}
		if p.fail != nil && n == len(p.answers)-1 {
			yield(nil, p.fail)
		}
	}
}

func say(text string) []Delta {
	return []Delta{TextDelta{0, text}, UsageDelta{message.Usage{Input: 1e6, Output: 500000}}, Stop{Reason: message.StopEnd}}
}

func call(index int, id, name, args string) Delta { return ToolCallDelta{index, id, name, args} }

// fake is a tool whose run is a function.
type fake struct {
	name  string
	alone bool
	run   func(ctx context.Context, c *tool.Call) (tool.Result, error)
}

func (f fake) Declaration() message.ToolDeclaration {
	return message.ToolDeclaration{Name: f.name, Description: f.name, Parameters: json.RawMessage(`{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}`)}
}
func (f fake) Sequential() bool { return f.alone }
func (f fake) Run(ctx context.Context, c *tool.Call) (tool.Result, error) {
	return f.run(ctx, c)
}

func echo(name string) fake {
	return fake{name: name, run: func(_ context.Context, c *tool.Call) (tool.Result, error) {
		return tool.Text(name + string(c.Arguments)), nil
	}}
}

type bench struct {
	*Loop
	log    *session.Session
	model  *played
	events []Event
}

// newBench makes a loop over a fresh session with the given tools pinned.
func newBench(t *testing.T, m *played, change func(*Config), tools ...Tool) *bench {
	t.Helper()
	dir := t.TempDir()
	log, err := session.Create(session.NewSession{Dir: dir, CWD: dir}, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	var names []string
	for _, tl := range tools {
		names = append(names, tl.Declaration().Name)
	}
	sel, err := toolselect.Pin(names...)
	if err != nil {
		t.Fatal(err)
	}
	entry, _ := sel.Payload()
	if _, err := log.Append(entry); err != nil {
		t.Fatal(err)
	}
	facts, err := policy.Gather(log)
	if err != nil {
		t.Fatal(err)
	}
	p, _ := policy.Resolve(facts)
	ledger, _ := policy.ReadLedger(log)
	b := &bench{log: log, model: m}
	cfg := Config{Transcript: log, Model: m, Policy: p, Head: []byte("the head\n"), Tools: tools, Ledger: ledger, RecordModel: true, CWD: dir,
		Emit: func(e Event) { b.events = append(b.events, e) }}
	if change != nil {
		change(&cfg)
	}
	if b.Loop, err = NewLoop(cfg); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) prompt(t *testing.T, ctx context.Context, text string) error {
	t.Helper()
	a, err := b.Accept(&message.User{Content: message.Content{message.Text(text)}, Timestamp: 1})
	if err != nil {
		t.Fatal(err)
	}
	return b.Run(ctx, a)
}

// names renders events as a line each.
func (b *bench) names() (out []string) {
	for _, e := range b.events {
		s := string(e.Type)
		switch {
		case e.Update != nil:
			s += " " + e.Update.Type
		case e.Type == MessageStart || e.Type == MessageEnd:
			s += " " + string(e.Message.Role())
			if a, ok := e.Message.(*message.Assistant); ok {
				s += " " + string(a.StopReason)
			}
		case e.ToolCallID != "":
			s += " " + e.ToolCallID
		case e.Aborted != nil:
			s += fmt.Sprint(" aborted=", *e.Aborted)
		}
		out = append(out, s)
	}
	return out
}

// file renders the entries of the file.
func (b *bench) file(t *testing.T) (out []string) {
	t.Helper()
	again, err := session.Open(b.log.Path(), session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	for e := range again.Entries() {
		p, err := again.Decode(e)
		if err != nil {
			t.Fatal(err)
		}
		s := e.Type + e.CustomType
		if m, ok := p.(session.MessagePayload); ok {
			s = string(m.Message.Role())
			switch m := m.Message.(type) {
			case *message.Assistant:
				s += " " + string(m.StopReason) + " " + m.Content.PlainText()
			case *message.ToolResult:
				s += fmt.Sprintf(" %s %v %s", m.ToolCallID, m.IsError, m.Content.PlainText())
			}
		}
		out = append(out, s)
	}
	return out
}

func TestEventsOfAPlainPrompt(t *testing.T) {
	b := newBench(t, &played{answers: [][]Delta{say("hello")}}, nil)
	if err := b.prompt(t, t.Context(), "hi"); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"agent_start", "turn_start",
		"message_start system", "message_end system", "message_start user", "message_end user",
		"message_start assistant pending", "message_update text_start", "message_update text_delta", "message_update text_end",
		"message_end assistant stop", "turn_end", "agent_end", "agent_settled aborted=false",
	}
	if d := cmp.Diff(want, b.names()); d != "" {
		t.Error(d)
	}
	wantFile := []string{"custompi-web:tool-selection", "model_change", "thinking_level_change", "system", "user", "custompiweb:receipt", "assistant stop hello"}
	if d := cmp.Diff(wantFile, b.file(t)); d != "" {
		t.Error(d)
	}
	end := b.events[10].Message.(*message.Assistant)
	if end.Usage.Cost.Input != 1 || end.Usage.Cost.Output != 1 || end.Usage.TotalTokens != 1500000 {
		t.Errorf("usage %+v", end.Usage)
	}
}

func TestParallelCallsKeepTheirOrder(t *testing.T) {
	slowDone := make(chan struct{})
	slow := fake{name: "read", run: func(_ context.Context, c *tool.Call) (tool.Result, error) {
		<-slowDone // ends after the second call
		return tool.Text("slow"), nil
	}}
	quick := fake{name: "ls", run: func(_ context.Context, c *tool.Call) (tool.Result, error) {
		return tool.Text("quick"), nil
	}}
	m := &played{answers: [][]Delta{
		{call(0, "c1", "read", `{"n":`), call(0, "", "", `1}`), call(1, "c2", "ls", `{"n":2}`), Stop{Reason: message.StopToolUse}},
		say("done"),
	}}
	var b *bench
	b = newBench(t, m, func(c *Config) {
		emit := c.Emit
		c.Emit = func(e Event) {
			emit(e)
			if e.Type == ToolEnd && e.ToolCallID == "c2" {
				close(slowDone)
			}
		}
	}, slow, quick)
	if err := b.prompt(t, t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(b.names(), "\n")
	for _, order := range []string{
		"tool_execution_start c1\ntool_execution_start c2\ntool_execution_end c2\ntool_execution_end c1\nmessage_start toolResult",
		"turn_end\nturn_start\nmessage_start assistant pending",
	} {
		if !strings.Contains(got, order) {
			t.Errorf("events do not have\n%s\nin\n%s", order, got)
		}
	}
	file := strings.Join(b.file(t), "\n")
	if !strings.Contains(file, "toolResult c1 false slow\ntoolResult c2 false quick\nassistant stop done") {
		t.Errorf("file:\n%s", file)
	}
	if n := strings.Count(file, "piweb:receipt"); n != 1 {
		t.Errorf("%d receipts for two equal requests", n)
	}
	for i, r := range m.requests {
		if string(r.Head) != "the head\n" || len(r.Tools) != 2 {
			t.Errorf("request %d: head %q, %d tools", i, r.Head, len(r.Tools))
		}
	}
}

// TestInterleavedCalls: providers may send the fragments of several calls in
// turns; each keeps its own arguments.
func TestInterleavedCalls(t *testing.T) {
	m := &played{answers: [][]Delta{
		{TextDelta{0, "both"}, call(1, "c1", "read", ""), call(2, "c2", "ls", ""), call(1, "", "", `{"n"`), call(2, "", "", `{"n":`), call(1, "", "", `:1}`), call(2, "", "", `2}`), Stop{Reason: message.StopToolUse}},
		say("done"),
	}}
	b := newBench(t, m, nil, echo("read"), echo("ls"))
	if err := b.prompt(t, t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	file := strings.Join(b.file(t), "\n")
	if !strings.Contains(file, `toolResult c1 false read{"n":1}`+"\n"+`toolResult c2 false ls{"n":2}`) {
		t.Errorf("file:\n%s", file)
	}
	ends := 0
	for _, n := range b.names() {
		if n == "message_update toolcall_end" {
			ends++
		}
	}
	if ends != 2 {
		t.Errorf("%d calls ended", ends)
	}
}

func TestSequentialToolRunsAlone(t *testing.T) {
	running, most := 0, 0
	var mu sync.Mutex
	count := func(_ context.Context, c *tool.Call) (tool.Result, error) {
		mu.Lock()
		running++
		most = max(most, running)
		mu.Unlock()
		time.Sleep(5 * time.Millisecond) // gives another call the chance to begin
		mu.Lock()
		running--
		mu.Unlock()
		return tool.Text("x"), nil
	}
	m := &played{answers: [][]Delta{
		{call(0, "c1", "read", `{"n":1}`), call(1, "c2", "edit", `{"n":1}`), call(2, "c3", "read", `{"n":1}`), Stop{Reason: message.StopToolUse}}, say("x")}}
	b := newBench(t, m, nil, fake{name: "read", run: count}, fake{name: "edit", alone: true, run: count})
	if err := b.prompt(t, t.Context(), "go"); err != nil || most != 1 {
		t.Errorf("%d calls at once (%v)", most, err)
	}
}

// TestEveryCallGetsAResult: whatever is wrong with a call, the model and the
// file get an answer to it.
func TestEveryCallGetsAResult(t *testing.T) {
	boom := fake{name: "edit", run: func(context.Context, *tool.Call) (tool.Result, error) { panic("boom") }}
	fails := fake{name: "write", run: func(context.Context, *tool.Call) (tool.Result, error) { return tool.Result{}, errors.New("disk full") }}
	for _, c := range []struct {
		name, tool, args string
		stop             message.StopReason
		want             string
	}{
		{"runs", "read", `{"n":1}`, message.StopToolUse, `read{"n":1}`},
		{"not in the policy", "bash", `{"n":1}`, message.StopToolUse, "not among the session's tools"},
		{"unknown", "web_search", `{"n":1}`, message.StopToolUse, `no tool "web_search"`},
		{"no arguments", "read", ``, message.StopToolUse, "n"},
		{"wrong type", "read", `{"n":"x"}`, message.StopToolUse, "n"},
		{"broken arguments", "read", `{"n":1`, message.StopToolUse, "not a JSON object"},
		{"no object", "read", `[1]`, message.StopToolUse, "not a JSON object"},
		{"cut by length", "read", `{"n":1}`, message.StopLength, "length limit"},
		{"panics", "edit", `{"n":1}`, message.StopToolUse, "boom"},
		{"fails", "write", `{"n":1}`, message.StopToolUse, "disk full"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &played{answers: [][]Delta{{call(0, "c1", c.tool, c.args), Stop{Reason: c.stop}}, say("ok")}}
			b := newBench(t, m, nil, echo("read"), boom, fails)
			if err := b.prompt(t, t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			if len(m.requests) != 2 {
				t.Fatalf("%d requests", len(m.requests))
			}
			msgs := m.requests[1].Messages
			r, ok := msgs[len(msgs)-1].(*message.ToolResult)
			if !ok || r.ToolCallID != "c1" || !strings.Contains(r.Content.PlainText(), c.want) || r.IsError != (c.name != "runs") {
				t.Errorf("result %+v", r)
			}
		})
	}
}

func TestGatesKeepTheirOrder(t *testing.T) {
	var asked []string
	gate := func(name string, v Verdict) Gate {
		return func(context.Context, *tool.Call) Verdict { asked = append(asked, name); return v }
	}
	after := func(name string) ResultGate {
		return func(_ context.Context, _ *tool.Call, r tool.Result) (tool.Result, error) {
			asked = append(asked, name)
			return r, nil
		}
	}
	ran := fake{name: "read", run: func(context.Context, *tool.Call) (tool.Result, error) {
		asked = append(asked, "tool")
		return tool.Text("x"), nil
	}}
	for _, c := range []struct {
		name          string
		tool          string
		owner, budget Verdict
		ask           func(context.Context, Question) (bool, error)
		want          []string
	}{
		{"all pass", "read", Verdict{}, Verdict{}, nil, []string{"owner", "budget", "tool", "media", "strip", "artifact"}},
		{"policy first", "bash", Verdict{}, Verdict{}, nil, nil},
		{"owner blocks", "read", Verdict{Block, "not yours"}, Verdict{}, nil, []string{"owner"}},
		{"budget blocks", "read", Verdict{}, Verdict{Block, "spent"}, nil, []string{"owner", "budget"}},
		{"asked, nobody there", "read", Verdict{}, Verdict{Ask, "sure?"}, nil, []string{"owner", "budget"}},
		{"asked, yes", "read", Verdict{}, Verdict{Ask, "sure?"}, func(context.Context, Question) (bool, error) { return true, nil }, []string{"owner", "budget", "tool", "media", "strip", "artifact"}},
		{"asked, no", "read", Verdict{}, Verdict{Ask, "sure?"}, func(context.Context, Question) (bool, error) { return false, nil }, []string{"owner", "budget"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked = nil
			m := &played{answers: [][]Delta{{call(0, "c1", c.tool, `{"n":1}`), Stop{Reason: message.StopToolUse}}, say("ok")}}
			b := newBench(t, m, func(cfg *Config) {
				cfg.Gates = Gates{gate("owner", c.owner), gate("budget", c.budget), after("media"), after("strip"), after("artifact")}
				cfg.Ask = c.ask
			}, ran)
			if err := b.prompt(t, t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, asked); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestAbortKeepsThePartialAnswer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := &played{answers: [][]Delta{{TextDelta{0, "half an ans"}, call(1, "c1", "read", `{"n":1}`)}}, wait: make(chan struct{})}
	b := newBench(t, m, func(c *Config) {
		emit := c.Emit
		c.Emit = func(e Event) {
			emit(e)
			if e.Update != nil && e.Update.Type == "toolcall_delta" {
				cancel()
			}
		}
	}, echo("read"))
	if err := b.prompt(t, ctx, "go"); err != nil {
		t.Fatal(err)
	}
	file := strings.Join(b.file(t), "\n")
	if !strings.Contains(file, "assistant aborted half an ans\ntoolResult c1 true Not run") {
		t.Errorf("file:\n%s", file)
	}
	if last := b.names()[len(b.events)-1]; last != "agent_settled aborted=true" {
		t.Errorf("last event %s", last)
	}
	req, err := b.Request(t.Context()) // what the next turn would send
	if err != nil || len(req.Messages) != 1 {
		t.Errorf("the next request holds %d messages (%v)", len(req.Messages), err)
	}
}

func TestAbortWhileToolsRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	hangs := fake{name: "bash", run: func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
		cancel()
		<-ctx.Done()
		return tool.Result{}, errors.New("killed")
	}}
	m := &played{answers: [][]Delta{{call(0, "c1", "read", `{"n":1}`), call(1, "c2", "bash", `{"n":1}`), Stop{Reason: message.StopToolUse}}, say("never")}}
	b := newBench(t, m, nil, fake{name: "read", alone: true, run: echo("read").run}, hangs)
	if err := b.prompt(t, ctx, "go"); err != nil {
		t.Fatal(err)
	}
	file := strings.Join(b.file(t), "\n")
	if !strings.HasSuffix(file, "toolResult c1 false read{\"n\":1}\ntoolResult c2 true killed\nassistant aborted ") {
		t.Errorf("file:\n%s", file)
	}
	if len(m.requests) != 1 {
		t.Errorf("%d requests", len(m.requests))
	}
}

func TestFailuresOfTheProviderAreRecorded(t *testing.T) {
	for name, m := range map[string]*played{
		"refused":    {answers: [][]Delta{{}}, fail: &RequestError{Provider: "p", Status: 401, Message: "no"}},
		"mid stream": {answers: [][]Delta{{TextDelta{0, "half"}}}, fail: errors.New("reset")},
		"cut":        {answers: [][]Delta{{TextDelta{0, "half"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, m, nil)
			if err := b.prompt(t, t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			file := b.file(t)
			if last := file[len(file)-1]; !strings.HasPrefix(last, "assistant error") {
				t.Errorf("last entry %q", last)
			}
			end := b.events[len(b.events)-3]
			if a, ok := end.Message.(*message.Assistant); end.Type != TurnEnd || !ok || a.ErrorMessage == "" {
				t.Errorf("event %+v", end)
			}
		})
	}
}

func TestToolAgainstThePolicyIsAnError(t *testing.T) {
	_, err := NewLoop(Config{Policy: policy.Policy{Kind: policy.ChatOnly}, Tools: []Tool{echo("read")}})
	if err == nil || !strings.Contains(err.Error(), "Chat Only") {
		t.Errorf("error %v", err)
	}
}

func TestMaxTurns(t *testing.T) {
	var answers [][]Delta
	for range 10 {
		answers = append(answers, []Delta{call(0, "c", "read", `{"n":1}`), Stop{Reason: message.StopToolUse}})
	}
	m := &played{answers: answers}
	b := newBench(t, m, func(c *Config) { c.MaxTurns = 3 }, echo("read"))
	if err := b.prompt(t, t.Context(), "go"); !errors.Is(err, ErrTooManyTurns) || len(m.requests) != 3 {
		t.Errorf("%d requests, %v", len(m.requests), err)
	}
}

// TestCase012: the request for the next turn of a session that was stopped in
// the middle of a call.
func TestCase012(t *testing.T) {
	paths, _ := filepath.Glob("../fixtures/cases/012-*/session.jsonl")
	if len(paths) != 1 {
		t.Fatal(paths)
	}
	before, _ := os.ReadFile(paths[0])
	s, err := session.Open(paths[0], session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := s.Context()
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, m := range History(c.Messages, ModelInfo{}) {
		u, ok := m.(*message.User)
		if !ok {
			t.Fatalf("a message of role %s", m.Role())
		}
		texts = append(texts, u.Content.PlainText())
	}
	if d := cmp.Diff([]string{"run it", "why did you stop", "continue"}, texts); d != "" {
		t.Error(d)
	}
	if after, _ := os.ReadFile(paths[0]); string(after) != string(before) {
		t.Error("the file changed")
	}
}

func TestHistoryIsRepairedForTheRequest(t *testing.T) {
	user := func(text string) message.Message { return userText(text, 0) }
	ask := func(ids ...string) message.Message {
		a := &message.Assistant{StopReason: message.StopToolUse}
		for _, id := range ids {
			a.Content = append(a.Content, message.ToolCall(id, "read", nil))
		}
		return a
	}
	result := func(id string) message.Message {
		return &message.ToolResult{ToolCallID: id, Content: message.Content{message.Text("r")}}
	}
	failed := &message.Assistant{StopReason: message.StopError, Content: message.Content{message.ToolCall("f", "read", nil)}}
	note := &message.Custom{Content: message.Content{message.Text("note")}}
	other := &message.Assistant{Provider: "other", StopReason: message.StopEnd, Content: message.Content{{Type: message.TypeThinking, Thinking: "hm"}, {Type: "new_block"}, message.Text("a")}}
	for _, c := range []struct {
		name string
		in   []message.Message
		want string
	}{
		{"plain", []message.Message{user("q"), ask("1"), result("1"), user("n")}, "user q|call 1|result 1|user n"},
		{"no result", []message.Message{user("q"), ask("1"), user("n")}, "user q|call 1|made 1|user n"},
		{"no result at the end", []message.Message{user("q"), ask("1", "2"), result("2")}, "user q|call 1 2|result 2|made 1"},
		{"no call", []message.Message{user("q"), result("1"), user("n")}, "user q|user n"},
		{"twice", []message.Message{ask("1"), result("1"), result("1")}, "call 1|result 1"},
		{"failed with its results", []message.Message{user("q"), failed, result("f"), user("n")}, "user q|user n"},
		{"note between call and results", []message.Message{ask("1", "2"), result("1"), note, result("2"), user("n")}, "call 1 2|result 1|result 2|user note|user n"},
		{"empty answer", []message.Message{user("q"), &message.Assistant{StopReason: message.StopEnd}, user("n")}, "user q|user n"},
		{"foreign thinking and blocks", []message.Message{user("q"), other}, "user q|text a"},
		{"system and unknown", []message.Message{&message.System{Content: "s"}, &message.Unknown{Kind: "x"}, user("q")}, "user q"},
		{"one id again and again", []message.Message{ask("1"), result("1"), ask("1"), user("n"), ask("1", "1"), result("1"), result("1")}, "call 1|result 1|call 1_2|made 1_2|user n|call 1_3 1_4|result 1_3|result 1_4"},
		{"an id that looks like a new one", []message.Message{ask("1_2", "1"), result("1"), result("1_2"), ask("1"), result("1")}, "call 1_2 1|result 1|result 1_2|call 1_3|result 1_3"},
		{"ids of Responses", []message.Message{ask("1|fc_a"), result("1|fc_a"), ask("1|fc_b"), result("1|fc_b")}, "call 1|fc_a|result 1|fc_a|call 1_2|fc_b|result 1_2|fc_b"},
		{"no id", []message.Message{ask(""), result(""), ask(""), result("")}, "call call|result call|call call_2|result call_2"},
		{"excluded command", []message.Message{&message.BashExecution{Command: "x", ExcludeFromContext: true}, user("q")}, "user q"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, m := range History(c.in, ModelInfo{Provider: "test"}) {
				switch m := m.(type) {
				case *message.User:
					got = append(got, "user "+m.Content.PlainText())
				case *message.Assistant:
					s := "text " + m.Content.PlainText()
					if calls := m.Content.ToolCalls(); len(calls) > 0 {
						s = "call"
						for _, b := range calls {
							s += " " + b.ID
						}
					}
					got = append(got, s)
				case *message.ToolResult:
					kind := "result "
					if m.IsError {
						kind = "made "
					}
					got = append(got, kind+m.ToolCallID)
				}
			}
			if s := strings.Join(got, "|"); s != c.want {
				t.Errorf("got %s\nwant %s", s, c.want)
			}
		})
	}
}
