package wrapper

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/tool"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/toolselect"
)

// named is a tool that says its name, or what it is told to.
type named struct {
	name, says string
	mcp, reads bool
}

func (n named) Declaration() message.ToolDeclaration {
	return message.ToolDeclaration{Name: n.name, Description: "d", Parameters: json.RawMessage(`{"type":"object"}`)}
}
func (n named) Sequential() bool    { return false }
func (n named) Traits() policy.Tool { return policy.Tool{MCP: n.mcp, OnlyReads: n.reads} }
func (n named) Run(context.Context, *tool.Call) (tool.Result, error) {
	return tool.Text(n.name + n.says), nil
}

// maker counts what it made and ended.
type maker struct {
	made, ended atomic.Int64
	env         atomic.Pointer[agent.Env]
}

func (m *maker) factory(name string, x agent.Extension) agent.Factory {
	return agent.Factory{Name: name, New: func(_ context.Context, env agent.Env) (agent.Extension, error) {
		m.made.Add(1)
		m.env.Store(&env)
		x.Close = func() error { m.ended.Add(1); return nil }
		return x, nil
	}}
}

func (m *maker) want(t *testing.T, when string, made, ended int64) {
	t.Helper()
	if m.made.Load() != made || m.ended.Load() != ended {
		t.Errorf("%s: made %d and ended %d times, want %d and %d", when, m.made.Load(), m.ended.Load(), made, ended)
	}
}

