package durable

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"
)

// TestSweep: what a killed write left goes when it is old, and nothing else ever.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	put := func(name string, age time.Duration) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	const old = LeftoverAge + time.Minute
	var stay []string
	keep := func(name string, age time.Duration) {
		put(name, age)
		stay = append(stay, name)
	}
	put(".piweb-0123456789abcdef.tmp", old)
	put(".piweb-00000000000000ff.tmp", 365*24*time.Hour)
	keep(".piweb-1123456789abcdef.tmp", LeftoverAge-time.Minute)
	keep(".piweb-2123456789abcdef.tmp", 0)
	keep(".piweb-3123456789abcdef.tmp", -time.Hour) // a clock that went back
	for _, name := range []string{".piweb-notes.tmp", ".piweb-0123456789ABCDEF.tmp", ".piweb-0123456789abcde.tmp", ".piweb-0123456789abcdef0.tmp",
		".piweb-0123456789abcdef.tmp.bak", "x.piweb-0123456789abcdef.tmp", "piweb-0123456789abcdef.tmp", "2026_s.jsonl", ".tmp"} {
		keep(name, old)
	}
	if err := os.Mkdir(filepath.Join(dir, ".piweb-4123456789abcdef.tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	stay = append(stay, ".piweb-4123456789abcdef.tmp")
	if runtime.GOOS != "windows" {
		if err := os.Symlink("2026_s.jsonl", filepath.Join(dir, ".piweb-5123456789abcdef.tmp")); err != nil {
			t.Fatal(err)
		}
		stay = append(stay, ".piweb-5123456789abcdef.tmp")
		put(".piweb-6123456789abcdef.tmp", old)
		other := filepath.Join(dir, ".piweb-6123456789abcdef.tmp")
		if os.Lchown(other, os.Geteuid()+1, -1) == nil { // only root can
			stay = append(stay, filepath.Base(other))
		} else if err := os.Remove(other); err != nil {
			t.Fatal(err)
		}
	}
	if n := Sweep(OS{}, dir, now); n != 2 {
		t.Errorf("%d files went, want 2", n)
	}
	var left []string
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		left = append(left, e.Name())
	}
	slices.Sort(stay)
	if !slices.Equal(left, stay) {
		t.Errorf("left is\n%q, want\n%q", left, stay)
	}
	if n := Sweep(OS{}, filepath.Join(dir, "nowhere"), now); n != 0 {
		t.Errorf("%d files went from nowhere", n)
	}
}
