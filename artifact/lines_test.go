package artifact

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// put keeps a text and opens it.
func (s *Store) put(t testing.TB, text string) *File {
	t.Helper()
	id := save(t, s, "bash", text)
	f, err := s.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// slowLines is what a page must hold, by splitting the whole text.
func slowLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// TestPageIsASplit: whatever the lines are like, a page by the index is a part of
// the text split at its line feeds.
func TestPageIsASplit(t *testing.T) {
	s := newStore(t, Options{})
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(0, 6).Draw(rt, "runs") {
			line := rapid.SampledFrom([]string{"", "x", "名前 😀", strings.Repeat("y", 300), "a\r"}).Draw(rt, "line")
			for i := range rapid.SampledFrom([]int{1, 3, indexStride - 1, indexStride, 2*indexStride + 7}).Draw(rt, "times") {
				fmt.Fprintf(&b, "%s%d\n", line, i%7)
			}
		}
		text := b.String() + rapid.SampledFrom([]string{"", "end"}).Draw(rt, "end")
		n++
		name := fmt.Sprintf("%d.x.log", n)
		if err := os.MkdirAll(s.Folder(), 0o700); err != nil {
			rt.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.Folder(), name), []byte(text), 0o600); err != nil {
			rt.Fatal(err)
		}
		f, err := s.Open(ID(fmt.Sprint(n)))
		if err != nil {
			rt.Fatal(err)
		}
		defer f.Close()
		want := slowLines(text)
		offset := rapid.IntRange(1, len(want)+3).Draw(rt, "offset")
		limit := rapid.IntRange(1, MaxPageLines).Draw(rt, "limit")
		p, err := s.Page(context.Background(), f, int64(offset), int64(limit))
		if err != nil || p.TotalLines != int64(len(want)) || p.Size != int64(len(text)) {
			rt.Fatalf("%d lines of %d, %d bytes of %d, %v", p.TotalLines, len(want), p.Size, len(text), err)
		}
		first := min(offset-1, len(want))
		part := want[first:min(first+limit, len(want))]
		if len(p.Lines) != len(part) {
			rt.Fatalf("%d lines, want %d", len(p.Lines), len(part))
		}
		for i, l := range p.Lines {
			if l.Number != int64(offset+i) || l.Text != strings.TrimSuffix(part[i], "\r") || l.Cut {
				rt.Fatalf("line %d: %+v, want %q", i, l, part[i])
			}
		}
	})
}

func TestLongLinesAndBytesThatAreNoText(t *testing.T) {
	s := newStore(t, Options{})
	f := s.put(t, "short\n"+strings.Repeat("é", maxLineBytes)+"\n\xff\xfe\nlast")
	p, err := s.Page(context.Background(), f, 0, 0)
	if err != nil || len(p.Lines) != 4 || !p.Lines[1].Cut || p.Lines[1].Text != strings.Repeat("é", maxLineBytes/2) || p.Lines[2].Text != "\uFFFD" || p.Lines[3].Text != "last" {
		t.Errorf("%d lines, %v", len(p.Lines), err)
	}
	// A page is bounded in bytes too.
	f = s.put(t, strings.Repeat(strings.Repeat("z", 8000)+"\n", 1000))
	if p, err = s.Page(context.Background(), f, 1, 1000); err != nil || len(p.Lines) > maxPageBytes/8000+1 || p.TotalLines != 1000 {
		t.Errorf("%d lines of 8000 bytes, %v", len(p.Lines), err)
	}
}

func TestSearch(t *testing.T) {
	s := newStore(t, Options{})
	f := s.put(t, strings.Repeat("nothing\n", 2000)+"A Needle\nnothing\nSTRASSE needle\n"+strings.Repeat("p", 20000)+"needle at the end\n"+strings.Repeat("needle\n", MaxHits))
	ctx := context.Background()
	got, err := s.Search(ctx, f, "nEEdle", 0, 0)
	if err != nil || len(got.Hits) != MaxHits || !got.More || got.Hits[0].Number != 2001 || got.Hits[1].Text != "STRASSE needle" || !got.Hits[2].Cut || len(got.Hits[2].Text) != maxHitBytes {
		t.Errorf("%d hits, more %v, %v", len(got.Hits), got.More, err)
	}
	if got, err = s.Search(ctx, f, "needle", got.Hits[MaxHits-1].Number+1, 0); err != nil || len(got.Hits) != 3 || got.More {
		t.Errorf("the rest: %d, %v, %v", len(got.Hits), got.More, err)
	}
	if got, err = s.Search(ctx, f, "absent", 0, 0); err != nil || len(got.Hits) != 0 || got.More {
		t.Errorf("absent: %+v, %v", got, err)
	}
	if _, err = s.Search(ctx, f, "", 0, 0); err == nil {
		t.Error("an empty text was searched for")
	}
	stopped, stop := context.WithCancel(ctx)
	stop()
	if _, err = s.Search(stopped, f, "absent", 0, 0); err == nil {
		t.Error("a search that was taken back went on")
	}
}

