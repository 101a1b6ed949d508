package wrapper

import (
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

// saidAlready is the turn of a message that was sent before under the same id: it
// is in the file, or waits for its place in the run. nil where it is new. It is
// called under mu, so that two senders cannot both be the first.
//
// The turn is over where its run is not the one that is on; which run took a message
// that waited is not known.
func (s *Session) saidAlready(id session.ID) *Turn {
	if id == "" {
		return nil
	}
	if e, ok := s.log.Entry(id); (!ok || message.Role(e.Role) != message.RoleUser) && !s.queue.holds(id) {
		return nil
	}
	t := &Turn{Entry: id, done: make(chan struct{}), Seq: s.hub.upcoming()}
	close(t.done)
	return t
}

// holds tells whether a message of an id waits, or was taken and is being recorded.
func (q *queue) holds(id session.ID) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, l := range q.lines {
		for _, m := range l {
			if m.ID == id {
				return true
			}
		}
	}
	for _, m := range q.taken.msgs {
		if m.ID == id {
			return true
		}
	}
	return false
}
