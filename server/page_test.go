package server

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// browser asks like somebody with a cookie, or with none.
func (w *world) browser(cookie, method, path string) answer {
	w.t.Helper()
	return w.send(w.ask(method, path).with("Authorization", "").with("Cookie", cookie))
}

func TestSignIn(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	a := w.browser("", "GET", "/?token="+testToken)
	if a.status != 303 || a.header.Get("Location") != "/" {
		t.Fatalf("the link is answered %d to %q", a.status, a.header.Get("Location"))
	}
	set := a.header.Get("Set-Cookie")
	for _, want := range []string{"piweb_", "HttpOnly", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(set, want) {
			t.Errorf("the cookie %q lacks %s", set, want)
		}
	}
	if strings.Contains(set, testToken) || strings.Contains(set, "Domain") {
		t.Errorf("the cookie is %q", set)
	}
	cookie := w.cookie()
	if a := w.browser(cookie, "GET", "/"); a.status != 200 {
		t.Errorf("with the cookie: %d", a.status)
	}
	for path, to := range map[string]string{
		"/some/place?x=1&token=" + testToken: "/some/place?x=1", "//evil.example/x?token=" + testToken: "/evil.example/x",
		"/%5cevil.example?token=" + testToken: "/evil.example", "/%2f%2fevil.example?token=" + testToken: "/evil.example",
		"/a%0d%0ax?token=" + testToken: "/a%0D%0Ax",
	} {
		if a := w.browser("", "GET", path); a.status != 303 || a.header.Get("Location") != to {
			t.Errorf("%s leads to %d %q, want %q", path, a.status, a.header.Get("Location"), to)
		}
	}
	for _, path := range []string{"/", "/?token=", "/?token=wrong", "/?Token=" + testToken, "/app.css", "/no/such/file.js", "/place"} {
		a := w.browser("", "GET", path)
		if a.status != 401 || !strings.Contains(string(a.body), "Open the link") || a.header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%s without a cookie: %d %s", path, a.status, a.body)
		}
		if a.header.Get("Set-Cookie") != "" {
			t.Errorf("%s sets a cookie", path)
		}
	}
	if a := w.browser("piweb=wrong; "+cookie, "GET", "/"); a.status != 200 {
		t.Errorf("with two cookies of the name: %d", a.status)
	}
	logs := w.logs.String()
	if strings.Contains(logs, testToken) || strings.Contains(logs, strings.TrimPrefix(cookie, "piweb_")) || !strings.Contains(logs, "path=/some/place") {
		t.Errorf("the log is\n%s", logs)
	}
}

