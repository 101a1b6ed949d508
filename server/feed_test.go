package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/server/wire"
	"github.com/piweb-go/piweb/wrapper"
)

// tape is a source that plays what a test says.
type tape struct {
	mu     sync.Mutex
	events []wrapper.Event
	wake   chan struct{}
	ended  bool
	busy   bool
	subs   int
}

func newTape() *tape { return &tape{wake: make(chan struct{})} }

func (tp *tape) say(events ...agent.Event) {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	for _, e := range events {
		tp.events = append(tp.events, wrapper.Event{Seq: uint64(len(tp.events) + 1), Event: e})
		tp.busy = tp.busy || e.Type == agent.AgentStart
		if e.Type == wrapper.PromptDone {
			tp.busy = false
		}
	}
	close(tp.wake)
	tp.wake = make(chan struct{})
}

func (tp *tape) subscribe(from uint64) events {
	tp.mu.Lock()
	defer tp.mu.Unlock()
	tp.subs++
	return &tapeReader{tp, int(max(from, 1)) - 1}
}

func (tp *tape) running() bool       { tp.mu.Lock(); defer tp.mu.Unlock(); return tp.busy }
func (tp *tape) closed() bool        { tp.mu.Lock(); defer tp.mu.Unlock(); return tp.ended }
func (tp *tape) policy() wire.Policy { return wire.Policy{} }
func (tp *tape) attend() func()      { return func() {} }

type tapeReader struct {
	tp *tape
	at int
}

func (r *tapeReader) Next(ctx context.Context) (wrapper.Event, error) {
	for {
		r.tp.mu.Lock()
		wake, ended := r.tp.wake, r.tp.ended
		if r.at < len(r.tp.events) {
			e := r.tp.events[r.at]
			r.at++
			r.tp.mu.Unlock()
			return e, nil
		}
		r.tp.mu.Unlock()
		if ended {
			return wrapper.Event{}, wrapper.ErrEnded
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return wrapper.Event{}, ctx.Err()
		}
	}
}

func (r *tapeReader) Close() {
	r.tp.mu.Lock()
	defer r.tp.mu.Unlock()
	r.tp.subs--
}

func delta(text string) agent.Event {
	return agent.Event{Type: agent.MessageEvent, Update: &agent.Update{Type: "text_delta", Delta: text}}
}

func newTestFeeds(t *testing.T, limit int) *feeds {
	fs := newFeeds(slog.New(slog.DiscardHandler), time.Now, limit)
	t.Cleanup(fs.close)
	return fs
}

func answerOf(text string) []agent.Event {
	return []agent.Event{
		{Type: agent.MessageEnd, Message: &message.Assistant{Content: message.Content{message.Text(text)}, StopReason: message.StopEnd}},
		{Type: agent.TurnEnd}, {Type: agent.AgentEnd}, {Type: wrapper.PromptDone},
	}
}

// sync waits until the feed has taken everything of the tape.
func (f *feed) sync(t *testing.T, tp *tape) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		f.mu.Lock()
		at := f.pos
		f.mu.Unlock()
		tp.mu.Lock()
		n := uint64(len(tp.events))
		tp.mu.Unlock()
		if at > n {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the feed does not follow")
		}
	}
}

// read returns the words of what a reader gets now.
func read(t *testing.T, r *reader) []string {
	t.Helper()
	var out []string
	last := int64(-1)
	for {
		batch, _, err := r.next(1 << 10)
		if err != nil {
			return append(out, err.Error())
		}
		if len(batch) == 0 {
			return out
		}
		for _, rec := range batch {
			if rec.id <= last {
				t.Errorf("id %d after %d", rec.id, last)
			}
			last = rec.id
			var f frame
			f.kind = string(rec.kind)
			if err := json.Unmarshal(rec.data, &f.data); err != nil {
				t.Fatal(err)
			}
			out = append(out, f.String())
		}
	}
}

// TestTurnTooLongToKeep: of a turn that outgrows the feed, whoever comes late
// gets its start, a word on the gap, its last answer and its end. Who was there
// from the start and kept up gets all of it. The memory stays bounded.
func TestTurnTooLongToKeep(t *testing.T) {
	const limit = 64 << 10
	fs, tp := newTestFeeds(t, limit), newTape()
	f := fs.follow("k", tp, false)
	early, _ := f.attach(-1, false)
	stalled, _ := f.attach(-1, false)
	read(t, early)
	tp.say(agent.Event{Type: agent.AgentStart}, agent.Event{Type: agent.TurnStart})
	var heard int
	word := strings.Repeat("x", 100)
	for range 2000 {
		tp.say(delta(word))
		f.sync(t, tp)
		heard += strings.Count(strings.Join(read(t, early), " "), word)
		f.mu.Lock()
		if f.bytes > limit+1<<10 {
			t.Fatalf("the feed holds %d bytes", f.bytes)
		}
		f.mu.Unlock()
	}
	late, _ := f.attach(-1, false)
	lost, _ := f.attach(f.turn.firstID, false) // it had the start, and then lost its connection
	near, _ := f.attach(f.nextID-stride, false)
	tp.say(answerOf("the whole answer")...)
	f.sync(t, tp)
	heard += strings.Count(strings.Join(read(t, early), " "), word)
	if heard != 2000 {
		t.Errorf("the early reader heard %d words", heard)
	}
	want := []string{"session-status", "state busy=true", "queue", "start", "error", "state busy=false",
		"start-step", "text-start", "text-delta the whole answer", "text-end", "finish-step", "finish"}
	for name, r := range map[string]*reader{"late": late, "lost": lost} {
		if got := read(t, r); !slices.Equal(got, want) {
			t.Errorf("the %s reader got %v, want %v", name, got, want)
		}
	}
	if got := read(t, near); !slices.Equal(got, []string{"session-status", "state busy=true", "queue", "finish-step", "state busy=false", "finish"}) {
		t.Errorf("who lost nothing got %v", got)
	}
	if got := read(t, stalled); !slices.Contains(got, errSlow.Error()) {
		t.Errorf("the stalled reader got %d frames", len(got))
	}
	for _, r := range []*reader{early, stalled, late, lost, near} {
		r.close()
	}
	if f.bytes > 8<<10 {
		t.Errorf("afterwards the feed holds %d bytes", f.bytes)
	}
}

