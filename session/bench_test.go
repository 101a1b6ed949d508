package session

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// bigFile writes a session of about the given size: questions, answers, tool
// results of very different length, and pictures.
func bigFile(b *testing.B, size int) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "big.jsonl")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, `{"type":"session","version":3,"id":"big","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}`)
	lengths := []int{200, 1500, 4000, 900, 12000, 300, 50000, 700}
	parent, n := "null", 0
	for i := 0; n < size; i++ {
		text := strings.Repeat("line of output \\\"quoted\\\" 漢字\\n", lengths[i%len(lengths)]/30)
		if i%100 == 99 {
			text = strings.Repeat("QUJDREVGR0hJSktMTU5PUA", 20000)
		}
		role := []string{"user", "assistant", "toolResult"}[i%3]
		k, _ := fmt.Fprintf(w, `{"type":"message","id":"%08x","parentId":%s,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":%q,"content":[{"type":"text","text":"%s"}],"timestamp":1767323046000}}`+"\n", i, parent, role, text)
		n += k
		parent = fmt.Sprintf("\"%08x\"", i)
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	return path
}

// BenchmarkOpen opens a large session, without an index on disk and with one, and,
// beside it in the same run, reads the file and counts its lines: the floor of any
// index. Compare the MB/s.
func BenchmarkOpen(b *testing.B) {
	const size = 128 << 20
	path := bigFile(b, size)
	b.Logf("%s/%s, %d CPUs, %s, %d MB", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), size>>20)
	b.Run("open", func(b *testing.B) {
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			s, err := Open(path, Options{})
			if err != nil {
				b.Fatal(err)
			}
			s.Close()
		}
	})
	b.Run("open with index", func(b *testing.B) {
		b.SetBytes(size)
		o := Options{IndexDir: b.TempDir()}
		b.ReportAllocs()
		for b.Loop() {
			s, err := Open(path, o)
			if err != nil {
				b.Fatal(err)
			}
			s.Close()
		}
	})
	b.Run("floor", func(b *testing.B) {
		b.SetBytes(size)
		buf := make([]byte, scanBlock)
		for b.Loop() {
			f, err := os.Open(path)
			if err != nil {
				b.Fatal(err)
			}
			n := 0
			for {
				k, err := f.Read(buf)
				n += bytes.Count(buf[:k], []byte("\n"))
				if err != nil {
					break
				}
			}
			f.Close()
			if n == 0 {
				b.Fatal("no lines")
			}
		}
	})
}
