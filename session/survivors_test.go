package session

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestDamagedLinesCostOnlyThemselves: one bad line among thousands made other programs
// lose a session. Whatever is done to some lines of a file, every other entry is read,
// with its bytes, and what is lost is reported.
func TestDamagedLinesCostOnlyThemselves(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 30).Draw(rt, "lines")
		lines := make([]string, n)
		for i := range lines {
			parent := ""
			if i > 0 {
				parent = fmt.Sprintf("%08x", i-1)
			}
			lines[i] = strings.TrimSuffix(said(fmt.Sprintf("%08x", i), parent, strings.Repeat("漢 text ", i)), "\n")
		}
		spoiled := map[int]bool{}
		damaged := slices.Clone(lines)
		for range rapid.IntRange(1, 4).Draw(rt, "accidents") {
			i := rapid.IntRange(0, n-1).Draw(rt, "line")
			l := damaged[i]
			at := rapid.IntRange(1, max(1, len(l)-1)).Draw(rt, "at")
			at = min(at, len(l))
			switch rapid.IntRange(0, 4).Draw(rt, "what") {
			case 0:
				l = l[:at] // the rest was lost
			case 1:
				l = l[:at] + strings.Repeat("\x00", rapid.IntRange(1, 5000).Draw(rt, "NULs")) + l[at:]
			case 2:
				l = l[:at] + "[REDACTED\"" + l[at:]
			case 3:
				l = "noise " + l
			case 4:
				l = ""
			}
			damaged[i], spoiled[i] = l, true
		}
		path := dir + "/s.jsonl"
		writeAll(rt, path, head3+strings.Join(damaged, "\n")+"\n")
		s, err := Open(path, Options{Strict: true})
		if err != nil {
			rt.Fatal(err)
		}
		defer s.Close()
		reported := map[int]bool{}
		for _, d := range s.Diagnostics() {
			reported[d.Line] = true
		}
		for i, want := range lines {
			e, ok := s.Entry(ID(fmt.Sprintf("%08x", i)))
			if !ok && !spoiled[i] {
				rt.Fatalf("the entry of line %d is lost: %v", i+2, s.Diagnostics())
			}
			if !ok && damaged[i] != "" && !reported[i+2] {
				rt.Fatalf("line %d is lost without a word: %q", i+2, damaged[i])
			}
			if !spoiled[i] {
				if raw, err := s.Raw(e); err != nil || string(raw) != want {
					rt.Fatalf("line %d: %q, %v", i+2, raw, err)
				}
			}
		}
		if _, err := s.Context(); err != nil {
			rt.Fatal(err)
		}
	})
}

func writeAll(t *rapid.T, path, text string) {
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
