package wrapper

import (
	"context"
	"fmt"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/session"
)

// LeafMoved tells that the conversation goes on from another entry.
const LeafMoved agent.EventType = "leaf_moved"

// MoveLeaf makes another entry the one that the next prompt goes on from,
// durably; see session.Session.MoveLeaf for the text. Where the branch would widen
// what may be used, the tools of now are pinned, as by Navigate. It is refused while a
// prompt runs.
func (s *Session) MoveLeaf(_ context.Context, target session.ID) (text string, err error) {
	s.touch()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.idle("going to another entry"); err != nil {
		return "", err
	}
	if err := s.log.Refresh(); err != nil {
		return "", s.note(err)
	}
	if _, ok := s.log.Entry(target); !ok {
		return "", fmt.Errorf("%s: %w: %s", s.log.Path(), session.ErrNoEntry, target)
	}
	pin, err := s.keepRights(target)
	if err != nil {
		return "", err
	}
	var carry []session.Payload
	if pin != nil {
		carry = append(carry, pin)
	}
	if text, err = s.log.MoveLeaf(target, carry...); err != nil {
		return "", s.note(err)
	}
	if s.engine != nil {
		s.engine.adopted = -1 // the branch is another one: model and receipts are looked at again
	}
	s.hub.publish(agent.Event{Type: LeafMoved, EntryID: s.log.Leaf()})
	return text, nil
}
