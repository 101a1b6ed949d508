package artifact

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/piweb-go/piweb/internal/durable"
	"github.com/piweb-go/piweb/session"
)

// Companion makes the folder follow its session (session.Companion): a fork gets a
// copy, a move takes it along, and what is removed for good is put aside until
// [Purged]. Sources: spec/omp.md §11, RULINGS 23.
//
// Ids stay what they were: a reference in the conversation means the same output
// in the fork and at the new place, and the fork goes on counting behind the
// copies.
type Companion struct {
	// Warn, if not nil, is told of what a move had to leave behind: a file whose
	// name or id is taken in a folder that was there already.
	Warn func(text string)
	// Whole says that a move into a folder that was there already must not leave
	// anything behind: if a name or an id is taken there, nothing moves. Warn is told
	// where it did move. A session that comes back from the trash must find under
	// each number what its conversation means by it.
	Whole bool
	// OS is the file system, nil for the machine's; tests make it fail.
	OS durable.FS
}

var _ session.Companion = Companion{}

func (c Companion) fs() durable.FS {
	if c.OS != nil {
		return c.OS
	}
	return durable.OS{}
}

// lookFolder tells whether a session has a folder. What is not a real folder is an
// error: it would be followed, or is somebody else's.
func lookFolder(path string) (bool, error) {
	info, err := os.Lstat(path)
	switch {
	case path == "" || errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case info.Mode()&fs.ModeSymlink != 0:
		return false, fmt.Errorf("%s: %w", path, ErrLinked)
	case !info.IsDir():
		return false, nil // a file of that name is nobody's output
	}
	return true, nil
}

// Copy gives a fork what its source has. It is made under a name of its own and
// gets the final one when it is whole and synced. Links and special files are left
// out: nothing would follow them.
func (c Companion) Copy(from, to session.Place) (session.Undo, error) {
	src, dst := Folder(from.Path), Folder(to.Path)
	there, err := lookFolder(src)
	if err != nil || !there {
		return nil, c.explain("copy", src, err)
	}
	if dst == "" {
		return nil, c.explain("copy", src, fmt.Errorf("%s: %w", to.Path, ErrNoSession))
	}
	if err := c.copyInto(src, dst); err != nil {
		return nil, c.explain("copy", src, err)
	}
	return func() error { return os.RemoveAll(dst) }, nil
}

func (c Companion) explain(what, folder string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s the whole outputs in %s: %w", what, folder, err)
}

// copyInto copies a folder to a name that must be free.
func (c Companion) copyInto(src, dst string) error {
	tmp, err := aside(dst)
	if err != nil {
		return err
	}
	err = c.copyTree(src, tmp)
	if err == nil {
		err = c.giveFolder(tmp, dst)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(tmp))
	}
	if err := c.fs().SyncDir(filepath.Dir(dst)); err != nil {
		return errors.Join(err, os.RemoveAll(dst))
	}
	return nil
}

// aside is a fresh name in the folder of path, which no reader takes for anything.
func aside(path string) (string, error) {
	var suffix [8]byte
	if _, err := rand.Read(suffix[:]); err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(path), asidePrefix+hex.EncodeToString(suffix[:])+asideSuffix), nil
}

const (
	asidePrefix = ".piweb-"
	asideSuffix = ".outputs"
)

// giveFolder gives a folder its final name, which must be free.
func (c Companion) giveFolder(tmp, dst string) error {
	if _, err := os.Lstat(dst); err == nil {
		return fmt.Errorf("%s: %w", dst, ErrTaken)
	}
	return c.fs().Rename(tmp, dst)
}

// copyTree copies regular files and folders, and syncs both.
func (c Companion) copyTree(src, dst string) error {
	if err := c.fs().MkdirAll(dst, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(src)
	if err != nil {
		return err
	}
	defer root.Close()
	return c.copyBelow(root, ".", dst)
}

func (c Companion) copyBelow(root *os.Root, below, dst string) error {
	list, err := fs.ReadDir(root.FS(), filepath.ToSlash(below))
	if err != nil {
		return err
	}
	for _, e := range list {
		from, to := filepath.Join(below, e.Name()), filepath.Join(dst, e.Name())
		switch {
		case leftover(e.Name()):
		case e.IsDir():
			if err = c.fs().MkdirAll(to, 0o700); err == nil {
				err = c.copyBelow(root, from, to)
			}
		case e.Type().IsRegular():
			err = c.copyFile(root, from, to)
		}
		if err != nil {
			return err
		}
	}
	return c.fs().SyncDir(dst)
}

// leftover tells the names of files that were never finished.
func leftover(name string) bool {
	return strings.HasPrefix(name, asidePrefix) && (strings.HasSuffix(name, ".tmp") || strings.HasSuffix(name, asideSuffix))
}

// copyFile copies one file. An artifact, which nobody changes any more, is shared
// by a second name where the file system has such; a log that is written to is
// not.
func (c Companion) copyFile(root *os.Root, from, to string) error {
	if id, ok := idOf(filepath.Base(from)); ok && id != "" && toolOf(filepath.Base(from)) != "" {
		if err := c.fs().Link(filepath.Join(root.Name(), from), to); err == nil {
			// The name may have led to something else by then.
			seen, err := root.Lstat(from)
			made, err2 := os.Lstat(to)
			if err == nil && err2 == nil && seen.Mode().IsRegular() && os.SameFile(seen, made) {
				return nil
			}
			if err := os.Remove(to); err != nil {
				return err
			}
		}
	}
	seen, err := root.Lstat(from)
	if err != nil {
		return err
	}
	in, err := root.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if info, err := in.Stat(); err != nil || !os.SameFile(seen, info) {
		return fmt.Errorf("%s: %w", from, ErrLinked)
	}
	return c.pour(in, to, seen.Mode().Perm()|0o600)
}

// pour makes a whole, synced file of a name that is free, or none.
func (c Companion) pour(in io.Reader, to string, perm os.FileMode) error {
	out, err := c.fs().OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return errors.Join(err, os.Remove(to))
	}
	return nil
}

