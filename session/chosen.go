package session

import (
	"errors"
	"fmt"
)

// ErrIDTaken says that an entry of the file has the id already.
var ErrIDTaken = errors.New("an entry has this id already")

// Chosen is a payload whose entry gets an id that its author has chosen. Who asks
// twice, because an answer got lost, can then be told from who asks for two things:
// the second append fails with [ErrIDTaken].
type Chosen struct {
	Payload
	ID ID
}

// WithID is a payload under a chosen id; the empty id chooses none.
func WithID(id ID, p Payload) Payload {
	if id == "" {
		return p
	}
	return Chosen{p, id}
}

// chosen takes the wrapping off a payload.
func chosen(p Payload) (Payload, ID) {
	if c, ok := p.(Chosen); ok {
		return c.Payload, c.ID
	}
	return p, ""
}

func unwrapped(p Payload) Payload { p, _ = chosen(p); return p }

// idFor is the id of a new entry: the one that was chosen, else one that is drawn.
func (s *Session) idFor(want ID, taken map[ID]bool) (ID, error) {
	if want == "" {
		return s.newID(taken)
	}
	if _, ok := s.place(want); ok || taken[want] {
		return "", fmt.Errorf("%s: append: %w: %s", s.path, ErrIDTaken, want)
	}
	return want, nil
}

// ParseID reads an id that a client chose for an entry: 8 to 32 lower-case
// hexadecimal digits.
func ParseID(s string) (ID, error) {
	if len(s) < 8 || len(s) > 32 {
		return "", fmt.Errorf("session: the id of an entry has 8 to 32 characters, not %d", len(s))
	}
	for _, c := range s {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return "", fmt.Errorf("session: %q is no id of an entry: it has characters other than 0-9 and a-f", s)
		}
	}
	return ID(s), nil
}
