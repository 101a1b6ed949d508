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
	info, err := os.Stat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		info = nil
	case err != nil:
		return err
	case info.IsDir():
		return &fs.PathError{Op: "write", Path: target, Err: errFolder}
	case !info.Mode().IsRegular() || hasOtherNames(info):
		return writeInPlace(target, data)
	default:
		// A rename needs the right to write the folder only. The file's own
		// mode must keep its say.
		probe, err := os.OpenFile(target, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		if err := probe.Close(); err != nil {
			return err
		}
	}
	err = replaceFile(target, data, info)
	if _, ok := errors.AsType[*cannotReplace](err); ok {
		return writeInPlace(target, data)
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

// replaceFile writes data to a new file and renames it to target; old is the
// file that it replaces, or nil. After an error the target is as it was.
func replaceFile(target string, data []byte, old fs.FileInfo) (err error) {
	mode := fs.FileMode(newFileMode)
	if old != nil {
		mode = 0o600 // nobody else's until the old mode is set
	}
	f, err := createBeside(target, mode)
	if errors.Is(err, fs.ErrPermission) {
		return &cannotReplace{err}
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
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
	if err = os.Rename(f.Name(), target); err != nil {
		return &cannotReplace{err}
	}
	return nil
}

// createBeside creates a file of a random, short name in the folder of target.
// The name does not grow out of target's, which may be as long as names can be.
func createBeside(target string, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(filepath.Join(filepath.Dir(target), ".piweb-"+randomHex(8)+".tmp"),
		os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
}

// randomHex is n random bytes in hexadecimal.
func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

func writeInPlace(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, newFileMode)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
