package piweb_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/agent/tool"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/toolselect"
	"github.com/piweb-go/piweb/wrapper"
	"pgregory.net/rapid"
)

// The rows of pi-web's tables "rpc-manager and neighbours" and
// "exact-system-prompt" that a session's policy has. Others have tests of their
// own: RM2 TestRequestedToolsOfCase021, RM3 TestChatOnlyTouchesNothing, RM7
// TestManageWhileRunning, SH9 and LC2 wrapper.TestClosingAndOpening, SH10
// wrapper.TestIdleSessionsAreClosed and agent.TestToolThatDoesNotListenIsLeftBehind,
// IT1 TestIdleTimeout of the command, TE4 wrapper.TestNavigate. Rows that name
// the insides of pi-web's process (RM1, RM5, SH1, SH3, LC1) have nothing here to
// hold for.

// echoTool is a tool of an extension.
type echoTool struct{ name string }

func (e echoTool) Declaration() message.ToolDeclaration {
	return message.ToolDeclaration{Name: e.name, Description: e.name, Parameters: []byte(`{"type":"object"}`)}
}
func (echoTool) Sequential() bool { return false }
func (echoTool) Run(context.Context, *tool.Call) (tool.Result, error) {
	return tool.Text("ok"), nil
}

// counted is an extension that counts its lives.
type counted struct {
	made, closed atomic.Int64
	offer        func(...agent.Tool)
}

func (c *counted) factory() agent.Factory {
	return agent.Factory{Name: "counted", New: func(_ context.Context, env agent.Env) (agent.Extension, error) {
		if !env.Peek {
			c.made.Add(1)
			c.offer = env.Offer
		}
		return agent.Extension{Tools: []agent.Tool{echoTool{"web_search"}}, Close: func() error {
			if !env.Peek {
				c.closed.Add(1)
			}
			return nil
		}}, nil
	}}
}

// rowWorld is a world whose sessions load the extension.
func rowWorld(t *testing.T, script string) (*world, *counted) {
	t.Helper()
	w := newWorld(t, modeltest.Parse(t, script))
	x := &counted{}
	w.rt = w.runtime(func(cfg *piweb.Config) { cfg.Extensions = []agent.Factory{x.factory()} })
	return w, x
}

const always = `{"steps":[{"text":"ok","repeat":true}]}`

func (w *world) tools() []string {
	w.t.Helper()
	return modeltest.ToolNames(w.last().Body)
}

// TestRM4Boundary: what each change of tools appends, what it loads anew, and what
// the next request offers.
func TestRM4Boundary(t *testing.T) {
	w, x := rowWorld(t, always)
	s := w.create("read")
	w.say(s, "start")
	for _, c := range []struct {
		to        toolselect.Selection
		recreated bool
		offers    string
	}{
		{pin(t, "read", "ls"), false, "read ls web_search"},
		{toolselect.ChatOnly(), true, ""},
		{pin(t, "read", "bash", "edit", "write", "grep", "find", "ls"), true, "read bash edit write grep find ls web_search"},
		{pin(t, "read"), false, "read web_search"},
		{toolselect.Clear(), true, "read bash edit write web_search"},
		{toolselect.ChatOnly(), true, ""},
		{toolselect.Clear(), true, "read bash edit write web_search"},
	} {
		entries, made := s.Log().Len(), x.made.Load()
		got := w.choose(s, c.to)
		if !got.Appended || got.Recreated != c.recreated || s.Log().Len() != entries+1 {
			t.Errorf("%s: %+v, %d entries more", c.to, got, s.Log().Len()-entries)
		}
		w.say(s, "and now?")
		if offers := strings.Join(w.tools(), " "); offers != c.offers {
			t.Errorf("%s offers %q, not %q", c.to, offers, c.offers)
		}
		anew := x.made.Load() - made
		if want := int64(0); c.recreated && c.offers != "" {
			want = 1
			if anew != want {
				t.Errorf("%s: the extension was made %d times", c.to, anew)
			}
		} else if anew != want {
			t.Errorf("%s: the extension was made %d times", c.to, anew)
		}
	}
	if err := w.rt.Release(s); err != nil {
		t.Fatal(err)
	}
	if x.made.Load() != x.closed.Load() {
		t.Errorf("%d extensions were made, %d closed", x.made.Load(), x.closed.Load())
	}
}

// TestRM8CopiesOfWhatHasNoFile: a session that was never prompted has nothing to
// copy; saying so leaves no lock behind.
func TestRM8CopiesOfWhatHasNoFile(t *testing.T) {
	w, _ := rowWorld(t, always)
	s := w.create("read")
	for range 2 {
		if _, err := w.rt.Clone(t.Context(), s.Log().Path(), piweb.ForkOptions{}); !errors.Is(err, session.ErrNoFile) {
			t.Errorf("error %v", err)
		}
	}
	w.say(s, "it goes on")
	if _, err := w.rt.Clone(t.Context(), s.Log().Path(), piweb.ForkOptions{}); err != nil {
		t.Error(err)
	}
}

