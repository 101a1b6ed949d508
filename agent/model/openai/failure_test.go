package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/agent/model/wire"
)

const secretKey = `sk-s3cr3t/with+odd"signs`

func answer(status int, media, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", media)
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestRefusals(t *testing.T) {
	const js = "application/json"
	for _, c := range []struct {
		name   string
		handle http.HandlerFunc
		status int
		want   string // the whole message
		retry  string
	}{
		{"OpenAI's shape", answer(429, js, `{"error":{"message":"You exceeded your quota.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, "Retry-After", "12"), 429, "You exceeded your quota. (insufficient_quota)", "12"},
		{"code already told", answer(400, js, `{"error":{"message":"context_length_exceeded: too long","code":"context_length_exceeded"}}`), 400, "context_length_exceeded: too long", ""},
		{"error as a string", answer(404, js, `{"error":"model 'm' not found"}`), 404, "model 'm' not found", ""},
		{"detail", answer(422, js, `{"detail":"Not today"}`), 422, "Not today", ""},
		{"detail as a list", answer(422, js, `{"detail":[{"msg":"field required"}]}`), 422, `{"detail":[{"msg":"field required"}]}`, ""},
		{"message at the top", answer(400, js, `{"message":"Bad"}`), 400, "Bad", ""},
		{"in a list", answer(400, js, `[{"error":{"code":400,"message":"Bad key","status":"INVALID_ARGUMENT"}}]`), 400, "Bad key", ""},
		{"what a router passes on", answer(502, js, `{"error":{"message":"Provider returned error","metadata":{"raw":"upstream says no"}}}`), 502, "Provider returned error: upstream says no", ""},
		{"web page", answer(502, "text/html", "<html>\n<head><title>502  Bad\nGateway</title></head><body>…"), 502, "502 Bad Gateway", ""},
		{"web page without title", answer(503, "text/html", "<p>no"), 503, "Service Unavailable", ""},
		{"nothing", answer(500, "", ""), 500, "Internal Server Error", ""},
		{"plain text with control characters", answer(500, "text/plain", "one\r\n\x1b[31mtwo\x00"), 500, "one [31mtwo", ""},
		{"milliseconds", answer(429, js, `{"error":{"message":"m"}}`, "Retry-After-Ms", "1200"), 429, "m", "2"},
		{"a date", answer(503, js, `{"error":{"message":"m"}}`, "Retry-After", "Wed, 21 Oct 2026 07:28:00 GMT"), 503, "m", "Wed, 21 Oct 2026 07:28:00 GMT"},
		{"asks for a retry by header", answer(500, js, `{"error":{"message":"m"}}`, "X-Should-Retry", "true"), 500, "m", ""},
		{"success that is a page", answer(200, "text/html; charset=utf-8", "<title>Log in</title>"), 200, "answered with text/html instead of an event stream; is the base URL right?", ""},
		{"success that is an error", answer(200, js, `{"error":{"message":"No such model"}}`), 200, "No such model", ""},
		{"success that is no stream", answer(200, js, `{"choices":[]}`), 200, "answered with application/json instead of an event stream", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			requests := 0
			m := against(t, func(w http.ResponseWriter, r *http.Request) { requests++; c.handle(w, r) }, nil)
			got := modeltest.Ask(t, m, modeltest.UserRequest("hello"))
			var refusal *agent.RequestError
			if !errors.As(got.Err, &refusal) {
				t.Fatalf("error is %T %v", got.Err, got.Err)
			}
			if refusal.Status != c.status || refusal.Message != c.want || refusal.RetryAfter != c.retry || refusal.Provider != "here" {
				t.Errorf("refusal is %+v\nwant status %d, message %q, retry %q", refusal, c.status, c.want, c.retry)
			}
			if requests != 1 {
				t.Errorf("it was sent %d times", requests)
			}
		})
	}
}

func TestRefusalIsBounded(t *testing.T) {
	m := against(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		for range 64 {
			if _, err := io.WriteString(w, strings.Repeat("long ", 1<<14)); err != nil {
				return
			}
		}
	}, nil)
	got := modeltest.Ask(t, m, modeltest.UserRequest("hello"))
	var refusal *agent.RequestError
	if !errors.As(got.Err, &refusal) || len(refusal.Message) > 8000 || len(refusal.Body) > 64<<10 {
		t.Errorf("got %d bytes of message", len(got.Err.Error()))
	}
}

func TestRedirectIsReported(t *testing.T) {
	var elsewhere int
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	t.Cleanup(other.Close)
	m := against(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, strings.Replace(other.URL, "://", "://user:pw@", 1)+"/v2/chat?token=t", http.StatusPermanentRedirect)
	}, func(s *model.Spec) { s.Client = nil })
	t.Cleanup(func() { _ = m.Close() })
	got := modeltest.Ask(t, m, modeltest.UserRequest("hello"))
	var refusal *agent.RequestError
	if !errors.As(got.Err, &refusal) || refusal.Status != 308 {
		t.Fatalf("got %+v", got)
	}
	if want := "redirects to " + other.URL + "/v2/chat; configure the new base URL"; refusal.Message != want {
		t.Errorf("message is %q, want %q", refusal.Message, want)
	}
	if elsewhere != 0 {
		t.Error("the conversation was sent on")
	}
}

// everything a caller could print of an error.
func everything(err error) string {
	var b strings.Builder
	for e := err; e != nil; e = errors.Unwrap(e) {
		fmt.Fprintf(&b, "%v\n%+v\n%#v\n%q\n", e, e, e, e)
		var r *agent.RequestError
		if errors.As(e, &r) {
			fmt.Fprintf(&b, "%s\n%s\n%s\n", r.Message, r.Body, r.RetryAfter)
		}
	}
	return b.String()
}

func TestErrorsTellNoSecrets(t *testing.T) {
	secrets := []string{secretKey, "hdr-s3cr3t-value", "bearer-s3cr3t", "pw-s3cr3t", "query-s3cr3t"}
	echo := func(w http.ResponseWriter, r *http.Request) {
		text := r.URL.String() + fmt.Sprint(r.Header) + strings.Join(secrets, " ") + " " + url.QueryEscape(secretKey)
		body, _ := json.Marshal(map[string]any{"error": map[string]any{"message": "No: " + text, "metadata": map[string]any{"raw": text + "!"}}})
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Retry-After", secretKey)
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write(body)
	}
	configure := func(s *model.Spec) {
		s.Headers = map[string]string{"X-Other": "hdr-s3cr3t-value", "Proxy-Authorization": "Bearer bearer-s3cr3t"}
		s.BaseURL = strings.Replace(s.BaseURL, "://", "://user:pw-s3cr3t@", 1) + "?api-key=query-s3cr3t"
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := closed.Addr().String()
	_ = closed.Close()

	for _, c := range []struct {
		name   string
		handle http.HandlerFunc
		change func(*model.Spec)
	}{
		{"refused", echo, configure},
		{"in the stream", func(w http.ResponseWriter, r *http.Request) {
			text, _ := json.Marshal(strings.Join(secrets, " "))
			streaming(`{"error":{"message":`+string(text)+`}}`)(w, r)
		}, configure},
		{"as a page", answer(500, "text/html", "<title>"+secretKey+"</title>"), configure},
		{"success that is no stream", answer(200, "application/json", `{"error":{"message":"`+strings.ReplaceAll(secretKey, `"`, `\"`)+`"}}`), configure},
		{"nobody there", echo, func(s *model.Spec) {
			configure(s)
			s.BaseURL = "http://user:pw-s3cr3t@" + nobody + "/v1?api-key=query-s3cr3t"
		}},
		{"header that cannot be sent", echo, func(s *model.Spec) {
			configure(s)
			s.Headers["X-Other"] = "hdr-s3cr3t-value\nX: y"
		}},
		{"transport that talks", echo, func(s *model.Spec) {
			configure(s)
			s.Client = &http.Client{Transport: talker{}}
		}},
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/"+url.PathEscape(secretKey), http.StatusTemporaryRedirect)
		}, func(s *model.Spec) {
			configure(s)
			s.Client = nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := against(t, c.handle, c.change)
			t.Cleanup(func() { _ = m.Close() })
			got := modeltest.Ask(t, m, modeltest.UserRequest("hello"))
			var refusal *agent.RequestError
			if !errors.As(got.Err, &refusal) {
				t.Fatalf("error is %T %v", got.Err, got.Err)
			}
			all := everything(got.Err)
			for _, s := range append(secrets, `sk-s3cr3t/with+odd\"signs`, url.QueryEscape(secretKey), url.PathEscape(secretKey), "s3cr3t") {
				if strings.Contains(all, s) {
					t.Errorf("%q is told by\n%s", s, all)
				}
			}
		})
	}
}

