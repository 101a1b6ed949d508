package piweb_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/session/catalog"
	"github.com/piweb-go/piweb/toolselect"
	"github.com/piweb-go/piweb/wrapper"
	"pgregory.net/rapid"
)

// rights are all that a policy may allow, asked one by one.
func rights(p policy.Policy) map[string]bool {
	may := map[string]bool{}
	names := append(toolselect.Builtins(), "from_an_extension", "Agent", "steer_subagent", "powershell")
	for _, name := range append(names, p.Tools...) {
		ok, _ := p.Admits(policy.Tool{Name: name, Builtin: toolselect.IsBuiltin(name)})
		may["tool "+name] = ok
	}
	if p.Kind == policy.Refused {
		return map[string]bool{}
	}
	l := p.Loads
	for name, ok := range map[string]bool{"context files": l.ContextFiles, "SYSTEM.md": l.SystemPrompt, "APPEND_SYSTEM.md": l.AppendPrompt,
		"skills": l.Skills, "templates": l.Templates, "extensions": l.Extensions, "mcp": l.MCP} {
		may[name] = ok
	}
	return may
}

// wider lists what one policy allows and the other does not.
func wider(p, than policy.Policy) (out []string) {
	limit := rights(than)
	for what, ok := range rights(p) {
		if ok && !limit[what] {
			out = append(out, what)
		}
	}
	slices.Sort(out)
	return out
}

