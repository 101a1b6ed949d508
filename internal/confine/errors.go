package confine

import (
	"errors"
	"fmt"
)

// The reasons for which this package refuses. Match them with errors.Is; a file
// that is missing or unreadable matches fs.ErrNotExist or fs.ErrPermission.
var (
	ErrOutside    = errors.New("leads outside the allowed folder")
	ErrName       = errors.New("is not a usable file name")
	ErrNotRegular = errors.New("is not a regular file")
	ErrTooBig     = errors.New("is larger than allowed")
	ErrLoop       = errors.New("goes through too many links")
)

// Error says what was tried (Op), on which name, in which root, and why it
// failed. Root is empty where no root was involved.
type Error struct {
	Op   string // "open", "stat", "read", "resolve"
	Root string
	Name string
	Err  error
}

func (e *Error) Error() string {
	if e.Root == "" {
		return fmt.Sprintf("%s %q: %v", e.Op, e.Name, e.Err)
	}
	return fmt.Sprintf("%s %q in %q: %v", e.Op, e.Name, e.Root, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// sizeError carries both sizes, so that a message can name them.
type sizeError struct{ size, limit int64 }

func (e *sizeError) Error() string {
	if e.size > e.limit {
		return fmt.Sprintf("%v: %d bytes, limit %d", ErrTooBig, e.size, e.limit)
	}
	return fmt.Sprintf("%v: more than %d bytes", ErrTooBig, e.limit)
}

func (e *sizeError) Is(target error) bool { return target == ErrTooBig }
