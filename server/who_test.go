package server

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/piweb-go/piweb/account"
	"github.com/piweb-go/piweb/agent/model/offline"
)

// people is a server with users: alice and bob are users, root is an administrator
// and ops may read figures.
type people struct {
	*world
	users  *account.Users
	tokens map[string]string
}

func newPeople(t *testing.T, change ...func(*Config)) *people {
	t.Helper()
	return newPeopleOn(t, slowTalk(t), change...)
}

func newPeopleOn(t *testing.T, script *offline.Script, change ...func(*Config)) *people {
	t.Helper()
	p := &people{tokens: map[string]string{}}
	p.world = newWorld(t, script, append([]func(*Config){func(c *Config) {
		p.users = account.OpenUsers(c.Runtime.AgentDir())
		c.Users = p.users
	}}, change...)...)
	for name, role := range map[string]account.Role{"alice": account.Member, "bob": account.Member, "root": account.Admin, "ops": account.Metrics} {
		token, err := p.users.Add(name, role)
		if err != nil {
			t.Fatal(err)
		}
		p.tokens[name] = token
	}
	return p
}

// as is a request of a user; "" is the person at the machine.
func (p *people) as(name, method, path string, body ...string) *ask {
	a := p.ask(method, path, body...)
	if name != "" {
		a.with("Authorization", "Bearer "+p.tokens[name])
	}
	return a
}

func (p *people) createAs(name string) string {
	p.t.Helper()
	a := p.send(p.as(name, "POST", "/api/sessions", `{"source":"","tools":[]}`))
	if a.status != 201 {
		p.t.Fatalf("%s may not create a session: %d %s", name, a.status, a.body)
	}
	return a.str("sessionId")
}

// listed are the ids of the sessions that somebody sees.
func (p *people) listed(name string) string {
	p.t.Helper()
	a := p.send(p.as(name, "GET", "/api/sessions"))
	if a.status != 200 {
		p.t.Fatalf("%s may not list: %d %s", name, a.status, a.body)
	}
	var list struct {
		Sessions []struct {
			ID string `json:"sessionId"`
		} `json:"sessions"`
	}
	if err := json.Unmarshal(a.body, &list); err != nil {
		p.t.Fatal(err)
	}
	var ids []string
	for _, s := range list.Sessions {
		ids = append(ids, s.ID)
	}
	return strings.Join(ids, " ")
}

// TestSessionsOfUsers: everybody sees own sessions, administrators all, and what
// nobody owns is for administrators.
func TestSessionsOfUsers(t *testing.T) {
	p := newPeople(t)
	p.sessionFile("x", "old-session", "2026-01-01T00:00:00.000Z", "hello")
	hers, his := p.createAs("alice"), p.createAs("bob")
	for name, want := range map[string][]string{"alice": {hers}, "bob": {his}, "root": {hers, his, "old-session"}, "": {hers, his, "old-session"}} {
		seen := p.listed(name)
		for _, id := range []string{hers, his, "old-session"} {
			if got := strings.Contains(seen, id); got != strings.Contains(strings.Join(want, " "), id) {
				t.Errorf("%q sees %s: %t", name, id, got)
			}
		}
	}
	if err := p.rt.Owners().Set(keyOf(p.path(hers)), "bob"); err != nil {
		t.Fatal(err)
	}
	if p.listed("alice") != "" || !strings.Contains(p.listed("bob"), hers) {
		t.Error("a session that was given away is not the other's")
	}
}

// path is the file of a session.
func (p *people) path(id string) string {
	p.t.Helper()
	ctx := context.WithValue(p.t.Context(), whoKey{}, machine)
	found, err := p.server.lookup(ctx, id)
	if err != nil {
		p.t.Fatalf("%s: %v", id, err)
	}
	return found.pathOf()
}

