package subagent

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// gitTime bounds each call of git.
const gitTime = 2 * time.Minute

// worktree is a checkout of its own for a child, on a branch of its own.
type worktree struct {
	repo, path, branch string
	cwd                string // where the child works: the same folder as its parent's, in the checkout
}

// addWorktree makes a checkout of the repository that cwd lies in, beside it. On
// error nothing is left (pi-web, "Start sequence").
func addWorktree(ctx context.Context, cwd string) (*worktree, error) {
	top, err := git(ctx, cwd, "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, fmt.Errorf("isolation wants a git repository: %w", err)
	}
	if _, err := git(ctx, cwd, "rev-parse", "--verify", "HEAD^{commit}"); err != nil {
		return nil, fmt.Errorf("isolation wants a repository with a commit: %w", err)
	}
	prefix, err := git(ctx, cwd, "rev-parse", "--show-prefix")
	if err != nil {
		return nil, err
	}
	name := strings.ToLower(rand.Text())
	w := &worktree{repo: filepath.FromSlash(top), branch: "pi-web-agent-" + name}
	dir := w.repo + "-worktrees"
	w.path = filepath.Join(dir, w.branch)
	w.cwd = filepath.Join(w.path, filepath.FromSlash(prefix))
	if _, err := git(ctx, w.repo, "worktree", "add", "--quiet", "-b", w.branch, w.path, "HEAD"); err != nil {
		err = errors.Join(err, w.discard())
		return nil, fmt.Errorf("the child's checkout could not be made: %w", err)
	}
	if err := os.MkdirAll(w.cwd, 0o755); err != nil { // a folder that git does not track
		return nil, errors.Join(err, w.discard())
	}
	return w, nil
}

// remove takes the checkout away at the end of a run. One with changes is kept,
// and the error says so; the branch stays if it has commits of its own.
func (w *worktree) remove() error {
	ctx := context.Background()
	base, _ := git(ctx, w.repo, "merge-base", "HEAD", w.branch)
	tip, _ := git(ctx, w.repo, "rev-parse", w.branch)
	if _, err := git(ctx, w.repo, "worktree", "remove", w.path); err != nil {
		return fmt.Errorf("the checkout %s is kept: %w", w.path, err)
	}
	w.dropFolder()
	if tip != "" && tip == base {
		if _, err := git(ctx, w.repo, "branch", "--quiet", "-D", w.branch); err != nil {
			return err
		}
	}
	return nil
}

// discard takes away a checkout that nothing worked in.
func (w *worktree) discard() error {
	ctx := context.Background()
	if _, err := os.Lstat(w.path); err == nil {
		if _, err := git(ctx, w.repo, "worktree", "remove", "--force", w.path); err != nil {
			return err
		}
	}
	if _, err := git(ctx, w.repo, "rev-parse", "--verify", "--quiet", "refs/heads/"+w.branch); err == nil {
		if _, err := git(ctx, w.repo, "branch", "--quiet", "-D", w.branch); err != nil {
			return err
		}
	}
	w.dropFolder()
	return nil
}

// dropFolder takes the folder of checkouts away if the last one is gone.
func (w *worktree) dropFolder() {
	dir := filepath.Dir(w.path)
	if info, err := os.Lstat(dir); err == nil && info.IsDir() {
		_ = os.Remove(dir) // fails where something is in it
	}
}

// git runs one command and returns its output, trimmed.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		text := strings.TrimSpace(problem.String())
		if text == "" {
			text = err.Error()
		}
		return "", fmt.Errorf("git %s: %s", args[0], text)
	}
	return strings.TrimRight(out.String(), "\r\n"), nil
}
