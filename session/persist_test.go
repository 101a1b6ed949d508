package session

import (
	"os"
	"testing"
)

// TestPersist: the file is there before any message, holds what was appended, and
// goes on as any other.
func TestPersist(t *testing.T) {
	dir := t.TempDir()
	s, err := Create(NewSession{Dir: dir, CWD: dir}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ids, err := s.Append(SessionInfo{Name: "before"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Persisted() {
		t.Fatal("a name alone makes a file")
	}
	for range 2 {
		if err := s.Persist(); err != nil || !s.Persisted() {
			t.Fatalf("persisted %v (%v)", s.Persisted(), err)
		}
	}
	if _, err := s.Append(SessionInfo{Name: "behind"}); err != nil {
		t.Fatal(err)
	}
	again, err := Open(s.Path(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if name, err := again.Name(); err != nil || name != "behind" || again.Len() != 2 {
		t.Errorf("it holds %d entries, named %q (%v)", again.Len(), name, err)
	}
	if e, ok := again.Entry(ids[0]); !ok || e.Line != 2 {
		t.Errorf("the first entry: %+v", e)
	}
	if d := again.Diagnostics(); len(d) != 0 {
		t.Errorf("%v", d)
	}
}

// TestPersistOverAnotherFile: what stands there is left alone.
func TestPersistOverAnotherFile(t *testing.T) {
	dir := t.TempDir()
	s, err := Create(NewSession{Dir: dir, CWD: dir}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := os.WriteFile(s.Path(), []byte("mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.Persist(); err == nil || s.Persisted() {
		t.Errorf("persisted %v (%v)", s.Persisted(), err)
	}
	if data, _ := os.ReadFile(s.Path()); string(data) != "mine\n" {
		t.Errorf("the file holds %q", data)
	}
}
