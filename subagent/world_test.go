package subagent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/resource"
	"github.com/piweb-go/piweb/session"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a host whose children are real files and whose models are functions.
type world struct {
	t        *testing.T
	dir      string // sessions
	cwd      string
	agentDir string
	trusted  bool
	model    func(c *child, text string) // what a child does when it is prompted
	parent   *session.Session
	kind     policy.Kind
	said     []message.Message
	ext      []ExtensionTool
	deliver  func(notice session.CustomMessage) error

	mu       sync.Mutex
	kept     map[string]string // whole answers, by address
	named    int
	files    []string
	children map[string]*child
	notices  []session.CustomMessage
	made     []Dispatch
}

// turn is one answer of a child's model.
type turn struct {
	text string
	cost float64
	more bool // it would go on
	fail string
}

func newWorld(t *testing.T) (*world, *Manager) {
	t.Helper()
	home := t.TempDir()
	w := &world{t: t, dir: filepath.Join(home, "sessions"), cwd: filepath.Join(home, "project"), agentDir: filepath.Join(home, "agent"), trusted: true,
		kind: policy.Open, children: map[string]*child{}}
	for _, d := range []string{w.dir, w.cwd, w.agentDir} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.model = func(c *child, text string) { c.answer(turn{text: "done: " + text}) }
	parent, err := session.Create(session.NewSession{Dir: w.dir, CWD: w.cwd, ID: "the-parent"}, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { parent.Close() })
	if _, err := parent.Append(session.Message(&message.User{Content: message.Content{message.Text("hi")}})); err != nil {
		t.Fatal(err)
	}
	w.parent = parent
	w.switchOn()
	return w, w.manager()
}

func (w *world) switchOn() {
	w.t.Helper()
	if err := NewSettingsFile(w.agentDir, nil).SetBuiltIn(true); err != nil {
		w.t.Fatal(err)
	}
}

// manager is another process's view of the same files.
func (w *world) manager() *Manager {
	m := New(w, Options{Settings: NewSettingsFile(w.agentDir, nil)})
	w.t.Cleanup(m.Close)
	return m
}

func (w *world) put(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.cwd, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) limits(l Limits) {
	w.t.Helper()
	entry, err := Budget{Limits: l}.Payload()
	if err == nil {
		_, err = w.parent.Append(entry)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) Place(cwd string) resource.Place {
	return resource.Place{Cwd: cwd, AgentDir: w.agentDir, Home: filepath.Dir(w.agentDir), Trusted: w.trusted}
}

func (w *world) Parent(_ context.Context, path string) (Parent, error) {
	if path != w.parent.Path() {
		h, err := session.ReadHeader(path)
		return Parent{ID: h.ID, Path: path, CWD: w.cwd, Kind: policy.Child, Model: "p/m"}, err
	}
	return Parent{ID: w.parent.ID(), Path: path, CWD: w.cwd, Kind: w.kind, Model: "p/m", Thinking: "low", Messages: w.said, ExtensionTools: w.ext}, nil
}

func (w *world) PickModel(_ context.Context, _, name string) (string, error) {
	if name == "nobody/has-it" {
		return "", errors.New("there is no model nobody/has-it")
	}
	return name, nil
}

func (w *world) Dispatch(_ context.Context, d Dispatch) (Child, error) {
	log, err := session.Create(session.NewSession{Dir: w.dir, CWD: d.CWD, ParentSession: d.Parent.Path}, session.Options{})
	if err != nil {
		return nil, err
	}
	if _, err := log.Commit(d.First...); err != nil {
		return nil, err
	}
	if err := log.Persist(); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.made = append(w.made, d)
	w.files = append(w.files, log.Path())
	return w.live(log), nil
}

func (w *world) live(log *session.Session) *child {
	c := &child{w: w, log: log, users: 1, abort: make(chan struct{}), steered: make(chan string, 8)}
	w.children[log.ID()] = c
	return c
}

// Reopen gives the child that is live, like a program that has each session once.
func (w *world) Reopen(_ context.Context, path string) (Child, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.children {
		if c.log.Path() == path && c.users > 0 {
			c.users++
			return c, nil
		}
	}
	log, err := session.Open(path, session.Options{})
	if err != nil {
		return nil, err
	}
	return w.live(log), nil
}

func (w *world) Tree(_ context.Context, path string) (Tree, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := Tree{Root: w.parent.Path(), Children: slices.Clone(w.files)}
	if path != w.parent.Path() {
		t.Depth = 1
	}
	return t, nil
}

func (w *world) Deliver(_ context.Context, _ string, n session.CustomMessage) error {
	if w.deliver != nil {
		if err := w.deliver(n); err != nil {
			return err
		}
	}
	w.mu.Lock()
	w.notices = append(w.notices, n)
	w.mu.Unlock()
	_, err := w.parent.Commit(n)
	return err
}

func (w *world) Record(_ context.Context, _ string, entries ...session.Payload) error {
	_, err := w.parent.Commit(entries...)
	return err
}

func (w *world) NameOutput(_, name string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.named++
	return fmt.Sprintf("agent://%d-%s", w.named-1, name), nil
}

func (w *world) KeepOutput(_, url, text string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.kept == nil {
		w.kept = map[string]string{}
	}
	w.kept[url] = text
	return nil
}

func (w *world) Look(path string, do func(View) error) error {
	if path == w.parent.Path() {
		return do(w.parent)
	}
	log, err := session.Open(path, session.Options{})
	if err != nil {
		return err
	}
	defer log.Close()
	return do(log)
}

func (w *world) delivered() []session.CustomMessage {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.notices)
}

