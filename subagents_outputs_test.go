package piweb_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/artifact"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/subagent"
)

// readBy has a session's own model read an address with the tool read.
func (w *world) readBy(s *piweb.Session, url string) (text string, isError bool) {
	w.t.Helper()
	w.say(s, "look up "+url+" now")
	c, err := s.Log().Context()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, m := range slices.Backward(c.Messages) {
		if r, ok := m.(*message.ToolResult); ok && r.ToolName == "read" {
			return r.Content.PlainText(), r.IsError
		}
	}
	w.t.Fatalf("%s was not read", url)
	return "", false
}

// lookups are the steps of a script for readBy, as often as it is asked.
func lookups(times int, urls ...string) string {
	var b strings.Builder
	for _, u := range urls {
		args, _ := json.Marshal(map[string]string{"path": u})
		for range times {
			fmt.Fprintf(&b, `{"match":"look up %s now","toolCalls":[{"name":"read","arguments":%s}]},{"match":"look up %[1]s now","text":"ok"},`, u, args)
		}
	}
	return b.String()
}

// under starts a child of a session, as a person does, and waits for it.
func (w *world) under(path, profile, task string) piweb.SubagentRun {
	w.t.Helper()
	r, err := w.rt.Subagents().Start(w.t.Context(), path, piweb.SubagentSpec{Profile: profile, Task: task})
	if err == nil {
		r, err = w.rt.Subagents().Wait(w.t.Context(), path, r.ID)
	}
	if err != nil || r.Status != subagent.Completed {
		w.t.Fatalf("%+v (%v)", r, err)
	}
	return r
}

