package attachment

import (
	"errors"

	"github.com/piweb-go/piweb/attachment/handle"
	"github.com/piweb-go/piweb/internal/signed"
)

// Errors to match with errors.Is.
var (
	// ErrUnknown says that there is no such attachment, or that its descriptor or
	// its bytes are missing or damaged.
	ErrUnknown = handle.ErrUnknown
	// ErrForeign says that the attachment belongs to another session.
	ErrForeign = handle.ErrForeign
	// ErrUnavailable says that there is no store here.
	ErrUnavailable = handle.ErrUnavailable
	// ErrTooLarge says that a file is larger than one attachment may be.
	ErrTooLarge = errors.New("the file is larger than an attachment may be")
	// ErrQuota says that the session's attachments together would be too large.
	ErrQuota = errors.New("the session has no room for more attachments")
	// ErrEmpty says that a file has no bytes.
	ErrEmpty = errors.New("the file is empty")
	// ErrSignature says that an address is not signed by us, or has ended.
	ErrSignature = signed.ErrInvalid
)