// TestAPageOfAnOutputThatGrows: what was known of it does not hold any more.
func TestAPageOfAnOutputThatGrows(t *testing.T) {
	s := newStore(t, Options{})
	fill(t, s, map[string]string{"0.bash.log": "one\n"})
	page := func() Page {
		t.Helper()
		f, err := s.Open("0")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		p, err := s.Page(context.Background(), f, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p := page(); p.TotalLines != 1 {
		t.Errorf("%+v", p)
	}
	name := filepath.Join(s.Folder(), "0.bash.log")
	if err := os.WriteFile(name, []byte("one\ntwo\nthree"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p := page(); p.TotalLines != 3 || p.Lines[2].Text != "three" {
		t.Errorf("%+v", p)
	}
	// No more than a few indexes are kept.
	for i := range 3 * maxIndexes {
		f := s.put(t, strings.Repeat("x\n", i))
		if _, err := s.Page(context.Background(), f, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.pages.byName) > maxIndexes || len(s.pages.order) > maxIndexes {
		t.Errorf("%d indexes are kept", len(s.pages.byName))
	}
}

// heapPeak runs something and returns by how much the heap grew at most, in bytes.
func heapPeak(do func()) uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, peak := m.HeapAlloc, m.HeapAlloc
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapAlloc)
			}
		}
	}()
	do()
	close(done)
	<-ended
	return peak - before
}

// TestW16MemoryIsBounded: an output of any size goes in, is paged and searched in a
// few megabytes of memory.
func TestW16MemoryIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 200 MB")
	}
	const size, most = 200 << 20, 24 << 20 // what is not collected yet counts
	s := newStore(t, Options{})
	line := []byte("a line of an output, with 世界 in it and \x1b[31mred\x1b[0m words\n")
	block := bytes.Repeat(line, 500)
	var id ID
	if grew := heapPeak(func() {
		k := s.Sink("bash", SinkOptions{HeadBytes: 1000, MaxColumns: 60})
		for n := 0; n < size; n += len(block) {
			_, _ = k.Write(block)
		}
		id = k.Summary("").ArtifactID
	}); grew > most {
		t.Errorf("the sink took %d MB", grew>>20)
	}
	f, err := s.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if grew := heapPeak(func() {
		p, err := s.Page(context.Background(), f, 2_000_000, 500)
		if err != nil || len(p.Lines) != 500 || p.Lines[0].Text != "a line of an output, with 世界 in it and red words" {
			t.Errorf("a page: %d lines, %v", len(p.Lines), err)
		}
	}); grew > most {
		t.Errorf("a page took %d MB", grew>>20)
	}
	// One line of 100 MB is no trouble either.
	k := s.Sink("bash", SinkOptions{})
	for range 1600 {
		_, _ = k.Write(bytes.Repeat([]byte("x"), 64<<10))
	}
	long, err := s.Open(k.Summary("").ArtifactID)
	if err != nil {
		t.Fatal(err)
	}
	defer long.Close()
	if grew := heapPeak(func() {
		p, err := s.Page(context.Background(), long, 1, 10)
		found, err2 := s.Search(context.Background(), long, "y", 0, 0)
		if err != nil || err2 != nil || len(p.Lines) != 1 || len(found.Hits) != 0 {
			t.Errorf("one long line: %d lines, %v, %v", len(p.Lines), err, err2)
		}
	}); grew > most {
		t.Errorf("one long line took %d MB", grew>>20)
	}
}

// TestW15AmbiguousIDs: two files of one id are an error that names both, and another
// session's output is never an answer.
func TestW15AmbiguousIDs(t *testing.T) {
	s := newStore(t, Options{})
	fill(t, s, map[string]string{"9.a.log": "A", "9.b.log": "B"})
	if _, _, err := resolve(s, "artifact://9"); err == nil || !strings.Contains(err.Error(), "9.a.log, 9.b.log") {
		t.Errorf("%v", err)
	}
	other := New(filepath.Join(filepath.Dir(s.session), "other.jsonl"), Options{})
	save(t, other, "bash", "of another session")
	if text, _, err := resolve(s, "artifact://0"); err == nil {
		t.Errorf("another session answers %q", text)
	}
}
