//go:build unix

package catalog

import (
	"syscall"
	"testing"
	"time"
)

// BenchmarkListCPU is BenchmarkList1000WithoutCache by processor time: the list
// reads with all processors.
func BenchmarkListCPU(b *testing.B) {
	root, _ := corpus(b, 1000)
	used := func() time.Duration {
		var u syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	for b.Loop() {
		listOnce(b, Open(root, "", Options{}), 1000)
	}
	b.ReportMetric((used()-before).Seconds()*1000/float64(b.N), "cpu-ms")
}
