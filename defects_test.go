package piweb_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/agent/model/offline"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/toolselect"
	"github.com/piweb-go/piweb/wrapper"
)

// The defects that were reproduced in pi-web 0.9.3 and that concern a session's
// policy, each as a test that shows that piweb lacks it. D1 is
// TestConcurrentChanges, D2 and D3 are TestChildWithABrokenSnapshotIsRefused of
// package policy.

// TestD7AnswerAtTheLimitStands: an answer given exactly at the limit of turns is
// the end, and no further turn is asked for; only a run that would go on is
// stopped, with all results recorded.
func TestD7AnswerAtTheLimitStands(t *testing.T) {
	script := func() *offline.Script {
		return modeltest.Parse(t, `{"steps":[{"match":"go","toolCalls":[{"name":"ls","arguments":{}}]},{"text":"the real answer"},{"text":"a forced extra turn"}]}`)
	}
	for _, c := range []struct {
		name    string
		limit   int
		asked   int
		stopped bool
	}{
		{"the answer comes with the last turn", 2, 2, false},
		{"the answer comes before", 3, 2, false},
		{"the run would go on", 1, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, script())
			rt := w.runtime(func(cfg *piweb.Config) { cfg.MaxTurns = c.limit })
			s, err := rt.Create(t.Context(), w.project, piweb.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			turn, err := s.Prompt(t.Context(), piweb.Input{Text: "go"})
			if err != nil {
				t.Fatal(err)
			}
			if err := turn.Wait(t.Context()); errors.Is(err, agent.ErrTooManyTurns) != c.stopped {
				t.Errorf("the run ended with %v", err)
			}
			if n := w.provider.Count(); n != c.asked {
				t.Errorf("the model was asked %d times, not %d", n, c.asked)
			}
			last := lastMessage(t, s)
			if c.stopped {
				if _, ok := last.(*message.ToolResult); !ok {
					t.Errorf("the last message is %#v, not the result of the call", last)
				}
				return
			}
			if a, ok := last.(*message.Assistant); !ok || a.Content.PlainText() != "the real answer" {
				t.Errorf("the last message is %#v", last)
			}
		})
	}
}

func lastMessage(t *testing.T, s *piweb.Session) message.Message {
	t.Helper()
	c, err := s.Log().Context()
	if err != nil {
		t.Fatal(err)
	}
	return c.Messages[len(c.Messages)-1]
}

// TestD8ForkKeepsAPinFromBehindIt: the source became Chat Only behind the point
// where it is forked; the fork is Chat Only, and not what was pinned before.
func TestD8ForkKeepsAPinFromBehindIt(t *testing.T) {
	w := newWorld(t, toolTurns(t))
	s := w.create("read")
	w.say(s, "plain")
	at := s.Log().Leaf()
	w.choose(s, toolselect.ChatOnly())
	f, err := w.rt.Fork(t.Context(), s.Log().Path(), piweb.ForkOptions{At: at})
	if err != nil {
		t.Fatal(err)
	}
	if p, _, err := w.rt.Decide(f.Path, ""); err != nil || p.Kind != policy.ChatOnly {
		t.Errorf("the fork is %s (%v)", p, err)
	}
}

// TestD11OneIDForLife: a session without a file that leaves Chat Only stays the
// same session under the same id; there is no discarded id to answer for.
func TestD11OneIDForLife(t *testing.T) {
	w := newWorld(t, toolTurns(t))
	s := w.create()
	w.choose(s, toolselect.ChatOnly())
	id, path := s.ID(), s.Log().Path()
	for _, sel := range []toolselect.Selection{pin(t, "read"), toolselect.ChatOnly(), toolselect.Clear(), pin(t, "read")} {
		w.choose(s, sel)
		if s.ID() != id || s.Log().Path() != path {
			t.Fatalf("%s changed the session to %s at %s", sel, s.ID(), s.Log().Path())
		}
	}
	if live := w.rt.LiveSessions(); len(live) != 1 || live[0] != s {
		t.Errorf("%d live sessions", len(live))
	}
	w.say(s, "plain")
	if h, err := session.ReadHeader(path); err != nil || h.ID != id {
		t.Errorf("the file has the id %q (%v), the session was created as %q", h.ID, err, id)
	}
	if got := modeltest.ToolNames(w.last().Body); !slices.Equal(got, []string{"read"}) {
		t.Errorf("it asked with the tools %v", got)
	}
}

