// Package handle is all that the author of a tool needs of attachments: what a
// tool can ask ([Context]), what it gets for an id ([Attachment]), and the errors.
// It imports nothing of the store, so a tool that uses it links none.
//
// A tool inside the program is given a Context by whoever constructs it; a tool
// program makes one with attachment.FromEnv. Where there is no store, every method
// fails with [ErrUnavailable], and a tool says so and goes on without.
//
// A tool that has made a file stores it with PutOutput and puts the answer into
// its result's details ([Details]); the picture in its content is then replaced by
// a reference, so that no base64 reaches the session's file.
//
// Source of the rules: pi-web, "Tool context".
package handle

import (
	"context"
	"encoding/json"
	"errors"
	"io"
)

// Errors to match with errors.Is.
var (
	ErrUnknown     = errors.New("there is no such attachment")
	ErrForeign     = errors.New("the attachment belongs to another session")
	ErrUnavailable = errors.New("attachments are not available here")
)

// Context is what a tool can do with attachments: those of the one session that it
// works for, and no others. It may be used by many goroutines.
type Context interface {
	// Available tells whether there is a store. Without one every other method
	// fails with ErrUnavailable.
	Available() bool
	// Resolve finds an attachment of the session by its id, or by the marker or
	// the signed address that carries it. ErrUnknown and ErrForeign say why not.
	Resolve(ctx context.Context, ref string) (Attachment, error)
	// PutOutput stores what the tool has made, from r to its end. It is there as a
	// whole or, after an error, not at all.
	PutOutput(ctx context.Context, name, mimeType string, r io.Reader) (Output, error)
	// List describes all attachments of the session, the oldest first.
	List(ctx context.Context) ([]Info, error)
	// Meta is what a tool has noted about an attachment, or nil.
	Meta(ctx context.Context, ref string) (json.RawMessage, error)
	// SetMeta replaces that note, a JSON object. The last one wins.
	SetMeta(ctx context.Context, ref string, meta json.RawMessage) error
}

// Attachment is an attachment of the session.
type Attachment interface {
	Info() Info
	// Bytes reads all of it; more than limit bytes are refused. There is no base64
	// form on purpose.
	Bytes(ctx context.Context, limit int64) ([]byte, error)
	// Open reads it as a stream; the caller closes it.
	Open(ctx context.Context) (io.ReadSeekCloser, error)
	// LocalPath is a file with these bytes, for programs that take a path. It must
	// only be read. release is called when the file is no longer needed; where the
	// store is not on this machine, it removes the temporary copy.
	LocalPath(ctx context.Context) (path string, release func(), err error)
	// URL is a signed address for a browser. It works for a while and is not to be
	// kept: keep the id.
	URL(ctx context.Context) (string, error)
}

// Info describes an attachment. Name is for display and no path.
type Info struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	MimeType string `json:"mimeType"`
	Size     int64  `json:"size"`   // bytes
	Origin   string `json:"origin"` // "upload" or "tool-output"
}

// Output is the answer to PutOutput.
type Output struct {
	AttachmentID string `json:"attachmentId"`
	DisplayURL   string `json:"displayUrl"`
	Name         string `json:"name"`
	MimeType     string `json:"mimeType"`
}

// Details are the members that the details of a result should have, so that the
// page shows the output and the gate behind the tool knows it.
type Details struct {
	OK                 bool   `json:"ok"`
	OutputAttachmentID string `json:"outputAttachmentId,omitempty"`
	DisplayURL         string `json:"displayUrl,omitempty"`
}

// Details are those of a result with this output.
func (o Output) Details() Details { return Details{true, o.AttachmentID, o.DisplayURL} }

// None is the Context of a place without a store.
type None struct{}

// Available is false.
func (None) Available() bool { return false }

// Resolve fails.
func (None) Resolve(context.Context, string) (Attachment, error) { return nil, ErrUnavailable }

// PutOutput fails.
func (None) PutOutput(context.Context, string, string, io.Reader) (Output, error) {
	return Output{}, ErrUnavailable
}

// List fails.
func (None) List(context.Context) ([]Info, error) { return nil, ErrUnavailable }

// Meta fails.
func (None) Meta(context.Context, string) (json.RawMessage, error) { return nil, ErrUnavailable }

// SetMeta fails.
func (None) SetMeta(context.Context, string, json.RawMessage) error { return ErrUnavailable }
