package files

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junegunn/fzf/src/algo"
	"github.com/junegunn/fzf/src/util"
	"github.com/piweb-go/piweb/completion"
)

// million asks for the trees of 1 000 000 files too; they take a while to make.
var million = flag.Bool("million", false, "benchmarks with 1 000 000 files too")

func sizes() []int {
	if *million {
		return []int{100_000, 1_000_000}
	}
	return []int{100_000}
}

// fzfTop is fzf's matcher on a list, on all cores, with its best 30.
func fzfTop(list []util.Chars, pattern []rune) int {
	workers := runtime.GOMAXPROCS(0)
	type scored struct{ score, n int }
	tops := make([][]scored, workers)
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			slab := util.MakeSlab(100*1024, 2048)
			var top []scored
			for n := w * len(list) / workers; n < (w+1)*len(list)/workers; n++ {
				res, _ := algo.FuzzyMatchV2(false, false, true, &list[n], pattern, false, slab)
				if res.Start < 0 || len(top) == 30 && res.Score <= top[29].score {
					continue
				}
				at, _ := slices.BinarySearchFunc(top, res.Score, func(s scored, score int) int { return score - s.score })
				top = slices.Insert(top, at, scored{res.Score, n})
				top = top[:min(len(top), 30)]
			}
			tops[w] = top
		})
	}
	group.Wait()
	return len(slices.Concat(tops...))
}

// BenchmarkSearch compares the time to the final best 30 with fzf's matcher on the
// same list in the same run. TestLargeFastEqualsSlow holds that it is final. The ratio
// is that of processor times, which other work on the machine does not change; that of
// the wall stands beside it.
func BenchmarkSearch(b *testing.B) {
	for _, n := range sizes() {
		paths := generate(n)
		tr := treeOf(paths)
		list := make([]util.Chars, n)
		size := 0
		for i, p := range paths {
			list[i] = util.ToChars([]byte(p))
			size += len(p)
		}
		b.Logf("%d files in %d folders, mean path %d bytes, %d cores, %s", n, len(tr.dirs), size/n, runtime.GOMAXPROCS(0), runtime.Version())
		for _, text := range strings.Fields("s sess sessagent sessionmanager.go internal src/se pkgsessview qqqq xyzq reganoisses") {
			b.Run(fmt.Sprintf("%d/%s", n, text), func(b *testing.B) {
				q := newQuery(text)
				var ours, theirs, ourCPU, theirCPU time.Duration
				for b.Loop() {
					start, used := time.Now(), processorTime()
					if _, _, err := search(context.Background(), tr, q, 30, nil, nil); err != nil {
						b.Fatal(err)
					}
					middle, usedThen := time.Now(), processorTime()
					fzfTop(list, []rune(text))
					ours += middle.Sub(start)
					theirs += time.Since(middle)
					ourCPU += usedThen - used
					theirCPU += processorTime() - usedThen
				}
				b.ReportMetric(float64(ours.Microseconds())/1000/float64(b.N), "ms/ours")
				b.ReportMetric(float64(theirs.Microseconds())/1000/float64(b.N), "ms/fzf")
				b.ReportMetric(float64(ours)/float64(theirs), "wall-ratio")
				if theirCPU > 0 {
					b.ReportMetric(float64(ourCPU.Microseconds())/1000/float64(b.N), "cpu-ms/ours")
					b.ReportMetric(float64(theirCPU.Microseconds())/1000/float64(b.N), "cpu-ms/fzf")
					b.ReportMetric(float64(ourCPU)/float64(theirCPU), "cpu-ratio")
				}
				b.ReportMetric(0, "ns/op")
			})
		}
		runtime.KeepAlive(paths)
	}
}

// BenchmarkTyping is a word typed letter by letter, each search with what the one
// before left.
func BenchmarkTyping(b *testing.B) {
	for _, n := range sizes() {
		x := &Index{refined: map[string]refined{}}
		tr := treeOf(generate(n))
		x.tree.Store(tr)
		x.state.Store(complete)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			const word = "sessionmanager"
			for b.Loop() {
				clear(x.refined)
				for k := 1; k <= len(word); k++ {
					if _, err := x.Search(context.Background(), word[:k], 30, nil); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N*len(word)), "ms/keystroke")
		})
	}
}

