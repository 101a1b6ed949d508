package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/piweb-go/piweb/agent/model/modeltest"
)

// The rows of public reports about programs of this kind, as attacks on a server that
// runs. Two rows are tried where their subject is: credentials in a shared transcript
// (opencode 48305) in TestExport and the corpus of session/export, and another user's
// ids (XAgent 420) in TestIsolation.

// underAttack is a server that runs as `piweb serve` runs it, with users, on a
// listener of its own.
type underAttack struct {
	*people
	addr string
	port string
}

func attacked(t *testing.T, change ...func(*Config)) *underAttack {
	t.Helper()
	return attackedFor(t, times{header: 10 * time.Second, body: 30 * time.Second}, change...)
}

// attackedFor waits for clients as long as it is told.
func attackedFor(t *testing.T, limit times, change ...func(*Config)) *underAttack {
	t.Helper()
	p := newPeopleOn(t, modeltest.Parse(t, `{"steps":[{"text":"said by the model","repeat":true}]}`), change...)
	p.server.times = limit
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- p.server.Serve(ctx, ln) }()
	t.Cleanup(func() {
		p.client.CloseIdleConnections()
		stop()
		if err := <-served; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	p.http.URL = "http://" + ln.Addr().String()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return &underAttack{p, ln.Addr().String(), port}
}

// tcp sends bytes as they are and reads until the server hangs up.
func (u *underAttack) tcp(request string) string {
	u.t.Helper()
	c, err := net.Dial("tcp", u.addr)
	if err != nil {
		u.t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	_, _ = io.WriteString(c, strings.NewReplacer("HOST", u.addr, "PORT", u.port, "TOKEN", u.tokens["alice"]).Replace(request))
	data, err := io.ReadAll(io.LimitReader(c, 1<<20))
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		u.t.Errorf("the server holds a connection that it should have ended, after %q", data)
	}
	return string(data)
}

func statusOf(answer string) int {
	_, rest, _ := strings.Cut(answer, " ")
	n, _ := strconv.Atoi(strings.TrimSpace(rest[:min(3, len(rest))]))
	return n
}

// B7, opencode 6355 and CVE-2026-22812, opencode 38857: a local server without
// authentication and with a permissive rule about origins runs commands for anybody.
func TestB7Unauthenticated(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	if _, err := New(Config{Runtime: w.rt}); err == nil {
		t.Error("a server without a token is made")
	}
	open, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.server.Serve(t.Context(), open); !errors.Is(err, errOpen) {
		t.Errorf("a short token serves other machines: %v", err)
	}
	if _, err := net.Dial("tcp", open.Addr().String()); err == nil {
		t.Error("the refused listener is still open")
	}
	u := attacked(t)
	for _, r := range u.server.routes.routes {
		path := "/api/" + strings.ReplaceAll(r.pattern(), ":", "")
		for _, method := range []string{r.method, "OPTIONS"} {
			a := u.send(u.ask(method, path).with("Authorization", "").with("Origin", "https://evil.example").with("Access-Control-Request-Method", r.method))
			if a.status != 403 {
				t.Errorf("%s %s of a foreign page: %d", method, path, a.status)
			}
			for name := range a.header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s %s: the answer has %s", method, path, name)
				}
			}
		}
	}
	for _, path := range []string{"/", "/main.js", "/vendor/x.js", "/metrics", "/nothing"} {
		if a := u.send(u.ask("GET", path).with("Authorization", "")); a.status != 401 {
			t.Errorf("%s without a token: %d", path, a.status)
		}
	}
	for _, auth := range []string{"Basic YWxpY2U6eA==", "Bearer", "Bearer ", "Bearer x", "bearer" + u.tokens["alice"], "Bearer " + u.tokens["alice"] + "x", "Bearer " + strings.ToLower(u.tokens["alice"]), "Token " + u.tokens["alice"], "Bearer alice"} {
		if a := u.send(u.ask("GET", "/api/sessions").with("Authorization", auth)); a.status != 401 && a.status != 429 {
			t.Errorf("%q: %d", auth, a.status)
		}
	}
	if a := u.send(u.ask("GET", "/api/sessions?token="+u.tokens["alice"]).with("Authorization", "")); a.status != 401 && a.status != 429 {
		t.Errorf("a token in the address of the API: %d", a.status)
	}
	if a := u.send(u.ask("GET", "/healthz").with("Authorization", "")); a.status != 200 || string(a.body) != "ok\n" {
		t.Errorf("health says %d %q", a.status, a.body)
	}
}

