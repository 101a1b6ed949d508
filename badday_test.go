package piweb_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/message"
)

// TestSessionsGoOnAfterBadAnswers: on every wire a session survives answers that
// are cut, that fail in the middle, that give two calls one id and arguments that
// are no JSON, that break off in a call, cannot be read, come in one huge piece, or
// stand still until they are stopped. The provider is strict: it refuses a
// history in which a call has no result. Afterwards another process goes on with
// the file.
func TestSessionsGoOnAfterBadAnswers(t *testing.T) {
	for api := range protocols() {
		t.Run(api, func(t *testing.T) {
			w := newWorld(t, modeltest.Parse(t, `{"steps":[
				{"match":"one","text":"The reason is","cut":true},
				{"match":"two","text":"I begin","error":{"status":503,"message":"Overloaded."}},
				{"match":"three","toolCalls":[{"id":"same","name":"read","arguments":{"path":"go.mod"}},{"id":"same","name":"ls","argumentsText":"{\"path\": "}]},
				{"match":"three","text":"Both came."},
				{"match":"four","thinking":"Hm.","toolCalls":[{"name":"read","arguments":{"path":"go.mod"}}],"cut":true},
				{"match":"five","text":"All is well."},
				{"match":"garbled","text":"I begin","garbled":true},
				{"match":"huge","text":"word ","textTimes":60000,"whole":true},
				{"match":"stalled","text":"half","toolCalls":[{"name":"read","argumentsText":"{\"path\""}],"stall":true},
				{"match":"six","text":"Still here."}]}`))
			w.put(".pi/agent/models.json", fmt.Sprintf(`{"providers":{"rec":{"baseUrl":%q,"api":%q,"apiKey":"k","models":[{"id":"m1"}]}}}`, w.provider.URL, api))
			w.put(".pi/agent/settings.json", `{"defaultProvider":"rec","defaultModel":"m1","retry":{"enabled":false}}`)
			known := func(c *piweb.Config) { c.Providers = protocols() }
			w.rt = w.runtime(known)
			s := w.create("read", "ls")
			for _, prompt := range []string{"one", "two", "three", "four", "five", "garbled", "huge"} {
				w.say(s, prompt)
			}
			w.stopAt(s, "stalled", "half")
			path := s.Log().Path()
			if err := w.rt.Close(); err != nil {
				t.Fatal(err)
			}
			w.rt = w.runtime(known)
			s, err := w.rt.Open(t.Context(), path, piweb.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			w.say(s, "six")
			c, err := s.Log().Context()
			if err != nil {
				t.Fatal(err)
			}
			var ends []message.StopReason
			ids := map[string]int{}
			for _, m := range c.Messages {
				switch m := m.(type) {
				case *message.Assistant:
					ends = append(ends, m.StopReason)
					for _, call := range m.Content.ToolCalls() {
						ids[call.ID]++
					}
				case *message.ToolResult:
					ids[m.ToolCallID] += 10
				}
			}
			want := []message.StopReason{message.StopError, message.StopError, message.StopToolUse, message.StopEnd, message.StopError, message.StopEnd,
				message.StopError, message.StopEnd, message.StopAborted, message.StopEnd}
			if !slices.Equal(ends, want) {
				t.Errorf("answers ended %v, want %v", ends, want)
			}
			whole := 0
			for id, n := range ids {
				switch n {
				case 11:
					whole++
				case 1: // a call that was cut; it gets a result at request time
				default:
					t.Errorf("the id %q: calls and results do not meet: %d", id, n)
				}
			}
			if whole < 2 {
				t.Errorf("%d calls with results, want both of the third answer: %v", whole, ids)
			}
			if last := c.Messages[len(c.Messages)-1].(*message.Assistant); last.Content.PlainText() != "Still here." {
				t.Errorf("the last answer is %q", last.Content.PlainText())
			}
		})
	}
}

// stopAt says something and stops the run when so much of the answer is there.
func (w *world) stopAt(s *piweb.Session, text, answer string) {
	w.t.Helper()
	got := ""
	w.stopWhen(s, text, func(u agent.Update) bool {
		if u.Type == "text_delta" {
			got += u.Delta
		}
		return got == answer
	})
}

// stopWhen says something and stops the run at a step of the answer.
func (w *world) stopWhen(s *piweb.Session, text string, reached func(agent.Update) bool) {
	w.t.Helper()
	sub := s.Subscribe(0)
	defer sub.Close()
	turn, err := s.Prompt(w.t.Context(), piweb.Input{Text: text})
	if err != nil {
		w.t.Fatal(err)
	}
	for {
		e, err := sub.Next(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		if e.Update != nil && reached(*e.Update) {
			break
		}
	}
	s.Abort()
	if err := turn.Wait(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}
