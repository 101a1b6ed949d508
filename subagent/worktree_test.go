package subagent

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repo makes the world's project a repository with a folder and one commit.
func (w *world) repo() {
	w.t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		w.t.Skip("git is not installed")
	}
	w.put("sub/file.txt", "one\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=n", "-c", "user.email=n@example.com", "commit", "-qm", "first"}} {
		if _, err := git(w.t.Context(), w.cwd, args...); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) branches() string {
	w.t.Helper()
	out, err := git(w.t.Context(), w.cwd, "branch", "--list", "pi-web-agent-*")
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// TestIsolation: the child works in a checkout of its own, which is gone at the end
// where nothing was changed, and kept, with a word about it, where something was.
func TestIsolation(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(dir string) error
		kept bool
	}{
		{"nothing changed", func(string) error { return nil }, false},
		{"a file changed", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "sub", "file.txt"), []byte("two\n"), 0o644)
		}, true},
		{"a file added", func(dir string) error { return os.WriteFile(filepath.Join(dir, "new 漢.txt"), []byte("x"), 0o644) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, m := newWorld(t)
			w.repo()
			var cwd string
			w.model = func(ch *child, _ string) {
				cwd = ch.log.Header().CWD
				if err := c.do(cwd); err != nil {
					t.Error(err)
				}
				ch.answer(turn{text: "ok"})
			}
			r := w.wait(m, w.start(m, Spec{Task: "t", Isolation: "worktree"}).ID)
			if !strings.HasPrefix(cwd, w.cwd+"-worktrees"+string(filepath.Separator)+"pi-web-agent-") || r.WorktreePath != cwd || !strings.HasPrefix(r.WorktreeBranch, "pi-web-agent-") {
				t.Errorf("it worked in %s: %+v", cwd, r.Meta)
			}
			_, err := os.Stat(cwd)
			if kept := err == nil; kept != c.kept || (r.CleanupError != "") != c.kept || (w.branches() != "") != c.kept {
				t.Errorf("kept: %v, %q, branches %q", kept, r.CleanupError, w.branches())
			}
			if _, err := os.Stat(w.cwd + "-worktrees"); (err == nil) != c.kept {
				t.Errorf("the folder of checkouts: %v", err)
			}
			if data, err := os.ReadFile(filepath.Join(w.cwd, "sub", "file.txt")); err != nil || string(data) != "one\n" {
				t.Errorf("the parent's file holds %q (%v)", data, err)
			}
		})
	}
}

// TestIsolationInAFolderOfTheRepository: the child's folder is that of its parent.
func TestIsolationInAFolderOfTheRepository(t *testing.T) {
	w, _ := newWorld(t)
	w.repo()
	wt, err := addWorktree(t.Context(), filepath.Join(w.cwd, "sub"))
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(wt.cwd, "file.txt")); err != nil || string(data) != "one\n" {
		t.Errorf("%q (%v)", data, err)
	}
	if err := wt.remove(); err != nil {
		t.Error(err)
	}
}

// TestFailedIsolationLeavesNothing: no checkout, no branch, no file of a child.
func TestFailedIsolationLeavesNothing(t *testing.T) {
	w, m := newWorld(t)
	w.repo()
	if err := os.WriteFile(w.cwd+"-worktrees", []byte("in the way"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Start(t.Context(), w.parent.Path(), Spec{Task: "t", Isolation: "worktree"}); err == nil {
		t.Error("it started")
	}
	if len(w.files) != 0 || w.branches() != "" {
		t.Errorf("left: %v, %q", w.files, w.branches())
	}
	if data, _ := os.ReadFile(w.cwd + "-worktrees"); string(data) != "in the way" {
		t.Errorf("the file in the way holds %q", data)
	}
}

// TestProfileOffWins: a profile that says "off" is not isolated by a call.
func TestProfileOffWins(t *testing.T) {
	w, m := newWorld(t)
	w.repo()
	w.put(".pi/agents/here.md", "---\nisolation: off\n---\nx")
	w.put(".pi/agents/apart.md", "---\nisolation: worktree\n---\nx")
	if r := w.wait(m, w.start(m, Spec{Profile: "here", Task: "t", Isolation: "worktree"}).ID); r.WorktreePath != "" {
		t.Errorf("%+v", r.Meta)
	}
	if r := w.wait(m, w.start(m, Spec{Profile: "apart", Task: "t"}).ID); r.WorktreePath == "" {
		t.Errorf("%+v", r.Meta)
	}
}
