package catalog

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/piweb-go/piweb/session"
)

// The benchmarks make their own files, each a session of 20 KB as pi writes them,
// and print the conditions once. Run them with
//
//	go test -run '^$' -bench . ./session/catalog

var conditions = sync.OnceFunc(func() {
	fmt.Printf("conditions: %s, %d processors, %s/%s; sessions of 20 KB in 20 folders, page cache warm\n",
		runtime.Version(), runtime.GOMAXPROCS(0), runtime.GOOS, runtime.GOARCH)
})

// corpus makes n sessions, old enough for their records to hold, and returns the
// root and their size.
func corpus(b *testing.B, n int) (string, int64) {
	b.Helper()
	conditions()
	root := b.TempDir()
	if dir := os.Getenv("PIWEB_BENCH_DIR"); dir != "" { // shared with the other programs of ./bench
		root = filepath.Join(dir, fmt.Sprint("sessions-", n))
	}
	var size int64
	at := time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)
	for i := range n {
		text := sample(i)
		path := filepath.Join(root, fmt.Sprintf("--p%d--", i%20), fmt.Sprintf("2026-01-01T00-00-00-000Z_s%d.jsonl", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
		if err := os.Chtimes(path, at, at.Add(time.Duration(i)*time.Second)); err != nil {
			b.Fatal(err)
		}
		size += int64(len(text))
	}
	return root, size
}

// sample is a session with questions, answers, calls and their output.
func sample(i int) string {
	var s strings.Builder
	fmt.Fprintf(&s, `{"type":"session","version":3,"id":"s%d","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w/p%d"}`+"\n", i, i%20)
	for j := 0; s.Len() < 20_000; j++ {
		at := fmt.Sprintf("2026-01-02T00:%02d:%02d.000Z", j%60, i%60)
		fmt.Fprintf(&s, `{"type":"message","id":"u%d","parentId":null,"timestamp":%q,"message":{"role":"user","content":[{"type":"text","text":"question %d of %d: what does the scanner do with \"odd\" lines?"}],"timestamp":1767312000000}}`+"\n", j, at, j, i)
		fmt.Fprintf(&s, `{"type":"message","id":"a%d","parentId":"u%d","timestamp":%q,"message":{"role":"assistant","content":[{"type":"text","text":"It keeps them, and reports %d."},{"type":"toolCall","id":"c%d","name":"read","arguments":{"path":"session/scan.go"}}],"api":"x","provider":"p","model":"m","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":10,"cost":{"input":0.1,"output":0.2,"total":0.3}},"stopReason":"toolUse","timestamp":1767312000000}}`+"\n", j, j, at, i*31+j, j)
		fmt.Fprintf(&s, `{"type":"message","id":"t%d","parentId":"a%d","timestamp":%q,"message":{"role":"toolResult","toolCallId":"c%d","toolName":"read","content":[{"type":"text","text":"%s"}],"isError":false,"timestamp":1767312000000}}`+"\n", j, j, at, j,
			strings.Repeat(`func (r *lineReader) next() (line, error) {\n\tfor {\n\t\trest := r.buf[r.used:]\n`, 25))
	}
	return s.String()
}

func listOnce(b *testing.B, c *Catalogue, n int) {
	page, err := c.List(context.Background(), Filter{})
	if err != nil || len(page.Infos) != n {
		b.Fatal(len(page.Infos), err)
	}
}

func BenchmarkList1000WithoutCache(b *testing.B) {
	root, size := corpus(b, 1000)
	b.SetBytes(size)
	for b.Loop() {
		listOnce(b, Open(root, "", Options{}), 1000)
	}
}

// BenchmarkList1000ByOpening is what the list costs when each file is opened as a
// session.
func BenchmarkList1000ByOpening(b *testing.B) {
	root, size := corpus(b, 1000)
	files, err := Files(root)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	for b.Loop() {
		err := each(context.Background(), 2*runtime.GOMAXPROCS(0), len(files), func(i int) {
			s, err := session.Open(files[i], session.Options{})
			if err == nil {
				_ = s.Close()
			}
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkList1000NewProcess reads the cache from the disk each time.
func BenchmarkList1000NewProcess(b *testing.B) { newProcess(b, 1000) }

func BenchmarkList10000NewProcess(b *testing.B) { newProcess(b, 10_000) }

func newProcess(b *testing.B, n int) {
	root, _ := corpus(b, n)
	cache := b.TempDir()
	listOnce(b, Open(root, cache, Options{}), n)
	for b.Loop() {
		listOnce(b, Open(root, cache, Options{}), n)
	}
}

// BenchmarkList10000Warm lists again in one process, without a watcher.
func BenchmarkList10000Warm(b *testing.B) {
	root, _ := corpus(b, 10_000)
	c := Open(root, b.TempDir(), Options{})
	listOnce(b, c, 10_000)
	for b.Loop() {
		listOnce(b, c, 10_000)
	}
}

func BenchmarkList10000Watched(b *testing.B) {
	root, _ := corpus(b, 10_000)
	c := Open(root, b.TempDir(), Options{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); c.Watch(ctx, nil) }()
	defer func() { cancel(); <-done }()
	for {
		listOnce(b, c, 10_000)
		if paths, all := c.watched.take(time.Now()); !all && len(paths) == 0 {
			break
		}
		c.watched.untrust()
	}
	listOnce(b, c, 10_000)
	for b.Loop() {
		listOnce(b, c, 10_000)
	}
}

// BenchmarkList1000OneChanged appends a line to one file before each list.
func BenchmarkList1000OneChanged(b *testing.B) {
	root, _ := corpus(b, 1000)
	c := Open(root, b.TempDir(), Options{})
	listOnce(b, c, 1000)
	files, err := Files(root)
	if err != nil {
		b.Fatal(err)
	}
	f, err := os.OpenFile(files[0], os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	line := msg("x", "user", `"more"`, "2026-01-02T00:00:00.000Z")
	for b.Loop() {
		if _, err := f.WriteString(line); err != nil {
			b.Fatal(err)
		}
		listOnce(b, c, 1000)
	}
}

// The search benchmarks look for what only one session has, the one that was
// written first and is looked at last, and print the floor beside: reading the same
// files and one bytes.Index over them.
func BenchmarkSearch(b *testing.B) {
	root, size := corpus(b, 1000)
	cache := b.TempDir()
	listOnce(b, Open(root, cache, Options{}), 1000)
	search := func(b *testing.B, words []string, limit, want int) {
		c := Open(root, cache, Options{})
		for b.Loop() {
			n := 0
			for _, err := range c.Search(context.Background(), Query{Words: words, Limit: limit}) {
				if err != nil {
					b.Fatal(err)
				}
				n++
			}
			if n != want {
				b.Fatalf("%d hits", n)
			}
		}
	}
	b.Run("FirstHitOfMany", func(b *testing.B) { search(b, []string{"lineReader"}, 1, 1) })
	b.Run("FirstHitInANewProcess", func(b *testing.B) {
		for b.Loop() {
			for _, err := range Open(root, cache, Options{}).Search(context.Background(), Query{Words: []string{"lineReader"}, Limit: 1}) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	for _, word := range []string{"zebra", "session of nobody", "漢字", "привет", "kissing"} {
		b.Run("WholeWithoutHit/"+word, func(b *testing.B) {
			b.SetBytes(size)
			search(b, []string{word}, 0, 0)
		})
	}
	b.Run("WholeOneHit", func(b *testing.B) {
		b.SetBytes(size)
		search(b, []string{"question 3 of 77:"}, 0, 1)
	})
	b.Run("WholeAllHit", func(b *testing.B) {
		b.SetBytes(size)
		search(b, []string{"lineReader"}, 0, 3000)
	})
	b.Run("FloorIndex", func(b *testing.B) {
		b.SetBytes(size)
		files, err := Files(root)
		if err != nil {
			b.Fatal(err)
		}
		needle := []byte("zebra")
		var bufs sync.Pool
		for b.Loop() {
			err := each(context.Background(), runtime.GOMAXPROCS(0), len(files), func(i int) {
				buf, _ := bufs.Get().(*[]byte)
				if buf == nil {
					p := make([]byte, slice)
					buf = &p
				}
				defer bufs.Put(buf)
				f, err := os.Open(files[i])
				if err != nil {
					b.Error(err)
					return
				}
				n, err := f.ReadAt(*buf, 0)
				if err != io.EOF || bytes.Contains((*buf)[:n], needle) {
					b.Error(err)
				}
				_ = f.Close()
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkSieve is the part of a search without files.
func BenchmarkSieve(b *testing.B) {
	conditions()
	data := []byte(strings.Repeat(sample(1), 50))
	low := make([]byte, len(data))
	for _, word := range []string{"zebra", "kissing", "漢字", "привет"} {
		s := newSieve(fold(word).text)
		b.Run(word, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				lower(low, data)
				if s.find(low, 0) >= 0 {
					b.Fatal("found")
				}
			}
		})
	}
	b.Run("FloorIndex", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if bytes.Contains(data, []byte("zebra")) {
				b.Fatal("found")
			}
		}
	})
}
