package wrapper

import (
	"context"
	"errors"
	"sync"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/message"
)

// Events of a live session beyond those of its runs.
const (
	PromptDone    agent.EventType = "prompt_done"    // a prompt has ended, well or not
	PromptError   agent.EventType = "prompt_error"   // it broke off after it was accepted
	PolicyChanged agent.EventType = "policy_changed" // another selection is in force
	EngineSwapped agent.EventType = "engine_swapped" // everything was loaded anew
	Notice        agent.EventType = "notice"         // something a person should know
	Gap           agent.EventType = "gap"            // events before this one are gone
	Shutdown      agent.EventType = "session_shutdown"
)

// Event is an event with its number. Numbers begin at 1 and have no holes; they
// go on when the engine is swapped.
type Event struct {
	Seq uint64 `json:"seq"`
	agent.Event
}

// hubSize is how many events a hub remembers at most, and hubBytes how much text
// they may hold together.
const (
	hubSize  = 8192
	hubBytes = 32 << 20
)

// hub keeps the last events of a session. Publishing never waits for anybody:
// readers have a place of their own, and one that falls too far behind is told of
// the gap. When a prompt begins or ends, what lies before the newest prompt and was
// read by everybody is forgotten: a session that is open all day holds no more than
// one that was opened now.
type hub struct {
	mu     sync.Mutex
	events []Event
	sizes  []int
	bytes  int           // of all events
	next   uint64        // number of the next event
	wake   chan struct{} // closed at the next event
	closed bool
	subs   map[*Subscription]struct{}
	begun  uint64 // number of the first event of the newest prompt
	over   bool   // that prompt has ended
}

func newHub() *hub {
	return &hub{next: 1, wake: make(chan struct{}), subs: map[*Subscription]struct{}{}, over: true}
}

func (h *hub) publish(e agent.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	size := sizeOf(e)
	h.events, h.sizes = append(h.events, Event{h.next, e}), append(h.sizes, size)
	h.bytes += size
	h.next++
	drop := h.old(e.Type)
	for i := range drop {
		h.bytes -= h.sizes[i]
		h.events[i] = Event{}
	}
	for len(h.events)-drop > hubSize || h.bytes > hubBytes && len(h.events)-drop > 1 {
		h.bytes -= h.sizes[drop]
		h.events[drop] = Event{} // let go of what it holds
		drop++
	}
	h.events, h.sizes = h.events[drop:], h.sizes[drop:]
	close(h.wake)
	h.wake = make(chan struct{})
}

// old says how many of the oldest events can be forgotten, now that one of a type was
// added.
func (h *hub) old(t agent.EventType) int {
	switch {
	case t == agent.AgentStart && h.over: // not one that tries again
		h.begun, h.over = h.next-1, false
	case t == PromptDone:
		h.over = true
	default:
		return 0
	}
	from := h.begun // a prompt is kept as a whole or not at all
	for s := range h.subs {
		from = min(from, s.at)
	}
	if oldest := h.oldest(); from > oldest {
		return int(from - oldest)
	}
	return 0
}

// sizeOf is about how many bytes an event keeps alive.
func sizeOf(e agent.Event) int {
	n := 256 + len(e.Args) + len(e.Reason) + len(e.Error)
	add := func(c message.Content) {
		for _, b := range c {
			n += len(b.Text) + len(b.Thinking) + len(b.Data) + len(b.Arguments) + len(b.Raw)
		}
	}
	if e.Message != nil {
		add(message.ContentOf(e.Message))
	}
	for _, m := range e.ToolResults {
		add(message.ContentOf(m))
	}
	for _, r := range []*agent.EventResult{e.Partial, e.Result} {
		if r != nil {
			add(r.Content)
			n += len(r.Details)
		}
	}
	if e.Update != nil {
		n += len(e.Update.Delta)
		if e.Update.Block != nil {
			add(message.Content{*e.Update.Block})
		}
	}
	return n
}

func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.closed = true
		close(h.wake)
	}
}

// oldest is the number of the oldest event that is still there.
func (h *hub) oldest() uint64 { return h.next - uint64(len(h.events)) }

// ErrEnded says that the session was closed and all its events were read.
var ErrEnded = errors.New("the session was closed")

// Subscription reads the events of a session. It is used by one goroutine.
type Subscription struct {
	h    *hub
	at   uint64
	once sync.Once
}

// subscribe begins at an event number; 0 begins with the next event.
func (h *hub) subscribe(from uint64) *Subscription {
	h.mu.Lock()
	defer h.mu.Unlock()
	if from == 0 || from > h.next {
		from = h.next
	}
	s := &Subscription{h: h, at: from}
	h.subs[s] = struct{}{}
	return s
}

// Next waits for the next event. Where events are gone because the reader was
// too slow, it is told so by one event of type Gap that has the number of the
// last lost one. After the session's end it is ErrEnded.
func (s *Subscription) Next(ctx context.Context) (Event, error) {
	for {
		s.h.mu.Lock()
		oldest, next, wake, closed := s.h.oldest(), s.h.next, s.h.wake, s.h.closed
		if s.at < oldest {
			s.at = oldest
			s.h.mu.Unlock()
			return Event{oldest - 1, agent.Event{Type: Gap}}, nil
		}
		if s.at < next {
			e := s.h.events[s.at-oldest]
			s.at++
			s.h.mu.Unlock()
			return e, nil
		}
		s.h.mu.Unlock()
		if closed {
			return Event{}, ErrEnded
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return Event{}, ctx.Err()
		}
	}
}

// Close ends the subscription. A session with subscribers is not closed for
// being idle.
func (s *Subscription) Close() {
	s.once.Do(func() {
		s.h.mu.Lock()
		delete(s.h.subs, s)
		s.h.mu.Unlock()
	})
}

func (h *hub) subscribers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.subs)
}

// upcoming is the number that the next event will have.
func (h *hub) upcoming() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.next
}
