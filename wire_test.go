package piweb_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/agent/model/offline"
	"github.com/piweb-go/piweb/agent/model/openai"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/session/catalog"
	"github.com/piweb-go/piweb/toolselect"
	"github.com/piweb-go/piweb/wrapper"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a user's home with a project and a provider that records.
type world struct {
	t        *testing.T
	home     string
	project  string
	rt       *piweb.Runtime
	provider *modeltest.Server
}

const (
	globalText  = "GLOBAL \u2028 <tag> & \"quotes\" 漢字 😀\n"
	projectText = "PROJECT\n\ttabs and trailing blanks  \n"
)

// newWorld starts a provider that plays a script and a runtime that knows it.
func newWorld(t *testing.T, script *offline.Script) *world {
	t.Helper()
	w := &world{t: t, home: t.TempDir(), provider: modeltest.NewServerWith(t, script, modeltest.Options{Key: "k"})}
	w.project = filepath.Join(w.home, "my project 漢")
	w.put(".pi/agent/AGENTS.md", globalText)
	w.put("my project 漢/AGENTS.md", projectText)
	w.put("my project 漢/go.mod", "module example\n")
	w.put(".pi/agent/models.json", fmt.Sprintf(`{"providers":{"rec":{"baseUrl":%q,"api":"openai-completions","apiKey":"k","models":[{"id":"m1"}]}}}`, w.provider.URL))
	w.put(".pi/agent/settings.json", `{"defaultProvider":"rec","defaultModel":"m1"}`)
	w.rt = w.runtime()
	return w
}

func (w *world) put(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.home, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// runtime is another process's view of the same home.
func (w *world) runtime(set ...func(*piweb.Config)) *piweb.Runtime {
	w.t.Helper()
	cfg := piweb.Config{Home: w.home, Lookup: func(string) (string, bool) { return "", false },
		Providers: model.Registry{openai.API: openai.New, offline.API: offline.New}}
	for _, f := range set {
		f(&cfg)
	}
	rt, err := piweb.New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { rt.Close() })
	return rt
}

