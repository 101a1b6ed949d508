package session

import (
	"errors"
	"fmt"
)

// LeafType is the custom type of an entry that does nothing but move the leaf.
const LeafType = "piweb:leaf"

// ErrHeld: a run is on, and the leaf must stay on its chain.
var ErrHeld = errors.New("a run is on")

// leafMove is the data of such an entry.
type leafMove struct {
	Version int `json:"version"`
	Target  ID  `json:"target"`
}

// MoveLeaf goes to another entry, durably: it appends a custom entry below it,
// which pi and other readers take for the leaf and show to no model. Going to
// text that a person or an extension wrote means going to its parent, where it
// can be written anew; the text is returned. Where the leaf is there already,
// nothing is appended. carry goes in behind the move, in the same write. On error
// the leaf is where it was.
func (s *Session) MoveLeaf(target ID, carry ...Payload) (text string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held {
		return "", fmt.Errorf("%s: move the leaf: %w; wait until it has ended", s.path, ErrHeld)
	}
	if err := s.ready(); err != nil {
		return "", err
	}
	if s.file != nil {
		if err := s.catchUp(); err != nil {
			return "", err
		}
	}
	// What is refused, or there already, must not write: not even a migration.
	i, ok := s.place(target)
	if !ok {
		return "", fmt.Errorf("%s: move the leaf: %w: %s", s.path, ErrNoEntry, target)
	}
	if text, err = s.textOf(s.entries[i]); err != nil {
		return "", err
	}
	to := i
	if writtenByPerson(s.entries[i]) {
		to = s.above(i)
	}
	if to == s.leaf {
		return text, nil
	}
	if err := s.prepare(); err != nil {
		return "", err
	}
	entry, err := CustomOf(LeafType, leafMove{1, target})
	if err != nil {
		return "", err
	}
	m := mark{s.end, len(s.entries), s.leaf, s.nextLine, s.file != nil && !s.noHeader}
	s.leaf = to
	if _, err := s.put(append([]Payload{entry}, carry...)); err != nil {
		if s.leaf == to { // not where another program's entries were adopted
			s.leaf = m.leaf
		}
		return "", err
	}
	if err := s.sync(); err != nil {
		return "", errors.Join(err, s.takeBack(m))
	}
	return text, nil
}

// above is the place of an entry's parent, or -1 where it acts as a root.
func (s *Session) above(i int) int {
	path := s.walk(i).Entries
	if len(path) < 2 {
		return -1
	}
	return path[len(path)-2].pos
}
