package session

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/internal/durable"
	"github.com/piweb-go/piweb/message"
)

// locked is a file system in which nothing can be opened for writing.
type locked struct{ durable.OS }

func (l locked) OpenFile(name string, flag int, perm os.FileMode) (durable.File, error) {
	if flag&(os.O_WRONLY|os.O_RDWR) != 0 {
		return nil, &os.PathError{Op: "open", Path: name, Err: os.ErrPermission}
	}
	return l.OS.OpenFile(name, flag, perm)
}

// TestNoLeaveToWrite: where the file, or its folder, cannot be written, the error says
// so once and what to look at.
func TestNoLeaveToWrite(t *testing.T) {
	dir := t.TempDir()
	hello := Message(&message.User{Content: message.Content{message.Text("hi")}})
	made, err := Create(NewSession{Dir: dir, CWD: dir}, Options{})
	if err == nil {
		_, err = made.Append(hello)
	}
	if err == nil {
		err = made.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	old, err := Open(made.Path(), Options{FS: locked{}})
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	fresh, err := Create(NewSession{Dir: filepath.Join(dir, "x"), CWD: dir}, Options{FS: locked{}})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*Session{"an old one": old, "a new one": fresh} {
		_, err := s.Append(hello)
		if !errors.Is(err, os.ErrPermission) || strings.Count(err.Error(), s.Path()) != 1 || !strings.Contains(err.Error(), "owner and mode") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
