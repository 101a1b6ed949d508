package resource

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/piweb-go/piweb/internal/confine"
)

// maxGitFile bounds a .git or commondir file, in bytes; each holds one path.
const maxGitFile = 64 << 10

// GitRoot returns the nearest folder from dir upwards that has an entry .git, or
// "". The letters of the path are followed first; a dir that is a link into a
// checkout has the root of that checkout.
func GitRoot(dir string) string {
	if dir == "" {
		return ""
	}
	if root := nearestGit(dir); root != "" {
		return root
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != filepath.Clean(dir) {
		return nearestGit(real)
	}
	return ""
}

func nearestGit(dir string) string {
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			return ""
		}
	}
}

// shadowed returns the main checkout's folder and the name of the file in it
// that a worktree nested in it stands for, or "" where nothing is shadowed.
// Folders are real paths: that is how git writes them.
func (r *reader) shadowed(cwd string) (dir, name string) {
	root := nearestGit(cwd)
	if root == "" {
		return "", ""
	}
	common := commonGitDir(root)
	if common == "" {
		return "", ""
	}
	main, worktree := filepath.Dir(common), real(root)
	// Not for an ordinary checkout, which is its own main one, nor for a
	// worktree beside the main checkout.
	if within, ok, err := confine.RealWithin(worktree, main); err != nil || !ok || within == main {
		return "", ""
	}
	// The folder that holds a bare repository is no checkout of it, and a
	// submodule's directory lies in the .git/modules of another.
	if real(filepath.Join(main, ".git")) != common {
		return "", ""
	}
	// Reported when the folder's turn comes, not twice.
	quiet := &reader{roots: r.roots}
	own, ok := quiet.inFolder(worktree)
	if !ok {
		return "", ""
	}
	return main, filepath.Base(own.Path)
}

// commonGitDir returns the real path of the directory that the checkout at root
// shares with its worktrees, or "" where root is not a checkout in order.
func commonGitDir(root string) string {
	entry := filepath.Join(root, ".git")
	info, err := os.Stat(entry)
	if err != nil {
		return ""
	}
	if info.IsDir() {
		return headed(entry)
	}
	// "gitdir: PATH" on the one line of a worktree's or submodule's .git.
	text, err := confine.ReadRegular(entry, maxGitFile)
	if err != nil {
		return ""
	}
	path, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if !ok {
		return ""
	}
	gitDir := headed(from(root, path))
	if gitDir == "" {
		return ""
	}
	text, err = confine.ReadRegular(filepath.Join(gitDir, "commondir"), maxGitFile)
	if err != nil {
		return gitDir // a submodule has none
	}
	return real(from(gitDir, string(text)))
}

// headed returns the real path of a git directory, "" for one without HEAD.
func headed(dir string) string {
	if _, err := os.Stat(filepath.Join(dir, "HEAD")); err != nil {
		return ""
	}
	return real(dir)
}

// from resolves a path that git wrote relative to dir.
func from(dir, path string) string {
	path = filepath.FromSlash(strings.TrimSpace(path))
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

func real(path string) string {
	if r, err := filepath.EvalSymlinks(path); err == nil {
		return r
	}
	return path
}
