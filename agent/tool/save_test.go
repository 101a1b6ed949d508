package tool

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// onlyFiles fails if dir holds anything but the names, such as what is left of
// a temporary file.
func onlyFiles(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if len(got) != len(names) {
		t.Errorf("the folder holds %q, want %q", got, names)
	}
}

func TestSaveKeepsMode(t *testing.T) {
	skipOnWindows(t, "no mode bits")
	for _, mode := range []fs.FileMode{0o600, 0o644, 0o755, 0o640, 0o755 | fs.ModeSetuid} {
		dir := t.TempDir()
		path := filepath.Join(dir, "f")
		writeTestFile(t, path, "old")
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if err := saveFile(path, []byte("new")); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != mode || readTestFile(t, path) != "new" {
			t.Errorf("mode %v became %v, text %q", mode, info.Mode(), readTestFile(t, path))
		}
		onlyFiles(t, dir, "f")
	}
}

func TestSaveIsARename(t *testing.T) {
	skipOnWindows(t, "an open file cannot be replaced")
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	writeTestFile(t, path, "old")
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := saveFile(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	var seen bytes.Buffer
	if _, err := seen.ReadFrom(reader); err != nil {
		t.Fatal(err)
	}
	if seen.String() != "old" {
		t.Errorf("who had the file open reads %q, want the old text whole", seen.String())
	}
}

func TestSaveThroughLinks(t *testing.T) {
	skipOnWindows(t, "links need a privilege")
	dir := t.TempDir()
	target := filepath.Join(dir, "d", "target")
	writeTestFile(t, target, "old")
	for link, dest := range map[string]string{"link": "d/target", "dangling": "d/new"} {
		if err := os.Symlink(dest, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
		if err := saveFile(filepath.Join(dir, link), []byte("via "+link)); err != nil {
			t.Fatal(err)
		}
		if got := readTestFile(t, filepath.Join(dir, dest)); got != "via "+link {
			t.Errorf("%s holds %q", dest, got)
		}
		if got, err := os.Readlink(filepath.Join(dir, link)); err != nil || got != dest {
			t.Errorf("%s is no link to %s any more: %q, %v", link, dest, got, err)
		}
	}
	onlyFiles(t, filepath.Join(dir, "d"), "target", "new")
}

func TestSaveKeepsHardLinks(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	writeTestFile(t, a, "old")
	if err := os.Link(a, b); err != nil {
		t.Skip(err)
	}
	if err := saveFile(a, []byte("new")); err != nil {
		t.Fatal(err)
	}
	skipOnWindows(t, "links are not counted there")
	if got := readTestFile(t, b); got != "new" {
		t.Errorf("the other name holds %q", got)
	}
}

func TestSaveKeepsOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	writeTestFile(t, path, "old")
	const someone = 12345
	if err := os.Chown(path, someone, someone); err != nil {
		t.Skip(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := saveFile(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if !sameOwner(before, after) {
		t.Errorf("owner changed: %+v, %+v", before.Sys(), after.Sys())
	}
}

func TestSaveInAFolderThatCannotBeWritten(t *testing.T) {
	skipAsRoot(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	writeTestFile(t, path, "old")
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	if err := saveFile(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if got := readTestFile(t, path); got != "new" {
		t.Errorf("got %q", got)
	}
	if err := saveFile(filepath.Join(dir, "g"), []byte("new")); err == nil {
		t.Error("a new file was made in a folder that cannot be written")
	}
}

func TestSaveRespectsAReadOnlyFile(t *testing.T) {
	skipAsRoot(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	writeTestFile(t, path, "old")
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	r := callTool(t, NewWrite(Options{}), dir, `{"path":"f","content":"new"}`)
	if !r.IsError || readTestFile(t, path) != "old" {
		t.Errorf("got %s", r.Content.PlainText())
	}
	onlyFiles(t, dir, "f")
}

func TestSaveToADevice(t *testing.T) {
	if err := saveFile(os.DevNull, []byte("x")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().IsRegular() {
		t.Fatalf("%s was replaced by a file", os.DevNull)
	}
}

func TestNewFileHasTheModeOfTheUmask(t *testing.T) {
	skipOnWindows(t, "no mode bits")
	dir := t.TempDir()
	writeTestFile(t, filepath.Join(dir, "plain"), "") // 0644 less the umask
	r := callTool(t, NewWrite(Options{}), dir, `{"path":"new","content":"x"}`)
	if r.IsError {
		t.Fatal(r.Content.PlainText())
	}
	plain, err := os.Stat(filepath.Join(dir, "plain"))
	if err != nil {
		t.Fatal(err)
	}
	made, err := os.Stat(filepath.Join(dir, "new"))
	if err != nil {
		t.Fatal(err)
	}
	if made.Mode()&0o644 != plain.Mode() {
		t.Errorf("mode %v, want %v or more for the group", made.Mode(), plain.Mode())
	}
}
