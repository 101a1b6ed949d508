package tool

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// saveFile makes data the content of the file at path and keeps its mode,
// owner and links. Where it can, it writes a new file beside the old one and
// renames it, so that nobody ever sees half of the content, not after a crash
// either. It writes in place where a rename is not to be had or would lose
// something: the folder cannot be written, the file has several names or an
// owner that we cannot give it, it is mounted on its own, or it is no regular
// file. A full disk is no such reason: the old content stays.
func saveFile(path string, data []byte) error {
	target := realPath(path)
	return saveIn(pathFolder(filepath.Dir(target)), filepath.Base(target), data, writeThrough)
}

// folder is where a file is saved, by its name there.
type folder interface {
	Stat(name string) (fs.FileInfo, error)
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	Rename(oldName, newName string) error
	Remove(name string) error
}

// pathFolder is a folder that is found by its path each time.
type pathFolder string

func (d pathFolder) at(name string) string { return filepath.Join(string(d), name) }

func (d pathFolder) Stat(name string) (fs.FileInfo, error) { return os.Stat(d.at(name)) }

func (d pathFolder) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(d.at(name), flag, perm)
}

func (d pathFolder) Rename(oldName, newName string) error {
	return os.Rename(d.at(oldName), d.at(newName))
}

func (d pathFolder) Remove(name string) error { return os.Remove(d.at(name)) }

// sharing says what becomes of content that others reach by another way.
type sharing bool

const (
	// writeThrough changes it for all of them.
	writeThrough sharing = true
	// keepInside parts a file from its other names, which may lie anywhere, and
	// writes to no pipe and no device.
	keepInside sharing = false
)

// saveIn is saveFile for a name, itself no link, in a folder.
func saveIn(in folder, name string, data []byte, s sharing) error {
	info, err := in.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		info = nil
	case err != nil:
		return err
	case info.IsDir():
		return errFolder
	case !info.Mode().IsRegular() && s == keepInside:
		return errNotAFile
	case (!info.Mode().IsRegular() || hasOtherNames(info)) && s == writeThrough:
		return writeInPlace(in, name, data)
	default:
		// A rename needs the right to write the folder only. The file's own
		// mode must keep its say.
		probe, err := in.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		if err := probe.Close(); err != nil {
			return err
		}
	}
	err = replaceFile(in, name, data, info)
	if _, ok := errors.AsType[*cannotReplace](err); ok && (s == writeThrough || info == nil || !hasOtherNames(info)) {
		return writeInPlace(in, name, data)
	}
	return err
}

// cannotReplace is a failure of replaceFile that says nothing against writing
// in place.
type cannotReplace struct{ err error }

func (e *cannotReplace) Error() string { return e.err.Error() }
func (e *cannotReplace) Unwrap() error { return e.err }

// newFileMode is the mode of a new file before the umask.
const newFileMode = 0o666

// replaceFile writes data to a new file and renames it to name; old is the
// file that it replaces, or nil. After an error the file is as it was.
func replaceFile(in folder, name string, data []byte, old fs.FileInfo) (err error) {
	mode := fs.FileMode(newFileMode)
	if old != nil {
		mode = 0o600 // nobody else's until the old mode is set
	}
	// The name does not grow out of the other, which may be as long as names can be.
	fresh := ".piweb-" + randomHex(8) + ".tmp"
	f, err := in.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrPermission) {
		return &cannotReplace{err}
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = in.Remove(fresh)
		}
	}()
	if _, err = f.Write(data); err != nil {
		return err
	}
	if old != nil {
		if err = keepOwner(f, old); err != nil {
			return &cannotReplace{err}
		}
		// After the owner: changing that clears the set-id bits.
		if err = f.Chmod(old.Mode()); err != nil {
			return &cannotReplace{err}
		}
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = in.Rename(fresh, name); err != nil {
		return &cannotReplace{err}
	}
	return nil
}

// randomHex is n random bytes in hexadecimal.
func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

func writeInPlace(in folder, name string, data []byte) error {
	f, err := in.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, newFileMode)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
