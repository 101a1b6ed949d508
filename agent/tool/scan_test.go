package tool

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// naiveScan does the plain way what a scanner does: it has the whole text, and
// tries the expression on each line.
func naiveScan(text string, re *regexp.Regexp, context, limit int) findings {
	text = strings.TrimPrefix(text, "\uFEFF")
	lines := strings.Split(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	shown, isMatch := map[int]bool{}, map[int]bool{}
	matches, last := 0, -1
	var f findings
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
		if !re.MatchString(lines[i]) {
			continue
		}
		isMatch[i] = true
		if matches == limit {
			f.more = true
			continue
		}
		matches++
		last = i
		for near := max(0, i-context); near <= i+context; near++ {
			shown[near] = true
		}
	}
	for i, line := range lines {
		if shown[i] && i <= last+context {
			text, cut := cutLine([]byte(line))
			f.rows = append(f.rows, row{line: i + 1, match: isMatch[i], cut: cut, text: text, bytes: len(text)})
		}
	}
	return f
}

// A scanner finds what the plain way finds, wherever its buffer ends and
// whatever pieces the file comes in.
func TestScanAgreesWithNaive(t *testing.T) {
	long := strings.Repeat("lorem ipsum ", 150)
	words := []string{"a", "b", "ab", "needle", "Needle", "NEEDLE", "\n", "\n", "\n", "\r\n", "\r", " ", "é", "\xff", "\uFEFF", "ſ", "K", long, long + long, "😀"}
	type query struct {
		pattern             string
		literal, ignoreCase bool
	}
	queries := []query{
		{"needle", true, false}, {"needle", false, false}, {"needle", true, true}, {"NEED", false, true}, {"sk", true, true}, {"s", false, true},
		{"^a", false, false}, {"b$", false, false}, {"^$", false, false}, {"", false, false}, {"[ab]+ ", false, false}, {"n.*e", false, false}, {"é", false, false},
		{`\bab\b`, false, false}, {"ipsum $", false, false}, {"(?i:need)le", false, false}, {`a|needle`, false, false}, {"\uFFFD", false, false}, {`\x{FFFD}b`, false, false}, {"m l", true, false},
	}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 60).Draw(t, "words"), "")
		q := rapid.SampledFrom(queries).Draw(t, "query")
		s := search{
			context: rapid.IntRange(0, 3).Draw(t, "context"),
			limit:   rapid.IntRange(1, 8).Draw(t, "limit"),
		}
		var err error
		if s.matcher, err = newLineMatcher(q.pattern, q.literal, q.ignoreCase); err != nil {
			t.Fatal(err)
		}
		expr := q.pattern
		if q.literal {
			expr = regexp.QuoteMeta(expr)
		}
		if q.ignoreCase {
			expr = "(?i)" + expr
		}
		want := naiveScan(text, regexp.MustCompile(expr), s.context, s.limit)

		scan := newScanner(t.Context(), s)
		scan.buf = make([]byte, rapid.IntRange(shownBytes+3, 2*shownBytes).Draw(t, "buffer"))
		for range 2 { // a scanner can be used again
			var r io.Reader = strings.NewReader(text)
			if rapid.Bool().Draw(t, "bytewise") {
				r = iotest.OneByteReader(r)
			}
			got := scan.scan(r)
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(findings{}, row{})); diff != "" {
				t.Fatalf("%q in %q: -want +got\n%s", q.pattern, text, diff)
			}
		}
	})
}

// What the findings of a file are cut to is what a smaller limit finds.
func TestLimitAcrossFiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		files := rapid.SliceOfN(rapid.StringMatching(`([xy]\n){0,12}`), 1, 5).Draw(t, "files")
		s := search{matcher: &lineMatcher{text: []byte("x")}, context: rapid.IntRange(0, 2).Draw(t, "context"), limit: rapid.IntRange(1, 9).Draw(t, "limit")}
		answer := &grepAnswer{whole: io.Discard, search: s}
		left, more := s.limit, false
		var want []string
		for _, text := range files {
			answer.add("f", newScanner(t.Context(), s).scan(strings.NewReader(text)))
			if more {
				continue
			}
			if left == 0 {
				more = strings.Contains(text, "x")
				continue
			}
			// Within the limit, the plain way for this file alone.
			alone := naiveScan(text, regexp.MustCompile("x"), s.context, left)
			one := &grepAnswer{whole: io.Discard, search: search{context: s.context, limit: left}}
			one.add("f", alone)
			if one.text.Len() > 0 {
				want = append(want, one.text.String())
			}
			left -= one.matches
			more = alone.more
		}
		if got := answer.text.String(); got != strings.Join(want, "\n") || answer.more != more {
			t.Errorf("%q: more %v\n%s\nwant %v\n%s", files, answer.more, got, more, strings.Join(want, "\n"))
		}
	})
}