func (w *world) create(tools ...string) *piweb.Session {
	w.t.Helper()
	o := piweb.OpenOptions{}
	if tools != nil {
		o.Tools = &tools
	}
	s, err := w.rt.Create(w.t.Context(), w.project, o)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) say(s *piweb.Session, text string) {
	w.t.Helper()
	turn, err := s.Prompt(w.t.Context(), piweb.Input{Text: text})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := turn.Wait(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) choose(s *piweb.Session, sel toolselect.Selection) piweb.Changed {
	w.t.Helper()
	c, err := s.SetTools(w.t.Context(), sel)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// head is what the loadout of a file's policy says, computed by explain, that
// is, on another way than the one that was sent.
func (w *world) head(s *piweb.Session) string {
	w.t.Helper()
	x, err := w.rt.Explain(w.t.Context(), s.Log().Path(), piweb.ExplainOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return x.Load.Head.Text
}

func (w *world) last() modeltest.Recorded {
	w.t.Helper()
	r, ok := w.provider.Last()
	if !ok {
		w.t.Fatal("nothing was sent")
	}
	return r
}

func pin(t *testing.T, names ...string) toolselect.Selection {
	t.Helper()
	sel, err := toolselect.Pin(names...)
	if err != nil {
		t.Fatal(err)
	}
	return sel
}

// toolTurns is a script in which every prompt that holds "tool" leads to a call
// first.
func toolTurns(t *testing.T) *offline.Script {
	return modeltest.Parse(t, `{"steps":[
		{"match":"with tool","toolCalls":[{"name":"read","arguments":{"path":"go.mod"}}]},
		{"match":"with tool","text":"seen"},
		{"match":"plain","text":"ok","repeat":true}
	]}`)
}

// chatHead is what Chat Only sends, spelled out.
const chatHead = globalText + "\n\n" + projectText

// TestHeadAtTheProvider: what arrives at the provider is what the loadout says,
// byte for byte, for each kind of policy, on the first turn, on the turn after a
// tool, when a refused request is sent again, after a compaction, and after leaving
// and entering Chat Only. What was recorded is what was sent.
func TestHeadAtTheProvider(t *testing.T) {
	for _, c := range []struct {
		name  string
		start func(w *world) *piweb.Session
		head  string // "" for whatever is composed
		tools []string
	}{
		{"unset", func(w *world) *piweb.Session { return w.create() }, "", []string{"read", "bash", "edit", "write"}},
		{"pinned", func(w *world) *piweb.Session { return w.create("ls", "read") }, "", []string{"ls", "read"}},
		{"cleared", func(w *world) *piweb.Session {
			s := w.create("ls")
			w.choose(s, toolselect.Clear())
			return s
		}, "", []string{"read", "bash", "edit", "write"}},
		{"chat only", func(w *world) *piweb.Session { return w.create([]string{}...) }, chatHead, nil},
		{"left Chat Only", func(w *world) *piweb.Session {
			s := w.create([]string{}...)
			w.say(s, "plain")
			if changed := w.choose(s, pin(w.t, "read")); !changed.Recreated {
				w.t.Error("leaving Chat Only did not load anew")
			}
			return s
		}, "", []string{"read"}},
		{"entered Chat Only", func(w *world) *piweb.Session {
			s := w.create("read")
			w.say(s, "plain")
			if changed := w.choose(s, toolselect.ChatOnly()); !changed.Recreated {
				w.t.Error("entering Chat Only did not load anew")
			}
			return s
		}, chatHead, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, modeltest.Parse(t, `{"steps":[
				{"match":"with tool","toolCalls":[{"name":"read","arguments":{"path":"go.mod"}}]},
				{"match":"with tool","text":"seen"},
				{"match":"busy","error":{"status":429,"message":"Slow down."}},
				{"match":"busy","error":{"status":500,"message":"Oh no."}},
				{"match":"busy","text":"now"},
				{"match":"plain","text":"ok","repeat":true},
				{"repeat":true,"text":"A summary of what was said."}]}`))
			w.put(".pi/agent/settings.json", `{"defaultProvider":"rec","defaultModel":"m1","retry":{"baseDelayMs":1},"compaction":{"keepRecentTokens":1}}`)
			s := c.start(w)
			prompts := []string{"plain one", "plain two"}
			if len(c.tools) > 0 {
				prompts = append(prompts, "with tool")
			}
			say := func(text string) {
				t.Helper()
				before := w.provider.Count()
				w.say(s, text)
				want := w.head(s)
				if c.head != "" && want != c.head {
					t.Fatalf("the loadout's head is\n%q\nwant\n%q", want, c.head)
				}
				for _, r := range w.provider.Requests()[before:] {
					got, ok := modeltest.Head(r.Body)
					if !ok || string(got) != want {
						t.Errorf("%s, request %d: head\n%q\nwant\n%q", text, r.N, got, want)
					}
					if n := len(modeltest.SystemContents(r.Body)); n != 1 {
						t.Errorf("%s, request %d: %d system messages", text, r.N, n)
					}
					if d := modeltest.ToolNames(r.Body); !slices.Equal(d, c.tools) {
						t.Errorf("%s, request %d: tools %v, want %v", text, r.N, d, c.tools)
					}
					if len(c.tools) == 0 && modeltest.HasTools(r.Body) {
						t.Errorf("%s, request %d: it speaks of tools", text, r.N)
					}
				}
			}
			for _, text := range prompts {
				say(text)
			}
			if len(c.tools) > 0 && !slices.Contains(modeltest.Roles(w.last().Body), "tool") {
				t.Error("no turn after a tool was sent")
			}
			before := w.provider.Count()
			if say("busy"); w.provider.Count() != before+3 {
				t.Errorf("%d requests for a prompt that is refused twice", w.provider.Count()-before)
			}
			done, err := s.Compact(t.Context(), "")
			if err == nil {
				_, err = done.Result(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			say("plain after the compaction")
			w.checkReceipts(s)
		})
	}
}

// checkReceipts holds the receipts against the file and the last one against the
// last request.
func (w *world) checkReceipts(s *piweb.Session) {
	w.t.Helper()
	x, err := w.rt.Explain(w.t.Context(), s.Log().Path(), piweb.ExplainOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	checks := x.Record.Receipts
	if len(checks) == 0 {
		w.t.Fatal("no receipt")
	}
	for _, c := range checks {
		if !c.OK() {
			w.t.Errorf("receipt of line %d: %v", c.Line, c.Differences)
		}
	}
	last, body := checks[len(checks)-1].Receipt, w.last().Body
	head, _ := modeltest.Head(body)
	if policy.Hash(head) != last.System.SHA256 || len(head) != last.System.Bytes {
		w.t.Errorf("the receipt's head has %d bytes, the request's %d", last.System.Bytes, len(head))
	}
	var names []string
	for _, tool := range last.Tools {
		names = append(names, tool.Name)
	}
	if sent := modeltest.ToolNames(body); !slices.Equal(names, sent) {
		w.t.Errorf("the receipt names the tools %v, the request %v", names, sent)
	}
}

// TestNoContextFileNoSystemMessage: an empty head is no message at all.
func TestNoContextFileNoSystemMessage(t *testing.T) {
	w := newWorld(t, toolTurns(t))
	for _, f := range []string{".pi/agent/AGENTS.md", "my project 漢/AGENTS.md"} {
		if err := os.Remove(filepath.Join(w.home, filepath.FromSlash(f))); err != nil {
			t.Fatal(err)
		}
	}
	none := []string{}
	s, err := w.rt.Create(t.Context(), w.project, piweb.OpenOptions{Tools: &none})
	if err != nil {
		t.Fatal(err)
	}
	w.say(s, "plain")
	if got := modeltest.Roles(w.last().Body); !slices.Equal(got, []string{"user"}) {
		t.Errorf("roles %v", got)
	}
	w.checkReceipts(s)
}

// TestChatOnlyConstructsNothing: what must not load would leave a trace in the
// prompt or in the folder.
func TestChatOnlyConstructsNothing(t *testing.T) {
	w := newWorld(t, toolTurns(t))
	w.put(".pi/agent/SYSTEM.md", "SYSTEM-MARKER")
	w.put(".pi/agent/APPEND_SYSTEM.md", "APPEND-MARKER")
	w.put(".pi/agent/skills/s/SKILL.md", "---\nname: s\ndescription: SKILL-MARKER\n---\n")
	none := []string{}
	s, err := w.rt.Create(t.Context(), w.project, piweb.OpenOptions{Tools: &none})
	if err != nil {
		t.Fatal(err)
	}
	w.say(s, "plain")
	if head, _ := modeltest.Head(w.last().Body); string(head) != chatHead {
		t.Errorf("head %q", head)
	}
	w.choose(s, pin(t, "read"))
	w.say(s, "plain")
	if head, _ := modeltest.Head(w.last().Body); !strings.Contains(string(head), "SYSTEM-MARKER") || !strings.Contains(string(head), "APPEND-MARKER") {
		t.Errorf("a normal session does not load them: %q", head)
	}
}

// TestReopenedInAnotherProcess: days later, in another process, the session is
// what it was.
func TestReopenedInAnotherProcess(t *testing.T) {
	w := newWorld(t, toolTurns(t))
	s := w.create("read", "ls")
	w.say(s, "plain")
	path := s.Log().Path()
	if err := w.rt.Close(); err != nil {
		t.Fatal(err)
	}
	first := w.last()
	w.put(".pi/agent/settings.json", `{"defaultProvider":"rec","defaultModel":"m1","defaultTools":["bash"]}`) // changed meanwhile
	w.rt = w.runtime()
	again, err := w.rt.Open(t.Context(), path, piweb.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.say(again, "plain again")
	a, _ := modeltest.Head(first.Body)
	b, _ := modeltest.Head(w.last().Body)
	if string(a) != string(b) || !slices.Equal(modeltest.ToolNames(w.last().Body), []string{"read", "ls"}) {
		t.Errorf("tools %v, head changed: %v", modeltest.ToolNames(w.last().Body), string(a) != string(b))
	}
	w.checkReceipts(again)
	x, _ := w.rt.Explain(t.Context(), path, piweb.ExplainOptions{})
	if n := len(x.Record.Receipts); n != 1 {
		t.Errorf("%d receipts for two equal requests in two processes", n)
	}
}

// TestRequestedToolsOfCase021: requested tools are recorded at once where nothing
// was chosen, and never win over what was.
func TestRequestedToolsOfCase021(t *testing.T) {
	for _, c := range []struct {
		file     string
		appended int
		tools    string
		err      error
	}{
		{"legacy", 1, "bash", nil},
		{"all-bad", 1, "bash", nil},
		{"chat-only", 0, "", policy.ErrOverruled},
		{"picked", 0, "", policy.ErrOverruled},
		{"other-branch", 0, "", policy.ErrOverruled},
	} {
		t.Run(c.file, func(t *testing.T) {
			w := newWorld(t, toolTurns(t))
			found, _ := filepath.Glob("fixtures/cases/021-*/" + c.file + ".jsonl")
			data, err := os.ReadFile(found[0])
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(w.home, "s.jsonl")
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := w.rt.Open(t.Context(), path, piweb.OpenOptions{Tools: &[]string{"bash"}, CWD: w.project})
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			after, _ := os.ReadFile(path)
			if n := strings.Count(string(after), "\n") - strings.Count(string(data), "\n"); n != c.appended {
				t.Errorf("%d lines appended, want %d", n, c.appended)
			}
			if err == nil {
				if p, _ := s.Policy(); strings.Join(p.Tools, " ") != c.tools {
					t.Errorf("policy %s", p)
				}
			}
		})
	}
}

// TestExtensionsOfCase023: changes between two sets apply in place, changes over
// the Chat Only boundary load anew, each is one record, and the file stays.
func TestSwitchesOfCase023(t *testing.T) {
	w := newWorld(t, toolTurns(t))
	s := w.create("read")
	w.say(s, "plain")
	id, path := s.ID(), s.Log().Path()
	for _, c := range []struct {
		sel       toolselect.Selection
		recreated bool
	}{
		{pin(t, "read", "bash"), false}, {toolselect.ChatOnly(), true}, {pin(t, "read"), true}, {toolselect.Clear(), true}, {toolselect.Clear(), false},
	} {
		before := s.Log().Len()
		changed := w.choose(s, c.sel)
		want := 1
		if s.Log().Len()-before == 0 {
			want = 0
		}
		if changed.Recreated != c.recreated || s.Log().Len()-before != want || changed.Appended != (want == 1) {
			t.Errorf("%s: recreated %v, %d records, appended %v", c.sel, changed.Recreated, s.Log().Len()-before, changed.Appended)
		}
	}
	if s.ID() != id || s.Log().Path() != path {
		t.Error("the session changed its id or file")
	}
	if again := w.choose(s, toolselect.Clear()); again.Appended {
		t.Error("an equal choice was recorded again")
	}
}

// TestOddHeads: whatever a context file holds, a Chat Only session sends exactly
// that.
func TestOddHeads(t *testing.T) {
	w := newWorld(t, toolTurns(t))
	if err := os.Remove(filepath.Join(w.home, ".pi/agent/AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	for _, h := range append(modeltest.Heads(), modeltest.NamedHead{Name: "CRLF", Text: "a\r\nb\r\n"}) {
		t.Run(h.Name, func(t *testing.T) {
			w.put("my project 漢/AGENTS.md", h.Text)
			none := []string{}
			s, err := w.rt.Create(t.Context(), w.project, piweb.OpenOptions{Tools: &none})
			if err != nil {
				t.Fatal(err)
			}
			w.say(s, "plain")
			want := strings.TrimPrefix(h.Text, "\uFEFF") // one byte order mark is no text
			if got, _ := modeltest.Head(w.last().Body); string(got) != want {
				t.Errorf("head %.200q, want %.200q", got, want)
			}
			w.checkReceipts(s)
		})
	}
}

// TestRefusedWhileRunning: a second prompt and a change of tools are refused
// while a prompt runs, and nothing is recorded.
func TestRefusedWhileRunning(t *testing.T) {
	w := newWorld(t, modeltest.Parse(t, `{"steps":[{"text":"slow answer","delayMs":20000},{"text":"next"}]}`))
	s := w.create("read")
	sub := s.Subscribe(0)
	defer sub.Close()
	turn, err := s.Prompt(t.Context(), piweb.Input{Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.provider.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	size := func() int64 {
		info, err := os.Stat(s.Log().Path())
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	before := size()
	if _, err := s.Prompt(t.Context(), piweb.Input{Text: "again"}); !errors.Is(err, wrapper.ErrRunning) {
		t.Errorf("a second prompt: %v", err)
	}
	if _, err := s.SetTools(t.Context(), toolselect.ChatOnly()); !errors.Is(err, wrapper.ErrRunning) {
		t.Errorf("a change of tools: %v", err)
	}
	if size() != before {
		t.Error("a refusal was recorded")
	}
	if state, _ := s.State(); state != wrapper.Running {
		t.Errorf("state %s", state)
	}
	if !s.Abort() {
		t.Error("nothing to abort")
	}
	if err := turn.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	var last piweb.Event
	for last.Type != wrapper.PromptDone {
		if last, err = sub.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.say(s, "after")
	if roles := modeltest.Roles(w.last().Body); !slices.Equal(roles, []string{"system", "user", "user"}) {
		t.Errorf("after the abort: %v", roles)
	}
}

// TestBuildFailureIsRetried: a change whose loading fails is in force in the
// file; the session says that it failed, stays readable, and the next command
// tries again.
func TestBuildFailureIsRetried(t *testing.T) {
	w := newWorld(t, toolTurns(t))
	s := w.create("read")
	w.say(s, "plain")
	models := filepath.Join(w.home, ".pi/agent/models.json")
	good, _ := os.ReadFile(models)
	w.put(".pi/agent/models.json", "{ broken")
	_, err := s.SetTools(t.Context(), toolselect.ChatOnly())
	if !errors.Is(err, piweb.ErrNoModel) {
		t.Fatalf("error %v", err)
	}
	if state, cause := s.State(); state != wrapper.Failed || cause == nil {
		t.Errorf("state %s, %v", state, cause)
	}
	if p, _ := s.Policy(); p.Kind != policy.ChatOnly {
		t.Errorf("policy %s", p)
	}
	if _, err := s.Log().Context(); err != nil {
		t.Errorf("not readable: %v", err)
	}
	w.put(".pi/agent/models.json", string(good))
	w.say(s, "plain")
	if head, _ := modeltest.Head(w.last().Body); string(head) != chatHead {
		t.Errorf("head %q", head)
	}
}

// TestSourceEdited: an edited context file is information for explain, and the
// next engine reads it; the receipts that stand keep holding.
func TestSourceEdited(t *testing.T) {
	w := newWorld(t, toolTurns(t))
	none := []string{}
	s, err := w.rt.Create(t.Context(), w.project, piweb.OpenOptions{Tools: &none})
	if err != nil {
		t.Fatal(err)
	}
	w.say(s, "plain")
	w.put("my project 漢/AGENTS.md", "NEW")
	w.say(s, "plain")
	if head, _ := modeltest.Head(w.last().Body); string(head) != chatHead {
		t.Errorf("a live session took an edit before it was reloaded: %q", head)
	}
	x, err := w.rt.Explain(t.Context(), s.Log().Path(), piweb.ExplainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !x.Record.OK() || len(x.Record.Edited) != 1 || !strings.Contains(x.Record.Next, "the head changed") {
		t.Errorf("record %+v", x.Record)
	}
}

// TestForeignPinIsFollowed: another program may write a choice into the file of
// a live session; the next prompt runs under it.
func TestForeignPinIsFollowed(t *testing.T) {
	w := newWorld(t, toolTurns(t))
	s := w.create("read", "bash")
	w.say(s, "plain")
	f, err := os.OpenFile(s.Log().Path(), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	entry, _ := json.Marshal(map[string]any{"type": "custom", "customType": toolselect.CustomType, "data": map[string]any{"version": 1, "tools": []string{}},
		"id": "f0000000", "parentId": s.Log().Leaf(), "timestamp": "2026-01-01T00:00:00.000Z"})
	fmt.Fprintf(f, "%s\n", entry)
	f.Close()
	w.say(s, "plain")
	if modeltest.HasTools(w.last().Body) {
		t.Error("tools were sent after another program made the session Chat Only")
	}
	w.checkReceipts(s)
}

// TestDeclarationOfPiHolds: a session that pi restricted to some tools keeps
// exactly those, on the first prompt, on the next ones, and after a reopen. Our
// own receipts must not wash the restriction away.
func TestDeclarationOfPiHolds(t *testing.T) {
	w := newWorld(t, toolTurns(t))
	path := filepath.Join(w.home, "s.jsonl")
	header, _ := json.Marshal(map[string]any{"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": w.project})
	text := string(header) + `
{"type":"message","id":"m1","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"system","content":"","toolsAdded":[{"name":"read","description":"d","parameters":{"type":"object"}},{"name":"ls","description":"d","parameters":{"type":"object"}}],"timestamp":1}}
{"type":"message","id":"m2","parentId":"m1","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"q","timestamp":1}}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s, err := w.rt.Open(t.Context(), path, piweb.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			w.say(s, "plain")
			if got := modeltest.ToolNames(w.last().Body); !slices.Equal(got, []string{"read", "ls"}) {
				t.Errorf("tools %v", got)
			}
			w.checkReceipts(s)
		}
		if err := w.rt.Release(s); err != nil {
			t.Fatal(err)
		}
	}
	s, err := w.rt.Open(t.Context(), path, piweb.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.choose(s, pin(t, "bash")) // only a choice changes it
	w.say(s, "plain")
	if got := modeltest.ToolNames(w.last().Body); !slices.Equal(got, []string{"bash"}) {
		t.Errorf("after a choice: %v", got)
	}
	w.checkReceipts(s)
}

// TestFolderOfCase028: a session works in the folder of its header, or in one
// that the caller names, and nothing is written or made otherwise.
func TestFolderOfCase028(t *testing.T) {
	for _, file := range []string{"gone", "nocwd", "windows"} {
		t.Run(file, func(t *testing.T) {
			w := newWorld(t, toolTurns(t))
			found, _ := filepath.Glob("fixtures/cases/028-*/" + file + ".jsonl")
			data, _ := os.ReadFile(found[0])
			path := filepath.Join(w.home, "s.jsonl")
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := w.rt.Open(t.Context(), path, piweb.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Prompt(t.Context(), piweb.Input{Text: "plain"}); !errors.Is(err, wrapper.ErrFolder) {
				t.Errorf("without a folder: %v", err)
			}
			w.rt.Release(s)
			if after, _ := os.ReadFile(path); string(after) != string(data) {
				t.Error("the file changed")
			}
			s, err = w.rt.Open(t.Context(), path, piweb.OpenOptions{CWD: w.project, Model: "rec/m1"})
			if err != nil {
				t.Fatal(err)
			}
			if f := s.Folder(); f.Path != w.project || f.Warning == "" {
				t.Errorf("folder %+v", f)
			}
			w.say(s, "plain")
			if head, _ := modeltest.Head(w.last().Body); !strings.Contains(string(head), "PROJECT") {
				t.Errorf("the context files are not those of the folder: %q", head)
			}
			if h, _ := session.ReadHeader(path); h.CWD == w.project {
				t.Error("the header was rewritten")
			}
		})
	}
	t.Run("an existing folder", func(t *testing.T) {
		w := newWorld(t, toolTurns(t))
		s := w.create("read", "bash")
		w.say(s, "with tool")
		var result string
		for _, m := range w.lastMessages() {
			if m.Role == "tool" {
				result = string(m.Content)
			}
		}
		if !strings.Contains(result, "module example") {
			t.Errorf("the tool did not read in the session's folder: %s", result)
		}
	})
}

type wireMessage struct {
	Role    string
	Content json.RawMessage
}

func (w *world) lastMessages() []wireMessage {
	var body struct{ Messages []wireMessage }
	if err := json.Unmarshal(w.last().Body, &body); err != nil {
		w.t.Fatal(err)
	}
	return body.Messages
}

// TestExplainTouchesNothing: listing, explaining and verifying a session changes
// no byte and no time, and runs no command of the user's configuration. More
// folders of session files can be named in $PIWEB_CORPUS, a list like $PATH:
//
//	PIWEB_CORPUS=/some/folder go test . -run TouchesNothing -v
func TestExplainTouchesNothing(t *testing.T) {
	w := newWorld(t, toolTurns(t))
	marker := filepath.Join(w.home, "ran")
	w.put(".pi/agent/models.json", fmt.Sprintf(`{"providers":{"rec":{"baseUrl":%q,"api":"openai-completions","apiKey":"!echo k; touch '%s'","models":[{"id":"m1"}]}}}`, w.provider.URL, marker))
	n := 0
	for _, root := range append([]string{"fixtures"}, filepath.SplitList(os.Getenv("PIWEB_CORPUS"))...) {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.Contains(d.Name(), ".json") {
				n++
				w.lookAt(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d files were listed, explained and verified", n)
	if _, err := os.Stat(marker); err == nil {
		t.Error("explain ran the key command")
	}
	if n := w.provider.Count(); n != 0 {
		t.Errorf("explain sent %d requests", n)
	}
}

// lookAt lists, explains and verifies a file, whatever it is, and checks that it
// is as it was.
func (w *world) lookAt(path string) {
	w.t.Helper()
	before, err := os.Stat(path)
	if err != nil {
		w.t.Fatal(err)
	}
	data, _ := os.ReadFile(path)
	catalog.Read(path)
	x, err := w.rt.Explain(w.t.Context(), path, piweb.ExplainOptions{CWD: w.project, Model: "rec/m1"})
	if err != nil && !errors.Is(err, session.ErrNotSession) {
		w.t.Errorf("%s: %v", path, err)
	}
	if err == nil && x.Load.Error != "" {
		w.t.Errorf("%s: %s", path, x.Load.Error)
	}
	after, _ := os.Stat(path)
	if now, _ := os.ReadFile(path); string(now) != string(data) || !after.ModTime().Equal(before.ModTime()) {
		w.t.Errorf("%s changed", path)
	}
}
