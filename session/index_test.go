package session

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// state is all that an open comes to, for comparing two of them.
type state struct {
	Header  Header
	Entries []Entry
	Leaf    ID
	Diags   []Diagnostic
	Branch  []ID
	Texts   []string
	End     int64
	Next    int
}

func stateOf(t testing.TB, path string, o Options) state {
	t.Helper()
	s, err := Open(path, o)
	if err != nil {
		return state{}
	}
	defer s.Close()
	st := state{Header: s.Header(), Leaf: s.Leaf(), Diags: s.Diagnostics(), End: s.end, Next: s.nextLine}
	for e := range s.Entries() {
		if _, err := s.Raw(e); err != nil {
			t.Fatal(err)
		}
		st.Entries = append(st.Entries, e)
	}
	c, err := s.Context()
	if err != nil {
		t.Fatal(err)
	}
	st.Branch = c.Branch
	return st
}

// same compares opens with and without an index.
func same(t testing.TB, path string, o Options, what string) {
	t.Helper()
	plain, indexed := stateOf(t, path, Options{}), stateOf(t, path, o)
	opts := cmp.Options{cmpopts.EquateEmpty(), cmp.AllowUnexported(Entry{})}
	if d := cmp.Diff(plain, indexed, opts); d != "" {
		t.Fatalf("%s: with an index (+) the file reads differently:\n%s", what, d)
	}
}

// pieces are lines and parts of lines that a file may hold, or grow by.
func pieces() []string {
	return []string{
		said("a", "", "first"), said("b", "a", "漢字 😀"), said("a", "b", "again"), said("c", "lost", "orphan"), said("d", "d", "self"),
		strings.TrimSuffix(said("e", "a", "no line feed"), "\n"), said("f", "e", "x")[:40], "\n", "\r\n", "42\n", "{}\n", "\x00\x00\x00", "{torn",
		`{"type":"custom","customType":"t","data":{"n":2.50},"id":"g","parentId":"b","timestamp":"2026-01-01T00:00:00.000Z"}` + "\n",
		`{"type":"session","id":"other"}` + "\n",
	}
}

// TestIndexIsTheScan: whatever a file holds, and however it grows, an open with
// an index comes to what an open without one does.
func TestIndexIsTheScan(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		o := Options{IndexDir: filepath.Join(dir, "index"), indexMin: 1}
		path := filepath.Join(dir, "s.jsonl")
		text := head3 + strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces())).Draw(rt, "file"), "")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		same(t, path, o, "first")
		same(t, path, o, "second")
		for i := range 3 {
			more := strings.Join(rapid.SliceOf(rapid.SampledFrom(pieces())).Draw(rt, "more"), "")
			addTo(t, path, more)
			same(t, path, o, fmt.Sprint("grown ", i))
		}
	})
}

func TestIndexIsUsedAndRebuilt(t *testing.T) {
	dir := t.TempDir()
	o := Options{IndexDir: filepath.Join(dir, "index"), indexMin: 1}
	path := filepath.Join(dir, "s.jsonl")
	var text strings.Builder
	text.WriteString(head3)
	parent := ""
	for i := range 500 {
		id := fmt.Sprintf("%08x", i)
		text.WriteString(said(id, parent, strings.Repeat("text ", i%50)))
		parent = id
	}
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	usesIndex := func() bool {
		s, err := Open(path, o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		return s.indexed > 0
	}
	put(text.String())
	if usesIndex() {
		t.Error("the first open uses an index")
	}
	if !usesIndex() {
		t.Error("the second open does not")
	}
	addTo(t, path, said("new", parent, "more"))
	if !usesIndex() {
		t.Error("an index does not serve a file that grew")
	}
	same(t, path, o, "grown")

	names, err := filepath.Glob(filepath.Join(o.IndexDir, "*"))
	if err != nil || len(names) != 1 {
		t.Fatalf("%v, %v", names, err)
	}
	good, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, broken := range [][]byte{nil, []byte("x"), good[:len(good)/2], good[:len(good)-1], append(bytes.Clone(good), 0), []byte(indexMagic)} {
		if err := os.WriteFile(names[0], broken, 0o600); err != nil {
			t.Fatal(err)
		}
		same(t, path, o, fmt.Sprintf("an index of %d bytes", len(broken)))
	}
	for at := 0; at < len(good); at += 97 {
		flipped := bytes.Clone(good)
		flipped[at] ^= 0x20
		if err := os.WriteFile(names[0], flipped, 0o600); err != nil {
			t.Fatal(err)
		}
		same(t, path, o, fmt.Sprint("a flipped bit at ", at))
	}

	// The file is another one now: shorter, rewritten in its middle, or as long.
	put(text.String()[:text.Len()/2])
	same(t, path, o, "cut")
	put(text.String())
	_ = stateOf(t, path, o)
	put(strings.Replace(text.String(), "text text", "other txt", 40))
	same(t, path, o, "rewritten")
	put(strings.ReplaceAll(text.String(), `"000000`, `"f00000`))
	same(t, path, o, "with other ids")
}

// TestIndexThatLies: where a rewrite slips through the samples, reading an entry
// finds it, and the next open is right.
func TestIndexThatLies(t *testing.T) {
	dir := t.TempDir()
	o := Options{IndexDir: filepath.Join(dir, "index"), indexMin: 1}
	path := filepath.Join(dir, "s.jsonl")
	var text strings.Builder
	text.WriteString(head3)
	for i := range 4000 {
		text.WriteString(said(fmt.Sprintf("%08x", i), "", "x"))
	}
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	_ = stateOf(t, path, o)
	whole := []byte(text.String())
	step := len(whole) / samples
	at := 3*step + 2*sampleLength // between two samples
	line := bytes.IndexByte(whole[at:], '\n') + at + 1
	copy(whole[line:], bytes.Replace(whole[line:line+60], []byte(`"id":"0`), []byte(`"id":"9`), 1))
	if err := os.WriteFile(path, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	found := false
	for e := range s.Entries() {
		if _, err := s.Raw(e); err != nil {
			found = true
		}
	}
	if s.indexed == 0 || !found {
		t.Errorf("the lie was not found (indexed %d)", s.indexed)
	}
	same(t, path, o, "after it")
}

func FuzzIndex(f *testing.F) {
	dir := f.TempDir()
	path := filepath.Join(dir, "s.jsonl")
	if err := os.WriteFile(path, []byte(head3+said("a", "", "x")+said("b", "a", "y")), 0o644); err != nil {
		f.Fatal(err)
	}
	s, err := Open(path, Options{})
	if err != nil {
		f.Fatal(err)
	}
	data, err := s.encodeIndex(1)
	s.Close()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		head, entries, ok := decodeIndex(data) // never panics, never allocates beyond its input
		if ok && len(entries) != head.Entries {
			t.Errorf("%d entries of %d", len(entries), head.Entries)
		}
	})
}
