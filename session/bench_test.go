//go:build unix

package session

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The bodies of the files that benchmarks make: what a program printed, or what
// people wrote, and pictures between.
var (
	asciiText = strings.Repeat(`// next returns the next line, or io.EOF.
func (r *lineReader) next() (line, error) {
	skipped := int64(0) // bytes of a line that is too long, beyond what buf holds
	for {
		rest := r.buf[r.used:]
		if i := bytes.IndexByte(rest[searched:], '\n'); i >= 0 {
			return r.hand(rest[:searched+i], begin, skipped, true), nil
		}
		fmt.Printf("%d bytes are left\n", len(rest))
	}
}
`, 60)
	cjkText = strings.Repeat(`会话文件是程序的真相，每一行都是一条记录。读取时不会改动任何字节，写入时先加锁，再检查文件末尾是否有别的程序追加了内容。
行は改行だけで区切られ、長さの上限はありません。壊れた行はそのまま残され、診断として報告されます。
세션을 다시 열면 마지막 항목이 잎이 되고, "가지"는 뿌리에서 잎까지의 경로입니다。
`, 60)
	pictureText = strings.Repeat("iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4", 2000)
)

// bigFile writes a session of about the given size: questions, answers and tool
// results of very different length, and pictures, which are a third of the bytes.
func bigFile(b *testing.B, text string, size int) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "big.jsonl")
	if dir := os.Getenv("PIWEB_BENCH_DIR"); dir != "" { // shared with the other programs of ./bench
		path = filepath.Join(dir, fmt.Sprintf("%.3s-%d.jsonl", strings.TrimLeft(text, "/ "), size>>20))
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, `{"type":"session","version":3,"id":"big","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}`)
	var bodies [][]byte
	for _, n := range []int{200, 1500, 4000, 900, 12000, 300, len(text), 700} {
		for n = min(n, len(text)); n < len(text) && text[n]&0xC0 == 0x80; n++ {
		}
		body, _ := json.Marshal(text[:n])
		bodies = append(bodies, body)
	}
	parent, n := "null", 0
	for i := 0; n < size; i++ {
		block := fmt.Sprintf(`{"type":"text","text":%s}`, bodies[i%len(bodies)])
		if i%60 == 59 {
			block = fmt.Sprintf(`{"type":"image","data":%q,"mimeType":"image/png"}`, pictureText)
		}
		role := []string{"user", "assistant", "toolResult"}[i%3]
		k, _ := fmt.Fprintf(w, `{"type":"message","id":"%08x","parentId":%s,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":%q,"content":[%s],"timestamp":1767323046000}}`+"\n", i, parent, role, block)
		n += k
		parent = fmt.Sprintf("\"%08x\"", i)
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	return path
}

// BenchmarkStructure finds all entries of a file that is in memory, and, beside it
// in the same run, counts its line feeds: the floor of any index. The bar is a
// sixth of the floor.
func BenchmarkStructure(b *testing.B) {
	const size = 64 << 20
	for name, text := range map[string]string{"ascii": asciiText, "cjk": cjkText} {
		data, err := os.ReadFile(bigFile(b, text, size))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name+"/index", func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			used := cpuTime()
			for b.Loop() {
				s := Session{twins: map[ID][]int{}, leaf: -1, nextLine: 1, scanning: int64(len(data))}
				for rest, l := data, (line{num: 1}); len(rest) > 0; l.num++ {
					n := bytes.IndexByte(rest, '\n')
					l.data, l.whole, l.length = rest[:n], true, int64(n)
					if err := s.scanLine(l); err != nil {
						b.Fatal(err)
					}
					rest, l.offset = rest[n+1:], l.offset+int64(n+1)
				}
				if len(s.diags) > 0 || len(s.entries) == 0 {
					b.Fatal(len(s.entries), s.diags)
				}
			}
			b.ReportMetric((cpuTime()-used).Seconds()*1000/float64(b.N)*(128<<20)/float64(len(data)), "cpu-ms/128MB")
		})
		b.Run(name+"/floor", func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			used := cpuTime()
			for b.Loop() {
				if bytes.Count(data, []byte("\n")) == 0 {
					b.Fatal("no lines")
				}
			}
			b.ReportMetric((cpuTime()-used).Seconds()*1000/float64(b.N)*(128<<20)/float64(len(data)), "cpu-ms/128MB")
		})
	}
}

