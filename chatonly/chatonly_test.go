package chatonly

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/piweb-go/piweb/resource"
)

// CO1 of spec/policy.md §7.
func TestCO1Switches(t *testing.T) {
	want := Switches{NoExtensions: true, NoSkills: true, NoTemplates: true, NoThemes: true,
		NoMCPServers: true, NoSystem: true, NoAppendSystem: true, NoContextFiles: false}
	if Off() != want {
		t.Errorf("Off() = %+v", Off())
	}
	want.NoContextFiles = true
	if OffForChild() != want {
		t.Errorf("OffForChild() = %+v", OffForChild())
	}
	// A switch that is added later is off until somebody decides otherwise.
	v := reflect.ValueOf(Off())
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; !v.Field(i).Bool() && name != "NoContextFiles" {
			t.Errorf("%s is on", name)
		}
	}
}

// disk is a user's agent directory and a project two folders deep.
type disk struct {
	t                *testing.T
	base, agent, cwd string
}

func newDisk(t *testing.T) disk {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return disk{t, base, filepath.Join(base, "agent"), filepath.Join(base, "proj", "nested")}
}

func (d disk) put(path, text string) {
	d.t.Helper()
	path = filepath.Join(d.base, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

// load finds the context files below the disk.
func (d disk) load() []resource.ContextFile {
	files, omissions := resource.ContextFiles(resource.Place{Cwd: d.cwd, AgentDir: d.agent, Trusted: true})
	for _, o := range omissions {
		d.t.Errorf("left out: %v", o)
	}
	var own []resource.ContextFile
	for _, f := range files {
		if strings.HasPrefix(f.Path, d.base) {
			own = append(own, f)
		}
	}
	return own
}

// CO2 of spec/policy.md §7.
func TestCO2GlobalProjectAndNestedOverride(t *testing.T) {
	d := newDisk(t)
	d.put("agent/AGENTS.md", "global")
	d.put("proj/CLAUDE.md", "project")
	d.put("proj/nested/AGENTS.override.md", "override")
	d.put("proj/nested/AGENTS.md", "hidden by the override")
	if got := string(Prompt(d.load())); got != "global\n\nproject\n\noverride" {
		t.Errorf("%q", got)
	}
}

// The rows of the table in spec/policy.md §2.4.
func TestPromptTable(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"no context file at all", nil, ""},
		{"one empty file", map[string]string{"agent/AGENTS.md": ""}, ""},
		{"global text and an empty file in the cwd", map[string]string{"agent/AGENTS.md": "global", "proj/nested/AGENTS.md": ""}, "global\n\n"},
		{"a newline at the end is kept", map[string]string{"agent/AGENTS.md": "GLOBAL-A\n", "proj/nested/AGENTS.md": "PROJ"}, "GLOBAL-A\n\n\nPROJ"},
		{"an empty file first", map[string]string{"agent/AGENTS.md": "", "proj/AGENTS.md": "p"}, "\n\np"},
		{"two empty files", map[string]string{"agent/AGENTS.md": "", "proj/AGENTS.md": ""}, "\n\n"},
		{"no trimming", map[string]string{"agent/AGENTS.md": " \r\n a\t\r\n", "proj/AGENTS.md": "\n b \n"}, " \r\n a\t\r\n\n\n\n b \n"},
		{"byte order marks go", map[string]string{"agent/AGENTS.md": "\ufeffa", "proj/AGENTS.md": "\ufeffb"}, "a\n\nb"},
		{"CJK, emoji, both normal forms", map[string]string{"agent/AGENTS.md": "日本 🙂", "proj/AGENTS.md": "\u00e9 e\u0301"}, "日本 🙂\n\n\u00e9 e\u0301"},
		{"other prompt sources are ignored", map[string]string{
			"agent/AGENTS.md": "global", "agent/SYSTEM.md": "S", "agent/APPEND_SYSTEM.md": "A",
			"proj/nested/.pi/SYSTEM.md": "S", "proj/nested/.pi/APPEND_SYSTEM.md": "A",
			"proj/nested/.pi/skills/s/SKILL.md": "---\ndescription: d\n---\nS", "agent/skills/s/SKILL.md": "S",
			"proj/nested/.pi/extensions/e.ts": "E", "proj/nested/.pi/prompts/p.md": "P", "proj/nested/.pi/AGENTS.md": "not here",
		}, "global"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDisk(t)
			if err := os.MkdirAll(d.cwd, 0o755); err != nil {
				t.Fatal(err)
			}
			for path, text := range c.files {
				d.put(path, text)
			}
			if got := string(Prompt(d.load())); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestPromptChangesOnlyWhenFilesAreFoundAnew(t *testing.T) {
	d := newDisk(t)
	d.put("proj/nested/AGENTS.md", "old")
	live := d.load()
	d.put("proj/nested/AGENTS.md", "new")
	if got := string(Prompt(live)); got != "old" {
		t.Errorf("edited while live: %q", got)
	}
	if got := string(Prompt(d.load())); got != "new" {
		t.Errorf("after a reload: %q", got)
	}
}

func TestPromptIsTheCallersOwn(t *testing.T) {
	files := []resource.ContextFile{{Text: "abc"}}
	first := Prompt(files)
	first[0] = 'X'
	if got := string(Prompt(files)); got != "abc" {
		t.Errorf("%q", got)
	}
	if got := Prompt(nil); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

// The head is the texts and the separators between them, byte for byte.
func TestPropertyPromptIsTheJoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.StringMatching(`[ \r\n\t]*`))).Draw(t, "texts")
		var files []resource.ContextFile
		size := 2 * max(len(texts)-1, 0)
		for _, text := range texts {
			files = append(files, resource.ContextFile{Path: "/p", Text: text, SHA256: "s"})
			size += len(text)
		}
		got := Prompt(files)
		if len(got) != size {
			t.Fatalf("%d bytes, want %d", len(got), size)
		}
		for i, text := range texts {
			if i > 0 {
				if !bytes.HasPrefix(got, []byte("\n\n")) {
					t.Fatalf("no separator before text %d", i)
				}
				got = got[2:]
			}
			if !bytes.HasPrefix(got, []byte(text)) {
				t.Fatalf("text %d is not there byte for byte", i)
			}
			got = got[len(text):]
		}
	})
}
