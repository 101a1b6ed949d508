package watch

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestSet(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	heard := make(chan string, 100)
	s := &Set{Tell: func(path string) { heard <- path }}
	defer s.Close()
	put := func(path string) {
		t.Helper()
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wait := func(want string) {
		t.Helper()
		for end := time.After(time.Minute); ; {
			select {
			case got := <-heard:
				if got == want {
					return
				}
			case <-end:
				t.Fatalf("nobody told of %s", want)
			}
		}
	}
	for range 2 {
		if err := s.Add(dir); err != nil {
			t.Skip(err)
		}
	}
	if err := s.Add(filepath.Join(dir, "gone")); err == nil {
		t.Error("a folder that is not there was added")
	}
	a := filepath.Join(dir, "a 日本")
	put(a)
	wait(a)
	s.Remove(dir) // one Add is left
	b := filepath.Join(dir, "b")
	put(b)
	wait(b)
	s.Remove(dir)
	s.Remove(dir)
	if err := s.Add(other); err != nil {
		t.Fatal(err)
	}
	put(filepath.Join(dir, "unheard"))
	c := filepath.Join(other, "c")
	put(c)
	for end := time.After(time.Minute); ; {
		select {
		case got := <-heard:
			if filepath.Base(got) == "unheard" {
				t.Error("told of a folder that was removed")
			}
			if got != c {
				continue
			}
		case <-end:
			t.Fatal("nobody told of c")
		}
		break
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Add(dir); err == nil {
		t.Error("a closed set takes folders")
	}
}
