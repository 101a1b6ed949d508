package piweb_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/toolselect"
	"github.com/piweb-go/piweb/wrapper"
)

func reachable(c *piweb.Config) { c.Reachable = true }

// held makes a session that another program, which can be asked, holds, and a
// runtime that does not.
func held(t *testing.T) (w *world, serving *piweb.Runtime, theirs *piweb.Session, path string) {
	t.Helper()
	w = newWorld(t, modeltest.Parse(t, `{"steps":[
		{"match":"sleep","toolCalls":[{"name":"bash","arguments":{"command":"sleep 60"}}]},
		{"match":"with tool","toolCalls":[{"name":"read","arguments":{"path":"go.mod"}}]},
		{"match":"with tool","text":"seen"},
		{"match":"plain","text":"ok","repeat":true}
	]}`))
	serving = w.runtime(reachable)
	s, err := serving.Create(t.Context(), w.project, piweb.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.say(s, "plain")
	if err := serving.Unreachable(); err != nil {
		t.Fatal(err)
	}
	return w, serving, s, s.Log().Path()
}

// TestHeldElsewhere: what is asked of a session that another program holds, that
// program does.
func TestHeldElsewhere(t *testing.T) {
	w, _, theirs, path := held(t)
	ctx := t.Context()

	c, err := w.rt.SetTools(ctx, path, toolselect.ChatOnly(), piweb.OpenOptions{})
	if p, _ := theirs.Policy(); err != nil || !c.Appended || !c.Recreated || c.Policy.Kind != policy.ChatOnly || p.Kind != policy.ChatOnly {
		t.Errorf("tools: %+v, there %s, %v", c, p, err)
	}
	if c, err := w.rt.SetTools(ctx, path, toolselect.ChatOnly(), piweb.OpenOptions{}); err != nil || c.Appended {
		t.Errorf("the same tools again: %+v, %v", c, err)
	}
	if err := w.rt.Rename(ctx, path, "named from outside"); err != nil {
		t.Error(err)
	}
	if name, _ := theirs.Log().Name(); name != "named from outside" {
		t.Errorf("the name is %q", name)
	}
	if err := w.rt.Rename(ctx, path, " "); !errors.Is(err, wrapper.ErrName) {
		t.Errorf("no name: %v", err)
	}
	f, err := w.rt.Clone(ctx, path, piweb.ForkOptions{})
	if err != nil || f.Policy.Kind != policy.ChatOnly || f.Entries == 0 {
		t.Errorf("clone: %+v, %v", f, err)
	}
	user := firstUser(t, theirs.Log())
	before, err := w.rt.Fork(ctx, path, piweb.ForkOptions{At: user, Before: true})
	if err != nil || before.Text != "plain" || !before.Carried.IsChatOnly() {
		t.Errorf("fork before: %+v, %v", before, err)
	}
	if _, err := w.rt.Fork(ctx, path, piweb.ForkOptions{At: "nowhere"}); !errors.Is(err, session.ErrNoEntry) {
		t.Errorf("fork at nothing: %v", err)
	}
	if text, err := w.rt.MoveLeaf(ctx, path, user); err != nil || text != "plain" {
		t.Errorf("move the leaf: %q, %v", text, err)
	}
	to := filepath.Join(w.home, "other")
	if err := os.Mkdir(to, 0o755); err != nil {
		t.Fatal(err)
	}
	moved, err := w.rt.Move(ctx, path, to)
	if state, _ := theirs.State(); err != nil || filepath.Dir(moved) == filepath.Dir(path) || state != wrapper.Closed {
		t.Errorf("move: %q, %s, %v", moved, state, err)
	}
}

func firstUser(t *testing.T, log *session.Session) session.ID {
	t.Helper()
	for e := range log.Entries() {
		if e.Role == "user" {
			return e.ID
		}
	}
	t.Fatal("there is no user's message")
	return ""
}

func TestDeleteElsewhere(t *testing.T) {
	w, _, theirs, path := held(t)
	gone, err := w.rt.Delete(t.Context(), path)
	if err != nil || len(gone) != 1 || gone[0].Origin != path || gone[0].ID != theirs.ID() {
		t.Fatalf("%+v, %v", gone, err)
	}
	if _, err := os.Stat(gone[0].Path); err != nil {
		t.Error(err)
	}
}

// TestPromptElsewhere: the events come over as they are there, and the session
// stays with the other program.
func TestPromptElsewhere(t *testing.T) {
	w, _, theirs, path := held(t)
	other, ok := w.rt.Elsewhere(path)
	if !ok {
		t.Fatal("nobody holds it")
	}
	var text strings.Builder
	var types []agent.EventType
	err := other.Prompt(t.Context(), piweb.Input{Text: "with tool"}, piweb.OpenOptions{}, func(e piweb.Event) {
		types = append(types, e.Type)
		if e.Type == agent.MessageEnd && e.Message.Role() == "assistant" {
			text.WriteString(message.Describe(e.Message))
		}
	})
	if err != nil || types[len(types)-1] != wrapper.PromptDone || text.Len() == 0 {
		t.Errorf("%v, %q, %v", types, text.String(), err)
	}
	if len(theirs.Log().Leaves()) != 1 || !theirs.Log().Held() {
		t.Errorf("%d branches, held %v", len(theirs.Log().Leaves()), theirs.Log().Held())
	}
	if err := other.Prompt(t.Context(), piweb.Input{}, piweb.OpenOptions{}, func(piweb.Event) {}); !errors.Is(err, wrapper.ErrEmpty) {
		t.Errorf("an empty prompt: %v", err)
	}
	want := []string{"read"}
	if err := other.Prompt(t.Context(), piweb.Input{Text: "plain"}, piweb.OpenOptions{Tools: &want}, func(piweb.Event) {}); err != nil {
		t.Errorf("tools where nothing was chosen: %v", err)
	}
}

// TestAbortElsewhere: who asked may stop the prompt.
func TestAbortElsewhere(t *testing.T) {
	w, _, _, path := held(t)
	other, _ := w.rt.Elsewhere(path)
	ctx, cancel := context.WithCancel(t.Context())
	aborted := false
	err := other.Prompt(ctx, piweb.Input{Text: "sleep"}, piweb.OpenOptions{}, func(e piweb.Event) {
		if e.Type == agent.ToolStart {
			cancel()
		}
		if e.Aborted != nil {
			aborted = *e.Aborted
		}
	})
	if err != nil || !aborted {
		t.Errorf("aborted %v, %v", aborted, err)
	}
}

// TestTakeOver: the holder lets go at its turn's end, and the session is ours.
func TestTakeOver(t *testing.T) {
	w, _, theirs, path := held(t)
	mine, err := w.rt.Open(t.Context(), path, piweb.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mine.Prompt(t.Context(), piweb.Input{Text: "plain"}); !errors.Is(err, session.ErrInUse) {
		t.Fatalf("it is held, and the prompt says %v", err)
	} else if use := new(session.InUseError); !errors.As(err, &use) || use.Holder.PID != os.Getpid() {
		t.Errorf("the error does not name the process: %v", err)
	}
	other, _ := w.rt.Elsewhere(path)
	if err := other.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if state, _ := theirs.State(); state != wrapper.Closed {
		t.Errorf("it is %s there", state)
	}
	w.say(mine, "plain")
	if err := other.Release(t.Context()); !piweb.IsGone(err) {
		t.Errorf("asked again: %v", err)
	}
	if err := w.rt.Rename(t.Context(), path, "ours"); err != nil {
		t.Error(err)
	}
}

// TestDeadHolder: a record that a dead process left behind keeps nobody.
func TestDeadHolder(t *testing.T) {
	w, serving, _, path := held(t)
	records, err := filepath.Glob(filepath.Join(w.home, ".pi", "agent", "piweb", "leases", "*.json"))
	if err != nil || len(records) != 1 {
		t.Fatal(records, err)
	}
	info, err := os.Stat(records[0])
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the record has mode %v, %v", info.Mode(), err)
	}
	data, err := os.ReadFile(records[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := serving.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(records[0]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the record is left: %v", err)
	}
	if err := os.WriteFile(records[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.rt.Rename(t.Context(), path, "mine"); err != nil {
		t.Errorf("a dead holder keeps the session: %v", err)
	}
	if err := os.WriteFile(records[0], data, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(records[0], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, ok := w.rt.Elsewhere(path); ok {
		t.Error("a record that others can read is believed")
	}
}
