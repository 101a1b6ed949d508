package session

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	head3 = `{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"}` + "\n"
	head1 = `{"type":"session","id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"}`
)

// said is the line of a user message; said1 the same in version 1.
func said(id, parent, text string) string {
	p := "null"
	if parent != "" {
		p = `"` + parent + `"`
	}
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":%q}}`+"\n", id, p, text)
}

func said1(text string) string {
	return fmt.Sprintf(`{"type":"message","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":%q}}`, text)
}

func texts(t *testing.T, s *Session) (out []string) {
	t.Helper()
	for _, p := range pairs(t, s) {
		out = append(out, p[1])
	}
	return out
}

func putFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func addTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// TestFailedCommitTakesBackOnlyItsOwn: what other programs appended, or what the
// migration wrote, stays.
func TestFailedCommitTakesBackOnlyItsOwn(t *testing.T) {
	t.Run("another program's entry", func(t *testing.T) {
		path := putFile(t, head3+said("a", "", "1"))
		fs := &faulty{allow: -1, syncErr: syscall.EIO}
		s, err := Open(path, Options{FS: fs})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		addTo(t, path, said("b", "a", "theirs"))
		if _, err := s.Commit(SessionInfo{Name: "x"}); !errors.Is(err, syscall.EIO) {
			t.Fatalf("error %v", err)
		}
		if got := string(read(t, path)); got != head3+said("a", "", "1")+said("b", "a", "theirs") {
			t.Errorf("the file is\n%s", got)
		}
	})
	t.Run("a migration", func(t *testing.T) {
		path := putFile(t, head1+"\n"+said1("m0")+"\n"+said1("m1")+"\n")
		fs := &faulty{allow: -1}
		s, err := Open(path, Options{FS: fs})
		if err != nil {
			t.Fatal(err)
		}
		fs.syncErr = syscall.EIO // also for the new file: nothing may be lost either way
		_, _ = s.Commit(SessionInfo{Name: "x"})
		s.Close()
		if d := cmp.Diff([]string{"m0", "m1"}, texts(t, open(t, path))); d != "" {
			t.Error(d)
		}
	})
}

// TestHalfSeenLine: a line that another program had written half when we looked
// is read when it is whole.
func TestHalfSeenLine(t *testing.T) {
	line := said("b", "a", "theirs")
	for cut := 1; cut < len(line); cut++ {
		path := putFile(t, head3+said("a", "", "1")+line[:cut])
		s := open(t, path)
		addTo(t, path, line[cut:])
		if err := s.Refresh(); err != nil {
			t.Fatal(err)
		}
		if s.Len() != 2 || s.Leaf() != "b" || hasKind(s.Diagnostics(), KindTornTail) {
			t.Fatalf("cut at %d: %d entries, leaf %s, %v", cut, s.Len(), s.Leaf(), s.Diagnostics())
		}
		ids := mustAppend(t, s, user("mine"))
		if e, _ := s.Entry(ids[0]); e.Parent != "b" {
			t.Fatalf("cut at %d: parent %s", cut, e.Parent)
		}
	}
}

// TestMigrationOfGluedRecords: whatever shares a line with whatever, the
// migration carries all of it over.
func TestMigrationOfGluedRecords(t *testing.T) {
	frag := `{"type":"message","id":"xx`
	for name, c := range map[string]struct {
		file string
		want []string
		keep string
	}{
		"header and entry":            {head1 + said1("m0") + "\n" + said1("m1") + "\n", []string{"m0", "m1", "new"}, ""},
		"two entries":                 {head1 + "\n" + said1("m0") + said1("m1") + "\n" + said1("m2") + "\n", []string{"m0", "m1", "m2", "new"}, ""},
		"fragment and entry":          {strings.Replace(head3, ":3", ":2", 1) + frag + said("a", "", "m0") + said("b", "a", "m1"), []string{"m0", "m1", "new"}, frag},
		"record without id and entry": {strings.Replace(head3, ":3", ":2", 1) + `{"type":"x"}` + said("a", "", "m0"), []string{"m0", "new"}, `{"type":"x"}`},
		"no line feed at the end":     {head1 + "\n" + said1("m0"), []string{"m0", "new"}, ""},
		"torn tail":                   {head1 + "\n" + said1("m0") + "\n" + frag, []string{"m0", "new"}, frag},
	} {
		t.Run(name, func(t *testing.T) {
			path := putFile(t, c.file)
			s := open(t, path)
			mustAppend(t, s, user("new"))
			if d := cmp.Diff(c.want, texts(t, s)); d != "" {
				t.Errorf("live: %s", d)
			}
			again := open(t, path)
			if d := cmp.Diff(c.want, texts(t, again)); d != "" {
				t.Errorf("reopened: %s", d)
			}
			data := read(t, path)
			if !strings.Contains(string(data), c.keep+"\n") {
				t.Errorf("%q is lost:\n%s", c.keep, data)
			}
			for e := range again.Entries() {
				live, ok := s.Entry(e.ID)
				if !ok || live.Line != e.Line || live.Offset != e.Offset || bytes.Count(data[:e.Offset], []byte("\n"))+1 != e.Line {
					t.Errorf("entry %s stands at line %d, live says %d", e.ID, e.Line, live.Line)
				}
			}
		})
	}
}

