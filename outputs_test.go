package piweb_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/offline"
	"github.com/piweb-go/piweb/artifact"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/wrapper"
)

// offlineRuntime is a runtime whose model does what it is asked.
func offlineRuntime(t *testing.T) (rt *piweb.Runtime, project string) {
	t.Helper()
	home := t.TempDir()
	project = filepath.Join(home, "project")
	if err := os.MkdirAll(project, 0o755); err != nil {
		t.Fatal(err)
	}
	return offlineRuntimeIn(t, home, nil), project
}

// offlineRuntimeIn is a runtime with a home and an environment.
func offlineRuntimeIn(t *testing.T, home string, env map[string]string) *piweb.Runtime {
	t.Helper()
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	rt, err := piweb.New(piweb.Config{Home: home, Lookup: lookup, Providers: model.Registry{offline.API: offline.New}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rt.Close() })
	return rt
}

// ask prompts and returns the result of the last call.
func ask(t *testing.T, s *piweb.Session, text string) *message.ToolResult {
	t.Helper()
	turn, err := s.Prompt(t.Context(), piweb.Input{Text: text})
	if err == nil {
		err = turn.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Log().Context()
	if err != nil {
		t.Fatal(err)
	}
	for i := len(c.Messages) - 1; i >= 0; i-- {
		if r, ok := c.Messages[i].(*message.ToolResult); ok {
			return r
		}
	}
	t.Fatal("no tool was called")
	return nil
}

// TestLongOutputStaysFindable: what a command printed and the model did not see is
// beside the session, named in the result, read by the tool read, and still there
// under the same name in a fork, after a move, and back from the trash.
func TestLongOutputStaysFindable(t *testing.T) {
	rt, project := offlineRuntime(t)
	tools := []string{"read", "bash", "grep", "ls", "find"}
	s, err := rt.Create(context.Background(), project, piweb.OpenOptions{Tools: &tools})
	if err != nil {
		t.Fatal(err)
	}
	r := ask(t, s, "run `seq 1 30000`")
	var d struct {
		FullOutputPath string
		Truncation     struct{ TotalLines int }
	}
	if err := json.Unmarshal(r.Details, &d); err != nil {
		t.Fatal(err)
	}
	side := strings.TrimSuffix(s.Log().Path(), ".jsonl")
	if d.FullOutputPath != filepath.Join(side, "0.bash.log") || d.Truncation.TotalLines != 30000 || !strings.HasSuffix(r.Content.PlainText(), "whole output: artifact://0]") {
		t.Fatalf("details %s\n…%s", d.FullOutputPath, r.Content.PlainText()[max(0, len(r.Content.PlainText())-200):])
	}
	r = ask(t, s, `call read {"path": "artifact://0", "offset": 12345, "limit": 2}`)
	if got := r.Content.PlainText(); !strings.HasPrefix(got, "12345\n12346\n\n[") || r.IsError {
		t.Errorf("read by lines: %q", got)
	}
	if r = ask(t, s, `call read {"path": "artifact://7"}`); !r.IsError || !strings.Contains(r.Content.PlainText(), "Available: 0") {
		t.Errorf("an id that is not there: %q", r.Content.PlainText())
	}
	// A short one keeps nothing.
	ask(t, s, "run `seq 1 3`")
	if list, _ := artifact.New(s.Log().Path(), artifact.Options{}).List(); len(list) != 1 {
		t.Errorf("kept: %v", list)
	}
	path := s.Log().Path()
	if err := rt.Release(s); err != nil {
		t.Fatal(err)
	}

	f, err := rt.Clone(context.Background(), path, piweb.ForkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	fork, err := rt.Open(context.Background(), f.Path, piweb.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if r = ask(t, fork, `call read {"path": "artifact://0", "offset": 30000}`); !strings.HasPrefix(r.Content.PlainText(), "30000") {
		t.Errorf("in the fork: %q", r.Content.PlainText())
	}
	if r = ask(t, fork, "run `seq 1 3000`"); !strings.Contains(r.Content.PlainText(), "artifact://1]") {
		t.Errorf("the fork reuses an id: …%q", r.Content.PlainText()[len(r.Content.PlainText())-80:])
	}

	elsewhere := filepath.Join(filepath.Dir(project), "elsewhere 名前")
	if err := os.Mkdir(elsewhere, 0o755); err != nil {
		t.Fatal(err)
	}
	moved, err := rt.Move(context.Background(), path, elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	has := func(file string, want bool) {
		t.Helper()
		if got := artifact.New(file, artifact.Options{}).Exists("0"); got != want {
			t.Errorf("%s has its output: %v, want %v", file, got, want)
		}
	}
	has(path, false)
	has(moved, true)
	gone, err := rt.Delete(context.Background(), moved)
	if err != nil {
		t.Fatal(err)
	}
	has(moved, false)
	if _, err := rt.Restore(context.Background(), elsewhere, moved); err != nil {
		t.Fatal(err)
	}
	has(moved, true)
	if gone, err = rt.Delete(context.Background(), moved); err != nil {
		t.Fatal(err)
	}
	if _, err := rt.Purge(context.Background(), elsewhere, moved); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(gone[0].Path)); !os.IsNotExist(err) {
		t.Errorf("after the purge: %v", err)
	}
	has(f.Path, true) // the fork's copy is its own
}

// TestPicturesForTheTerminal: a SIXEL picture is kept with an output where the user
// has opened both gates, and else goes with the other escape sequences.
func TestPicturesForTheTerminal(t *testing.T) {
	for _, env := range []map[string]string{nil, {"PI_FORCE_IMAGE_PROTOCOL": "sixel", "PI_ALLOW_SIXEL_PASSTHROUGH": "1"}} {
		_, project := offlineRuntime(t)
		rt := offlineRuntimeIn(t, filepath.Dir(project), env)
		tools := []string{"bash"}
		s, err := rt.Create(t.Context(), project, piweb.OpenOptions{Tools: &tools})
		if err != nil {
			t.Fatal(err)
		}
		ask(t, s, "run `printf '\\033Pq#0~~\\033\\\\'; seq 1 30000`")
		data, err := os.ReadFile(filepath.Join(artifact.Folder(s.Log().Path()), "0.bash.log"))
		want := "1\n2\n"
		if env != nil {
			want = "\x1bPq#0~~\x1b\\1\n2\n"
		}
		if err != nil || !strings.HasPrefix(string(data), want) {
			t.Errorf("with %v it begins with %q, %v", env, data[:min(len(data), 20)], err)
		}
	}
}

// TestMoveTellsWhatStays: outputs whose number is taken at the new place stay, and
// the user hears of it: from the move, also where another program makes it, and from
// the session when that program opens it, once.
func TestMoveTellsWhatStays(t *testing.T) {
	w, serving, _, path := held(t)
	other := filepath.Join(w.home, "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := artifact.New(path, artifact.Options{}).Save("read", "ours"); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(filepath.Dir(filepath.Dir(path)), session.DirName(other), filepath.Base(path))
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := artifact.New(target, artifact.Options{}).Save("bash", "theirs"); err != nil {
		t.Fatal(err)
	}
	to, notes, err := w.rt.MoveNoted(t.Context(), path, other)
	if err != nil || to != target || len(notes) != 1 || !strings.Contains(notes[0], "0.read.log") {
		t.Fatalf("moved to %s, notes %q, %v", to, notes, err)
	}
	count := func(s *piweb.Session) (n int) {
		s.Tell("the end")
		sub := s.Subscribe(1)
		defer sub.Close()
		for {
			e, err := sub.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case e.Type == wrapper.Notice && e.Reason == notes[0]:
				n++
			case e.Reason == "the end":
				return n
			}
		}
	}
	for i, want := range []int{1, 0} {
		s, err := serving.Open(t.Context(), to, piweb.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if n := count(s); n != want {
			t.Errorf("opened %d times: told %d times", i+1, n)
		}
		if err := serving.Release(s); err != nil {
			t.Fatal(err)
		}
	}
}
