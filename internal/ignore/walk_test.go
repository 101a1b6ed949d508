package ignore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func skipOnWindows(t *testing.T, why string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("windows: " + why)
	}
}

func TestWalkLinks(t *testing.T) {
	skipOnWindows(t, "links need rights")
	dir := tree(t, map[string]string{"d/a": "", "e/b": ""})
	for name, target := range map[string]string{
		"d/loop": "..", "self": "self", "nowhere": "gone", "file": "d/a", "folder": "e", "e/absolute": dir,
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"d/", "d/a", "d/loop", "e/", "e/absolute", "e/b", "file", "folder", "nowhere", "self"}
	if got := walked(t, dir, WalkOptions{}); !slices.Equal(got, want) {
		t.Errorf("met %q, want %q", got, want)
	}
	if got := walked(t, filepath.Join(dir, "folder"), WalkOptions{}); !slices.Equal(got, []string{"absolute", "b"}) {
		t.Errorf("through a link as root: %q", got)
	}
}

// The rules of a link's root are those of where it leads.
func TestRulesOfALinkedRoot(t *testing.T) {
	skipOnWindows(t, "links need rights")
	dir := tree(t, map[string]string{"r/.git/x": "", "r/.gitignore": "/s/a\n", "r/s/a": "", "r/s/b": ""})
	if err := os.Symlink(filepath.Join("r", "s"), filepath.Join(dir, "l")); err != nil {
		t.Fatal(err)
	}
	if got := walked(t, filepath.Join(dir, "l"), WalkOptions{}); !slices.Equal(got, []string{"b"}) {
		t.Errorf("met %q", got)
	}
}

