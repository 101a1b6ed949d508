// Package durable is the one way in which piweb writes files: an atomic save of
// a whole file, an exclusive create, an append of whole lines, a lock, and
// syncs of files and directories.
//
// It knows nothing of what it writes. Every call goes through an [FS], so that
// tests can make any of them fail at any byte. Code that writes a file of the
// user's by other means is a defect; reading needs none of this.
//
// What "written" means here (DESIGN, "Durability"): after a write returned the
// bytes survive the end of the process; after a sync returned they survive a
// power cut.
package durable

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// File is an open file.
type File interface {
	io.ReaderAt
	io.Writer
	io.Closer
	Stat() (os.FileInfo, error)
	Sync() error
	Truncate(size int64) error
}

// FS is what this package asks of a file system.
type FS interface {
	OpenFile(name string, flag int, perm os.FileMode) (File, error)
	Stat(name string) (os.FileInfo, error)
	MkdirAll(name string, perm os.FileMode) error
	Rename(from, to string) error
	Link(from, to string) error
	Remove(name string) error
	// SyncDir makes the names in a directory survive a power cut. It does
	// nothing where the system has no such call.
	SyncDir(name string) error
}

// OS is the file system of the machine.
type OS struct{}

// OpenFile is os.OpenFile.
func (OS) OpenFile(name string, flag int, perm os.FileMode) (File, error) {
	if flag&os.O_CREATE != 0 {
		failpoint("open", name)
	}
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err // not f: a nil *os.File in an interface is not nil
	}
	return watched(f), nil
}

// Stat is os.Stat.
func (OS) Stat(name string) (os.FileInfo, error) { return os.Stat(name) }

// MkdirAll is os.MkdirAll.
func (OS) MkdirAll(name string, perm os.FileMode) error {
	failpoint("mkdir", name)
	return os.MkdirAll(name, perm)
}

// Rename is os.Rename.
func (OS) Rename(from, to string) error {
	failpoint("rename", to)
	return os.Rename(from, to)
}

// Link is os.Link.
func (OS) Link(from, to string) error {
	failpoint("link", to)
	return os.Link(from, to)
}

// Remove is os.Remove.
func (OS) Remove(name string) error {
	failpoint("remove", name)
	return os.Remove(name)
}

// SyncDir opens the directory and syncs it.
func (OS) SyncDir(name string) error {
	failpoint("syncdir", name)
	return syncDir(name)
}

// Save replaces path by data in one step: a reader sees the old file or the new
// one, never a part. The data and the name are synced before it returns. On
// error the old file stands and no temporary file is left.
func Save(fs FS, path string, data []byte, perm os.FileMode) error {
	tmp, err := Temp(fs, path, perm, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	if err := fs.Rename(tmp, path); err != nil {
		_ = fs.Remove(tmp)
		return fmt.Errorf("save %s: %w", path, err)
	}
	if err := fs.SyncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("save %s: the file is in place, but its name may not survive a power cut: %w", path, err)
	}
	return nil
}

// Put is Save without a sync, for what may be lost in a power cut, such as who is
// running now. A reader still sees the old file or the new one.
func Put(fs FS, path string, data []byte, perm os.FileMode) error {
	tmp, err := temp(fs, path, perm, false, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err == nil {
		if err = fs.Rename(tmp, path); err != nil {
			_ = fs.Remove(tmp)
		}
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Temp writes and syncs a file beside path under a fresh name, for a caller that
// gives it its own name later. The name is not made from that of path, which may
// be as long as a name can be. On error no file is left.
func Temp(fs FS, path string, perm os.FileMode, fill func(io.Writer) error) (string, error) {
	return temp(fs, path, perm, true, fill)
}

// Draft is Temp without a sync: a file that survives the end of the process, and a
// power cut only after it was synced.
func Draft(fs FS, path string, perm os.FileMode, fill func(io.Writer) error) (string, error) {
	return temp(fs, path, perm, false, fill)
}

func temp(fs FS, path string, perm os.FileMode, sync bool, fill func(io.Writer) error) (string, error) {
	var suffix [8]byte
	if _, err := rand.Read(suffix[:]); err != nil {
		return "", err
	}
	tmp := filepath.Join(filepath.Dir(path), tempPrefix+hex.EncodeToString(suffix[:])+tempSuffix)
	f, err := fs.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return "", err
	}
	const block = 1 << 16
	w := bufio.NewWriterSize(f, block)
	if err = fill(w); err == nil {
		err = w.Flush()
	}
	if err == nil && sync {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = fs.Remove(tmp)
		return "", err
	}
	return tmp, nil
}

const tempPrefix, tempSuffix = ".piweb-", ".tmp"

// IsTemp tells whether a file of that name was made by Temp and has not got its
// own name. One that is old was left by a process that died; see Sweep.
func IsTemp(name string) bool {
	return strings.HasPrefix(name, tempPrefix) && strings.HasSuffix(name, tempSuffix)
}

// Create makes a new file that holds data and returns it open for reading and
// appending. An existing file is an error (fs.ErrExist) and stays as it is; a
// file that could not be filled is removed again. Nothing is synced.
func Create(fs FS, path string, data []byte, perm os.FileMode) (File, error) {
	f, err := fs.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(data); err != nil {
		_ = f.Close()
		_ = fs.Remove(path)
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	return f, nil
}

// ErrOthersWrote is part of the error of an append that failed half-way while
// another program wrote behind it: the half line was closed, not removed.
var ErrOthersWrote = errors.New("another program wrote behind the failed line")

// ErrUnknownState is part of the error of an append after which the end of the
// file could not be brought in order.
var ErrUnknownState = errors.New("the end of the file is in an unknown state")

// Append writes data at the end of f, which must be open for appending and end
// at the offset end. If the write fails, the file is brought back to a state in
// which the next append is whole: cut back to end if the rest of the file is
// our own half write, else closed with a line feed (ErrOthersWrote). The
// returned error says which; a failure to do even that is joined to it.
func Append(f File, end int64, data []byte) error {
	n, err := f.Write(data)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	if err == nil {
		return nil
	}
	return errors.Join(err, undo(f, end, data))
}

// undo removes a half write of data behind end, if it is the last thing there.
func undo(f File, end int64, data []byte) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("%w behind byte %d: %w", ErrUnknownState, end, err)
	}
	rest := info.Size() - end
	if rest <= 0 {
		return nil // nothing of ours arrived
	}
	if rest <= int64(len(data)) {
		have := make([]byte, rest)
		if _, err := f.ReadAt(have, end); err != nil && err != io.EOF {
			return fmt.Errorf("%w behind byte %d: %w", ErrUnknownState, end, err)
		}
		if string(have) == string(data[:rest]) {
			if err := f.Truncate(end); err != nil {
				return fmt.Errorf("%w: the half line behind byte %d could not be cut off: %w", ErrUnknownState, end, err)
			}
			return nil
		}
	}
	if _, err := f.Write([]byte("\n")); err != nil {
		return fmt.Errorf("%w: the line behind byte %d could not be closed: %w", ErrUnknownState, end, err)
	}
	return ErrOthersWrote
}
