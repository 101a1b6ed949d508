package tool

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/piweb-go/piweb/message"
)

// The naive forms split the whole text; the tools never hold it.

func naiveLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func naiveHead(c cutter, text string) Truncation {
	lines := naiveLines(text)
	t := Truncation{TotalLines: len(lines), TotalBytes: len(text), MaxLines: c.maxLines, MaxBytes: c.maxBytes}
	if len(lines) <= c.maxLines && len(text) <= c.maxBytes {
		t.Content, t.OutputLines, t.OutputBytes = text, len(lines), len(text)
		return t
	}
	t.Truncated, t.TruncatedBy = true, CutLines
	var kept []string
	for _, line := range lines {
		if len(kept) == c.maxLines {
			break
		}
		if len(strings.Join(append(kept, line), "\n")) > c.maxBytes {
			t.TruncatedBy = CutBytes
			break
		}
		kept = append(kept, line)
	}
	t.FirstLineExceedsLimit = len(kept) == 0
	t.Content = strings.Join(kept, "\n")
	t.OutputLines, t.OutputBytes = len(kept), len(t.Content)
	return t
}

func naiveTail(c cutter, text string) Truncation {
	lines := naiveLines(text)
	t := Truncation{TotalLines: len(lines), TotalBytes: len(text), MaxLines: c.maxLines, MaxBytes: c.maxBytes}
	if len(lines) <= c.maxLines && len(text) <= c.maxBytes {
		t.Content, t.OutputLines, t.OutputBytes = text, len(lines), len(text)
		return t
	}
	t.Truncated, t.TruncatedBy = true, CutLines
	kept := []string{}
	for i := len(lines) - 1; i >= 0 && len(kept) < c.maxLines; i-- {
		longer := append([]string{lines[i]}, kept...)
		if len(strings.Join(longer, "\n")) > c.maxBytes {
			t.TruncatedBy = CutBytes
			break
		}
		kept = longer
	}
	if len(kept) == 0 {
		last := lines[len(lines)-1]
		start := len(last) - c.maxBytes
		for !utf8.RuneStart(last[start]) {
			start++
		}
		kept, t.LastLinePartial = []string{last[start:]}, true
	}
	t.Content = strings.Join(kept, "\n")
	t.OutputLines, t.OutputBytes = len(kept), len(t.Content)
	return t
}

func textGen() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		runes := rapid.SliceOf(rapid.SampledFrom([]rune{'a', 'b', '\n', '\n', 'é', '世', '🙂'})).Draw(t, "runes")
		return string(runes)
	})
}

func TestCutterEqualsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := textGen().Draw(t, "text")
		// A limit below one rune could leave a tail of nothing.
		c := cutter{rapid.IntRange(1, 6).Draw(t, "lines"), rapid.IntRange(utf8.UTFMax, 24).Draw(t, "bytes")}
		if diff := cmp.Diff(naiveHead(c, text), c.head(text, sizeOf(text))); diff != "" {
			t.Fatalf("head -naive +fast\n%s", diff)
		}
		if diff := cmp.Diff(naiveTail(c, text), c.tail(text, sizeOf(text))); diff != "" {
			t.Fatalf("tail -naive +fast\n%s", diff)
		}
		// Just what the comments promise to be enough of the text.
		if diff := cmp.Diff(naiveHead(c, text), c.head(text[:min(len(text), c.maxBytes+2)], sizeOf(text))); diff != "" {
			t.Fatalf("head of a beginning -naive +fast\n%s", diff)
		}
		if diff := cmp.Diff(naiveTail(c, text), c.tail(text[max(0, len(text)-c.maxBytes-2):], sizeOf(text))); diff != "" {
			t.Fatalf("tail of an end -naive +fast\n%s", diff)
		}
	})
}

// longBytes draws output that is around or far beyond the limits, with
// characters of every length and bytes that are none.
func longBytes() *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		var out []byte
		for range rapid.IntRange(0, 8).Draw(t, "parts") {
			piece := rapid.SampledFrom([]string{"x", "line\n", "\n", "é", "世", "🙂", "世界\n", "\xff", "\xe4\xb8", "\xf0\x9f"}).Draw(t, "piece")
			count := rapid.SampledFrom([]int{1, 2, 1000, 1999, 2000, 2001, 25600, MaxBytes - 1, MaxBytes, MaxBytes + 1}).Draw(t, "count")
			out = append(out, strings.Repeat(piece, count)...)
		}
		return out
	})
}