// B7, cezar 426 and 467: a page anywhere sends text/plain, which needs no preflight,
// or lets its name point to this machine. cli-agent-orchestrator 124: the same by
// rebinding. All of it is judged before the route is looked for, and a token does
// not help.
func TestB7RebindingAndContentTypes(t *testing.T) {
	u := attacked(t, func(c *Config) { c.Hosts = []string{"piweb.example", "other.example:8443"} })
	for host, want := range map[string]int{
		"HOST": 200, "localhost:PORT": 200, "LocalHost:PORT": 200, "[::1]:PORT": 200, "piweb.example": 200, "piweb.example:9": 200, "other.example:8443": 200,
		"evil.example": 403, "evil.example:PORT": 403, "127.0.0.1": 403, "127.0.0.1:1": 403, "localhost": 403, "127.0.0.1.evil.example:PORT": 403,
		"localhost.evil.example:PORT": 403, "evil.example.localhost:PORT": 403, "localhost.:PORT": 403, "0.0.0.0:PORT": 403, "127.0.0.2:PORT": 403,
		"2130706433:PORT": 403, "0x7f.1:PORT": 403, "127.1:PORT": 403, "[::ffff:127.0.0.1]:PORT": 200, "other.example:1": 403, "xpiweb.example": 403, "piweb.example.evil": 403,
	} {
		for _, path := range []string{"/api/sessions", "/api/nothing", "/"} {
			got := statusOf(u.tcp("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nAuthorization: Bearer TOKEN\r\nConnection: close\r\n\r\n"))
			if got == 404 && path == "/api/nothing" {
				got = 200 // it came as far as the routes
			}
			if got != want {
				t.Errorf("GET %s at %s: %d, want %d", path, host, got, want)
			}
		}
	}
	for _, request := range []string{
		"GET http://evil.example/api/sessions HTTP/1.1\r\nHost: HOST\r\n", "GET /api/sessions HTTP/1.0\r\n", "GET /api/sessions HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: HOST\r\nForwarded: host=HOST\r\n",
	} {
		if got := statusOf(u.tcp(request + "Authorization: Bearer TOKEN\r\nConnection: close\r\n\r\n")); got != 403 {
			t.Errorf("%q: %d", request, got)
		}
	}
	for kind, want := range map[string]int{
		"application/json": 201, "Application/JSON; charset=utf-8": 201, "text/plain": 415, "text/plain;application/json": 415, "application/x-www-form-urlencoded": 415,
		"multipart/form-data; boundary=b": 415, "text/json": 415, "application/json-patch+json": 415, "application/jsonx": 415, "application/json, text/plain": 415, "": 415, " ": 415, "*/*": 415,
	} {
		for _, path := range []string{"/api/sessions", "/api/nothing"} {
			a := u.as("alice", "POST", path)
			a.body = `{"source":"","tools":[]}`
			a.header.Set("Content-Type", kind)
			got := u.send(a)
			if got.status != want && !(want == 201 && path == "/api/nothing" && got.status == 404) {
				t.Errorf("POST %s as %q: %d, want %d", path, kind, got.status, want)
			}
		}
	}
}

