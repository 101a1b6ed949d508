package confine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// RealWithin returns the path of a file with every link resolved, and whether
// that lies in one of the roots or is one of them. Roots are resolved as well; a
// root that does not exist holds nothing, and neither does a whole file system:
// "/" as a root would allow everything. A sibling such as /a/bc is not inside
// /a/b. The error is that of resolving path: fs.ErrNotExist for a dangling link.
//
// The answer is true when it is given; to use the file afterwards take
// [OpenWithin], which cannot be raced.
func RealWithin(path string, roots ...string) (real string, ok bool, err error) {
	real, err = realPath(path)
	if err != nil {
		return "", false, &Error{Op: "resolve", Name: path, Err: err}
	}
	_, _, ok = holder(real, roots)
	return real, ok, nil
}

// OpenWithin opens the regular file behind path when its real path lies in one
// of the roots, and returns that real path. The error matches ErrOutside,
// ErrNotRegular, ErrLoop, fs.ErrNotExist or fs.ErrPermission.
func OpenWithin(path string, roots ...string) (f *os.File, real string, err error) {
	real, err = realPath(path)
	if err != nil {
		return nil, "", &Error{Op: "open", Name: path, Err: err}
	}
	dir, rel, ok := holder(real, roots)
	if !ok {
		return nil, real, &Error{Op: "open", Name: path, Err: ErrOutside}
	}
	root, err := OpenRoot(dir)
	if err != nil {
		return nil, real, err
	}
	defer root.Close()
	f, err = root.Open(rel)
	return f, real, err
}

// realPath resolves every link of path.
func realPath(path string) (string, error) {
	if err := checkName(path); err != nil {
		return "", err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err == nil {
		return real, nil
	}
	// EvalSymlinks reports a loop with an error of its own that cannot be
	// matched; everything else carries the system's number.
	var number syscall.Errno
	if !errors.As(err, &number) && !errors.Is(err, fs.ErrNotExist) {
		return "", ErrLoop
	}
	return "", cause(err)
}

// holder finds the root that holds real, a path without links.
func holder(real string, roots []string) (root, rel string, ok bool) {
	var realRoots []string
	for _, root := range roots {
		realRoot, err := realPath(root)
		if err != nil || isFileSystemRoot(realRoot) {
			continue
		}
		realRoots = append(realRoots, realRoot)
		rel, err := filepath.Rel(realRoot, real)
		if err != nil {
			continue
		}
		if rel, err = local(rel); err == nil {
			return realRoot, rel, true
		}
	}
	// The letters differ, but the folder may be the same: file systems that
	// ignore case or Unicode normal form.
	for dir := real; ; dir = filepath.Dir(dir) {
		if dirInfo, err := os.Stat(dir); err == nil {
			for _, root := range realRoots {
				if info, err := os.Stat(root); err == nil && os.SameFile(info, dirInfo) {
					if rel, err := filepath.Rel(dir, real); err == nil {
						return dir, rel, true
					}
				}
			}
		}
		if isFileSystemRoot(dir) {
			return "", "", false
		}
	}
}
