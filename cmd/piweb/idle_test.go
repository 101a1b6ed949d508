package main

import (
	"strings"
	"testing"
	"time"
)

// TestIdleTimeout has the rows IT1 of pi-web's table.
func TestIdleTimeout(t *testing.T) {
	for _, c := range []struct {
		text  string
		want  time.Duration
		warns bool
	}{
		{"", 10 * time.Minute, false},
		{" \t", 10 * time.Minute, false},
		{"0", 0, false},
		{"1800000", 30 * time.Minute, false},
		{" 1500 ", 1500 * time.Millisecond, false},
		{"2147483647", 2147483647 * time.Millisecond, false},
		{"2147483648", 10 * time.Minute, true},
		{"-1", 10 * time.Minute, true},
		{"1.5", 10 * time.Minute, true},
		{"ten minutes", 10 * time.Minute, true},
		{"99999999999999999999", 10 * time.Minute, true},
	} {
		d, warning := idleTimeout(func(name string) (string, bool) { return c.text, name == idleEnv })
		if d != c.want || (warning != "") != c.warns || c.warns && !strings.Contains(warning, c.text) {
			t.Errorf("%q: %s, %q", c.text, d, warning)
		}
	}
	if d, warning := idleTimeout(func(string) (string, bool) { return "", false }); d != 10*time.Minute || warning != "" {
		t.Errorf("without the variable: %s, %q", d, warning)
	}
}
