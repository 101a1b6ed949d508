package durable

import (
	"os"
	"path/filepath"
)

// Under is the file system below an open directory: names are relative to it,
// and the system itself keeps every one of them inside, whatever somebody puts
// into the folder meanwhile. The root stays the caller's to close.
func Under(root *os.Root) FS { return under{root} }

type under struct{ root *os.Root }

func (u under) OpenFile(name string, flag int, perm os.FileMode) (File, error) {
	f, err := u.root.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err // not f: a nil *os.File in an interface is not nil
	}
	return f, nil
}

func (u under) Stat(name string) (os.FileInfo, error) { return u.root.Stat(name) }

func (u under) MkdirAll(name string, perm os.FileMode) error { return u.root.MkdirAll(name, perm) }

func (u under) Rename(from, to string) error { return u.root.Rename(from, to) }

func (u under) Link(from, to string) error { return u.root.Link(from, to) }

func (u under) Remove(name string) error { return u.root.Remove(name) }

// SyncDir syncs the directory by its name, which may lead elsewhere by now: then
// the sync is of no use, and of no harm.
func (u under) SyncDir(name string) error { return syncDir(filepath.Join(u.root.Name(), name)) }