func TestScanBinary(t *testing.T) {
	s := search{matcher: &lineMatcher{text: []byte("x")}, limit: 10}
	filler := strings.Repeat("filler\n", scanBuffer/7+10)
	for _, c := range []struct {
		name, text string
		binary     bool
		lines      []int // of the matches
	}{
		{"NUL at the start", "\x00x\n", true, nil},
		{"NUL behind a match", "x\nx\x00", true, nil},
		{"NUL far behind", "x\n" + filler + "x\x00\nx\n", false, []int{1}},
		{"NUL in a long line", "x\n" + filler + strings.Repeat("x", 2*scanBuffer) + "\x00\nx\n", false, []int{1}},
		{"none", "x\n", false, []int{1}},
		{"nothing", "", false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := newScanner(t.Context(), s).scan(strings.NewReader(c.text))
			var lines []int
			for _, r := range got.rows {
				lines = append(lines, r.line)
			}
			if got.binary != c.binary || !cmp.Equal(lines, c.lines) || got.err != nil {
				t.Errorf("binary %v, lines %v, %v", got.binary, lines, got.err)
			}
		})
	}
}

func TestScanBrokenRead(t *testing.T) {
	boom := errors.New("boom")
	s := search{matcher: &lineMatcher{text: []byte("x")}, limit: 10}
	for _, text := range []string{"", "x\n", strings.Repeat("y", 3*scanBuffer)} {
		got := newScanner(t.Context(), s).scan(io.MultiReader(strings.NewReader(text), iotest.ErrReader(boom)))
		if !errors.Is(got.err, boom) {
			t.Errorf("%.5q: %v", text, got.err)
		}
	}
}

// Memory does not grow with the file, nor with a line or the number of matches.
func TestScanMemory(t *testing.T) {
	for _, c := range []struct{ name, unit string }{{"lines", "x some text\n"}, {"one line", "x some text "}} {
		s := search{matcher: &lineMatcher{text: []byte("x")}, limit: grepMaxLimit, context: 5}
		scan := newScanner(t.Context(), s)
		const size = 64 << 20
		allocated := testing.AllocsPerRun(1, func() {
			got := scan.scan(io.LimitReader(endless(c.unit), size))
			if len(got.rows) > scanMaxRows+1 || cap(got.rows) > 2*scanMaxRows {
				t.Errorf("%s: %d rows", c.name, len(got.rows))
			}
			text := 0
			for _, r := range got.rows {
				text += len(r.text)
			}
			if text > 2*MaxBytes {
				t.Errorf("%s: %d bytes of text are kept", c.name, text)
			}
		})
		if allocated > 50_000 {
			t.Errorf("%s: %v allocations", c.name, allocated)
		}
	}
}

// endless repeats a text for ever.
type endless string

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n+len(e) <= len(p) {
		n += copy(p[n:], e)
	}
	if n == 0 && len(p) > 0 {
		n = copy(p, bytes.Repeat([]byte{e[0]}, len(p)))
	}
	return n, nil
}

func TestRequiredText(t *testing.T) {
	for _, c := range []struct {
		pattern    string
		ignoreCase bool
		want       string
	}{
		{"abc", false, "abc"}, {"a(bcd)+e", false, "bcd"}, {"a?bc*", false, "b"}, {"abc|abd", false, "ab"}, {"x|y", false, ""},
		{"(?:abc)?d", false, "d"}, {"(abc){2,}", false, "abc"}, {".*", false, ""}, {"\uFFFDabc", false, ""},
		{"Hello", true, "hello"}, {"asking", true, "ing"}, {"sks", true, ""}, {"éab", true, "ab"}, {"ab(?i)CDE", false, "cde"},
	} {
		m, err := newLineMatcher(c.pattern, false, c.ignoreCase)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(m.need); got != c.want {
			t.Errorf("%q: %q, want %q", c.pattern, got, c.want)
		}
	}
}
