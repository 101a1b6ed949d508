package artifact

import (
	"sync"
	"time"
)

// maxPending bounds what a throttle holds back, in bytes: a flood is told before
// its time.
const maxPending = 1 << 20

// throttle tells somebody of text at most once in a while. What comes in between is
// told together, by a timer or at the end: nothing is lost (spec/omp.md §7.2, the
// later generation; the earlier one dropped it). It never tells two at once.
type throttle struct {
	every time.Duration
	tell  func(text []byte)

	mu      sync.Mutex
	pending []byte
	timer   *time.Timer // runs from a telling to the end of its window
	open    bool        // such a window runs
	ended   bool
}

// text tells of text now, or with what follows.
func (t *throttle) text(text []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.ended:
	case !t.open:
		t.say(text)
	default:
		t.pending = append(t.pending, text...)
		if len(t.pending) > maxPending {
			t.flush()
		}
	}
}

// say tells, and begins a window.
func (t *throttle) say(text []byte) {
	t.tell(text)
	t.open = true
	if t.timer == nil {
		t.timer = time.AfterFunc(t.every, t.elapsed)
	} else {
		t.timer.Reset(t.every)
	}
}

// elapsed ends a window.
func (t *throttle) elapsed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open = false
	if !t.ended && len(t.pending) > 0 {
		t.flush()
	}
}

func (t *throttle) flush() {
	t.say(t.pending)
	t.pending = t.pending[:0]
}

// end tells the rest. After it nothing is told any more.
func (t *throttle) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return
	}
	t.ended = true
	if t.timer != nil {
		t.timer.Stop()
	}
	if len(t.pending) > 0 {
		t.tell(t.pending)
	}
	t.pending = nil
}
