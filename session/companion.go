package session

import (
	"errors"
	"fmt"
)

// Place names a session for a Companion: its file, as an absolute path, and its
// id. Ids can repeat, paths cannot.
type Place struct {
	Path string
	ID   string
}

// Undo takes back what a step did. It is called at most once, and only if a
// later step of the same operation failed.
type Undo func() error

// Companion keeps something that belongs to sessions and does not lie in their
// files, such as whole outputs or attachments. It follows a session where the
// session goes.
//
// Each method either does all of its work or leaves everything as it was and
// returns an error. A session that it keeps nothing for is no error. The Undo
// brings back the state of before; it may be nil where nothing was done. An
// operation that fails calls the undos of what it did so far, the last one
// first. The folder of the place that something goes to exists.
type Companion interface {
	// Copy gives the session at to, whose file does not exist yet, what the one
	// at from has.
	Copy(from, to Place) (Undo, error)
	// Move moves what the session has. The ids of the places are the same: into
	// the trash and out of it, or to another folder.
	Move(from, to Place) (Undo, error)
	// Remove takes away for good what a session in the trash has.
	Remove(at Place) (Undo, error)
}

// steps are the undos of an operation so far.
type steps []Undo

func (s *steps) did(undo Undo) {
	if undo != nil {
		*s = append(*s, undo)
	}
}

// each runs one method for every companion, and remembers its undo.
func (s *steps) each(companions []Companion, do func(Companion) (Undo, error)) error {
	for _, c := range companions {
		undo, err := do(c)
		if err != nil {
			return err
		}
		s.did(undo)
	}
	return nil
}

// rollBack takes everything back and returns the error that made it necessary,
// with what could not be taken back.
func (s *steps) rollBack(err error) error {
	undos := *s
	*s = nil
	for i := len(undos) - 1; i >= 0; i-- {
		if uerr := undos[i](); uerr != nil {
			err = errors.Join(err, fmt.Errorf("a step before it could not be taken back: %w", uerr))
		}
	}
	return err
}
