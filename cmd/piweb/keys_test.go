package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/server"
	"github.com/piweb-go/piweb/web"
)

// The secrets of this test. All hold the same word, so that one search finds any
// part of them.
const (
	secretWord   = "s3cr3tw0rd"
	secretKey    = "sk-" + secretWord + "/with+odd\"signs"
	secretHeader = "hdr-" + secretWord + "-value"
	secretPass   = "pw-" + secretWord
	secretQuery  = "q-" + secretWord
)

type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// keyWorld is a home whose every provider has secrets, its server, and all that
// ever came out of it.
type keyWorld struct {
	t      *testing.T
	home   string
	http   *httptest.Server
	client *http.Client
	said   buffer // answers, streams and logs
}

func newKeyWorld(t *testing.T) *keyWorld {
	w := &keyWorld{t: t, home: t.TempDir()}
	// A model that runs commands, and a server that repeats every key that it is
	// given, for each wire.
	t.Setenv("THE_KEY", secretKey)
	t.Setenv("ANTHROPIC_API_KEY", secretKey)
	agentDir := filepath.Join(w.home, ".pi", "agent")
	project := filepath.Join(w.home, "project")
	for _, dir := range []string{agentDir, project} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	entries := map[string]any{}
	add := func(name, api, address string) {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		u.User, u.RawQuery = url.UserPassword("me", secretPass), "token="+secretQuery
		entries[name] = map[string]any{
			"baseUrl": u.String(), "api": api, "apiKey": "$THE_KEY", "headers": map[string]string{"X-Team": secretHeader},
			"models": []any{map[string]any{"id": "m"}},
		}
	}
	for _, api := range keyAPIs() {
		script := modeltest.Parse(t, `{"steps":[
			{"toolCalls":[{"name":"bash","arguments":{"command":"env; set; cat /proc/self/environ 2>/dev/null || true; echo THE END"}}]},
			{"text":"done"}]}`)
		add("good-"+api, api, modeltest.NewServerWith(t, script, modeltest.Options{Key: secretKey}).URL)
		add("bad-"+api, api, modeltest.NewServerWith(t, modeltest.Text("never"), modeltest.Options{Key: "another"}).URL)
		add("gone-"+api, api, "http://127.0.0.1:1/v1")
	}
	models, err := json.Marshal(map[string]any{"providers": entries})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"settings.json": `{"retry":{"enabled":false}}`,
		"models.json":   string(models),
		"auth.json":     `{"openai":{"type":"api_key","key":` + fmt.Sprintf("%q", secretKey) + `},"google":{"type":"api_key","key":"!echo ` + secretWord + `"}}`,
	} {
		if err := os.WriteFile(filepath.Join(agentDir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rt, err := piweb.New(piweb.Config{Home: w.home, Providers: providers()})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(&w.said, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s, err := server.New(server.Config{Runtime: rt, Page: web.FS(), Token: "t", DefaultCWD: project, Version: "1", Log: log})
	if err != nil {
		t.Fatal(err)
	}
	w.http = httptest.NewServer(s.Handler())
	w.client = &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		s.Close()
		w.client.CloseIdleConnections()
		w.http.Close()
		_ = rt.Close()
	})
	return w
}

func keyAPIs() []string {
	return []string{"openai-completions", "openai-responses", "anthropic-messages", "google-generative-ai"}
}

// do sends a request and keeps the answer.
func (w *keyWorld) do(method, path, body string) (status int, answer string) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.http.URL+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer t")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := w.client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	fmt.Fprintf(&w.said, "\n%s %s: %d %v\n%s\n", method, path, res.StatusCode, res.Header, text)
	return res.StatusCode, string(text)
}

// say sends a prompt and waits for its end.
func (w *keyWorld) say(id, text string) {
	w.t.Helper()
	if status, answer := w.do("POST", "/api/sessions/"+id+"/messages", fmt.Sprintf(`{"message":%q}`, text)); status != 200 {
		w.t.Fatalf("the prompt was refused: %s", answer)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if _, state := w.do("GET", "/api/sessions/"+id+"/state", ""); strings.Contains(state, `"isStreaming":false`) {
			return
		}
		if time.Now().After(end) {
			w.t.Fatal("the prompt did not end")
		}
	}
}

