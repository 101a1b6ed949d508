package ignore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// dotGit is the name that makes a folder the top of a work tree, and that no
// walk enters.
const dotGit = ".git"

var errNotRegular = errors.New("not a regular file")

// repository is what a work tree adds to the rules of its files.
type repository struct {
	exclude string // info/exclude
	config  config
}

// openRepository reads the repository whose work tree is at top: its folder
// .git, or the one that a file .git names, as in a linked work tree or a
// submodule.
func (o *Options) openRepository(top string, user config) *repository {
	dir := filepath.Join(top, dotGit)
	if info, err := os.Stat(dir); err == nil && info.Mode().IsRegular() {
		if named, ok := o.firstLine(dir); ok {
			dir = resolveFrom(top, strings.TrimSpace(strings.TrimPrefix(named, "gitdir:")))
		}
	}
	common := dir // linked work trees share info/ and config
	if named, ok := o.firstLine(filepath.Join(dir, "commondir")); ok {
		common = resolveFrom(dir, named)
	}
	r := &repository{exclude: filepath.Join(common, "info", "exclude"), config: user}
	o.readConfig(&r.config, filepath.Join(common, "config"), maxIncludes)
	return r
}

func (o *Options) firstLine(path string) (string, bool) {
	data, err := o.readBounded(path)
	if err != nil {
		return "", false
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSuffix(line, "\r"), true
}

func resolveFrom(dir, path string) string {
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
