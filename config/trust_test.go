package config

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTrustDecision(t *testing.T) {
	const gated = ".pi/settings.json"
	for _, c := range []struct {
		name     string
		file     string // of the project, "" for none
		saved    map[string]any
		setting  string
		explicit *bool
		want     bool
	}{
		{"nothing to trust", "", nil, "", nil, true},
		{"undecided is no", gated, nil, "", nil, false},
		{"ask is no", gated, nil, "ask", nil, false},
		{"always", gated, nil, "always", nil, true},
		{"never", gated, nil, "never", nil, false},
		{"saved yes", gated, map[string]any{"CWD": true}, "", nil, true},
		{"saved no over always", gated, map[string]any{"CWD": false}, "always", nil, false},
		{"saved for an ancestor", gated, map[string]any{"UP": true}, "", nil, true},
		{"nearest wins", gated, map[string]any{"UP": true, "CWD": false}, "", nil, false},
		{"null is undecided, the ancestor applies", gated, map[string]any{"UP": true, "CWD": nil}, "", nil, true},
		{"sibling does not count", gated, map[string]any{"UP/proj": true}, "", nil, false},
		{"saved no, nothing to trust", "", map[string]any{"CWD": false}, "", nil, false},
		{"approved over a saved no", gated, map[string]any{"CWD": false}, "", yes(), true},
		{"refused over a saved yes", gated, map[string]any{"CWD": true}, "always", no(), false},
		{"refused, nothing to trust", "", nil, "", no(), false},
		{"profiles need trust", ".pi/agents/explore.md", nil, "", nil, false},
		{"workspace profiles need trust", ".agents/agents/explore.md", nil, "", nil, false},
		{"context files need none", "AGENTS.md", nil, "", nil, true},
		{"other files of .pi need none", ".pi/notes.txt", nil, "", nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHome(t)
			if c.file != "" {
				h.project(c.file, "{}")
			}
			if c.setting != "" {
				h.write("settings.json", `{"defaultProjectTrust":"`+c.setting+`"}`)
			}
			if c.saved != nil {
				saved := map[string]any{}
				for path, decision := range c.saved {
					switch path {
					case "CWD":
						path = h.cwd
					case "UP":
						path = filepath.Dir(h.cwd)
					default:
						path = filepath.Join(filepath.Dir(h.cwd), "proj")
					}
					saved[path] = decision
				}
				data, _ := json.Marshal(saved)
				h.write("trust.json", string(data))
			}
			got := Load(h.env(), Options{Trust: c.explicit}).Trust
			if got.Trusted != c.want || got.Reason == "" {
				t.Errorf("%+v, want %v", got, c.want)
			}
		})
	}
}

func TestTrustGoesByRealPath(t *testing.T) {
	h := newHome(t)
	h.project(".pi/SYSTEM.md", "x")
	alias := filepath.Join(h.dir, "alias")
	if err := os.Symlink(h.cwd, alias); err != nil {
		t.Skipf("links cannot be made here: %v", err)
	}
	data, _ := json.Marshal(map[string]bool{h.cwd: true})
	h.write("trust.json", string(data))
	env := h.env()
	env.Cwd = alias
	if got := Load(env, Options{}).Trust; !got.Trusted {
		t.Errorf("by a link: %+v", got)
	}
	// And a link inside a trusted folder to one outside is not trusted.
	other := h.put(filepath.Join(filepath.Dir(h.dir), "other", ".pi", "SYSTEM.md"), "x")
	inside := filepath.Join(h.cwd, "inside")
	if err := os.Symlink(filepath.Dir(filepath.Dir(other)), inside); err != nil {
		t.Fatal(err)
	}
	env.Cwd = inside
	if got := Load(env, Options{}).Trust; got.Trusted {
		t.Errorf("a link out of a trusted folder: %+v", got)
	}
}

func TestTrustBrokenFileTrustsNothing(t *testing.T) {
	for name, text := range map[string]string{"syntax": `{"a":tru`, "list": `[]`, "value": `{"/":"yes"}`, "number": `{"/":1}`} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			h.write("trust.json", text)
			h.write("settings.json", `{"defaultProjectTrust":"always"}`)
			h.project(".pi/settings.json", `{"defaultModel":"evil"}`)
			c := Load(h.env(), Options{})
			if c.Trust.Trusted || c.Settings.DefaultModel != "" {
				t.Errorf("%+v", c.Trust)
			}
			if len(c.Problems) != 1 || c.Problems[0].Warning || !(errors.Is(c.Problems[0], ErrSyntax) || errors.Is(c.Problems[0], ErrSchema)) {
				t.Errorf("%v", c.Problems)
			}
			if !Load(h.env(), Options{Trust: yes()}).Trust.Trusted {
				t.Error("the command line has the last word")
			}
		})
	}
}

func TestTrustWithoutAFolder(t *testing.T) {
	h := newHome(t)
	h.write("settings.json", `{"defaultProjectTrust":"always"}`)
	env := h.env()
	env.Cwd = ""
	if got := Load(env, Options{}).Trust; got.Trusted || len(got.Needs) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestNeedsTrust(t *testing.T) {
	h := newHome(t)
	up := filepath.Dir(h.cwd)
	want := []string{}
	for _, name := range []string{"settings.json", "mcp.json", "extensions/x.ts", "skills/a/SKILL.md", "prompts/p.md", "themes/t.json", "SYSTEM.md", "APPEND_SYSTEM.md", "agents/a.md"} {
		h.project(".pi/"+name, "x")
		top, _, _ := strings.Cut(name, "/")
		want = append(want, filepath.Join(h.cwd, ".pi", top))
	}
	h.project(".agents/agents/b.md", "x")
	h.project(".agents/skills/s/SKILL.md", "x")
	h.put(filepath.Join(up, ".agents", "skills", "s", "SKILL.md"), "x")
	want = append(want, filepath.Join(h.cwd, ".agents", "agents"), filepath.Join(h.cwd, ".agents", "skills"), filepath.Join(up, ".agents", "skills"))
	if got := NeedsTrust(h.cwd, h.dir); !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	// The user's own skills need no trust, also when the session is at home.
	h.put(filepath.Join(h.dir, ".agents", "skills", "s", "SKILL.md"), "x")
	if got := NeedsTrust(h.dir, h.dir); len(got) != 0 {
		t.Errorf("at home: %v", got)
	}
	sub := filepath.Join(h.dir, "sub")
	os.MkdirAll(sub, 0o755)
	if got := NeedsTrust(sub, h.dir); len(got) != 0 {
		t.Errorf("below home: %v", got)
	}
	if got := NeedsTrust(sub, ""); len(got) != 1 {
		t.Errorf("without a home the same folder is anybody's: %v", got)
	}
	if got := NeedsTrust(filepath.Join(sub, "gone"), h.dir); len(got) != 0 {
		t.Errorf("a folder that is not there: %v", got)
	}
}
