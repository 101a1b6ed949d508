package agent

import (
	"context"
	"iter"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
)

// talks answers every request with so many deltas of a few letters.
type talks struct{ deltas int }

func (talks) Info() ModelInfo { return ModelInfo{API: "a", Provider: "p", ID: "m"} }

func (m talks) Stream(context.Context, Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		for range m.deltas {
			if !yield(TextDelta{Text: "word "}, nil) {
				return
			}
		}
		yield(Stop{Reason: message.StopEnd}, nil)
	}
}

// unsynced is a transcript that does not wait for the disk: what is measured is
// the loop.
type unsynced struct{ *session.Session }

func (u unsynced) Commit(p ...session.Payload) ([]session.ID, error) { return u.Append(p...) }
func (u unsynced) Sync() error                                       { return nil }

func benchLoop(b *testing.B, m Model, emit func(Event)) *Loop {
	b.Helper()
	dir := b.TempDir()
	log, err := session.Create(session.NewSession{Dir: dir, CWD: dir}, session.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { log.Close() })
	p, _ := policy.Resolve(policy.Facts{})
	ledger, err := policy.ReadLedger(log)
	if err != nil {
		b.Fatal(err)
	}
	l, err := NewLoop(Config{Transcript: unsynced{log}, Model: m, Policy: p, Head: []byte("head"), Ledger: ledger, Emit: emit})
	if err != nil {
		b.Fatal(err)
	}
	return l
}

func benchPrompt(b *testing.B, l *Loop) {
	a, err := l.Accept(&message.User{Content: message.Content{message.Text("go")}, Timestamp: 1})
	if err == nil {
		err = l.Run(context.Background(), a)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkTurn is what one turn costs beside the model and the disk, in a young
// session; allocations are those of a whole prompt. The floor of the same run is what
// no loop can leave out: the two records of such a turn in the same kind of file.
func BenchmarkTurn(b *testing.B) {
	b.Logf("%s/%s, %d CPUs; no sync; the floor appends the message and the answer", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	b.ReportAllocs()
	floor := turnFloor(b)
	var l *Loop
	for i := 0; b.Loop(); i++ {
		if i%50 == 0 { // the context grows with each turn
			b.StopTimer()
			l = benchLoop(b, talks{1}, nil)
			b.StartTimer()
		}
		benchPrompt(b, l)
	}
	b.ReportMetric(floor, "ns-floor")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/floor, "x-floor")
}

// turnFloor is how long the records of a turn take, in nanoseconds.
func turnFloor(b *testing.B) float64 {
	b.Helper()
	const turns = 2000
	var spent time.Duration
	var log *session.Session
	for i := range turns {
		if i%50 == 0 { // as young as those of the benchmark
			dir := b.TempDir()
			var err error
			if log, err = session.Create(session.NewSession{Dir: dir, CWD: dir}, session.Options{}); err != nil {
				b.Fatal(err)
			}
			defer log.Close()
		}
		start := time.Now()
		for _, m := range []message.Message{
			&message.User{Content: message.Content{message.Text("go")}, Timestamp: 1},
			&message.Assistant{Content: message.Content{message.Text("word ")}, Provider: "p", Model: "m", API: "a", StopReason: message.StopEnd, Timestamp: 1},
		} {
			if _, err := log.Append(session.Message(m)); err != nil {
				b.Fatal(err)
			}
		}
		spent += time.Since(start)
	}
	return float64(spent.Nanoseconds()) / turns
}

// BenchmarkDelta is what one delta costs, beside the floor: ranging over the same
// stream and adding the text up.
func BenchmarkDelta(b *testing.B) {
	const deltas = 10_000
	b.Logf("%s/%s, %d CPUs; %d deltas of one word in an answer, no sync", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), deltas)
	b.Run("loop", func(b *testing.B) {
		n := 0
		for b.Loop() {
			b.StopTimer() // a history of such answers would be measured, too
			l := benchLoop(b, talks{deltas}, func(Event) { n++ })
			b.StartTimer()
			benchPrompt(b, l)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/deltas, "ns/delta")
	})
	b.Run("floor", func(b *testing.B) {
		for b.Loop() {
			var text strings.Builder
			for d := range (talks{deltas}).Stream(context.Background(), Request{}) {
				if t, ok := d.(TextDelta); ok {
					text.WriteString(t.Text)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/deltas, "ns/delta")
	})
}
