package wrapper

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/compact"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/toolselect"
)

// summing is a host whose model answers at length, and sums up in one word.
type summing struct {
	stage
	talk *talker
}

func (h *summing) Model(context.Context, ModelWish) (Chosen, error) {
	return Chosen{Model: h.talk, Thinking: "off", Conduct: Conduct{Compaction: compact.Settings{Enabled: true, Keep: 10}}}, nil
}

type talker struct {
	mu    sync.Mutex
	heads []string
	gate  chan struct{} // if not nil, summaries wait for it
}

func (m *talker) Info() agent.ModelInfo {
	return agent.ModelInfo{API: "quiet", Provider: "test", ID: "m"}
}

func (m *talker) Stream(ctx context.Context, req agent.Request) iter.Seq2[agent.Delta, error] {
	m.mu.Lock()
	m.heads = append(m.heads, string(req.Head))
	m.mu.Unlock()
	sums := strings.Contains(message.ContentOf(req.Messages[0]).PlainText(), "<conversation>")
	return func(yield func(agent.Delta, error) bool) {
		text := strings.Repeat("a long answer ", 20)
		if sums {
			text = "SUMMARY"
			if m.gate != nil {
				select {
				case <-m.gate:
				case <-ctx.Done():
					yield(nil, ctx.Err())
					return
				}
			}
		}
		if yield(agent.TextDelta{Text: text}, nil) {
			yield(agent.Stop{Reason: message.StopEnd}, nil)
		}
	}
}