// BenchmarkFirstList is the time from opening a folder to the list of tracked
// files, and to the complete one; and the memory that a path takes.
func BenchmarkFirstList(b *testing.B) {
	for _, n := range sizes() {
		dir := filepath.Join(b.TempDir(), "work")
		if err := os.Mkdir(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		paths := generate(n)
		size := 0
		for _, p := range paths {
			size += len(p)
		}
		writeTree(b, dir, paths)
		paths = nil
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var first, whole time.Duration
			var bytes uint64
			for b.Loop() {
				before := heap()
				start := time.Now()
				x, err := OpenIndex(dir, IndexOptions{NoWatch: true})
				if err != nil {
					b.Fatal(err)
				}
				<-x.first
				first += time.Since(start)
				if got := x.tree.Load().files; got != n {
					b.Fatalf("%d files at first, not %d", got, n)
				}
				x.readyFor(b, n)
				whole += time.Since(start)
				bytes += heap() - before
				x.Close()
			}
			b.Logf("%d files, mean path %d bytes, warm cache, %d cores", n, size/n, runtime.GOMAXPROCS(0))
			b.ReportMetric(float64(first.Microseconds())/1000/float64(b.N), "ms/tracked")
			b.ReportMetric(float64(whole.Microseconds())/1000/float64(b.N), "ms/complete")
			b.ReportMetric(float64(bytes)/float64(b.N)/float64(n), "B/path")
			b.ReportMetric(1.5*float64(size)/float64(n)+48, "B/path-allowed")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkKeystroke is the time of one keystroke in a folder of as many files as those
// of bug reports, with files on the disk, asked as a session asks. Each word is typed
// twice: with what the keystrokes before have left, and at once. The worst counts;
// 100 ms were wanted.
func BenchmarkKeystroke(b *testing.B) {
	for _, n := range []int{42_906, 109_765, 150_000} {
		dir := filepath.Join(b.TempDir(), "work")
		if err := os.Mkdir(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		paths := generate(n)
		writeTree(b, dir, paths)
		p := New(IndexOptions{NoWatch: true, Stale: time.Hour})
		x, err := p.index(dir, false)
		if err != nil {
			b.Fatal(err)
		}
		x.readyFor(b, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var worst, worstCPU, wall, cpu time.Duration
			var slowest string
			asked := 0
			ask := func(text string) {
				start, used := time.Now(), processorTime()
				offer, err := p.Complete(b.Context(), completion.Query{Text: text, Scope: completion.Scope{CWD: dir}})
				took, of := time.Since(start), processorTime()-used
				if err != nil || offer.Partial {
					b.Fatal(offer.Partial, err)
				}
				if asked++; took > worst {
					worst, slowest = took, text
				}
				worstCPU, wall, cpu = max(worstCPU, of), wall+took, cpu+of
			}
			for b.Loop() {
				for _, word := range append(strings.Fields("sessionmanager internal/serv sessagent qqqq README.md"), paths[n-1]) {
					for k := 1; k <= min(len(word), 14); k++ {
						ask(word[:k])
					}
					clear(x.refined)
					ask(word)
				}
			}
			b.Logf("%d files on the disk, %d cores; the slowest was %q", n, runtime.GOMAXPROCS(0), slowest)
			b.ReportMetric(float64(worst.Microseconds())/1000, "wall-ms/worst")
			b.ReportMetric(float64(worstCPU.Microseconds())/1000, "cpu-ms/worst")
			b.ReportMetric(float64(wall.Microseconds())/1000/float64(asked), "wall-ms/keystroke")
			b.ReportMetric(float64(cpu.Microseconds())/1000/float64(asked), "cpu-ms/keystroke")
			b.ReportMetric(0, "ns/op")
		})
		if err := p.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// heap is what is alive.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkReadTracked reads git's index to the list that searches use, without the
// files on disk. On a busy machine cpu-ms, the processor time of all cores, is the
// figure that holds: the wall time of a quiet one is less.
func BenchmarkReadTracked(b *testing.B) {
	for _, n := range sizes() {
		dir := folder(b, nil)
		paths := generate(n)
		size := 0
		for _, p := range paths {
			size += len(p)
		}
		put(b, dir, ".git/config", "")
		put(b, dir, ".git/index", string(makeIndex(paths)))
		paths = nil
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var wall, cpu time.Duration
			var bytes uint64
			for b.Loop() {
				before := heap()
				start, used := time.Now(), processorTime()
				t, _, err := readTracked(dir)
				if err != nil {
					b.Fatal(err)
				}
				tr := newTree(t.dirs)
				wall += time.Since(start)
				cpu += processorTime() - used
				bytes += heap() - before
				if tr.files != n {
					b.Fatalf("%d files", tr.files)
				}
				runtime.KeepAlive(t)
				runtime.KeepAlive(tr)
			}
			b.Logf("%d files, mean path %d bytes, warm cache, %d cores", n, size/n, runtime.GOMAXPROCS(0))
			b.ReportMetric(float64(wall.Microseconds())/1000/float64(b.N), "wall-ms")
			b.ReportMetric(float64(cpu.Microseconds())/1000/float64(b.N), "cpu-ms")
			b.ReportMetric(float64(bytes)/float64(b.N)/float64(n), "B/path")
			b.ReportMetric(1.5*float64(size)/float64(n)+48, "B/path-allowed")
			b.ReportMetric(0, "ns/op")
		})
	}
}
