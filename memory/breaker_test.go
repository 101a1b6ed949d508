package memory

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// clock is a time that only moves when it is told to.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// TestBreaker: a service that does not answer is left alone for a while; then one asks,
// and all do if that went well.
func TestBreaker(t *testing.T) {
	down := true
	var mu sync.Mutex
	v := startService(t, func(_ string, _ int, w http.ResponseWriter) {
		mu.Lock()
		defer mu.Unlock()
		if down {
			http.Error(w, "bad gateway", http.StatusBadGateway)
			return
		}
		io.WriteString(w, documented)
	})
	c := &clock{now: time.Now()}
	s := v.open(t, func(o *Options) {
		o.Now = c.Now
		o.Upstream.BreakAfter, o.Upstream.Rest = 3, time.Minute
	})
	ask := func() error {
		_, err := s.Search(ctx, "local", []byte(`{"query":"x"}`))
		return err
	}
	asked := func() int { return len(v.asked("/api/v2/memory/search")) }
	for range 3 {
		if err := ask(); !errors.Is(err, ErrUnavailable) {
			t.Fatal(err)
		}
	}
	for range 5 {
		err := ask()
		var e *Error
		if !errors.As(err, &e) || e.Status != http.StatusServiceUnavailable || !errors.Is(err, ErrUnavailable) || !strings.Contains(e.Text, "60 seconds") {
			t.Fatalf("%v", err)
		}
	}
	if asked() != 3 {
		t.Errorf("it was asked %d times while it rested", asked())
	}
	c.pass(time.Minute)
	_ = ask() // one looks whether it is back
	_ = ask()
	if asked() != 4 {
		t.Errorf("%d, where one looks", asked())
	}
	mu.Lock()
	down = false
	mu.Unlock()
	c.pass(time.Minute)
	for range 3 {
		if err := ask(); err != nil {
			t.Errorf("it is back: %v", err)
		}
	}
	if asked() != 7 {
		t.Errorf("%d", asked())
	}
}

// TestBreakerCounts only what says that nobody is there: a refusal is an answer, and
// whoever goes away says nothing.
func TestBreakerCounts(t *testing.T) {
	b := &breaker{after: 2, rest: time.Minute, now: time.Now}
	for range 10 {
		for _, o := range []outcome{away, answered, takenBack} {
			if err := b.begin(); err != nil {
				t.Fatal(err)
			}
			b.end(o)
		}
	}
	for _, r := range []Reply{{Status: 500}, {Status: 422}, {Status: 401}, {503, []byte(failWith(503, "CAPABILITY_UNAVAILABLE"))}} {
		if gone(r) {
			t.Errorf("%d is an answer", r.Status)
		}
	}
	never := &breaker{now: time.Now}
	for range 10 {
		if err := never.begin(); err != nil {
			t.Fatal(err)
		}
		never.end(away)
	}
}