// TestD12StateIsWhatIsSentNext: whatever was sent last, what a session says of its
// prompt and tools is what the next request carries.
func TestD12StateIsWhatIsSentNext(t *testing.T) {
	w := newWorld(t, toolTurns(t))
	s := w.create("read")
	w.say(s, "plain")
	for _, sel := range []toolselect.Selection{toolselect.ChatOnly(), pin(t, "ls", "read"), toolselect.ChatOnly(), toolselect.Clear()} {
		w.choose(s, sel)
		says, err := s.Request(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		explained := w.head(s)
		w.say(s, "plain")
		sent, _ := modeltest.Head(w.last().Body)
		if string(says.Head) != string(sent) || explained != string(sent) {
			t.Errorf("%s: the session says %q, explain %q, and %q was sent", sel, says.Head, explained, sent)
		}
		var names []string
		for _, d := range says.Tools {
			names = append(names, d.Name)
		}
		if got := modeltest.ToolNames(w.last().Body); !slices.Equal(got, names) {
			t.Errorf("%s: the session says %v, and %v were sent", sel, names, got)
		}
	}
}

// TestD16FailedStartIsVisible: a choice whose engine cannot be built is recorded
// and in force, the session says that it failed, and the next command goes on
// under the choice and never under the older one.
func TestD16FailedStartIsVisible(t *testing.T) {
	w := newWorld(t, toolTurns(t))
	s := w.create("read", "bash")
	w.say(s, "plain")
	const models = ".pi/agent/models.json"
	good, err := os.ReadFile(w.home + "/" + models)
	if err != nil {
		t.Fatal(err)
	}
	w.put(models, "{ broken")
	if _, err := s.SetTools(t.Context(), toolselect.ChatOnly()); !errors.Is(err, piweb.ErrNoModel) {
		t.Fatalf("error %v", err)
	}
	if state, cause := s.State(); state != wrapper.Failed || cause == nil {
		t.Errorf("state %s because of %v", state, cause)
	}
	asked := w.provider.Count()
	if _, err := s.Prompt(t.Context(), piweb.Input{Text: "plain"}); err == nil {
		t.Error("a prompt was taken by a session that failed")
	}
	if n := w.provider.Count(); n != asked {
		t.Errorf("%d requests were sent", n-asked)
	}
	w.put(models, string(good))
	w.say(s, "plain")
	if modeltest.HasTools(w.last().Body) {
		t.Errorf("it went on with the tools %v", modeltest.ToolNames(w.last().Body))
	}
}

// TestD18EqualChoiceAppendsNothing: the same choice again leaves the file as it
// is, to the byte, live or not.
func TestD18EqualChoiceAppendsNothing(t *testing.T) {
	w := newWorld(t, toolTurns(t))
	for _, sel := range []toolselect.Selection{pin(t, "read", "ls"), toolselect.ChatOnly(), toolselect.Clear()} {
		s := w.create("bash")
		w.say(s, "plain")
		w.choose(s, sel)
		path := s.Log().Path()
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if c := w.choose(s, sel); c.Appended || c.Recreated {
			t.Errorf("%s twice: %+v", sel, c)
		}
		if err := w.rt.Release(s); err != nil {
			t.Fatal(err)
		}
		c, err := w.rt.SetTools(context.Background(), path, sel, piweb.OpenOptions{})
		if err != nil || c.Appended {
			t.Errorf("%s in a file that has it: %+v (%v)", sel, c, err)
		}
		after, err := os.ReadFile(path)
		if err != nil || string(after) != string(before) {
			t.Errorf("%s twice changed the file (%v)", sel, err)
		}
	}
}