// TestCookiesOfUsers: a cookie holds for the user and the token it was given for,
// also over a restart of the server, and not for anybody else.
func TestCookiesOfUsers(t *testing.T) {
	now := time.Now()
	p := newPeople(t, func(c *Config) { c.Secret, c.Now = sameSecret, func() time.Time { return now } })
	signIn := func(token string) string {
		a := p.ask("POST", "/sign-in").with("Authorization", "").with("Origin", p.http.URL).with("Content-Type", "application/x-www-form-urlencoded")
		a.body = "token=" + token
		got := p.send(a)
		if got.status != 303 || got.header.Get("Location") != "/" {
			return ""
		}
		cookie, _, _ := strings.Cut(got.header.Get("Set-Cookie"), ";")
		return cookie
	}
	cookie := signIn(p.tokens["alice"])
	if cookie == "" {
		t.Fatal("a valid token does not sign in")
	}
	if signIn("piweb_WRONG") != "" {
		t.Error("a wrong token signs in")
	}
	sees := func(cookie string) int {
		return p.send(p.ask("GET", "/api/sessions").with("Authorization", "").with("Cookie", cookie)).status
	}
	mine := p.createAs("alice")
	if a := p.send(p.ask("GET", "/api/sessions").with("Authorization", "").with("Cookie", cookie)); a.status != 200 || !strings.Contains(string(a.body), mine) {
		t.Errorf("the cookie shows %d %s", a.status, a.body)
	}
	again := newServerOn(t, p.world, func(c *Config) { c.Secret, c.Users = sameSecret, p.users })
	req := p.ask("GET", "/api/sessions").with("Authorization", "").with("Cookie", renamed(cookie, again))
	if got := again.send(req); got.status != 200 {
		t.Errorf("after a restart the cookie is worth %d", got.status)
	}
	name, value, _ := strings.Cut(cookie, "=")
	parts := strings.Split(value, ".")
	for what, forged := range map[string]string{
		"another name": strings.Join([]string{"cm9vdA", parts[1], parts[2]}, "."), "the machine": strings.Join([]string{"", parts[1], parts[2]}, "."),
		"another end": strings.Join([]string{parts[0], parts[1] + "0", parts[2]}, "."), "no signature": parts[0] + "." + parts[1] + ".", "nothing": "",
	} {
		if got := sees(name + "=" + forged); got != 401 {
			t.Errorf("a cookie with %s is worth %d", what, got)
		}
	}
	if _, err := p.users.Rotate("alice"); err != nil {
		t.Fatal(err)
	}
	if got := sees(cookie); got != 401 {
		t.Errorf("after another token was given the old cookie is worth %d", got)
	}
	admin := signIn(testToken)
	if got := sees(admin); got != 200 {
		t.Errorf("the cookie of the machine is worth %d", got)
	}
	now = now.Add(cookieTime + time.Hour)
	if got := sees(admin); got != 401 {
		t.Errorf("a cookie past its time is worth %d", got)
	}
}

// TestSignInForm: the form comes from our own page, and the page without users has
// none.
func TestSignInForm(t *testing.T) {
	p := newPeople(t)
	for what, c := range map[string]struct {
		change func(a *ask)
		want   int
	}{
		"a foreign page": {func(a *ask) { a.with("Origin", "https://evil.example") }, 403},
		"no origin":      {func(a *ask) { a.with("Origin", "") }, 403},
		"JSON":           {func(a *ask) { a.with("Content-Type", "application/json") }, 415},
		"plain text":     {func(a *ask) { a.with("Content-Type", "text/plain") }, 415},
		"a huge form":    {func(a *ask) { a.body = "token=" + strings.Repeat("a", 1<<20) }, 400},
		"a wrong token":  {func(a *ask) { a.body = "token=x" }, 401},
	} {
		a := p.ask("POST", "/sign-in").with("Authorization", "").with("Origin", p.http.URL).with("Content-Type", "application/x-www-form-urlencoded")
		a.body = "token=" + p.tokens["alice"]
		c.change(a)
		if got := p.send(a); got.status != c.want || got.header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %d, cookie %q", what, got.status, got.header.Get("Set-Cookie"))
		}
	}
	page := p.send(p.ask("GET", "/").with("Authorization", ""))
	if page.status != 401 || !strings.Contains(string(page.body), "<form") || !strings.Contains(page.header.Get("Content-Security-Policy"), "form-action 'self'") {
		t.Errorf("the page is %d %s", page.status, page.body)
	}
	out := p.send(p.ask("POST", "/sign-out").with("Authorization", "").with("Origin", p.http.URL))
	if out.status != 303 || !strings.Contains(out.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("signing out is %d %q", out.status, out.header.Get("Set-Cookie"))
	}
	only := newPeople(t, func(c *Config) { c.Token = "" })
	if a := only.send(only.ask("GET", "/api/sessions")); a.status != 401 || !strings.Contains(a.str("message"), "Sign in on the page") {
		t.Errorf("where there is no link, one is told %s", a.body)
	}
	if page := only.send(only.ask("GET", "/").with("Authorization", "")); strings.Contains(string(page.body), "printed in its terminal") {
		t.Error("the page names a link that there is not")
	}
	alone := newWorld(t, slowTalk(t))
	if page := alone.send(alone.ask("GET", "/").with("Authorization", "")); strings.Contains(string(page.body), "<form") {
		t.Error("without users there is a form")
	}
}

func sameSecret() (string, error) { return "secret", nil }

// newServerOn is another server on the runtime of a world, as after a restart.
func newServerOn(t *testing.T, w *world, change func(*Config)) *world {
	t.Helper()
	cfg := Config{Runtime: w.rt, Page: testPage, Token: testToken, DefaultCWD: w.project}
	change(&cfg)
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	again := *w
	again.server, again.http = s, httptest.NewServer(s.Handler())
	t.Cleanup(func() { s.Close(); again.client.CloseIdleConnections(); again.http.Close() })
	return &again
}

// renamed is a cookie with the name that it has at another server.
func renamed(cookie string, at *world) string {
	_, value, _ := strings.Cut(cookie, "=")
	_, port, _ := strings.Cut(strings.TrimPrefix(at.http.URL, "http://"), ":")
	return "piweb_" + port + "=" + value
}
