// Package hostile makes folders and names that try to bring out what a session may
// not name, for the tests of every door that takes paths: the gate, the prompt, the
// HTTP interface.
//
// Only tests import it. What may be touched here: more names, more swaps. What not:
// what a door answers; each test says that itself.
package hostile

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Secret is in the text of every file that must not come out, and in names that
// must not be offered. No name that a test asks for holds it.
const Secret = "SECRET"

// Make puts files and links into a folder. Outside of it, beside it, lie files that
// must not come out; so they do in .git.
func Make(t testing.TB, dir string) {
	t.Helper()
	for name, text := range map[string]string{
		"d/f.txt": "inside", "d/sub/f.txt": "inside", "file.txt": "inside",
		".git/config": Secret, ".git/f.txt": Secret, ".git/sub/f.txt": Secret, ".git/sub/" + Secret + "NAME": Secret, ".git/" + Secret + "NAME": Secret,
		"../out/f.txt": Secret, "../out/sub/f.txt": Secret, "../out/" + Secret + "NAME": Secret, "../out/sub/" + Secret + "NAME": Secret,
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"link-out": "../out", "link-git": ".git", "flink-out": "../out/f.txt", "flink-git": ".git/f.txt", "loop": "loop", "abs": filepath.Join(filepath.Dir(dir), "out")} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skipf("links cannot be made here: %v", err)
		}
	}
}

// Names are ids that name nothing in a folder that Make made, whatever happens.
func Names(dir string) []string {
	outside := filepath.Join(filepath.Dir(dir), "out", "f.txt")
	return []string{
		"link-out", "link-out/f.txt", "link-out/sub", "link-git", "link-git/f.txt", "link-git/sub/f.txt", "flink-out", "flink-git", "loop", "loop/x", "abs/f.txt",
		"..", "../out/f.txt", "d/../../out/f.txt", "./../out/f.txt", "link-out/../out/f.txt", "d/sub/../../../out/f.txt", "../" + filepath.Base(dir) + "/file.txt",
		dir, dir + "/file.txt", outside, "/" + outside, "/", "//", "/etc/passwd", "/proc/self/environ", "/dev/zero", "~", "~/x", "file://" + outside,
		".git", ".git/", ".git/config", ".GIT/config", "./.git/f.txt", "d/../.git/f.txt", ".git/sub/../f.txt",
		"d\x00", "file.txt\x00.png", "file.txt/", "file.txt/x", "file.txt\n", "\n", `C:\x`, `\\host\share`, `..\out\f.txt`, "%2e%2e/out/f.txt", "..%2fout%2ff.txt", "\u2025/out/f.txt", "\uff0e\uff0e/out/f.txt",
		"nothing", "\u202efile.txt", "d/nothing", "\xff\xfe", strings.Repeat("x/", 2000), strings.Repeat("y", 300), strings.Repeat("../", 50) + "etc/passwd",
	}
}

// Racing are ids that may name something while Race goes on, by chance of the
// moment. What they name then lies inside.
var Racing = []string{"d/f.txt", "d/sub/f.txt", "file.txt", "d", "d/sub"}

// Race swaps a folder and a file of a folder that Make made for links to the outside
// and to .git, and back, until the test ends. swaps counts.
func Race(t testing.TB, dir string) (swaps func() int64) {
	at := func(name string) string { return filepath.Join(dir, name) }
	var stop atomic.Bool
	var count atomic.Int64
	var racers sync.WaitGroup
	for real, links := range map[string][]string{"d": {"link-out", "link-git"}, "file.txt": {"flink-out", "flink-git"}} {
		racers.Go(func() {
			for n := 0; !stop.Load(); n++ {
				link := at(links[n%2])
				_ = os.Rename(at(real), at(real+".aside"))
				_ = os.Rename(link, at(real))
				_ = os.Rename(at(real), link)
				_ = os.Rename(at(real+".aside"), at(real))
				count.Add(1)
			}
		})
	}
	t.Cleanup(func() {
		stop.Store(true)
		racers.Wait()
	})
	return count.Load
}
