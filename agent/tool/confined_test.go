package tool

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestConfined: however a path is spelt and whatever links there are, nothing
// outside of the folder is read, listed, searched or written.
func TestConfined(t *testing.T) {
	base := t.TempDir()
	dir, home := filepath.Join(base, "project"), filepath.Join(base, "home")
	for name, text := range map[string]string{"project/in.txt": "inside", "project/sub/deep.txt": "deep", "outside.txt": "SECRET", "home/notes": "SECRET", "project-2/x": "SECRET"} {
		path := filepath.Join(base, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		writeTestFile(t, path, text)
	}
	for link, to := range map[string]string{"file": "../outside.txt", "folder": "..", "inner": "sub", "nowhere": "../made.txt", "abs": base} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	opts := Options{Home: home}
	build := func(name string) Tool {
		b, ok := Lookup(name)
		if !ok {
			t.Fatal(name)
		}
		c, ok := Confined(b(opts))
		if !ok {
			t.Fatalf("%s cannot be confined", name)
		}
		return c
	}
	quote := func(s string) string { return strings.ReplaceAll(filepath.ToSlash(s), `"`, `\"`) }
	for _, c := range []struct {
		tool, args string
		ok         bool
	}{
		{"read", `{"path":"in.txt"}`, true}, {"read", `{"path":"inner/deep.txt"}`, true}, {"read", `{"path":"@in.txt"}`, true},
		{"read", `{"path":"sub/../in.txt"}`, true}, {"read", `{"path":"` + quote(dir) + `/in.txt"}`, true},
		{"read", `{"path":"../outside.txt"}`, false}, {"read", `{"path":"file"}`, false}, {"read", `{"path":"folder/outside.txt"}`, false},
		{"read", `{"path":"abs/outside.txt"}`, false}, {"read", `{"path":"` + quote(base) + `/outside.txt"}`, false}, {"read", `{"path":"~/notes"}`, false},
		{"read", `{"path":"@../outside.txt"}`, false}, {"read", `{"path":"../project-2/x"}`, false}, {"read", `{"file_path":"../outside.txt"}`, false},
		{"ls", `{}`, true}, {"ls", `{"path":"sub"}`, true}, {"ls", `{"path":".."}`, false}, {"ls", `{"path":"folder"}`, false},
		{"grep", `{"pattern":"inside"}`, true}, {"grep", `{"pattern":"SECRET","path":".."}`, false}, {"grep", `{"pattern":"SECRET","path":"file"}`, false},
		{"find", `{"pattern":"*.txt"}`, true}, {"find", `{"pattern":"*","path":"abs"}`, false}, {"find", `{"pattern":"../*"}`, false},
		{"find", `{"pattern":"` + quote(base) + `/*"}`, false},
		{"write", `{"path":"new/file.txt","content":"x"}`, true}, {"write", `{"path":"../made.txt","content":"x"}`, false},
		{"write", `{"path":"nowhere","content":"x"}`, false}, {"write", `{"path":"folder/made.txt","content":"x"}`, false}, {"write", `{"path":"~/made.txt","content":"x"}`, false},
		{"edit", `{"path":"in.txt","edits":[{"oldText":"inside","newText":"changed"}]}`, true},
		{"edit", `{"path":"file","edits":[{"oldText":"SECRET","newText":"x"}]}`, false},
	} {
		r := callTool(t, build(c.tool), dir, c.args)
		text := r.Content.PlainText()
		if r.IsError == c.ok || strings.Contains(text, "SECRET") || !c.ok && !strings.Contains(text, "confined") {
			t.Errorf("%s %s: error %v, %s", c.tool, c.args, r.IsError, text)
		}
	}
	for _, untouched := range []string{"made.txt", "home/made.txt"} {
		if exists(filepath.Join(base, untouched)) {
			t.Errorf("%s was written", untouched)
		}
	}
	if data, _ := os.ReadFile(filepath.Join(base, "outside.txt")); string(data) != "SECRET" {
		t.Errorf("outside.txt is now %q", data)
	}
	b, _ := Lookup("bash")
	if _, ok := Confined(b(opts)); ok {
		t.Error("bash counts as confined")
	}
}
