package memory

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// breaker lets a service that does not answer rest: after some failures in a row
// nobody asks for a while, and then one does. What is asked meanwhile fails at once.
type breaker struct {
	after int           // failures in a row; 0 for never
	rest  time.Duration // how long nobody asks
	now   func() time.Time

	mu       sync.Mutex
	failures int
	until    time.Time
	trying   bool // one asks, to see whether it is back
}

// begin asks for leave. Whoever has it says how it went with end.
func (b *breaker) begin() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.after == 0 || b.failures < b.after {
		return nil
	}
	if wait := b.until.Sub(b.now()); wait > 0 || b.trying {
		return &Error{http.StatusServiceUnavailable, "UPSTREAM_UNAVAILABLE", fmt.Sprintf("The memory service did not answer the last %d times. It is asked again in %d seconds.", b.failures, int(max(wait, time.Second)/time.Second)), errors.Join(ErrUnavailable, errUnasked)}
	}
	b.trying = true
	return nil
}

// The ways in which asking can end.
type outcome int

const (
	answered  outcome = iota
	away              // nobody answered, or it says that it is not there
	takenBack         // whoever asked went away first: nothing is known
)

func (b *breaker) end(o outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.trying = false
	switch o {
	case answered:
		b.failures = 0
	case away:
		b.failures++
		b.until = b.now().Add(b.rest)
	}
}