// TestKeysNeverLeave looks for the keys behind every door: what HTTP answers and
// streams, what the log says, what stands in any file but the two that the user
// wrote, and what a command of the model sees.
func TestKeysNeverLeave(t *testing.T) {
	w := newKeyWorld(t)
	for _, api := range keyAPIs() {
		_, created := w.do("POST", "/api/sessions", fmt.Sprintf(`{"source":"","model":"good-%s/m"}`, api))
		var session struct{ SessionID string }
		if json.Unmarshal([]byte(created), &session) != nil || session.SessionID == "" {
			t.Fatalf("%s: no session: %s", api, created)
		}
		id := session.SessionID
		stream := w.listen(id)
		w.say(id, "show your environment")
		for _, provider := range []string{"bad-", "gone-"} {
			if status, answer := w.do("POST", "/api/sessions/"+id+"/models", fmt.Sprintf(`{"provider":"%s%s","modelId":"m"}`, provider, api)); status != 200 {
				t.Fatalf("%s%s: %s", provider, api, answer)
			}
			w.say(id, "and now?")
		}
		for _, path := range []string{"", "/state", "/models", "/messages", "/stats", "/tools", "/policy", "/commands", "/entries"} {
			w.do("GET", "/api/sessions/"+id+path, "")
		}
		stream()
	}
	for _, path := range []string{"/", "/api/bootstrap", "/api/sessions", "/api/models?cwd=" + url.QueryEscape(w.home), "/api/models?cwd=x"} {
		w.do("GET", path, "")
	}
	files := w.files()
	said := w.said.String()
	for _, must := range []string{"THE END", "is not known here", "cannot reach 127.0.0.1:1"} {
		if n := strings.Count(files, must); n < len(keyAPIs()) {
			t.Errorf("%q stands in the sessions %d times: this test looked at nothing", must, n)
		}
	}
	for where, text := range map[string]string{"HTTP, streams and logs": said, "files": files} {
		if at := strings.Index(text, secretWord); at >= 0 {
			t.Errorf("%s tell a secret: …%s…", where, text[max(0, at-300):min(len(text), at+100)])
		}
	}
}

// listen reads a session's stream until the returned function is called.
func (w *keyWorld) listen(id string) (stop func()) {
	w.t.Helper()
	req, err := http.NewRequest("GET", w.http.URL+"/api/sessions/"+id+"/stream?piweb=1", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer t")
	res, err := w.client.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(&w.said, res.Body) // ends with the stream
	}()
	return func() {
		res.Body.Close()
		<-done
	}
}

// files is all that stands under the home, but for what the user wrote.
func (w *keyWorld) files() string {
	var all strings.Builder
	err := filepath.WalkDir(w.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "models.json" || d.Name() == "auth.json" {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&all, "\n%s:\n%s\n", path, text)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return all.String()
}

// TestKeysAreNotPrinted: whoever prints a client, or what it was made of, in a
// panic or a log, prints no key.
func TestKeysAreNotPrinted(t *testing.T) {
	for _, api := range keyAPIs() {
		server := modeltest.NewServer(t, modeltest.Text("x"))
		spec := server.SpecOf(api)
		spec.APIKey, spec.Headers = secretKey, map[string]string{"X-Team": secretHeader}
		spec.BaseURL = strings.Replace(spec.BaseURL, "://", "://me:"+secretPass+"@", 1) + "?t=" + secretQuery
		m, err := providers()[api](spec)
		if err != nil {
			t.Fatal(err)
		}
		for name, v := range map[string]any{"spec": spec, "pointer": &spec, "model": m, "in a struct": struct{ M any }{m}, "list": []any{spec, m}} {
			text := fmt.Sprintf("%v %+v %#v %s %d", v, v, v, v, v)
			if data, err := json.Marshal(v); err == nil {
				text += string(data)
			}
			if strings.Contains(text, secretWord) {
				t.Errorf("%s: a printed %s tells a secret: %s", api, name, text)
			}
		}
	}
}
