package wrapper

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/piweb-go/piweb/internal/durable"
	"github.com/piweb-go/piweb/session"
)

// unsynced is a file system whose folders cannot be synced.
type unsynced struct{ durable.OS }

func (unsynced) SyncDir(string) error { return errors.New("no sync") }

// TestNoChildLeavesNothing: a child that could not be made leaves no file, and
// nobody holds one that there was.
func TestNoChildLeavesNothing(t *testing.T) {
	first := session.SessionInfo{Name: "a child"}
	make := func(r *Registry, dir string) error {
		s, err := r.CreateWith(t.Context(), session.NewSession{Dir: filepath.Join(dir, "s"), CWD: dir}, OpenOptions{}, first)
		if s != nil {
			t.Error("a session and an error")
		}
		return err
	}
	check := func(name, dir string, err error) {
		list, _ := os.ReadDir(filepath.Join(dir, "s"))
		if err == nil || len(list) != 0 {
			t.Errorf("%s: %v, %d files are left", name, err, len(list))
		}
	}
	dir := t.TempDir()
	check("not synced", dir, make(registry(t, &stage{}, Options{Session: session.Options{FS: unsynced{}}}), dir))
	ended := NewRegistry(&stage{}, Options{})
	if err := ended.Close(); err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	err := make(ended, dir)
	check("ended", dir, err)
	if !errors.Is(err, ErrShutdown) {
		t.Errorf("ended: %v", err)
	}
}
