package wrapper

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/message"
)

// QueueMode says how many waiting messages go in at once.
type QueueMode string

// The modes, as in pi's settings.
const (
	OneAtATime QueueMode = "one-at-a-time" // the default
	AllAtOnce  QueueMode = "all"
)

// A queue holds at most so many messages, and so many bytes of text.
const (
	maxWaiting      = 64
	maxWaitingBytes = 1 << 20
)

// ErrQueueFull says that too much waits already.
var ErrQueueFull = errors.New("too many messages wait already")

// line is one of the two queues of a session.
type line int

const (
	steering line = iota // goes in before the next request
	followUp             // goes in when nothing else is left
)

// queue holds what was said while a run is on. It lives in memory, as pi's does:
// a message is in the file once a run has taken it. Being stopped leaves it full.
type queue struct {
	mu    sync.Mutex
	lines [2][]agent.Said
	modes [2]QueueMode
	bytes int
	open  bool // a run is on that will look again
	taken struct {
		line line
		msgs []agent.Said
	}
	tell func(agent.Event)
}

// begin opens the queue for a run.
func (q *queue) begin() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open = true
}

// end closes it.
func (q *queue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.open = false
}

func (q *queue) isOpen() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.open
}

func (q *queue) setModes(steer, follow QueueMode) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.modes = [2]QueueMode{steer, follow}
}

// put adds a message; ok is false where no run would take it.
func (q *queue) put(l line, m agent.Said) (ok bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.open {
		return false, nil
	}
	size := sizeOf(agent.Event{Message: m.Said()})
	if n := len(q.lines[0]) + len(q.lines[1]); n >= maxWaiting || q.bytes+size > maxWaitingBytes {
		return false, fmt.Errorf("%w: %d of at most %d, and %d KiB of text at most; wait until some were taken, or take them back", ErrQueueFull, n, maxWaiting, maxWaitingBytes>>10)
	}
	q.lines[l] = append(q.lines[l], m)
	q.bytes += size
	q.publish()
	return true, nil
}

func (q *queue) publish() {
	w := q.waiting()
	q.tell(agent.Event{Type: agent.QueueUpdate, Waiting: &w})
}

func (q *queue) waiting() agent.Waiting {
	texts := func(l line) []string {
		out := make([]string, len(q.lines[l]))
		for i, m := range q.lines[l] {
			out[i] = message.ContentOf(m.Said()).PlainText()
		}
		return out
	}
	return agent.Waiting{Steering: texts(steering), FollowUp: texts(followUp)}
}

// take takes what the mode lets go in at once.
func (q *queue) take(l line) []agent.Said {
	n := len(q.lines[l])
	if n == 0 {
		return nil
	}
	if q.modes[l] != AllAtOnce {
		n = 1
	}
	msgs := q.lines[l][:n:n]
	q.lines[l] = q.lines[l][n:]
	q.taken.line, q.taken.msgs = l, msgs
	for _, m := range msgs {
		q.bytes -= sizeOf(agent.Event{Message: m.Said()})
	}
	q.publish()
	return msgs
}

// Steering is agent.Queue's.
func (q *queue) Steering() []agent.Said {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.take(steering)
}

// Last is agent.Queue's.
func (q *queue) Last() []agent.Said {
	q.mu.Lock()
	defer q.mu.Unlock()
	msgs := q.take(steering)
	if msgs == nil {
		msgs = q.take(followUp)
	}
	q.open = msgs != nil
	return msgs
}

// Return is agent.Queue's.
func (q *queue) Return() {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.taken.line
	for _, m := range q.taken.msgs {
		q.bytes += sizeOf(agent.Event{Message: m.Said()})
	}
	q.lines[l] = append(q.taken.msgs, q.lines[l]...)
	q.taken.msgs = nil
	q.publish()
}

// Steer says something to the running prompt: it goes in before the next request,
// after the tools that run. t is nil where it waits. Where nothing runs it is a
// prompt like any other, and t is its turn.
func (s *Session) Steer(ctx context.Context, in Input) (t *Turn, err error) {
	return s.enqueue(ctx, steering, in)
}

// FollowUp says something that goes in when the running prompt has nothing left
// to do. It is like Steer otherwise.
func (s *Session) FollowUp(ctx context.Context, in Input) (t *Turn, err error) {
	return s.enqueue(ctx, followUp, in)
}

func (s *Session) enqueue(ctx context.Context, l line, in Input) (*Turn, error) {
	s.touch()
	if in.empty() {
		return nil, ErrEmpty
	}
	var said *agent.Said // composed once: a command must not run twice
	for {
		t, done, err := s.tryEnqueue(ctx, l, in, &said)
		if done || err != nil {
			return t, err
		}
		// The run has closed its queue: it will not look again, and is about to end.
		if err := s.ended(ctx); err != nil {
			return nil, err
		}
	}
}

// tryEnqueue puts a message into the queue of the run, or makes it the prompt
// where nothing runs.
func (s *Session) tryEnqueue(ctx context.Context, l line, in Input, said **agent.Said) (t *Turn, done bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.saidAlready(in.ID); t != nil {
		return t, true, nil
	}
	state, _ := s.State()
	idle := state != Running
	if idle {
		if err := s.idle("a message"); err != nil {
			return nil, false, err
		}
		if err := s.ready(ctx); err != nil {
			return nil, false, err
		}
	} else if !s.queue.isOpen() {
		return nil, false, nil
	}
	if instructions, ok := compactCommand(in); ok && *said == nil {
		if !idle {
			return nil, false, fmt.Errorf("%w: /%s has to wait until the running prompt has ended, or until it is stopped", ErrRunning, compactName)
		}
		return s.compact(instructions).Turn, true, nil
	}
	if *said == nil {
		m, send, err := s.compose(ctx, in)
		if err != nil {
			return nil, false, err
		}
		if !send {
			return nil, true, nil
		}
		*said = &m
	}
	if idle {
		t, err = s.accept(**said)
		return t, err == nil, err
	}
	done, err = s.queue.put(l, **said)
	return nil, done, err
}

// ended waits for the end of what runs.
func (s *Session) ended(ctx context.Context) error {
	s.st.Lock()
	state, done := s.state, s.done
	s.st.Unlock()
	if state != Running {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Waiting lists what waits for a run. After a stop that may be something although
// nothing runs: it goes in with the next prompt.
func (s *Session) Waiting() agent.Waiting {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return s.queue.waiting()
}

// ClearQueue takes back what waits, and returns it.
func (s *Session) ClearQueue() agent.Waiting {
	s.touch()
	q := &s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	w := q.waiting()
	if len(w.Steering)+len(w.FollowUp) > 0 {
		q.lines, q.bytes = [2][]agent.Said{}, 0
		q.publish()
	}
	return w
}
