package catalog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// put writes a session file and returns its path.
func put(t *testing.T, root, dir, id, more string) string {
	t.Helper()
	path := filepath.Join(root, dir, "2026-01-01T00-00-00-000Z_"+id+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`{"type":"session","version":3,"id":%q,"timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}`+"\n", id) + more
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func msg(id, role, text, at string) string {
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":null,"timestamp":%q,"message":{"role":%q,"content":%s}}`+"\n", id, at, role, text)
}

func TestList(t *testing.T) {
	real := t.TempDir()
	root := filepath.Join(t.TempDir(), "link") // people keep their agent folder behind a link
	if err := os.Symlink(real, root); err != nil {
		t.Skip(err)
	}
	old := put(t, root, "--w--", "old", msg("a", "user", `[{"type":"text","text":"erste"},{"type":"text","text":"漢字 😀"}]`, "2026-01-02T00:00:00.000Z")+
		`{"type":"session_info","id":"n","parentId":"a","name":"  My\r\nname "}`+"\n")
	null := put(t, root, "", "null-content", msg("a", "user", `null`, "2026-01-03T00:00:00.000Z")) // pi leaves this one out
	chat := put(t, root, "--x y--", "chat", `{"type":"custom","customType":"pi-web:tool-selection","data":{"version":1,"tools":[]},"id":"c","parentId":null}`+"\n")
	bad := filepath.Join(root, "--w--", "bad.jsonl")
	if err := os.WriteFile(bad, []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_ = os.WriteFile(filepath.Join(root, "notes.txt"), nil, 0o644)
	before, _ := os.Stat(old)
	infos, err := List(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, i := range infos {
		got = append(got, fmt.Sprintf("%s|%s|%s|%d|%s|%v", i.Path, i.Name, i.First, i.Messages, i.Tools, i.Problem != ""))
	}
	want := []string{
		null + "|||1|unset|false",
		old + "|My name|erste 漢字 😀|1|unset|false",
		chat + "|||0|Chat Only|false",
		bad + "|||0||true",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if after, _ := os.Stat(old); !after.ModTime().Equal(before.ModTime()) {
		t.Error("listing changed a file")
	}
	if infos, err := List(t.Context(), filepath.Join(root, "none")); err != nil || len(infos) != 0 {
		t.Errorf("no folder: %v, %v", infos, err)
	}
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	one := put(t, root, "--w--", "aaaa-1", "")
	put(t, root, "--w--", "aaaa-2", "")
	put(t, root, "--w--", "twice", "")
	put(t, root, "--v--", "twice", "")
	exact := put(t, root, "--w--", "aaaa", "")
	for ref, want := range map[string]string{"aaaa-1": one, "aaaa": exact, "./x": "./x", "x.jsonl": "x.jsonl", `a\b`: `a\b`} {
		if got, err := Find(root, ref); err != nil || got != want {
			t.Errorf("%s: %s, %v", ref, got, err)
		}
	}
	for ref, want := range map[string]error{"twice": ErrAmbiguous, "aaa": ErrAmbiguous, "zz": ErrNone, "": ErrNone} {
		_, err := Find(root, ref)
		if !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", ref, err, want)
		}
		if want == ErrAmbiguous && strings.Count(err.Error(), ".jsonl") < 2 {
			t.Errorf("%q: the paths are not listed: %v", ref, err)
		}
	}
}

func TestListIsCancelled(t *testing.T) {
	root := t.TempDir()
	put(t, root, "", "a", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := List(ctx, root); err == nil {
		t.Error("a cancelled list ends well")
	}
}
