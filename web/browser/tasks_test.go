package browser

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
)

// task is something that kept the page's thread busy.
type task struct {
	wall, cpu time.Duration // cpu is what the thread itself had of the processor
}

// tasks traces the browser while do runs and returns what the threads of pages did
// in the meantime, the one that took the most of the processor first. The time of
// the processor is the same on a machine that does much else.
func (b *tab) tasks(do func()) []task {
	b.t.Helper()
	var mu sync.Mutex
	var events []traceEvent
	ended := make(chan struct{})
	ctx, stop := context.WithCancel(b.ctx)
	defer stop()
	err := chromedp.ListenBrowser(ctx, func(ev any) {
		switch e := ev.(type) {
		case *tracing.EventDataCollected:
			mu.Lock()
			defer mu.Unlock()
			for _, v := range e.Value {
				var t traceEvent
				if json.Unmarshal(v, &t) == nil && (t.Name == "RunTask" || t.Name == "thread_name") {
					events = append(events, t)
				}
			}
		case *tracing.EventTracingComplete:
			close(ended)
		}
	})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := chromedp.CallBrowser(ctx, tracing.Start, tracing.StartParams{TransferMode: tracing.StartTransferModeReportEvents,
		TraceConfig: &tracing.TraceConfig{IncludedCategories: []string{"disabled-by-default-devtools.timeline"}}}); err != nil {
		b.t.Fatal(err)
	}
	do()
	if _, err := chromedp.CallBrowser(ctx, tracing.End, struct{}{}); err != nil {
		b.t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(6 * patience): // it is long
		b.t.Fatal("the trace does not end")
	}
	mu.Lock()
	defer mu.Unlock()
	pages := map[[2]int64]bool{}
	for _, e := range events {
		if e.Name == "thread_name" && e.Args.Name == "CrRendererMain" {
			pages[[2]int64{e.PID, e.TID}] = true
		}
	}
	var all []task
	for _, e := range events {
		if e.Name == "RunTask" && pages[[2]int64{e.PID, e.TID}] {
			all = append(all, task{time.Duration(e.Dur) * time.Microsecond, time.Duration(e.TDur) * time.Microsecond})
		}
	}
	slices.SortFunc(all, func(x, y task) int { return int(y.cpu - x.cpu) })
	return all
}

// traceEvent is what of an event of a trace is looked at. Times are in microseconds.
type traceEvent struct {
	Name     string
	PID, TID int64
	Dur      int64
	TDur     int64 `json:"tdur"`
	Args     struct{ Name string }
}
