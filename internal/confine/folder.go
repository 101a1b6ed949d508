package confine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Resolve says where name leads: the path below the root without links, and what
// is there, which may be a folder or a special file. It opens nothing. The error
// matches those of Open without ErrNotRegular.
//
// The answer is true when it is given. Whoever opens the path afterwards does so
// through the root again, which no link leads out of.
func (r *Root) Resolve(name string) (rel string, info fs.FileInfo, err error) {
	asked, err := relative(name, r.given, r.real)
	if err != nil {
		return "", nil, r.fail("resolve", name, err)
	}
	for range maxRetries {
		if rel, err = r.resolve(asked); err != nil {
			return "", nil, r.fail("resolve", name, err)
		}
		info, err = r.dir.Lstat(rel)
		if err == nil && info.Mode()&fs.ModeSymlink == 0 {
			return rel, info, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", nil, r.fail("resolve", name, refusal(err))
		}
	}
	if err == nil {
		err = ErrLoop // a link each time that we looked
	}
	return "", nil, r.fail("resolve", name, cause(err))
}

// OpenFolder opens a folder of which rel is the path, for reading its names. Links
// on the way are followed while they stay inside, so a folder that is swapped for a
// link outside is refused and not listed. With plain, rel itself must not be a
// link, not even for a moment.
func (r *Root) OpenFolder(rel string, plain bool) (*os.File, error) {
	f, err := r.dir.OpenFile(rel, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, r.fail("open", rel, refusal(err))
	}
	info, err := f.Stat()
	if err == nil && !info.IsDir() {
		err = fs.ErrInvalid
	}
	if err == nil && plain {
		var there fs.FileInfo
		if there, err = r.dir.Lstat(rel); err == nil && !os.SameFile(info, there) {
			err = ErrOutside
		}
	}
	if err != nil {
		f.Close()
		return nil, r.fail("open", rel, cause(err))
	}
	if f, err = plainFile(f, filepath.Join(r.real, rel)); err != nil {
		return nil, r.fail("open", rel, cause(err))
	}
	return f, nil
}
