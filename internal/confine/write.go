package confine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Folder is an open folder for whoever writes in it: what is made, renamed and
// removed through it stays in it, whatever becomes of its name and of the names in
// it. Names are relative to it. Links in it are followed while they stay in it.
// Errors match ErrOutside where one would not, and else say what the system says.
type Folder struct {
	dir  *os.Root
	root string // of the Root that it lies in
	rel  string
}

// Folder opens a folder of which rel is the path. Links on the way are followed
// while they stay inside.
func (r *Root) Folder(rel string) (*Folder, error) {
	d, err := r.dir.OpenRoot(rel)
	if err != nil {
		if info, statErr := r.dir.Stat(rel); statErr == nil && !info.IsDir() {
			err = syscall.ENOTDIR // for which os has no number
		}
		return nil, r.fail("open", rel, refusal(err))
	}
	return &Folder{d, r.real, rel}, nil
}

// Close releases the folder. Files that were opened stay usable.
func (f *Folder) Close() error { return f.dir.Close() }

// Stat describes what a name leads to.
func (f *Folder) Stat(name string) (fs.FileInfo, error) {
	info, err := f.dir.Stat(name)
	return info, f.fail("stat", name, err)
}

// OpenFile is os.OpenFile in the folder.
func (f *Folder) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	file, err := f.dir.OpenFile(name, flag, perm)
	if err != nil {
		return nil, f.fail("open", name, err)
	}
	return file, nil
}

// Rename is os.Rename in the folder: a link of the new name is replaced.
func (f *Folder) Rename(oldName, newName string) error {
	return f.fail("rename", newName, f.dir.Rename(oldName, newName))
}

// Remove is os.Remove in the folder.
func (f *Folder) Remove(name string) error { return f.fail("remove", name, f.dir.Remove(name)) }

// Make makes a folder in it, with those above, and opens it.
func (f *Folder) Make(name string, perm fs.FileMode) (*Folder, error) {
	err := f.dir.MkdirAll(name, perm)
	if err != nil {
		return nil, f.fail("make", name, err)
	}
	d, err := f.dir.OpenRoot(name)
	if err != nil {
		return nil, f.fail("open", name, err)
	}
	return &Folder{d, f.root, filepath.Join(f.rel, name)}, nil
}

func (f *Folder) fail(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Op: op, Root: f.root, Name: filepath.Join(f.rel, name), Err: refusal(err)}
}

// Missing says where a name leads at which there may be nothing yet: folder is the
// path of the deepest folder on the way that is there, without links, and rest are
// the names below it, at least one. A link to nowhere is followed as far as it stays inside, so
// that what is made there is made inside. The error matches those of Resolve.
func (r *Root) Missing(name string) (folder string, rest []string, err error) {
	rel, err := relative(name, r.given, r.real)
	if err != nil {
		return "", nil, r.fail("resolve", name, err)
	}
	for range maxHops {
		if rel == "." {
			return "", nil, r.fail("resolve", name, fs.ErrExist)
		}
		folder, rest, err = r.deepest(rel)
		if err != nil {
			return "", nil, r.fail("resolve", name, err)
		}
		next := filepath.Join(folder, rest[0])
		target, linkErr := r.dir.Readlink(next)
		if linkErr != nil {
			return folder, rest, nil // no link: nothing, or a file
		}
		parts := append([]string{target}, rest[1:]...)
		if filepath.IsAbs(target) || isRooted(target) {
			below, ok := below(target, r.given, r.real)
			if !ok {
				return "", nil, r.fail("resolve", name, ErrOutside)
			}
			parts = append(below, rest[1:]...)
		} else {
			parts = append([]string{folder}, parts...)
		}
		if rel, err = local(filepath.Join(parts...)); err != nil {
			return "", nil, r.fail("resolve", name, err)
		}
	}
	return "", nil, r.fail("resolve", name, ErrLoop)
}

// deepest finds the deepest folder of rel that is there, and what follows.
func (r *Root) deepest(rel string) (folder string, rest []string, err error) {
	for at := rel; at != "."; {
		rest = append([]string{filepath.Base(at)}, rest...)
		at = filepath.Dir(at)
		if folder, err = r.resolve(at); err == nil {
			return folder, rest, r.folder(components(folder))
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", nil, err
		}
	}
	return "", nil, err
}
