package session

import (
	"errors"
	"fmt"
)

// Errors to match with errors.Is.
var (
	// ErrNotSession: the file is not a session; see FormatError for the reason.
	ErrNotSession = errors.New("not a session file")
	// ErrNoFile: there is no such file.
	ErrNoFile = errors.New("there is no such session file")
	// ErrInUse: another process holds the session's lock.
	ErrInUse = errors.New("session is in use by another process")
	// ErrReplaced: the file under the session was replaced or cut by another
	// program. Nothing was written; reopen it.
	ErrReplaced = errors.New("session file was replaced by another program")
	// ErrPoisoned: a sync failed, so what is durable is unknown. Reopen.
	ErrPoisoned = errors.New("session is closed for writing after a failed sync")
	// ErrClosed: the session was closed.
	ErrClosed = errors.New("session is closed")
	// ErrDamaged: the body of an entry is no JSON. Its place in the tree is known,
	// and what hangs on it can be read.
	ErrDamaged = errors.New("the entry is damaged")
	// ErrNoEntry: no entry has this id.
	ErrNoEntry = errors.New("no such entry")
)

// FormatError says why a file is no session, where, and what to do. It matches
// ErrNotSession.
type FormatError struct {
	Path   string
	Line   int // 1-based
	Reason string
	Advice string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s: not a session file: line %d: %s; %s (the file was not changed)", e.Path, e.Line, e.Reason, e.Advice)
}

// Is matches ErrNotSession.
func (e *FormatError) Is(target error) bool { return target == ErrNotSession }