// TestRewrittenInPlace: a file that another program wrote anew under the same
// name and inode is noticed.
func TestRewrittenInPlace(t *testing.T) {
	for name, text := range map[string]string{
		"longer":   head3 + said("z", "", strings.Repeat("q", 400)) + said("y", "z", "2"),
		"as long":  head3 + said("z", "", "1") + said("y", "z", "2"),
		"shorter":  head3,
		"overlaid": head3 + said("a", "", "1") + said("c", "a", "2") + said("d", "c", "3"),
	} {
		t.Run(name, func(t *testing.T) {
			path := putFile(t, head3+said("a", "", "1")+said("b", "a", "2"))
			s := open(t, path)
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Append(user("mine")); !errors.Is(err, ErrReplaced) {
				t.Errorf("error %v", err)
			}
			if got := string(read(t, path)); got != text {
				t.Error("something was written")
			}
		})
	}
}

// TestVersionsOfTheHeader: only a missing version is version 1; a file is never
// migrated for an odd spelling.
func TestVersionsOfTheHeader(t *testing.T) {
	for raw, want := range map[string]int{"": 1, `"version":null,`: 1, `"version":3,`: 3, `"version":"3",`: 3, `"version":"2",`: 2, `"version":true,`: 3, `"version":4,`: 4, `"version":"new",`: 3} {
		s := open(t, putFile(t, `{"type":"session",`+raw+`"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"}`+"\n"+said("a", "", "1")))
		if got := s.Header().Version; got != want || want >= 2 && s.Leaf() != "a" {
			t.Errorf("%s: version %d, want %d; leaf %s", raw, got, want, s.Leaf())
		}
	}
}

// TestLinesOverTheLimit are passed over in bounded memory; what follows is read.
func TestLinesOverTheLimit(t *testing.T) {
	const limit = 3 << 20
	file := []byte("first\n" + strings.Repeat("x", limit) + "\n" + strings.Repeat("\x00", 20<<20) + "\nlast\n" + strings.Repeat("y", limit+1))
	rd := lineReader{r: bytes.NewReader(file), limit: limit, buf: make([]byte, 0, scanBlock), num: 1}
	var got []string
	for {
		l, err := rd.next()
		if err != nil {
			break
		}
		got = append(got, fmt.Sprintf("%d at %d: %d bytes, %d of them zeros, cut %v, whole %v", l.num, l.offset, l.length, l.zeros, l.cut, l.whole))
	}
	n := len(file)
	want := []string{
		"1 at 0: 5 bytes, 0 of them zeros, cut false, whole true",
		fmt.Sprintf("2 at 6: %d bytes, 0 of them zeros, cut false, whole true", limit),
		fmt.Sprintf("3 at %d: %d bytes, %[2]d of them zeros, cut false, whole true", 7+limit, 20<<20),
		fmt.Sprintf("4 at %d: 4 bytes, 0 of them zeros, cut false, whole true", n-limit-1-5),
		fmt.Sprintf("5 at %d: %d bytes, 0 of them zeros, cut true, whole false", n-limit-1, limit+1),
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if cap(rd.buf) > limit+2*scanBlock {
		t.Errorf("the buffer grew to %d MB", cap(rd.buf)>>20)
	}
}

// BenchmarkHostile opens files that are made to be slow, each in two sizes. The
// time per entry must not grow with the size.
func BenchmarkHostile(b *testing.B) {
	for name, file := range map[string]func(n int) string{
		"one id again and again": func(n int) string { return head3 + strings.Repeat(said("x", "x", "t"), n) },
		"one line": func(n int) string {
			var f strings.Builder
			f.WriteString(head3)
			for i := range n {
				f.WriteString(strings.TrimSuffix(said(fmt.Sprint(i), "", "t"), "\n"))
			}
			return f.String()
		},
		"a leaf each": func(n int) string {
			var f strings.Builder
			f.WriteString(head3)
			for i := range n {
				f.WriteString(said(fmt.Sprint(i), "", "t"))
			}
			return f.String()
		},
		"beginnings of records": func(n int) string { return head3 + `{"type":"x","t":"` + strings.Repeat(`{"type":"`, n) + "\n" },
	} {
		for _, n := range []int{5000, 20000} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				path := filepath.Join(b.TempDir(), "s.jsonl")
				if err := os.WriteFile(path, []byte(file(n)), 0o644); err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					s, err := Open(path, Options{})
					if err != nil {
						b.Fatal(err)
					}
					if _, err := s.Context(); err != nil {
						b.Fatal(err)
					}
					s.Close()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/entry")
			})
		}
	}
}