// TestUnseenTurnTooLongToKeep: nobody listened at all, whether the feed followed
// the turn or looks at it afterwards.
func TestUnseenTurnTooLongToKeep(t *testing.T) {
	for _, followed := range []bool{true, false} {
		fs, tp := newTestFeeds(t, 16<<10), newTape()
		f := fs.follow("k", tp, followed)
		tp.say(agent.Event{Type: agent.AgentStart}, agent.Event{Type: agent.TurnStart})
		for range 500 {
			tp.say(delta(strings.Repeat("x", 100)))
		}
		tp.say(answerOf("the whole answer")...)
		if followed {
			f.sync(t, tp)
			f.unhold()
		}
		r, _ := f.attach(-1, false)
		want := []string{"session-status", "state busy=false", "queue", "start", "error",
			"start-step", "text-start", "text-delta the whole answer", "text-end", "finish-step", "finish"}
		if got := read(t, r); !slices.Equal(got, want) {
			t.Errorf("followed %t: got %v, want %v", followed, got, want)
		}
		second, _ := f.attach(-1, false)
		if got := read(t, second); len(got) != 3 {
			t.Errorf("followed %t: the second reader got %v", followed, got)
		}
		r.close()
		second.close()
	}
}

// TestPreliminaryOutputsGiveWay: before anything is lost, outputs go that newer
// ones replace.
func TestPreliminaryOutputsGiveWay(t *testing.T) {
	fs, tp := newTestFeeds(t, 64<<10), newTape()
	f := fs.follow("k", tp, false)
	r, _ := f.attach(-1, false)
	tp.say(agent.Event{Type: agent.AgentStart}, agent.Event{Type: agent.TurnStart}, agent.Event{Type: agent.ToolStart, ToolCallID: "c", ToolName: "bash"})
	for range 100 {
		tp.say(agent.Event{Type: agent.ToolUpdate, ToolCallID: "c", Partial: &agent.EventResult{Content: message.Content{message.Text(strings.Repeat("o", 4<<10))}}})
	}
	f.sync(t, tp)
	r.close()
	late, _ := f.attach(-1, false)
	got := read(t, late)
	if got[3] != "start" || got[4] != "start-step" || got[5] != "tool-input-available" || len(got) > 25 || got[len(got)-1] != "tool-output-available" {
		t.Errorf("got %d: %v", len(got), got)
	}
	late.close()
	tp.say(answerOf("x")...)
	f.sync(t, tp)
}

// TestFeedsAreForgotten: feeds do not pile up.
func TestFeedsAreForgotten(t *testing.T) {
	fs := newTestFeeds(t, 1<<20)
	for i := range 100 {
		tp := newTape()
		f := fs.follow(string(rune('a'+i)), tp, false)
		r, ok := f.attach(-1, false)
		if !ok {
			t.Fatal("no reader")
		}
		r.close()
		tp.mu.Lock()
		tp.ended = true
		tp.mu.Unlock()
	}
	if n := len(fs.all); n > 2 {
		t.Errorf("%d feeds are kept", n)
	}
}

// TestIDsGrowOverLives: a feed that was forgotten, even in another process, goes
// on above.
func TestIDsGrowOverLives(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	fs := newFeeds(slog.New(slog.DiscardHandler), func() time.Time { return now }, 1<<20)
	defer fs.close()
	last := int64(0)
	for life := range 5 {
		tp := newTape()
		f := fs.follow("k", tp, false)
		r, _ := f.attach(last, false)
		tp.say(agent.Event{Type: agent.AgentStart}, agent.Event{Type: wrapper.PromptDone})
		f.sync(t, tp)
		for {
			batch, _, err := r.next(1 << 20)
			if err != nil || len(batch) == 0 {
				break
			}
			for _, rec := range batch {
				if rec.id <= last || rec.id >= maxEventID {
					t.Fatalf("life %d: id %d after %d", life, rec.id, last)
				}
				last = rec.id
			}
		}
		r.close()
		tp.mu.Lock()
		tp.ended = true
		tp.mu.Unlock()
	}
}
