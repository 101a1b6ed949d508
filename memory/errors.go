package memory

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/piweb-go/piweb/internal/sqlite"
)

// Errors to match with errors.Is.
var (
	ErrNotFound = errors.New("there is no such memory")
	// ErrForbidden says that a body speaks for somebody else.
	ErrForbidden = errors.New("it speaks for another user")
	// ErrInput says that a request is no good.
	ErrInput = errors.New("the request is not valid")
	// ErrTooLarge says that a file or a request is larger than allowed.
	ErrTooLarge = errors.New("it is larger than allowed")
	// ErrUnavailable says that the memory service cannot be reached.
	ErrUnavailable = errors.New("the memory service cannot be reached")
	// errUnasked says, with ErrUnavailable, that the service did not hear of it.
	errUnasked = errors.New("it was not asked")
	// ErrLocked says that another program has kept the database locked for too long.
	// Nothing was changed.
	ErrLocked = sqlite.ErrLocked
	// ErrUpstream says that only the embedded engine can do what was asked.
	ErrUpstream = errors.New("memories are kept by a service that offers no such thing")
)

// Error is a refusal with words for the user. Status and Code are those of EverOS.
type Error struct {
	Status int
	Code   string
	Text   string
	Err    error // one of those above
}

func (e *Error) Error() string { return e.Text }

func (e *Error) Unwrap() error { return e.Err }

func invalid(format string, args ...any) error {
	return &Error{http.StatusUnprocessableEntity, "INVALID_INPUT", fmt.Sprintf(format, args...), ErrInput}
}

func forbidden(format string, args ...any) error {
	return &Error{http.StatusForbidden, "FORBIDDEN", fmt.Sprintf(format, args...), ErrForbidden}
}

func notFound(what string) error {
	return &Error{http.StatusNotFound, "NOT_FOUND", "There is no such " + what + ". It may have been deleted.", ErrNotFound}
}

func tooLarge(format string, args ...any) error {
	return &Error{http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE", fmt.Sprintf(format, args...), ErrTooLarge}
}