// offered are the tools of the next request.
func offered(t *testing.T, s *Session) []string {
	t.Helper()
	req, err := s.Request(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, d := range req.Tools {
		names = append(names, d.Name)
	}
	return names
}

// happened waits for the end of a prompt and returns the events until then.
func happened(t *testing.T, sub *Subscription) []Event {
	t.Helper()
	var out []Event
	for {
		e, err := sub.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if out = append(out, e); e.Type == PromptDone {
			return out
		}
	}
}

func notices(events []Event) string {
	var out []string
	for _, e := range events {
		if e.Type == Notice {
			out = append(out, e.Reason)
		}
	}
	return strings.Join(out, "\n")
}

func TestExtensionsLiveAsLongAsTheEngine(t *testing.T) {
	var m maker
	h := &stage{factories: []agent.Factory{m.factory("x", agent.Extension{Tools: []agent.Tool{named{name: "hello"}}})}}
	r := registry(t, h, Options{AgentDir: "/agent"})
	path := file(t, t.TempDir())
	s := opened(t, r, path, OpenOptions{Tools: &[]string{}})
	say(t, s, "chat")
	m.want(t, "Chat Only", 0, 0)
	if got := offered(t, s); len(got) != 0 {
		t.Errorf("Chat Only offers %v", got)
	}
	pin, _ := toolselect.Pin("read")
	for _, sel := range []toolselect.Selection{pin, pin} {
		if _, err := s.SetTools(t.Context(), sel); err != nil {
			t.Fatal(err)
		}
	}
	m.want(t, "left Chat Only", 1, 0)
	if got := offered(t, s); !slices.Equal(got, []string{"hello"}) {
		t.Errorf("offers %v", got)
	}
	env := m.env.Load()
	if env.SessionID != s.ID() || env.SessionFile() != s.Log().Path() || env.CWD != s.Folder().Path || env.AgentDir != "/agent" || env.Peek {
		t.Errorf("environment %+v", env)
	}
	other, _ := toolselect.Pin("read", "bash")
	if _, err := s.SetTools(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	m.want(t, "other tools, in place", 1, 0)
	if _, err := s.SetTools(t.Context(), toolselect.ChatOnly()); err != nil {
		t.Fatal(err)
	}
	m.want(t, "back in Chat Only", 1, 1)
	if ok, why := env.Admits(policy.Tool{Name: "hello"}); ok || why == "" {
		t.Error("the policy in force admits a tool in Chat Only")
	}
	if _, err := s.SetTools(t.Context(), pin); err != nil {
		t.Fatal(err)
	}
	m.want(t, "left again", 2, 1)
	if err := r.Release(s); err != nil {
		t.Fatal(err)
	}
	m.want(t, "closed", 2, 2)
}

func TestNamesOfToolsThatClash(t *testing.T) {
	var m maker
	h := &stage{factories: []agent.Factory{
		m.factory("one", agent.Extension{Tools: []agent.Tool{named{name: "same", says: " of one"}, named{name: "read"}, named{name: "bad name"}, named{name: "Agent"}, named{name: "kept"}}}),
		m.factory("two", agent.Extension{Tools: []agent.Tool{named{name: "same", says: " of two"}}}),
		{Name: "three", Owns: []string{"Agent", "kept", "bash"}, New: func(context.Context, agent.Env) (agent.Extension, error) {
			return agent.Extension{Tools: []agent.Tool{named{name: "Agent"}, named{name: "bash"}}}, nil
		}},
	}}
	r := registry(t, h, Options{})
	s := opened(t, r, file(t, t.TempDir()), OpenOptions{})
	sub := s.Subscribe(0)
	defer sub.Close()
	h.calls = "same"
	say(t, s, "go")
	events := happened(t, sub)
	if got := offered(t, s); !slices.Equal(got, []string{"same", "Agent"}) {
		t.Errorf("offers %v", got)
	}
	told := notices(events)
	for _, want := range []string{
		`tool "same" of two is left out: the name is taken by a tool of one`,
		`tool "read" of one is left out: the name belongs to piweb's own tool`,
		`tool "bad name" of one is left out`,
		`tool "Agent" of one is left out: the name is reserved for three`,
		`tool "kept" of one is left out: the name is reserved for three`,
		`tool "bash" of three is left out`,
	} {
		if !strings.Contains(told, want) {
			t.Errorf("not told: %s\nbut\n%s", want, told)
		}
	}
	for _, e := range events {
		if e.Type == agent.ToolEnd && e.Result.Content.PlainText() != "same of one" {
			t.Errorf("the call went to %q", e.Result.Content.PlainText())
		}
	}
}

func TestBrokenExtensionsDoNotStopASession(t *testing.T) {
	fail := func(name string, new func(context.Context, agent.Env) (agent.Extension, error)) agent.Factory {
		return agent.Factory{Name: name, New: new}
	}
	h := &stage{factories: []agent.Factory{
		fail("poor", func(context.Context, agent.Env) (agent.Extension, error) {
			return agent.Extension{}, errors.New("no disk")
		}),
		fail("wild", func(context.Context, agent.Env) (agent.Extension, error) { panic("oh no") }),
		fail("late", func(context.Context, agent.Env) (agent.Extension, error) {
			return agent.Extension{
				Tools: []agent.Tool{named{name: "fine"}},
				Hooks: agent.Hooks{
					Call:    func(context.Context, *tool.Call) agent.Verdict { panic("judge") },
					Message: func(message.Message) { panic("ear") },
				},
				Close: func() error { panic("end") },
			}, nil
		}),
	}, calls: "fine"}
	r := registry(t, h, Options{})
	s := opened(t, r, file(t, t.TempDir()), OpenOptions{})
	sub := s.Subscribe(0)
	defer sub.Close()
	say(t, s, "go")
	events := happened(t, sub)
	told := notices(events)
	for _, want := range []string{"extension poor is left out: it failed to load: no disk", "extension wild is left out: it failed to load: it broke: oh no"} {
		if !strings.Contains(told, want) {
			t.Errorf("not told: %s\nbut\n%s", want, told)
		}
	}
	for _, e := range events {
		if e.Type == agent.ToolEnd && !strings.Contains(e.Result.Content.PlainText(), "could not judge") {
			t.Errorf("a call that nobody could judge: %q", e.Result.Content.PlainText())
		}
	}
}

func TestToolsThatAreOfferedLate(t *testing.T) {
	var m maker
	h := &stage{factories: []agent.Factory{m.factory("x", agent.Extension{Tools: []agent.Tool{named{name: "first"}}})}}
	r := registry(t, h, Options{})
	s := opened(t, r, file(t, t.TempDir()), OpenOptions{Tools: &[]string{"read"}})
	if got := offered(t, s); !slices.Equal(got, []string{"first"}) {
		t.Fatalf("offers %v", got)
	}
	env := m.env.Load()
	env.Offer(named{name: "first"}, named{name: "writes", mcp: true}, named{name: "looks", mcp: true, reads: true}, named{name: "write"})
	if got := offered(t, s); !slices.Equal(got, []string{"first", "looks"}) {
		t.Errorf("a session that only reads offers %v", got)
	}
	pin, _ := toolselect.Pin("bash")
	if _, err := s.SetTools(t.Context(), pin); err != nil {
		t.Fatal(err)
	}
	if got := offered(t, s); !slices.Equal(got, []string{"first", "writes", "looks"}) {
		t.Errorf("with bash it offers %v", got)
	}
	env.Offer()
	if got := offered(t, s); len(got) != 0 {
		t.Errorf("after all were taken back it offers %v", got)
	}
	m.want(t, "all along", 1, 0)
	if _, err := s.SetTools(t.Context(), toolselect.ChatOnly()); err != nil {
		t.Fatal(err)
	}
	env.Offer(named{name: "ghost"})
	if got := offered(t, s); len(got) != 0 {
		t.Errorf("Chat Only offers %v", got)
	}
}

func TestCommandsOfExtensions(t *testing.T) {
	var m maker
	h := &stage{factories: []agent.Factory{m.factory("x", agent.Extension{Commands: []agent.Command{
		{Name: "say", Run: func(_ context.Context, args string) (agent.CommandResult, error) {
			return agent.CommandResult{Prompt: "/say " + args + "!"}, nil
		}},
		{Name: "tell", Run: func(context.Context, string) (agent.CommandResult, error) {
			return agent.CommandResult{Notice: "told"}, nil
		}},
		{Name: "fail", Run: func(context.Context, string) (agent.CommandResult, error) {
			return agent.CommandResult{}, errors.New("cannot")
		}},
	}})}}
	r := registry(t, h, Options{})
	s := opened(t, r, file(t, t.TempDir()), OpenOptions{})
	before := s.Log().Len()
	sub := s.Subscribe(0)
	defer sub.Close()
	turn, err := s.Prompt(t.Context(), Input{Text: "/tell  me "})
	if err != nil || turn.Entry != "" || turn.Wait(t.Context()) != nil {
		t.Fatalf("%+v, %v", turn, err)
	}
	if told := notices(happened(t, sub)); told != "told" || s.Log().Len() != before {
		t.Errorf("told %q, %d entries more", told, s.Log().Len()-before)
	}
	if _, err := s.Prompt(t.Context(), Input{Text: "/fail"}); err == nil || !strings.Contains(err.Error(), "/fail of x: cannot") {
		t.Errorf("error %v", err)
	}
	for typed, want := range map[string]string{"/say hi \n": "/say hi!", "/unknown x": "/unknown x", " /say x": " /say x"} {
		say(t, s, typed)
		req, err := s.Request(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := message.ContentOf(req.Messages[len(req.Messages)-2]).PlainText()
		if got != want {
			t.Errorf("%q became %q, want %q", typed, got, want)
		}
	}
}

func TestHooksOfExtensions(t *testing.T) {
	var heard []string
	verdict := agent.Verdict{Decision: agent.Ask, Reason: "really"}
	h := &stage{calls: "act", factories: []agent.Factory{{Name: "x", New: func(context.Context, agent.Env) (agent.Extension, error) {
		return agent.Extension{
			Tools: []agent.Tool{named{name: "act"}},
			Hooks: agent.Hooks{
				Prompt: func(_ context.Context, m *message.User) ([]*message.Custom, error) {
					if m.Content.PlainText() == "no" {
						return nil, errors.New("not this")
					}
					return []*message.Custom{{CustomType: "x", Content: message.Content{message.Text("by the way")}}}, nil
				},
				Call: func(context.Context, *tool.Call) agent.Verdict { return verdict },
				Result: func(_ context.Context, _ *tool.Call, r tool.Result) (tool.Result, error) {
					return tool.Text(r.Content.PlainText() + ", changed"), nil
				},
				Message: func(m message.Message) { heard = append(heard, string(m.Role())) },
			},
		}, nil
	}}}}
	answer := true
	asked := 0
	r := registry(t, h, Options{Ask: func(_ context.Context, q agent.Question) (bool, error) {
		asked++
		if q.Reason != "really" {
			t.Errorf("asked for %q", q.Reason)
		}
		return answer, nil
	}})
	s := opened(t, r, file(t, t.TempDir()), OpenOptions{})
	if _, err := s.Prompt(t.Context(), Input{Text: "no"}); err == nil || !strings.Contains(err.Error(), "the extension x refused the prompt: not this") {
		t.Errorf("error %v", err)
	}
	result := func() string {
		sub := s.Subscribe(0)
		defer sub.Close()
		say(t, s, "go")
		for _, e := range happened(t, sub) {
			if e.Type == agent.ToolEnd {
				return e.Result.Content.PlainText()
			}
		}
		return ""
	}
	if got := result(); got != "act, changed" || asked != 1 {
		t.Errorf("allowed: %q after %d questions", got, asked)
	}
	if got := fmt.Sprint(heard); got != "[system user assistant toolResult assistant]" {
		t.Errorf("heard %s", got)
	}
	req, err := s.Request(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := message.ContentOf(req.Messages[1]).PlainText(); got != "by the way" {
		t.Errorf("in front of the prompt: %q", got)
	}
	answer = false
	if got := result(); got != "Not allowed: the user said no: really." {
		t.Errorf("not allowed: %q", got)
	}
}