// TestRM11ReloadKeepsTools, and EX1: a reload reads texts and extensions anew and
// keeps the choice; each run sees the text that is current for it.
func TestRM11ReloadKeepsTools(t *testing.T) {
	w, x := rowWorld(t, always)
	s := w.create([]string{}...)
	w.choose(s, toolselect.ChatOnly())
	head := func() string {
		w.say(s, "go")
		h, _ := modeltest.Head(w.last().Body)
		return string(h)
	}
	if h := head(); h != chatHead {
		t.Errorf("head %q", h)
	}
	w.put("my project 漢/AGENTS.md", "EDITED")
	if h := head(); h != chatHead {
		t.Errorf("an edit was taken without a reload: %q", h)
	}
	if err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h := head(); h != globalText+"\n\nEDITED" || modeltest.HasTools(w.last().Body) {
		t.Errorf("after a reload: %q, tools %v", h, w.tools())
	}
	w.choose(s, pin(t, "ls"))
	w.say(s, "go")
	made := x.made.Load()
	if err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.say(s, "go")
	if got := strings.Join(w.tools(), " "); got != "ls web_search" || x.made.Load() != made+1 {
		t.Errorf("after a reload it offers %q; the extension was made %d times more", got, x.made.Load()-made)
	}
}

// TestSH2AndSH4Prompts: an accepted prompt runs to one prompt_done; one that is
// refused leaves no event and no entry.
func TestSH2AndSH4Prompts(t *testing.T) {
	w, _ := rowWorld(t, always)
	s := w.create("read")
	sub := s.Subscribe(0)
	defer sub.Close()
	if _, err := s.Prompt(t.Context(), piweb.Input{Text: " \n"}); !errors.Is(err, wrapper.ErrEmpty) {
		t.Errorf("error %v", err)
	}
	if s.Log().Persisted() {
		t.Error("a refused prompt made a file")
	}
	w.say(s, "one")
	w.say(s, "two")
	var done, began int
	for done < 2 {
		e, err := sub.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		switch e.Type {
		case agent.AgentStart:
			began++
		case wrapper.PromptDone:
			done++
		}
	}
	if began != 2 {
		t.Errorf("%d runs began", began)
	}
}

// TestTE1To3ToolsOfExtensions: a change of built-in tools leaves those of extensions
// as they are; what an extension takes back is gone, what it offers later joins,
// and nothing joins a Chat Only session.
func TestTE1To3ToolsOfExtensions(t *testing.T) {
	w, x := rowWorld(t, always)
	s := w.create("read")
	w.say(s, "go")
	offers := func() string {
		w.say(s, "go")
		return strings.Join(w.tools(), " ")
	}
	w.choose(s, pin(t, "ls"))
	if got := offers(); got != "ls web_search" {
		t.Errorf("TE1: %q", got)
	}
	x.offer(echoTool{"late_tool"})
	if got := offers(); got != "ls late_tool" {
		t.Errorf("TE2: %q", got)
	}
	x.offer()
	if got := offers(); got != "ls" {
		t.Errorf("TE2, withdrawn: %q", got)
	}
	if err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := offers(); got != "ls web_search" {
		t.Errorf("TE3: %q", got)
	}
	offer := x.offer
	w.choose(s, toolselect.ChatOnly())
	offer(echoTool{"late_tool"})
	if got := offers(); got != "" {
		t.Errorf("Chat Only offers %q", got)
	}
}

// TestImportAndMigrationNeverWiden: whatever the history, a copy that is imported
// into another folder, and a file of an older version that is migrated by its first
// append, may do nothing that the original may not.
func TestImportAndMigrationNeverWiden(t *testing.T) {
	w := newWorld(t, modeltest.Parse(t, always))
	w.put("other/notes.md", "") // a session that chose nothing follows the settings, which are the same here
	w.put(".pi/agent/settings.json", `{"defaultProvider":"rec","defaultModel":"m1","defaultProjectTrust":"always","defaultTools":["read"]}`)
	n, refused := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		text, _ := history(rt, w.project)
		name := fmt.Sprintf("imports/%d/s.jsonl", n)
		w.put(name, text)
		path := filepath.Join(w.home, filepath.FromSlash(name))
		src, _, err := w.rt.Decide(path, "")
		if err != nil {
			rt.Fatal(err)
		}
		copied, err := w.rt.Import(t.Context(), w.home, path, filepath.Join(w.home, "other"))
		switch {
		case errors.Is(err, wrapper.ErrChild):
			refused++
		case err != nil:
			rt.Fatal(err)
		default:
			got, _, err := w.rt.Decide(copied, "")
			if err != nil {
				rt.Fatal(err)
			}
			if more := wider(got, src); len(more) > 0 {
				rt.Fatalf("the source: %s\nthe import: %s\nmore: %v\n%s", src, got, more, text)
			}
		}
		old := strings.Replace(text, `"version":3`, `"version":2`, 1)
		w.put(name, old)
		before, _, err := w.rt.Decide(path, "")
		if err != nil {
			rt.Fatal(err)
		}
		log, err := session.Open(path, session.Options{})
		if err != nil {
			rt.Fatal(err)
		}
		_, err = log.Append(session.Label{TargetID: "e0", Label: "x"})
		if err := errors.Join(err, log.Close()); err != nil {
			rt.Fatal(err)
		}
		if data, err := os.ReadFile(path); err != nil || !strings.Contains(string(data[:200]), `"version":3`) {
			rt.Fatalf("it was not migrated (%v)", err)
		}
		after, _, err := w.rt.Decide(path, "")
		if err != nil {
			rt.Fatal(err)
		}
		if more := wider(after, before); len(more) > 0 || after.Kind != before.Kind || !slices.Equal(after.Tools, before.Tools) {
			rt.Fatalf("version 2: %s\nmigrated: %s\nmore: %v\n%s", before, after, more, text)
		}
	})
	t.Logf("%d histories, %d imports refused", n, refused)
}