// B7, UI-TARS 1894 and inspector 1161: a missing Origin counted as an allowed one.
func TestB7Origins(t *testing.T) {
	u := attacked(t)
	cookie := signedIn(t, u.people, u.tokens["alice"])
	for what, c := range map[string]struct {
		origins []string
		site    string
		want    int // with the cookie
	}{
		"our page":              {[]string{u.http.URL}, "same-origin", 201},
		"no origin":             {nil, "", 403},
		"no origin, our site":   {nil, "same-origin", 403},
		"null":                  {[]string{"null"}, "", 403},
		"empty":                 {[]string{""}, "", 403},
		"another site":          {[]string{"https://evil.example"}, "cross-site", 403},
		"another port":          {[]string{"http://127.0.0.1:1"}, "same-site", 403},
		"another name":          {[]string{"http://localhost:" + u.port}, "same-site", 403},
		"a prefix":              {[]string{u.http.URL + ".evil.example"}, "", 403},
		"a user in front":       {[]string{"http://" + u.addr + "@evil.example"}, "", 403},
		"two":                   {[]string{u.http.URL, "https://evil.example"}, "", 403},
		"a file":                {[]string{"file://"}, "", 403},
		"an extension":          {[]string{"chrome-extension://" + u.addr}, "", 403},
		"ours, said cross-site": {[]string{u.http.URL}, "cross-site", 403},
	} {
		for _, with := range []string{"cookie", "bearer"} {
			a := u.as("alice", "POST", "/api/sessions", `{"source":"","tools":[]}`)
			if with == "cookie" {
				a.with("Authorization", "").with("Cookie", cookie)
			}
			want := c.want
			if with == "bearer" && (c.origins == nil) {
				want = 201 // a program; it has what no foreign page has
			}
			for _, o := range c.origins {
				a.header.Add("Origin", o)
			}
			a.with("Sec-Fetch-Site", c.site)
			if got := u.send(a); got.status != want {
				t.Errorf("%s, by %s: %d, want %d: %s", what, with, got.status, want, got.body)
			}
		}
	}
	// Nothing that only reads has an effect, so a link or a picture of a foreign page
	// has none either; and it gets no cookie along, and may not read the answer.
	a := u.send(u.ask("GET", "/api/sessions").with("Authorization", "").with("Cookie", cookie).with("Sec-Fetch-Site", "cross-site"))
	if a.status != 403 {
		t.Errorf("a foreign page reads with the cookie: %d", a.status)
	}
	for _, name := range []string{"X-HTTP-Method-Override", "X-Method-Override", "X-HTTP-Method"} {
		id := u.createAs("alice")
		u.send(u.as("alice", "GET", "/api/sessions/"+id).with(name, "DELETE"))
		if !strings.Contains(u.listed("alice"), id) {
			t.Errorf("%s is obeyed", name)
		}
	}
}

func signedIn(t *testing.T, p *people, token string) string {
	t.Helper()
	a := p.ask("POST", "/sign-in").with("Authorization", "").with("Origin", p.http.URL).with("Content-Type", "application/x-www-form-urlencoded")
	a.body = "token=" + token
	cookie, _, _ := strings.Cut(p.send(a).header.Get("Set-Cookie"), ";")
	if cookie == "" {
		t.Fatal("no cookie")
	}
	return cookie
}

// traversal are strings that leave a folder where somebody takes them for a path.
var traversal = []string{"../x", "..%2fx", "%2e%2e%2fx", "%252e%252e%252fx", `..\x`, "..%5cx", "%2fetc%2fpasswd", "%2Fproc%2Fself%2Fenviron", "file:%2f%2f%2fetc%2fpasswd",
	"%00", "x%00.jsonl", "..%00%2f", "....%2f%2f", "%c0%ae%c0%ae%2f", "%ef%bc%8e%ef%bc%8e%2f", "~root", "%7E%2F.ssh%2Fid_rsa", "CON", "%2e", "%2e%2e", "x%2f..%2f..%2f..%2f..%2fetc%2fpasswd"}

