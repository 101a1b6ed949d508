package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/piweb-go/piweb/account"
)

// documented is an example of docs/operations.md: the indented lines behind its remark.
func documented(t *testing.T, remark string) string {
	t.Helper()
	data, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(data), "\n    "+remark+"\n")
	if !ok {
		t.Fatalf("docs/operations.md has no example %q", remark)
	}
	var lines []string
	for line := range strings.Lines(rest) {
		text := strings.TrimRight(line, "\n")
		if text != "" && !strings.HasPrefix(text, "    ") || strings.HasPrefix(text, "    # ") {
			break
		}
		lines = append(lines, strings.TrimPrefix(text, "    "))
	}
	return strings.TrimSpace(strings.Join(lines, "\n")) + "\n"
}

// exchange replaces what an example names by what is there in a test; each must be in it.
func exchange(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("the example has no %q:\n%s", pairs[i], text)
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}

// tool is a program that a test needs. Where PIWEB_PROXIES is "required" it must be there.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if os.Getenv("PIWEB_PROXIES") == "required" {
		t.Fatal(err)
	}
	t.Skipf("skipped 1 check: %s is not installed, so its example in docs/operations.md was not run", name)
	return ""
}

// free is an address of this machine that nobody listens on.
func free(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

const proxied = "piweb.example"

// pair writes a certificate for the name that the documents use.
func pair(t *testing.T, dir string) (cert, key string, roots *x509.CertPool) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: proxied}, DNSNames: []string{proxied}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, tpl, tpl, &secret.PublicKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	hidden, err := x509.MarshalECPrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "EC PRIVATE KEY", Bytes: hidden}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots = x509.NewCertPool()
	roots.AddCert(parsed)
	return cert, key, roots
}

// TestProxyExamples runs the examples of docs/operations.md in front of `piweb serve`,
// started as it says there: TLS, sign-in, names and origins, uploads, streams.
func TestProxyExamples(t *testing.T) {
	for _, proxy := range []struct {
		name  string
		start func(t *testing.T, dir, at, to, cert, key string) *exec.Cmd
	}{
		{"nginx", func(t *testing.T, dir, at, to, cert, key string) *exec.Cmd {
			path := tool(t, "nginx")
			site := exchange(t, documented(t, "# nginx"), "listen 443 ssl", "listen "+at+" ssl", "127.0.0.1:4820", to, "/etc/ssl/piweb.example.pem", cert, "/etc/ssl/piweb.example.key", key)
			user := ""
			if os.Getuid() == 0 {
				user = "user root;\n"
			}
			temps := ""
			for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
				temps += fmt.Sprintf("%s_temp_path %s;\n", kind, filepath.Join(dir, kind))
			}
			conf := filepath.Join(dir, "nginx.conf")
			text := fmt.Sprintf("%sdaemon off;\npid %s;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n%s%s}\n", user, filepath.Join(dir, "pid"), temps, site)
			if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			return exec.Command(path, "-e", "stderr", "-p", dir, "-c", conf)
		}},
		{"caddy", func(t *testing.T, dir, at, to, cert, key string) *exec.Cmd {
			path := tool(t, "caddy")
			_, port, _ := net.SplitHostPort(at)
			site := exchange(t, documented(t, "# Caddy"), "piweb.example {", fmt.Sprintf("https://%s:%s {\nbind 127.0.0.1\ntls %s %s", proxied, port, cert, key), "127.0.0.1:4820", to)
			conf := filepath.Join(dir, "Caddyfile")
			if err := os.WriteFile(conf, []byte("{\nadmin off\nauto_https disable_redirects\n}\n"+site), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(path, "run", "--config", conf, "--adapter", "caddyfile")
			cmd.Env = append(os.Environ(), "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
			return cmd
		}},
	} {
		t.Run(proxy.name, func(t *testing.T) {
			tool(t, proxy.name)
			home := t.TempDir()
			t.Setenv("HOME", home)
			t.Setenv("USERPROFILE", home)
			t.Setenv("PI_CODING_AGENT_DIR", filepath.Join(home, "agent"))
			token, err := account.OpenUsers(filepath.Join(home, "agent")).Add("alice", account.Member)
			if err != nil {
				t.Fatal(err)
			}
			to := strings.TrimSuffix(strings.TrimPrefix(serveFor(t, "--host", proxied, "--proxy", "127.0.0.1"), "http://"), "/")
			cert, key, roots := pair(t, home)
			at := free(t)
			runUntilEnd(t, proxy.start(t, home, at, to, cert, key))
			c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Transport: &http.Transport{
				DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
					return (&net.Dialer{}).DialContext(ctx, network, at)
				},
				TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true,
			}}
			t.Cleanup(c.CloseIdleConnections)
			behindProxy(t, c, token, home)
		})
	}
}

