package media_test

import (
	"bytes"
	"fmt"
	"image/jpeg"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/piweb-go/piweb/fixtures/pictures"
	"github.com/piweb-go/piweb/media"
)

// BenchmarkAdmit12Megapixels admits a photograph of 4000×3000 and prints its
// conditions. The floor, in the same run, is one decoding of it by the standard
// library: whatever validates a picture has to do that. The peak is what lives at
// once, above what lived before.
func BenchmarkAdmit12Megapixels(b *testing.B) {
	data := pictures.JPEG(pictures.Photo(4000, 3000), 80)
	floor := time.Duration(1 << 62)
	for range 3 {
		start := time.Now()
		if _, err := jpeg.Decode(bytes.NewReader(data)); err != nil {
			b.Fatal(err)
		}
		floor = min(floor, time.Since(start))
	}
	limits := media.Limits{Input: 32 << 20}
	peak := peakOf(func() {
		if _, err := media.NewAdmitter(limits).Admit(b.Context(), data); err != nil {
			b.Fatal(err)
		}
	})
	b.SetBytes(int64(len(data)))
	b.ResetTimer()
	for b.Loop() {
		if _, err := media.NewAdmitter(limits).Admit(b.Context(), data); err != nil {
			b.Fatal(err)
		}
	}
	each := b.Elapsed() / time.Duration(b.N)
	b.ReportMetric(float64(peak)/(1<<20), "MiB-peak")
	b.ReportMetric(float64(each)/float64(floor), "×decode")
	fmt.Fprintf(b.Output(), "%s, %d CPUs, JPEG of 4000×3000 with %d bytes to 1999×1499; decoding alone %v\n", runtime.Version(), runtime.GOMAXPROCS(0), len(data), floor)
}

// peakOf is how far the heap grows while do runs, with the collector eager.
func peakOf(do func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, peak := m.HeapAlloc, m.HeapAlloc
	done, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		var m runtime.MemStats
		for {
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapAlloc)
			select {
			case <-done:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	do()
	close(done)
	<-watched
	return peak - before
}
