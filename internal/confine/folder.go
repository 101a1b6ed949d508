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
// link outside is refused and not listed. With plain, no part of rel may be a link,
// not even for a moment: each folder is opened in the one that was opened before, so
// what rel says of the folders on the way is true of the names.
func (r *Root) OpenFolder(rel string, plain bool) (*os.File, error) {
	if plain {
		f, err := r.openPlainFolder(rel)
		if err != nil {
			return nil, r.fail("open", rel, err)
		}
		return f, nil
	}
	f, err := r.dir.OpenFile(rel, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, r.fail("open", rel, refusal(err))
	}
	info, err := f.Stat()
	if err == nil && !info.IsDir() {
		err = fs.ErrInvalid
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

// OpenPlain opens the regular file at rel, a path without links such as Resolve
// gives: no part of it may be a link, not even one that is put there while it is
// opened. So what rel says of the folders that the file lies in is true of the file.
// A path that is none such, or is changed meanwhile, matches ErrOutside.
func (r *Root) OpenPlain(rel string) (*os.File, fs.FileInfo, error) {
	parts := components(rel)
	at, info, err := r.dir, fs.FileInfo(nil), error(ErrName)
	var f *os.File
	for i, name := range parts {
		if name == "." || name == ".." {
			err = ErrName
			break
		}
		if i == len(parts)-1 {
			f, info, err = plainFileIn(at, name)
			break
		}
		var next *os.Root
		next, err = plainFolderIn(at, name)
		if at != r.dir {
			at.Close()
		}
		if at = next; err != nil {
			break
		}
	}
	if at != nil && at != r.dir {
		at.Close()
	}
	if err != nil && !errors.Is(err, ErrNotRegular) {
		err = refusal(err)
	}
	if err != nil {
		return nil, nil, r.fail("open", rel, err)
	}
	return f, info, nil
}

// plainFolderIn opens a folder of another one. Once it is open nothing that is done
// to its name matters.
func plainFolderIn(in *os.Root, name string) (*os.Root, error) {
	next, err := in.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := next.Stat(".")
	if err == nil {
		err = isAt(in, name, opened)
	}
	if err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

func plainFileIn(in *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := in.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := regular(f)
	if err != nil {
		return nil, nil, err // f is closed
	}
	if err := isAt(in, name, info); err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// isAt says that what was opened lies at a name itself and not behind a link.
func isAt(in *os.Root, name string, opened fs.FileInfo) error {
	there, err := in.Lstat(name)
	if err == nil && !os.SameFile(opened, there) {
		return ErrOutside
	}
	return err
}
