package files

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestPropertyAlignEqualsLibrary: a table that is filled column by column, in one piece
// or in two, has the score of fzf's.
func TestPropertyAlignEqualsLibrary(t *testing.T) {
	pieces := []string{"a", "b", "A", "B", "ab", "aB", "s", "ss", "es", "/", ".", "_", "-", " ", "\t", "1", "12", "é", "文", "Ж", "ǅ", "٣", "\u00a0", "…", "\xff"}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string, most int) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, most).Draw(t, name), "")
		}
		text := draw("text", 30)
		pattern := []rune(strings.ToLower(draw("pattern", 6)))
		if rapid.Bool().Draw(t, "of the text") { // so that it matches
			pattern = pattern[:0]
			for _, r := range strings.ToLower(text) {
				if len(pattern) < 12 && rapid.Bool().Draw(t, "taken") {
					pattern = append(pattern, r)
				}
			}
		}
		if len(pattern) < 2 {
			return
		}
		s := newScorer(newQuery("x"))
		want := s.library(text, pattern)
		if got := s.fuzzy(text, pattern); got != want {
			t.Fatalf("%q in %q: %d, the library says %d", string(pattern), text, got, want)
		}
		at := rapid.IntRange(0, len([]rune(text))).Draw(t, "at")
		runes := []rune(text)
		if strings.Contains(text, "\xff") {
			return
		}
		s.begun.start(pattern)
		s.begun.read(string(runes[:at]))
		for range 2 { // the beginning can be used again
			s.table.set(&s.begun)
			s.table.read(string(runes[at:]))
			if got := s.table.score(); got != want {
				t.Fatalf("%q in %q, in two pieces at %d: %d, the library says %d", string(pattern), text, at, got, want)
			}
		}
	})
}