func TestCompactByHand(t *testing.T) {
	h := &summing{talk: &talker{}}
	r := registry(t, h, Options{})
	s := opened(t, r, file(t, t.TempDir()), OpenOptions{Tools: &[]string{}})
	c, err := s.Compact(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Result(t.Context()); !errors.Is(err, agent.ErrNothingToCompact) {
		t.Errorf("error %v", err)
	}
	say(t, s, "one")
	say(t, s, "two")
	sub := s.Subscribe(0)
	defer sub.Close()
	say(t, s, "/compact mind the sea")
	var told []string
	for _, e := range happened(t, sub) {
		told = append(told, string(e.Type))
	}
	if want := []string{"agent_start", "compaction_start", "compaction_end", "agent_end", "agent_settled", "prompt_done"}; !slices.Equal(told, want) {
		t.Errorf("told %v", told)
	}
	say(t, s, "three")
	if got := texts(t, s); slices.Contains(got, "one") || !slices.Contains(got, "three") || slices.Contains(got, "/compact mind the sea") {
		t.Errorf("context %v", got)
	}
	// The exact head, before and after, and never with a summary.
	heads := h.talk.heads
	var answers []string
	for _, head := range heads {
		if !strings.Contains(head, "You write summaries") {
			answers = append(answers, head)
		}
	}
	if len(answers) != 3 || answers[0] != answers[2] || len(heads) == len(answers) {
		t.Errorf("heads %q", heads)
	}
}

// TestVerbatimIsNoCommand: what is not typed by a person is sent as it is.
func TestVerbatimIsNoCommand(t *testing.T) {
	s := opened(t, registry(t, &summing{talk: &talker{}}, Options{}), file(t, t.TempDir()), OpenOptions{})
	turn, err := s.Prompt(t.Context(), Input{Text: "/compact all of it", Verbatim: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := turn.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := texts(t, s); got[len(got)-1] != "/compact all of it" {
		t.Errorf("context %v", got)
	}
}

func TestCompactionCanBeStopped(t *testing.T) {
	h := &summing{talk: &talker{gate: make(chan struct{})}}
	r := registry(t, h, Options{})
	s := opened(t, r, file(t, t.TempDir()), OpenOptions{})
	say(t, s, "one")
	before := s.Log().Leaf()
	c, err := s.Compact(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Compact(t.Context(), ""); !errors.Is(err, ErrRunning) {
		t.Errorf("a second one beside it: %v", err)
	}
	if _, err := s.Navigate(t.Context(), before, NavigateOptions{}); !errors.Is(err, ErrRunning) {
		t.Errorf("going away under it: %v", err)
	}
	if _, err := s.Steer(t.Context(), Input{Text: "/compact"}); !errors.Is(err, ErrRunning) {
		t.Errorf("a queued command: %v", err)
	}
	s.Abort()
	if _, err := c.Result(t.Context()); err == nil || s.Log().Leaf() != before {
		t.Errorf("error %v, leaf %s", err, s.Log().Leaf())
	}
}

func TestNavigate(t *testing.T) {
	h := &summing{talk: &talker{}}
	r := registry(t, h, Options{})
	s := opened(t, r, file(t, t.TempDir()), OpenOptions{Tools: &[]string{"read"}})
	say(t, s, "one")
	first := s.Log().Leaf()
	turn, err := s.Prompt(t.Context(), Input{Text: "two"})
	if err != nil {
		t.Fatal(err)
	}
	if err := turn.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	left := s.Log().Leaf()

	n, err := s.Navigate(t.Context(), turn.Entry, NavigateOptions{})
	if err != nil || n.Text != "two" || n.Summary != "" || n.Pinned {
		t.Errorf("%+v %v", n, err)
	}
	if got := texts(t, s); slices.Contains(got, "two") {
		t.Errorf("context %v", got)
	}
	if _, err := s.Navigate(t.Context(), left, NavigateOptions{}); err != nil {
		t.Fatal(err)
	}
	n, err = s.Navigate(t.Context(), first, NavigateOptions{Summarize: true})
	if err != nil || n.Summary != "SUMMARY" {
		t.Errorf("%+v %v", n, err)
	}
	c, err := s.Log().Context()
	if err != nil {
		t.Fatal(err)
	}
	sum, ok := c.Messages[len(c.Messages)-1].(*message.BranchSummary)
	if !ok || sum.Summary != "SUMMARY" {
		t.Errorf("the last message is %T", c.Messages[len(c.Messages)-1])
	}
	// It is durable: whoever opens the file is there, too.
	again, err := session.Open(s.Log().Path(), session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if again.Leaf() != s.Log().Leaf() {
		t.Errorf("reopened at %s, live at %s", again.Leaf(), s.Log().Leaf())
	}
	if p, _ := s.Policy(); p.Kind != policy.Pinned || !slices.Equal(p.Tools, []string{"read"}) {
		t.Errorf("policy %s", p)
	}
	if _, err := s.Navigate(t.Context(), "nowhere1", NavigateOptions{}); !errors.Is(err, session.ErrNoEntry) {
		t.Errorf("error %v", err)
	}
	say(t, s, "three")
}

// TestNavigationNeverWidens: where what a branch declares decides, going to a
// branch that declares more pins the tools of now.
func TestNavigationNeverWidens(t *testing.T) {
	dir := t.TempDir()
	log, err := session.Create(session.NewSession{Dir: dir, CWD: dir}, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	declare := func(m *message.System) session.Payload { return session.Message(m) }
	tools := func(names ...string) (out []message.ToolDeclaration) {
		for _, n := range names {
			out = append(out, message.ToolDeclaration{Name: n, Parameters: []byte("{}")})
		}
		return out
	}
	user := func(x string) session.Payload {
		return session.Message(&message.User{Content: message.Content{message.Text(x)}})
	}
	ids, err := log.Append(user("q"), declare(&message.System{ToolsAdded: tools("read", "bash")}),
		session.Message(&message.Assistant{Content: message.Content{message.Text("wide")}, StopReason: message.StopEnd}),
		declare(&message.System{ToolsRemoved: []message.ToolName{{Name: "bash"}}}), user("narrow"))
	if err != nil {
		t.Fatal(err)
	}
	log.Close()
	r := registry(t, &summing{talk: &talker{}}, Options{})
	s := opened(t, r, log.Path(), OpenOptions{})
	if p, _ := s.Policy(); !slices.Equal(p.Tools, []string{"read"}) {
		t.Fatalf("before: %s", p)
	}
	n, err := s.Navigate(t.Context(), ids[2], NavigateOptions{})
	if err != nil || !n.Pinned {
		t.Fatalf("%+v %v", n, err)
	}
	say(t, s, "go on")
	if p, _ := s.Policy(); p.Kind != policy.Pinned || !slices.Equal(p.Tools, []string{"read"}) {
		t.Errorf("after: %s", p)
	}
	found, err := toolselect.Find(s.Log())
	if err != nil || found.Selection.State() != toolselect.Pinned {
		t.Errorf("the file says %+v, %v", found, err)
	}
}