// B7, agent-zero 1501 (CVE-2026-4307): strings that leave a folder, in every
// parameter of every route; and XAgent 420: ids are looked up, never used.
func TestB7Traversal(t *testing.T) {
	u := attacked(t, func(c *Config) { c.Limits.UserRate = -1 })
	secret := u.put("outside/secret.txt", "THE OUTSIDE SECRET")
	id := u.createAs("alice")
	for _, r := range u.server.routes.routes {
		for i, seg := range r.segments {
			if !strings.HasPrefix(seg, ":") {
				continue
			}
			for _, attack := range append(slices.Clone(traversal), escape(secret), escape("../../../outside/secret.txt")) {
				segs := slices.Clone(r.segments)
				for k, s := range segs {
					if s == ":id" {
						segs[k] = id
					} else if strings.HasPrefix(s, ":") {
						segs[k] = "x"
					}
				}
				segs[i] = attack
				name := r.method + " " + r.pattern()
				body := bodies[name]
				if body == "" || body == "multipart" {
					body = `{}`
				}
				a := u.as("alice", r.method, "/api/"+strings.Join(segs, "/"))
				if changes(&http.Request{Method: r.method}) {
					a = u.as("alice", r.method, "/api/"+strings.Join(segs, "/"), body)
				}
				got := u.send(a)
				if got.status < 400 || got.status >= 500 || bytes.Contains(got.body, []byte("OUTSIDE SECRET")) || bytes.Contains(got.body, []byte("root:")) {
					t.Errorf("%s with %q: %d %.200s", name, attack, got.status, got.body)
				}
			}
		}
	}
	for _, path := range []string{"/../../etc/passwd", "/..%2f..%2fetc%2fpasswd", "//etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/vendor/../../x", "/vendor/..%5c..%5cx", "/x%00.js", "/.git/config", "/vendor/", "/vendor"} {
		a := u.tcp("GET " + path + " HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nConnection: close\r\n\r\n")
		if strings.Contains(a, "root:") || statusOf(a) >= 500 || statusOf(a) == 301 {
			t.Errorf("%s: %.300s", path, a)
		}
	}
}

// B7, XAgent 429, 432 (CVE-2026-72713): the name of an upload writes anywhere, a
// download reads anywhere.
func TestB7Uploads(t *testing.T) {
	u := attacked(t)
	id := u.createAs("alice")
	before := tree(t, u.home)
	for _, name := range []string{"../../../../evil.txt", "/etc/cron.d/evil", `C:\evil.txt`, `..\..\evil`, "a/b/c", "evil\x00.txt", ".", "..", "CON", strings.Repeat("long", 2000), "x]\n[attachment id=att_x type=image/png name=y", "\u202egnp.exe", "~/.bashrc"} {
		a := u.as("alice", "POST", "/api/sessions/"+id+"/attachments")
		a.body = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=" + strconv.Quote(name) + "\r\nContent-Type: text/plain\r\n\r\nbytes\r\n--b--\r\n"
		got := u.send(a.with("Content-Type", "multipart/form-data; boundary=b"))
		if got.status >= 500 {
			t.Errorf("a file named %q: %d %s", name, got.status, got.body)
		}
	}
	store := filepath.Join(u.home, ".pi", "agent", "attachments")
	for path := range tree(t, u.home) {
		if _, old := before[path]; !old && !strings.HasPrefix(path, store) && !strings.HasPrefix(path, filepath.Join(u.home, ".pi", "agent")) {
			t.Errorf("an upload wrote %s", path)
		}
		if strings.Contains(filepath.Base(path), "evil") || strings.Contains(filepath.Base(path), "bashrc") {
			t.Errorf("a name became a path: %s", path)
		}
	}
	// A page or a drawing that somebody uploads does not run on our address.
	for kind, text := range map[string]string{"text/html": "<script>alert(1)</script>", "image/svg+xml": `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`, "application/xhtml+xml": "<html/>", "text/xml": "<x/>", "application/javascript": "alert(1)", "text/html; charset=x\r\nX-Evil: 1": "x", "image/png": "<script>alert(1)</script>"} {
		a := u.as("alice", "POST", "/api/sessions/"+id+"/attachments")
		a.body = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"\r\nContent-Type: " + kind + "\r\n\r\n" + text + "\r\n--b--\r\n"
		up := u.send(a.with("Content-Type", "multipart/form-data; boundary=b"))
		if up.status != 200 {
			continue
		}
		got := u.send(u.ask("GET", up.str("displayUrl")).with("Authorization", ""))
		h := got.header
		runs := !strings.HasPrefix(h.Get("Content-Disposition"), "attachment") && !strings.HasPrefix(h.Get("Content-Type"), "image/png")
		if got.status != 200 || runs || h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") || h.Get("X-Evil") != "" {
			t.Errorf("a file of type %q: %d %v", kind, got.status, h)
		}
	}
}

