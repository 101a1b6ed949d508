package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/piweb-go/piweb/agent/tool"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

func TestTransient(t *testing.T) {
	refused := func(status int, text string) error {
		return fmt.Errorf("around: %w", &RequestError{Provider: "p", Status: status, Message: text})
	}
	for _, c := range []struct {
		name      string
		err       error
		transient bool
		overflow  bool
	}{
		{"rate limit", refused(429, "slow down"), true, false},
		{"tokens per minute", refused(429, "too many tokens per minute"), true, false},
		{"spent quota as a rate limit", refused(429, "You exceeded your current quota, please check your plan (insufficient_quota)"), false, false},
		{"server error", refused(500, "oops"), true, false},
		{"overloaded", refused(529, "Overloaded"), true, false},
		{"bad gateway", refused(502, ""), true, false},
		{"not implemented", refused(501, ""), false, false},
		{"wrong key", refused(401, "invalid x-api-key"), false, false},
		{"no money", refused(402, "Insufficient credits"), false, false},
		{"bad request", refused(400, "messages.0: unknown role"), false, false},
		{"too long, as OpenAI says it", refused(400, "This model's maximum context length is 8192 tokens (context_length_exceeded)"), false, true},
		{"too long, as Anthropic says it", refused(400, "prompt is too long: 214315 tokens > 200000 maximum"), false, true},
		{"too long, as Gemini says it", refused(400, "The input token count (1200000) exceeds the maximum number of tokens allowed"), false, true},
		{"too long, as llama.cpp says it", refused(500, "the request exceeds the available context size"), false, true},
		{"too large", refused(413, "request too large"), false, true},
		{"overloaded inside the stream", refused(0, "Overloaded (overloaded_error)"), true, false},
		{"refused inside the stream", refused(200, "invalid_request_error"), false, false},
		{"cut", errCut, true, false},
		{"cut by the network", fmt.Errorf("read: %w", io.ErrUnexpectedEOF), true, false},
		{"no answer in time", context.DeadlineExceeded, true, false},
		{"stopped", context.Canceled, false, false},
		{"wrong host name", &RequestError{Err: &net.DNSError{IsNotFound: true}}, false, false},
		{"refused connection", &RequestError{Message: "cannot reach x: connection refused", Err: errors.New("refused")}, true, false},
		{"a mistake of ours", errors.New("the head is no UTF-8"), false, false},
		{"nothing", nil, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if Transient(c.err) != c.transient || Overflow(c.err) != c.overflow {
				t.Errorf("transient %v, overflow %v", Transient(c.err), Overflow(c.err))
			}
		})
	}
}

func TestRetryDelay(t *testing.T) {
	now := time.Date(2026, 8, 1, 10, 0, 0, 0, time.UTC)
	r := Retry{Max: 40, BaseDelay: 2 * time.Second, MaxDelay: time.Minute, MaxAsked: time.Minute}
	busy := func(after string) error { return &RequestError{Status: 429, RetryAfter: after} }
	for _, c := range []struct {
		name string
		n    int
		err  error
		want time.Duration // -1: not again
	}{
		{"first", 1, busy(""), 2 * time.Second},
		{"third", 3, busy(""), 8 * time.Second},
		{"capped", 7, busy(""), time.Minute},
		{"no overflow of the shift", 40, busy(""), time.Minute},
		{"one too many", 41, busy(""), -1},
		{"asked, in seconds", 1, busy("7"), 7 * time.Second},
		{"asked, a fraction", 1, busy("0.25"), 250 * time.Millisecond},
		{"asked, a date", 1, busy("Sat, 01 Aug 2026 10:00:30 GMT"), 30 * time.Second},
		{"asked, a date that is over", 1, busy("Sat, 01 Aug 2026 09:00:00 GMT"), 0},
		{"asked for too long", 1, busy("3600"), -1},
		{"asked for ever", 1, busy("1e300"), -1},
		{"asked for nonsense", 1, busy("soon"), 2 * time.Second},
		{"asked for less than nothing", 1, busy("-5"), 2 * time.Second},
		{"not a number", 1, busy("NaN"), 2 * time.Second},
		{"not transient", 1, errors.New("x"), -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, ok := r.Delay(c.n, c.err, now)
			if !ok {
				d = -1
			}
			if d != c.want {
				t.Errorf("delay %v, want %v", d, c.want)
			}
		})
	}
	if _, ok := (Retry{}).Delay(1, busy(""), now); ok {
		t.Error("the zero value tries again")
	}
}

