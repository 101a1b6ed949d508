package owner

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens a door that echoes: the question first, then every further word.
func open(t *testing.T, dir string) *Door {
	t.Helper()
	d, err := Listen(dir, func(_ context.Context, q json.RawMessage, c *Conn) {
		_ = c.Send(q)
		for {
			var word string
			if c.Receive(&word) != nil || c.Send(word+"!") != nil {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestConversation(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("漢字 folder/", 8)) // longer than a socket's path may be
	for _, dir := range []string{filepath.Join(t.TempDir(), "run"), long} {
		d := open(t, dir)
		c, err := Ask(t.Context(), d.Address(), d.Key(), "question")
		if err != nil {
			t.Fatal(err)
		}
		var got string
		if err := c.Receive(&got); err != nil || got != "question" {
			t.Fatalf("%q, %v", got, err)
		}
		for _, word := range []string{"a", strings.Repeat("漢", 1<<20)} {
			if err := errors.Join(c.Send(word), c.Receive(&got)); err != nil || got != word+"!" {
				t.Fatalf("%.20q, %v", got, err)
			}
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if err := c.Receive(&got); !errors.Is(err, io.EOF) {
			t.Errorf("after the end: %v", err)
		}
		_ = c.Close()
		if _, err := Ask(t.Context(), d.Address(), d.Key(), "x"); !errors.Is(err, ErrNobody) {
			t.Errorf("a closed door: %v", err)
		}
		path := strings.TrimPrefix(d.Address(), scheme)
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the socket is left: %v", err)
		}
	}
}

// TestNobodyElse: without the key nothing is answered, and the key is told to
// nobody but a socket of the user.
func TestNobodyElse(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r")
	d := open(t, dir)
	if _, err := Ask(t.Context(), d.Address(), "wrong", "x"); !errors.Is(err, ErrDenied) {
		t.Errorf("a wrong key: %v", err)
	}
	path := strings.TrimPrefix(d.Address(), scheme)
	info, err := os.Stat(path)
	folder, ferr := os.Stat(dir)
	if err := errors.Join(err, ferr); err != nil || info.Mode().Perm()&0o077 != 0 || folder.Mode().Perm() != 0o700 {
		t.Errorf("others may come in: %v, %v, %v", info.Mode(), folder.Mode(), err)
	}
	for _, hostile := range []string{"", "unix:relative.sock", "tcp:127.0.0.1:1", "unix:" + filepath.Join(dir, "none"), "unix:" + os.Args[0]} {
		if _, err := Ask(t.Context(), hostile, d.Key(), "x"); !errors.Is(err, ErrNobody) {
			t.Errorf("%q: %v", hostile, err)
		}
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := Ask(t.Context(), scheme+link, d.Key(), "x"); !errors.Is(err, ErrNobody) {
		t.Errorf("a link to a socket: %v", err)
	}
	if err := os.Mkdir(filepath.Join(t.TempDir(), "open"), 0o777); err != nil {
		t.Fatal(err)
	}
	wide := t.TempDir()
	if err := os.Chmod(wide, 0o755); err != nil {
		t.Fatal(err)
	}
	if d, err := Listen(wide, nil); err == nil {
		_ = d.Close()
		t.Error("a door in a folder that others may enter")
	}
}

// TestBounded: who sends no end of a line, or keeps many doors open, is shown out.
func TestBounded(t *testing.T) {
	d := open(t, filepath.Join(t.TempDir(), "r"))
	path := strings.TrimPrefix(d.Address(), scheme)
	var idle []net.Conn
	for range mostTalks {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		idle = append(idle, c)
	}
	var one [1]byte
	more, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := more.Read(one[:]); !errors.Is(err, io.EOF) {
		t.Errorf("one too many: %v", err)
	}
	for _, c := range append(idle, more) {
		_ = c.Close()
	}
}
