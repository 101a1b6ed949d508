package artifact

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// newStore is a store beside a session file that is not there yet.
func newStore(t testing.TB, opts Options) *Store {
	t.Helper()
	return New(filepath.Join(t.TempDir(), "2026-11-29T17-46-26-169Z_名前 x.jsonl"), opts)
}

// kept is what an artifact holds.
func kept(t testing.TB, s *Store, id ID) string {
	t.Helper()
	f, err := s.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := os.ReadFile(filepath.Join(s.Folder(), f.Info.Name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestSinkVectors holds the sink against summaries of the running reference, of
// both generations where they agree or one is named by the ruling.
func TestSinkVectors(t *testing.T) {
	kib := strings.Repeat("x", 1023) + "\n"
	cases := []struct {
		name   string
		opts   SinkOptions
		notice string
		in     []string
		want   Summary
		file   string
	}{
		{name: "empty"},
		{name: "emptyNotice", notice: "n", want: Summary{Output: "[n]\n"}},
		{name: "basic", notice: "notice", in: []string{"hello\nworld"}, want: Summary{Output: "[notice]\nhello\nworld", TotalLines: 2, TotalBytes: 11, OutputLines: 2, OutputBytes: 11}},
		{name: "trailingNl", in: []string{"a\n"}, want: Summary{Output: "a\n", TotalLines: 2, TotalBytes: 2, OutputLines: 2, OutputBytes: 2}},
		{name: "exactFit", opts: SinkOptions{Threshold: 6}, in: []string{"abc", "def"}, want: Summary{Output: "abcdef", TotalLines: 1, TotalBytes: 6, OutputLines: 1, OutputBytes: 6}},
		{name: "spill", opts: SinkOptions{Threshold: 5}, in: []string{"abc", "def"}, want: Summary{Output: "bcdef", Truncated: true, TotalLines: 1, TotalBytes: 6, OutputLines: 1, OutputBytes: 5, ArtifactID: "0"}, file: "abcdef"},
		{name: "spillThenMore", opts: SinkOptions{Threshold: 5}, in: []string{"abc", "def", "g"}, want: Summary{Output: "cdefg", Truncated: true, TotalLines: 1, TotalBytes: 7, OutputLines: 1, OutputBytes: 5, ArtifactID: "0"}, file: "abcdefg"},
		{name: "bigChunk", opts: SinkOptions{Threshold: 4}, in: []string{"0123456789"}, want: Summary{Output: "6789", Truncated: true, TotalLines: 1, TotalBytes: 10, OutputLines: 1, OutputBytes: 4, ArtifactID: "0"}, file: "0123456789"},
		{name: "utf8", opts: SinkOptions{Threshold: 4}, in: []string{"a😀b"}, want: Summary{Output: "b", Truncated: true, TotalLines: 1, TotalBytes: 6, OutputLines: 1, OutputBytes: 1, ArtifactID: "0"}, file: "a😀b"},
		{name: "utf8b", opts: SinkOptions{Threshold: 5}, in: []string{"xx😀y"}, want: Summary{Output: "😀y", Truncated: true, TotalLines: 1, TotalBytes: 7, OutputLines: 1, OutputBytes: 5, ArtifactID: "0"}, file: "xx😀y"},
		{name: "bytes in: a rune split after two bytes", in: []string{"\xf0\x9f", "\x98\x80X"}, want: Summary{Output: "😀X", TotalLines: 1, TotalBytes: 5, OutputLines: 1, OutputBytes: 5}},
		{name: "no newline", in: []string{"abc", "def"}, want: Summary{Output: "abcdef", TotalLines: 1, TotalBytes: 6, OutputLines: 1, OutputBytes: 6}},
		{name: "4 lines", in: []string{"a\n", "b\n\n", "c"}, want: Summary{Output: "a\nb\n\nc", TotalLines: 4, TotalBytes: 6, OutputLines: 4, OutputBytes: 6}},
		{name: "ansi (v18: an 8-bit CSI goes whole)", in: []string{"\x1b[31mred\x1b[0m\n\x07x\ty\u009b1m"}, want: Summary{Output: "red\nx\ty", TotalLines: 2, TotalBytes: 7, OutputLines: 2, OutputBytes: 7}},
		{name: "cr (v13: it goes)", in: []string{"10%\r20%\r100%\n"}, want: Summary{Output: "10%20%100%\n", TotalLines: 2, TotalBytes: 11, OutputLines: 2, OutputBytes: 11}},
		{name: "cr (v18, where asked)", opts: SinkOptions{FeedCR: true}, in: []string{"10%\r20%\r100%\n"}, want: Summary{Output: "10%\n20%\n100%\n", TotalLines: 4, TotalBytes: 13, OutputLines: 4, OutputBytes: 13}},
		{name: "crSplit", in: []string{"a\r", "\nb"}, want: Summary{Output: "a\nb", TotalLines: 2, TotalBytes: 3, OutputLines: 2, OutputBytes: 3}},
		{name: "sink CR", opts: SinkOptions{FeedCR: true}, in: []string{"start\r", "one\r", "two\r", "\n"}, want: Summary{Output: "start\none\ntwo\n", TotalLines: 4, TotalBytes: 14, OutputLines: 4, OutputBytes: 14}},
		{name: "loneSurrogate", in: []string{"a\xed\xa0", "\x80b"}, want: Summary{Output: "ab", TotalLines: 1, TotalBytes: 2, OutputLines: 1, OutputBytes: 2}},
		{name: "osc", in: []string{"\x1b]8;;http://x\x07link\x1b]8;;\x1b\\"}, want: Summary{Output: "link", TotalLines: 1, TotalBytes: 4, OutputLines: 1, OutputBytes: 4}},
		{name: "ansiSplit (W14: nothing leaks)", in: []string{"\x1b[3", "1mred"}, want: Summary{Output: "red", TotalLines: 1, TotalBytes: 3, OutputLines: 1, OutputBytes: 3}},
		{name: "head", opts: SinkOptions{Threshold: 20, HeadBytes: 9}, in: []string{"L0\nL1\nL2\nL3\nL4\nL5\nL6\n", "L7\nL8\nL9\nL10\nL11\n"},
			want: Summary{Output: "L0\nL1\nL2\n[…5ln elided…]\nL9\nL10\nL11\n", Truncated: true, TotalLines: 13, TotalBytes: 38, OutputLines: 9, OutputBytes: 39, ElidedBytes: 18, ElidedLines: 5, ArtifactID: "0"},
			file: "L0\nL1\nL2\nL3\nL4\nL5\nL6\nL7\nL8\nL9\nL10\nL11\n"},
		{name: "headClamp", opts: SinkOptions{Threshold: 6, HeadBytes: 100}, in: []string{"L0\nL1\nL2\nL3\nL4"},
			want: Summary{Output: "L0\n[…2ln elided…]\nL4", Truncated: true, TotalLines: 5, TotalBytes: 14, OutputLines: 4, OutputBytes: 24, ElidedBytes: 8, ElidedLines: 2, ArtifactID: "0"},
			file: "L0\nL1\nL2\nL3\nL4"},
		{name: "head (L), at most half of the threshold", opts: SinkOptions{Threshold: 5, HeadBytes: 4}, in: []string{"head", "abc", "defgh"},
			want: Summary{Output: "he\n[…7B elided…]\nfgh", Truncated: true, TotalLines: 1, TotalBytes: 12, OutputLines: 3, OutputBytes: 24, ElidedBytes: 7, ArtifactID: "0"}, file: "headabcdefgh"},
		{name: "head that is enough", opts: SinkOptions{Threshold: 50, HeadBytes: 4}, in: []string{"abcdefgh"}, want: Summary{Output: "abcdefgh", TotalLines: 1, TotalBytes: 8, OutputLines: 1, OutputBytes: 8}},
		{name: "col", opts: SinkOptions{MaxColumns: 8}, in: []string{"short\n", strings.Repeat("x", 20), strings.Repeat("x", 30), "\nfooter"},
			want: Summary{Output: "short\nxxxxx…\nfooter", TotalLines: 3, TotalBytes: 63, OutputLines: 3, OutputBytes: 21, ColumnDroppedBytes: 45, ColumnTruncatedLines: 1, ColumnMax: 8, ArtifactID: "0"},
			file: "short\n" + strings.Repeat("x", 50) + "\nfooter"},
		{name: "col in runes", opts: SinkOptions{MaxColumns: 768}, in: []string{strings.Repeat("é", 385)},
			want: Summary{Output: strings.Repeat("é", 382) + "…", TotalLines: 1, TotalBytes: 770, OutputLines: 1, OutputBytes: 767, ColumnDroppedBytes: 6, ColumnTruncatedLines: 1, ColumnMax: 768, ArtifactID: "0"},
			file: strings.Repeat("é", 385)},
		{name: "col that fits", opts: SinkOptions{MaxColumns: 8}, in: []string{"1234", "5678\n", "12345678"}, want: Summary{Output: "12345678\n12345678", TotalLines: 2, TotalBytes: 17, OutputLines: 2, OutputBytes: 17}},
		{name: "cap", opts: SinkOptions{Threshold: 16, MaxArtifact: 32, ArtifactHead: 16}, in: []string{"0123456789ABCDEF0123456789ABCDEF", "0123456789ABCDEF0123456789ABCDEF"},
			want: Summary{Output: "0123456789ABCDEF", Truncated: true, TotalLines: 1, TotalBytes: 64, OutputLines: 1, OutputBytes: 16, ArtifactID: "0"},
			file: "0123456789ABCDEF\n[ARTIFACT TRUNCATED: kept first 16B + last 16B of 64B; 32B elided from the middle]\n0123456789ABCDEF"},
		{name: "cap that fits", opts: SinkOptions{Threshold: 16, MaxArtifact: 32, ArtifactHead: 16}, in: []string{"0123456789ABCDEF01234567"},
			want: Summary{Output: "89ABCDEF01234567", Truncated: true, TotalLines: 1, TotalBytes: 24, OutputLines: 1, OutputBytes: 16, ArtifactID: "0"},
			file: "0123456789ABCDEF01234567"},
		{name: "truncateTail of a long line before short ones (L)", opts: SinkOptions{Threshold: 10}, in: []string{"abcdefghijk\n}\n```"},
			want: Summary{Output: "hijk\n}\n```", Truncated: true, TotalLines: 3, TotalBytes: 17, OutputLines: 3, OutputBytes: 10, ArtifactID: "0"}, file: "abcdefghijk\n}\n```"},
		{name: "default50k", in: []string{strings.Repeat(kib, 60)},
			want: Summary{Output: strings.Repeat(kib, 50), Truncated: true, TotalLines: 61, TotalBytes: 61440, OutputLines: 51, OutputBytes: 51200, ArtifactID: "0"},
			file: strings.Repeat(kib, 60)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newStore(t, Options{})
			k := s.Sink("bash", c.opts)
			for _, piece := range c.in {
				if n, err := k.Write([]byte(piece)); n != len(piece) || err != nil {
					t.Fatal(n, err)
				}
			}
			got := k.Summary(c.notice)
			if d := cmp.Diff(c.want, got, cmpopts.IgnoreFields(Summary{}, "ArtifactPath")); d != "" {
				t.Errorf("summary (-want +got):\n%s", d)
			}
			if c.want.ArtifactID != "" {
				if file := kept(t, s, "0"); file != c.file {
					t.Errorf("the artifact holds %.200q, want %.200q", file, c.file)
				}
			} else if list, _ := s.List(); len(list) != 0 {
				t.Errorf("kept %v", list)
			}
		})
	}
}

// TestW14PiecesDoNotMatter: wherever an output is split, the summary and the
// artifact are the same. It is what keeps runes, escapes and CR LF right.
func TestW14PiecesDoNotMatter(t *testing.T) {
	atoms := []string{"a", "bc\n", "é", "😀", "\x1b[31m", "\x1b]0;t\x07", "\x1b]0;t\x1b\\", "\x1bP1;2q\n#0\x1b\\", "\x1bPq~", "\x1bP0;", "\r\n", "\r", "\xff", "\xf0\x9f", "\xed\xa0\x80", "\xed\xa0", "\u009b1m", "\u0085",
		"\x1b", "\x1b[", "\x00", "\t", "名前", "\xe5\x90", "\x1b(B", strings.Repeat("long ", 30), "\x1b]unended\n", "\x1b[9\n"}
	rapid.Check(t, func(t *rapid.T) {
		opts := SinkOptions{
			Threshold: rapid.IntRange(1, 90).Draw(t, "threshold"), HeadBytes: rapid.IntRange(0, 50).Draw(t, "head"),
			MaxColumns: rapid.SampledFrom([]int{0, 0, 4, 9}).Draw(t, "columns"), FeedCR: rapid.Bool().Draw(t, "cr"),
			Sixel: rapid.Bool().Draw(t, "sixel"),
		}
		in := []byte(strings.Join(rapid.SliceOf(rapid.SampledFrom(atoms)).Draw(t, "text"), ""))
		run := func(pieces [][]byte) (Summary, string) {
			var text bytes.Buffer
			opts := opts
			opts.OnText = func(b []byte) { text.Write(b) }
			k := NewSink(opts)
			for _, p := range pieces {
				_, _ = k.Write(p)
			}
			return k.Summary(""), text.String()
		}
		var single [][]byte
		for i := range in {
			single = append(single, in[i:i+1])
		}
		var some [][]byte
		for rest := in; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			some, rest = append(some, rest[:n]), rest[n:]
		}
		want, text := run([][]byte{in})
		for _, pieces := range [][][]byte{single, some} {
			got, other := run(pieces)
			if text != other {
				t.Fatalf("text %q, in pieces %q", text, other)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Fatal(d)
			}
		}
		plain := text
		if opts.Sixel { // its pictures begin and end, and have no other escape
			plain = strings.ReplaceAll(strings.ReplaceAll(plain, deviceBegin, ""), stringEnd, "")
		}
		if strings.ContainsAny(plain, "\x1b\r\x00\x07") {
			t.Fatalf("a control character is left: %q", text)
		}
		if int64(len(text)) != want.TotalBytes || want.TotalLines != linesOf(want.TotalBytes, int64(strings.Count(text, "\n"))) {
			t.Fatalf("counted %d bytes and %d lines of %q", want.TotalBytes, want.TotalLines, text)
		}
	})
}

// TestCleanPrefix holds the fast look at eight bytes against the table.
func TestCleanPrefix(t *testing.T) {
	for range 20_000 {
		b := make([]byte, rand.IntN(40))
		for i := range b {
			b[i] = byte(' ' + rand.IntN(90))
			if rand.IntN(30) == 0 {
				b[i] = byte(rand.IntN(256))
			}
		}
		want := 0
		for want < len(b) && plainByte[b[want]] {
			want++
		}
		if got := cleanPrefix(b); got != want {
			t.Fatalf("cleanPrefix(%q) = %d, want %d", b, got, want)
		}
	}
}

// TestUnendedEscapeHidesLittle: a broken escape must not swallow an output.
func TestUnendedEscapeHidesLittle(t *testing.T) {
	for _, begin := range []string{"\x1b]0;", "\x1b[", "\x1bP", "\x1b^", "\u009d"} {
		k := NewSink(SinkOptions{})
		_, _ = k.Write([]byte(begin + strings.Repeat("9", maxDevice+1) + "\nhere I am\n"))
		if got := k.Summary("").Output; !strings.Contains(got, "here I am") {
			t.Errorf("after %q nothing is shown", begin)
		}
	}
}

// TestSinkFailureFallsBack: an output whose artifact cannot be made or written is
// shown all the same; the summary names the step and gives no id, and nothing
// half is left.
func TestSinkFailureFallsBack(t *testing.T) {
	t.Run("open", func(t *testing.T) {
		s := newStore(t, Options{})
		if err := os.WriteFile(s.Folder(), []byte("a file is in the way"), 0o600); err != nil {
			t.Fatal(err)
		}
		k := s.Sink("bash", SinkOptions{Threshold: 5})
		_, _ = k.Write([]byte("abcdefgh"))
		got := k.Summary("")
		if got.Output != "defgh" || !got.Truncated || got.ArtifactError != "open" || got.ArtifactID != "" || !errors.Is(got.Err, ErrTaken) {
			t.Errorf("%+v", got)
		}
		if path, name := k.Location(); path != "" || name != "" {
			t.Errorf("located at %q, %q", path, name)
		}
	})
	for _, c := range []struct{ call, step string }{{"write", "flush"}, {"sync", "end"}, {"syncdir", "end"}, {"open", "open"}} {
		t.Run(c.call, func(t *testing.T) {
			faults := &faults{}
			s := newStore(t, Options{Wrap: faults.wrap})
			if _, err := s.Save("first", "x"); err != nil {
				t.Fatal(err)
			}
			before := files(t, s)
			faults.arm(c.call, syscall.ENOSPC, 0)
			k := s.Sink("bash", SinkOptions{Threshold: 5})
			_, _ = k.Write([]byte("abcdefgh"))
			_, _ = k.Write([]byte("ij"))
			got := k.Summary("")
			if got.Output != "fghij" || got.TotalBytes != 10 || got.ArtifactError != c.step || got.ArtifactID != "" || !errors.Is(got.Err, syscall.ENOSPC) {
				t.Errorf("%+v", got)
			}
			if d := cmp.Diff(before, files(t, s)); d != "" {
				t.Errorf("left behind:\n%s", d)
			}
		})
	}
	t.Run("write of a long output", func(t *testing.T) {
		faults := &faults{}
		s := newStore(t, Options{Wrap: faults.wrap})
		faults.arm("write", syscall.EIO, 0)
		k := s.Sink("bash", SinkOptions{})
		for range 40 {
			_, _ = k.Write(bytes.Repeat([]byte("x"), 32<<10))
		}
		if got := k.Summary(""); got.ArtifactError != "write" || got.TotalBytes != 40*32<<10 || len(files(t, s)) != 0 {
			t.Errorf("%s, %d bytes, files %v", got.ArtifactError, got.TotalBytes, files(t, s))
		}
	})
}

// TestW20DescriptorsAreClosed: a sink that is closed on an error path, or twice,
// holds no file open.
func TestW20DescriptorsAreClosed(t *testing.T) {
	s := newStore(t, Options{})
	count := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("no /proc here")
		}
		return len(list)
	}
	before := count()
	for i := range 300 {
		faults := &faults{}
		if i%2 == 0 {
			faults.arm("write", syscall.ENOSPC, 0)
		}
		s := New(s.session, Options{Wrap: faults.wrap})
		k := s.Sink("bash", SinkOptions{Threshold: 4})
		_, _ = k.Write([]byte("abcdefgh"))
		_ = k.Close()
		_ = k.Close()
	}
	if after := count(); after > before+3 {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

// TestSinkQuota: what is longer than the store allows is kept in part, with the
// gap marked, and the sink says how much.
func TestSinkQuota(t *testing.T) {
	s := newStore(t, Options{MaxOutput: 1000})
	k := s.Sink("bash", SinkOptions{Threshold: 100})
	for range 500 {
		_, _ = k.Write([]byte("0123456789"))
	}
	got := k.Summary("")
	file := kept(t, s, got.ArtifactID)
	if !strings.Contains(file, "[ARTIFACT TRUNCATED: kept first 500B + last 500B of 4.9KB; 3.9KB elided from the middle]") || k.Partial() != int64(len(file)) {
		t.Errorf("partial %d, file of %d bytes: %q", k.Partial(), len(file), file)
	}

	full := New(s.session, Options{MaxFolder: 600})
	k = full.Sink("bash", SinkOptions{Threshold: 100})
	_, _ = k.Write(bytes.Repeat([]byte("x"), 200))
	if got := k.Summary(""); !errors.Is(got.Err, ErrQuota) || got.ArtifactError != "open" || len(got.Output) != 100 {
		t.Errorf("%+v", got)
	}
	if _, err := full.Save("bash", "x"); !errors.Is(err, ErrQuota) {
		t.Errorf("save into a full folder: %v", err)
	}
}

func TestWindowBytes(t *testing.T) {
	for _, c := range []struct {
		text       string
		n          int
		head, tail string
	}{
		{"a😀b", 4, "a", "b"}, {"hello", 10, "hello", "hello"}, {"abc😀", 4, "abc", "😀"}, {"a😀b", 2, "a", "b"}, {"any", 0, "", ""},
	} {
		if got := string(headBytes([]byte(c.text), c.n)); got != c.head {
			t.Errorf("head of %q, %d: %q", c.text, c.n, got)
		}
		if got := string(tailBytes([]byte(c.text), c.n)); got != c.tail {
			t.Errorf("tail of %q, %d: %q", c.text, c.n, got)
		}
	}
	for n, want := range map[int64]string{0: "0B", 1023: "1023B", 1024: "1.0KB", 51200: "50.0KB", 5 << 20: "5.0MB", 3 << 30: "3.0GB", 3 << 40: "3072.0GB"} {
		if got := Size(n); got != want {
			t.Errorf("Size(%d) = %s", n, got)
		}
	}
}
