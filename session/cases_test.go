package session

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/piweb-go/piweb/message"
)

// The cases of fixtures/cases: small inputs from public bug reports. Each
// folder's case.md says what should happen.

// pairs renders a context as the cases do.
func pairs(t *testing.T, s *Session) [][2]string {
	t.Helper()
	c, err := s.Context()
	if err != nil {
		t.Fatal(err)
	}
	out := [][2]string{}
	for _, m := range c.Messages {
		out = append(out, [2]string{string(m.Role()), message.Describe(m)})
	}
	return out
}

// copyCase puts a file of a case into a fresh folder and returns its path.
func copyCase(t *testing.T, name string) string {
	t.Helper()
	found, err := filepath.Glob("../fixtures/cases/" + name)
	if err != nil || len(found) != 1 {
		t.Fatalf("fixture %s: %v, %v", name, found, err)
	}
	data, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), filepath.Base(name))
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, path string) *Session {
	t.Helper()
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func user(text string) Payload {
	return Message(&message.User{Content: message.Content{message.Text(text)}, Timestamp: 1})
}

func answer(text string) Payload {
	return Message(&message.Assistant{Content: message.Content{message.Text(text)}, API: "t", Provider: "t", Model: "m", StopReason: message.StopEnd, Timestamp: 1})
}

func mustAppend(t *testing.T, s *Session, p ...Payload) []ID {
	t.Helper()
	ids, err := s.Append(p...)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func hasKind(diags []Diagnostic, kind Kind) bool {
	return slices.ContainsFunc(diags, func(d Diagnostic) bool { return d.Kind == kind })
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// appendKeeps appends a message and checks that every byte before stays.
func appendKeeps(t *testing.T, path string, s *Session) []ID {
	t.Helper()
	before := read(t, path)
	ids := mustAppend(t, s, user("third"))
	after := read(t, path)
	if !bytes.HasPrefix(after, before) {
		t.Error("an append changed earlier bytes")
	}
	added := strings.TrimPrefix(string(after[len(before):]), "\n")
	if strings.Count(added, "\n") != 1 || !strings.HasPrefix(added, `{"type":"message"`) {
		t.Errorf("the new record does not stand alone on its line: %q", added)
	}
	return ids
}

func TestCase001GluedRecords(t *testing.T) {
	path := copyCase(t, "001*/session.jsonl")
	s := open(t, path)
	want := [][2]string{{"user", "first"}, {"assistant", "one"}, {"user", "second"}, {"assistant", "two"}, {"user", "third"}, {"assistant", "three"}}
	if d := cmp.Diff(want, pairs(t, s)); d != "" {
		t.Error(d)
	}
	diags := s.Diagnostics()
	if len(diags) != 1 || diags[0].Kind != KindGlued || diags[0].Line != 5 {
		t.Errorf("diagnostics %v, want line 5 as glued", diags)
	}
	appendKeeps(t, path, s)
}

func TestCase002TornLastLine(t *testing.T) {
	path := copyCase(t, "002*/session.jsonl")
	s := open(t, path)
	if s.Leaf() != "a0000003" {
		t.Errorf("leaf %s", s.Leaf())
	}
	if diags := s.Diagnostics(); len(diags) != 1 || diags[0].Kind != KindTornTail || diags[0].Line != 5 {
		t.Errorf("diagnostics %v, want line 5 as torn", diags)
	}
	ids := appendKeeps(t, path, s)
	if e, _ := s.Entry(ids[0]); e.Parent != "a0000003" {
		t.Errorf("parent %s", e.Parent)
	}
	s.Close()
	want := [][2]string{{"user", "first"}, {"assistant", "one"}, {"user", "second"}, {"user", "third"}}
	if d := cmp.Diff(want, pairs(t, open(t, path))); d != "" {
		t.Error(d)
	}
}

func TestCase004HeaderGone(t *testing.T) {
	t.Run("a file without header is refused and kept", func(t *testing.T) {
		path := copyCase(t, "004*/headerless.jsonl")
		before := read(t, path)
		_, err := Open(path, Options{})
		if err == nil || !strings.Contains(err.Error(), "the header may have been lost") {
			t.Errorf("error %v", err)
		}
		if !bytes.Equal(before, read(t, path)) {
			t.Error("the file changed")
		}
	})
	t.Run("a file deleted under the session comes back whole", func(t *testing.T) {
		dir := t.TempDir()
		s, err := Create(NewSession{Dir: dir, CWD: dir}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		mustAppend(t, s, user("one"), answer("1"))
		if err := os.Remove(s.Path()); err != nil {
			t.Fatal(err)
		}
		mustAppend(t, s, user("two"), answer("2"))
		again := open(t, s.Path())
		want := [][2]string{{"user", "one"}, {"assistant", "1"}, {"user", "two"}, {"assistant", "2"}}
		if d := cmp.Diff(want, pairs(t, again)); d != "" {
			t.Error(d)
		}
		if again.ID() != s.ID() {
			t.Error("the header changed")
		}
	})
}

func TestCase005HeaderOnlyAndFirstAppend(t *testing.T) {
	for _, c := range []struct {
		file  string
		add   []Payload
		lines int
	}{
		{"header-only.jsonl", []Payload{user("hi"), answer("ho")}, 3},
		{"no-answer.jsonl", []Payload{ModelChange{"p", "m"}, answer("ho")}, 4},
	} {
		t.Run(c.file, func(t *testing.T) {
			path := copyCase(t, "005*/"+c.file)
			s := open(t, path)
			for _, p := range c.add {
				mustAppend(t, s, p)
			}
			s.Close()
			data := read(t, path)
			if n := bytes.Count(data, []byte("\n")); n != c.lines {
				t.Errorf("%d lines, want %d", n, c.lines)
			}
			if !bytes.HasPrefix(data, []byte(`{"type":"session"`)) {
				t.Error("the header is not line 1")
			}
			seen := map[ID]bool{}
			for e := range open(t, path).Entries() {
				if seen[e.ID] {
					t.Errorf("id %s occurs twice", e.ID)
				}
				seen[e.ID] = true
			}
		})
	}
}

func TestCase006DuplicatesAndCycles(t *testing.T) {
	t.Run("duplicates", func(t *testing.T) {
		s := open(t, copyCase(t, "006*/duplicates.jsonl"))
		want := [][2]string{{"user", "q1"}, {"assistant", "a1"}, {"user", "q2"}, {"assistant", "a2"}, {"user", "q3"}}
		if d := cmp.Diff(want, pairs(t, s)); d != "" {
			t.Error(d)
		}
		var dup []ID
		for _, d := range s.Diagnostics() {
			if d.Kind == KindDuplicate {
				dup = append(dup, d.ID)
			}
		}
		if d := cmp.Diff([]ID{"a0000001", "a0000002", "a0000003"}, dup); d != "" {
			t.Error(d)
		}
	})
	t.Run("cycle", func(t *testing.T) {
		s := open(t, copyCase(t, "006*/cycle.jsonl"))
		c, err := s.Context()
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Messages) != 1 || message.Describe(c.Messages[0]) != "self" || !hasKind(c.Diagnostics, KindCycle) {
			t.Errorf("messages %d, diagnostics %v", len(c.Messages), c.Diagnostics)
		}
		for e := range s.Entries() {
			if _, err := s.Branch(e.ID); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestCase008LateBookkeepingRecord pins pi's rule, with a notice (DESIGN,
// "Durability").
func TestCase008LateBookkeepingRecord(t *testing.T) {
	s := open(t, copyCase(t, "008*/session.jsonl"))
	if s.Leaf() != "e0000001" {
		t.Errorf("leaf %s", s.Leaf())
	}
	if d := cmp.Diff([]ID{"a0000004", "e0000001"}, s.Leaves()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([][2]string{{"user", "day one"}, {"assistant", "done one"}}, pairs(t, s)); d != "" {
		t.Error(d)
	}
	i := slices.IndexFunc(s.Diagnostics(), func(d Diagnostic) bool { return d.Kind == KindLeaves })
	if i < 0 || !strings.Contains(s.Diagnostics()[i].Text, "a0000004 (4 messages)") {
		t.Errorf("the longer branch is not reported: %v", s.Diagnostics())
	}
}

func TestCase009KeptEntryOnOtherBranch(t *testing.T) {
	s := open(t, copyCase(t, "009*/session.jsonl"))
	if d := cmp.Diff([][2]string{{"compactionSummary", "what went before"}, {"user", "go on"}}, pairs(t, s)); d != "" {
		t.Error(d)
	}
	c, _ := s.Context()
	if !hasKind(c.Diagnostics, KindKept) || !strings.Contains(c.Diagnostics[0].Text, "a0000004") {
		t.Errorf("diagnostics %v", c.Diagnostics)
	}
}

func TestCase010TwoCompactionsAndV1Index(t *testing.T) {
	t.Run("two", func(t *testing.T) {
		path := copyCase(t, "010*/two.jsonl")
		s := open(t, path)
		want := [][2]string{{"compactionSummary", "sum two"}, {"assistant", "a2"}, {"user", "u3"}, {"assistant", "a3"}, {"user", "u4"}}
		if d := cmp.Diff(want, pairs(t, s)); d != "" {
			t.Error(d)
		}
		e, ok := s.Entry("f1")
		if !ok {
			t.Fatal("no entry f1")
		}
		before, _ := s.Raw(e)
		appendKeeps(t, path, s)
		again := open(t, path)
		e, _ = again.Entry("f1")
		if after, _ := again.Raw(e); !bytes.Equal(before, after) {
			t.Error("the record f1 changed")
		}
	})
	t.Run("v1", func(t *testing.T) {
		path := copyCase(t, "010*/v1.jsonl")
		before := read(t, path)
		s := open(t, path)
		want := [][2]string{{"compactionSummary", "sum v1"}, {"user", "u2"}, {"assistant", "a2"}, {"user", "u3"}}
		if d := cmp.Diff(want, pairs(t, s)); d != "" {
			t.Error(d)
		}
		if !bytes.Equal(before, read(t, path)) {
			t.Error("opening rewrote the file")
		}
		leaf := s.Leaf()
		mustAppend(t, s, user("u4"))
		s.Close()
		if !bytes.Equal(before, read(t, path+".bak")) {
			t.Error("the old file is not kept beside")
		}
		again := open(t, path)
		if again.Header().Version != 3 {
			t.Errorf("version %d", again.Header().Version)
		}
		if d := cmp.Diff(append(want, [2]string{"user", "u4"}), pairs(t, again)); d != "" {
			t.Error(d)
		}
		last, _ := again.Entry(again.Leaf())
		if last.Parent != leaf {
			t.Errorf("the ids changed with the first write: parent %s, was %s", last.Parent, leaf)
		}
	})
}

func TestCase029RecordsOfOtherWriters(t *testing.T) {
	path := copyCase(t, "029*/session.jsonl")
	s := open(t, path)
	c, err := s.Context()
	if err != nil {
		t.Fatal(err)
	}
	// m3 is a system message; it is part of the transcript and of no request.
	if d := cmp.Diff([]ID{"m1", "m2", "m3", "m4", "m5", "m6"}, c.Sources); d != "" {
		t.Error(d)
	}
	if s.Leaf() != "m6" || !hasKind(s.Diagnostics(), KindNoID) {
		t.Errorf("leaf %s, diagnostics %v", s.Leaf(), s.Diagnostics())
	}
	ids := appendKeeps(t, path, s)
	if e, _ := s.Entry(ids[0]); e.Parent != "m6" {
		t.Errorf("parent %s", e.Parent)
	}
	v2 := open(t, copyCase(t, "029*/v2.jsonl"))
	if d := cmp.Diff([][2]string{{"user", "u"}, {"custom", "hook"}}, pairs(t, v2)); d != "" {
		t.Error(d)
	}
}

// TestMigrationKeepsNumbers: the one rewrite that happens keeps every spelling.
func TestMigrationKeepsNumbers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v2.jsonl")
	lines := `{"type":"session","version":2,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x","extra":2.50}
{"type":"message","id":"a","parentId":null,"message":{"role":"hookMessage","customType":"h","content":"hook","n":1e-7,"display":true}}
{torn
{"type":"future","id":"b","parentId":"a","payload":{"a":[1,2.50,1e-7]}}
`
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	mustAppend(t, s, user("x"))
	got := string(read(t, path))
	want := strings.Replace(strings.Replace(lines, `"version":2`, `"version":3`, 1), `"hookMessage"`, `"custom"`, 1)
	if !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant it to begin with\n%s", got, want)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if d := cmp.Diff([][2]string{{"custom", "hook"}, {"user", "x"}}, pairs(t, open(t, path))); d != "" {
		t.Error(d)
	}
}

func TestCase030LargeCustomRecords(t *testing.T) {
	src := read(t, copyCase(t, "030*/session.jsonl"))
	want := [][2]string{{"user", "search"}, {"custom", "seen by the model"}, {"assistant", "found"}, {"user", "next"}}
	path := copyCase(t, "030*/session.jsonl")
	s := open(t, path)
	if d := cmp.Diff(want, pairs(t, s)); d != "" {
		t.Error(d)
	}
	appendKeeps(t, path, s)

	// The same with its custom records many times over, about 24 MB.
	var big bytes.Buffer
	for _, line := range bytes.SplitAfter(src, []byte("\n")) {
		big.Write(line)
		if bytes.Contains(line, []byte(`"type":"custom",`)) {
			for i := range 50 {
				big.Write(bytes.Replace(line, []byte(`"id":"`), []byte(`"id":"x`+string(rune('a'+i%26))+string(rune('a'+i/26))), 1))
			}
		}
	}
	bigPath := filepath.Join(t.TempDir(), "big.jsonl")
	if err := os.WriteFile(bigPath, big.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	allocated := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s, err := Open(bigPath, Options{})
			if err != nil {
				b.Fatal(err)
			}
			if d := cmp.Diff(want, pairs(t, s)); d != "" {
				b.Fatal(d)
			}
			s.Close()
		}
	}).AllocedBytesPerOp()
	if limit := int64(8 << 20); allocated > limit {
		t.Errorf("opening %d MB allocates %d MB, want at most %d", big.Len()>>20, allocated>>20, limit>>20)
	}
}
