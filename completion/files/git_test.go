package files

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// trackedPaths are what our reader says git tracks below a folder.
func trackedPaths(t *testing.T, dir string) []string {
	t.Helper()
	tr, _, err := readTracked(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := []string{}
	for _, d := range tr.dirs {
		for i := range d.files {
			if d.files[i].flags&isTracked == 0 {
				t.Errorf("%s is not marked as tracked", d.pathOf(i))
			}
			all = append(all, d.pathOf(i))
		}
	}
	slices.Sort(all)
	return all
}

// lsFiles are what git says.
func lsFiles(t *testing.T, dir string) []string {
	t.Helper()
	all := strings.Split(strings.TrimSuffix(git(t, dir, "ls-files", "-z", "--deduplicate"), "\x00"), "\x00")
	slices.Sort(all)
	return all
}

var oddNames = map[string]string{
	"a": "", "a-b/x": "", "a/b": "", "z": "", "src/app.go": "", "src/deep/er/x.go": "", "with space/ü 文.txt": "", "e\u0301.txt": "", "-x": "", "quote\"s": "", "dir/.hidden": "", "new\nline": "",
}

func repository0(t *testing.T, args ...string) string {
	t.Helper()
	dir := folder(t, nil)
	git(t, dir, append([]string{"init", "-q"}, args...)...)
	for name, text := range oddNames {
		if name != "a" {
			put(t, dir, name, text)
		}
	}
	git(t, dir, "add", "-A")
	return dir
}

// Our reader of git's index says what git says.
func TestTrackedAsGitSays(t *testing.T) {
	for name, make := range map[string]func(t *testing.T) string{
		"plain":  func(t *testing.T) string { return repository0(t) },
		"sha256": func(t *testing.T) string { return repository0(t, "--object-format=sha256") },
		"version 4": func(t *testing.T) string {
			dir := repository0(t)
			git(t, dir, "update-index", "--index-version", "4")
			return dir
		},
		"intent to add": func(t *testing.T) string {
			dir := repository0(t)
			put(t, dir, "later", "x")
			git(t, dir, "add", "-N", "later") // needs version 3
			return dir
		},
		"a folder of it": func(t *testing.T) string { return filepath.Join(repository0(t), "src") },
		"a linked work tree": func(t *testing.T) string {
			dir := repository0(t)
			git(t, dir, "commit", "-qm", "x")
			git(t, dir, "worktree", "add", "-q", filepath.Join(dir, "..", "other"))
			return filepath.Join(filepath.Dir(dir), "other")
		},
		"a conflict": func(t *testing.T) string {
			dir := repository0(t)
			git(t, dir, "commit", "-qm", "x")
			for _, branch := range []string{"one", "two"} {
				git(t, dir, "checkout", "-q", "-b", branch, "main")
				put(t, dir, "z", branch)
				put(t, dir, "both", branch)
				git(t, dir, "add", "-A")
				git(t, dir, "commit", "-qm", branch)
			}
			gitMayFail(t, dir, "merge", "-q", "one")
			return dir
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := make(t)
			if diff := cmp.Diff(lsFiles(t, dir), trackedPaths(t, dir)); diff != "" {
				t.Errorf("(-git +ours)\n%s", diff)
			}
		})
	}
}

func TestSubmodulesAreRead(t *testing.T) {
	inner := repository0(t)
	git(t, inner, "commit", "-qm", "x")
	dir := repository0(t)
	git(t, dir, "submodule", "--quiet", "add", inner, "vendor/inner")
	got := trackedPaths(t, dir)
	for _, want := range []string{"vendor/inner/src/app.go", "vendor/inner/with space/ü 文.txt", "src/app.go"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is missing in %q", want, got)
		}
	}
	x := open(t, dir, IndexOptions{}).ready(t)
	if got := filesOf(x.paths(t, "inner/app")); len(got) != 1 || got[0] != "vendor/inner/src/app.go" {
		t.Errorf("%q", got)
	}
}

// What is checked out only in part, split or damaged is walked.
func TestOddIndexes(t *testing.T) {
	dir := repository0(t)
	git(t, dir, "commit", "-qm", "x")
	git(t, dir, "update-index", "--skip-worktree", "z")
	if slices.Contains(trackedPaths(t, dir), "z") {
		t.Error("a file that is not checked out is listed")
	}
	git(t, dir, "update-index", "--split-index")
	x := open(t, dir, IndexOptions{}).ready(t)
	if got := filesOf(x.paths(t, "app.go")); len(got) != 1 {
		t.Errorf("with a split index: %q", got)
	}
	for name, data := range map[string]string{"empty": "", "no index": "hello", "cut": string(makeIndex([]string{"a", "b"})[:90]), "many": "DIRC\x00\x00\x00\x02\xff\xff\xff\xff" + strings.Repeat("x", 100)} {
		if err := os.WriteFile(filepath.Join(dir, ".git", "index"), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
		x := open(t, dir, IndexOptions{}).ready(t)
		if got := filesOf(x.paths(t, "app.go")); len(got) != 1 {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func FuzzReadIndex(f *testing.F) {
	f.Add(makeIndex([]string{"a", "b/c"}), 20)
	f.Add(append([]byte("DIRC\x00\x00\x00\x04\x00\x00\x00\x01"), make([]byte, 120)...), 32)
	f.Fuzz(func(t *testing.T, data []byte, hash int) {
		if hash != 20 {
			hash = 32
		}
		_ = readIndex(data, hash, func(e indexEntry) {
			if usable(e.path) && (strings.Contains("/"+string(e.path)+"/", "/../") || strings.Contains("/"+string(e.path)+"/", "/.git/")) {
				t.Fatalf("%q is usable", e.path)
			}
		})
	})
}

// An index that somebody has made by hand leads nowhere else.
func TestHostileIndex(t *testing.T) {
	dir := folder(t, map[string]string{".git/config": "", "ok": ""})
	put(t, dir, "../secret", "")
	paths := []string{"../secret", "/etc/passwd", "a/../../secret", ".git/config", "x/.GIT/config", "a//b", "./a", "", "ok"}
	put(t, dir, ".git/index", string(makeIndex(paths)))
	if got := trackedPaths(t, dir); !slices.Equal(got, []string{"ok"}) {
		t.Errorf("%q", got)
	}
}
