package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestRates: who asks too often gets 429 and the time to wait, each for itself, and
// is welcome again after it.
func TestRates(t *testing.T) {
	now := time.Now()
	p := newPeople(t, func(c *Config) {
		c.Now = func() time.Time { return now }
		c.Limits = Limits{UserRate: 2, UserBurst: 3, AddressRate: 100, AddressBurst: 50, FailedRate: 1, FailedBurst: 2}
	})
	ask := func(user string) answer { return p.send(p.as(user, "GET", "/api/bootstrap")) }
	for range 3 {
		if a := ask("alice"); a.status != 200 {
			t.Fatalf("within the burst: %d", a.status)
		}
	}
	a := ask("alice")
	if a.status != 429 || a.code() != "RATE_LIMITED" || a.header.Get("Retry-After") != "1" {
		t.Errorf("one too many: %d %s, Retry-After %q", a.status, a.code(), a.header.Get("Retry-After"))
	}
	if a := ask("bob"); a.status != 200 {
		t.Errorf("another user: %d", a.status)
	}
	for range 10 {
		if a := ask(""); a.status != 200 {
			t.Errorf("the person at the machine: %d", a.status)
		}
	}
	now = now.Add(time.Second)
	for range 2 {
		if a := ask("alice"); a.status != 200 {
			t.Errorf("after the time to wait: %d", a.status)
		}
	}
	if a := ask("alice"); a.status != 429 {
		t.Errorf("two a second, and the third is %d", a.status)
	}
	guess := func() answer { return p.send(p.ask("GET", "/api/bootstrap").with("Authorization", "Bearer x")) }
	for range 2 {
		if a := guess(); a.status != 401 {
			t.Errorf("a wrong token: %d", a.status)
		}
	}
	if a := guess(); a.status != 429 || a.header.Get("Retry-After") == "" {
		t.Errorf("guessing on: %d", a.status)
	}
	if a := ask("bob"); a.status != 200 {
		t.Errorf("a valid token at the address of somebody who guesses: %d", a.status)
	}
	for range 60 {
		a = p.send(p.ask("GET", "/healthz"))
	}
	if a.status != 429 || a.header.Get("Retry-After") == "" {
		t.Errorf("an address that floods: %d", a.status)
	}
	if now = now.Add(time.Minute); ask("bob").status != 200 {
		t.Error("the address stays out for ever")
	}
}

// TestUserStreams: one user's streams do not take everybody's.
func TestUserStreams(t *testing.T) {
	p := newPeople(t, func(c *Config) { c.Limits.UserStreams = 2 })
	hers, his := p.createAs("alice"), p.createAs("bob")
	stream := func(user, id string) (*http.Response, func()) {
		req, err := http.NewRequestWithContext(t.Context(), "GET", p.http.URL+"/api/sessions/"+id+"/stream", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+p.tokens[user])
		res, err := p.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		return res, func() { res.Body.Close() }
	}
	for range 2 {
		res, done := stream("alice", hers)
		defer done()
		if res.StatusCode != 200 {
			t.Fatalf("a stream: %d", res.StatusCode)
		}
	}
	res, done := stream("alice", hers)
	done()
	if res.StatusCode != 429 || res.Header.Get("Retry-After") == "" {
		t.Errorf("one too many: %d", res.StatusCode)
	}
	res, done = stream("bob", his)
	defer done()
	if res.StatusCode != 200 {
		t.Errorf("another user's: %d", res.StatusCode)
	}
}

// TestRemovedUserIsCut: a stream ends with the right to it.
func TestRemovedUserIsCut(t *testing.T) {
	p := newPeople(t, func(c *Config) { c.Heartbeat = 5 * time.Millisecond })
	id := p.createAs("alice")
	w := *p.world
	tb := w.openAs(id, p.tokens["alice"])
	tb.wait("sticky controls", func(f []frame) bool { return len(f) >= 2 })
	if err := p.users.Remove("alice"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-tb.done:
	case <-time.After(patience):
		t.Error("the stream of a user who is gone goes on")
	}
	if a := p.send(p.as("alice", "GET", "/api/sessions")); a.status != 401 {
		t.Errorf("and asks with %d", a.status)
	}
}

