package wrapper

import (
	"context"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/session"
)

// LeafMoved tells that the conversation goes on from another entry.
const LeafMoved agent.EventType = "leaf_moved"

// MoveLeaf makes another entry the one that the next prompt goes on from,
// durably; see session.Session.MoveLeaf for the text. The policy is decided anew
// with the next prompt, because declarations count along the branch. It is refused
// while a prompt runs.
func (s *Session) MoveLeaf(_ context.Context, target session.ID) (text string, err error) {
	s.touch()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.idle("going to another entry"); err != nil {
		return "", err
	}
	text, err = s.log.MoveLeaf(target)
	if err != nil {
		return "", s.note(err)
	}
	if s.engine != nil {
		s.engine.adopted = -1 // the branch is another one: model and receipts are looked at again
	}
	s.hub.publish(agent.Event{Type: LeafMoved, EntryID: s.log.Leaf()})
	return text, nil
}
