package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkIdle prints the resident memory of the serving binary with 1 000
// sessions in its folder: after the start, and after a browser has asked for the
// list twice, and ten seconds later. It measures once, whatever b.N is.
//
//	go test ./cmd/piweb -run xxx -bench Idle -benchtime 1x
func BenchmarkIdle(b *testing.B) {
	home := b.TempDir()
	bin := filepath.Join(home, "piweb")
	if out, err := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	dir := filepath.Join(home, ".pi", "agent", "sessions", "--w--")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	line := `{"type":"message","id":"%08x","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"` + strings.Repeat("word ", 200) + `"}}` + "\n"
	for i := range 1000 {
		var f strings.Builder
		fmt.Fprintf(&f, `{"type":"session","version":3,"id":"s%d","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}`+"\n", i)
		for k := range 20 {
			fmt.Fprintf(&f, line, k)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("x_s%d.jsonl", i)), []byte(f.String()), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	cmd := exec.Command(bin, "serve", "--json", "--port", "0")
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = cmd.Process.Signal(syscall.SIGTERM); _ = cmd.Wait() }()
	first, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	_, link, _ := strings.Cut(first, `"url":"`)
	link, _, _ = strings.Cut(link, `"`)
	base, token, _ := strings.Cut(link, "?token=")
	b.Logf("%s/%s, %s, 1000 sessions of 22 KB", runtime.GOOS, runtime.GOARCH, runtime.Version())
	b.ReportMetric(resident(b, cmd.Process.Pid), "MB-started")
	var took time.Duration
	for range 2 {
		req, _ := http.NewRequest("GET", base+"api/sessions?limit=50", nil)
		req.Header.Set("Authorization", "Bearer "+token)
		start := time.Now()
		res, err := http.DefaultClient.Do(req)
		if err != nil || res.StatusCode != 200 {
			b.Fatal(res, err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		took = time.Since(start)
	}
	http.DefaultClient.CloseIdleConnections()
	b.ReportMetric(float64(took.Milliseconds()), "ms-second-list")
	b.ReportMetric(resident(b, cmd.Process.Pid), "MB-listed")
	time.Sleep(10 * time.Second) // idle is what it is after a while
	b.ReportMetric(resident(b, cmd.Process.Pid), "MB-idle")
}

// resident reads the resident memory of a process, in MB.
func resident(b *testing.B, pid int) float64 {
	b.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), "VmRSS:")
	var kb float64
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		b.Fatal(err)
	}
	return kb / 1024
}