// BenchmarkOpen opens a large session, without an index on disk and with one, and
// one of twice the size; and, beside it in the same run, reads the file and counts
// its lines. cpu-ms is the processor time of one open, RSS-MB what the process grew
// by with the last 50 entries read.
func BenchmarkOpen(b *testing.B) {
	const size = 128 << 20
	open := func(b *testing.B, path string, o Options) {
		if s, err := Open(path, o); err != nil { // makes the index where there is to be one
			b.Fatal(err)
		} else {
			s.Close()
		}
		var grown float64
		cpu := cpuTime()
		for b.Loop() {
			before := rss()
			s, err := Open(path, o)
			if err != nil {
				b.Fatal(err)
			}
			n := 0
			for e := range s.Backward() {
				if n++; n > 50 {
					break
				}
				if _, err := s.Decode(e); err != nil {
					b.Fatal(err)
				}
			}
			grown = max(grown, rss()-before)
			s.Close()
		}
		b.ReportMetric((cpuTime()-cpu).Seconds()*1000/float64(b.N), "cpu-ms")
		b.ReportMetric(grown, "RSS-MB")
		b.ReportAllocs()
	}
	b.Run("128MB", func(b *testing.B) { open(b, bigFile(b, asciiText, size), Options{}) })
	b.Run("256MB", func(b *testing.B) { open(b, bigFile(b, asciiText, 2*size), Options{}) })
	b.Run("128MB_with_index", func(b *testing.B) { open(b, bigFile(b, asciiText, size), Options{IndexDir: b.TempDir()}) })
	b.Run("floor", func(b *testing.B) {
		path := bigFile(b, asciiText, size)
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

// BenchmarkAppend appends a message of 2 KB without a sync.
func BenchmarkAppend(b *testing.B) {
	s, err := Create(NewSession{Dir: b.TempDir(), CWD: "/w"}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	m := user(asciiText[:2000])
	b.ReportAllocs()
	used := cpuTime()
	for b.Loop() {
		if _, err := s.Append(m); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((cpuTime()-used).Microseconds())/float64(b.N), "cpu-us")
}

// cpuTime is the processor time of this process so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// rss is the memory of this process in MB, 0 where the system does not say.
func rss() float64 {
	data, _ := os.ReadFile("/proc/self/statm")
	var total, resident int
	_, _ = fmt.Sscan(string(data), &total, &resident)
	return float64(resident*os.Getpagesize()) / (1 << 20)
}

// BenchmarkOutline counts the messages of a session by decoding them, by a first
// outline, and by one that remembers; opening the file is part of each.
func BenchmarkOutline(b *testing.B) {
	path := bigFile(b, asciiText, 32<<20)
	recent := NewRecent(1 << 20)
	for _, c := range []struct {
		name string
		do   func(b *testing.B, s *Session) (*Context, error)
		opts func() Options
	}{
		{"context", func(b *testing.B, s *Session) (*Context, error) { return s.Context() }, func() Options { return Options{} }},
		{"outline-first", func(b *testing.B, s *Session) (*Context, error) { return s.Outline() }, func() Options { return Options{} }},
		{"outline-again", func(b *testing.B, s *Session) (*Context, error) { return s.Outline() }, func() Options { return Options{Recent: recent} }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s, err := Open(path, c.opts())
				if err != nil {
					b.Fatal(err)
				}
				if x, err := c.do(b, s); err != nil || len(x.Messages) != s.Len() {
					b.Fatal(err)
				}
				s.Close()
			}
		})
	}
}