// flaky fails before or inside its first answers, then plays.
type flaky struct {
	*played
	failures []error
	partial  bool
}

func newFlaky(partial bool, failures ...error) *flaky {
	m := &flaky{played: &played{}, failures: failures, partial: partial}
	for range failures {
		m.answers = append(m.answers, nil)
	}
	return m
}

func (f *flaky) bench(t *testing.T, change func(*Config), tools ...Tool) *bench {
	return newBench(t, f.played, func(c *Config) {
		c.Model = failing{f}
		c.Retry = Retry{Max: 3, BaseDelay: time.Second, MaxDelay: time.Minute, MaxAsked: time.Minute}
		c.Sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
		if change != nil {
			change(c)
		}
	}, tools...)
}

type failing struct{ f *flaky }

func (m failing) Info() ModelInfo { return m.f.Info() }

func (m failing) Stream(ctx context.Context, req Request) iter.Seq2[Delta, error] {
	m.f.mu.Lock()
	n := len(m.f.requests)
	m.f.mu.Unlock()
	stream := m.f.played.Stream(ctx, req)
	if n >= len(m.f.failures) {
		return stream
	}
	return func(yield func(Delta, error) bool) {
		if m.f.partial && !yield(TextDelta{0, "half"}, nil) {
			return
		}
		yield(nil, m.f.failures[n])
	}
}

var busy = &RequestError{Provider: "p", Status: 503, Message: "overloaded"}

