package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/agent/model/offline"
	"github.com/piweb-go/piweb/agent/model/openai"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.Cleanup(endOfTests)) }

const (
	testToken = "the-token"
	patience  = time.Minute
)

// world is a user's home, a scripted provider and a server on the loopback
// interface.
type world struct {
	t        *testing.T
	home     string
	project  string
	rt       *piweb.Runtime
	provider *modeltest.Server
	server   *Server
	http     *httptest.Server
	client   *http.Client
	logs     *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

var testPage = fstest.MapFS{
	"index.html":  {Data: []byte("<!doctype html><script type=\"importmap\">{\"imports\":{}}</script><script src=\"./main.js\"></script>\n")},
	"main.js":     {Data: []byte("export {};\n")},
	"app.css":     {Data: []byte("body{}\n")},
	"vendor/x.js": {Data: []byte("1;\n")},
}

// newWorld starts everything; change may change the configuration first.
func newWorld(t *testing.T, script *offline.Script, change ...func(*Config)) *world {
	t.Helper()
	w := &world{t: t, home: t.TempDir(), logs: &lockedBuffer{}}
	w.provider = modeltest.NewServerWith(t, script, modeltest.Options{Key: "k"})
	w.project = filepath.Join(w.home, "project")
	w.put("project/AGENTS.md", "PROJECT TEXT\n")
	w.put("project/go.mod", "module example\n")
	w.put(".pi/agent/models.json", fmt.Sprintf(`{"providers":{"rec":{"baseUrl":%q,"api":"openai-completions","apiKey":"k","models":[{"id":"m1"},{"id":"m2"}]},
		"locked":{"baseUrl":%q,"api":"openai-completions","apiKey":"$NO_SUCH_KEY","models":[{"id":"m3"}]}}}`, w.provider.URL, w.provider.URL))
	w.put(".pi/agent/settings.json", `{"defaultProvider":"rec","defaultModel":"m1"}`)
	var err error
	w.rt, err = piweb.New(piweb.Config{Home: w.home, Lookup: func(string) (string, bool) { return "", false },
		Gates:     agent.Gates{Owner: askFirst},
		Providers: model.Registry{openai.API: openai.New, offline.API: offline.New}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.rt.Close() })
	cfg := Config{Runtime: w.rt, Page: testPage, Token: testToken, DefaultCWD: w.project, Version: "1.2.3",
		Limits: Limits{UserRate: -1, AddressRate: -1}, // a fast machine asks more than a person does
		Log:    slog.New(slog.NewTextHandler(w.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	for _, c := range change {
		c(&cfg)
	}
	if w.server, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	w.http = httptest.NewServer(w.server.Handler())
	w.client = &http.Client{Transport: &recorder{t, &http.Transport{}}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(func() {
		w.server.Close()
		w.client.CloseIdleConnections()
		w.http.Close()
	})
	return w
}

func (w *world) put(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.home, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// sessionFile puts a session of two messages into the sessions folder.
func (w *world) sessionFile(folder, id, at, text string, more ...string) string {
	w.t.Helper()
	cwd, _ := json.Marshal(w.project)
	lines := []string{
		fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":%q,"cwd":%s}`, id, at, cwd),
		fmt.Sprintf(`{"type":"message","id":"0000000a","parentId":null,"timestamp":%q,"message":{"role":"user","content":[{"type":"text","text":%q}],"timestamp":1}}`, at, text),
		fmt.Sprintf(`{"type":"message","id":"0000000b","parentId":"0000000a","timestamp":%q,"message":{"role":"assistant","content":[{"type":"text","text":"yes"}],"api":"x","provider":"rec","model":"m2","usage":{},"stopReason":"stop","timestamp":1}}`, at),
	}
	lines = append(lines, more...)
	return w.put(".pi/agent/sessions/"+folder+"/"+id+".jsonl", strings.Join(lines, "\n")+"\n")
}

// ask is a request under construction.
type ask struct {
	method, path, body string
	header             http.Header
	host               string
}

func (w *world) ask(method, path string, body ...string) *ask {
	a := &ask{method: method, path: path, header: http.Header{"Authorization": {"Bearer " + testToken}}}
	if len(body) > 0 {
		a.body = body[0]
		a.header.Set("Content-Type", "application/json")
	}
	return a
}

func (a *ask) with(name, value string) *ask {
	if value == "" {
		a.header.Del(name)
	} else {
		a.header.Set(name, value)
	}
	return a
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
	json   map[string]any
}

func (a answer) code() string {
	c, _ := a.json["code"].(string)
	return c
}

func (a answer) str(keys ...string) string {
	var v any = a.json
	for _, k := range keys {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	s, _ := v.(string)
	return s
}

func (w *world) send(a *ask) answer {
	w.t.Helper()
	var body io.Reader
	if a.body != "" {
		body = strings.NewReader(a.body)
	}
	req, err := http.NewRequestWithContext(w.t.Context(), a.method, w.http.URL+a.path, body)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header = a.header
	if a.host != "" {
		req.Host = a.host
	}
	res, err := w.client.Do(req)
	if err != nil {
		w.t.Fatalf("%s %s: %v", a.method, a.path, err)
	}
	defer res.Body.Close()
	out := answer{status: res.StatusCode, header: res.Header}
	if out.body, err = io.ReadAll(res.Body); err != nil {
		w.t.Fatal(err)
	}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") && len(out.body) > 0 && res.Header.Get("Content-Encoding") == "" {
		if err := json.Unmarshal(out.body, &out.json); err != nil {
			w.t.Fatalf("%s %s: %v in %s", a.method, a.path, err, out.body)
		}
		// What a memory service says is passed on as it is.
		if strings.HasPrefix(a.path, "/api") && !strings.HasPrefix(a.path, "/api/memories/") && a.path != "/api/openapi.json" && !bytes.HasSuffix(out.body, []byte(`"protocolVersion":"0.1.0"}`)) {
			w.t.Errorf("%s %s: the version is not the last member: %s", a.method, a.path, out.body)
		}
	}
	return out
}

// do sends with the bearer token and wants a status.
func (w *world) do(status int, method, path string, body ...string) answer {
	w.t.Helper()
	a := w.send(w.ask(method, path, body...))
	if a.status != status {
		w.t.Fatalf("%s %s: status %d, want %d: %s", method, path, a.status, status, a.body)
	}
	return a
}

// create makes a session; tools is JSON or "".
func (w *world) create(tools string) string {
	w.t.Helper()
	body := `{"source":""}`
	if tools != "" {
		body = `{"source":"","tools":` + tools + `}`
	}
	return w.do(201, "POST", "/api/sessions", body).str("sessionId")
}

func (w *world) say(id, text string) {
	w.t.Helper()
	data, _ := json.Marshal(map[string]string{"message": text})
	w.do(200, "POST", "/api/sessions/"+id+"/messages", string(data))
}

func (w *world) idle(id string) {
	w.t.Helper()
	w.until("the session is idle", func() bool {
		return strings.Contains(string(w.do(200, "GET", "/api/sessions/"+id+"/state").body), `"isStreaming":false`)
	})
}

func (w *world) until(what string, cond func() bool) {
	w.t.Helper()
	for end := time.Now().Add(patience); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("this did not come about: %s", what)
		}
	}
}

// frame is one event of a stream.
type frame struct {
	kind string
	id   int64
	data map[string]any
}

func (f frame) chunk() string {
	c, _ := f.data["chunk"].(map[string]any)
	s, _ := c["type"].(string)
	return s
}

func (f frame) control() string {
	c, _ := f.data["payload"].(map[string]any)
	s, _ := c["control"].(string)
	return s
}

func (f frame) field(name string) any {
	for _, part := range []string{"chunk", "payload"} {
		if m, ok := f.data[part].(map[string]any); ok {
			return m[name]
		}
	}
	return nil
}

func (f frame) busy() bool {
	s, _ := f.field("snapshot").(map[string]any)
	b, _ := s["busy"].(bool)
	return b
}

func (f frame) String() string {
	if f.kind == "control" {
		if f.control() == "session-state" {
			return fmt.Sprintf("state busy=%t", f.busy())
		}
		return f.control()
	}
	if d, ok := f.field("delta").(string); ok {
		return f.chunk() + " " + d
	}
	return f.chunk()
}

// tab is a client that reads a stream.
type tab struct {
	w      *world
	res    *http.Response
	cancel context.CancelFunc
	done   chan struct{}

	mu     sync.Mutex
	frames []frame
	beats  int
}

// open opens a stream; query may be "?piweb=1". last is a Last-Event-ID or "".
func (w *world) open(id, query, last string) *tab {
	w.t.Helper()
	return w.openWith(id, query, last, testToken)
}

// openAs opens a stream with a token.
func (w *world) openAs(id, token string) *tab {
	w.t.Helper()
	return w.openWith(id, "", "", token)
}

func (w *world) openWith(id, query, last, token string) *tab {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	req, err := http.NewRequestWithContext(ctx, "GET", w.http.URL+"/api/sessions/"+id+"/stream"+query, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := w.client.Do(req)
	if err != nil {
		cancel()
		w.t.Fatal(err)
	}
	if res.StatusCode != 200 {
		data, _ := io.ReadAll(res.Body)
		cancel()
		w.t.Fatalf("open stream: status %d: %s", res.StatusCode, data)
	}
	tb := &tab{w: w, res: res, cancel: cancel, done: make(chan struct{})}
	go tb.read()
	w.t.Cleanup(tb.close)
	return tb
}

func (tb *tab) close() {
	tb.cancel()
	<-tb.done
}

func (tb *tab) read() {
	defer close(tb.done)
	defer tb.res.Body.Close()
	sc := bufio.NewReaderSize(tb.res.Body, 1<<20)
	var f frame
	for {
		line, err := sc.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSuffix(line, "\n")
		key, value, _ := strings.Cut(line, ": ")
		switch {
		case line == ": keep-alive":
			tb.mu.Lock()
			tb.beats++
			tb.mu.Unlock()
		case line == "":
			if f.kind != "" {
				tb.mu.Lock()
				tb.frames = append(tb.frames, f)
				tb.mu.Unlock()
			}
			f = frame{}
		case key == "event":
			f.kind = value
		case key == "id":
			f.id, _ = strconv.ParseInt(value, 10, 64)
		case key == "data":
			checkFrame(tb.w.t, value)
			if err := json.Unmarshal([]byte(value), &f.data); err != nil {
				tb.w.t.Errorf("a frame is no JSON: %v in %s", err, value)
			}
		}
	}
}

func (tb *tab) all() []frame {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	return append([]frame(nil), tb.frames...)
}

func (tb *tab) wait(what string, cond func(frames []frame) bool) []frame {
	tb.w.t.Helper()
	tb.w.until(what, func() bool { return cond(tb.all()) })
	return tb.all()
}

// ended waits for the end of the n-th turn.
func (tb *tab) ended(n int) []frame {
	tb.w.t.Helper()
	return tb.wait("the turn has ended", func(frames []frame) bool {
		return count(frames, "finish")+count(frames, "abort") >= n
	})
}

func count(frames []frame, chunk string) int {
	n := 0
	for _, f := range frames {
		if f.chunk() == chunk {
			n++
		}
	}
	return n
}

// chunks are the chunks of a stream, in words.
func chunks(frames []frame) []string {
	var out []string
	for _, f := range frames {
		if f.kind == "uiMessageChunk" {
			out = append(out, f.String())
		}
	}
	return out
}

// growing checks that ids grow, from above an id.
func growing(t *testing.T, frames []frame, above int64) {
	t.Helper()
	for i, f := range frames {
		if f.id <= above {
			t.Fatalf("frame %d (%s) has id %d after %d", i, f, f.id, above)
		}
		above = f.id
	}
}

// smallBuffers makes the connections of a server hold little, so that a client
// that does not read is noticed soon.
type smallBuffers struct{ net.Listener }

func (l smallBuffers) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(4 << 10)
	}
	return c, err
}

func newContext(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithCancel(t.Context())
}