func TestWalkUnreadable(t *testing.T) {
	skipOnWindows(t, "no mode bits")
	if os.Geteuid() == 0 {
		t.Skip("root may do everything")
	}
	dir := tree(t, map[string]string{"a": "", "closed/x": "", "z": ""})
	if err := os.Chmod(filepath.Join(dir, "closed"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Join(dir, "closed"), 0o755)
	var failed []string
	got := walked(t, dir, WalkOptions{OnError: func(path string, err error) {
		if errors.Is(err, fs.ErrPermission) {
			failed = append(failed, path)
		}
	}})
	if !slices.Equal(got, []string{"a", "closed/", "z"}) || !slices.Equal(failed, []string{"closed"}) {
		t.Errorf("met %q, failed %q", got, failed)
	}
}

// A folder that vanishes while the walk is on its way to it is reported.
func TestWalkVanishing(t *testing.T) {
	for _, sorted := range []bool{true, false} {
		dir := tree(t, map[string]string{"a/x": "", "b/x": ""})
		var failed []string
		err := Walk(t.Context(), dir, WalkOptions{Sorted: sorted, Workers: 1,
			OnError: func(path string, err error) { failed = append(failed, path) },
		}, func(e Entry) error {
			if e.Path == "b" {
				return os.RemoveAll(filepath.Join(dir, "b"))
			}
			return nil
		})
		if err != nil || !slices.Equal(failed, []string{"b"}) {
			t.Errorf("sorted %v: failed %q, %v", sorted, failed, err)
		}
	}
}

func TestWalkErrors(t *testing.T) {
	dir := tree(t, map[string]string{"a/b/c": "", "d/e": "", "f": ""})
	boom := errors.New("boom")
	for _, c := range []struct {
		name string
		at   string
		err  error
		want error
		met  []string // sorted walk
	}{
		{"skip a folder", "a", fs.SkipDir, nil, []string{"a/", "d/", "d/e", "f"}},
		{"skip all", "d", fs.SkipAll, nil, []string{"a/", "a/b/", "a/b/c", "d/"}},
		{"error", "a/b", boom, boom, []string{"a/", "a/b/"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, sorted := range []bool{true, false} {
				var met []string
				err := Walk(t.Context(), dir, WalkOptions{Sorted: sorted, Workers: 1}, func(e Entry) error {
					met = append(met, listed(e))
					if e.Path == c.at {
						return c.err
					}
					return nil
				})
				if !errors.Is(err, c.want) || err != nil && c.want == nil {
					t.Errorf("sorted %v: %v", sorted, err)
				}
				if sorted && !slices.Equal(met, c.met) {
					t.Errorf("met %q, want %q", met, c.met)
				}
			}
		})
	}
	if err := Walk(t.Context(), filepath.Join(dir, "nope"), WalkOptions{}, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing root: %v", err)
	}
	if err := Walk(t.Context(), filepath.Join(dir, "f"), WalkOptions{}, nil); err == nil {
		t.Error("a file is walked")
	}
}

func TestWalkChoose(t *testing.T) {
	dir := tree(t, map[string]string{".git/x": "", ".gitignore": "*.log\nout/\n", "a.log": "", "out/b": "", "src/c": "", "src/d": ""})
	got := walked(t, dir, WalkOptions{Choose: func(e Entry) Choice {
		switch e.Path {
		case "a.log", "out":
			return Keep
		case "src":
			return Drop
		}
		return AskRules
	}})
	if want := []string{".gitignore", "a.log", "out/", "out/b"}; !slices.Equal(got, want) {
		t.Errorf("met %q, want %q", got, want)
	}
}

func TestWalkDepth(t *testing.T) {
	skipOnWindows(t, "paths are shorter")
	root := t.TempDir()
	dir, err := os.OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := dir.MkdirAll(strings.Repeat("d/", MaxDepth+2), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, sorted := range []bool{true, false} {
		var deepest, met atomic.Int64
		var last error
		err := Walk(t.Context(), root, WalkOptions{Sorted: sorted, OnError: func(path string, err error) {
			deepest.Store(int64(strings.Count(path, "/") + 1))
			last = err
		}}, func(Entry) error { met.Add(1); return nil })
		if err != nil || !errors.Is(last, ErrTooDeep) || deepest.Load() != MaxDepth+1 || met.Load() != MaxDepth+1 {
			t.Errorf("sorted %v: %v, %v at %d, met %d", sorted, err, last, deepest.Load(), met.Load())
		}
	}
}

func TestWalkStops(t *testing.T) {
	files := map[string]string{}
	for _, d := range []string{"a", "b", "c", "d"} {
		for _, f := range []string{"1", "2", "3"} {
			files[d+"/"+f+"/x"] = ""
		}
	}
	dir := tree(t, files)
	for _, sorted := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		var met atomic.Int64
		err := Walk(ctx, dir, WalkOptions{Sorted: sorted}, func(Entry) error {
			met.Add(1)
			cancel()
			return nil
		})
		if !errors.Is(err, context.Canceled) || met.Load() > 12 {
			t.Errorf("sorted %v: %v after %d entries", sorted, err, met.Load())
		}
		ctx, cancel = context.WithTimeout(t.Context(), time.Nanosecond)
		<-ctx.Done()
		if err := Walk(ctx, dir, WalkOptions{Sorted: sorted}, func(Entry) error { t.Error("called"); return nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("sorted %v: %v", sorted, err)
		}
		cancel()
	}
}

// TestWalkThroughOtherDoors: folders and the files of rules are opened by those who
// ask for it, and what they refuse is left out and told.
func TestWalkThroughOtherDoors(t *testing.T) {
	dir := tree(t, map[string]string{
		".git/info/exclude": "x-*\n", ".git/config": "", ".gitignore": "*.log\n", "a/b.txt": "", "a/c.log": "", "a/.gitignore": "!c.log\nd\n", "a/d": "", "shut/e.txt": "", "x-1": "", "z": "",
	})
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var mu sync.Mutex
	var folders, files, told []string
	opts := WalkOptions{
		OpenFolder: func(rel string) (fs.ReadDirFile, error) {
			mu.Lock()
			folders = append(folders, rel)
			mu.Unlock()
			if rel == "shut" {
				return nil, fs.ErrPermission
			}
			if rel == "" {
				rel = "."
			}
			f, err := root.Open(rel)
			if err != nil {
				return nil, err
			}
			return f, nil
		},
		OnError: func(path string, err error) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, path)
		},
	}
	opts.OpenFile = func(path string) (*os.File, error) {
		rel, err := filepath.Rel(dir, path)
		if err != nil || !filepath.IsLocal(rel) {
			return nil, fs.ErrNotExist // no rules from above
		}
		mu.Lock()
		files = append(files, filepath.ToSlash(rel))
		mu.Unlock()
		return root.Open(rel)
	}
	want := []string{".gitignore", "a/", "a/.gitignore", "a/b.txt", "a/c.log", "shut/", "z"}
	if got := walked(t, dir, opts); !slices.Equal(got, want) {
		t.Errorf("met %q, want %q", got, want)
	}
	if !slices.Equal(folders, []string{"", "a", "shut"}) || !slices.Equal(told, []string{"shut"}) {
		t.Errorf("opened %q, told %q", folders, told)
	}
	for _, name := range []string{".gitignore", "a/.gitignore", ".git/info/exclude", ".git/config"} {
		if !slices.Contains(files, name) {
			t.Errorf("%s was not read this way: %q", name, files)
		}
	}
}
