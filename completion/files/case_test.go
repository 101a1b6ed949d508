package files

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/piweb-go/piweb/completion"
)

// TestCase026 sends the prompts of a case from other programs' bug reports. A
// file:// address is no mention here, which the case leaves to us.
func TestCase026(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the names are those of Unix")
	}
	dir := folder(t, map[string]string{"My Folder/a b.txt": "", "it's.txt": "", "файл.txt": "", "文件 二.md": "", "100%25.txt": "", "q?.txt": "", "real.txt": "", ".hidden": ""})
	read := func(name string, v any) {
		data, err := os.ReadFile(filepath.Join("../../fixtures/cases/026-mentions-with-spaces-and-signs", name))
		if err == nil {
			err = json.Unmarshal(data, v)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var prompts []string
	var expected struct{ Attached [][]string }
	read("prompts.json", &prompts)
	read("expected.json", &expected)
	r := completion.NewRegistry(nil)
	p := New(IndexOptions{})
	defer p.Close()
	if err := r.Add(p); err != nil {
		t.Fatal(err)
	}
	for n, prompt := range prompts {
		want := expected.Attached[n]
		if strings.Contains(prompt, "file:///") {
			want = nil
		}
		res := r.Resolve(t.Context(), completion.Scope{CWD: dir}, strings.ReplaceAll(prompt, "WS", dir))
		var got []string
		for _, f := range res.Found {
			got = append(got, f.ID)
		}
		if diff := cmp.Diff(slices.Clip(want), got); diff != "" && len(want)+len(got) > 0 {
			t.Errorf("%q (-want +got)\n%s", prompt, diff)
		}
		if len(want) == 0 && res.Text != strings.ReplaceAll(prompt, "WS", dir) {
			t.Errorf("%q became %q", prompt, res.Text)
		}
	}
}
