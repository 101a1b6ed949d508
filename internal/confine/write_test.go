package confine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestMissing(t *testing.T) {
	root, outside := tree(t)
	for name, target := range map[string]string{
		"rel": "a/b", "later": "a/later.txt", "later-abs": filepath.Join(root, "a", "abs.txt"), "chain": "later", "out": filepath.Join(outside, "x"), "up": "../x", "loop": "loop",
		"into": "a/none", "deep-up": "a/../../x",
	} {
		link(t, target, filepath.Join(root, name))
	}
	r, err := OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for name, want := range map[string]string{
		"none": ".|none", "a/none": "a|none", "x/y/z": ".|x y z", "rel/new": "a/b|new", "rel/new/er": "a/b|new er", "later": "a|later.txt", "later-abs": "a|abs.txt", "chain": "a|later.txt",
		filepath.Join(root, "a", "none"): "a|none", "into/x": "a|none x", "./a/../none": ".|none",
	} {
		folder, rest, err := r.Missing(name)
		if got := filepath.ToSlash(folder) + "|" + strings.Join(rest, " "); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, want)
		}
	}
	for name, want := range map[string]error{
		"out": ErrOutside, "out/x": ErrOutside, "up": ErrOutside, "../x": ErrOutside, "deep-up": ErrOutside, filepath.Join(outside, "x"): ErrOutside, "loop": ErrLoop, "loop/x": ErrLoop, "": ErrName,
		".": fs.ErrExist, "top.txt/x": syscall.ENOTDIR, "a\x00": ErrName,
	} {
		if folder, rest, err := r.Missing(name); !errors.Is(err, want) {
			t.Errorf("%s: %s %q, %v, want %v", name, folder, rest, err, want)
		}
	}
}

// TestFolder: what is done in an open folder stays in it, whatever becomes of its
// name and of the names in it.
func TestFolder(t *testing.T) {
	root, outside := tree(t)
	secret := filepath.Join(outside, "secret.txt")
	before, err := os.ReadFile(secret)
	if err != nil {
		t.Fatal(err)
	}
	link(t, outside, filepath.Join(root, "out"))
	link(t, secret, filepath.Join(root, "a", "leak.txt"))
	link(t, "..", filepath.Join(root, "a", "up"))
	r, err := OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for name, want := range map[string]error{"out": ErrOutside, "..": ErrOutside, "none": fs.ErrNotExist, "top.txt": syscall.ENOTDIR} {
		if d, err := r.Folder(name); !errors.Is(err, want) {
			t.Errorf("%s: %v, %v, want %v", name, d, err, want)
		}
	}
	d, err := r.Folder("a")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for op, do := range map[string]func() error{
		"open a link":   func() error { _, err := d.OpenFile("leak.txt", os.O_WRONLY|os.O_TRUNC, 0o600); return err },
		"stat a link":   func() error { _, err := d.Stat("leak.txt"); return err },
		"open above":    func() error { _, err := d.OpenFile("../top.txt", os.O_WRONLY, 0); return err },
		"make above":    func() error { _, err := d.Make("up/x", 0o777); return err },
		"make outside":  func() error { _, err := d.Make("../../x", 0o777); return err },
		"rename above":  func() error { return d.Rename("b", "../b") },
		"remove above":  func() error { return d.Remove("../top.txt") },
		"remove by up":  func() error { return d.Remove("up/top.txt") },
		"rename by up":  func() error { return d.Rename("b", "up/b") },
		"an empty name": func() error { _, err := d.OpenFile("", os.O_WRONLY, 0); return err },
	} {
		if err := do(); err == nil || op != "an empty name" && !errors.Is(err, ErrOutside) {
			t.Errorf("%s: %v", op, err)
		}
	}
	// The folder goes on where it is moved; nothing is made behind the link that has its name.
	if err := os.Rename(filepath.Join(root, "a"), filepath.Join(root, "moved")); err != nil {
		t.Skip(err)
	}
	link(t, outside, filepath.Join(root, "a"))
	f, err := d.OpenFile("new.txt", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if err := d.Rename("new.txt", "leak.txt"); err != nil { // replaces the link
		t.Error(err)
	}
	sub, err := d.Make("x/y", 0o777)
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	if info, err := os.Lstat(filepath.Join(root, "moved", "leak.txt")); err != nil || !info.Mode().IsRegular() {
		t.Errorf("the link was not replaced: %v, %v", info, err)
	}
	if _, err := os.Stat(filepath.Join(root, "moved", "x", "y")); err != nil {
		t.Error(err)
	}
	if after, err := os.ReadFile(secret); err != nil || string(after) != string(before) {
		t.Errorf("%s is now %q, %v", secret, after, err)
	}
}
