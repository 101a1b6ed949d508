package session

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/internal/durable"
)

// TestHoles: NUL bytes in front of a record, in a hole or written, cost the record
// nothing, wherever the blocks of a read end; what is behind them is found at its place.
func TestHoles(t *testing.T) {
	for _, n := range []int{1, scanBlock / 2, scanBlock, scanBlock + 1, 5*scanBlock - 7} {
		for _, tail := range []string{said("b", "a", "two"), "\n" + said("b", "a", "two"), "torn\n" + said("b", "a", "two")} {
			text := head3 + said("a", "", "one") + strings.Repeat("\x00", n) + tail
			s := open(t, putFile(t, text))
			if s.Leaf() != "b" {
				t.Fatalf("%d NUL bytes, then %q: leaf %q", n, tail[:5], s.Leaf())
			}
			e, _ := s.Entry("b")
			raw, err := s.Raw(e)
			if err != nil || string(raw) != strings.TrimSuffix(said("b", "a", "two"), "\n") {
				t.Errorf("%d NUL bytes, then %q: %s, %v", n, tail[:5], raw, err)
			}
			d := s.Diagnostics()
			if len(d) != 1 || d[0].Offset != int64(len(head3+said("a", "", "one"))) {
				t.Errorf("%d NUL bytes, then %q: %v", n, tail[:5], d)
			}
			if !strings.HasPrefix(tail, "torn") && !strings.Contains(d[0].Text, fmt.Sprint(n, " NUL bytes")) {
				t.Errorf("%d NUL bytes, then %q: %s", n, tail[:5], d[0].Text)
			}
		}
	}
	// A file that ends in them: the next append begins a line of its own.
	path := putFile(t, head3+said("a", "", "one")+strings.Repeat("\x00", 3*scanBlock))
	s := open(t, path)
	if _, err := s.Append(user("two")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s = open(t, path); len(slices.Collect(s.Entries())) != 2 {
		t.Errorf("%d entries after an append", len(slices.Collect(s.Entries())))
	}
}

// TestSparseFile opens a file of 40 GB that is nearly all hole: in the memory of a
// small one, and with what stands around the hole.
func TestSparseFile(t *testing.T) {
	const hole = 40 << 30
	path := filepath.Join(t.TempDir(), "s.jsonl")
	head := head3 + said("a", "", "one")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(head); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(int64(len(head)) + hole); err != nil {
		t.Skip("this file system has no files of that size: ", err)
	}
	if durable.NextData(f, int64(len(head))+1<<20, int64(len(head))+hole) < hole {
		t.Skip("this system or file system does not say where holes are")
	}
	if _, err := f.WriteAt([]byte("\n"+said("b", "a", "two")), int64(len(head))+hole); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s := open(t, path)
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 32<<20 {
		t.Errorf("%d MB were allocated", got>>20)
	}
	if d := s.Diagnostics(); s.Leaf() != "b" || len(slices.Collect(s.Entries())) != 2 || len(d) != 1 || !strings.Contains(d[0].Text, fmt.Sprint(int64(hole), " NUL bytes")) {
		t.Errorf("leaf %s, %d entries, %v", s.Leaf(), len(slices.Collect(s.Entries())), d)
	}
}

// TestHoleInALongLine: a hole behind the limit of a line is not read either.
func TestHoleInALongLine(t *testing.T) {
	const limit = scanBlock
	file := &holed{data: []byte(strings.Repeat("x", 2*limit) + strings.Repeat("\x00", 8*limit) + "\nlast\n"), from: 2 * limit, to: 10 * limit}
	rd := lineReader{r: file, limit: limit, buf: make([]byte, 0, scanBlock), num: 1}
	first, err := rd.next()
	if err != nil || !first.cut || first.length != 10*limit {
		t.Errorf("%d bytes, cut %v, %v", first.length, first.cut, err)
	}
	if last, err := rd.next(); err != nil || string(last.data) != "last" || last.offset != 10*limit+1 {
		t.Errorf("%q at %d, %v", last.data, last.offset, err)
	}
	if file.read > 6*limit {
		t.Errorf("%d bytes of %d were read", file.read, len(file.data))
	}
}

// holed is a file with one hole.
type holed struct {
	data     []byte
	from, to int64
	read     int
}

func (h *holed) ReadAt(p []byte, off int64) (int, error) {
	n, err := bytes.NewReader(h.data).ReadAt(p, off)
	h.read += n
	return n, err
}

func (h *holed) nextData(off int64) int64 {
	if off >= h.from && off < h.to {
		return h.to
	}
	return off
}
