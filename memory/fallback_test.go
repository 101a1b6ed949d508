package memory

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// absent is a service that can go away and come back. While it is away it hears nothing.
type absent struct {
	*service
	gone atomic.Bool
}

func startAbsent(t *testing.T) *absent {
	a := &absent{}
	a.service = startService(t, func(path string, _ int, w http.ResponseWriter) {
		switch {
		case a.gone.Load():
			http.Error(w, failWith(503, "EXTERNAL_SERVICE_UNAVAILABLE"), 503)
		case strings.HasSuffix(path, "/search"):
			io.WriteString(w, documented)
		default:
			io.WriteString(w, extracted)
		}
	})
	return a
}

func (a *absent) open(t *testing.T, change ...func(*Options)) *Service {
	return a.service.open(t, append([]func(*Options){func(o *Options) {
		o.Fallback, o.Upstream.Retries, o.Upstream.BreakAfter = true, -1, -1
	}}, change...)...)
}

// waiting is how much waits for the service.
func waiting(t *testing.T, s *Service) (n int) {
	t.Helper()
	if err := s.db.Read().QueryRow(`SELECT count(*) FROM memory_waiting`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestFallback: while the service is away what is kept here answers, and says so; what
// was added meanwhile reaches the service later, as it came in and in its order.
func TestFallback(t *testing.T) {
	a := startAbsent(t)
	s := a.open(t)
	add(t, s, "local", message("local", "s0", text("said while it was there"), image("a.png", "", b64("A"))))
	a.gone.Store(true)
	first := message("local", "s1", text("said while it was away"), image("b.png", "", b64("B")))
	r, err := s.Add(ctx, "local", first)
	if err != nil || !r.OK() || !strings.Contains(string(r.Body), `"degraded":true`) || !strings.Contains(string(r.Body), `"message_count":1`) {
		t.Fatalf("%s, %v", r.Body, err)
	}
	if r, err := s.Flush(ctx, "local", []byte(`{"session_id":"s1"}`)); err != nil || !strings.Contains(string(r.Body), `"degraded":true`) {
		t.Errorf("%s, %v", r.Body, err)
	}
	second := message("local", "s1", text("and after a pause"))
	add(t, s, "local", second)
	if n := waiting(t, s); n != 3 {
		t.Errorf("%d wait", n)
	}
	f := search(t, s, "local", obj{"query": "said"})
	if !f.Degraded || len(f.Results) != 2 || len(files(f)) != 2 {
		t.Errorf("%+v", f)
	}
	if shaped, err := f.UpstreamShape(); err != nil || !strings.Contains(string(shaped), `"degraded":true`) {
		t.Errorf("%s, %v", shaped, err)
	}
	for _, user := range []string{"bob", "ann"} {
		if f := search(t, s, user, obj{"query": "said"}); len(f.Results) != 0 {
			t.Errorf("%s finds %+v", user, f)
		}
	}

	// It outlives the program.
	dir := s.o.Dir
	s.Close()
	s = openAt(t, dir, func(o *Options) {
		o.Upstream = &UpstreamConfig{URL: a.url, Timeout: time.Minute, Backoff: time.Millisecond, Retries: -1, BreakAfter: -1}
		o.Fallback = true
	})
	a.gone.Store(false)
	before := len(a.asked("/api/v2/memory/add"))
	flushes := len(a.asked("/api/v2/memory/flush"))
	if f := search(t, s, "local", obj{"query": "said"}); f.Degraded || len(f.Results) == 0 || f.Results[0].ID != "local_ep_20260101_00000001" {
		t.Errorf("%+v", f)
	}
	got := a.asked("/api/v2/memory/add")[before:]
	if len(got) != 2 || got[0] != string(first) || got[1] != string(second) {
		t.Errorf("it was told %q", got)
	}
	if n := len(a.asked("/api/v2/memory/flush")); n != flushes+1 {
		t.Errorf("%d flushes more", n-flushes)
	}
	if n := waiting(t, s); n != 0 {
		t.Errorf("%d wait still", n)
	}
	if r, err := s.Add(ctx, "local", message("local", "s1", text("later"))); err != nil || string(r.Body) != extracted {
		t.Errorf("%s, %v", r.Body, err)
	}
}

// TestFallbackOrder: nothing of a session goes past what waits of it.
func TestFallbackOrder(t *testing.T) {
	a := startAbsent(t)
	s := a.open(t)
	a.gone.Store(true)
	const many = deliveredAtOnce + 5
	for range many {
		add(t, s, "local", message("local", "s", text("x")))
	}
	a.gone.Store(false)
	before := len(a.asked("/api/v2/memory/add"))
	if r, err := s.Add(ctx, "local", message("local", "s", text("the last"))); err != nil || !strings.Contains(string(r.Body), "degraded") {
		t.Errorf("%s, %v", r.Body, err)
	}
	if r, err := s.Add(ctx, "local", message("local", "s", text("the very last"))); err != nil || strings.Contains(string(r.Body), "degraded") {
		t.Errorf("%s, %v", r.Body, err)
	}
	got := a.asked("/api/v2/memory/add")[before:]
	if len(got) != many+2 || !strings.Contains(got[many], "the last") || !strings.Contains(got[many+1], "the very last") {
		t.Errorf("%d, %q", len(got), got)
	}
}

// TestFallbackIsNoExcuse: what the service heard and refused, or did not answer, is
// what it is without the copy, and no file is left.
func TestFallbackIsNoExcuse(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer func(w http.ResponseWriter)
		ok     func(r Reply, err error) bool
	}{
		{"refused", func(w http.ResponseWriter) { http.Error(w, failWith(422, "INVALID_INPUT"), 422) }, func(r Reply, err error) bool { return err == nil && r.Status == 422 }},
		{"not answered", func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, func(_ Reply, err error) bool { return errors.Is(err, ErrUnavailable) }},
		{"too slow", func(http.ResponseWriter) { time.Sleep(1500 * time.Millisecond) }, func(_ Reply, err error) bool { return errors.Is(err, ErrUnavailable) }},
	} {
		v := startService(t, func(_ string, _ int, w http.ResponseWriter) { c.answer(w) })
		s := v.open(t, func(o *Options) {
			if o.Fallback = true; c.name == "too slow" {
				hasty(o)
			}
		})
		r, err := s.Add(ctx, "local", message("local", "s", text("x"), image("a.png", "", b64("x"))))
		if !c.ok(r, err) {
			t.Errorf("%s: %d %s, %v", c.name, r.Status, r.Body, err)
		}
		if _, all := mapped(t, s); all != 0 || len(stored(t, s)) != 0 || waiting(t, s) != 0 {
			t.Errorf("%s: %d rows, %v", c.name, all, stored(t, s))
		}
		// A search may fall back on what is here: it changes nothing.
		if c.name != "refused" {
			if f := search(t, s, "local", obj{"query": "x"}); !f.Degraded {
				t.Errorf("%s: %+v", c.name, f)
			}
		}
	}
}

// TestFallbackRefusedLater: what the service refuses once it is back stops nothing.
func TestFallbackRefusedLater(t *testing.T) {
	a := startAbsent(t)
	s := a.open(t)
	a.gone.Store(true)
	add(t, s, "local", message("local", "s", text("refused later")))
	a.gone.Store(false)
	answer := a.answer
	a.mu.Lock()
	a.answer = func(path string, n int, w http.ResponseWriter) {
		if strings.HasSuffix(path, "/add") {
			http.Error(w, failWith(415, "UNSUPPORTED_FORMAT"), 415)
			return
		}
		answer(path, n, w)
	}
	a.mu.Unlock()
	if f := search(t, s, "local", obj{"query": "x"}); f.Degraded || waiting(t, s) != 0 {
		t.Errorf("%+v, %d wait", f, waiting(t, s))
	}
}

// TestFallbackPurges: what a user has taken away for good waits for nobody, and has no
// copy.
func TestFallbackPurges(t *testing.T) {
	a := startAbsent(t)
	s := a.open(t)
	a.gone.Store(true)
	add(t, s, "local", message("local", "s", text("hello")))
	r, _ := upload(t, s, "local", "cat.png", "x")
	if f := search(t, s, "local", obj{"query": "cat.png"}); !f.Degraded || len(files(f)) != 1 {
		t.Errorf("%+v", f)
	}
	if err := s.DeleteResource(ctx, "local", r.ID); err != nil {
		t.Fatal(err)
	}
	if f := search(t, s, "local", obj{"query": "cat.png"}); len(f.Results) != 0 {
		t.Errorf("%+v", f)
	}
	if _, err := s.PurgeUser(ctx, "local"); !errors.Is(err, ErrUnavailable) { // and says that the service is yet to be asked
		t.Fatal(err)
	}
	if f := search(t, s, "local", obj{"query": "hello"}); len(f.Results) != 0 || waiting(t, s) != 0 {
		t.Errorf("%+v, %d wait", f, waiting(t, s))
	}
}
