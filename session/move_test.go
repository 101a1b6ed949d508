package session

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMoveKeepsEveryOtherByte moves a copy of every file of every shape: only the
// directory in the header is another.
func TestMoveKeepsEveryOtherByte(t *testing.T) {
	files, _ := filepath.Glob("../fixtures/pi/*.jsonl")
	if len(files) == 0 {
		t.Fatal("there are no files of every shape")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data := read(t, file)
			root := t.TempDir()
			path := filepath.Join(root, "a", filepath.Base(file))
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o600)); err != nil {
				t.Fatal(err)
			}
			s, err := Open(path, Options{})
			if err == nil {
				s.Close()
			}
			cwd := filepath.Join(root, `wörk "x" <y>`)
			to, merr := Move(path, MoveOptions{Dir: filepath.Join(root, "b"), CWD: cwd}, Options{})
			if err != nil {
				if !errors.Is(merr, ErrNotSession) || !bytes.Equal(data, read(t, path)) {
					t.Errorf("what is no session: %v", merr)
				}
				return
			}
			if merr != nil {
				t.Fatal(merr)
			}
			if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
				t.Error("the old file is still there")
			}
			moved := open(t, to)
			if len(data) > 0 {
				if moved.Header().CWD != cwd || moved.ID() != s.ID() || moved.Header().Version != s.Header().Version {
					t.Errorf("header %s", moved.Header().Raw)
				}
				if want := bytes.Replace(data, s.Header().Raw, moved.Header().Raw, 1); !bytes.Equal(want, read(t, to)) {
					t.Error("more than the header differs")
				}
			}
			if info, _ := os.Stat(to); runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v", info.Mode())
			}
			// Where its folder is the same, as for directories that share one name, the
			// file stays and changes.
			again, err := Move(to, MoveOptions{Dir: filepath.Join(root, "a", "..", "b"), CWD: filepath.Join(root, "other")}, Options{})
			if err != nil || again != to || len(data) > 0 && open(t, to).Header().CWD != filepath.Join(root, "other") {
				t.Errorf("within the folder: %s (%v)", again, err)
			}
		})
	}
}

func TestMoveRefuses(t *testing.T) {
	root, path, other := home(t)
	side := filepath.Join(root, "a", "2026_s")
	if err := os.WriteFile(filepath.Join(other, "2026_s.jsonl"), []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	notes := filepath.Join(root, "notes.txt")
	link := filepath.Join(root, "link.jsonl")
	if err := errors.Join(os.WriteFile(notes, []byte(head3), 0o600), os.Symlink(path, link)); err != nil {
		t.Skip(err)
	}
	before := tree(t, root)
	for name, c := range map[string]struct {
		path string
		o    MoveOptions
		want error
		text string
	}{
		"a name that is taken": {path, MoveOptions{Dir: other, CWD: root}, ErrTaken, "2026_s.jsonl"},
		"no absolute folder":   {path, MoveOptions{Dir: other, CWD: "x"}, nil, "not absolute"},
		"no such file":         {path + "x", MoveOptions{Dir: other, CWD: root}, ErrNoFile, ""},
		"another file":         {notes, MoveOptions{Dir: other, CWD: root}, ErrNotSession, ".jsonl"},
		"a folder":             {side, MoveOptions{Dir: other, CWD: root}, ErrNotSession, ""},
		"a link":               {link, MoveOptions{Dir: other, CWD: root}, nil, "link"},
	} {
		c.o.Companions = []Companion{sideFolder{}}
		if _, err := Move(c.path, c.o, Options{}); err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("move, %s: %v", name, err)
		}
		if c.want == ErrTaken || strings.Contains(name, "absolute") {
			continue
		}
		if _, err := Trash(c.path, nil, Options{}); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("delete, %s: %v", name, err)
		}
	}
	if d := cmp.Diff(before, tree(t, root)); d != "" {
		t.Errorf("something changed:\n%s", d)
	}
}

// TestInUse: what another process holds is neither moved nor deleted.
func TestInUse(t *testing.T) {
	root, path, other := home(t)
	s := open(t, path)
	mustAppend(t, s, user("busy"))
	before := tree(t, root)
	if _, err := Move(path, MoveOptions{Dir: other, CWD: root}, Options{}); !errors.Is(err, ErrInUse) {
		t.Errorf("move: %v", err)
	}
	if _, err := Trash(path, nil, Options{}); !errors.Is(err, ErrInUse) {
		t.Errorf("delete: %v", err)
	}
	if d := cmp.Diff(before, tree(t, root)); d != "" {
		t.Errorf("something changed:\n%s", d)
	}
	s.Close()
	if _, err := Move(path, MoveOptions{Dir: other, CWD: root}, Options{}); err != nil {
		t.Errorf("after it was given back: %v", err)
	}
}

// writingCompanion is another program that writes to the session while it moves.
type writingCompanion struct {
	sideFolder
	t *testing.T
}

func (c writingCompanion) Move(from, to Place) (Undo, error) {
	addTo(c.t, from.Path, said("theirs", "bbbbbbbb", "meanwhile"))
	return nil, nil
}

// TestMoveMeetsAnotherWriter: a program without locks loses nothing.
func TestMoveMeetsAnotherWriter(t *testing.T) {
	root, path, other := home(t)
	if _, err := Move(path, MoveOptions{Dir: other, CWD: root, Companions: []Companion{sideFolder{}, writingCompanion{t: t}}}, Options{}); !errors.Is(err, ErrReplaced) {
		t.Errorf("error %v", err)
	}
	if _, ok := open(t, path).Entry("theirs"); !ok {
		t.Error("their entry is lost")
	}
	if names, _ := os.ReadDir(other); len(names) != 0 {
		t.Errorf("%d files are left", len(names))
	}
	if _, err := os.Stat(filepath.Join(root, "a", "2026_s", "0.bash.log")); err != nil {
		t.Error(err)
	}
}