func TestRetries(t *testing.T) {
	m := newFlaky(true, busy, busy)
	m.answers = append(m.answers, say("well"))
	b := m.bench(t, nil)
	if err := b.prompt(t, t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, e := range b.events {
		switch e.Type {
		case AgentStart, AgentEnd, AutoRetryStart, AutoRetryEnd, AgentSettled:
			line := fmt.Sprint(e.Type, " ", e.Attempt)
			if e.WillRetry != nil {
				line += fmt.Sprint(" again=", *e.WillRetry)
			}
			told = append(told, line)
		}
	}
	want := []string{"agent_start 0", "agent_end 0 again=true", "auto_retry_start 1", "agent_start 0", "agent_end 0 again=true", "auto_retry_start 2",
		"agent_start 0", "auto_retry_end 2", "agent_end 0 again=false", "agent_settled 0"}
	if d := cmp.Diff(want, told); d != "" {
		t.Error(d)
	}
	file := b.file(t)
	want = []string{"assistant error half", "context_edit", "assistant error half", "context_edit", "assistant stop well"}
	if d := cmp.Diff(want, file[len(file)-5:]); d != "" {
		t.Error(d)
	}
	for i, r := range m.requests {
		if string(r.Head) != "the head\n" || len(r.Messages) != 1 {
			t.Errorf("request %d has head %q and %d messages", i, r.Head, len(r.Messages))
		}
	}
	if n := slices.Index(file, "custompiweb:receipt"); n < 0 || strings.Count(strings.Join(file, "\n"), "piweb:receipt") != 1 {
		t.Errorf("the same request has one receipt:\n%s", strings.Join(file, "\n"))
	}
	c, err := b.log.Context()
	if err != nil || len(c.Messages) != 3 {
		t.Errorf("the context has %d messages (system, user, answer), %v", len(c.Messages), err)
	}
}

func TestRetriesEnd(t *testing.T) {
	for _, c := range []struct {
		name     string
		failures []error
		requests int
		edits    int
		told     string
	}{
		{"exhausted", []error{busy, busy, busy, busy}, 4, 3, "p: HTTP 503: overloaded"},
		{"then refused for good", []error{busy, &RequestError{Provider: "p", Status: 400, Message: "no"}}, 2, 1, "p: HTTP 400: no"},
		{"refused at once", []error{&RequestError{Provider: "p", Status: 401, Message: "no"}}, 1, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newFlaky(false, c.failures...)
			b := m.bench(t, nil)
			if err := b.prompt(t, t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
			file := strings.Join(b.file(t), "\n")
			if len(m.requests) != c.requests || strings.Count(file, "context_edit") != c.edits {
				t.Errorf("%d requests, file:\n%s", len(m.requests), file)
			}
			told := ""
			for _, e := range b.events {
				if e.Type == AutoRetryEnd && !*e.Success {
					told = e.ErrorMessage
				}
			}
			if told != c.told {
				t.Errorf("told %q, want %q", told, c.told)
			}
			if last := b.file(t)[len(b.file(t))-1]; !strings.HasPrefix(last, "assistant error") {
				t.Errorf("the last failure is the answer, not %q", last)
			}
		})
	}
}

// TestAbortWhileWaiting: a wait for the next attempt ends at once.
func TestAbortWhileWaiting(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := newFlaky(false, busy)
	b := m.bench(t, func(c *Config) {
		c.Sleep = nil
		c.Retry.BaseDelay = time.Hour
		c.Retry.MaxDelay = time.Hour
		emit := c.Emit
		c.Emit = func(e Event) {
			emit(e)
			if e.Type == AutoRetryStart {
				cancel()
			}
		}
	})
	if err := b.prompt(t, ctx, "go"); err != nil {
		t.Fatal(err)
	}
	if names := b.names(); names[len(names)-1] != "agent_settled aborted=true" || len(m.requests) != 1 {
		t.Errorf("%d requests, events %v", len(m.requests), names)
	}
	if file := strings.Join(b.file(t), "\n"); strings.Contains(file, "context_edit") {
		t.Errorf("nothing was sent again, so nothing was taken out:\n%s", file)
	}
}

// TestRetryTakesOutResults: calls of a failed answer were answered; both go.
func TestRetryTakesOutResults(t *testing.T) {
	m := newFlaky(false, busy)
	m.failures = nil
	m.answers = [][]Delta{{call(0, "c1", "read", `{"n":1}`)}, say("ok")} // the first breaks off
	b := m.bench(t, nil, echo("read"))
	if err := b.prompt(t, t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	file := strings.Join(b.file(t), "\n")
	if strings.Count(file, "context_edit") != 2 || len(m.requests[1].Messages) != 1 {
		t.Errorf("second request has %d messages, file:\n%s", len(m.requests[1].Messages), file)
	}
}

// queued is a queue for tests: all steering at once, follow-ups one at a time.
type queued struct {
	steer, follow []Said
	closed        bool
	returned      int
}

func said(texts ...string) (out []Said) {
	for _, x := range texts {
		out = append(out, Said{Message: &message.User{Content: message.Content{message.Text(x)}, Timestamp: 2}})
	}
	return out
}

func (s *queued) Steering() []Said {
	out := s.steer
	s.steer = nil
	return out
}

func (s *queued) Last() []Said {
	if out := s.Steering(); out != nil {
		return out
	}
	if len(s.follow) == 0 {
		s.closed = true
		return nil
	}
	out := s.follow[:1]
	s.follow = s.follow[1:]
	return out
}

func (s *queued) Return() { s.returned++ }

// TestQueues: steering goes in after the tools that run, follow-ups when nothing
// else is left.
func TestQueues(t *testing.T) {
	q := &queued{}
	m := &played{answers: [][]Delta{{call(0, "c1", "read", `{"n":1}`), Stop{Reason: message.StopToolUse}}, say("a"), say("b"), say("c")}}
	steers := fake{name: "read", run: func(context.Context, *tool.Call) (tool.Result, error) {
		q.steer = append(q.steer, said("wait")...)
		q.follow = append(q.follow, said("then", "and then")...)
		return tool.Text("x"), nil
	}}
	q.steer = said("early")
	b := newBench(t, m, func(c *Config) { c.Queue = q }, steers)
	if err := b.prompt(t, t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	roles := func(r Request) (out []string) {
		for _, m := range r.Messages {
			out = append(out, strings.TrimSpace(string(m.Role())+" "+message.ContentOf(m).PlainText()))
		}
		return out
	}
	want := []string{"user go", "user early", "assistant", "toolResult x", "user wait", "assistant a", "user then", "assistant b", "user and then"}
	if d := cmp.Diff(want, roles(m.requests[3])); d != "" {
		t.Error(d)
	}
	if got := roles(m.requests[0]); len(got) != 2 {
		t.Errorf("the first request has %v", got)
	}
	if got := roles(m.requests[1]); got[len(got)-1] != "user wait" {
		t.Errorf("the second request has %v", got)
	}
	if !q.closed {
		t.Error("the queue was not closed")
	}
	if d := cmp.Diff(1, strings.Count(strings.Join(b.names(), "\n"), "agent_start")); d != "" {
		t.Error("it is one run:", d)
	}
}

// TestQueueAfterAbort: what waits stays where it is.
func TestQueueAfterAbort(t *testing.T) {
	q := &queued{}
	ctx, cancel := context.WithCancel(t.Context())
	m := &played{answers: [][]Delta{{call(0, "c1", "read", `{"n":1}`), Stop{Reason: message.StopToolUse}}}}
	stops := fake{name: "read", run: func(context.Context, *tool.Call) (tool.Result, error) {
		q.steer, q.follow = said("wait"), said("then")
		cancel()
		return tool.Text("x"), nil
	}}
	b := newBench(t, m, func(c *Config) { c.Queue = q }, stops)
	if err := b.prompt(t, ctx, "go"); err != nil {
		t.Fatal(err)
	}
	if len(q.steer) != 1 || len(q.follow) != 1 || q.closed {
		t.Errorf("%d and %d wait, closed %v", len(q.steer), len(q.follow), q.closed)
	}
	if file := strings.Join(b.file(t), "\n"); strings.Contains(file, "wait") {
		t.Errorf("file:\n%s", file)
	}
}

// broken is a transcript that refuses to commit after a while.
type broken struct {
	*session.Session
	left int
}

func (b *broken) Commit(p ...session.Payload) ([]session.ID, error) {
	if b.left--; b.left < 0 {
		return nil, errors.New("the disk is full")
	}
	return b.Session.Commit(p...)
}

// TestQueueThatCannotBeRecorded: nobody's words are lost with the disk.
func TestQueueThatCannotBeRecorded(t *testing.T) {
	q := &queued{follow: said("then")}
	b := newBench(t, &played{answers: [][]Delta{say("a")}}, func(c *Config) {
		c.Queue = q
		c.Transcript = &broken{c.Transcript.(*session.Session), 1}
	})
	if err := b.prompt(t, t.Context(), "go"); err == nil || q.returned != 1 {
		t.Errorf("error %v, returned %d times", err, q.returned)
	}
}

// TestAbortAnywhere stops a run at every one of its events. Whatever the moment,
// each call has its result, the run says that it was aborted, and the next request
// is one that every provider takes.
func TestAbortAnywhere(t *testing.T) {
	build := func(stop int) (*bench, context.Context) {
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		m := &played{answers: [][]Delta{
			{TextDelta{0, "I look"}, call(1, "c1", "read", `{"n":1}`), call(2, "c2", "ls", `{"n":2}`), Stop{Reason: message.StopToolUse}},
			say("done"), say("next"), say("next"),
		}}
		b := newBench(t, m, func(c *Config) {
			emit, n := c.Emit, 0
			c.Emit = func(e Event) {
				emit(e)
				if n++; n == stop {
					cancel()
				}
			}
		}, echo("read"), echo("ls"))
		return b, ctx
	}
	whole, ctx := build(0)
	if err := whole.prompt(t, ctx, "go"); err != nil {
		t.Fatal(err)
	}
	for stop := 1; stop <= len(whole.events)-2; stop++ { // the last two are the end
		b, ctx := build(stop)
		if err := b.prompt(t, ctx, "go"); err != nil {
			t.Fatalf("stopped at event %d: %v", stop, err)
		}
		names, file := b.names(), strings.Join(b.file(t), "\n")
		at := names[stop-1]
		if last := names[len(names)-1]; last != "agent_settled aborted=true" {
			t.Errorf("stopped at %s: the last event is %s", at, last)
		}
		if strings.Contains(file, "assistant toolUse") && strings.Count(file, "toolResult") != 2 {
			t.Errorf("stopped at %s: calls without result\n%s", at, file)
		}
		req, err := b.Request(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		open := map[string]bool{}
		for _, m := range req.Messages {
			switch m := m.(type) {
			case *message.Assistant:
				for _, c := range m.Content.ToolCalls() {
					open[c.ID] = true
				}
			case *message.ToolResult:
				if !open[m.ToolCallID] {
					t.Errorf("stopped at %s: a result without call", at)
				}
				delete(open, m.ToolCallID)
			}
		}
		if len(open) > 0 {
			t.Errorf("stopped at %s: calls without result in the request", at)
		}
		if err := b.prompt(t, t.Context(), "and now"); err != nil || !strings.HasSuffix(strings.Join(b.file(t), "\n"), "assistant stop "+lastText(b)) {
			t.Errorf("stopped at %s: the next prompt: %v\n%s", at, err, strings.Join(b.file(t), "\n"))
		}
	}
}

// lastText is what the model said last.
func lastText(b *bench) string {
	for _, e := range slices.Backward(b.events) {
		if a, ok := e.Message.(*message.Assistant); ok && e.Type == MessageEnd {
			return a.Content.PlainText()
		}
	}
	return ""
}