func TestWindowEqualsNaiveTail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := longBytes().Draw(t, "raw")
		var w window
		for rest := raw; len(rest) > 0; {
			n := min(len(rest), rapid.SampledFrom([]int{1, 2, 3, 4095, 65536, 300000}).Draw(t, "chunk"))
			w.write(rest[:n])
			rest = rest[n:]
			if len(w.text) > 4*windowKeep {
				t.Fatalf("the window holds %d bytes", len(w.text))
			}
			if n < 10 { // single bytes at the start only, to get done
				w.write(rest)
				rest = nil
			}
		}
		w.finish()
		text := string([]rune(string(raw)))
		want := naiveTail(standardCut, text)
		if diff := cmp.Diff(want, w.truncation()); diff != "" {
			t.Fatalf("-naive +window\n%.2000s", diff)
		}
		if lines := naiveLines(text); len(lines) > 0 && w.lastLineBytes() != len(lines[len(lines)-1]) {
			t.Fatalf("last line has %d bytes, want %d", w.lastLineBytes(), len(lines[len(lines)-1]))
		}
		if w.cut() != want.Truncated {
			t.Fatalf("cut = %v", w.cut())
		}
	})
}

func TestLossyDecoderDoesNotDependOnPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.SliceOf(rapid.SampledFrom([]byte("a\n\xc3\xa9\xe4\xb8\x96\xf0\x9f\x99\x82\xff\x80"))).Draw(t, "raw")
		var d lossyDecoder
		var got []byte
		for rest := raw; len(rest) > 0; {
			n := rapid.IntRange(1, min(4, len(rest))).Draw(t, "n")
			got = d.append(got, rest[:n])
			rest = rest[n:]
		}
		got = d.finish(got)
		if want := string([]rune(string(raw))); string(got) != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

func naiveSelection(raw []byte, part lineRange) selection {
	text := string([]rune(string(raw)))
	lines := strings.Split(text, "\n")
	s := selection{fileLines: len(lines)}
	end := len(lines)
	if part.end >= 0 {
		end = min(end, part.end)
	}
	var chosen []string
	if part.first < end {
		chosen = lines[part.first:end]
		s.firstLineBytes = len(chosen[0])
	}
	s.shown = naiveHead(standardCut, strings.Join(chosen, "\n"))
	return s
}

func TestSelectLinesEqualsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := longBytes().Draw(t, "raw")
		part := lineRange{first: rapid.SampledFrom([]int{0, 0, 1, 2, 1999, 2001, 30000}).Draw(t, "first"), end: -1}
		if rapid.Bool().Draw(t, "limited") {
			part.end = part.first + rapid.SampledFrom([]int{1, 2, 2000, 2001, 1 << 40}).Draw(t, "limit")
		}
		var r io.Reader = bytes.NewReader(raw)
		switch rapid.IntRange(0, 2).Draw(t, "reader") {
		case 1:
			r = iotest.HalfReader(r)
		case 2:
			r = iotest.DataErrReader(r)
		}
		got, err := selectLines(context.Background(), r, part)
		if err != nil {
			t.Fatal(err)
		}
		want := naiveSelection(raw, part)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(selection{})); diff != "" {
			t.Fatalf("-naive +fast\n%.2000s", diff)
		}
	})
}

func TestTruncationSpelling(t *testing.T) {
	got, err := message.Marshal(struct {
		Cut, Whole Truncation
	}{cutter{1, 10}.head("<a>\nb", sizeOf("<a>\nb")), cutter{3, 10}.head("a\n", sizeOf("a\n"))})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"Cut":{"content":"<a>","truncated":true,"truncatedBy":"lines","totalLines":2,"totalBytes":5,"outputLines":1,"outputBytes":3,"lastLinePartial":false,"firstLineExceedsLimit":false,"maxLines":1,"maxBytes":10},` +
		`"Whole":{"content":"a\n","truncated":false,"truncatedBy":null,"totalLines":1,"totalBytes":2,"outputLines":1,"outputBytes":2,"lastLinePartial":false,"firstLineExceedsLimit":false,"maxLines":3,"maxBytes":10}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestFormatSize(t *testing.T) {
	for _, c := range []struct {
		bytes int
		want  string
	}{{0, "0B"}, {1023, "1023B"}, {1024, "1.0KB"}, {MaxBytes, "50.0KB"}, {60000, "58.6KB"}, {1 << 20, "1.0MB"}, {5 << 30, "5120.0MB"}} {
		t.Run(fmt.Sprint(c.bytes), func(t *testing.T) {
			if got := formatSize(c.bytes); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
