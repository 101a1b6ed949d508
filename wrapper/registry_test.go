package wrapper

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/toolselect"
)

// stage is a host whose answers a test controls.
type stage struct {
	mu       sync.Mutex
	settings func() (policy.Setting, error)
	loaded   atomic.Int64  // how often texts were read
	asked    atomic.Int64  // how many requests the model has got
	gate     chan struct{} // if not nil, the model waits for it

	factories []agent.Factory
	calls     string // if not "", the model calls this tool first
}

func (h *stage) Settings(string) (policy.Setting, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.settings != nil {
		return h.settings()
	}
	return policy.Setting{}, nil
}

func (h *stage) Resources(context.Context, string, policy.Loads) (Resources, error) {
	h.loaded.Add(1)
	return Resources{}, nil
}

func (h *stage) Tools(string, []string) ([]agent.Tool, error) { return nil, nil }

func (h *stage) Extensions(string, policy.Loads) []agent.Factory { return h.factories }

func (h *stage) Model(context.Context, ModelWish) (Chosen, error) {
	return Chosen{Model: quiet{h.gate, h.calls, &h.asked}, Thinking: "off"}, nil
}

// quiet is a model that says one word, after its gate.
type quiet struct {
	gate  chan struct{}
	calls string
	asked *atomic.Int64
}

func (q quiet) Info() agent.ModelInfo {
	return agent.ModelInfo{API: "quiet", Provider: "test", ID: "m"}
}

func (q quiet) Stream(ctx context.Context, req agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		q.asked.Add(1)
		if q.gate != nil {
			select {
			case <-q.gate:
			case <-ctx.Done():
				yield(nil, ctx.Err())
				return
			}
		}
		_, asked := req.Messages[len(req.Messages)-1].(*message.User)
		if q.calls != "" && asked {
			if yield(agent.ToolCallDelta{ID: "c1", Name: q.calls, Arguments: "{}"}, nil) {
				yield(agent.Stop{Reason: message.StopToolUse}, nil)
			}
			return
		}
		if yield(agent.TextDelta{Text: "word"}, nil) {
			yield(agent.Stop{Reason: message.StopEnd}, nil)
		}
	}
}