// history writes a session file that any programs might have left.
func history(t *rapid.T, cwd string) (text string, ids []session.ID) {
	line := func(v map[string]any) string {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(data) + "\n"
	}
	text = line(map[string]any{"type": "session", "version": 3, "id": "src", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": cwd})
	tools := rapid.SliceOfNDistinct(rapid.SampledFrom(toolselect.Builtins()), 0, 4, rapid.ID[string])
	custom := func(name string, data any) map[string]any {
		return map[string]any{"type": "custom", "customType": name, "data": data}
	}
	declaration := func(writer string) map[string]any {
		var added []map[string]any
		for _, name := range tools.Draw(t, "declared") {
			added = append(added, map[string]any{"name": name, "description": "", "parameters": map[string]any{}})
		}
		return map[string]any{"type": "message", "message": map[string]any{"role": "system", "content": "", "toolsAdded": added, "writer": writer}}
	}
	entries := map[string]func() map[string]any{
		"user": func() map[string]any {
			return map[string]any{"type": "message", "message": map[string]any{"role": "user", "content": "x"}}
		},
		"label": func() map[string]any { return map[string]any{"type": "label", "targetId": "e0", "label": "l"} },
		"pin": func() map[string]any {
			return custom(toolselect.CustomType, map[string]any{"version": 1, "tools": tools.Draw(t, "pin")})
		},
		"chat only": func() map[string]any {
			return custom(toolselect.CustomType, map[string]any{"version": 1, "tools": []string{}})
		},
		"cleared": func() map[string]any {
			return custom(toolselect.CustomType, map[string]any{"version": 1, "cleared": true})
		},
		"no choice": func() map[string]any {
			return custom(toolselect.CustomType, map[string]any{"version": 2, "tools": []string{"bash"}})
		},
		"pi's": func() map[string]any { return declaration("") },
		"ours": func() map[string]any { return declaration("piweb") },
		"active": func() map[string]any {
			return map[string]any{"type": "active_tools_change", "activeToolNames": tools.Draw(t, "active")}
		},
		"receipt": func() map[string]any {
			source := map[string]any{"by": "default"}
			if len(ids) > 0 && rapid.Bool().Draw(t, "by transcript") {
				source = map[string]any{"by": "transcript", "entry": rapid.SampledFrom(ids).Draw(t, "entry")}
			}
			return custom(policy.ReceiptType, map[string]any{"version": 1, "policy": map[string]any{"kind": "open", "source": source}, "system": map[string]any{"sha256": "x"}})
		},
	}
	kinds := []string{"user", "user", "label", "pin", "chat only", "cleared", "no choice", "pi's", "ours", "active", "receipt"}
	if rapid.IntRange(0, 2).Draw(t, "a subagent") == 0 {
		kinds = append(kinds, "subagent", "subagent", "subagent")
		entries["subagent"] = func() map[string]any {
			snap := map[string]any{"version": rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "version"), "appendSystemPrompt": []string{"p"},
				"tools": tools.Draw(t, "snapshot"), "loadSkills": rapid.Bool().Draw(t, "skills"), "loadExtensions": rapid.Bool().Draw(t, "extensions")}
			if rapid.Bool().Draw(t, "exact") {
				snap["exactSystemPrompt"] = rapid.SampledFrom([]string{"", "exact", "other"}).Draw(t, "prompt")
			}
			return custom(policy.SubagentType, map[string]any{"version": 1, "resourceSnapshot": snap})
		}
	}
	for i := range rapid.IntRange(1, 12).Draw(t, "entries") {
		e := entries[rapid.SampledFrom(kinds).Draw(t, "kind")]()
		id := session.ID(fmt.Sprint("e", i))
		var parent any
		if len(ids) > 0 {
			parent = ids[len(ids)-1]
			if rapid.IntRange(0, 2).Draw(t, "branches off") == 0 {
				parent = rapid.SampledFrom(append([]session.ID{"lost"}, ids...)).Draw(t, "parent")
			}
		}
		e["id"], e["parentId"], e["timestamp"] = id, parent, "2026-01-01T00:00:00.000Z"
		text += line(e)
		ids = append(ids, id)
	}
	return text, ids
}

// TestForkNeverWidens: whatever the history, the settings and the folder, a fork
// may do nothing that its source may not do at that moment; a subagent's fork is a
// subagent. What it tells of its policy is what the file says.
func TestForkNeverWidens(t *testing.T) {
	w := newWorld(t, toolTurns(t))
	n, carried, narrowed, children, refused := 0, 0, 0, 0, 0
	check := func(rt *rapid.T) {
		n++
		settings := func(name string) string {
			if !rapid.Bool().Draw(rt, "settings of "+name) {
				return `{}`
			}
			list, _ := json.Marshal(rapid.SliceOfNDistinct(rapid.SampledFrom(toolselect.Builtins()), 0, 3, rapid.ID[string]).Draw(rt, "of "+name))
			return `{"defaultTools":` + string(list) + `}`
		}
		w.put(".pi/agent/settings.json", `{"defaultProjectTrust":"always"}`)
		w.put("my project 漢/.pi/settings.json", settings("its folder"))
		w.put("other/.pi/settings.json", settings("another"))
		text, ids := history(rt, w.project)
		name := fmt.Sprintf("histories/%d/s.jsonl", n)
		w.put(name, text)
		path := filepath.Join(w.home, filepath.FromSlash(name))
		src, _, err := w.rt.Decide(path, "")
		if err != nil {
			rt.Fatal(err)
		}
		o := piweb.ForkOptions{}
		if rapid.IntRange(0, 4).Draw(rt, "all") > 0 {
			o.At = rapid.SampledFrom(ids).Draw(rt, "at")
			o.Before = rapid.Bool().Draw(rt, "before")
		}
		if rapid.Bool().Draw(rt, "elsewhere") {
			o.CWD = filepath.Join(w.home, "other")
		}
		f, err := w.rt.Fork(t.Context(), path, o)
		if errors.Is(err, wrapper.ErrChild) {
			if src.Kind != policy.Child && src.Kind != policy.Refused {
				rt.Fatalf("refused for a subagent, which %s is not", src)
			}
			refused++
			return
		}
		if err != nil {
			rt.Fatal(err)
		}
		got, _, err := w.rt.Decide(f.Path, "")
		if err != nil {
			rt.Fatal(err)
		}
		if more := wider(got, src); len(more) > 0 {
			rt.Fatalf("the source: %s\nthe fork: %s\nmore: %v\n%s", src, got, more, text)
		}
		if src.Kind == policy.Child || src.Kind == policy.Refused {
			children++
			if got.Kind != src.Kind || got.Prompt != src.Prompt {
				rt.Fatalf("the source: %s\nthe fork: %s", src, got)
			}
		}
		if got.Kind != f.Policy.Kind || !slices.Equal(got.Tools, f.Policy.Tools) || got.Loads != f.Policy.Loads {
			rt.Fatalf("told: %s\nis: %s", f.Policy, got)
		}
		if src.Kind == policy.Pinned || src.Kind == policy.ChatOnly {
			if got.Kind != src.Kind || !slices.Equal(got.Tools, src.Tools) {
				rt.Fatalf("the pin %s became %s", src, got)
			}
		}
		if f.Carried.State() != toolselect.Unset {
			carried++
			if src.Kind == policy.Open && got.Kind != policy.Open {
				narrowed++
			}
		}
		if now, _ := os.ReadFile(path); string(now) != text {
			rt.Fatal("the source was changed")
		}
	}
	for round := 0; round < 2 || round < 20 && min(narrowed, children, refused) == 0; round++ { // until every case came up
		rapid.Check(t, check)
	}
	t.Logf("%d histories: %d carried the choice, %d of them a narrower one, %d subagents, %d refused", n, carried, narrowed, children, refused)
	if narrowed == 0 || children == 0 || refused == 0 {
		t.Error("a case never came up")
	}
}

// TestForkCarriesTheLaterPin is the known case: the source is Chat Only by a pin
// behind the fork point.
func TestForkCarriesTheLaterPin(t *testing.T) {
	w := newWorld(t, toolTurns(t))
	s := w.create("read")
	w.say(s, "plain")
	at := s.Log().Leaf()
	w.choose(s, toolselect.ChatOnly())
	w.say(s, "plain")
	f, err := w.rt.Fork(t.Context(), s.Log().Path(), piweb.ForkOptions{At: at})
	if err != nil || !f.Carried.IsChatOnly() || f.Policy.Kind != policy.ChatOnly {
		t.Fatalf("%+v (%v)", f, err)
	}
	fork, err := w.rt.Open(t.Context(), f.Path, piweb.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.say(fork, "plain")
	if head, _ := modeltest.Head(w.last().Body); string(head) != chatHead || modeltest.HasTools(w.last().Body) {
		t.Errorf("the fork asked with the head %q", head)
	}
	w.checkReceipts(fork)
	again, err := w.rt.Clone(t.Context(), f.Path, piweb.ForkOptions{CWD: w.home})
	if err != nil || again.Carried.State() != toolselect.Unset || again.CWD != w.home || !strings.Contains(again.Path, session.DirName(w.home)) {
		t.Errorf("a clone of it: %+v (%v)", again, err)
	}
}

// TestManageWhileRunning: everything but the name waits for the end of a prompt.
func TestManageWhileRunning(t *testing.T) {
	w := newWorld(t, modeltest.Parse(t, `{"steps":[{"text":"slow answer","delayMs":20000}]}`))
	s := w.create("read")
	turn, err := s.Prompt(t.Context(), piweb.Input{Text: "go"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.provider.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	path := s.Log().Path()
	for what, do := range map[string]func(rt *piweb.Runtime) error{
		"fork":   func(rt *piweb.Runtime) error { _, err := rt.Fork(t.Context(), path, piweb.ForkOptions{}); return err },
		"clone":  func(rt *piweb.Runtime) error { _, err := rt.Clone(t.Context(), path, piweb.ForkOptions{}); return err },
		"move":   func(rt *piweb.Runtime) error { _, err := rt.Move(t.Context(), path, w.home); return err },
		"delete": func(rt *piweb.Runtime) error { _, err := rt.Delete(t.Context(), path); return err },
	} {
		if err := do(w.rt); !errors.Is(err, wrapper.ErrRunning) {
			t.Errorf("%s: %v", what, err)
		}
		if what == "fork" || what == "clone" {
			continue // reading is free
		}
		if err := do(w.runtime()); !errors.Is(err, session.ErrInUse) {
			t.Errorf("%s by another process: %v", what, err)
		}
	}
	if err := w.rt.Rename(t.Context(), path, "named\nmeanwhile"); err != nil {
		t.Errorf("rename: %v", err)
	}
	s.Abort()
	_ = turn.Wait(t.Context())
	if name, err := s.Log().Name(); name != "named meanwhile" {
		t.Errorf("name %q (%v)", name, err)
	}
}

// TestMoveOfALiveSession: it is closed, goes, and works at its new place.
func TestMoveOfALiveSession(t *testing.T) {
	w := newWorld(t, toolTurns(t))
	s := w.create("read")
	w.say(s, "plain")
	old := s.Log().Path()
	w.put("other/x", "")
	to, err := w.rt.Move(t.Context(), old, filepath.Join(w.home, "other"))
	if err != nil {
		t.Fatal(err)
	}
	if state, _ := s.State(); state != wrapper.Closed {
		t.Errorf("the live session is %s", state)
	}
	if _, err := os.Stat(old); !errors.Is(err, fs.ErrNotExist) || filepath.Dir(to) == filepath.Dir(old) {
		t.Errorf("from %s to %s", old, to)
	}
	moved, err := w.rt.Open(t.Context(), to, piweb.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.say(moved, "plain")
	if p, _ := moved.Policy(); moved.Folder().Path != filepath.Join(w.home, "other") || moved.ID() != s.ID() || !slices.Equal(p.Tools, []string{"read"}) {
		t.Errorf("in %s, %s", moved.Folder().Path, p)
	}
	w.checkReceipts(moved)
	if _, err := w.rt.Move(t.Context(), to, filepath.Join(w.home, "nowhere")); !errors.Is(err, wrapper.ErrFolder) {
		t.Errorf("to no folder: %v", err)
	}
	if _, err := w.rt.Move(t.Context(), old, w.home); !errors.Is(err, session.ErrNoFile) {
		t.Errorf("what is gone: %v", err)
	}
}

// child writes the file of a subagent.
func (w *world) child(name, id, parentID, parentPath string) string {
	w.t.Helper()
	data, _ := json.Marshal(map[string]any{"version": 1, "parentSessionId": parentID, "parentSessionPath": parentPath,
		"resourceSnapshot": map[string]any{"version": 1, "appendSystemPrompt": []string{}, "tools": []string{"read"}}})
	head, _ := json.Marshal(map[string]any{"type": "session", "version": 3, "id": id, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": w.project, "parentSession": parentPath})
	file := ".pi/agent/sessions/--p--/" + name + ".jsonl"
	w.put(file, string(head)+"\n"+`{"type":"custom","customType":"pi-web:subagent","data":`+string(data)+`,"id":"m","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z"}`+"\n")
	return filepath.Join(w.home, filepath.FromSlash(file))
}

// TestDeleteTakesSubagents: and theirs, but not those of a copy with the same id;
// all come back together, and none goes alone.
func TestDeleteTakesSubagents(t *testing.T) {
	w := newWorld(t, toolTurns(t))
	s := w.create("read")
	w.say(s, "plain")
	path, id := s.Log().Path(), s.ID()
	child := w.child("child", "c", id, path)
	grandchild := w.child("grandchild", "g", "c", child)
	lost := w.child("lost", "l", id, filepath.Join(w.home, "was-moved.jsonl"))
	copied, err := w.rt.Import(t.Context(), w.project, path, "")
	if err != nil {
		t.Fatal(err)
	}
	others := w.child("others", "o", id, copied)
	loop := w.child("loop", "c", "g", grandchild)

	// One of them is in use elsewhere: nothing goes.
	held, err := session.Open(grandchild, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := held.Append(session.SessionInfo{Name: "n"}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.rt.Delete(t.Context(), path); !errors.Is(err, session.ErrInUse) {
		t.Errorf("while one is in use: %v", err)
	}
	held.Close()
	for _, p := range []string{path, child, grandchild, lost, copied, others, loop} {
		if _, err := os.Stat(p); err != nil {
			t.Errorf("a refused deletion: %v", err)
		}
	}

	gone, err := w.rt.Delete(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	var origins []string
	for _, g := range gone {
		origins = append(origins, g.Origin)
	}
	slices.Sort(origins[1:])
	want := []string{path, child, grandchild, loop, lost}
	slices.Sort(want[1:])
	if d := cmp.Diff(want, origins); d != "" {
		t.Error(d)
	}
	if again, err := w.rt.Delete(t.Context(), path); err != nil || len(again) != 1 || again[0].Place != gone[0].Place {
		t.Errorf("deleted again: %v (%v)", again, err)
	}
	infos, err := w.rt.Sessions(t.Context(), w.project)
	if err != nil || len(infos) != 2 {
		t.Errorf("%d sessions are listed (%v)", len(infos), err)
	}
	if list, err := w.rt.Trashed(w.project); err != nil || len(list) != 5 {
		t.Errorf("%d in the trash (%v)", len(list), err)
	}
	for _, ref := range []string{"", "nothing", "x.jsonl"} {
		if _, err := w.rt.Restore(t.Context(), w.project, ref); !errors.Is(err, catalog.ErrNone) {
			t.Errorf("restore %q: %v", ref, err)
		}
	}
	if _, err := w.rt.Restore(t.Context(), w.project, "c"); !errors.Is(err, catalog.ErrAmbiguous) {
		t.Errorf("restore of an id that two have: %v", err)
	}

	// One of them cannot come back: none does.
	if err := os.WriteFile(lost, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := w.rt.Restore(t.Context(), w.project, id[:13]); !errors.Is(err, session.ErrTaken) {
		t.Errorf("over another file: %v", err)
	}
	if list, err := w.rt.Trashed(w.project); err != nil || len(list) != 5 {
		t.Errorf("after a refused restore: %d in the trash (%v)", len(list), err)
	}
	if err := os.Remove(lost); err != nil {
		t.Fatal(err)
	}
	back, err := w.rt.Restore(t.Context(), w.project, id[:13])
	if err != nil || len(back) != 5 {
		t.Fatalf("%v (%v)", back, err)
	}
	for _, p := range origins {
		if _, err := os.Stat(p); err != nil {
			t.Error(err)
		}
	}
	if list, _ := w.rt.Trashed(w.project); len(list) != 0 {
		t.Errorf("%d are left in the trash", len(list))
	}
}

// TestImportFolder: a copy goes to its own folder's sessions where that exists.
func TestImportFolder(t *testing.T) {
	w := newWorld(t, toolTurns(t))
	w.put("here.jsonl", `{"type":"session","version":3,"id":"s","timestamp":"t","cwd":`+string(must(json.Marshal(w.project)))+"}\n")
	w.put("gone.jsonl", `{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/no/such/folder"}`+"\n")
	file := func(name string) string { return filepath.Join(w.home, name) }
	for _, c := range []struct{ file, folder, dir, cwd string }{
		{"here.jsonl", "", w.project, w.project},
		{"gone.jsonl", "", w.home, "/no/such/folder"},
		{"gone.jsonl", w.project, w.project, w.project},
	} {
		to, err := w.rt.Import(t.Context(), w.home, file(c.file), c.folder)
		if err != nil {
			t.Fatal(err)
		}
		h, err := session.ReadHeader(to)
		if err != nil || h.CWD != c.cwd || filepath.Base(filepath.Dir(to)) != session.DirName(c.dir) {
			t.Errorf("%s: to %s, folder %q (%v)", c.file, to, h.CWD, err)
		}
	}
	if _, err := w.rt.Import(t.Context(), w.home, file("nothing.jsonl"), ""); !errors.Is(err, session.ErrNoFile) {
		t.Errorf("no file: %v", err)
	}
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

func TestRename(t *testing.T) {
	w := newWorld(t, toolTurns(t))
	s := w.create("read")
	w.say(s, "plain")
	path := s.Log().Path()
	for _, name := range []string{"live", "not live"} {
		if err := w.rt.Rename(t.Context(), path, "  "+name+"\r\n"); err != nil {
			t.Fatal(err)
		}
		if got := catalog.Read(path).Name; got != name {
			t.Errorf("name %q, want %q", got, name)
		}
		for _, bad := range []string{"", " \n", strings.Repeat("x", 201)} {
			if err := w.rt.Rename(t.Context(), path, bad); !errors.Is(err, wrapper.ErrName) {
				t.Errorf("%q: %v", bad, err)
			}
		}
		if err := w.rt.Release(s); err != nil {
			t.Fatal(err)
		}
	}
}

// Fork a session at its first answer. The choice of tools was made later; the fork
// keeps it all the same.
func ExampleRuntime_Fork() {
	rt, project, cleanup := exampleRuntime()
	defer cleanup()
	ctx := context.Background()

	s, err := rt.Create(ctx, project, piweb.OpenOptions{})
	if err != nil {
		log.Fatal(err)
	}
	turn, err := s.Prompt(ctx, piweb.Input{Text: "hello"})
	if err == nil {
		err = turn.Wait(ctx)
	}
	if err != nil {
		log.Fatal(err)
	}
	answer := s.Log().Leaf()
	if _, err := s.SetTools(ctx, toolselect.ChatOnly()); err != nil {
		log.Fatal(err)
	}

	fork, err := rt.Fork(ctx, s.Log().Path(), piweb.ForkOptions{At: answer})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(fork.Policy.Kind, "carried:", fork.Carried)
	// Output: chat-only carried: Chat Only
}
