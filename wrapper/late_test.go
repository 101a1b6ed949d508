package wrapper

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/tool"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
)

// step is an answer of a model: what happens while it answers, and what it calls.
type step struct {
	meanwhile func()
	calls     string
}

// series is a host with a model that takes one step after the other.
type series struct {
	stage
	steps []step
	saw   [][]string // the tools of each request
}

func (h *series) Model(context.Context, ModelWish) (Chosen, error) {
	return Chosen{Model: serial{h}, Thinking: "off"}, nil
}

type serial struct{ h *series }

func (serial) Info() agent.ModelInfo {
	return agent.ModelInfo{API: "quiet", Provider: "test", ID: "m"}
}

func (m serial) Stream(_ context.Context, req agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		m.h.saw = append(m.h.saw, declared(req.Tools))
		if len(m.h.saw) > len(m.h.steps) {
			if yield(agent.TextDelta{Text: "done"}, nil) {
				yield(agent.Stop{Reason: message.StopEnd}, nil)
			}
			return
		}
		s := m.h.steps[len(m.h.saw)-1]
		if s.meanwhile != nil {
			s.meanwhile()
		}
		if yield(agent.ToolCallDelta{ID: "c" + s.calls, Name: s.calls, Arguments: "{}"}, nil) {
			yield(agent.Stop{Reason: message.StopToolUse}, nil)
		}
	}
}

func declared(tools []message.ToolDeclaration) []string {
	names := []string{}
	for _, d := range tools {
		names = append(names, d.Name)
	}
	return names
}

// acting is a tool that does something when it runs.
type acting struct {
	named
	do func()
}

func (a acting) Run(ctx context.Context, c *tool.Call) (tool.Result, error) {
	a.do()
	return a.named.Run(ctx, c)
}

// TestToolsThatComeAndGoInARun: a tool joins at the next request of a run, with
// its declaration and receipt; a call is judged by what is offered when it comes.
func TestToolsThatComeAndGoInARun(t *testing.T) {
	var m maker
	offer := func(tools ...agent.Tool) { m.env.Load().Offer(tools...) }
	var first acting
	later, writes := named{name: "later"}, named{name: "writes", mcp: true}
	first = acting{named{name: "first"}, func() { offer(first, later) }}
	h := &series{}
	h.factories = []agent.Factory{m.factory("x", agent.Extension{Tools: []agent.Tool{first}})}
	h.steps = []step{
		{calls: "first"}, // offers later
		{func() { offer(first) }, "later"},
		{func() { offer(first, later, writes) }, "later"},
		{calls: "later"},
		{calls: "writes"},
		{func() { offer(first, named{name: "later", mcp: true}) }, "later"},
		{calls: "nowhere"},
	}
	r := registry(t, h, Options{})
	s := opened(t, r, file(t, t.TempDir()), OpenOptions{Tools: &[]string{"read"}})
	sub := s.Subscribe(0)
	defer sub.Close()
	say(t, s, "go")
	var results []string
	for _, e := range happened(t, sub) {
		if e.Type == agent.ToolEnd {
			results = append(results, e.Result.Content.PlainText())
		}
	}
	want := []string{
		"first",
		`Not run: the tool "later" was withdrawn while you answered.`,
		`Not run: the tool "later" came while you answered; call it again.`,
		"later",
		"Not allowed: ",
		"Not allowed: ",
		`There is no tool "nowhere" here.`,
	}
	if len(results) != len(want) {
		t.Fatalf("results %q", results)
	}
	for i, w := range want {
		if !strings.HasPrefix(results[i], w) || !strings.HasSuffix(w, ": ") && results[i] != w {
			t.Errorf("call %d: %q, want %q", i, results[i], w)
		}
	}
	one, two := []string{"first"}, []string{"first", "later"}
	if saw := [][]string{one, two, one, two, two, two, one, one}; !slices.EqualFunc(h.saw, saw, slices.Equal) {
		t.Errorf("the requests carried %v, want %v", h.saw, saw)
	}
	if got := receipted(t, s); !slices.EqualFunc(got, [][]string{one, two, one, two, one}, slices.Equal) {
		t.Errorf("the receipts say %v", got)
	}
	c, err := s.Log().Context()
	if err != nil {
		t.Fatal(err)
	}
	if got := declared(c.System.Tools); !slices.Equal(got, one) {
		t.Errorf("the transcript declares %v", got)
	}
	say(t, s, "again")
	if got := receipted(t, s); len(got) != 5 {
		t.Errorf("a prompt with the same tools wrote a receipt: %v", got)
	}
}

// receipted are the tools of the receipts of a session.
func receipted(t *testing.T, s *Session) (out [][]string) {
	t.Helper()
	for e := range s.Log().Entries() {
		if e.Type != session.TypeCustom || e.CustomType != policy.ReceiptType {
			continue
		}
		p, err := s.Log().Decode(e)
		if err != nil {
			t.Fatal(err)
		}
		r, err := policy.ParseReceipt(p.(session.Custom).Data)
		if err != nil {
			t.Fatal(err)
		}
		names := []string{}
		for _, h := range r.Tools {
			names = append(names, h.Name)
		}
		out = append(out, names)
	}
	return out
}
