package wrapper

import (
	"errors"
	"fmt"
	"slices"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/message"
)

// ErrTakenIn says that a message does not wait any more.
var ErrTakenIn = errors.New("the message does not wait any more")

// TakeBack takes back one waiting message: the i-th of its line, if that is still
// its text. A run that has taken it in the meantime makes it an error.
func (s *Session) TakeBack(followUps bool, i int, text string) error {
	s.touch()
	l := steering
	if followUps {
		l = followUp
	}
	q := &s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if i < 0 || i >= len(q.lines[l]) {
		return fmt.Errorf("%w: there is no %d. one", ErrTakenIn, i+1)
	}
	said := q.lines[l][i].Said()
	if message.ContentOf(said).PlainText() != text {
		return fmt.Errorf("%w: another one stands in its place", ErrTakenIn)
	}
	// What a run has taken shares the array.
	q.lines[l] = slices.Concat(q.lines[l][:i], q.lines[l][i+1:])
	q.bytes -= sizeOf(agent.Event{Message: said})
	q.publish()
	return nil
}