func tree(t *testing.T, root string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	if err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error { all[path] = true; return err }); err != nil {
		t.Fatal(err)
	}
	return all
}

// B7, openswarm 135 and 136, piclaw 493, swamp 481, pawwork 504: a link, a sibling
// whose name begins the same, a link before "..", and a root that is a link itself.
func TestB7Links(t *testing.T) {
	u := attacked(t)
	u.put("project-evil/secret.txt", "THE OUTSIDE SECRET")
	u.put("project/inside.txt", "inside")
	for link, to := range map[string]string{"out.txt": "../project-evil/secret.txt", "outdir": "../project-evil", "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(u.project, link)); err != nil {
			t.Skip(err)
		}
	}
	linked := filepath.Join(u.home, "linked")
	if err := os.Symlink(u.project, linked); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{u.project, linked} {
		body, _ := json.Marshal(map[string]any{"source": root, "tools": []string{}})
		id := u.send(u.as("alice", "POST", "/api/sessions", string(body))).str("sessionId")
		if a := u.send(u.as("alice", "GET", "/api/sessions/"+id+"/completion/preview?path=inside.txt")); a.status != 200 || !bytes.Contains(a.body, []byte("inside")) {
			t.Errorf("below %s a file of the folder is %d %s", root, a.status, a.body)
		}
		for _, path := range []string{"out.txt", "outdir/secret.txt", "outdir/../project-evil/secret.txt", "outdir/../../project-evil/secret.txt", "../project-evil/secret.txt", filepath.Join(u.home, "project-evil/secret.txt"), "loop", "../project/../project-evil/secret.txt"} {
			a := u.send(u.as("alice", "GET", "/api/sessions/"+id+"/completion/preview?path="+escape(path)))
			if a.status != 404 || bytes.Contains(a.body, []byte("OUTSIDE")) {
				t.Errorf("below %s, %s is %d %s", root, path, a.status, a.body)
			}
			task, _ := json.Marshal(map[string]any{"profile": "general-purpose", "task": "x", "inputFiles": []string{path}})
			if a := u.send(u.as("alice", "POST", "/api/sessions/"+id+"/subagents", string(task))); a.status < 400 || a.status >= 500 {
				t.Errorf("below %s, %s as a file of a task is %d %s", root, path, a.status, a.body)
			}
		}
	}
}

