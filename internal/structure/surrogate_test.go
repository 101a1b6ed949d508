package structure

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestHalfPair(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       int
	}{
		{"nothing", ``, -1},
		{"plain", `"a 😀 b"`, -1},
		{"a pair", `"\ud83d\ude00"`, -1},
		{"pairs in a row", `"\uD83D\uDE00\ud83d\ude00"`, -1},
		{"another escape", `"\u00e9\n\\\/"`, -1},
		{"high alone", `"a\ud83d"`, 2},
		{"high before a letter", `"\ud83dx"`, 1},
		{"high before another escape", `"\ud83d\n"`, 1},
		{"high before a high one", `"\ud83d\ud83d\ude00"`, 1},
		{"low alone", `"\ude00"`, 1},
		{"low before high", `"\ude00\ud83d"`, 1},
		{"behind a pair", `"\ud83d\ude00\ude00"`, 13},
		{"an escaped backslash", `"\\ud83d"`, -1},
		{"behind an escaped backslash", `"\\\ud83d"`, 3},
		{"cut", `"\ud8`, -1},
		{"cut behind a backslash", `"\`, -1},
		{"no digits", `"\uzzzz"`, -1},
	} {
		if got := HalfPair([]byte(c.text)); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// FuzzHalfPair: a valid text is without halves exactly if decoding it makes no new
// replacement character.
func FuzzHalfPair(f *testing.F) {
	for _, s := range []string{`"\ud83d\ude00"`, `"\ud83d"`, `"\\ud83d"`, `"\ufffd\ud83d"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		at := HalfPair(text)
		if at >= 0 && (at+HalfPairBytes > len(text) || text[at] != '\\') {
			t.Fatalf("%q: %d", text, at)
		}
		var s string
		if !utf8.Valid(text) || json.Unmarshal(text, &s) != nil || strings.Contains(strings.ToLower(string(text)), `ufffd`) || strings.Contains(string(text), "\ufffd") {
			return
		}
		if made := strings.Contains(s, "\ufffd"); made != (at >= 0) {
			t.Errorf("%q: at %d, decoded %q", text, at, s)
		}
	})
}
