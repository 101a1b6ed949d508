package confine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestRealWithin(t *testing.T) {
	root, base := tree(t)
	other := filepath.Join(base, "other")
	write(t, filepath.Join(other, "o.txt"), "other")
	link(t, filepath.Join(other, "o.txt"), filepath.Join(root, "to-other"))
	link(t, "../secret.txt", filepath.Join(root, "to-secret"))
	link(t, root, filepath.Join(base, "alias"))
	link(t, "gone", filepath.Join(root, "dangling"))
	link(t, "loop", filepath.Join(root, "loop"))

	cases := []struct {
		name  string
		path  string
		roots []string
		real  string
		ok    bool
		err   error
	}{
		{"inside", root + "/top.txt", []string{root}, root + "/top.txt", true, nil},
		{"the root itself", root, []string{root}, root, true, nil},
		{"sibling with the same start", base + "/root-sibling/secret.txt", []string{root}, base + "/root-sibling/secret.txt", false, nil},
		{"link to the second root", root + "/to-other", []string{root, other}, other + "/o.txt", true, nil},
		{"link outside", root + "/to-secret", []string{root, other}, base + "/secret.txt", false, nil},
		{"path by a link", base + "/alias/top.txt", []string{root}, root + "/top.txt", true, nil},
		{"root by a link", root + "/top.txt", []string{base + "/alias"}, root + "/top.txt", true, nil},
		{"missing root", root + "/top.txt", []string{base + "/gone", root}, root + "/top.txt", true, nil},
		{"no roots", root + "/top.txt", nil, root + "/top.txt", false, nil},
		{"empty root", root + "/top.txt", []string{""}, root + "/top.txt", false, nil},
		{"a whole file system is no root", root + "/top.txt", []string{"/"}, root + "/top.txt", false, nil},
		{"dots", root + "/a/../../secret.txt", []string{root}, base + "/secret.txt", false, nil},
		{"dangling", root + "/dangling", []string{root}, "", false, fs.ErrNotExist},
		{"missing", root + "/missing", []string{root}, "", false, fs.ErrNotExist},
		{"loop", root + "/loop", []string{root}, "", false, ErrLoop},
		{"NUL", root + "/\x00", []string{root}, "", false, ErrName},
		{"empty", "", []string{root}, "", false, ErrName},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			real, ok, err := RealWithin(filepath.FromSlash(c.path), c.roots...)
			if real != filepath.FromSlash(c.real) || ok != c.ok || !errors.Is(err, c.err) {
				t.Errorf("RealWithin = %q, %v, %v; want %q, %v, %v", real, ok, err, c.real, c.ok, c.err)
			}
		})
	}
}

func TestOpenWithin(t *testing.T) {
	root, base := tree(t)
	home := filepath.Join(base, "home")
	write(t, filepath.Join(home, "notes.md"), "notes")
	link(t, filepath.Join(home, "notes.md"), filepath.Join(root, "to-home"))
	link(t, filepath.Join(base, "secret.txt"), filepath.Join(root, "to-secret"))
	link(t, home, filepath.Join(root, "to-folder"))

	f, real, err := OpenWithin(filepath.Join(root, "to-home"), root, home)
	if err != nil || real != filepath.Join(home, "notes.md") {
		t.Fatalf("real %q, %v", real, err)
	}
	data, err := ReadOpen(f, 100)
	f.Close()
	if err != nil || string(data) != "notes" {
		t.Errorf("%q, %v", data, err)
	}
	for path, want := range map[string]error{
		"to-secret": ErrOutside, "to-folder": ErrNotRegular, "missing": fs.ErrNotExist,
	} {
		if f, _, err := OpenWithin(filepath.Join(root, path), root, home); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
			if f != nil {
				f.Close()
			}
		}
	}
}

func TestOpenUnlinked(t *testing.T) {
	root, _ := tree(t)
	link(t, "top.txt", filepath.Join(root, "link"))
	link(t, "a", filepath.Join(root, "dirlink"))
	for path, want := range map[string]error{
		"top.txt": nil, "dirlink/b/f.txt": nil,
		"link": ErrNotRegular, "a": ErrNotRegular, "gone": fs.ErrNotExist, "\x00": ErrName,
	} {
		name := path
		if path != "\x00" {
			name = filepath.Join(root, filepath.FromSlash(path))
		}
		f, info, err := OpenUnlinked(name)
		if !errors.Is(err, want) || (want == nil) != (f != nil && info != nil) {
			t.Errorf("%q: %v, want %v", path, err, want)
		}
		if f != nil {
			f.Close()
		}
	}
}

func TestReadRegular(t *testing.T) {
	root, _ := tree(t)
	link(t, "top.txt", filepath.Join(root, "link"))
	if data, err := ReadRegular(filepath.Join(root, "link"), 3); err != nil || string(data) != "top" {
		t.Errorf("a link to a file is followed: %q, %v", data, err)
	}
	for path, want := range map[string]error{"link": ErrTooBig, "a": ErrNotRegular, "gone": fs.ErrNotExist} {
		if _, err := ReadRegular(filepath.Join(root, path), 2); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
}

// Where the file system ignores case or normal form, another spelling of a
// folder is the same folder.
func TestRealWithinOtherSpelling(t *testing.T) {
	base := realTemp(t)
	write(t, filepath.Join(base, "Proj", "f"), "x")
	if _, err := os.Stat(filepath.Join(base, "PROJ")); err != nil {
		// Here letters differ and so do folders.
		write(t, filepath.Join(base, "PROJ", "f"), "y")
		if _, ok, err := RealWithin(filepath.Join(base, "PROJ", "f"), filepath.Join(base, "Proj")); ok || err != nil {
			t.Errorf("another folder counted as inside (%v)", err)
		}
		nfc, nfd := "caf\u00e9", "cafe\u0301"
		write(t, filepath.Join(base, nfc, "f"), "x")
		write(t, filepath.Join(base, nfd, "f"), "y")
		if _, ok, _ := RealWithin(filepath.Join(base, nfd, "f"), filepath.Join(base, nfc)); ok {
			t.Error("NFD folder counted as inside the NFC one")
		}
		return
	}
	if _, ok, err := RealWithin(filepath.Join(base, "PROJ", "f"), filepath.Join(base, "Proj")); !ok || err != nil {
		t.Errorf("the same folder did not count as inside (%v)", err)
	}
}
