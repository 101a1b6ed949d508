//go:build linux

package tool

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// escape starts processes that are hard to get rid of: one in the group, one that
// ignores SIGTERM, and a daemon in a session of its own whose parent is gone.
const escape = `sleep 300 & echo $!
sh -c 'trap "" TERM INT HUP; echo $$; while :; do sleep 1; done' &
setsid sh -c 'sh -c "echo \$\$; exec sleep 300" & exit 0'
`

// TestBashKillsDaemons: a stopped call leaves no process, not even one that took
// itself out of the group.
func TestBashKillsDaemons(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	call := bashCall(t, t.TempDir(), escape+"wait")
	var found atomic.Value
	call.Update = func(r Result) {
		if list := pids(t, r.Content.PlainText()); len(list) == 3 {
			found.Store(list)
			cancel()
		}
	}
	runBash(t, ctx, Options{}, call)
	for _, pid := range found.Load().([]int) {
		eventually(t, fmt.Sprintf("process %d ends", pid), func() bool { return !alive(pid) })
	}
}

const helperFolder = "PIWEB_TEST_WARDEN"

// TestWardenHelper is the process that TestNothingOutlivesPiweb kills.
func TestWardenHelper(t *testing.T) {
	dir := os.Getenv(helperFolder)
	if dir == "" {
		return
	}
	call := bashCall(t, dir, "("+strings.ReplaceAll(escape, "\n", "\n")+") > pids; wait; sleep 300")
	runBash(t, context.Background(), Options{}, call)
}

// TestNothingOutlivesPiweb: where piweb itself is killed, its commands end.
func TestNothingOutlivesPiweb(t *testing.T) {
	dir := t.TempDir()
	helper := exec.Command(os.Args[0], "-test.run=^TestWardenHelper$")
	helper.Env = append(os.Environ(), helperFolder+"="+dir)
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	var list []int
	eventually(t, "the command has started its processes", func() bool {
		data, _ := os.ReadFile(filepath.Join(dir, "pids"))
		list = pids(t, string(data))
		return len(list) == 3
	})
	for _, pid := range list {
		if !alive(pid) {
			t.Errorf("process %d does not run", pid)
		}
	}
	if err := helper.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = helper.Wait()
	for _, pid := range list {
		eventually(t, fmt.Sprintf("process %d ends", pid), func() bool { return !alive(pid) })
	}
}

// BenchmarkBashTwoGigabytes prints 2 GB and measures how far the heap grows. The
// bound that we state is 32 MiB.
func BenchmarkBashTwoGigabytes(b *testing.B) {
	for b.Loop() {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		before, peak := stats.HeapInuse, uint64(0)
		call := &Call{ID: "c", Name: "bash", CWD: b.TempDir(), Arguments: []byte(`{"command":"yes 'a line of output, as programs print them' | head -c 2147483648"}`)}
		call.Update = func(Result) {
			runtime.ReadMemStats(&stats)
			peak = max(peak, stats.HeapInuse)
		}
		tool := NewBash(Options{TempDir: b.TempDir()})
		tool.spillLimit = 64 << 20
		start := time.Now()
		r, err := tool.Run(context.Background(), call)
		if err != nil || r.IsError {
			b.Fatal(err, r.Content.PlainText())
		}
		grown := (float64(peak) - float64(before)) / (1 << 20)
		if grown > 32 {
			b.Fatalf("the heap grew by %.1f MiB", grown)
		}
		b.ReportMetric(grown, "MiB-heap")
		b.ReportMetric(2048/time.Since(start).Seconds(), "MiB/s")
	}
}
