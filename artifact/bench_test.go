package artifact

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// benchSize is one output, in bytes.
const benchSize = 1 << 30

// benchBlock is what a command may print: text of many lines, some of them with
// colours and other scripts.
func benchBlock() []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < 32<<10; i++ {
		b.WriteString("ok  \tgithub.com/piweb-go/piweb/artifact\t0.728s  (cached) and some more words of a log line\n")
		if i%50 == 0 {
			b.WriteString("\x1b[31mFAIL\x1b[0m 世界 é\n")
		}
	}
	return b.Bytes()[:32<<10]
}

// BenchmarkSink streams 1 GiB through a sink to its artifact, and in the same run
// copies the artifact with io.Copy to another file, both synced: the ratio is what
// the sink costs over the plain copy. It prints how much memory the sink took.
//
//	go test ./artifact -run NONE -bench Sink -benchtime 1x
func BenchmarkSink(b *testing.B) {
	block := benchBlock()
	var sink, plain time.Duration
	var grew uint64
	var bytesOut int64
	for b.Loop() {
		s := newStore(b, Options{MaxOutput: -1, MaxFolder: -1})
		var sum Summary
		start := time.Now()
		peak := heapPeak(func() {
			k := s.Sink("bash", SinkOptions{})
			for n := 0; n < benchSize; n += len(block) {
				_, _ = k.Write(block)
			}
			sum = k.Summary("")
		})
		sink += time.Since(start)
		if sum.Err != nil {
			b.Fatal(sum.Err)
		}
		grew = max(grew, peak)
		bytesOut = sum.TotalBytes

		start = time.Now()
		if err := copyFile(sum.ArtifactPath, filepath.Join(s.Folder(), "copy")); err != nil {
			b.Fatal(err)
		}
		plain += time.Since(start)
		_ = os.RemoveAll(s.Folder())
	}
	gb := float64(bytesOut) / (1 << 30)
	n := float64(b.N)
	b.ReportMetric(gb*n/sink.Seconds(), "GiB/s")
	b.ReportMetric(gb*n/plain.Seconds(), "copyGiB/s")
	b.ReportMetric(sink.Seconds()/plain.Seconds(), "×copy")
	b.ReportMetric(float64(grew)/(1<<20), "MiB-heap")
	b.Logf("%d bytes in pieces of %d, %s/%s, %d cores, folder %s", benchSize, len(block), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), os.TempDir())
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	// Through a buffer, as any program copies: the system's own copy moves no bytes
	// through the process, and no sink can do without that.
	_, err = io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{in}, make([]byte, 32<<10))
	if err == nil {
		err = out.Sync()
	}
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return err
}

// BenchmarkPage reads a page from the middle of 1 GiB: the first time, when its
// lines have to be found, and again.
func BenchmarkPage(b *testing.B) {
	s := newStore(b, Options{MaxOutput: -1, MaxFolder: -1})
	block := benchBlock()
	k := s.Sink("bash", SinkOptions{})
	for n := 0; n < benchSize; n += len(block) {
		_, _ = k.Write(block)
	}
	id := k.Summary("").ArtifactID
	f, err := s.Open(id)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	read := func(b *testing.B, s *Store) {
		if p, err := s.Page(context.Background(), f, 6_000_000, 500); err != nil || len(p.Lines) != 500 {
			b.Fatal(len(p.Lines), err)
		}
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			read(b, New(s.session, Options{}))
		}
	})
	b.Run("again", func(b *testing.B) {
		read(b, s)
		for b.Loop() {
			read(b, s)
		}
	})
}
