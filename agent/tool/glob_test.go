package tool

import (
	"strings"
	"testing"
)

// TestAlternatives: what braces multiply to is counted through all levels, and refused
// before anything is matched against it.
func TestAlternatives(t *testing.T) {
	for _, c := range []struct {
		pattern string
		want    int
	}{
		{"*.go", 1},
		{"*.{go,md}", 2},
		{"{a,b}{c,d}", 4},
		{"{a,{b,c}}", 3},
		{"{{a,b}{c,d},e}", 5},
		{`\{a,b\}`, 1},
		{"{" + strings.Repeat("{a,b}", 9) + "}", 512},
		{"{" + strings.Repeat("{a,b}", 22) + "}", maxAlternatives + 1},
		{strings.Repeat("{a,", 40) + strings.Repeat("}", 40), 41},
	} {
		if n := alternatives(c.pattern); n != c.want {
			t.Errorf("%s: %d, want %d", c.pattern, n, c.want)
		}
	}
	for _, pattern := range []string{"{" + strings.Repeat("{a,b}", 22) + "}", strings.Repeat("{{a,b},{c,d}}", 9)} {
		if _, err := newNameGlob(pattern, "/"); err == nil || !strings.Contains(err.Error(), "alternatives") {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}
