package subagent

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/piweb-go/piweb/resource"
)

// The rows SA1 to SA23 of pi-web's table about profiles, and SS1 to SS5 about their
// settings. Rows about records are in manager_test.go; SA9 is in package policy.

func (w *world) global(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.agentDir, "agents", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func (w *world) read(path string) string {
	w.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

func TestSA1BuiltIns(t *testing.T) {
	w, m := newWorld(t)
	all, _ := m.Profiles(w.cwd)
	got := map[string]string{}
	for _, p := range all {
		got[p.Name] = strings.Join(p.Tools, " ")
		if p.Prompt == "" || p.Description == "" || p.Source != Builtin || p.Skills || p.Extensions || p.InheritContext || p.Background || p.Replace {
			t.Errorf("%+v", p)
		}
	}
	want := map[string]string{"general-purpose": "read bash edit write grep find ls", "explore": "read grep find ls", "plan": "read grep find ls"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestSA2Precedence(t *testing.T) {
	w, m := newWorld(t)
	w.global("explore.md", "---\ndisplay_name: B global\n---\ng")
	w.put(".agents/agents/EXPLORE.md", "---\ndisplay_name: C workspace\n---\nw")
	w.put(".pi/agents/Explore.md", "---\ndisplay_name: D project\n---\np")
	w.put(".pi/agents/unrelated.md", "u")
	all, _ := m.Profiles(w.cwd)
	over := map[string]bool{}
	for _, p := range all {
		if strings.EqualFold(p.Name, "explore") {
			over[string(p.Source)] = p.Overridden
		} else if p.Overridden {
			t.Errorf("%s is hidden", p.Name)
		}
	}
	if d := cmp.Diff(map[string]bool{"builtin": true, "global": true, "workspace": true, "project": false}, over); d != "" {
		t.Error(d)
	}
	if p, err := m.Resolve(w.cwd, " eXplore "); err != nil || p.Prompt != "p" {
		t.Errorf("%+v (%v)", p, err)
	}
}

// TestD14UntrustedProject: a project's profile does not replace a built-in one
// before somebody trusts the folder.
func TestD14UntrustedProject(t *testing.T) {
	w, m := newWorld(t)
	w.put(".pi/agents/explore.md", "everything is allowed")
	w.put(".agents/agents/plan.md", "everything is allowed")
	w.trusted = false
	for _, name := range []string{"explore", "plan"} {
		if p, err := m.Resolve(w.cwd, name); err != nil || p.Source != Builtin || len(p.Tools) != 4 {
			t.Errorf("%s: %+v (%v)", name, p, err)
		}
	}
	w.trusted = true
	if p, _ := m.Resolve(w.cwd, "explore"); p.Source != resource.ProjectProfile {
		t.Errorf("trusted: %+v", p)
	}
}

func TestSA3SavedProfileRoundTrips(t *testing.T) {
	w, m := newWorld(t)
	d := Draft{Name: "Explore", DisplayName: "My explorer: 漢", Description: "Looks # at \"things\"", Tools: []string{"read", "bash"}, Skills: true, Extensions: true,
		Enabled: true, Inherit: true, Background: true, Replace: true, Model: "p/m-1", Thinking: "high", MaxTurns: 7, Color: "blue", Isolation: "worktree", Prompt: "Line one\n\n  indented\n---\nline four"}
	saved, err := m.Save(resource.ProjectProfile, w.cwd, d)
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Resolve(w.cwd, "explore")
	if err != nil {
		t.Fatal(err)
	}
	p.SHA256, saved.SHA256 = "", ""
	if diff := cmp.Diff(saved, p); diff != "" {
		t.Errorf("what was saved is not what is read: %s", diff)
	}
	back := Draft{Name: p.Name, DisplayName: p.DisplayName, Description: p.Description, Tools: p.Tools, Skills: p.Skills, Extensions: p.Extensions, Enabled: p.Enabled,
		Inherit: p.InheritContext, Background: p.Background, Replace: p.Replace, Model: p.Model, Thinking: p.Thinking, MaxTurns: float64(p.MaxTurns), Color: p.Color, Isolation: p.Isolation, Prompt: p.Prompt}
	if diff := cmp.Diff(d, back); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(p.File); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v (%v)", info.Mode(), err)
	}
	if built, _ := m.Profiles(w.cwd); len(built) != 4 {
		t.Errorf("%d profiles", len(built))
	}
}

func TestSA4Selectors(t *testing.T) {
	p, err := resource.ParseProfile("x", "---\ntools: read, ext:mcp/search, write\ndisallowed_tools: write\n---\n")
	if err != nil {
		t.Fatal(err)
	}
	have := []ExtensionTool{{"mcp__mcp__search", "mcp"}, {"mcp__mcp__other", "mcp"}, {"search", "elsewhere"}}
	if got := extensionTools(p, have); !cmp.Equal(got, []string{"mcp__mcp__search"}) || !cmp.Equal(p.Tools, []string{"read"}) || !p.Extensions {
		t.Errorf("%v of %+v", got, p)
	}
	for selectors, want := range map[string]int{"*": 3, "MCP": 2, "mcp/*": 2, "mcp/SEARCH": 1, "nobody": 0, "elsewhere/search": 1} {
		p.Selectors = []string{selectors}
		if got := extensionTools(p, have); len(got) != want {
			t.Errorf("ext:%s selects %v", selectors, got)
		}
	}
	p.Extensions = false
	if got := extensionTools(p, have); got != nil {
		t.Errorf("extensions are off: %v", got)
	}
}

func TestSA10NoTools(t *testing.T) {
	w, m := newWorld(t)
	p, err := m.Save(resource.GlobalProfile, w.cwd, Draft{Name: "talker", Enabled: true, Prompt: "x"})
	if err != nil || len(p.Tools) != 0 || !p.ChatOnly() || !strings.Contains(w.read(p.File), "\ntools: none\n") {
		t.Errorf("%+v (%v)", p, err)
	}
}

func TestSA11Tidied(t *testing.T) {
	w, m := newWorld(t)
	p, err := m.Save(resource.GlobalProfile, w.cwd, Draft{Name: " tidy ", Description: "  d ", Tools: []string{" read ", "read", "unheard_of"}, MaxTurns: 4.9, Enabled: true, Prompt: " \nx\n "})
	if err != nil || p.Name != "tidy" || p.Description != "d" || p.DisplayName != "tidy" || !cmp.Equal(p.Tools, []string{"read"}) || p.MaxTurns != 4 || p.Prompt != "x" {
		t.Errorf("%+v (%v)", p, err)
	}
	if !strings.HasSuffix(w.read(p.File), "---\n\nx\n") {
		t.Errorf("%q", w.read(p.File))
	}
}

func TestSA12Refused(t *testing.T) {
	w, m := newWorld(t)
	for name, d := range map[string]Draft{
		"escape": {Name: "../escape"}, "no name": {}, "thinking": {Name: "x", Thinking: "extreme"}, "infinite": {Name: "x", MaxTurns: math.Inf(1)},
		"negative": {Name: "x", MaxTurns: -1}, "isolation": {Name: "x", Isolation: "prison"}, "two lines": {Name: "x", Description: "a\nb: c"},
	} {
		if _, err := m.Save(resource.GlobalProfile, w.cwd, d); !errors.Is(err, ErrDraft) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := m.Save(resource.WorkspaceProfile, w.cwd, Draft{Name: "x"}); !errors.Is(err, ErrScope) {
		t.Errorf("workspace: %v", err)
	}
	if list, _ := os.ReadDir(filepath.Join(w.agentDir, "agents")); len(list) != 1 { // the settings
		t.Errorf("%v", list)
	}
}

func TestSA13ToSA15Delete(t *testing.T) {
	w, m := newWorld(t)
	w.put(".agents/agents/explore.md", "workspace")
	for _, scope := range []resource.ProfileSource{resource.GlobalProfile, resource.ProjectProfile} {
		if _, err := m.Save(scope, w.cwd, Draft{Name: "Explore", Enabled: true, Prompt: string(scope)}); err != nil {
			t.Fatal(err)
		}
	}
	prompt := func() string {
		p, err := m.Resolve(w.cwd, "explore")
		if err != nil {
			return err.Error()
		}
		return p.Prompt
	}
	steps := []string{prompt()}
	for range 2 { // the second time it is not there, which is no error
		if err := m.Delete(resource.ProjectProfile, w.cwd, "explore"); err != nil {
			t.Fatal(err)
		}
	}
	steps = append(steps, prompt())
	if err := os.RemoveAll(filepath.Join(w.cwd, ".agents")); err != nil {
		t.Fatal(err)
	}
	steps = append(steps, prompt())
	if err := m.Delete(resource.GlobalProfile, w.cwd, "EXPLORE"); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"project", "workspace", "global"}, steps); d != "" {
		t.Error(d)
	}
	if p, _ := m.Resolve(w.cwd, "explore"); p.Source != Builtin {
		t.Errorf("the built-in one is not back: %+v", p)
	}
}

func TestSA16And17Disabled(t *testing.T) {
	w, m := newWorld(t)
	if p, err := m.Toggle(Builtin, w.cwd, "EXPLORE", false); err != nil || p.Enabled {
		t.Fatalf("%+v (%v)", p, err)
	}
	if _, err := m.Resolve(w.cwd, "explore"); !errors.Is(err, ErrProfile) {
		t.Errorf("switched off: %v", err)
	}
	w.global("explore.md", "mine")
	if p, err := m.Resolve(w.cwd, "explore"); err != nil || p.Prompt != "mine" {
		t.Errorf("a file of the same name: %+v (%v)", p, err)
	}
	w.put(".pi/agents/explore.md", "---\nenabled: false\n---\nx")
	if _, err := m.Resolve(w.cwd, "explore"); !errors.Is(err, ErrProfile) {
		t.Errorf("one that is off hides the weaker ones: %v", err)
	}
	if _, err := m.Toggle(Builtin, w.cwd, "explore", true); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Toggle(Builtin, w.cwd, "nobody", true); !errors.Is(err, ErrProfile) {
		t.Errorf("unknown: %v", err)
	}
	if all, _ := m.Profiles(w.cwd); !all[0].Enabled {
		t.Errorf("%+v", all[0])
	}
}

func TestSA19LinkedFolders(t *testing.T) {
	w, m := newWorld(t)
	outside := filepath.Join(t.TempDir(), "outside")
	w.put("kept", "")
	if err := os.MkdirAll(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(outside, "spy.md")
	if err := os.WriteFile(secret, []byte("spy"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{".pi", ".agents"} {
		if err := os.MkdirAll(filepath.Join(w.cwd, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, filepath.Join(w.cwd, dir, "agents")); err != nil {
			t.Skip(err)
		}
	}
	if _, err := m.Resolve(w.cwd, "spy"); !errors.Is(err, ErrProfile) {
		t.Errorf("listed: %v", err)
	}
	if _, err := m.Save(resource.ProjectProfile, w.cwd, Draft{Name: "spy", Enabled: true}); !errors.Is(err, ErrDraft) {
		t.Errorf("saved: %v", err)
	}
	if err := m.Delete(resource.ProjectProfile, w.cwd, "spy"); !errors.Is(err, ErrDraft) {
		t.Errorf("deleted: %v", err)
	}
	if _, err := m.Toggle(resource.ProjectProfile, w.cwd, "spy", false); !errors.Is(err, ErrDraft) {
		t.Errorf("switched: %v", err)
	}
	if w.read(secret) != "spy" {
		t.Error("the file outside was changed")
	}
	if list, _ := os.ReadDir(outside); len(list) != 1 {
		t.Errorf("outside lie %v", list)
	}
}

const foreign = "\ufeff---\n# mine\nname: helper\ntools: read, ext:mcp/search\nowner: 'somebody else' # and a note\nlimits:\n  cpu: 2\n  # keep this\ncolor: red\nisolation: worktree\npersist_session: true\nskills: [a, b]\nextensions: none\n---\nThe old prompt.\n"

func TestSA20ForeignKeysStay(t *testing.T) {
	w, m := newWorld(t)
	path := w.global("helper.md", foreign)
	if _, err := m.Save(resource.GlobalProfile, w.cwd, Draft{Name: "helper", Tools: []string{"ls"}, Extensions: true, Enabled: true, Color: "green", Isolation: "worktree", Prompt: "New."}); err != nil {
		t.Fatal(err)
	}
	text := w.read(path)
	for _, want := range []string{"\ufeff---\n# mine\n", "owner: 'somebody else' # and a note\n", "limits:\n  cpu: 2\n  # keep this\n", "persist_session: true\n", "skills: [a, b]\n", "extensions: true\n", "color: green\n", "tools: ls, ext:mcp/search\n", "---\n\nNew.\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	p, err := m.Resolve(w.cwd, "helper")
	if err != nil || !cmp.Equal(p.Selectors, []string{"mcp/search"}) || !cmp.Equal(p.Tools, []string{"ls"}) {
		t.Errorf("%+v (%v)", p, err)
	}
}

// TestD19ToggleChangesOneKey: switching a profile changes that key and no other
// byte.
func TestD19ToggleChangesOneKey(t *testing.T) {
	for name, text := range map[string]string{
		"foreign keys": foreign,
		"has the key":  "---\nenabled: true # for now\ncolor: red\n---\nbody\n\n",
		"Windows":      "---\r\ncolor: red\r\n---\r\nbody\r\n",
		"no keys":      "just a prompt\n",
		"empty block":  "---\n---\nbody",
	} {
		t.Run(name, func(t *testing.T) {
			w, m := newWorld(t)
			path := w.global("helper.md", text)
			p, err := m.Toggle(resource.GlobalProfile, w.cwd, "HELPER", false)
			if err != nil || p.Enabled {
				t.Fatalf("%+v (%v)", p, err)
			}
			off := w.read(path)
			if p, err = m.Toggle(resource.GlobalProfile, w.cwd, "helper", true); err != nil || !p.Enabled {
				t.Fatalf("%+v (%v)", p, err)
			}
			on := w.read(path)
			if strings.Replace(off, "enabled: false", "enabled: true", 1) != on {
				t.Errorf("more than one key changed:\n%q\n%q", off, on)
			}
			without := strings.Replace(strings.Replace(on, "enabled: true\r\n", "", 1), "enabled: true\n", "", 1)
			was := strings.Replace(text, "enabled: true # for now\n", "", 1)
			if text == "just a prompt\n" {
				was = "---\n---\n" + was
			}
			if without != was {
				t.Errorf("the rest changed:\n%q\n%q", was, without)
			}
		})
	}
}

func TestSA21Malformed(t *testing.T) {
	w, m := newWorld(t)
	const broken = "---\nkey: [unclosed\n\tname: x\n---\nbody\n"
	path := w.global("helper.md", broken)
	if _, err := m.Save(resource.GlobalProfile, w.cwd, Draft{Name: "helper", Enabled: true}); !errors.Is(err, ErrMalformed) {
		t.Errorf("saved: %v", err)
	}
	if _, err := m.Toggle(resource.GlobalProfile, w.cwd, "helper", false); !errors.Is(err, ErrMalformed) {
		t.Errorf("switched: %v", err)
	}
	if w.read(path) != broken {
		t.Error("the file was changed")
	}
}

func TestSA22Aliases(t *testing.T) {
	w, m := newWorld(t)
	save := func(skills, extensions bool) string {
		p, err := m.Save(resource.GlobalProfile, w.cwd, Draft{Name: "helper", Skills: skills, Extensions: extensions, Enabled: true})
		if err != nil {
			t.Fatal(err)
		}
		return w.read(p.File)
	}
	if text := save(true, false); !strings.Contains(text, "\nskills: true\nextensions: false\n") {
		t.Errorf("not written at first: %s", text)
	}
	if text := save(false, true); !strings.Contains(text, "\nskills: false\nextensions: true\n") {
		t.Errorf("not kept in step: %s", text)
	}
	w.global("helper.md", "---\nskills: a, b\nextensions: all\n---\nx\n")
	if text := save(false, false); !strings.Contains(text, "skills: a, b\n") || !strings.Contains(text, "extensions: false\n") {
		t.Errorf("a list was changed, or a switch was not: %s", text)
	}
}

func TestSS1To5Settings(t *testing.T) {
	w, _ := newWorld(t)
	path := filepath.Join(w.agentDir, "agents", "settings.json")
	f := NewSettingsFile(w.agentDir, nil)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if s, err := f.Read(); err != nil || s.BuiltIn || len(s.Disabled) != 0 || s.Concurrent != 10 {
		t.Errorf("SS1: %+v (%v)", s, err)
	}
	if err := f.SetBuiltIn(true); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(w.read(path), "{", `{"theirs": [1, 2.50],`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.SetBuiltIn(false); err != nil {
		t.Fatal(err)
	}
	if text := w.read(path); !strings.Contains(text, `"version": 1`) || !strings.Contains(text, "2.50") || !strings.Contains(text, `"builtInEnabled": false`) {
		t.Errorf("SS2: %s", text)
	}
	for _, name := range []string{"explore", "plan", "explore"} {
		if err := f.SetEnabled(name, false); err != nil {
			t.Fatal(err)
		}
	}
	if s, _ := f.Read(); !cmp.Equal(s.Disabled, []string{"explore", "plan"}) {
		t.Errorf("SS3: %v", s.Disabled)
	}
	if err := f.SetEnabled("EXPLORE", true); err != nil {
		t.Fatal(err)
	}
	if s, _ := f.Read(); !cmp.Equal(s.Disabled, []string{"plan"}) {
		t.Errorf("SS3: %v", s.Disabled)
	}
	if err := f.SetEnabled("  ", true); err == nil {
		t.Error("SS3: a blank name is no error")
	}
	const odd = `{"disabledBuiltIns": [7, " unknown ", "explore", "", "EXPLORE"], "maxConcurrent": 33}`
	if err := os.WriteFile(path, []byte(odd), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := f.Read(); err != nil || !cmp.Equal(s.Disabled, []string{"unknown", "explore"}) || s.Concurrent != 10 {
		t.Errorf("SS4: %+v (%v)", s, err)
	}
	if err := f.SetEnabled("explore", false); err != nil || w.read(path) != odd {
		t.Errorf("SS4: a change of nothing wrote (%v)", err)
	}
	for _, broken := range []string{`{"builtInEnabled": true`, `[true]`, ``, "\x00"} {
		if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := f.Read(); !errors.Is(err, ErrSettings) || s.BuiltIn || len(s.Disabled) != 0 {
			t.Errorf("SS5 %q: %+v (%v)", broken, s, err)
		}
		if err := f.SetBuiltIn(true); !errors.Is(err, ErrSettings) || w.read(path) != broken {
			t.Errorf("SS5 %q: it was overwritten (%v)", broken, err)
		}
	}
	for _, n := range []int{0, 33, -1} {
		if err := f.SetConcurrent(n); err == nil {
			t.Errorf("maxConcurrent %d was taken", n)
		}
	}
}

// TestProfileNamedByItsFile: a profile that has the name of its file, in any script,
// is found, switched, changed and deleted by it, and its file gets no name that nobody
// could read back. A new one keeps to the rule of names.
func TestProfileNamedByItsFile(t *testing.T) {
	w, m := newWorld(t)
	file := filepath.Join(w.cwd, ".pi", "agents", "审查 cafe\u0301.md")
	w.put(".pi/agents/审查 cafe\u0301.md", "---\ndescription: looks\ntools: read\n---\n\nLook.\n")
	const name = "审查 caf\u00e9"
	if p, err := m.Resolve(w.cwd, name); err != nil || p.Prompt != "Look." {
		t.Fatalf("%+v, %v", p, err)
	}
	if p, err := m.Toggle(resource.ProjectProfile, w.cwd, name, false); err != nil || p.Enabled || p.Name != name {
		t.Errorf("switched: %+v, %v", p, err)
	}
	all, _ := m.Profiles(w.cwd)
	i := slices.IndexFunc(all, func(p Profile) bool { return p.Name == name })
	if i < 0 {
		t.Fatalf("not listed: %+v", all)
	}
	d := DraftOf(all[i])
	d.Enabled, d.Prompt = true, "Look twice."
	if _, err := m.Save(resource.ProjectProfile, w.cwd, d); err != nil {
		t.Fatal(err)
	}
	if p, err := m.Resolve(w.cwd, name); err != nil || p.Prompt != "Look twice." || p.File != file {
		t.Errorf("saved: %+v, %v", p, err)
	}
	if data, err := os.ReadFile(file); err != nil || strings.Contains(string(data), "\nname:") {
		t.Errorf("its file: %s, %v", data, err)
	}
	if err := m.Delete(resource.ProjectProfile, w.cwd, name); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(file); !os.IsNotExist(err) {
		t.Errorf("deleted: %v", err)
	}
	if _, err := m.Save(resource.ProjectProfile, w.cwd, d); !errors.Is(err, ErrDraft) {
		t.Errorf("a new one of that name: %v", err)
	}
}

// TestSettingsBehindALink: the switches may lie elsewhere; a change goes there.
func TestSettingsBehindALink(t *testing.T) {
	dir := t.TempDir()
	kept := filepath.Join(dir, "dotfiles.json")
	link := filepath.Join(dir, "agent", "agents", "settings.json")
	if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.WriteFile(kept, []byte(`{"mine":1}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(kept, link); err != nil {
		t.Skip(err)
	}
	if err := NewSettingsFile(filepath.Join(dir, "agent"), nil).SetBuiltIn(true); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(link)
	data, rerr := os.ReadFile(kept)
	if err := errors.Join(err, rerr); err != nil || info.Mode()&os.ModeSymlink == 0 || !strings.Contains(string(data), `"builtInEnabled": true`) || !strings.Contains(string(data), `"mine": 1`) {
		t.Errorf("%v, %s, %v", info.Mode(), data, err)
	}
}