// TestBucketsAreBounded: a flood of addresses costs a bounded amount of memory.
func TestBucketsAreBounded(t *testing.T) {
	b := newBuckets(1, 10)
	now := time.Now()
	for i := range 3 * maxBuckets {
		if _, ok := b.take(strconv.Itoa(i), now); !ok {
			t.Fatal("a first request is refused")
		}
		if len(b.all) > maxBuckets {
			t.Fatalf("%d are remembered", len(b.all))
		}
	}
	if newBuckets(-1, 0) != nil {
		t.Error("no limit is a limit")
	}
}

// TestAddresses: a header says where a request comes from only behind a proxy that
// is known, and a client cannot choose an address by sending one itself.
func TestAddresses(t *testing.T) {
	s := &Server{cfg: Config{Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("127.0.0.1/32")}}}
	for _, c := range []struct{ remote, forwarded, proto, want, secure string }{
		{"192.0.2.1:5", "", "", "192.0.2.1", "false"},
		{"192.0.2.1:5", "198.51.100.9", "https", "192.0.2.1", "false"},
		{"10.1.2.3:5", "198.51.100.9", "https", "198.51.100.9", "true"},
		{"10.1.2.3:5", "203.0.113.7, 198.51.100.9", "http", "198.51.100.9", "false"},
		{"10.1.2.3:5", "203.0.113.7, 198.51.100.9, 10.9.9.9", "https", "198.51.100.9", "true"},
		{"10.1.2.3:5", "garbage", "", "10.1.2.3", "false"},
		{"10.1.2.3:5", "198.51.100.9, garbage", "", "10.1.2.3", "false"},
		{"127.0.0.1:5", "", "", "127.0.0.1", "false"},
		{"[::ffff:192.0.2.1]:5", "", "", "192.0.2.1", "false"},
		{"[2001:db8:1:2:3::4]:5", "", "", "2001:db8:1:2:3::4", "false"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.remote
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-For", c.forwarded)
		}
		r.Header.Set("X-Forwarded-Proto", c.proto)
		if got := s.address(r).String(); got != c.want || fmt.Sprint(s.secure(r)) != c.secure {
			t.Errorf("%+v: %s, secure %t", c, got, s.secure(r))
		}
	}
	if a, b := addressKey(netip.MustParseAddr("2001:db8:1:2::1")), addressKey(netip.MustParseAddr("2001:db8:1:2:ffff::9")); a != b {
		t.Errorf("one network counts as %s and %s", a, b)
	}
}

// TestMetrics: figures are for those who may read them, count what happened, and
// name nobody and nothing.
func TestMetrics(t *testing.T) {
	p := newPeople(t)
	id := p.createAs("alice")
	p.send(p.as("alice", "GET", "/api/sessions/"+id+"/state"))
	p.send(p.as("alice", "GET", "/api/sessions/none/state"))
	p.send(p.as("bob", "GET", "/api/sessions/"+id+"/state"))
	p.send(p.ask("BREW", "/api/sessions").with("Authorization", "Bearer x"))
	p.send(p.as("alice", "GET", "/api/"+strings.Repeat("x", 100)))
	for user, want := range map[string]int{"ops": 200, "root": 200, "": 200, "alice": 403} {
		if a := p.send(p.as(user, "GET", "/metrics")); a.status != want {
			t.Errorf("%q gets %d", user, a.status)
		}
	}
	if a := p.send(p.ask("GET", "/metrics").with("Authorization", "")); a.status != 401 {
		t.Errorf("nobody gets %d", a.status)
	}
	if a := p.send(p.as("root", "POST", "/metrics", `{}`)); a.status != 405 {
		t.Errorf("a change is %d", a.status)
	}
	text := string(p.send(p.as("ops", "GET", "/metrics")).body)
	for _, want := range []string{`piweb_requests_total{method="GET",route="sessions/:id/state",status="200"} 1`, `piweb_requests_total{method="GET",route="sessions/:id/state",status="404"} 2`,
		`piweb_requests_total{method="other",route="none",status="401"} 1`, "piweb_sessions_live 1", "piweb_sessions_running 0", "piweb_streams_open 0", "piweb_users 4", "piweb_users_problems 0", "go_goroutines", `piweb_info{version="1.2.3"} 1`} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
	for _, secret := range []string{id, "alice", "bob", p.project, "xxxx", "m1", "BREW"} {
		if strings.Contains(text, secret) {
			t.Errorf("the figures name %s", secret)
		}
	}
	if a := p.send(p.as("ops", "GET", "/")); a.status != 401 {
		t.Errorf("a page for somebody who reads figures: %d", a.status)
	}
}