// allowDepth lets children of a session have children.
func (w *world) allowDepth(s *piweb.Session, depth int) {
	w.t.Helper()
	entry, err := subagent.Budget{Limits: subagent.Limits{Depth: depth}}.Payload()
	if err == nil {
		err = s.RecordNow(entry)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// keptBeside are the answers in the folder beside a session.
func keptBeside(t *testing.T, path string) []string {
	t.Helper()
	list, err := os.ReadDir(artifact.Folder(path))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	names := []string{}
	for _, e := range list {
		if !strings.HasPrefix(e.Name(), ".id-") {
			names = append(names, e.Name())
		}
	}
	return names
}

// TestAnswersOfSubagents goes the whole way: a model delegates, the child and a
// child of the child answer, and each session that is over them reads the answers,
// by lines, by a path and by a query, also in a fork; nobody else does.
func TestAnswersOfSubagents(t *testing.T) {
	const report = "Here is what I found:\\n\\n```json\\n{\\\"summary\\\": {\\\"verdict\\\": \\\"pass\\\"}, \\\"items\\\": [{\\\"id\\\": 1}]}\\n```\\n"
	w, s := delegating(t, `{"steps":[
		{"match":"please delegate","toolCalls":[{"name":"Agent","arguments":{"prompt":"the child's task","description":"A task","subagent_type":"lead 漢/../x"}}]},
		{"match":"the child's task","text":"`+report+`"},
		{"match":"the grandchild's task","text":"[10, 20, 30]"},
		`+lookups(4, "agent://0-lead", "agent://0-lead/summary/verdict", "agent://0-lead?q=.items[0].id", "agent://0-lead.0-scout", "agent://0-lead.0-scout/2",
		"agent://0-lead.0-scout?q=[0]", "agent://0-lead/0-scout", "agent://0-nobody", "agent://0-lead/summary?q=.items", "agent://..%2F0-lead")+`
		{"text":"ok","repeat":true}]}`)
	w.put(".pi/agent/agents/lead.md", "---\nname: lead\ntools: read, ls\n---\nLEAD")
	w.put(".pi/agent/agents/scout.md", "---\nname: scout\ntools: none\n---\nSCOUT")
	w.allowDepth(s, 2)
	w.say(s, "please delegate") // no profile has that name: nothing is started, no number is used
	if got := keptBeside(t, s.Log().Path()); len(got) != 0 {
		t.Errorf("a refused start leaves %q", got)
	}
	lead := w.under(s.Log().Path(), "lead", "the child's task")
	if lead.Output != "agent://0-lead" {
		t.Errorf("the child's answer is at %q", lead.Output)
	}
	scout := w.under(lead.Path, "scout", "the grandchild's task")
	if scout.Output != "agent://0-lead.0-scout" {
		t.Errorf("the grandchild's answer is at %q", scout.Output)
	}
	for path, want := range map[string][]string{
		s.Log().Path(): {"0-lead.0-scout.json", "0-lead.0-scout.md", "0-lead.json", "0-lead.md"},
		lead.Path:      {"0-lead.0-scout.json", "0-lead.0-scout.md"},
		scout.Path:     {},
	} {
		if got := keptBeside(t, path); !slices.Equal(got, want) {
			t.Errorf("beside %s: %q, want %q", filepath.Base(path), got, want)
		}
	}
	child, err := w.rt.Open(t.Context(), lead.Path, piweb.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := w.rt.Clone(t.Context(), s.Log().Path(), piweb.ForkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	fork, err := w.rt.Open(t.Context(), f.Path, piweb.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		url, want string
		bad       bool
	}{
		{"agent://0-lead", "Here is what I found:\n\n```json\n{\"summary\"", false},
		{"agent://0-lead/summary/verdict", `"pass"`, false},
		{"agent://0-lead?q=.items[0].id", "1", false},
		{"agent://0-lead.0-scout", "[10, 20, 30]", false},
		{"agent://0-lead.0-scout/2", "30", false},
		{"agent://0-lead.0-scout?q=[0]", "10", false},
		{"agent://0-lead/0-scout", "null", false}, // a path is a key of the value, not a child
		{"agent://0-nobody", "Available: 0-lead.0-scout, 0-lead", true},
		{"agent://0-lead/summary?q=.items", "cannot combine", true},
		{"agent://..%2F0-lead", "not found", true},
	} {
		for name, by := range map[string]*piweb.Session{"the parent": s, "its fork": fork} {
			if text, bad := w.readBy(by, c.url); bad != c.bad || !strings.Contains(text, c.want) {
				t.Errorf("%s reads %s: %q, error %v", name, c.url, text, bad)
			}
		}
	}
	if text, bad := w.readBy(child, "agent://0-lead.0-scout?q=[0]"); bad || text != "10" {
		t.Errorf("the child reads its own child: %q, %v", text, bad)
	}
	if text, bad := w.readBy(child, "agent://0-lead"); !bad || !strings.Contains(text, "Available: 0-lead.0-scout") {
		t.Errorf("the child reads its parent's: %q, %v", text, bad)
	}
	stranger := w.create("read")
	if text, bad := w.readBy(stranger, "agent://0-lead"); !bad {
		t.Errorf("another session reads it: %q", text)
	}
}

// TestAnswersAtOnce: children that run together have numbers of their own, also
// those of one child that was forked, whose parent's folder is the same.
func TestAnswersAtOnce(t *testing.T) {
	w, s := delegating(t, `{"steps":[{"match":"say","repeat":true,"text":"done"},{"text":"ok","repeat":true}]}`)
	w.allowDepth(s, 2)
	w.say(s, "hello")
	all := map[string]bool{}
	together := func(paths ...string) {
		t.Helper()
		background := true
		var ids, of []string
		for _, path := range paths {
			r, err := w.rt.Subagents().Start(t.Context(), path, piweb.SubagentSpec{Profile: "explore", Task: "say it", Background: &background})
			if err != nil {
				t.Fatal(err)
			}
			ids, of = append(ids, r.ID), append(of, path)
		}
		for i, id := range ids {
			r, err := w.rt.Subagents().Wait(t.Context(), of[i], id)
			if err != nil || r.Output == "" || all[r.Output] {
				t.Errorf("%q, %v; there are %v", r.Output, err, all)
			}
			all[r.Output] = true
		}
	}
	path := s.Log().Path()
	together(path, path, path, path, path, path)
	for n := range 6 {
		if !all[fmt.Sprintf("agent://%d-explore", n)] {
			t.Errorf("number %d is missing: %v", n, all)
		}
	}
	runs, err := w.rt.Subagents().Children(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := w.rt.Clone(t.Context(), runs[0].Path, piweb.ForkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	together(runs[0].Path, f.Path, runs[0].Path, f.Path)
	if got := keptBeside(t, path); len(got) != 10 {
		t.Errorf("%d answers are beside the root: %q", len(got), got)
	}
}

// TestAnswerOfALaterRun: a resumed child answers at the address that it had, also
// where a run was interrupted by the end of the program; last words of a run that
// failed do not take the place of an answer (can1357/oh-my-pi#9518).
func TestAnswerOfALaterRun(t *testing.T) {
	w, s := delegating(t, `{"steps":[
		{"match":"first","text":"{\"n\": 1}"},
		{"match":"second","text":"half of it","toolCalls":[{"name":"ls","arguments":{}}]},
		{"match":"second","error":{"status":400,"message":"no more"}},
		{"match":"third","text":"{\"n\": 3}"},
		{"text":"ok","repeat":true}]}`)
	path := s.Log().Path()
	r := w.under(path, "explore", "first")
	resume := func(text string) piweb.SubagentRun {
		t.Helper()
		_, err := w.rt.Subagents().Resume(t.Context(), path, r.ID, text, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := w.rt.Subagents().Wait(t.Context(), path, r.ID)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	holds := func(want string) {
		t.Helper()
		f, err := artifact.New(path, artifact.Options{}).OpenAgent("0-explore")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if text, err := io.ReadAll(f); err != nil || string(text) != want {
			t.Errorf("it holds %q, %v, want %q", text, err, want)
		}
	}
	holds(`{"n": 1}`)
	if r := resume("second"); r.Status != subagent.Failed || r.Text != "half of it" || r.Output != "agent://0-explore" || !r.Older {
		t.Errorf("%+v", r)
	}
	holds(`{"n": 1}`)
	if err := w.rt.Close(); err != nil {
		t.Fatal(err)
	}
	w.rt = w.runtime()
	if r := resume("third"); r.Output != "agent://0-explore" || r.Older {
		t.Errorf("%+v", r)
	}
	holds(`{"n": 3}`)
	if got := keptBeside(t, path); !slices.Equal(got, []string{"0-explore.json", "0-explore.md"}) {
		t.Errorf("kept: %q", got)
	}
}

// TestAnswerCannotBeKept: what cannot be kept stands in the child's file, and says
// no address.
func TestAnswerCannotBeKept(t *testing.T) {
	w, s := delegating(t, `{"steps":[{"text":"the answer","repeat":true}]}`)
	w.say(s, "hello")
	if err := os.WriteFile(artifact.Folder(s.Log().Path()), []byte("a file is in the way"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := w.under(s.Log().Path(), "explore", "go"); r.Output != "" || r.Text != "the answer" {
		t.Errorf("%+v", r)
	}
}

// TestAnswersStayWithTheirOwner: a session file says which session started it. Where
// that one is somebody else's, or says nothing of being the parent, no answer is put
// beside it.
func TestAnswersStayWithTheirOwner(t *testing.T) {
	w, s := delegating(t, `{"steps":[{"text":"done","repeat":true}]}`)
	w.allowDepth(s, 2)
	w.say(s, "hello")
	child := w.under(s.Log().Path(), "explore", "go")
	hers := w.create("read")
	w.allowDepth(hers, 2)
	w.say(hers, "hello")
	before := keptBeside(t, s.Log().Path())
	if err := w.rt.Release(s); err != nil {
		t.Fatal(err)
	}
	// The parent's file is another session's now, as a forged record would have it.
	data, err := os.ReadFile(hers.Log().Path())
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile(s.Log().Path())
	if err == nil {
		err = os.WriteFile(s.Log().Path(), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if r := w.under(child.Path, "explore", "go on"); r.Output != "agent://0-explore.0-explore" {
		t.Errorf("beside the child: %q", r.Output)
	}
	if got := keptBeside(t, s.Log().Path()); !slices.Equal(got, before) {
		t.Errorf("beside a file that is no parent: %q", got)
	}
	// It is the parent, and somebody else's.
	if err := os.WriteFile(s.Log().Path(), own, 0o600); err != nil {
		t.Fatal(err)
	}
	key, err := filepath.EvalSymlinks(s.Log().Path())
	if err == nil {
		err = w.rt.Owners().Set(key, "bob")
	}
	if err != nil {
		t.Fatal(err)
	}
	if r := w.under(child.Path, "explore", "and on"); r.Output != "agent://0-explore.1-explore" {
		t.Errorf("beside the child: %q", r.Output)
	}
	if got := keptBeside(t, s.Log().Path()); !slices.Equal(got, before) {
		t.Errorf("beside bob's: %q", got)
	}
	if got := keptBeside(t, child.Path); len(got) != 2 {
		t.Errorf("beside the child: %q", got)
	}
}
