package confine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// tree makes root/ with files, links and a sibling with a secret:
//
//	root/a/b/f.txt  root/top.txt  root/with space/日本 é🙂.txt
//	root-sibling/secret.txt  secret.txt  root/fifo (unix)
func tree(t *testing.T) (root, outside string) {
	t.Helper()
	base := realTemp(t)
	root = filepath.Join(base, "root")
	write(t, filepath.Join(root, "a", "b", "f.txt"), "deep")
	write(t, filepath.Join(root, "top.txt"), "top")
	write(t, filepath.Join(root, "with space", "日本 é🙂.txt"), "unicode")
	write(t, filepath.Join(base, "root-sibling", "secret.txt"), "secret")
	write(t, filepath.Join(base, "secret.txt"), "secret")
	return root, base
}

func realTemp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		if runtime.GOOS == "windows" {
			t.Skipf("links need a privilege here: %v", err)
		}
		t.Fatal(err)
	}
}

func open(t *testing.T, dir string) *Root {
	t.Helper()
	r, err := OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestRootReadsWhatLiesInside(t *testing.T) {
	root, base := tree(t)
	link(t, filepath.Join("b", "f.txt"), filepath.Join(root, "a", "rel"))
	link(t, filepath.Join(root, "a", "b", "f.txt"), filepath.Join(root, "abs"))
	link(t, filepath.Join(root, "a"), filepath.Join(root, "absdir"))
	link(t, "a", filepath.Join(root, "dirlink"))
	link(t, "abs", filepath.Join(root, "chain"))
	link(t, "../absdir/../top.txt", filepath.Join(root, "a", "upabs"))
	link(t, root, filepath.Join(base, "alias"))
	alias := filepath.Join(base, "alias")

	cases := []struct{ name, path, want string }{
		{"plain", "a/b/f.txt", "deep"},
		{"dot segments", "./a//b/./f.txt", "deep"},
		{"up and down again", "a/../a/b/f.txt", "deep"},
		{"up through a missing folder, by letters", "missing/../top.txt", "top"},
		{"space, CJK, emoji", "with space/日本 é🙂.txt", "unicode"},
		{"relative link", "a/rel", "deep"},
		{"link to a folder", "dirlink/b/f.txt", "deep"},
		{"absolute link inside", "abs", "deep"},
		{"absolute link to a folder inside", "absdir/b/f.txt", "deep"},
		{"relative link to an absolute link", "chain", "deep"},
		{"link with dots over an absolute link", "a/upabs", "top"},
		{"absolute name", filepath.Join(root, "top.txt"), "top"},
		{"absolute name with dots", root + "/a/../top.txt", "top"},
		{"absolute name through an absolute link", filepath.Join(root, "absdir", "b", "f.txt"), "deep"},
	}
	for _, at := range []struct{ name, dir string }{{"real", root}, {"by a link", alias}} {
		r := open(t, at.dir)
		if r.Path() != root {
			t.Errorf("Path() = %q, want the real path %q", r.Path(), root)
		}
		for _, c := range cases {
			t.Run(at.name+"/"+c.name, func(t *testing.T) {
				got, err := r.ReadFile(filepath.FromSlash(c.path), 100)
				if err != nil || string(got) != c.want {
					t.Fatalf("ReadFile(%q) = %q, %v; want %q", c.path, got, err, c.want)
				}
				f, err := r.Open(filepath.FromSlash(c.path))
				if err != nil {
					t.Fatal(err)
				}
				f.Close()
				if info, err := r.Stat(filepath.FromSlash(c.path)); err != nil || info.Size() != int64(len(c.want)) {
					t.Errorf("Stat: %v, %v", info, err)
				}
			})
		}
	}
	r := open(t, alias)
	if got, err := r.ReadFile(filepath.Join(alias, "top.txt"), 10); err != nil || string(got) != "top" {
		t.Errorf("absolute name as the root was given: %q, %v", got, err)
	}
}

func TestRootRefuses(t *testing.T) {
	root, base := tree(t)
	secret := filepath.Join(base, "secret.txt")
	link(t, secret, filepath.Join(root, "abs-out"))
	link(t, "../secret.txt", filepath.Join(root, "rel-out"))
	link(t, "..", filepath.Join(root, "up"))
	link(t, base, filepath.Join(root, "absup"))
	link(t, filepath.Join(base, "root-sibling"), filepath.Join(root, "sib"))
	link(t, "nowhere", filepath.Join(root, "dangling"))
	link(t, filepath.Join(root, "nowhere"), filepath.Join(root, "abs-dangling"))
	link(t, "loop-b", filepath.Join(root, "loop-a"))
	link(t, "loop-a", filepath.Join(root, "loop-b"))
	link(t, filepath.Join(root, "abs-self"), filepath.Join(root, "abs-self"))
	link(t, root+"/a/../../secret.txt", filepath.Join(root, "abs-dots"))
	link(t, "abs-out", filepath.Join(root, "to-abs-out"))
	link(t, base+"/root/../secret.txt", filepath.Join(root, "through-root"))
	// A second spelling of the root that the Root does not know.
	link(t, root, filepath.Join(base, "alias"))
	link(t, filepath.Join(base, "alias", "top.txt"), filepath.Join(root, "by-alias"))

	cases := []struct {
		name, path string
		want       error
	}{
		{"empty", "", ErrName},
		{"NUL", "a\x00b", ErrName},
		{"NUL after an escape", "../secret.txt\x00", ErrName},
		{"parent", "../secret.txt", ErrOutside},
		{"only dots", "..", ErrOutside},
		{"parent in the middle", "a/../../secret.txt", ErrOutside},
		{"parent through a folder that is missing", "x/../../secret.txt", ErrOutside},
		{"absolute outside", secret, ErrOutside},
		{"absolute with dots", root + "/../secret.txt", ErrOutside},
		{"sibling with the same start", root + "-sibling/secret.txt", ErrOutside},
		{"file system root", string(filepath.Separator), ErrOutside},
		{"absolute link outside", "abs-out", ErrOutside},
		{"relative link outside", "rel-out", ErrOutside},
		{"link to a link outside", "to-abs-out", ErrOutside},
		{"link to the parent", "up/secret.txt", ErrOutside},
		{"absolute link to the parent", "absup/secret.txt", ErrOutside},
		{"and back in", "absup/root/top.txt", ErrOutside},
		{"link to a sibling", "sib/secret.txt", ErrOutside},
		{"absolute link with dots", "abs-dots", ErrOutside},
		{"absolute link over the root", "through-root", ErrOutside},
		{"absolute link by another spelling", "by-alias", ErrOutside},
		{"dangling link", "dangling", fs.ErrNotExist},
		{"absolute dangling link", "abs-dangling", fs.ErrNotExist},
		{"loop", "loop-a", ErrLoop},
		{"absolute loop", "abs-self", ErrLoop},
		{"folder", "a", ErrNotRegular},
		{"the root itself", ".", ErrNotRegular},
		{"the root itself, absolute", root, ErrNotRegular},
		{"link to a folder", "a/..", ErrNotRegular},
		{"missing", "missing.txt", fs.ErrNotExist},
		{"below a file", "top.txt/x", nil},
		{"long", strings.Repeat("x", 5000), nil},
		{"percent encoded dots are a plain name", "%2e%2e/secret.txt", fs.ErrNotExist},
		{"backslash dots are a plain name on unix", `..\secret.txt`, nil},
	}
	r := open(t, root)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			data, err := r.ReadFile(c.path, 100)
			if err == nil {
				t.Fatalf("ReadFile(%q) gave %q", c.path, data)
			}
			if c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("ReadFile: %v; want %v", err, c.want)
			}
			var e *Error
			if !errors.As(err, &e) || e.Op != "read" || e.Name != c.path || e.Root != root {
				t.Errorf("error does not say what, where, why: %#v", err)
			}
			if f, err := r.Open(c.path); err == nil {
				f.Close()
				t.Error("Open allowed it")
			}
			if errors.Is(c.want, ErrNotRegular) {
				return
			}
			if _, err := r.Stat(c.path); err == nil {
				t.Error("Stat allowed it")
			} else if c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("Stat: %v; want %v", err, c.want)
			}
		})
	}
}

