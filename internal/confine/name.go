package confine

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// relative turns a name that somebody else wrote into a path below the root, by
// its letters alone: nothing is looked up on disk. An absolute name has to start
// with one of the spellings of the root.
//
// Names are cleaned before use, so "link/../x" is "x" even where link leads
// elsewhere. That is how editors and shells of models spell paths, and it never
// widens what can be reached: the result is opened through os.Root.
func relative(name string, roots ...string) (string, error) {
	if err := checkName(name); err != nil {
		return "", err
	}
	if !filepath.IsAbs(name) {
		if filepath.VolumeName(name) != "" || isRooted(name) {
			return "", fmt.Errorf("%w: relative to a drive", ErrName)
		}
		return local(filepath.Clean(name))
	}
	err := error(ErrOutside)
	for _, root := range roots {
		rel, relErr := filepath.Rel(root, name)
		if relErr != nil {
			continue
		}
		var out string
		if out, err = local(rel); err == nil {
			return out, nil
		}
	}
	return "", err
}

func checkName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("%w: it is empty", ErrName)
	case strings.IndexByte(name, 0) >= 0:
		return fmt.Errorf("%w: it contains a NUL byte", ErrName)
	}
	return nil
}

// local accepts a clean relative path that stays below its root.
func local(rel string) (string, error) {
	if rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", ErrOutside
	}
	if !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%w on this system", ErrName)
	}
	if runtime.GOOS == "windows" && strings.ContainsRune(rel, ':') {
		return "", fmt.Errorf("%w: it names a stream", ErrName)
	}
	return rel, nil
}

// isRooted finds Windows names such as \x, which are neither absolute nor
// relative to the root.
func isRooted(name string) bool {
	return name != "" && filepath.Separator == '\\' && (name[0] == '\\' || name[0] == '/')
}

// isFileSystemRoot tells "/" and "C:\" from folders.
func isFileSystemRoot(path string) bool { return filepath.Dir(path) == path }
