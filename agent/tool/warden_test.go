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

// escapes are commands that start a process which is hard to get rid of, and print
// its id.
var escapes = []struct{ name, script string }{
	{"in the background", "sleep 300 & echo $!"},
	{"ignores SIGTERM", `sh -c 'trap "" TERM INT HUP; echo $$; while :; do sleep 1; done' &`},
	{"a daemon in a session of its own", `setsid sh -c 'sh -c "echo \$\$; exec sleep 300" & exit 0'`},
	{"a daemon that ignores SIGTERM", `setsid sh -c 'sh -c "trap \"\" TERM INT HUP; echo \$\$; while :; do sleep 1; done" & exit 0'`},
}

// TestBashLeavesNoProcess: a stopped call leaves no process, not one that ignores
// SIGTERM, nor a daemon that took itself out of the group.
func TestBashLeavesNoProcess(t *testing.T) {
	for _, c := range escapes {
		t.Run(c.name+", aborted", func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			call := bashCall(t, t.TempDir(), c.script+"\nwait; sleep 300")
			var found atomic.Value
			call.Update = func(r Result) {
				if list := pids(t, r.Content.PlainText()); len(list) == 1 {
					found.Store(list[0])
					cancel()
				}
			}
			r := runBash(t, ctx, Options{}, call)
			pid, ok := found.Load().(int)
			if !ok {
				t.Fatalf("it told no process: %s", r.Content.PlainText())
			}
			eventually(t, fmt.Sprintf("process %d ends", pid), func() bool { return !alive(pid) })
		})
		t.Run(c.name+", at its timeout", func(t *testing.T) {
			t.Parallel()
			call := bashCall(t, t.TempDir(), "")
			call.Arguments = toolArgs(t, map[string]any{"command": c.script + "\nwait; sleep 300", "timeout": 3})
			r := runBash(t, context.Background(), Options{}, call)
			list := pids(t, strings.SplitN(r.Content.PlainText(), "\n", 2)[0])
			if len(list) != 1 {
				t.Fatalf("it told no process: %s", r.Content.PlainText())
			}
			eventually(t, fmt.Sprintf("process %d ends", list[0]), func() bool { return !alive(list[0]) })
		})
	}
}

const helperFolder = "PIWEB_TEST_WARDEN"

// TestWardenHelper is the process that TestNothingOutlivesPiweb kills.
func TestWardenHelper(t *testing.T) {
	dir := os.Getenv(helperFolder)
	if dir == "" {
		return
	}
	var all strings.Builder
	for _, c := range escapes {
		all.WriteString(c.script + "\n")
	}
	call := bashCall(t, dir, "("+all.String()+") > pids; wait; sleep 300")
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
		return len(list) == len(escapes)
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