// child is a child whose model is the world's function.
type child struct {
	w       *world
	log     *session.Session
	guard   func(int) (string, error)
	abort   chan struct{}
	once    sync.Once
	steered chan string
	heard   []string // what was put in front of requests
	asked   int
	users   int // who has it open; under the world's lock
}

func (c *child) ID() string   { return c.log.ID() }
func (c *child) Path() string { return c.log.Path() }

func (c *child) Record(_ context.Context, entries ...session.Payload) error {
	_, err := c.log.Commit(entries...)
	return err
}

func (c *child) Prompt(_ context.Context, text string, guard func(int) (string, error)) (func(context.Context) error, error) {
	if _, err := c.log.Commit(session.Message(&message.User{Content: message.Content{message.Text(text)}})); err != nil {
		return nil, err
	}
	c.guard, c.asked = guard, 0
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.w.model(c, text)
	}()
	return func(ctx context.Context) error {
		<-done
		return nil
	}, nil
}

// answer is one run of answers; it asks the guard as a session does.
func (c *child) answer(turns ...turn) {
	for _, t := range turns {
		if c.asked > 0 {
			say, err := c.guard(c.asked)
			if err != nil {
				return
			}
			if say != "" {
				c.heard = append(c.heard, say)
			}
		}
		select {
		case <-c.abort:
			return
		default:
		}
		c.asked++
		a := &message.Assistant{Content: message.Content{message.Text(t.text)}, StopReason: message.StopEnd,
			Usage: message.Usage{Input: 90, Output: 10, TotalTokens: 100, Cost: message.Cost{Total: t.cost}}}
		if t.fail != "" {
			a.StopReason, a.ErrorMessage = message.StopError, t.fail
		}
		if _, err := c.log.Append(session.Message(a)); err != nil {
			c.w.t.Error(err)
		}
		if !t.more {
			return
		}
	}
}

// hang waits until the child is stopped.
func (c *child) hang() { <-c.abort }

func (c *child) Steer(_ context.Context, text string) error {
	c.steered <- text
	return nil
}

func (c *child) Abort() bool {
	c.once.Do(func() { close(c.abort) })
	return true
}

func (c *child) Look(do func(View) error) error { return do(c.log) }

func (c *child) Release() {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	if c.users--; c.users == 0 {
		c.log.Close()
	}
}

func (w *world) start(m *Manager, s Spec) Run {
	w.t.Helper()
	r, err := m.Start(w.t.Context(), w.parent.Path(), s)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) wait(m *Manager, id string) Run {
	w.t.Helper()
	r, err := m.Wait(w.t.Context(), w.parent.Path(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// until polls a condition.
func (w *world) until(what string, cond func() bool) {
	w.t.Helper()
	end := time.Now().Add(time.Minute)
	for !cond() {
		if time.Now().After(end) {
			w.t.Fatalf("never came: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// entries spells out what a child's file holds.
func (w *world) entries(path string) (out []string) {
	w.t.Helper()
	err := w.Look(path, func(v View) error {
		for e := range v.Entries() {
			p, err := v.Decode(e)
			if err != nil {
				return err
			}
			switch p := p.(type) {
			case session.Custom:
				var status struct {
					Status string `json:"status"`
				}
				_ = unmarshal(p.Data, &status)
				out = append(out, strings.TrimSpace(strings.TrimPrefix(e.CustomType, "pi-web:")+" "+status.Status))
			case session.MessagePayload:
				out = append(out, fmt.Sprintf("%s %s", p.Message.Role(), message.ContentOf(p.Message).PlainText()))
			default:
				out = append(out, e.Type)
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// runs tells whether a child was asked, by its file.
func (w *world) runs(path string) bool {
	return slices.ContainsFunc(w.entries(path), func(s string) bool { return strings.HasPrefix(s, "user ") })
}
