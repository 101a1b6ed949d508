package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// snapshot maps every file below dir to its text and time.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.ModTime().String()
		if !d.IsDir() {
			data, _ := os.ReadFile(path)
			text += string(data)
		}
		out[path] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestDefaultTools(t *testing.T) {
	const absent = "-"
	for _, c := range []struct {
		name          string
		user, project string // value of defaultTools, "" for no such key
		set           bool
		want          string
		unknown       string
		problems      int
	}{
		{"nothing said", "", "", false, absent, "", 0},
		{"empty list is none", `[]`, "", true, "", "", 0},
		{"plain names", `["grep","read"]`, "", true, "grep read", "", 0},
		{"names once", `["read","read","ls"]`, "", true, "read ls", "", 0},
		{"add to the default", `["+grep","+ls"]`, "", true, "read bash edit write grep ls", "", 0},
		{"take from the default", `["-bash"]`, "", true, "read edit write", "", 0},
		{"in order", `["-bash","+powershell","+grep"]`, "", true, "read edit write powershell grep", "", 0},
		{"add what is there", `["+read"]`, "", true, "read bash edit write", "", 0},
		{"remove what is not there", `["-ls"]`, "", true, "read bash edit write", "", 0},
		{"plain and changes", `["+ls","read","-read","bash"]`, "", true, "bash ls", "", 0},
		{"remove and add again", `["-read","+read"]`, "", true, "bash edit write read", "", 0},
		{"everything removed is none", `["read","-read"]`, "", true, "", "", 0},

		{"project replaces", `["read"]`, `["bash"]`, true, "bash", "", 0},
		{"project changes the user's", `["read"]`, `["+grep"]`, true, "read grep", "", 0},
		{"project changes the user's changes", `["-bash"]`, `["+grep","-read"]`, true, "edit write grep", "", 0},
		{"project alone changes the default", "", `["-write"]`, true, "read bash edit", "", 0},
		{"project's empty list is none", `["read"]`, `[]`, true, "", "", 0},
		{"project adds to none", `[]`, `["+grep"]`, true, "grep", "", 0},
		{"project says nothing", `["ls"]`, "", true, "ls", "", 0},
		{"project null", `["ls"]`, `null`, true, "ls", "", 0},

		{"unknown name stays and is told", `["read","websearch"]`, "", true, "read websearch", "websearch", 1},
		{"unknown name added", `["+codemode"]`, "", true, "read bash edit write codemode", "codemode", 1},
		{"unknown name removed is nothing", `["-codemode"]`, "", true, "read bash edit write", "", 0},
		{"only unknown names are not none", `["websearch"]`, "", true, "websearch", "websearch", 1},
		{"unknown once, told where it was written", `["websearch"]`, `["+ls"]`, true, "websearch ls", "websearch", 1},
		{"not text", `["read",7,null,["x"],{"a":1}]`, "", true, "read", "", 4},
		{"nothing usable is not none", `[7,""]`, "", false, absent, "", 2},
		{"nothing usable leaves the user's", `["ls"]`, `[true]`, true, "ls", "", 1},
		{"bare signs", `["+","-"," ","++read"]`, "", false, absent, "", 4},
		{"not a list", `"read"`, "", false, absent, "", 1},
		{"an object", `{"read":true}`, `["-bash"]`, true, "read edit write", "", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHome(t)
			source := ""
			if c.user != "" {
				source = h.write("settings.json", `{"defaultTools":`+c.user+`}`)
			}
			if c.project != "" {
				path := h.project(".pi/settings.json", `{"defaultTools":`+c.project+`}`)
				if c.project != "null" && c.project != "[true]" {
					source = path
				}
			}
			cfg := Load(h.env(), Options{Trust: yes()})
			got := cfg.Settings.DefaultTools
			if got.Set != c.set || got.Set != (got.Names != nil) {
				t.Errorf("Set = %v, Names = %#v; want set %v", got.Set, got.Names, c.set)
			}
			want := strings.Fields(c.want)
			if !c.set {
				want, source = BuiltinTools(), ""
			}
			if !slices.Equal(got.Effective(), want) {
				t.Errorf("Effective() = %v, want %v", got.Effective(), want)
			}
			if strings.Join(got.Unknown, " ") != c.unknown || got.Source != source {
				t.Errorf("unknown %v, source %q; want %q, %q", got.Unknown, got.Source, c.unknown, source)
			}
			if len(cfg.Problems) != c.problems {
				t.Errorf("problems %v, want %d", cfg.Problems, c.problems)
			}
			for _, p := range cfg.Problems {
				if !p.Warning {
					t.Errorf("%v is no warning", p)
				}
			}
		})
	}
}

func TestToolListsAreCopies(t *testing.T) {
	BuiltinTools()[0] = "x"
	tools := Tools{Set: true, Names: []string{"read"}}
	tools.Effective()[0] = "x"
	if BuiltinTools()[0] != "read" || tools.Names[0] != "read" {
		t.Error("changing a returned list changed the next one")
	}
}
