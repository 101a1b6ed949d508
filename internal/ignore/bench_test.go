package ignore

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gitignore "github.com/sabhiram/go-gitignore"
)

// tenRules are what a project of some age has.
const tenRules = "node_modules/\n*.log\n/dist\nbuild/\n.env*\n!.env.example\n*.py[cod]\n__pycache__/\ndocs/**/*.tmp\n*~\n"

// bigTree makes files in folders, one folder of ten with an ignore file.
func bigTree(b *testing.B, folders, files int) string {
	dir := b.TempDir()
	write(b, filepath.Join(dir, ".gitignore"), tenRules)
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		b.Fatal(err)
	}
	for i := range folders {
		folder := filepath.Join(dir, fmt.Sprintf("package-%02d", i%40), fmt.Sprintf("component-%d", i))
		if i%10 == 0 {
			write(b, filepath.Join(folder, ".gitignore"), "*.out\n/local\n")
		} else if err := os.MkdirAll(folder, 0o755); err != nil {
			b.Fatal(err)
		}
		for j := range files {
			f, err := os.Create(filepath.Join(folder, fmt.Sprintf("source_file_%d.go", j)))
			if err != nil {
				b.Fatal(err)
			}
			f.Close()
		}
	}
	return dir
}

// BenchmarkWalk compares a walk under rules with the same walk without, and
// says how much the rules cost.
func BenchmarkWalk(b *testing.B) {
	dir := bigTree(b, 2000, 10)
	b.Logf("22 000 entries in 2 000 folders, 10 rules at the top and 2 in every tenth folder, warm cache, %d cores", runtime.GOMAXPROCS(0))
	floor := func() time.Duration {
		start := time.Now()
		filepath.WalkDir(dir, func(string, fs.DirEntry, error) error { return nil })
		return time.Since(start)
	}
	for _, c := range []struct {
		name string
		opts WalkOptions
	}{
		{"sorted, no rules", WalkOptions{Sorted: true, Options: Options{Git: GitNowhere}}},
		{"sorted", WalkOptions{Sorted: true}},
		{"parallel", WalkOptions{}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var base time.Duration
			var met atomic.Int64
			for b.Loop() {
				b.StopTimer()
				base += floor()
				b.StartTimer()
				met.Store(0)
				if err := Walk(b.Context(), dir, c.opts, func(Entry) error { met.Add(1); return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed())/float64(base), "x-WalkDir")
			b.ReportMetric(float64(met.Load()), "entries")
		})
	}
}

// BenchmarkMatch compares one decision with the library alone, given git's own
// lines, which is what one would write without this package.
func BenchmarkMatch(b *testing.B) {
	dir := b.TempDir()
	write(b, filepath.Join(dir, ".gitignore"), tenRules)
	os.Mkdir(filepath.Join(dir, ".git"), 0o755)
	rules, err := Open(dir, Options{})
	if err != nil {
		b.Fatal(err)
	}
	alone := gitignore.CompileIgnoreLines(strings.Split(tenRules, "\n")...)
	const folder, name = "packages/frontend/src/components", "navigation_bar.go"
	at := rules.Root()
	for part := range strings.SplitSeq(folder, "/") {
		at = at.Enter(part)
	}
	b.Logf("10 rules, a path of %d bytes", len(folder)+1+len(name))
	b.Run("entry of a walk", func(b *testing.B) {
		n := 0
		for b.Loop() {
			n++
			at.Ignored(name, false)
		}
		ours := b.Elapsed() / time.Duration(n)
		start := time.Now()
		for range 1000 {
			alone.MatchesPath(folder + "/" + name)
		}
		b.ReportMetric(float64(time.Since(start))/1000/float64(ours), "x-faster-than-library-alone")
	})
	b.Run("whole path", func(b *testing.B) {
		for b.Loop() {
			rules.Match(folder+"/"+name, false)
		}
	})
}