func TestRootStatSeesFolders(t *testing.T) {
	root, _ := tree(t)
	r := open(t, root)
	for _, name := range []string{".", "a", root} {
		if info, err := r.Stat(name); err != nil || !info.IsDir() {
			t.Errorf("Stat(%q) = %v, %v", name, info, err)
		}
	}
}

func TestRootLimit(t *testing.T) {
	root, _ := tree(t)
	r := open(t, root)
	for _, c := range []struct {
		name  string
		limit int64
		ok    bool
	}{{"exact", 4, true}, {"one less", 3, false}, {"none", 0, false}, {"negative", -1, false}, {"huge", 1<<63 - 1, true}} {
		t.Run(c.name, func(t *testing.T) {
			data, err := r.ReadFile("a/b/f.txt", c.limit)
			if c.ok != (err == nil) || c.ok && string(data) != "deep" {
				t.Fatalf("%q, %v", data, err)
			}
			if !c.ok && !errors.Is(err, ErrTooBig) {
				t.Errorf("error %v is not ErrTooBig", err)
			}
		})
	}
	write(t, filepath.Join(root, "empty"), "")
	if data, err := r.ReadFile("empty", 0); err != nil || len(data) != 0 {
		t.Errorf("an empty file fits in 0 bytes: %q, %v", data, err)
	}
}

func TestRootLimitHoldsForFilesThatLieAboutTheirSize(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	r := open(t, "/proc/self")
	if _, err := r.ReadFile("status", 10); !errors.Is(err, ErrTooBig) {
		t.Errorf("got %v", err)
	}
	if data, err := r.ReadFile("status", 1<<20); err != nil || len(data) < 100 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

func TestRootSurvivesRename(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open folder cannot be renamed")
	}
	root, base := tree(t)
	r := open(t, root)
	if err := os.Rename(root, filepath.Join(base, "moved")); err != nil {
		t.Fatal(err)
	}
	link(t, filepath.Join(base, "root-sibling"), root)
	if data, err := r.ReadFile("top.txt", 10); err != nil || string(data) != "top" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := r.ReadFile("secret.txt", 10); err == nil {
		t.Error("read from the folder that took the root's place")
	}
}

func TestOpenRootErrors(t *testing.T) {
	root, base := tree(t)
	for _, dir := range []string{filepath.Join(base, "missing"), filepath.Join(root, "top.txt")} {
		if r, err := OpenRoot(dir); err == nil {
			r.Close()
			t.Errorf("OpenRoot(%q) worked", dir)
		}
	}
	r := open(t, root)
	r.Close()
	if _, err := r.Open("top.txt"); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestRel(t *testing.T) {
	root, _ := tree(t)
	r := open(t, root)
	for name, want := range map[string]string{
		"a/b": "a/b", "./x": "x", root: ".", root + "/a/../c": "c", "x/": "x",
	} {
		if got, err := r.Rel(name); err != nil || filepath.ToSlash(got) != want {
			t.Errorf("Rel(%q) = %q, %v", name, got, err)
		}
	}
}
