package piweb_test

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/fixtures/pictures"
)

// BenchmarkExternalize moves the pictures of a session of 100 MB to blobs and
// prints its conditions. The floor, in the same run, is writing and syncing the
// decoded pictures, one file each: whatever keeps them has to do that.
func BenchmarkExternalize(b *testing.B) {
	const pics, size = 200, 374_544
	dir := b.TempDir()
	source := filepath.Join(dir, "sessions", "s.jsonl")
	if err := os.MkdirAll(filepath.Dir(source), 0o700); err != nil {
		b.Fatal(err)
	}
	f, err := os.Create(source)
	if err != nil {
		b.Fatal(err)
	}
	out := bufio.NewWriter(f)
	fmt.Fprintln(out, `{"type":"session","version":3,"id":"x","timestamp":"2026-08-01T10:00:00.000Z","cwd":"/"}`)
	data := make([][]byte, pics)
	for i := range data {
		data[i] = pictures.Noise(306, 306, uint64(i)).Pix[:size]
		fmt.Fprintf(out, `{"type":"message","id":"%08x","parentId":null,"timestamp":"2026-08-01T10:00:00.000Z","message":{"role":"user","content":[{"type":"image","data":"%s","mimeType":"image/png"}],"timestamp":1}}`+"\n",
			i, base64.StdEncoding.EncodeToString(data[i]))
	}
	if err := out.Flush(); err != nil {
		b.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	f.Close()
	rt, err := piweb.New(piweb.Config{Home: dir, AgentDir: filepath.Join(dir, "agent"), Providers: model.Registry{}, Lookup: func(string) (string, bool) { return "", false }})
	if err != nil {
		b.Fatal(err)
	}
	defer rt.Close()

	start := time.Now()
	plain := filepath.Join(dir, "plain")
	if err := os.Mkdir(plain, 0o700); err != nil {
		b.Fatal(err)
	}
	for i, d := range data {
		f, err := os.Create(filepath.Join(plain, fmt.Sprint(i)))
		if err == nil {
			_, err = f.Write(d)
		}
		if err == nil {
			err = f.Sync()
		}
		f.Close()
		if err != nil {
			b.Fatal(err)
		}
	}
	floor := time.Since(start)
	b.SetBytes(info.Size())
	n := 0
	for b.Loop() {
		b.StopTimer() // each time into an empty folder
		n++
		target := filepath.Join(dir, fmt.Sprint("run", n), "sessions", "out.jsonl")
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		c, err := rt.Externalize(b.Context(), source, target)
		if err != nil || c.Moved != pics {
			b.Fatal(err, c.Moved)
		}
	}
	each := b.Elapsed() / time.Duration(b.N)
	b.ReportMetric(float64(each)/float64(floor), "×write+sync")
	fmt.Fprintf(b.Output(), "%s, %d CPUs, %d pictures of %d bytes, session of %d bytes; writing and syncing them alone %v\n", runtime.Version(), runtime.GOMAXPROCS(0), pics, size, info.Size(), floor)
}
