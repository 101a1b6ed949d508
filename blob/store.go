package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"time"
)

// Errors of stores and contents; match them with errors.Is.
var (
	// ErrNotFound says that there is no such object.
	ErrNotFound = errors.New("no such object")
	// ErrExists says that a conditional put met an object that is there.
	ErrExists = errors.New("the object exists already")
	// ErrKey says that a key is not one that a store takes.
	ErrKey = errors.New("not a usable key")
	// ErrTooBig says that there were more bytes than the caller allows.
	ErrTooBig = errors.New("larger than allowed")
	// ErrSize says that there were more or fewer bytes than the caller announced.
	ErrSize = errors.New("not the announced number of bytes")
	// ErrCorrupt says that stored bytes do not match their hash.
	ErrCorrupt = errors.New("the stored bytes do not match their hash")
)

// Error says what was tried (Op), on which key, and why it failed.
type Error struct {
	Op  string // "put", "get", "stat", "delete", "list", "presign"
	Key string
	Err error
}

func (e *Error) Error() string { return fmt.Sprintf("blob: %s %q: %v", e.Op, e.Key, e.Err) }

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// Info describes an object.
type Info struct {
	Key     string
	Size    int64 // bytes
	ModTime time.Time
}

// PutOptions are the conditions of a put. The zero value has none.
type PutOptions struct {
	// IfAbsent creates only: an object that is there stays, and the error is
	// ErrExists. Of many that create one key at once, exactly one succeeds.
	IfAbsent bool
	// Size is the announced number of bytes, 0 or less where it is not known. It
	// lets a remote store send without guessing. Other than announced is ErrSize.
	Size int64
	// Limit is the largest number of bytes taken, inclusive; 0 is no limit. The
	// put fails with ErrTooBig as soon as one more arrives.
	Limit int64
	// ContentType is kept by stores that serve objects themselves.
	ContentType string
}

// Object is an open object. Its ReadSeekCloser is an *os.File where the store
// has one, so that it can be sent without copying.
type Object struct {
	io.ReadSeekCloser
	Info Info
}

// Store keeps objects by key. All methods may be called by many goroutines, and
// several processes may use one folder or bucket. Errors are *Error.
type Store interface {
	// Put stores what r yields until io.EOF under key, whole or not at all, and
	// replaces what was there. A failed put leaves the old object.
	Put(ctx context.Context, key string, r io.Reader, opts PutOptions) (Info, error)
	// Get opens an object, or fails with ErrNotFound. The caller closes it.
	Get(ctx context.Context, key string) (*Object, error)
	// Stat describes an object, or fails with ErrNotFound.
	Stat(ctx context.Context, key string) (Info, error)
	// Delete removes an object. One that is not there is no error.
	Delete(ctx context.Context, key string) error
	// List yields the objects whose keys start with prefix, sorted by the bytes
	// of their keys. The sequence ends after an error.
	List(ctx context.Context, prefix string) iter.Seq2[Info, error]
}

// Local is a store that keeps an object in a file of this machine.
type Local interface {
	// Path returns the absolute path of an object that is there, or ErrNotFound.
	// The file must not be written to.
	Path(ctx context.Context, key string) (string, error)
}

// Presigner is a store that hands out addresses that anybody can fetch from.
type Presigner interface {
	// Presign returns an address of an object that works for d. It does not
	// check that the object is there.
	Presign(ctx context.Context, key string, d time.Duration) (string, error)
}

// Namer is a store that lists keys alone faster than it describes objects, and
// can tell that nothing has changed since.
type Namer interface {
	// Names yields the keys that start with prefix, in any order.
	Names(ctx context.Context, prefix string) iter.Seq2[string, error]
	// Changed is when a key came or went last, as exactly as the system knows;
	// the zero time for a store without objects.
	Changed() (time.Time, error)
}

// MaxKey is the length of the longest key in bytes.
const MaxKey = 200

// CheckKey fails with ErrKey unless key is 1 to MaxKey of the characters
// A–Z a–z 0–9 . _ -, does not start with "." or "-", does not end in ".", and is
// no name that the system keeps for devices.
func CheckKey(key string) error {
	if key == "" || len(key) > MaxKey {
		return fmt.Errorf("%w: it has %d characters, allowed are 1 to %d", ErrKey, len(key), MaxKey)
	}
	for i := range len(key) {
		c := key[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_':
		case (c == '.' && i < len(key)-1 || c == '-') && i > 0:
		default:
			return fmt.Errorf("%w: character %d is not allowed there", ErrKey, i+1)
		}
	}
	if !filepath.IsLocal(key) {
		return fmt.Errorf("%w: the system keeps that name for itself", ErrKey)
	}
	return nil
}

// Meter passes a reader on for a put: it ends with the context, and it fails
// with ErrTooBig or ErrSize where opts say so. It is for those who write a store.
func Meter(ctx context.Context, r io.Reader, opts PutOptions) *Metered {
	return &Metered{ctx: ctx, r: r, opts: opts}
}

// Metered is the reader that Meter makes.
type Metered struct {
	ctx  context.Context
	r    io.Reader
	opts PutOptions
	n    int64
}

// Bytes is the number of bytes read so far.
func (m *Metered) Bytes() int64 { return m.n }

// Read reads as io.Reader says.
func (m *Metered) Read(p []byte) (int, error) {
	if err := m.ctx.Err(); err != nil {
		return 0, context.Cause(m.ctx)
	}
	n, err := m.r.Read(p)
	m.n += int64(n)
	switch {
	case m.opts.Limit > 0 && m.n > m.opts.Limit:
		return 0, fmt.Errorf("%w: more than %d bytes", ErrTooBig, m.opts.Limit)
	case m.opts.Size > 0 && m.n > m.opts.Size:
		return 0, fmt.Errorf("%w: more than %d", ErrSize, m.opts.Size)
	case err == io.EOF && m.opts.Size > 0 && m.n < m.opts.Size:
		return 0, fmt.Errorf("%w: %d of %d", ErrSize, m.n, m.opts.Size)
	}
	return n, err
}
