package confine

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"
)

func TestResolve(t *testing.T) {
	root, outside := tree(t)
	link(t, "a/b", filepath.Join(root, "rel"))
	link(t, filepath.Join(root, "top.txt"), filepath.Join(root, "abs"))
	link(t, filepath.Join(outside, "secret.txt"), filepath.Join(root, "out"))
	link(t, "loop", filepath.Join(root, "loop"))
	link(t, "nowhere", filepath.Join(root, "dangling"))
	r, err := OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for name, want := range map[string]string{
		"top.txt": "top.txt", "./a/../top.txt": "top.txt", "rel/f.txt": "a/b/f.txt", "abs": "top.txt", ".": ".", "a": "a", filepath.Join(root, "a"): "a",
	} {
		rel, info, err := r.Resolve(name)
		if err != nil || filepath.ToSlash(rel) != want || info == nil {
			t.Errorf("%s: %q, %v, want %q", name, rel, err, want)
		}
	}
	for name, want := range map[string]error{
		"out": ErrOutside, "..": ErrOutside, "../secret.txt": ErrOutside, outside: ErrOutside, "loop": ErrLoop, "dangling": fs.ErrNotExist, "no": fs.ErrNotExist, "": ErrName, "a\x00": ErrName,
	} {
		if rel, _, err := r.Resolve(name); !errors.Is(err, want) {
			t.Errorf("%s: %q, %v, want %v", name, rel, err, want)
		}
	}
}

// A folder that becomes a link to the outside while its path is followed is refused by
// the name of that, too: whoever asks takes it for missing, and not for a fault.
func TestSwappedFolderIsOutside(t *testing.T) {
	root, outside := tree(t)
	link(t, outside, filepath.Join(root, "swapped"))
	r, err := OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	// As after the look at "swapped" that still found a folder.
	if err := r.folder([]string{"swapped", "secret.txt"}); !errors.Is(err, ErrOutside) {
		t.Errorf("%v", err)
	}
}

func TestOpenFolder(t *testing.T) {
	root, outside := tree(t)
	link(t, filepath.Join(outside, "root-sibling"), filepath.Join(root, "out"))
	link(t, "a", filepath.Join(root, "in"))
	r, err := OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for name, want := range map[string][2]error{
		"a": {}, ".": {}, "in": {nil, ErrOutside}, "in/b": {nil, ErrOutside}, "a/b": {}, "out": {ErrOutside, ErrOutside}, "top.txt": {fs.ErrInvalid, fs.ErrInvalid}, "no": {fs.ErrNotExist, fs.ErrNotExist},
		"a/no": {fs.ErrNotExist, fs.ErrNotExist}, "a/..": {nil, ErrName}, "..": {ErrOutside, ErrName}, "top.txt/x": {syscall.ENOTDIR, fs.ErrInvalid},
	} {
		for i, plain := range []bool{false, true} {
			f, err := r.OpenFolder(name, plain)
			if err == nil {
				f.Close()
			}
			if !errors.Is(err, want[i]) {
				t.Errorf("%s, plain %v: %v, want %v", name, plain, err, want[i])
			}
		}
	}
}

func TestOpenPlain(t *testing.T) {
	root, outside := tree(t)
	link(t, "a", filepath.Join(root, "in"))
	link(t, "top.txt", filepath.Join(root, "file"))
	link(t, filepath.Join(outside, "secret.txt"), filepath.Join(root, "out"))
	r, err := OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for name, want := range map[string]error{
		"top.txt": nil, "a/b/f.txt": nil, "in/b/f.txt": ErrOutside, "file": ErrOutside, "out": ErrOutside, "a": ErrNotRegular, "a/no": fs.ErrNotExist, "no/x": fs.ErrNotExist,
		"a/../top.txt": ErrOutside, "": ErrOutside, ".": ErrOutside, "../secret.txt": ErrOutside,
	} {
		f, info, err := r.OpenPlain(name)
		if err == nil {
			if !info.Mode().IsRegular() {
				t.Errorf("%s: %v", name, info.Mode())
			}
			f.Close()
		}
		if !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", name, err, want)
		}
	}
}
