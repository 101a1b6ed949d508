package tool

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// manyFiles makes small files of source text in a repository.
func manyFiles(b *testing.B, count int) (dir string, total int) {
	dir = b.TempDir()
	for i := range count {
		var text strings.Builder
		for line := range 30 {
			fmt.Fprintf(&text, "\tvalue%d := compute(%d, \"some text\") // step %d\n", line, i*line, line)
		}
		if i%1000 == 999 {
			text.WriteString("\tfunc theNeedle() error\n")
		}
		name := filepath.Join(dir, fmt.Sprintf("pkg%02d", i%50), fmt.Sprintf("part%d", i%1000/50), fmt.Sprintf("file_%d.go", i))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text.String()), 0o644); err != nil {
			b.Fatal(err)
		}
		total += text.Len()
	}
	for name, text := range map[string]string{".git/HEAD": "", ".gitignore": "node_modules/\n*.log\n/dist\nbuild/\n.env*\n!.env.example\n*.py[cod]\n"} {
		path := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return dir, total
}

// BenchmarkGrep compares the tool with the least that a search can do in one
// goroutine: walk, read each file, and look for a text in its bytes.
func BenchmarkGrep(b *testing.B) {
	dir, total := manyFiles(b, 20_000)
	b.Logf("20 000 files of %d bytes in 1 000 folders, warm cache, %d cores", total/20_000, runtime.GOMAXPROCS(0))
	floor := func() time.Duration {
		start := time.Now()
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				data, _ := os.ReadFile(path)
				bytes.Contains(data, []byte("theNeedle"))
			}
			return nil
		})
		return time.Since(start)
	}
	tool := NewGrep(hermetic(Options{TempDir: b.TempDir()}))
	for _, c := range []struct{ name, args string }{
		{"literal", `{"pattern":"theNeedle","literal":true}`},
		{"expression with a text", `{"pattern":"the(Needle|Thread)\\(\\)"}`},
		{"expression without a text", `{"pattern":"the[N]eed|[N]o+Thread"}`},
		{"ignoreCase", `{"pattern":"theneedle","ignoreCase":true}`},
		{"context", `{"pattern":"theNeedle","context":3}`},
		{"limit met at once", `{"pattern":"compute"}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			base := floor()
			for b.Loop() {
				if r := callTool(b, tool, dir, c.args); r.IsError {
					b.Fatal(r.Content.PlainText())
				}
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(base), "x-floor")
		})
	}
}

// BenchmarkFind compares the tool with a plain walk.
func BenchmarkFind(b *testing.B) {
	dir, _ := manyFiles(b, 20_000)
	b.Logf("20 000 files in 1 000 folders, warm cache, %d cores", runtime.GOMAXPROCS(0))
	tool := NewFind(hermetic(Options{TempDir: b.TempDir()}))
	start := time.Now()
	filepath.WalkDir(dir, func(string, fs.DirEntry, error) error { return nil })
	base := time.Since(start)
	for b.Loop() {
		callTool(b, tool, dir, `{"pattern":"file_1999?.go"}`)
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(base), "x-WalkDir")
}

// BenchmarkLongLine searches a file of one line.
func BenchmarkLongLine(b *testing.B) {
	dir := b.TempDir()
	text := strings.Repeat("var a=function(b){return b+1};", 300_000) // 9 MB
	if err := os.WriteFile(filepath.Join(dir, "min.js"), []byte(text+"theNeedle"), 0o644); err != nil {
		b.Fatal(err)
	}
	tool := NewGrep(hermetic(Options{TempDir: b.TempDir()}))
	for _, args := range []string{`{"pattern":"theNeedle"}`, `{"pattern":"theNeedle","literal":true}`, `{"pattern":"[Nn]e{2}dle"}`} {
		b.Run(args, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				callTool(b, tool, dir, args)
			}
		})
	}
}
