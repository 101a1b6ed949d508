package confine

import (
	"io/fs"
	"os"
)

// OpenRegular opens a file at a path of ours and follows links, but refuses
// everything that is not a regular file, without blocking on it. It is for
// configuration files, which people like to link elsewhere.
func OpenRegular(path string) (*os.File, fs.FileInfo, error) {
	if err := checkName(path); err != nil {
		return nil, nil, &Error{Op: "open", Name: path, Err: err}
	}
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, &Error{Op: "open", Name: path, Err: cause(err)}
	}
	info, err := regular(f)
	if err != nil {
		return nil, nil, &Error{Op: "open", Name: path, Err: err}
	}
	return f, info, nil
}

// OpenUnlinked opens the regular file at path, whose last element must not be a
// link, not even one that appears between the look and the opening. Links in
// the folders above are followed.
func OpenUnlinked(path string) (*os.File, fs.FileInfo, error) {
	if err := checkName(path); err != nil {
		return nil, nil, &Error{Op: "open", Name: path, Err: err}
	}
	seen, err := os.Lstat(path)
	if err != nil {
		return nil, nil, &Error{Op: "open", Name: path, Err: cause(err)}
	}
	if !seen.Mode().IsRegular() {
		return nil, nil, &Error{Op: "open", Name: path, Err: notRegular(seen.Mode())}
	}
	f, info, err := OpenRegular(path)
	if err != nil {
		return nil, nil, err
	}
	if !os.SameFile(seen, info) {
		f.Close()
		return nil, nil, &Error{Op: "open", Name: path, Err: ErrOutside}
	}
	return f, info, nil
}

// ReadRegular reads what OpenRegular opens, at most limit bytes; more is
// refused with ErrTooBig.
func ReadRegular(path string, limit int64) ([]byte, error) {
	f, info, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := readAll(f, info.Size(), limit)
	if err != nil {
		return nil, &Error{Op: "read", Name: path, Err: err}
	}
	return data, nil
}

// ReadOpen reads an open file from its position, at most limit bytes; more is
// refused with ErrTooBig. It does not close f.
func ReadOpen(f *os.File, limit int64) ([]byte, error) {
	var hint int64
	if info, err := f.Stat(); err == nil {
		hint = info.Size()
	}
	data, err := readAll(f, hint, limit)
	if err != nil {
		return nil, &Error{Op: "read", Name: f.Name(), Err: err}
	}
	return data, nil
}
