package session

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/piweb-go/piweb/internal/durable"
)

// ErrTaken: a file that must not be replaced has the name already.
var ErrTaken = errors.New("there is a file of this name already")

// newFile makes a file that does not exist yet, whole and synced, in one step: a
// reader sees nothing or all of it. That matters more than for an append,
// because what limits a session may be its last line. dirs is what makeFolder
// said of its folder.
func newFile(fs durable.FS, path string, dirs []string, perm os.FileMode, done *steps, fill func(io.Writer) error) error {
	tmp, err := durable.Temp(fs, path, perm|0o600, fill)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := giveName(fs, tmp, path, perm, done); err != nil {
		_ = fs.Remove(tmp)
		return err
	}
	for _, dir := range dirs {
		if err := fs.SyncDir(dir); err != nil {
			return fmt.Errorf("sync the folder of %s: %w", path, err)
		}
	}
	return nil
}

// makeFolder makes a folder and those above it, and lists the folders that have
// a new name in them, or will have. Its undo removes those that it made, as far
// as they are empty.
func makeFolder(fs durable.FS, dir string, back *steps) (dirs []string, err error) {
	var made []string
	for d := dir; ; d = filepath.Dir(d) {
		dirs = append(dirs, d)
		_, err := fs.Stat(d)
		if err == nil || d == filepath.Dir(d) {
			break
		}
		if !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("make the folder: %w", err)
		}
		made = append(made, d)
	}
	back.did(func() error {
		for _, d := range made {
			_ = fs.Remove(d)
		}
		return nil
	})
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder: %w", err)
	}
	return dirs, nil
}

// giveName gives the file from the name to, which must be free, and takes its old
// one. A hard link does so in one step. Where there are none, an empty file holds
// the name until the rename.
func giveName(fs durable.FS, from, to string, perm os.FileMode, back *steps) error {
	err := fs.Link(from, to)
	if err != nil && !errors.Is(err, os.ErrExist) {
		return renameTo(fs, from, to, perm, back)
	}
	if err != nil {
		return fmt.Errorf("%s: %w; nothing was changed", to, ErrTaken)
	}
	back.did(func() error { return fs.Remove(to) })
	return fs.Remove(from)
}

func renameTo(fs durable.FS, from, to string, perm os.FileMode, back *steps) error {
	f, err := fs.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm|0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s: %w; nothing was changed", to, ErrTaken)
	}
	if err != nil {
		return err
	}
	back.did(func() error { return fs.Remove(to) })
	if err := f.Close(); err != nil {
		return err
	}
	return fs.Rename(from, to)
}
