package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestAgainstSlowDecoder opens every session file under fixtures, and under the
// folders of $PIWEB_CORPUS (a list like $PATH), and compares entry count and
// leaf with a decoder that does one obvious thing at a time. No file may change.
//
//	PIWEB_CORPUS=/some/folder go test ./session -run SlowDecoder -v
func TestAgainstSlowDecoder(t *testing.T) {
	opened, refused := 0, 0
	for _, root := range corpusRoots() {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !looksLikeSession(path) {
				return err
			}
			t.Run(path, func(t *testing.T) {
				if compare(t, path) {
					opened++
				} else {
					refused++
				}
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if opened < 40 {
		t.Errorf("only %d files were opened", opened)
	}
	t.Logf("%d session files opened, %d refused by both", opened, refused)
}

func corpusRoots() []string {
	roots := []string{"../fixtures"}
	if extra := os.Getenv("PIWEB_CORPUS"); extra != "" {
		roots = append(roots, filepath.SplitList(extra)...)
	}
	return roots
}

// looksLikeSession also takes the names that other programs give to sessions
// that they set aside.
func looksLikeSession(path string) bool {
	base := filepath.Base(path)
	if strings.Contains(base, "expected") || base == "extension.json" {
		return false
	}
	return strings.Contains(base, ".jsonl") || strings.HasSuffix(base, ".json") && strings.HasPrefix(base, "s")
}

func compare(t *testing.T, path string) (isSession bool) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	want, ok := slow(data)
	s, err := Open(path, Options{Strict: true})
	if !ok {
		if !errors.Is(err, ErrNotSession) {
			t.Errorf("the slow decoder refuses it, Open answers %v", err)
		}
		return false
	}
	if err != nil {
		t.Errorf("the slow decoder reads it: %v", err)
		return false
	}
	defer s.Close()
	if s.Len() != want.entries {
		t.Errorf("%d entries, the slow decoder has %d", s.Len(), want.entries)
	}
	if want.version >= 2 && s.Leaf() != ID(want.leaf) {
		t.Errorf("leaf %q, the slow decoder has %q", s.Leaf(), want.leaf)
	}
	if _, err := s.Context(); err != nil {
		t.Errorf("context: %v", err)
	}
	for e := range s.Entries() {
		raw, err := s.Raw(e)
		if err != nil {
			t.Fatal(err)
		}
		if e.mem == nil && !bytes.Equal(raw, data[e.Offset:e.Offset+e.Len]) {
			t.Fatalf("entry %s is not the file's bytes", e.ID)
		}
	}
	compareLoose(t, path, s)
	after, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	now, _ := os.ReadFile(path)
	if !bytes.Equal(data, now) || !after.ModTime().Equal(before.ModTime()) {
		t.Error("reading changed the file")
	}
	return true
}

// compareLoose holds an open as programs do it, which jumps over the bodies of
// messages, against a strict one: it may have more entries, and says of each of
// them that it is damaged when it is read.
func compareLoose(t *testing.T, path string, want *Session) {
	t.Helper()
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if want.migrate { // a migration validates what it turns
		return
	}
	sound := map[int64]Entry{}
	for e := range want.Entries() {
		sound[e.Offset] = e
	}
	for e := range s.Entries() {
		twin, ok := sound[e.Offset]
		twin.pos, e.pos, twin.value, e.value = 0, 0, 0, 0
		_, err := s.Raw(e)
		if ok && (err != nil || !reflect.DeepEqual(e, twin)) || !ok && !errors.Is(err, ErrDamaged) {
			t.Fatalf("entry %q at byte %d: %v; a strict open has %v\n%+v\n%+v", e.ID, e.Offset, err, ok, e, twin)
		}
		delete(sound, e.Offset)
	}
	if len(sound) > 0 {
		t.Fatalf("%d entries are only in a strict open: %v", len(sound), sound)
	}
	if s.Leaf() != want.Leaf() {
		t.Errorf("leaf %q, a strict open has %q", s.Leaf(), want.Leaf())
	}
}

type slowResult struct {
	version, entries int
	leaf             string
}

// slow decodes a file line by line with encoding/json.
func slow(data []byte) (r slowResult, ok bool) {
	header := false
	if len(data) == 0 {
		return r, true // an empty session
	}
	for n, line := range bytes.Split(data, []byte("\n")) {
		if n == 0 && bytes.HasPrefix(line, []byte("\xEF\xBB\xBF")) {
			return r, false
		}
		for _, v := range slowValues(line) {
			obj, isObject := v.(map[string]any)
			typ, _ := obj["type"].(string)
			id, hasID := obj["id"].(string)
			switch {
			case v == nil || v == false || v == 0.0 || v == "":
			case !header && typ == "title":
			case !header:
				if typ != "session" || !hasID {
					return r, false
				}
				header, r.version = true, 1
				if f, ok := obj["version"].(float64); ok {
					r.version = int(f)
				}
			case !isObject || typ == "session":
			case r.version == 1 || hasID && id != "":
				r.entries++
				r.leaf = id
			}
		}
	}
	return r, header
}

// slowValues decodes a line, or, where that fails, the whole values at its
// beginning and one whole record at its end.
func slowValues(line []byte) (vals []any) {
	var v any
	if json.Unmarshal(line, &v) == nil {
		return []any{v}
	}
	rest := line
	for {
		rest = bytes.TrimLeft(rest, " \t\r")
		var v map[string]any
		dec := json.NewDecoder(bytes.NewReader(rest))
		if !bytes.HasPrefix(rest, []byte("{")) || dec.Decode(&v) != nil {
			break
		}
		vals, rest = append(vals, v), rest[dec.InputOffset():]
	}
	for i := range rest {
		var v map[string]any
		if i > 0 && bytes.HasPrefix(rest[i:], []byte(`{"type":`)) && json.Unmarshal(rest[i:], &v) == nil {
			if _, isEntry := v["parentId"]; isEntry {
				return append(vals, v)
			}
		}
	}
	return vals
}
