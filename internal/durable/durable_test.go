package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// failing fails one call by name.
type failing struct {
	OS
	on  string
	err error
}

type failingFile struct {
	File
	f *failing
}

func (f *failing) fail(call string) error {
	if f.on == call {
		return f.err
	}
	return nil
}

func (f *failing) OpenFile(name string, flag int, perm os.FileMode) (File, error) {
	if err := f.fail("open"); err != nil {
		return nil, err
	}
	file, err := f.OS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &failingFile{file, f}, nil
}

func (f *failing) Rename(from, to string) error {
	if err := f.fail("rename"); err != nil {
		return err
	}
	return f.OS.Rename(from, to)
}

func (f *failing) SyncDir(name string) error {
	if err := f.fail("syncdir"); err != nil {
		return err
	}
	return f.OS.SyncDir(name)
}

func (f *failingFile) Write(p []byte) (int, error) {
	if err := f.f.fail("write"); err != nil {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, err
	}
	return f.File.Write(p)
}

func (f *failingFile) Sync() error {
	if err := f.f.fail("sync"); err != nil {
		return err
	}
	return f.File.Sync()
}

// TestSaveIsAllOrNothing: whatever fails, the old file stands and nothing else
// is left.
func TestSaveIsAllOrNothing(t *testing.T) {
	for _, call := range []string{"", "open", "write", "sync", "rename", "syncdir"} {
		t.Run("fails: "+call, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "名前 file")
			if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			err := Save(&failing{on: call, err: syscall.EIO}, path, []byte("new data"), 0o600)
			want := "old"
			if call == "" || call == "syncdir" { // the name is in place, and the error says so
				want = "new data"
			}
			if (err == nil) != (call == "") || err != nil && !errors.Is(err, syscall.EIO) {
				t.Errorf("error %v", err)
			}
			if data, _ := os.ReadFile(path); string(data) != want {
				t.Errorf("the file holds %q, want %q", data, want)
			}
			if names, _ := os.ReadDir(dir); len(names) != 1 {
				t.Errorf("%d files are left", len(names))
			}
		})
	}
}

func TestCreateNeverOverwrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if f, err := Create(&failing{on: "write", err: syscall.ENOSPC}, path, []byte("data"), 0o600); err == nil {
		f.Close()
		t.Fatal("a full disk is no error")
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a file that could not be filled is left")
	}
	f, err := Create(OS{}, path, []byte("data"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	if _, err := Create(OS{}, path, []byte("other"), 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("error %v", err)
	}
	if data, _ := os.ReadFile(path); string(data) != "data" {
		t.Errorf("the file holds %q", data)
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if _, err := TryLock(path); err == nil || errors.Is(err, ErrLocked) {
		t.Errorf("a file that is not there: %v, want an error that is not ErrLocked", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := TryLock(path); !errors.Is(err, ErrLocked) {
		t.Errorf("the second lock: %v", err)
	}
	if err := a.Unlock(); err != nil {
		t.Fatal(err)
	}
	b, err := TryLock(path)
	if err != nil {
		t.Errorf("after the unlock: %v", err)
	}
	if err := b.Unlock(); err != nil {
		t.Fatal(err)
	}
}
