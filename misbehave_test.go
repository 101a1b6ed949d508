package piweb_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/anthropic"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/agent/model/offline"
	"github.com/piweb-go/piweb/agent/model/openai"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

// misdeed is what a server does before it answers well.
type misdeed struct {
	name     string
	first    []http.HandlerFunc // one per request; the next is answered from the script
	requests int                // that the prompt takes, 0 for any number
	stop     message.StopReason
	abort    bool // a person stops it, once a call has begun
}

// misdeeds are those of issue reports about every provider, in the words of a wire.
func misdeeds(wire modeltest.Wire) []misdeed {
	say := func(events ...[]string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { modeltest.Stream(w, slices.Concat(events...)...) }
	}
	refuse := func(status int, after string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if after != "" {
				w.Header().Set("Retry-After", after)
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"error":{"message":"not now"}}`)
		}
	}
	half := slices.Concat(wire.Text("half"), wire.Call(0, "c1", "read", `{"path":`))
	call := func(n int, id, path string) []string { return wire.Call(n, id, "read", `{"path":"`+path+`"}`) }
	const again = 4 // requests of a prompt whose server never answers
	once := func(h http.HandlerFunc) []http.HandlerFunc { return []http.HandlerFunc{h} }
	always := func(h http.HandlerFunc) []http.HandlerFunc { return slices.Repeat(once(h), again) }
	return []misdeed{
		{"stalls in the middle, until it is stopped", once(func(w http.ResponseWriter, r *http.Request) {
			modeltest.Stream(w, half...)
			<-r.Context().Done()
		}), 1, message.StopAborted, true},
		{"closes early", always(say(wire.Text("half"))), again, message.StopError, false},
		{"closes early in a call, once", once(say(half)), 2, message.StopEnd, false},
		{"breaks the connection, once", once(func(w http.ResponseWriter, _ *http.Request) {
			modeltest.Stream(w, half...)
			panic(http.ErrAbortHandler)
		}), 2, message.StopEnd, false},
		{"bad JSON", always(say([]string{`{"a":[{`})), 0, message.StopError, false},
		{"bad JSON in a call", always(say(half, []string{`{"a":[{`})), 0, message.StopError, false},
		{"429 with a hint", once(refuse(429, "0")), 2, message.StopEnd, false},
		{"429 with a hint that is too long", once(refuse(429, "100000")), 1, message.StopError, false},
		{"429 without a hint", once(refuse(429, "")), 2, message.StopEnd, false},
		{"429 for ever", always(refuse(429, "")), again, message.StopError, false},
		{"500, then success", []http.HandlerFunc{refuse(500, ""), refuse(500, "")}, 3, message.StopEnd, false},
		{"one huge delta", once(say(wire.Answer(strings.Repeat("long 漢 ", 1<<18)))), 1, message.StopEnd, false},
		{"invalid arguments", once(say(wire.Call(0, "c1", "read", `{"path": nope`), wire.Call(1, "c2", "read", `[1]`), wire.End(true))), 2, message.StopEnd, false},
		{"duplicate call ids", once(say(call(0, "same", "go.mod"), call(1, "same", "AGENTS.md"), wire.End(true))), 2, message.StopEnd, false},
		{"the id of an earlier call", []http.HandlerFunc{
			say(call(0, "same", "go.mod"), wire.End(true)), say(call(0, "same", "AGENTS.md"), wire.End(true)),
		}, 3, message.StopEnd, false},
		{"missing usage", once(say(wire.Answer("ok"))), 1, message.StopEnd, false},
		{"nothing at all", once(say(wire.End(false))), 1, message.StopEnd, false},
	}
}

// TestAfterAServerMisbehaved: whatever a server does, on any wire, the run ends, the
// file opens without a fault and the next prompt works, also on another wire. The
// provider that answers then is as strict as real ones: it refuses a history in
// which a call has no result of its own.
func TestAfterAServerMisbehaved(t *testing.T) {
	wires := modeltest.Wires()
	for i, wire := range wires {
		other := wires[(i+1)%len(wires)].API
		for _, c := range misdeeds(wire) {
			t.Run(wire.API+"/"+c.name, func(t *testing.T) {
				w := newWorld(t, modeltest.Parse(t, `{"steps":[{"text":"fine","repeat":true}]}`))
				requests := 0
				server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
					if requests++; requests > len(c.first) {
						w.provider.ServeHTTP(rw, r)
						return
					}
					_, _ = io.Copy(io.Discard, r.Body) // before that, a server does not see its client leave
					c.first[requests-1](rw, r)
				}))
				defer server.Close()
				defer server.CloseClientConnections()
				w.put(".pi/agent/models.json", fmt.Sprintf(`{"providers":{
					"rec":{"baseUrl":%q,"api":%q,"apiKey":"k","models":[{"id":"m1"}]},
					"other":{"baseUrl":%q,"api":%q,"apiKey":"k","models":[{"id":"m2"}]}}}`, server.URL+"/v1", wire.API, w.provider.URL, other))
				w.put(".pi/agent/settings.json", `{"defaultProvider":"rec","defaultModel":"m1","retry":{"baseDelayMs":1}}`)
				w.rt = w.runtime(func(c *piweb.Config) { c.Providers = protocols() })
				s := w.create("read")
				if c.abort {
					w.stopInCall(s, "go")
				} else {
					w.say(s, "go")
				}
				if c.requests != 0 && requests != c.requests {
					t.Errorf("%d requests, want %d", requests, c.requests)
				}
				if got := lastAnswer(t, s.Log()); got.StopReason != c.stop {
					t.Errorf("the answer ends with %s %q, want %s", got.StopReason, got.ErrorMessage, c.stop)
				}
				requests = len(c.first)
				for _, prompt := range []string{"and now", "and there"} {
					w.say(s, prompt)
					again, err := session.Open(s.Log().Path(), session.Options{})
					if err != nil {
						t.Fatal(err)
					}
					defer again.Close()
					if d := again.Diagnostics(); len(d) > 0 {
						t.Errorf("the file has faults: %v", d)
					}
					if got := lastAnswer(t, again); got.Content.PlainText() != "fine" || got.StopReason != message.StopEnd {
						t.Errorf("the answer to %q is %+v", prompt, got)
					}
					if _, err := s.SetModel(t.Context(), "other/m2", ""); err != nil {
						t.Fatal(err)
					}
				}
				if got := lastAnswer(t, s.Log()); got.API != other {
					t.Errorf("the last answer came over %s, want %s", got.API, other)
				}
			})
		}
	}
}

// stopInCall says something and stops the run once a call has begun.
func (w *world) stopInCall(s *piweb.Session, text string) {
	w.t.Helper()
	w.stopWhen(s, text, func(u agent.Update) bool { return strings.HasPrefix(u.Type, "toolcall_") })
}

func lastAnswer(t *testing.T, log *session.Session) *message.Assistant {
	t.Helper()
	c, err := log.Context()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range slices.Backward(c.Messages) {
		if a, ok := m.(*message.Assistant); ok {
			return a
		}
	}
	t.Fatal("there is no answer")
	return nil
}

// headOf is the system text of a request on either wire.
func headOf(t *testing.T, body []byte) string {
	t.Helper()
	var b struct {
		System   any
		Messages []struct {
			Role    string
			Content any
		}
	}
	if err := json.Unmarshal(body, &b); err != nil {
		t.Fatal(err)
	}
	text := func(v any) string {
		if list, ok := v.([]any); ok && len(list) == 1 {
			part, _ := list[0].(map[string]any)
			v = part["text"]
		}
		s, _ := v.(string)
		return s
	}
	if b.System != nil {
		return text(b.System)
	}
	if len(b.Messages) > 0 && b.Messages[0].Role == "system" {
		return text(b.Messages[0].Content)
	}
	return ""
}

// TestHeadOnTheWire: the head of a Chat Only session arrives as exactly its bytes,
// again after 429 and 500, and after a summary; a summary has its own.
func TestHeadOnTheWire(t *testing.T) {
	for _, api := range []string{openai.API, anthropic.API} {
		t.Run(api, func(t *testing.T) {
			w := newWorld(t, modeltest.Parse(t, `{"steps":[
				{"match":"<conversation>","text":"A SUMMARY","repeat":true},
				{"match":"one","error":{"status":429,"message":"slow down","retryAfter":"0"}},
				{"match":"one","error":{"status":500,"message":"oops"}},
				{"text":"a long answer ","textTimes":30,"repeat":true}]}`))
			base := w.provider.SpecOf(api).BaseURL
			w.put(".pi/agent/models.json", fmt.Sprintf(`{"providers":{"rec":{"baseUrl":%q,"api":%q,"apiKey":"k","models":[{"id":"m1"}]}}}`, base, api))
			w.put(".pi/agent/settings.json", `{"defaultProvider":"rec","defaultModel":"m1","retry":{"baseDelayMs":1},"compaction":{"keepRecentTokens":20}}`)
			rt := w.runtime(func(c *piweb.Config) {
				c.Providers = model.Registry{openai.API: openai.New, anthropic.API: anthropic.New, offline.API: offline.New}
			})
			s, err := rt.Create(t.Context(), w.project, piweb.OpenOptions{Tools: &[]string{}})
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{"one", "two", "/compact", "three"} {
				turn, err := s.Prompt(t.Context(), piweb.Input{Text: text})
				if err != nil {
					t.Fatal(err)
				}
				if err := turn.Wait(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			want := globalText + "\n\n" + projectText
			answers, summaries := 0, 0
			for i, r := range w.provider.Requests() {
				head := headOf(t, r.Body)
				switch {
				case head == want:
					answers++
				case strings.HasPrefix(head, "You write summaries"):
					summaries++
				default:
					t.Errorf("request %d has the head %q, want %q", i, head, want)
				}
			}
			if answers != 5 || summaries == 0 {
				t.Errorf("%d answers and %d summaries were asked for", answers, summaries)
			}
			x, err := rt.Explain(t.Context(), s.Log().Path(), piweb.ExplainOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range x.Record.Receipts {
				if len(r.Differences) > 0 {
					t.Errorf("receipt %s: %v", r.Entry, r.Differences)
				}
			}
		})
	}
}
