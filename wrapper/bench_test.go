package wrapper

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/piweb-go/piweb/agent"
)

// BenchmarkHundredSubscribers publishes deltas to a hub that a hundred read, one of
// them slowly. What counts is how long publishing takes, because a run waits for
// it, and how late the others hear of it.
func BenchmarkHundredSubscribers(b *testing.B) {
	const events = 2000
	pct := func(list []time.Duration, p int) time.Duration { return list[min(len(list)-1, len(list)*p/100)] }
	run := func(b *testing.B, readers int, slow bool) {
		var waits, late []time.Duration
		for b.Loop() {
			h := newHub()
			var mu sync.Mutex
			sent := make([]time.Time, events+1)
			var wg sync.WaitGroup
			ctx, stop := context.WithCancel(context.Background())
			for i := range readers {
				sub := h.subscribe(1)
				wg.Go(func() {
					defer sub.Close()
					for {
						e, err := sub.Next(ctx)
						if err != nil || ctx.Err() != nil {
							return
						}
						if slow && i == 0 {
							time.Sleep(10 * time.Millisecond)
							continue
						}
						if i == 1 && e.Seq < events {
							mu.Lock()
							late = append(late, time.Since(sent[e.Seq]))
							mu.Unlock()
						}
						if e.Seq == events {
							return
						}
					}
				})
			}
			for i := range events {
				start := time.Now()
				mu.Lock()
				sent[i+1] = start
				mu.Unlock()
				h.publish(agent.Event{Type: agent.MessageEvent, Update: &agent.Update{Type: "text_delta", Delta: "word "}})
				waits = append(waits, time.Since(start))
				time.Sleep(20 * time.Microsecond) // a fast model: fifty thousand deltas a second at most
			}
			time.AfterFunc(100*time.Millisecond, stop)
			wg.Wait()
			stop()
		}
		slices.Sort(waits)
		slices.Sort(late)
		b.ReportMetric(float64(pct(waits, 99).Microseconds()), "µs-publish-p99")
		b.ReportMetric(float64(pct(waits, 50).Nanoseconds())/1000, "µs-publish-p50")
		if len(late) > 0 {
			b.ReportMetric(float64(pct(late, 99).Microseconds())/1000, "ms-late-p99")
		}
	}
	b.Logf("%s/%s, %d CPUs; %d deltas", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), events)
	b.Run("nobody", func(b *testing.B) { run(b, 0, false) })
	b.Run("hundred", func(b *testing.B) { run(b, 100, false) })
	b.Run("hundred-one-slow", func(b *testing.B) { run(b, 100, true) })
}
