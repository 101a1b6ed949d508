package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/agent/model/offline"
	"github.com/piweb-go/piweb/agent/model/openai"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/server"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/web"
)

const token = "the-token-of-the-link"

// agentsText is the one context file of the project.
const agentsText = "This project greets people.\n\n- Keep the program in one file.\n- Every greeting ends with an exclamation mark.\n"

// world is a person's home with a project in it, a provider that plays a script
// and records what it is asked, and a server with the page. The provider is
// called "local" and has the model "coder"; it is also "fake" with "fake-1", which
// the session files of real pi in fixtures/pi name.
type world struct {
	t        *testing.T
	home     string
	project  string
	rt       *piweb.Runtime
	provider *modeltest.Server
	origin   string
	profile  *profile
	held     *held
}

// held are requests that the provider does not answer yet.
type held struct {
	mu    sync.Mutex
	until map[string]chan struct{} // by a text in the request
}

// hold lets the provider answer requests that have a text in them only when release
// was called: what the page shows meanwhile can be looked at for as long as it takes.
func (w *world) hold(text string) (release func()) {
	until := make(chan struct{})
	w.held.mu.Lock()
	w.held.until[text] = until
	w.held.mu.Unlock()
	release = sync.OnceFunc(func() { close(until) })
	w.t.Cleanup(release)
	return release
}

func (h *held) wait(ctx context.Context, r modeltest.Recorded) {
	h.mu.Lock()
	var waits []chan struct{}
	for text, until := range h.until {
		if strings.Contains(string(r.Body), text) {
			waits = append(waits, until)
		}
	}
	h.mu.Unlock()
	for _, until := range waits {
		select {
		case <-until:
		case <-ctx.Done():
		}
	}
}

func newWorld(t *testing.T, browser context.Context, script string) *world {
	t.Helper()
	return newWorldAt(t, browser, filepath.Join(t.TempDir(), "ada"), script)
}

func newWorldAt(t *testing.T, browser context.Context, home, script string) *world {
	t.Helper()
	w := newHome(t, home, script)
	w.rt = w.runtime()
	w.serve()
	w.profile = newProfile(t, browser)
	return w
}

// newHome is a world without a server: a home and a provider.
func newHome(t *testing.T, home, script string) *world {
	t.Helper()
	w := &world{t: t, home: home, project: filepath.Join(home, "greeter"), held: &held{until: map[string]chan struct{}{}}}
	w.provider = modeltest.NewServerWith(t, modeltest.Parse(t, script), modeltest.Options{Key: "k", OnRequest: w.held.wait})
	if err := os.CopyFS(w.project, os.DirFS("../../cmd/piweb/demo")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(w.project, "greet.go.txt"), filepath.Join(w.project, "greet.go")); err != nil {
		t.Fatal(err)
	}
	w.put("greeter/AGENTS.md", agentsText)
	w.put(".pi/agent/models.json", fmt.Sprintf(`{"providers":{
		"local":{"baseUrl":%q,"api":"openai-completions","apiKey":"k","models":[{"id":"coder","name":"Coder"}]},
		"fake":{"baseUrl":%q,"api":"openai-completions","apiKey":"k","models":[{"id":"fake-1"}]}}}`, w.provider.URL, w.provider.URL))
	w.put(".pi/agent/settings.json", `{"defaultProvider":"local","defaultModel":"coder"}`)
	return w
}

// runtime is a process's view of the home.
func (w *world) runtime() *piweb.Runtime {
	w.t.Helper()
	rt, err := piweb.New(piweb.Config{Home: w.home, Lookup: func(string) (string, bool) { return "", false },
		Gates:     agent.Gates{Owner: askSecrets},
		Providers: model.Registry{openai.API: openai.New, offline.API: offline.New}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { rt.Close() })
	return rt
}

func (w *world) serve(change ...func(*server.Config)) {
	w.t.Helper()
	cfg := server.Config{Runtime: w.rt, Page: web.FS(), Token: token, DefaultCWD: w.project, Version: "test",
		Log: slog.New(slog.NewTextHandler(w.t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))}
	for _, c := range change {
		c(&cfg)
	}
	s, err := server.New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.origin = "http://" + ln.Addr().String()
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, ln) }()
	w.t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			w.t.Errorf("the server stopped with: %v", err)
		}
	})
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

