package session

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMoveLeaf follows pi's rules for going to an entry, and stays after a reopen.
func TestMoveLeaf(t *testing.T) {
	text := head3 + said("u1", "", "one") +
		`{"type":"message","id":"a1","parentId":"u1","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"assistant","content":[]}}` + "\n" +
		line3("custom_message", "m1", "a1", `,"customType":"x","content":"an extension's","display":true`) + said("u2", "m1", "two")
	for _, c := range []struct {
		to   ID
		text string
		leaf ID // the parent of what is appended next, past the entry that moves
	}{
		{"a1", "", "a1"}, {"u2", "two", "m1"}, {"m1", "an extension's", "a1"}, {"u1", "one", ""},
	} {
		path := putFile(t, text)
		s := open(t, path)
		got, err := s.MoveLeaf(c.to)
		if err != nil || got != c.text {
			t.Errorf("to %s: %q (%v)", c.to, got, err)
		}
		again := open(t, path)
		moved, _ := again.Entry(again.Leaf())
		if moved.Parent != c.leaf || moved.CustomType != LeafType || again.Leaf() != s.Leaf() {
			t.Errorf("to %s: the leaf hangs on %q, want %q", c.to, moved.Parent, c.leaf)
		}
		want, _ := again.ContextAt(c.leaf)
		now, err := again.Context()
		if err != nil || meaning(t, want) != meaning(t, now) {
			t.Errorf("to %s: the context is not that of %q (%v)", c.to, c.leaf, err)
		}
		if !bytes.HasPrefix(read(t, path), []byte(text)) {
			t.Error("a line was rewritten")
		}
	}
}

func TestMoveLeafThatWritesNothing(t *testing.T) {
	path := putFile(t, head3+said("u1", "", "one")+said("u2", "u1", "two"))
	before := read(t, path)
	s := open(t, path)
	mustAppend(t, s) // nothing
	if _, err := s.MoveLeaf("nope"); !errors.Is(err, ErrNoEntry) {
		t.Errorf("an unknown entry: %v", err)
	}
	s.Hold()
	if _, err := s.MoveLeaf("u1"); !errors.Is(err, ErrHeld) {
		t.Errorf("during a run: %v", err)
	}
	s.Release()
	if !bytes.Equal(before, read(t, path)) {
		t.Error("the file was written to")
	}

	// An old file is not migrated for what is refused, or there already.
	data := read(t, "../fixtures/pi/v1.jsonl")
	old := filepath.Join(t.TempDir(), "v1.jsonl")
	if err := os.WriteFile(old, data, 0o600); err != nil {
		t.Fatal(err)
	}
	v1 := open(t, old)
	leaf, _ := v1.Entry(v1.Leaf())
	if _, err := v1.MoveLeaf("nope"); !errors.Is(err, ErrNoEntry) {
		t.Errorf("an unknown entry: %v", err)
	}
	if writtenByPerson(leaf) {
		t.Fatal("the fixture ends with a user's message")
	}
	if _, err := v1.MoveLeaf(leaf.ID); err != nil || !bytes.Equal(data, read(t, old)) {
		t.Errorf("there already: written to (%v)", err)
	}
	first := v1.entries[0].ID
	if _, err := v1.MoveLeaf(v1.entries[1].ID); err != nil {
		t.Fatal(err)
	}
	again := open(t, old)
	if again.Header().Version != Version || again.entries[0].ID != first {
		t.Error("the old file was not migrated with the ids that were shown")
	}
}

// TestMoveLeafFails: the leaf is where it was, in the file and in memory, whatever
// fails.
func TestMoveLeafFails(t *testing.T) {
	for at := 0; ; at++ {
		fs := &faulty{allow: -1, err: syscall.ENOSPC}
		s := start(t, Options{FS: fs})
		leaf, before := s.Leaf(), read(t, s.Path())
		fs.allow = at
		_, err := s.MoveLeaf(s.entries[0].ID)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.ENOSPC) || s.Leaf() != leaf || !bytes.Equal(before, read(t, s.Path())) {
			t.Fatalf("at %d: leaf %s, want %s (%v)", at, s.Leaf(), leaf, err)
		}
	}
	fs := &faulty{allow: -1}
	s := start(t, Options{FS: fs})
	leaf, before := s.Leaf(), read(t, s.Path())
	fs.syncErr = syscall.EIO
	if _, err := s.MoveLeaf(s.entries[0].ID); !errors.Is(err, syscall.EIO) || s.Leaf() != leaf || !bytes.Equal(before, read(t, s.Path())) {
		t.Errorf("a failed sync: leaf %s, want %s (%v)", s.Leaf(), leaf, err)
	}
}

// TestMoveLeafMeetsAnotherWriter: their entry is adopted, and the move holds.
func TestMoveLeafMeetsAnotherWriter(t *testing.T) {
	path := putFile(t, head3+said("u1", "", "one")+said("u2", "u1", "two"))
	s := open(t, path)
	addTo(t, path, said("u3", "u2", "theirs"))
	if _, err := s.MoveLeaf("u3"); err != nil {
		t.Fatal(err)
	}
	again := open(t, path)
	moved, _ := again.Entry(again.Leaf())
	if d := cmp.Diff([]string{"one", "two"}, texts(t, again)); d != "" || moved.Parent != "u2" {
		t.Errorf("the leaf hangs on %s: %s", moved.Parent, d)
	}
}

func TestMoveLeafWithoutAFile(t *testing.T) {
	dir := t.TempDir()
	s, err := Create(NewSession{Dir: dir, CWD: dir}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ids := mustAppend(t, s, ModelChange{"p", "m"}, SessionInfo{"n"})
	if _, err := s.MoveLeaf(ids[0]); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, user("q"))
	again := open(t, s.Path())
	if b := mustBranch(t, again, again.Leaf()); len(b) != 3 || b[0].ID != ids[0] || b[1].CustomType != LeafType {
		t.Errorf("branch of %d entries", len(b))
	}
}