// TestTrashAndRestore: deleting twice, deleting one of the same name, bringing
// both back.
func TestTrashAndRestore(t *testing.T) {
	root, path, _ := home(t)
	companions := []Companion{sideFolder{}}
	before := tree(t, root)
	first, err := Trash(path, companions, Options{})
	if err != nil || first.Origin != path || first.ID != "s" || first.At.IsZero() {
		t.Fatalf("%+v (%v)", first, err)
	}
	again, err := Trash(path, companions, Options{})
	if err != nil || again.Place != first.Place {
		t.Errorf("deleted again: %+v (%v)", again, err)
	}
	if _, err := Trash(filepath.Join(root, "a", "nowhere.jsonl"), nil, Options{}); !errors.Is(err, ErrNoFile) {
		t.Errorf("what is nowhere: %v", err)
	}

	if err := os.WriteFile(path, []byte(head3+said("x", "", "the second")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Restore(first, companions, Options{}); !errors.Is(err, ErrTaken) {
		t.Errorf("over another file: %v", err)
	}
	second, err := Trash(path, companions, Options{})
	if err != nil || second.Path == first.Path {
		t.Fatalf("%+v (%v)", second, err)
	}
	list, err := ListTrash(filepath.Dir(path))
	if err != nil || len(list) != 2 {
		t.Fatalf("%d in the trash (%v)", len(list), err)
	}
	for _, want := range []Trashed{first, second} {
		if got, ok := TrashedAt(want.Path); !ok || got.Place != want.Place || got.Origin != path {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	if _, ok := TrashedAt(path); ok {
		t.Error("a session beside the trash counts as deleted")
	}
	if err := Purge(second, nil, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := Restore(first, companions, Options{}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, tree(t, root)); d != "" {
		t.Errorf("after the restore:\n%s", d)
	}
	if err := Restore(first, companions, Options{}); !errors.Is(err, ErrNoFile) {
		t.Errorf("restored twice: %v", err)
	}
	// What is not ours in the trash is nobody's session.
	stray := filepath.Join(root, "a", trashName, "stray")
	if err := errors.Join(os.MkdirAll(stray, 0o755), os.WriteFile(filepath.Join(stray, "x.txt"), nil, 0o600), os.WriteFile(stray+".jsonl", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if list, err := ListTrash(filepath.Dir(path)); err != nil || len(list) != 0 {
		t.Errorf("%d in the trash (%v)", len(list), err)
	}
}

func TestImportNames(t *testing.T) {
	root, path, other := home(t)
	data := read(t, path)
	var got []string
	for range 3 {
		to, err := Import(path, ImportOptions{Dir: other, Companions: []Companion{sideFolder{}}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, filepath.Base(to))
		if !bytes.Equal(data, read(t, to)) {
			t.Error("the copy differs")
		}
	}
	if d := cmp.Diff([]string{"2026_s.jsonl", "2026_s-1.jsonl", "2026_s-2.jsonl"}, got); d != "" {
		t.Error(d)
	}
	to, err := Import(path, ImportOptions{Dir: other, CWD: root}, Options{})
	if err != nil || open(t, to).Header().CWD != root {
		t.Errorf("with another folder: %v", err)
	}

	// Names that would hide the copy, or steer a terminal, give way.
	hostile := `{"type":"session","version":3,"id":"../../../escape","timestamp":"../x","cwd":"/x"}` + "\n"
	for i, name := range []string{".hidden.jsonl", ".jsonl", "a\x1b[31m.jsonl", "a\nb.jsonl", strings.Repeat("n", 240) + ".jsonl", "plain.txt", "\xff.jsonl"} {
		file := filepath.Join(root, name)
		if err := os.WriteFile(file, []byte(hostile), 0o600); err != nil {
			t.Logf("%q cannot be a name here: %v", name, err)
			continue
		}
		dir := filepath.Join(root, fmt.Sprint("in", i))
		to, err := Import(file, ImportOptions{Dir: dir}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		base := filepath.Base(to)
		if filepath.Dir(to) != dir || strings.HasPrefix(base, ".") || !strings.HasSuffix(base, ".jsonl") || strings.ContainsAny(base, "\x1b\n\xff") || !bytes.Equal(read(t, to), []byte(hostile)) {
			t.Errorf("%q became %q", name, to)
		}
	}
}

func TestImportRefuses(t *testing.T) {
	root, path, other := home(t)
	empty := filepath.Join(root, "empty.jsonl")
	text := filepath.Join(root, "text.jsonl")
	if err := errors.Join(os.WriteFile(empty, nil, 0o600), os.WriteFile(text, []byte("hello\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	before := tree(t, root)
	for _, c := range []struct {
		file, cwd string
		want      error
	}{{empty, "", ErrNotSession}, {text, "", ErrNotSession}, {other, "", ErrNotSession}, {path + "x", "", ErrNoFile}, {path, "x", nil}} {
		if _, err := Import(c.file, ImportOptions{Dir: other, CWD: c.cwd}, Options{}); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.file, err)
		}
	}
	if d := cmp.Diff(before, tree(t, root)); d != "" {
		t.Errorf("something changed:\n%s", d)
	}
}
