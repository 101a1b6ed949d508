package modeltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/message"
)

// Dialect is a wire and the provider that reads it, for [Misbehave].
type Dialect struct {
	Wire
	Open model.Factory
	// Tune shortens the patience of a model, and the bytes of an answer.
	Tune func(m agent.Model, idle time.Duration, limit int64)
}

// misbehaviourKey is the key under test. It looks like one, so that a search for it
// finds only leaks.
const misbehaviourKey = `sk-s3cr3t/with+odd"signs`

func (d Dialect) open(t *testing.T, handle http.HandlerFunc, change func(*model.Spec)) agent.Model {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // before that, a server does not see its client leave
		handle(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	spec := model.Spec{
		Info:    agent.ModelInfo{API: d.API, Provider: "here", ID: "m", ContextWindow: 128000, MaxTokens: 16384},
		BaseURL: server.URL + "/v1", APIKey: misbehaviourKey, Client: server.Client(),
	}
	if change != nil {
		change(&spec)
	}
	m, err := d.Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func streamed(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { stream(w, body) }
}

func stream(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, body) // a client that has gone notices it itself
	_ = http.NewResponseController(w).Flush()
}

// refusal asks and wants a refusal.
func refusal(t *testing.T, got Answer) *agent.RequestError {
	t.Helper()
	var r *agent.RequestError
	if !errors.As(got.Err, &r) {
		t.Fatalf("error is %T %v, want *agent.RequestError; answer %+v", got.Err, got.Err, got)
	}
	if r.Provider != "here" || r.Message == "" || got.Stops != 0 {
		t.Errorf("refusal %+v with %d stops", r, got.Stops)
	}
	return r
}

// Misbehave checks that a provider gives a clear error or the right answer to
// each of the ways in which servers go wrong, that nothing outlives its context,
// and that an answer takes bounded memory.
func Misbehave(t *testing.T, d Dialect) {
	hello := UserRequest("hello")
	t.Run("stalls in the middle", func(t *testing.T) {
		m := d.open(t, func(w http.ResponseWriter, r *http.Request) {
			streamed(Events(d.Text("x")...))(w, r)
			<-r.Context().Done()
		}, nil)
		d.Tune(m, 50*time.Millisecond, 1<<20)
		got := Ask(t, m, hello)
		if r := refusal(t, got); !strings.Contains(r.Message, "silent") || got.Text() != "x" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("stalls until the context ends", func(t *testing.T) {
		for _, begun := range []bool{false, true} {
			arrived := make(chan struct{})
			m := d.open(t, func(w http.ResponseWriter, r *http.Request) {
				if begun {
					streamed(Events(d.Text("x")...))(w, r)
				}
				close(arrived)
				<-r.Context().Done()
			}, nil)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-arrived
				cancel()
			}()
			start := time.Now()
			if got := AskContext(ctx, t, m, hello); !errors.Is(got.Err, context.Canceled) || time.Since(start) > prompt {
				t.Errorf("after %v: %+v", time.Since(start), got)
			}
			cancel()
		}
	})
	t.Run("closes early", func(t *testing.T) {
		m := d.open(t, streamed(Events(d.Text("x")...)), nil)
		if got := Ask(t, m, hello); got.Err != nil || got.Stops != 0 || got.Text() != "x" {
			t.Errorf("a cut answer is %+v, want its text, no stop and no error", got)
		}
		m = d.open(t, func(w http.ResponseWriter, r *http.Request) {
			streamed(Events(d.Text("x")...))(w, r)
			panic(http.ErrAbortHandler)
		}, nil)
		got := Ask(t, m, hello)
		if r := refusal(t, got); !strings.Contains(r.Message, "EOF") || got.Text() != "x" {
			t.Errorf("got %+v", got)
		}
		m = d.open(t, streamed(""), nil)
		if got := Ask(t, m, hello); got.Err != nil || got.Stops != 0 || len(got.Blocks) != 0 {
			t.Errorf("an empty answer is %+v", got)
		}
	})
	t.Run("sends what is not JSON", func(t *testing.T) {
		m := d.open(t, streamed(Events(d.Text("x")...)+"data: {\"a\":[\n\n"), nil)
		got := Ask(t, m, hello)
		if r := refusal(t, got); !strings.Contains(r.Message, "cannot be read") || got.Text() != "x" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("refuses", func(t *testing.T) { d.refuses(t) })
	t.Run("sends one huge delta", func(t *testing.T) {
		text := strings.Repeat("0123456789 äöü 漢字 🌊\n", 1<<20/8)
		m := d.open(t, streamed(Events(d.Answer(text)...)), nil)
		if got := Ask(t, m, hello); got.Err != nil || got.Text() != text || got.Stops != 1 {
			t.Errorf("%d of %d bytes arrived, %v", len(got.Text()), len(text), got.Err)
		}
		d.Tune(m, time.Minute, 1<<20)
		if r := refusal(t, Ask(t, m, hello)); !strings.Contains(r.Message, "longer than any answer") {
			t.Errorf("over the limit: %v", r)
		}
	})
	t.Run("never ends", func(t *testing.T) { d.neverEnds(t) })
	t.Run("calls with invalid arguments", func(t *testing.T) {
		for _, args := range []string{`{"path": `, `[1]`, `null`, `"text"`, `{"a":1}{"b":2}`} {
			events := append(d.Call(0, "c", "read", args), d.End(true)...)
			got := Ask(t, d.open(t, streamed(Events(events...)), nil), hello)
			if got.Err != nil || len(got.Blocks) != 1 || got.Blocks[0].Type != message.TypeToolCall || got.Stop != message.StopToolUse {
				t.Errorf("%s: got %+v; the loop is to see the call and tell the model", args, got)
			}
		}
	})
	t.Run("gives two calls one id", func(t *testing.T) {
		events := append(d.Call(0, "same", "read", `{"p":1}`), d.Call(1, "same", "ls", `{"p":2}`)...)
		got := Ask(t, d.open(t, streamed(Events(append(events, d.End(true)...)...)), nil), hello)
		if got.Err != nil || len(got.Blocks) != 2 {
			t.Fatalf("got %+v", got)
		}
		a, b := got.Blocks[0], got.Blocks[1]
		if a.ID == b.ID || a.ID == "" || b.ID == "" || string(a.Arguments) != `{"p":1}` || string(b.Arguments) != `{"p":2}` {
			t.Errorf("calls are %+v and %+v", a, b)
		}
	})
	t.Run("tells no tokens", func(t *testing.T) {
		got := Ask(t, d.open(t, streamed(Events(d.Answer("x")...)), nil), hello)
		if got.Err != nil || got.Stops != 1 || got.Usage != (message.Usage{}) {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("repeats the key", func(t *testing.T) { d.repeatsKey(t) })
}

func (d Dialect) refuses(t *testing.T) {
	const js = `{"error":{"message":"Sorry.","type":"some_error"}}`
	for _, c := range []struct {
		name, media, body, hint string
		status                  int
		want                    string
	}{
		{"429 with a hint", "application/json", js, "7", 429, "Sorry."},
		{"429 without", "application/json", js, "", 429, "Sorry."},
		{"500", "application/json", js, "", 500, "Sorry."},
		{"500 without words", "", "", "", 500, "Internal Server Error"},
		{"503 as a page", "text/html", "<html><title>Down for a while</title>", "120", 503, "Down for a while"},
		{"200 as a page", "text/html", "<title>Log in</title>", "", 200, "is the base URL right?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			requests := 0
			m := d.open(t, func(w http.ResponseWriter, r *http.Request) {
				if requests++; requests > 1 {
					streamed(Events(d.Answer("now")...))(w, r)
					return
				}
				w.Header().Set("Content-Type", c.media)
				if c.hint != "" {
					w.Header().Set("Retry-After", c.hint)
				}
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}, nil)
			r := refusal(t, Ask(t, m, UserRequest("hello")))
			if r.Status != c.status || r.RetryAfter != c.hint || !strings.Contains(r.Message, c.want) || requests != 1 {
				t.Errorf("refusal is %+v after %d requests", r, requests)
			}
			if got := Ask(t, m, UserRequest("hello")); got.Text() != "now" || got.Stops != 1 {
				t.Errorf("the next answer is %+v", got)
			}
		})
	}
}

// neverEnds floods a client and measures what it keeps.
func (d Dialect) neverEnds(t *testing.T) {
	const limit = 8 << 20
	floods := map[string]string{
		"in one line":         strings.Repeat("x", 1<<16),
		"in lines of a event": "data: " + strings.Repeat("x", 1<<10) + "\n",
		"in comments":         ": " + strings.Repeat("x", 1<<10) + "\n\n",
	}
	for name, piece := range floods {
		t.Run(name, func(t *testing.T) {
			m := d.open(t, func(w http.ResponseWriter, r *http.Request) {
				streamed("")(w, r)
				for r.Context().Err() == nil {
					if _, err := io.WriteString(w, piece); err != nil {
						return
					}
				}
			}, nil)
			d.Tune(m, time.Minute, limit)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r := refusal(t, Ask(t, m, UserRequest("hello")))
			runtime.ReadMemStats(&after)
			if !strings.Contains(r.Message, "longer than any answer") {
				t.Errorf("refusal is %v", r)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 8*limit {
				t.Errorf("an answer of at most %d bytes took %d bytes of memory in all", limit, took)
			}
		})
	}
}

// repeatsKey lets a server say everything that it got, and looks for it in the
// error.
func (d Dialect) repeatsKey(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		media  string
		body   func(said string) string
	}{
		{"in a refusal", 401, "application/json", func(s string) string { return `{"error":{"message":"No: ` + s + `"}}` }},
		{"in a page", 500, "text/html", func(s string) string { return "<title>" + s + "</title>" }},
		{"in the stream", 200, "text/event-stream", func(s string) string {
			return Events(`{"type":"error","error":{"message":"No: ` + s + `"}}`)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := d.open(t, func(w http.ResponseWriter, r *http.Request) {
				said := strings.ReplaceAll(fmt.Sprint(r.URL, r.Header), `"`, `\"`)
				w.Header().Set("Content-Type", c.media)
				w.Header().Set("Retry-After", r.Header.Get("X-Own"))
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body(said))
			}, func(s *model.Spec) {
				s.Headers = map[string]string{"X-Own": "hdr-s3cr3t-value"}
				s.BaseURL += "?api-key=query-s3cr3t"
			})
			got := Ask(t, m, UserRequest("hello"))
			r := refusal(t, got)
			all := fmt.Sprintf("%v %+v %#v %s %s %v", got.Err, got.Err, got.Err, r.Body, r.RetryAfter, errors.Unwrap(r))
			for _, secret := range []string{"s3cr3t", url.QueryEscape(misbehaviourKey)} {
				if strings.Contains(all, secret) {
					t.Errorf("%q is told by %s", secret, all)
				}
			}
		})
	}
}