// fixture puts a session file of the fixtures into the sessions folder, with the
// project as its folder.
func (w *world) fixture(name string) (id, path string) {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join("../../fixtures", filepath.FromSlash(name)))
	if err != nil {
		w.t.Fatal(err)
	}
	first, rest, _ := strings.Cut(string(data), "\n")
	var head struct{ ID, CWD string }
	if err := json.Unmarshal([]byte(first), &head); err != nil || head.CWD == "" {
		w.t.Fatalf("%s: no header with a folder: %v", name, err)
	}
	cwd, _ := json.Marshal(w.project)
	first = strings.Replace(first, `"cwd":"`+head.CWD+`"`, `"cwd":`+string(cwd), 1)
	return head.ID, w.put(".pi/agent/sessions/fixtures/"+head.ID+".jsonl", first+"\n"+rest)
}

// create makes a session that waits for its first message.
func (w *world) create(tools ...string) string {
	w.t.Helper()
	o := piweb.OpenOptions{}
	if tools != nil {
		o.Tools = &tools
	}
	s, err := w.rt.Create(w.t.Context(), w.project, o)
	if err != nil {
		w.t.Fatal(err)
	}
	return s.ID()
}

// live is the live session of an id.
func (w *world) live(id string) *piweb.Session {
	w.t.Helper()
	for _, s := range w.rt.LiveSessions() {
		if s.ID() == id {
			return s
		}
	}
	w.t.Fatalf("the session %s is not live", id)
	return nil
}

// enter opens a tab by the link, and leaves it on the start page.
func (w *world) enter() *tab {
	w.t.Helper()
	b := w.profile.tab(w.t, w.origin)
	b.do("open the link", chromedp.Navigate(w.origin+"/?token="+token))
	b.until("the list was read", "document.querySelector('.item, .welcome')")
	return b
}

// open opens a tab on a session, ready to write.
func (w *world) open(id string) *tab {
	w.t.Helper()
	b := w.enter()
	b.visit(id)
	return b
}

// visit goes to a session by its address.
func (b *tab) visit(id string) {
	b.t.Helper()
	get[string](b, "location.hash = "+quote("#/s/"+id))
	b.until("the session is open", "document.querySelector('main')?.dataset.session === "+quote(id))
	b.see("#composer:not(:disabled)", "")
	b.until("the policy was read", "document.querySelector('.kind-button .kind-label')?.innerText.trim().length > 1")
}

// idle waits until the page says that the turn has ended. The message that began it
// must have been taken: see send.
func (b *tab) idle() {
	b.t.Helper()
	b.see(".round[aria-label='Send']", "")
	b.until("the turn is that of the file", "!document.querySelector('.waiting, .pending, .tool.running') && !document.querySelector('[data-key^=live]')")
}

// last is what the provider was asked last.
func (w *world) last() modeltest.Recorded {
	w.t.Helper()
	r, ok := w.provider.Last()
	if !ok {
		w.t.Fatal("the provider was not asked")
	}
	return r
}

// line is a message as the file has it.
type line struct {
	role string
	text string
	m    message.Message
}

// messages are those that the file of a session has, in order, read anew and
// without the system's.
func messages(t *testing.T, path string) []line {
	t.Helper()
	log, err := session.Open(path, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	c, err := log.Context()
	if err != nil {
		t.Fatal(err)
	}
	var lines []line
	for _, m := range c.Messages {
		l := line{role: string(m.Role()), m: m}
		switch m := m.(type) {
		case *message.User:
			l.text = m.Content.PlainText()
		case *message.Assistant:
			l.text = m.Content.PlainText()
		case *message.ToolResult:
			l.text = m.Content.PlainText()
		default:
			continue
		}
		lines = append(lines, l)
	}
	return lines
}

// saidJS are the texts of the transcript in order: what people said, and what the
// model answered, its calls left out.
const saidJS = `[...document.querySelectorAll(".row.user .said, .row.assistant > .markdown")].map((e) => (e.closest(".user") ? "user " : "assistant ") + e.innerText.replace(/\s+/g, " ").trim())`

func (b *tab) said() []string {
	b.t.Helper()
	return get[[]string](b, saidJS)
}

// saidIn is what the transcript of a file must say. Texts must be plain.
func saidIn(lines []line) []string {
	out := []string{}
	for _, l := range lines {
		if text := strings.Join(strings.Fields(l.text), " "); text != "" && l.role != "toolResult" {
			out = append(out, l.role+" "+text)
		}
	}
	return out
}