// serveFor runs `piweb serve` until the test's end, and says where it is.
func serveFor(t *testing.T, args ...string) (base string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	link, wait := serveUntil(t, ctx, args...)
	base, _, _ = strings.Cut(link, "?")
	t.Cleanup(func() { stop(); wait() })
	return base
}

// serveUntil runs `piweb serve` until ctx ends, and gives the link that it printed.
func serveUntil(t *testing.T, ctx context.Context, args ...string) (link string, wait func()) {
	t.Helper()
	outR, outW := io.Pipe()
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, append([]string{"serve", "--port", "0", "--json"}, args...), strings.NewReader(""), outW, io.Discard)
		outW.Close()
	}()
	line, err := bufio.NewReader(outR).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, outR) }()
	var serving struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal(line, &serving); err != nil {
		t.Fatalf("%v in %s", err, line)
	}
	return serving.URL, func() {
		t.Helper()
		if code := <-done; code != 0 {
			t.Errorf("piweb serve ends with %d", code)
		}
	}
}

// runUntilEnd runs a program until the test's end.
func runUntilEnd(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s said:\n%s", cmd.Path, said.String())
		}
	})
}

// behindProxy is what must hold behind any proxy.
func behindProxy(t *testing.T, c *http.Client, token, project string) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const origin = "https://" + proxied
	ask := func(method, path string, body io.Reader, header ...string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, method, origin+path, body)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			if header[i] == "Host" {
				r.Host = header[i+1]
			}
			r.Header.Set(header[i], header[i+1])
		}
		res, err := c.Do(r)
		if err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return res
	}
	text := func(res *http.Response) string {
		t.Helper()
		data, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	bearer := []string{"Authorization", "Bearer " + token}
	send := func(path, body string, want int) map[string]any {
		t.Helper()
		res := ask("POST", path, strings.NewReader(body), append(bearer, "Content-Type", "application/json")...)
		said := text(res)
		var v map[string]any
		if err := json.Unmarshal([]byte(said), &v); err != nil || res.StatusCode != want {
			t.Fatalf("POST %s: %d %s", path, res.StatusCode, said)
		}
		return v
	}

	for up := false; !up; { // the proxy takes a moment to start
		r, _ := http.NewRequestWithContext(ctx, "GET", origin+"/healthz", nil)
		if res, err := c.Do(r); err == nil {
			up = res.StatusCode == http.StatusOK
			res.Body.Close()
		} else if ctx.Err() != nil {
			t.Fatal(err)
		}
	}

	// The page and the sign-in: the cookie is for TLS only, for the proxy says that there is some.
	res := ask("GET", "/", nil)
	if page := text(res); res.StatusCode != http.StatusUnauthorized || !strings.Contains(page, `name="token"`) {
		t.Fatalf("the sign-in: %d %s", res.StatusCode, page)
	}
	res = ask("POST", "/sign-in", strings.NewReader(url.Values{"token": {token}}.Encode()), "Origin", origin, "Content-Type", "application/x-www-form-urlencoded")
	cookies := res.Cookies()
	if res.StatusCode != http.StatusSeeOther || len(cookies) != 1 || !cookies[0].Secure || !cookies[0].HttpOnly {
		t.Fatalf("signed in: %d %v %s", res.StatusCode, cookies, text(res))
	}
	cookie := []string{"Cookie", cookies[0].Name + "=" + cookies[0].Value}
	if res := ask("GET", "/", nil, cookie...); res.StatusCode != http.StatusOK {
		t.Errorf("the page: %d", res.StatusCode)
	}

	// Names and origins are judged as without a proxy.
	for _, strange := range []struct {
		what   string
		status int
		header []string
	}{
		{"the page's own", 200, []string{"Origin", origin}},
		{"another site", 403, []string{"Origin", "https://evil.example"}},
		{"the same name without TLS and another port", 403, []string{"Origin", "http://" + proxied + ":8080"}},
		{"no origin", 403, nil},
	} {
		res := ask("POST", "/api/sessions/favorites", strings.NewReader(`{"sessionIds":[]}`), append(append([]string{"Content-Type", "application/json"}, cookie...), strange.header...)...)
		if res.StatusCode != strange.status {
			t.Errorf("%s: %d %s", strange.what, res.StatusCode, text(res))
		}
	}
	if res := ask("GET", "/api/bootstrap", nil, append(bearer, "Host", "evil.example")...); strings.Contains(text(res), "defaultSource") {
		t.Error("another name is answered") // by the proxy itself or not at all
	}

	// No WebSockets: who asks for one is answered as anybody else.
	transport := c.Transport.(*http.Transport)
	raw, err := transport.DialContext(ctx, "tcp", "")
	if err != nil {
		t.Fatal(err)
	}
	line := tls.Client(raw, &tls.Config{RootCAs: transport.TLSClientConfig.RootCAs, ServerName: proxied})
	defer line.Close()
	deadline, _ := ctx.Deadline()
	_ = line.SetDeadline(deadline)
	fmt.Fprintf(line, "GET /healthz HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", proxied)
	if first, err := bufio.NewReader(line).ReadString('\n'); err != nil || !strings.Contains(first, " 200 ") {
		t.Errorf("an upgrade: %q, %v", first, err)
	}

	// A session, a stream that is open while it answers, and an upload of almost all that
	// may come.
	id, _ := send("/api/sessions", fmt.Sprintf(`{"source":%q,"tools":[]}`, project), 201)["sessionId"].(string)
	if id == "" {
		t.Fatal("no session")
	}
	stream := ask("GET", "/api/sessions/"+id+"/stream", nil, bearer...)
	if kind := stream.Header.Get("Content-Type"); stream.StatusCode != 200 || !strings.HasPrefix(kind, "text/event-stream") {
		t.Fatalf("the stream: %d %s", stream.StatusCode, kind)
	}
	frames := bufio.NewScanner(stream.Body)
	frames.Buffer(nil, 1<<20)
	until := func(part string) {
		t.Helper()
		for frames.Scan() {
			if strings.Contains(frames.Text(), part) {
				return
			}
		}
		t.Fatalf("the stream ended (%v) without %s", frames.Err(), part)
	}
	until("event: ") // while nothing runs: it was not kept back
	send("/api/sessions/"+id+"/messages", `{"message":"hello"}`, 200)
	until(`"type":"start"`)
	until(`"type":"finish"`)

	for _, up := range []struct{ size, status int }{{25<<20 - 1024, 200}, {26 << 20, 413}, {70 << 20, 413}} {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		part, err := form.CreateFormFile("file", "big.bin")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = part.Write(make([]byte, up.size))
		form.Close()
		r, err := http.NewRequestWithContext(ctx, "POST", origin+"/api/sessions/"+id+"/attachments", &body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", form.FormDataContentType())
		r.Header.Set(bearer[0], bearer[1])
		res, err := c.Do(r)
		if err != nil {
			// Who is refused while still sending may see the line break off.
			if up.status == 200 {
				t.Errorf("%d bytes: %v", up.size, err)
			}
			continue
		}
		if said := text(res); res.StatusCode != up.status {
			t.Errorf("%d bytes: %d %.300s", up.size, res.StatusCode, said)
		}
	}

	// The address is the client's, whatever a client says of itself: who fails too often
	// under ever new names is one client.
	limited := false
	for i := range 200 {
		res := ask("GET", "/api/bootstrap", nil, "Authorization", "Bearer wrong", "X-Forwarded-For", fmt.Sprintf("203.0.113.%d", i))
		if res.Body.Close(); res.StatusCode == http.StatusTooManyRequests {
			limited = true
			break
		}
	}
	if !limited {
		t.Error("a client that names ever new addresses is taken for many")
	}
	if res := ask("GET", "/api/bootstrap", nil, bearer...); res.StatusCode != 200 {
		t.Errorf("who has a token is kept out: %d", res.StatusCode)
	}
}

// TestUnitExample: systemd finds nothing to say about the unit of docs/operations.md, and
// its command line is one.
func TestUnitExample(t *testing.T) {
	unit := documented(t, "# /etc/systemd/system/piweb.service")
	_, rest, _ := strings.Cut(unit, "ExecStart=/usr/local/bin/")
	line, _, _ := strings.Cut(rest, "\n")
	if why := unknownIn(line); why != "" || !strings.HasPrefix(line, "piweb serve ") {
		t.Errorf("%q: %s", line, why)
	}
	path := tool(t, "systemd-analyze")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "piweb.service")
	if err := os.WriteFile(file, []byte(exchange(t, unit, "/usr/local/bin/piweb", self)), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "verify", "--man=no", file)
	cmd.Env = append(os.Environ(), "SYSTEMD_LOG_LEVEL=warning")
	said, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(said)) {
		if strings.Contains(line, "piweb.service") {
			t.Errorf("systemd says: %s", line)
		}
	}
	if err != nil && strings.Contains(string(said), "piweb") {
		t.Errorf("%v: %s", err, said)
	}
}