// talker is a transport that repeats the whole request in its error.
type talker struct{}

func (talker) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("no: %s %v: %w", r.URL, r.Header, io.ErrUnexpectedEOF)
}

func TestUnreachableKeepsItsCause(t *testing.T) {
	m := against(t, nil, func(s *model.Spec) {
		s.Client = &http.Client{Transport: failing{}}
	})
	got := modeltest.Ask(t, m, modeltest.UserRequest("hello"))
	if !errors.Is(got.Err, errFailing) || !strings.Contains(got.Err.Error(), "cannot reach 127.0.0.1:") {
		t.Errorf("error is %v", got.Err)
	}
}

var errFailing = errors.New("cable cut")

type failing struct{}

func (failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, errFailing }

func TestSilenceEndsTheStream(t *testing.T) {
	m := against(t, func(w http.ResponseWriter, r *http.Request) {
		streaming(delta(`"content":"x"`))(w, r)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}, nil)
	m.Idle = 50 * time.Millisecond
	got := modeltest.Ask(t, m, modeltest.UserRequest("hello"))
	var failure *agent.RequestError
	if !errors.As(got.Err, &failure) || !errors.Is(got.Err, wire.ErrSilent) || got.Text() != "x" {
		t.Errorf("got %+v", got)
	}
}

func TestCancelBeforeAnAnswer(t *testing.T) {
	arrived := make(chan struct{})
	m := against(t, func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
	}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-arrived
		cancel()
	}()
	start := time.Now()
	got := modeltest.AskContext(ctx, t, m, modeltest.UserRequest("hello"))
	if !errors.Is(got.Err, context.Canceled) || time.Since(start) > 5*time.Second {
		t.Errorf("after %v: %+v", time.Since(start), got)
	}
}

func TestDeadline(t *testing.T) {
	m := against(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if got := modeltest.AskContext(ctx, t, m, modeltest.UserRequest("hello")); !errors.Is(got.Err, context.DeadlineExceeded) {
		t.Errorf("got %+v", got)
	}
}
