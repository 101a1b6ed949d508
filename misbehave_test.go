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
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/anthropic"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/agent/model/offline"
	"github.com/piweb-go/piweb/agent/model/openai"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

// chunked is an answer in the wire of chat completions.
func chunked(deltas ...string) string {
	var b strings.Builder
	for _, d := range deltas {
		b.WriteString("data: " + d + "\n\n")
	}
	return b.String()
}

func textChunk(text string) string {
	data, _ := json.Marshal(text)
	return `{"choices":[{"index":0,"delta":{"content":` + string(data) + `}}]}`
}

func callChunk(index int, id, args string) string {
	data, _ := json.Marshal(args)
	return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":"read","arguments":%s}}]}}]}`, index, id, data)
}

func endChunk(reason string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}`
}

// TestAfterAServerMisbehaved: whatever a server does, the run ends, the file opens
// without a fault, every call in it has its result, and the next prompt works.
func TestAfterAServerMisbehaved(t *testing.T) {
	stream := func(w http.ResponseWriter, body string) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, body)
		_ = http.NewResponseController(w).Flush()
	}
	refuse := func(status int, after string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			if after != "" {
				w.Header().Set("Retry-After", after)
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"error":{"message":"not now"}}`)
		}
	}
	say := func(body string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) { stream(w, body) }
	}
	const again = 4 // requests of a prompt whose server never answers
	for _, c := range []struct {
		name     string
		first    []func(http.ResponseWriter, *http.Request) // then it answers well
		requests int
		stop     message.StopReason
		abort    bool
	}{
		{"stalls in the middle, until it is stopped", []func(http.ResponseWriter, *http.Request){func(w http.ResponseWriter, r *http.Request) {
			stream(w, chunked(textChunk("half"), callChunk(0, "c1", `{"path":`)))
			<-r.Context().Done()
		}}, 1, message.StopAborted, true},
		{"closes early", slices.Repeat([]func(http.ResponseWriter, *http.Request){say(chunked(textChunk("half")))}, again), again, message.StopError, false},
		{"closes early, once", []func(http.ResponseWriter, *http.Request){say(chunked(textChunk("half"), callChunk(0, "c1", `{"pa`)))}, 2, message.StopEnd, false},
		{"bad JSON", slices.Repeat([]func(http.ResponseWriter, *http.Request){say("data: {\"choices\":[{\n\n")}, again), 0, message.StopError, false},
		{"429 with a hint", []func(http.ResponseWriter, *http.Request){refuse(429, "0")}, 2, message.StopEnd, false},
		{"429 with a hint that is too long", []func(http.ResponseWriter, *http.Request){refuse(429, "100000")}, 1, message.StopError, false},
		{"429 without a hint", []func(http.ResponseWriter, *http.Request){refuse(429, "")}, 2, message.StopEnd, false},
		{"500, then success", []func(http.ResponseWriter, *http.Request){refuse(500, ""), refuse(500, "")}, 3, message.StopEnd, false},
		{"one huge delta", []func(http.ResponseWriter, *http.Request){say(chunked(textChunk(strings.Repeat("long 漢 ", 1<<18)), endChunk("stop"), "[DONE]"))}, 1, message.StopEnd, false},
		{"invalid arguments", []func(http.ResponseWriter, *http.Request){say(chunked(callChunk(0, "c1", `{"path": nope`), callChunk(1, "c2", `[1]`), endChunk("tool_calls"), "[DONE]"))}, 2, message.StopEnd, false},
		{"duplicate call ids", []func(http.ResponseWriter, *http.Request){say(chunked(callChunk(0, "same", `{"path":"go.mod"}`), callChunk(1, "same", `{"path":"AGENTS.md"}`), endChunk("tool_calls"), "[DONE]"))}, 2, message.StopEnd, false},
		{"missing usage", []func(http.ResponseWriter, *http.Request){say(chunked(textChunk("ok"), endChunk("stop"), "[DONE]"))}, 1, message.StopEnd, false},
		{"nothing at all", []func(http.ResponseWriter, *http.Request){say(chunked(endChunk("stop"), "[DONE]"))}, 1, message.StopEnd, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := 0
			var sent []map[string]any
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				var m map[string]any
				_ = json.Unmarshal(body, &m)
				sent = append(sent, m)
				n++
				if n <= len(c.first) {
					c.first[n-1](w, r)
					return
				}
				stream(w, chunked(textChunk("fine"), endChunk("stop"), "[DONE]"))
			}))
			defer server.Close()
			defer server.CloseClientConnections()
			w := newWorld(t, modeltest.Text("unused"))
			w.put(".pi/agent/models.json", fmt.Sprintf(`{"providers":{"rec":{"baseUrl":%q,"api":"openai-completions","apiKey":"k","models":[{"id":"m1"}]}}}`, server.URL))
			w.put(".pi/agent/settings.json", `{"defaultProvider":"rec","defaultModel":"m1","retry":{"baseDelayMs":1}}`)
			s, err := w.rt.Create(t.Context(), w.project, piweb.OpenOptions{Tools: &[]string{"read"}})
			if err != nil {
				t.Fatal(err)
			}
			sub := s.Subscribe(0)
			defer sub.Close()
			turn, err := s.Prompt(t.Context(), piweb.Input{Text: "go"})
			if err != nil {
				t.Fatal(err)
			}
			for c.abort {
				e, err := sub.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if e.Update != nil && e.Update.Type == "toolcall_delta" {
					s.Abort()
					break
				}
			}
			if err := turn.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			if c.requests != 0 && n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
			if got := lastAnswer(t, s.Log()); got.StopReason != c.stop {
				t.Errorf("the answer ends with %s %q, want %s", got.StopReason, got.ErrorMessage, c.stop)
			}
			n = len(c.first)
			turn, err = s.Prompt(t.Context(), piweb.Input{Text: "and now"})
			if err != nil {
				t.Fatal(err)
			}
			if err := turn.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			again, err := session.Open(s.Log().Path(), session.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			if d := again.Diagnostics(); len(d) > 0 {
				t.Errorf("the file has faults: %v", d)
			}
			if got := lastAnswer(t, again); got.Content.PlainText() != "fine" || got.StopReason != message.StopEnd {
				t.Errorf("the next answer is %+v", got)
			}
			wantPaired(t, sent[len(sent)-1])
		})
	}
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

// wantPaired checks a request on the wire: each call has one result, right behind.
func wantPaired(t *testing.T, body map[string]any) {
	t.Helper()
	messages, _ := body["messages"].([]any)
	open := 0
	for _, m := range messages {
		m, _ := m.(map[string]any)
		if m["role"] == "tool" {
			open--
			continue
		}
		if open != 0 {
			t.Errorf("%d calls have no result of their own: %v", open, messages)
		}
		calls, _ := m["tool_calls"].([]any)
		open = len(calls)
	}
	if open != 0 {
		t.Errorf("%d calls at the end have no result", open)
	}
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