// file writes a session with one message and returns its path.
func file(t *testing.T, dir string) string {
	t.Helper()
	s, err := session.Create(session.NewSession{Dir: dir, CWD: dir}, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Append(session.Message(&message.User{Content: message.Content{message.Text("q")}})); err != nil {
		t.Fatal(err)
	}
	return s.Path()
}

func registry(t *testing.T, h Host, o Options) *Registry {
	t.Helper()
	r := NewRegistry(h, o)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func TestOneStartForMany(t *testing.T) {
	path := file(t, t.TempDir())
	var opened atomic.Int64
	slow := make(chan struct{})
	h := &stage{settings: func() (policy.Setting, error) {
		opened.Add(1)
		<-slow
		return policy.Setting{}, nil
	}}
	r := registry(t, h, Options{})
	link := filepath.Join(t.TempDir(), "link.jsonl")
	if err := os.Symlink(path, link); err != nil {
		link = path
	}
	var wg sync.WaitGroup
	got := make([]*Session, 20)
	for i := range got {
		wg.Go(func() {
			name := path
			if i%2 == 1 {
				name = link
			}
			s, err := r.Open(t.Context(), name, OpenOptions{})
			if err != nil {
				t.Error(err)
			}
			got[i] = s
		})
	}
	for opened.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	close(slow)
	wg.Wait()
	for _, s := range got {
		if s != got[0] {
			t.Fatal("two sessions for one file")
		}
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("started %d times", n)
	}
}

// TestFailedStartIsNotKept: all who wait get the error, and the next one tries
// again.
func TestFailedStartIsNotKept(t *testing.T) {
	path := file(t, t.TempDir())
	boom := errors.New("boom")
	fail := true
	h := &stage{settings: func() (policy.Setting, error) {
		if fail {
			return policy.Setting{}, boom
		}
		return policy.Setting{}, nil
	}}
	r := registry(t, h, Options{})
	if _, err := r.Open(t.Context(), path, OpenOptions{}); !errors.Is(err, boom) {
		t.Errorf("error %v", err)
	}
	fail = false
	if _, err := r.Open(t.Context(), path, OpenOptions{}); err != nil {
		t.Error(err)
	}
}

// TestCreatedSessionIsFoundByItsFile: the registry knows a new session under the
// path that its file will have, also behind a link.
func TestCreatedSessionIsFoundByItsFile(t *testing.T) {
	real := t.TempDir()
	link := filepath.Join(t.TempDir(), "agent")
	if err := os.Symlink(real, link); err != nil {
		t.Skip(err)
	}
	r := registry(t, &stage{}, Options{})
	s, err := r.Create(t.Context(), session.NewSession{Dir: filepath.Join(link, "sessions", "--x--"), CWD: real}, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := s.Prompt(t.Context(), Input{Text: "hi"})
	if err != nil {
		t.Fatal(err)
	}
	if err := turn.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, err := r.Open(t.Context(), s.Log().Path(), OpenOptions{})
	if err != nil || again != s {
		t.Errorf("the file of a live session opened another one (%v)", err)
	}
}

// TestClosingAndOpening: a start waits for a closing session, so that the file
// has one owner, and the late cleanup does not unregister the new one.
func TestClosingAndOpening(t *testing.T) {
	path := file(t, t.TempDir())
	r := registry(t, &stage{}, Options{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 30 {
				s, err := r.Open(t.Context(), path, OpenOptions{})
				if err != nil {
					t.Error(err)
					return
				}
				turn, err := s.Prompt(t.Context(), Input{Text: "hi"})
				switch {
				case errors.Is(err, ErrRunning), errors.Is(err, ErrClosed), errors.Is(err, session.ErrClosed):
				case err != nil:
					t.Error(err)
				default:
					_ = turn.Wait(t.Context())
				}
				if err := r.Release(s); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	log, err := session.Open(path, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if n := len(log.Leaves()); n != 1 || len(log.Diagnostics()) != 0 {
		t.Errorf("%d branches, %v", n, log.Diagnostics())
	}
}

func TestIdleSessionsAreClosed(t *testing.T) {
	dir := t.TempDir()
	gate := make(chan struct{})
	h := &stage{gate: gate}
	r := registry(t, h, Options{IdleTimeout: 20 * time.Millisecond})
	open := func() *Session {
		s, err := r.Open(t.Context(), file(t, filepath.Join(dir, fmt.Sprint(time.Now().UnixNano()))), OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	closed := func(s *Session) bool { state, _ := s.State(); return state == Closed }
	// On a busy machine one may be closed before it is used: then another.
	watched := open()
	sub := watched.Subscribe(0)
	for closed(watched) {
		sub.Close()
		watched = open()
		sub = watched.Subscribe(0)
	}
	defer sub.Close()
	running := open()
	turn, err := running.Prompt(t.Context(), Input{Text: "go"})
	for errors.Is(err, ErrClosed) {
		running = open()
		turn, err = running.Prompt(t.Context(), Input{Text: "go"})
	}
	if err != nil {
		t.Fatal(err)
	}
	unused := open()
	for live := true; live; _, live = r.Live(unused.Log().Path()) {
		time.Sleep(time.Millisecond)
	}
	if !closed(unused) || closed(running) || closed(watched) {
		t.Error("only the unused session is to be closed")
	}
	close(gate)
	if err := turn.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	for !closed(running) {
		time.Sleep(time.Millisecond)
	}
	again, err := r.Open(t.Context(), unused.Log().Path(), OpenOptions{})
	if err != nil || again == unused {
		t.Errorf("the closed session is not opened anew (%v)", err)
	}
}

// TestCloseAbortsAndKeeps: the end of the program stops a run and keeps what
// came.
func TestCloseAbortsAndKeeps(t *testing.T) {
	path := file(t, t.TempDir())
	r := NewRegistry(&stage{gate: make(chan struct{})}, Options{})
	s, err := r.Open(t.Context(), path, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := s.Prompt(t.Context(), Input{Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := turn.Wait(t.Context()); err != nil {
		t.Errorf("the run: %v", err)
	}
	if _, err := s.Prompt(t.Context(), Input{Text: "more"}); !errors.Is(err, ErrClosed) {
		t.Errorf("a prompt after the end: %v", err)
	}
	if _, err := r.Open(t.Context(), path, OpenOptions{}); !errors.Is(err, ErrShutdown) {
		t.Errorf("an open after the end: %v", err)
	}
	log, err := session.Open(path, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	last, _ := log.Entry(log.Leaf())
	p, _ := log.Decode(last)
	m, _ := p.(session.MessagePayload)
	if a, ok := m.Message.(*message.Assistant); !ok || a.StopReason != message.StopAborted {
		t.Errorf("last entry %+v", p)
	}
}

// TestLoadsOnlyWhenNeeded: opening a session and changing its tools reads no
// text and picks no model; the first prompt does, once.
func TestLoadsOnlyWhenNeeded(t *testing.T) {
	h := &stage{}
	r := registry(t, h, Options{})
	s, err := r.Open(t.Context(), file(t, t.TempDir()), OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	change := func(sel toolselect.Selection) Changed {
		t.Helper()
		c, err := s.SetTools(t.Context(), sel)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if c := change(toolselect.ChatOnly()); c.Recreated || h.loaded.Load() != 0 {
		t.Errorf("a change before the first prompt: %+v, loaded %d times", c, h.loaded.Load())
	}
	for range 2 {
		turn, err := s.Prompt(t.Context(), Input{Text: "hi"})
		if err != nil {
			t.Fatal(err)
		}
		_ = turn.Wait(t.Context())
	}
	if n := h.loaded.Load(); n != 1 {
		t.Errorf("loaded %d times for two prompts", n)
	}
	pin, _ := toolselect.Pin("read")
	if c := change(pin); !c.Recreated || h.loaded.Load() != 2 {
		t.Errorf("leaving Chat Only: %+v, loaded %d times", c, h.loaded.Load())
	}
	pin, _ = toolselect.Pin("read", "ls")
	if c := change(pin); c.Recreated || h.loaded.Load() != 2 {
		t.Errorf("another pin: %+v, loaded %d times", c, h.loaded.Load())
	}
}

// TestSubagentIsFixed: a child's tools cannot be changed.
func TestSubagentIsFixed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "child.jsonl")
	text := `{"type":"session","version":3,"id":"c","timestamp":"2026-01-01T00:00:00.000Z","cwd":"` + filepath.ToSlash(dir) + `"}
{"type":"custom","customType":"pi-web:subagent","data":{"version":1,"parentSessionId":"p","parentSessionPath":"/p","resourceSnapshot":{"version":1,"appendSystemPrompt":["x"],"tools":["read"]}},"id":"m","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z"}
`
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	r := registry(t, &stage{}, Options{})
	s, err := r.Open(t.Context(), path, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.SetTools(t.Context(), toolselect.ChatOnly()); !errors.Is(err, ErrChild) {
		t.Errorf("error %v", err)
	}
	if data, _ := os.ReadFile(path); string(data) != text {
		t.Error("the refusal was recorded")
	}
}

// TestNameAndModel are recorded, and refused where they cannot be.
func TestNameAndModel(t *testing.T) {
	gate := make(chan struct{})
	r := registry(t, &stage{gate: gate}, Options{})
	s, err := r.Open(t.Context(), file(t, t.TempDir()), OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", " \n ", strings.Repeat("漢", 201)} {
		if err := s.SetName(t.Context(), bad); !errors.Is(err, ErrName) {
			t.Errorf("%.10q: %v", bad, err)
		}
	}
	if err := s.SetName(t.Context(), " 漢字\r\n😀 "); err != nil {
		t.Fatal(err)
	}
	if name, _ := s.Log().Name(); name != "漢字 😀" {
		t.Errorf("name %q", name)
	}
	if info, err := s.SetModel(t.Context(), "test/m", ""); err != nil || info.ID != "m" {
		t.Errorf("%v, %v", info, err)
	}
	n := s.Log().Len()
	if _, err := s.SetModel(t.Context(), "test/m", ""); err != nil || s.Log().Len() != n {
		t.Errorf("the same model again: %d entries more, %v", s.Log().Len()-n, err)
	}
	turn, err := s.Prompt(t.Context(), Input{Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.SetModel(t.Context(), "test/m", ""); !errors.Is(err, ErrRunning) {
		t.Errorf("while it runs: %v", err)
	}
	if err := s.SetName(t.Context(), "while it runs"); err != nil {
		t.Errorf("a name while it runs: %v", err)
	}
	close(gate)
	if err := turn.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c, _ := s.Log().Context(); c.Model == nil || c.Model.ModelID != "m" || len(s.Log().Leaves()) != 1 {
		t.Errorf("context %+v", c)
	}
}
