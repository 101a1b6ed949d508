package tool

import "testing"

// TestOmpWindows holds our cutting of texts against the rows that oh-my-pi asserts
// of its own (spec/omp.md §13).
func TestOmpWindows(t *testing.T) {
	const many = 1 << 30
	for _, c := range []struct {
		name, text   string
		head         bool
		lines, bytes int
		want         string
		by           Cut
		partial      bool // the first line does not fit, or the last one only in part
	}{
		{"head, first line too long", "abcdef\nnext", true, many, 3, "", CutBytes, true},
		{"head, by bytes", "abc\nx", true, many, 3, "abc", CutBytes, false},
		{"head, by lines", "l1\nl2\nl3", true, 2, many, "l1\nl2", CutLines, false},
		{"head, whole lines only", "12345\nabc\nz", true, many, 7, "12345", CutBytes, false},
		{"tail, by lines", "l1\nl2\nl3", false, 2, many, "l2\nl3", CutLines, false},
		{"tail, by bytes", "aaa\nbbbb\ncc", false, many, 6, "cc", CutBytes, false},
		{"tail, one long line", "abcdefghij", false, many, 4, "ghij", CutBytes, true},
		// oh-my-pi 18 shows the end of the long line as well, hijk and a line feed. Ours
		// is pi's record, which knows whole lines only (RULINGS 20); the sink of package
		// artifact, which cuts by bytes, shows what oh-my-pi does.
		{"tail, a long line before short ones", "abcdefghijk\n}\n```", false, many, 10, "}\n```", CutBytes, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			cut, size := cutter{c.lines, c.bytes}, sizeOf(c.text)
			got := cut.tail(c.text, size)
			if c.head {
				got = cut.head(c.text, size)
			}
			if got.Content != c.want || got.TruncatedBy != c.by || (got.FirstLineExceedsLimit || got.LastLinePartial) != c.partial {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestOmpNotices: what oh-my-pi says of a part that it shows, in our words (spec/omp.md
// §13, "notices").
func TestOmpNotices(t *testing.T) {
	const many = 1 << 30
	for _, c := range []struct {
		name, text   string
		lines, bytes int
		want         string
	}{
		{"4 of 10 bytes of one line", "abcdefghij", many, 4, "Last 4B of line 1, which has 10B"},
		{"lines", "one\ntwo\nthree", 2, many, "Lines 2-3 of 3"},
		{"lines, cut by bytes", "aaaa\nbb\ncc", many, 6, "Lines 2-3 of 3, 50.0KB is the most at once"},
	} {
		var w window
		w.write([]byte(c.text))
		w.finish()
		got := cutter{c.lines, c.bytes}.tail(c.text, w.size())
		if note := got.shownPart(w.lastLineBytes()); note != c.want {
			t.Errorf("%s: %s, want %s", c.name, note, c.want)
		}
	}
}
