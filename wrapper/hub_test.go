package wrapper

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/message"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func fill(h *hub, n int) {
	for range n {
		h.publish(agent.Event{Type: agent.TurnStart})
	}
}

func TestEventsAreNumberedWithoutHoles(t *testing.T) {
	h := newHub()
	early := h.subscribe(0)
	defer early.Close()
	fill(h, 3)
	late := h.subscribe(2) // a client that has seen the first one
	defer late.Close()
	fill(h, 2)
	h.close()
	read := func(s *Subscription) (seqs []uint64) {
		for {
			e, err := s.Next(t.Context())
			if errors.Is(err, ErrEnded) {
				return seqs
			}
			if err != nil {
				t.Fatal(err)
			}
			seqs = append(seqs, e.Seq)
		}
	}
	for name, c := range map[string]struct {
		s     *Subscription
		first uint64
	}{"early": {early, 1}, "late": {late, 2}} {
		got := read(c.s)
		if len(got) != 6-int(c.first) || got[0] != c.first || got[len(got)-1] != 5 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestSlowReaderIsToldOfTheGap: a reader that falls behind never holds up the
// session and is told what it missed.
func TestSlowReaderIsToldOfTheGap(t *testing.T) {
	h := newHub()
	s := h.subscribe(0)
	defer s.Close()
	fill(h, hubSize+100)
	e, err := s.Next(t.Context())
	if err != nil || e.Type != Gap || e.Seq != 100 {
		t.Fatalf("%+v, %v; want a gap up to 100", e, err)
	}
	for want := uint64(101); want <= hubSize+100; want++ {
		if e, err = s.Next(t.Context()); err != nil || e.Seq != want {
			t.Fatalf("%+v, %v; want %d", e, err, want)
		}
	}
}

func TestWaitingReaders(t *testing.T) {
	h := newHub()
	var wg sync.WaitGroup
	for range 50 {
		s := h.subscribe(0)
		wg.Go(func() {
			defer s.Close()
			for want := uint64(1); want <= 200; want++ {
				if e, err := s.Next(t.Context()); err != nil || e.Seq != want {
					t.Errorf("%+v, %v", e, err)
					return
				}
			}
		})
	}
	fill(h, 200)
	wg.Wait()
	if n := h.subscribers(); n != 0 {
		t.Errorf("%d subscribers after the end", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := h.subscribe(0)
	defer s.Close()
	if _, err := s.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestHubIsBoundedInBytes: a few huge events push out the old ones, and the
// newest is always there.
func TestHubIsBoundedInBytes(t *testing.T) {
	h := newHub()
	big := agent.Event{Type: agent.ToolUpdate, Partial: &agent.EventResult{Content: message.Content{message.Text(strings.Repeat("x", 8<<20))}}}
	for range 20 {
		h.publish(big)
	}
	if h.bytes > hubBytes || len(h.events) == 0 || len(h.events) > 4 {
		t.Errorf("%d events, %d bytes", len(h.events), h.bytes)
	}
	h.publish(agent.Event{Type: agent.ToolUpdate, Partial: &agent.EventResult{Content: message.Content{message.Text(strings.Repeat("x", 2*hubBytes))}}})
	s := h.subscribe(21)
	defer s.Close()
	if e, err := s.Next(t.Context()); err != nil || e.Seq != 21 || e.Type != agent.ToolUpdate {
		t.Errorf("the newest event: %d %s, %v", e.Seq, e.Type, err)
	}
}

// TestHubForgets: what lies before the newest prompt goes when all have read it; a
// prompt is kept as a whole, and so is what somebody has not read yet.
func TestHubForgets(t *testing.T) {
	h := newHub()
	prompt := func(events int) {
		h.publish(agent.Event{Type: agent.AgentStart})
		fill(h, events-3)
		h.publish(agent.Event{Type: agent.AgentStart}) // tried again
		h.publish(agent.Event{Type: PromptDone})
	}
	reader := h.subscribe(0)
	defer reader.Close()
	slow := h.subscribe(0)
	read := func(s *Subscription, events int) {
		t.Helper()
		for range events {
			if e, err := s.Next(t.Context()); err != nil || e.Type == Gap {
				t.Fatalf("%+v, %v", e, err)
			}
		}
	}
	for range 20 {
		prompt(200)
		read(reader, 200)
	}
	if len(h.events) != 4000 {
		t.Errorf("%d events are kept for a reader who has read none", len(h.events))
	}
	read(slow, 4000)
	slow.Close()
	prompt(200)
	read(reader, 200)
	if len(h.events) != 200 {
		t.Errorf("%d events are kept", len(h.events))
	}
	prompt(3000)
	read(reader, 3000)
	if late := h.subscribe(h.begun); len(h.events) != 3000 {
		t.Errorf("of a prompt with 3000 events %d are kept", len(h.events))
	} else {
		read(late, 3000)
		late.Close()
	}
	prompt(200)
	read(reader, 200)
	prompt(200)
	if len(h.events) != 200 || len(h.sizes) != 200 {
		t.Errorf("%d events are kept", len(h.events))
	}
	bytes := 0
	for _, n := range h.sizes {
		bytes += n
	}
	if bytes != h.bytes {
		t.Errorf("the events hold %d bytes, and it counts %d", bytes, h.bytes)
	}
}
