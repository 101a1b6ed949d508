package confine

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
)

// Root is an open directory below which files are read. It stays valid when the
// directory is renamed. A Root may be used by many goroutines; after Close every
// method fails.
type Root struct {
	dir   *os.Root
	real  string // links resolved
	given string // absolute, as the caller spelled it
}

// OpenRoot opens dir, which is a path of ours and not of somebody else. Links
// on the way to dir are followed.
func OpenRoot(dir string) (*Root, error) {
	given, err := filepath.Abs(dir)
	if err != nil {
		return nil, &Error{Op: "open", Name: dir, Err: err}
	}
	realDir, err := filepath.EvalSymlinks(given)
	if err != nil {
		return nil, &Error{Op: "open", Name: dir, Err: cause(err)}
	}
	d, err := os.OpenRoot(realDir)
	if err != nil {
		return nil, &Error{Op: "open", Name: dir, Err: cause(err)}
	}
	return &Root{dir: d, real: realDir, given: given}, nil
}

// Path returns the absolute path of the root with its links resolved.
func (r *Root) Path() string { return r.real }

// Close releases the directory. Files that were opened stay usable.
func (r *Root) Close() error { return r.dir.Close() }

// Rel returns name relative to the root, by its letters alone. The error
// matches ErrName or ErrOutside.
func (r *Root) Rel(name string) (string, error) {
	rel, err := relative(name, r.given, r.real)
	if err != nil {
		return "", r.fail("resolve", name, err)
	}
	return rel, nil
}

// Open opens the regular file that somebody else called name, for reading. The
// name is relative to the root, or absolute and inside it. Links are followed
// while they stay inside. The error matches ErrName, ErrOutside, ErrLoop,
// ErrNotRegular, fs.ErrNotExist or fs.ErrPermission.
func (r *Root) Open(name string) (*os.File, error) {
	f, _, err := r.open("open", name)
	return f, err
}

// Stat describes what name leads to, which may be a folder or a special file.
// It opens nothing. Errors are those of Open without ErrNotRegular.
func (r *Root) Stat(name string) (fs.FileInfo, error) {
	rel, err := relative(name, r.given, r.real)
	if err != nil {
		return nil, r.fail("stat", name, err)
	}
	info, err := through(r, rel, r.dir.Stat)
	if err != nil {
		return nil, r.fail("stat", name, err)
	}
	return info, nil
}

// ReadFile reads the file that Open would open. A file of more than limit bytes
// is refused with ErrTooBig, and no more than limit+1 bytes of it are read,
// whatever its size is said to be.
func (r *Root) ReadFile(name string, limit int64) ([]byte, error) {
	f, info, err := r.open("read", name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := readAll(f, info.Size(), limit)
	if err != nil {
		return nil, r.fail("read", name, err)
	}
	return data, nil
}

func (r *Root) open(op, name string) (*os.File, fs.FileInfo, error) {
	rel, err := relative(name, r.given, r.real)
	if err != nil {
		return nil, nil, r.fail(op, name, err)
	}
	f, err := through(r, rel, func(rel string) (*os.File, error) {
		return r.dir.OpenFile(rel, os.O_RDONLY|nonblock, 0)
	})
	if err != nil {
		return nil, nil, r.fail(op, name, err)
	}
	info, err := regular(f)
	if err != nil {
		return nil, nil, r.fail(op, name, err)
	}
	return f, info, nil
}

func (r *Root) fail(op, name string, err error) error {
	return &Error{Op: op, Root: r.real, Name: name, Err: err}
}

// regular closes f and fails unless it is a regular file.
func regular(f *os.File) (fs.FileInfo, error) {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notRegular(info.Mode())
	}
	if err != nil {
		f.Close()
		return nil, cause(err)
	}
	return info, nil
}

// readAll reads at most limit bytes; hint is the expected size.
func readAll(f io.Reader, hint, limit int64) ([]byte, error) {
	limit = min(limit, math.MaxInt64-1)
	if hint > limit {
		return nil, &sizeError{size: hint, limit: limit}
	}
	buf := make([]byte, 0, min(hint, limit)+1)
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		free := buf[len(buf):min(int64(cap(buf)), limit+1)]
		n, err := f.Read(free)
		buf = buf[:len(buf)+n]
		if int64(len(buf)) > limit {
			return nil, &sizeError{limit: limit}
		}
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return nil, cause(err)
		}
	}
}

// cause drops the path that os puts before an error; ours is there already.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
