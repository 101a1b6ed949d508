package resource

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// ContextFiles finds the context files of a place: that of the agent directory,
// then those of every folder from the top of the file system down to the working
// folder. Of each folder it takes the first file that can be read, of
// AGENTS.override.md, AGENTS.md, AGENTS.MD, CLAUDE.md and CLAUDE.MD; a folder of
// such a name is passed over. The same path counts once.
//
// In a git worktree that lies inside its main checkout, the main checkout's file
// of the same name as the worktree's own is left out: it is the same text at
// another revision.
//
// Trust is not asked for: a project that is not trusted brings its context files
// all the same, as in pi.
func ContextFiles(p Place) ([]ContextFile, []Omission) {
	r := newReader(p)
	var found []ContextFile
	if p.AgentDir != "" {
		if f, ok := r.inFolder(p.AgentDir); ok {
			found = append(found, f)
		}
	}
	if p.Cwd == "" {
		return found, r.omissions
	}
	shadowedDir, shadowedName := r.shadowed(p.Cwd)
	for _, dir := range downTo(p.Cwd) {
		if p.AgentDir != "" && samePath(dir, filepath.Clean(p.AgentDir)) {
			continue // it has had its turn
		}
		f, ok := r.inFolder(dir)
		if !ok {
			continue
		}
		if shadowedDir != "" && sameFolder(dir, shadowedDir) && samePath(f.Path, filepath.Join(dir, shadowedName)) {
			r.omit(f.Path, "the git worktree inside this checkout has a file of the same name", nil)
			continue
		}
		found = append(found, f)
	}
	return found, r.omissions
}

// candidates are the names of context files, first choice first.
func candidates() []string {
	return []string{"AGENTS.override.md", "AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD"}
}

// inFolder returns the context file of one folder.
func (r *reader) inFolder(dir string) (ContextFile, bool) {
	var tried []string
	for _, name := range candidates() {
		path := filepath.Join(dir, name)
		// Where case is ignored, AGENTS.MD is the AGENTS.md that was tried.
		if slices.ContainsFunc(tried, func(t string) bool { return samePath(t, path) }) {
			continue
		}
		if f, ok := r.read(path); ok {
			return f, true
		}
		tried = append(tried, path)
	}
	return ContextFile{}, false
}

// downTo lists the folders from the top of the file system to dir, by the
// letters of its path: links are not resolved.
func downTo(dir string) []string {
	dir = filepath.Clean(dir)
	dirs := []string{dir}
	for parent := filepath.Dir(dir); parent != dir; parent = filepath.Dir(dir) {
		dirs = append(dirs, parent)
		dir = parent
	}
	slices.Reverse(dirs)
	return dirs
}

// samePath reports whether two paths are spellings of one name: the same
// letters, or letters that differ in case or normal form on a file system that
// does not tell them apart.
func samePath(a, b string) bool {
	if a == b {
		return true
	}
	if !strings.EqualFold(norm.NFC.String(a), norm.NFC.String(b)) {
		return false
	}
	infoA, errA := os.Lstat(a)
	infoB, errB := os.Lstat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB) && !distinct(a, b)
}

// distinct finds two hard links whose names differ in case: one file, but two
// names, which the folder lists both.
func distinct(a, b string) bool {
	if filepath.Dir(a) != filepath.Dir(b) {
		return false
	}
	entries, err := os.ReadDir(filepath.Dir(a))
	if err != nil {
		return false
	}
	seen := 0
	for _, e := range entries {
		if e.Name() == filepath.Base(a) || e.Name() == filepath.Base(b) {
			seen++
		}
	}
	return seen > 1
}

// sameFolder compares by real path, and by identity where spelling differs.
func sameFolder(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// String is "path: reason".
func (o Omission) String() string { return fmt.Sprintf("%s: %s", o.Path, o.Reason) }