func TestFiles(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	cookie := w.cookie()
	for path, kind := range map[string]string{
		"/": "text/html; charset=utf-8", "/index.html": "text/html; charset=utf-8", "/main.js": "text/javascript; charset=utf-8", "/app.css": "text/css; charset=utf-8",
		"/vendor/x.js": "text/javascript; charset=utf-8", "/s/0198-abc": "text/html; charset=utf-8", "/vendor": "text/html; charset=utf-8",
	} {
		a := w.browser(cookie, "GET", path)
		if a.status != 200 || a.header.Get("Content-Type") != kind {
			t.Errorf("%s: %d %s, want %s", path, a.status, a.header.Get("Content-Type"), kind)
		}
		etag := a.header.Get("ETag")
		again := w.send(w.ask("GET", path).with("If-None-Match", etag))
		if etag == "" || again.status != 304 || len(again.body) > 0 {
			t.Errorf("%s again with its ETag %s: %d", path, etag, again.status)
		}
		if head := w.browser(cookie, "HEAD", path); head.status != 200 || len(head.body) > 0 || head.header.Get("Content-Length") != fmt.Sprint(len(a.body)) {
			t.Errorf("HEAD %s: %d, %s bytes", path, head.status, head.header.Get("Content-Length"))
		}
	}
	for _, path := range []string{"/none.js", "/vendor/none.js", "/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "/vendor/../../secret.txt", "/vendor//x.js/.js",
		"/%2e%2e%5csecret.txt", "/main.js%00.css", "/main.js/x.css", "/C:/secret.txt", "/./main.js"} {
		if a := w.browser(cookie, "GET", path); a.status != 404 {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

func TestFolderAsPage(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"ui/index.html": "<style>b{}</style>", "ui/app.js": "1", "secret.txt": "SECRET"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := newWorld(t, slowTalk(t), func(c *Config) { c.Page, c.InlineStyles = os.DirFS(filepath.Join(dir, "ui")), true })
	a := w.do(200, "GET", "/")
	if !strings.Contains(a.header.Get("Content-Security-Policy"), "style-src 'self' 'unsafe-inline';") {
		t.Errorf("policy %s", a.header.Get("Content-Security-Policy"))
	}
	for _, path := range []string{"/../secret.txt", "/%2e%2e/secret.txt", "/..%2Fsecret.txt", "/..%5csecret.txt"} {
		if a := w.do(404, "GET", path); strings.Contains(string(a.body), "SECRET") {
			t.Errorf("%s reads outside", path)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "ui", "index.html"), []byte("edited"), 0o600); err != nil {
		t.Fatal(err)
	}
	if a := w.do(200, "GET", "/"); string(a.body) != "edited" {
		t.Errorf("an edit is not seen: %s", a.body)
	}
	newWorld(t, slowTalk(t), func(c *Config) { c.Page = nil }).do(404, "GET", "/")
}

func TestContentSecurityPolicy(t *testing.T) {
	const importMap = `{"imports":{"a":"./a.js"}}`
	sum := sha256.Sum256([]byte(importMap))
	hash := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	w := newWorld(t, slowTalk(t), func(c *Config) {
		c.Page = fstest.MapFS{"index.html": {Data: []byte("<script type=\"importmap\">" + importMap + "</script>\n<script type=module src=\"./m.js\"></script><script src = x>1</script>")}}
	})
	want := "default-src 'none'; script-src 'self' " + hash + "; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	if got := w.do(200, "GET", "/").header.Get("Content-Security-Policy"); got != want {
		t.Errorf("policy\n%s\nwant\n%s", got, want)
	}
	if got := w.do(200, "GET", "/api/sessions").header.Get("Content-Security-Policy"); got != bareCSP {
		t.Errorf("policy of the API: %s", got)
	}
}

// raw sends bytes as they are and returns the status line and the whole answer.
func (w *world) raw(request string) string {
	w.t.Helper()
	addr := strings.TrimPrefix(w.http.URL, "http://")
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close()
	request = strings.ReplaceAll(request, "HOST", addr)
	_, _ = io.WriteString(conn, request)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	return res.Status + "\n" + string(body)
}

func TestOddRequests(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	const auth = "Authorization: Bearer " + testToken + "\r\nConnection: close\r\n"
	for name, c := range map[string]struct{ request, want string }{
		"broken percent-encoding":     {"GET /api/sessions/%zz/state HTTP/1.1\r\nHost: HOST\r\n" + auth + "\r\n", "400 "},
		"half a percent-encoding":     {"GET /api/sessions/%2 HTTP/1.1\r\nHost: HOST\r\n" + auth + "\r\n", "400 "},
		"no host":                     {"GET /api/sessions HTTP/1.1\r\n" + auth + "\r\n", "400 "},
		"no host in an old request":   {"GET /api/sessions HTTP/1.0\r\n" + auth + "\r\n", "403 "},
		"two hosts":                   {"GET /api/sessions HTTP/1.1\r\nHost: HOST\r\nHost: evil.example\r\n" + auth + "\r\n", "400 "},
		"another host in the address": {"GET http://evil.example/api/sessions HTTP/1.1\r\nHost: HOST\r\n" + auth + "\r\n", "403 "},
		"two origins":                 {"GET /api/sessions HTTP/1.1\r\nHost: HOST\r\nOrigin: http://HOST\r\nOrigin: http://evil.example\r\n" + auth + "\r\n", "403 "},
		"announced too large":         {"POST /api/sessions HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: 8388609\r\n" + auth + "\r\n", "413 "},
		"star":                        {"OPTIONS * HTTP/1.1\r\nHost: HOST\r\n" + auth + "\r\n", "200 "},
		"CONNECT":                     {"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n" + auth + "\r\n", "403 "},
	} {
		if got := w.raw(c.request); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestLargeBodies: a body is refused as soon as it is too large, whether its size
// is announced or not; just below, it is taken.
func TestLargeBodies(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	send := func(size int, chunked bool) (int, string) {
		body := io.MultiReader(strings.NewReader(`{"source":"","x":"`), io.LimitReader(endless{}, int64(size-20)), strings.NewReader(`"}`))
		req, err := http.NewRequestWithContext(t.Context(), "POST", w.http.URL+"/api/sessions", body)
		if err != nil {
			t.Fatal(err)
		}
		if req.ContentLength = int64(size); chunked {
			req.ContentLength = -1
		}
		req.Header.Set("Authorization", "Bearer "+testToken)
		req.Header.Set("Content-Type", "application/json")
		res, err := w.client.Do(req)
		if err != nil {
			return 0, err.Error() // the server hung up while we were still sending
		}
		defer res.Body.Close()
		data, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(data)
	}
	for _, chunked := range []bool{false, true} {
		if status, body := send(maxBody, chunked); status != 201 {
			t.Errorf("at the limit, chunked %t: %d %s", chunked, status, body)
		}
		if status, body := send(maxBody+1, chunked); status != 413 && status != 0 {
			t.Errorf("one byte more, chunked %t: %d %s", chunked, status, body)
		}
	}
	if status, body := send(1<<30, true); status != 413 && status != 0 {
		t.Errorf("a gigabyte: %d %s", status, body)
	}
	// Without a network in between the answer is seen for sure.
	rec := httptest.NewRecorder()
	req := httptest.NewRequest("POST", "/api/sessions", io.LimitReader(endless{}, 2*maxBody))
	req.ContentLength = -1
	_, err := readForm(rec, req)
	if p := toProblem(err); p.status != 413 || p.code != "PAYLOAD_TOO_LARGE" {
		t.Errorf("read as %v", p)
	}
}

// endless is a string without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