// Move takes the folder along. Where one is at the new place already, the files go
// into it, each under its own name; one whose name or id is taken there stays
// behind, and Warn is told (spec/omp.md §16, 11).
func (c Companion) Move(from, to session.Place) (session.Undo, error) {
	src, dst := Folder(from.Path), Folder(to.Path)
	there, err := lookFolder(src)
	if err != nil || !there {
		return nil, c.explain("move", src, err)
	}
	if dst == "" {
		return nil, c.explain("move", src, fmt.Errorf("%s: %w", to.Path, ErrNoSession))
	}
	if info, err := os.Lstat(dst); err == nil {
		if info.Mode()&fs.ModeSymlink != 0 {
			return nil, c.explain("move", src, fmt.Errorf("%s: %w", dst, ErrLinked))
		}
		if !info.IsDir() {
			return nil, c.explain("move", src, fmt.Errorf("%s: %w", dst, ErrTaken))
		}
		undo, err := c.merge(src, dst)
		return undo, c.explain("move", src, err)
	}
	err = c.fs().Rename(src, dst)
	if errors.Is(err, syscall.EXDEV) {
		undo, err := c.moveAcross(src, dst)
		return undo, c.explain("move", src, err)
	}
	if err != nil {
		return nil, c.explain("move", src, err)
	}
	undo := func() error { return c.fs().Rename(dst, src) }
	for _, dir := range []string{filepath.Dir(dst), filepath.Dir(src)} {
		if err := c.fs().SyncDir(dir); err != nil {
			return nil, errors.Join(c.explain("move", src, err), undo())
		}
	}
	return undo, nil
}

// moveAcross moves to another file system: a copy, then the source is put aside.
// It goes for good when the session's old file is gone, with the next [Purged] or
// collection.
func (c Companion) moveAcross(src, dst string) (session.Undo, error) {
	if err := c.copyInto(src, dst); err != nil {
		return nil, err
	}
	gone, err := aside(src)
	if err == nil {
		err = c.fs().Rename(src, gone)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dst))
	}
	return func() error { return errors.Join(c.fs().Rename(gone, src), os.RemoveAll(dst)) }, nil
}

// isMark tells the marks of all scopes.
func isMark(name string) bool { return strings.HasPrefix(name, artifacts.mark) }

// Remove puts the folder of a session in the trash aside, so that it can be taken
// back. [Purged] ends it.
func (c Companion) Remove(at session.Place) (session.Undo, error) {
	dir := Folder(at.Path)
	there, err := lookFolder(dir)
	if err != nil || !there {
		return nil, c.explain("remove", dir, err)
	}
	gone, err := aside(dir)
	if err == nil {
		err = c.fs().Rename(dir, gone)
	}
	if err != nil {
		return nil, c.explain("remove", dir, err)
	}
	return func() error { return c.fs().Rename(gone, dir) }, nil
}

// Purged takes away for good what Remove put aside, once the session's file is
// gone, and the folder that the session had in the trash, if nothing else is in
// it. A session that had no outputs is no error.
func Purged(at session.Place) error {
	dir := filepath.Dir(at.Path)
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range list {
		if e.IsDir() && strings.HasPrefix(e.Name(), asidePrefix) && strings.HasSuffix(e.Name(), asideSuffix) {
			errs = append(errs, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	// Not empty, or the folder of other sessions: then it stays.
	if os.Remove(dir) == nil {
		_ = os.Remove(filepath.Dir(dir))
	}
	return nil
}

// AsideName is a name for a folder of outputs on its way out. No reader takes it for
// anything, and a collection takes it away.
func AsideName(random string) string { return asidePrefix + random + asideSuffix }

// IsAside tells the names that AsideName makes.
func IsAside(name string) bool {
	return strings.HasPrefix(name, asidePrefix) && strings.HasSuffix(name, asideSuffix)
}