// B7, adk-python 5615: what a client notes as state, or a file says, configured the
// server.
func TestB7StateIsData(t *testing.T) {
	u := attacked(t)
	id := u.createAs("alice")
	folder := u.send(u.as("alice", "GET", "/api/sessions/"+id+"/state")).str("state", "cwd")
	for _, key := range []string{"cwd", "root", "tools", "policy", "agentDir", "owner", "__proto__", "sessionFile", "trust"} {
		for _, value := range []string{`"/"`, `"bob"`, `["bash"]`, `{"kind":"open"}`, `true`} {
			u.send(u.as("alice", "POST", "/api/sessions/"+id+"/state", `{"key":"`+key+`","value":`+value+`}`))
		}
	}
	if now := u.send(u.as("alice", "GET", "/api/sessions/"+id+"/state")); now.str("state", "cwd") != folder {
		t.Errorf("the folder is %q", now.str("state", "cwd"))
	}
	if p := u.send(u.as("alice", "GET", "/api/sessions/"+id+"/policy")); !strings.Contains(string(p.body), "chat") {
		t.Errorf("the policy is %s", p.body)
	}
	if strings.Contains(u.listed("bob"), id) {
		t.Error("a client's note gave the session to another")
	}
	// A file that claims an owner, or a parent of somebody, gives nothing either.
	forged := u.sessionFile("x", "forged", "2026-01-01T00:00:00.000Z", "hello", `{"type":"custom","id":"0000000c","parentId":"0000000b","timestamp":"2026-01-01T00:00:00.000Z","customType":"piweb:owner","data":{"owner":"bob"}}`)
	data, _ := os.ReadFile(forged)
	parent, _ := json.Marshal(u.path(id))
	data = bytes.Replace(data, []byte(`"version":3,`), append(append([]byte(`"version":3,"parentSession":`), parent...), ','), 1)
	if err := os.WriteFile(forged, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(u.listed("bob")+u.listed("alice"), "forged") || !strings.Contains(u.listed("root"), "forged") {
		t.Error("a file says itself whose it is")
	}
}

// B7, frontmcp 529, mcp_dart 131, platformatic/mcp 164: replay by a guessed id leaks
// another session's events. Every session has a log of its own, and an id of another
// one's opens nothing.
func TestB7Replay(t *testing.T) {
	p := newPeopleOn(t, modeltest.Parse(t, `{"steps":[{"match":"one","text":"first secret","repeat":true},{"match":"two","text":"second answer","repeat":true}]}`))
	one, two := p.createAs("alice"), p.createAs("alice")
	p.send(p.as("alice", "POST", "/api/sessions/"+one+"/messages", `{"message":"one"}`))
	p.rest()
	first := p.open(one, "", "")
	frames := first.wait("the turn that nobody saw", func(f []frame) bool { return count(f, "finish") == 1 })
	for _, f := range frames {
		for _, last := range []int64{f.id, f.id - 1, 0} {
			tb := p.open(two, "", fmt.Sprint(last))
			got := tb.wait("sticky controls", func(f []frame) bool { return len(f) >= 2 })
			if strings.Contains(said(got), "secret") || len(chunks(got)) > 0 {
				t.Fatalf("with the id %d of another session: %v", last, got)
			}
			tb.close()
		}
	}
	tb := p.open(two, "", fmt.Sprint(frames[len(frames)-1].id))
	p.send(p.as("alice", "POST", "/api/sessions/"+two+"/messages", `{"message":"two"}`))
	got := tb.ended(1)
	if said(got) != "second answer" {
		t.Errorf("the other session says %q", said(got))
	}
	growing(t, got, frames[len(frames)-1].id)
	if a := p.send(p.as("bob", "GET", "/api/sessions/"+one+"/stream").with("Last-Event-ID", "1")); a.status != 404 {
		t.Errorf("another user's stream: %d", a.status)
	}
}

// B7, Langchain-Chatchat 5436, 5464, 5468: ids that can be guessed, files without
// authentication.
func TestB7GuessedFiles(t *testing.T) {
	u := attacked(t)
	id := u.createAs("alice")
	up := u.send(u.build("alice", route{method: "POST", segments: segments("sessions/:id/attachments")}, "POST sessions/:id/attachments", map[string]string{"id": id}))
	good, att := up.str("displayUrl"), up.str("attachment", "id")
	if a := u.send(u.ask("GET", good).with("Authorization", "")); a.status != 200 {
		t.Fatalf("the signed address: %d", a.status)
	}
	_, query, _ := strings.Cut(good, "?")
	unknown := "att_AAAAAAAAAAAAAAAAAAAAAA"
	answers := map[string]bool{}
	for _, name := range []string{att, unknown} {
		for _, q := range []string{"", "?exp=1&sig=x", "?" + query + "0", "?" + strings.Replace(query, "exp=", "exp=9", 1), "?exp=9999999999999&sig=" + strings.Repeat("0", 64)} {
			a := u.send(u.as("bob", "GET", "/api/attachments/"+name+"/raw"+q))
			if a.status != 401 {
				t.Errorf("%s%s: %d", name, q, a.status)
			}
			answers[string(a.body)] = true
		}
	}
	if len(answers) != 1 {
		t.Errorf("an unknown file is told from one that is there: %v", answers)
	}
	ids := map[string]bool{}
	for range 50 {
		next := u.createAs("alice")
		if ids[next[len(next)-12:]] {
			t.Errorf("ids repeat: %s", next)
		}
		ids[next[len(next)-12:]] = true
	}
}

// TestSlowClients: who sends a header or a body byte by byte is cut, also where
// nobody reads the body, and who sends too much is refused.
func TestSlowClients(t *testing.T) {
	u := attackedFor(t, times{header: 300 * time.Millisecond, body: 300 * time.Millisecond})
	for what, request := range map[string]string{
		"nothing":                        "",
		"half a line":                    "GET /api/ses",
		"a header without end":           "GET /api/sessions HTTP/1.1\r\nHost: HOST\r\nX-Slow: ",
		"a body that does not come":      "POST /api/sessions HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
		"a chunk that does not come":     "POST /api/sessions HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
		"a body for nobody":              "POST /api/sessions HTTP/1.1\r\nHost: HOST\r\nContent-Length: 100000\r\n\r\n{",
		"a body at no address":           "POST /nothing HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nContent-Length: 1000\r\n\r\n{",
		"a body of a read":               "GET /api/sessions HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nContent-Length: 1000\r\n\r\n{",
		"an upload that does not come":   "POST /api/sessions/x/attachments HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 1000\r\n\r\n--b",
		"a form that does not come":      "POST /sign-in HTTP/1.1\r\nHost: HOST\r\nOrigin: http://HOST\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\ntoken",
		"a body that waits for continue": "POST /api/nothing HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n",
	} {
		start := time.Now()
		answer := u.tcp(request) // reads until the server hangs up
		if time.Since(start) > patience {
			t.Errorf("%s: cut after %s", what, time.Since(start))
		}
		if s := statusOf(answer); answer != "" && s >= 500 {
			t.Errorf("%s: %q", what, answer)
		}
	}
	for what, request := range map[string]string{
		"a huge header":  "GET /api/sessions HTTP/1.1\r\nHost: HOST\r\nX-Huge: " + strings.Repeat("a", 1<<20) + "\r\n\r\n",
		"many headers":   "GET /api/sessions HTTP/1.1\r\nHost: HOST\r\n" + strings.Repeat("X-Many: aaaaaaaa\r\n", 1<<16) + "\r\n",
		"a huge address": "GET /api/" + strings.Repeat("a", 1<<20) + " HTTP/1.1\r\nHost: HOST\r\n\r\n",
	} {
		if answer := u.tcp(request); answer != "" && statusOf(answer) != 431 && statusOf(answer) != 400 {
			t.Errorf("%s: %.200q", what, answer)
		}
	}
	for what, request := range map[string]string{
		"two lengths":         "POST /api/sessions HTTP/1.1\r\nHost: HOST\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
		"length and chunks":   "POST /api/sessions HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"an unknown encoding": "POST /api/sessions HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: gzip\r\n\r\n",
		"a bare line feed":    "GET /api/sessions HTTP/1.1\nHost: HOST\n X: y\n\n",
	} {
		if answer := u.tcp(request); answer != "" && (statusOf(answer) < 400 || statusOf(answer) > 501) {
			t.Errorf("%s: %.200q", what, answer)
		}
	}
	if a := u.send(u.as("alice", "GET", "/api/sessions")); a.status != 200 {
		t.Errorf("after all that the server answers %d", a.status)
	}
}

// TestNothingSecretIsLogged: whatever an attacker or a user sends, no token, cookie
// or signature is in the log, and nobody writes lines of their own into it.
func TestNothingSecretIsLogged(t *testing.T) {
	u := attacked(t)
	cookie := signedIn(t, u.people, u.tokens["alice"])
	id := u.createAs("alice")
	up := u.send(u.build("alice", route{method: "POST", segments: segments("sessions/:id/attachments")}, "POST sessions/:id/attachments", map[string]string{"id": id}))
	_, sig, _ := strings.Cut(up.str("displayUrl"), "sig=")
	u.send(u.ask("GET", up.str("displayUrl")).with("Authorization", ""))
	u.send(u.ask("GET", "/?token="+u.tokens["bob"]).with("Authorization", ""))
	u.send(u.ask("GET", "/place?token=piweb_GUESSEDGUESSED").with("Authorization", ""))
	u.send(u.ask("GET", "/api/search?q=MY+SECRET+QUERY").with("Authorization", "").with("Cookie", cookie))
	u.send(u.as("alice", "POST", "/api/sessions/"+id+"/messages", `{"message":"MY SECRET PROMPT"}`))
	u.send(u.as("alice", "POST", "/api/sessions", `{"source": BROKEN SECRET`))
	u.tcp("GET /api/sessions HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nX-Request-Id: evil\" level=ERROR msg=forged\r\nConnection: close\r\n\r\n")
	u.tcp("GET /api/%0Alevel=ERROR%20msg=forged HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\nConnection: close\r\n\r\n")
	u.rest()
	logs := u.logs.String()
	_, value, _ := strings.Cut(cookie, "=")
	for what, secret := range map[string]string{"a token": u.tokens["alice"], "another token": u.tokens["bob"], "a guess": "GUESSEDGUESSED", "a cookie": value, "a signature": sig, "a query": "SECRET+QUERY", "a prompt": "SECRET PROMPT", "a body": "BROKEN SECRET", "the link's token": testToken} {
		if strings.Contains(logs, secret) {
			t.Errorf("the log has %s", what)
		}
	}
	for line := range strings.Lines(logs) {
		if strings.Contains(line, "msg=forged") && strings.HasPrefix(line, "level=ERROR") {
			t.Errorf("somebody wrote a line into the log: %s", line)
		}
	}
}

// TestRequestIDs: an id of a proxy is taken over where it is one; anything else gets
// one of ours. It is in the answer and in the log.
func TestRequestIDs(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	for id, taken := range map[string]bool{
		"req-2026.01.31_abc": true, "01900000-0000-7000-8000-000000000000": true, strings.Repeat("a", 64): true,
		"short": false, strings.Repeat("a", 65): false, "with blank": false, "-begins-wrong": false, "sql';drop table": false, "<script>alert</script>": false, "a\tb-cdefgh": false, "ünicode-id": false,
	} {
		a := w.send(w.ask("GET", "/api/bootstrap").with("X-Request-Id", id))
		got := a.header.Get("X-Request-Id")
		if (got == id) != taken || got == "" || !strings.Contains(w.logs.String(), "id="+got) {
			t.Errorf("%q becomes %q", id, got)
		}
	}
	a := w.ask("GET", "/api/bootstrap")
	a.header["X-Request-Id"] = []string{"first-of-two", "second-of-two"}
	if got := w.send(a).header.Get("X-Request-Id"); strings.Contains(got, "of-two") {
		t.Errorf("of two ids one is taken: %s", got)
	}
}
