package attachment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/piweb-go/piweb/attachment/handle"
)

var (
	_ handle.Context    = (*Scope)(nil)
	_ handle.Attachment = (*Attachment)(nil)
)

// Scope is the store as one session sees it: its own attachments, what was granted
// to it, and nothing else. A nil Scope, and one of a nil Store, is a place without
// a store: everything fails with ErrUnavailable.
type Scope struct {
	store   *Store
	session string
}

// For is the store as a session sees it.
func (s *Store) For(session string) *Scope { return &Scope{s, session} }

// Available tells whether there is a store.
func (c *Scope) Available() bool { return c != nil && c.store != nil && c.session != "" }

// Find looks up an attachment that the session may use.
func (c *Scope) Find(ctx context.Context, id ID) (Descriptor, error) {
	if !c.Available() {
		return Descriptor{}, ErrUnavailable
	}
	return c.store.Check(ctx, c.session, id)
}

// find looks up what a tool was given: an id, a marker, or a signed address.
func (c *Scope) find(ctx context.Context, ref string) (Descriptor, error) {
	if !c.Available() {
		return Descriptor{}, ErrUnavailable
	}
	id, err := ParseID(ref)
	if err != nil {
		if list := FindMarkers(ref); len(list) == 1 {
			id, err = list[0].ID, nil
		} else if name, ours := c.store.o.Links.rawID(ref); ours {
			id, err = ParseID(name)
		}
	}
	if err != nil {
		return Descriptor{}, err
	}
	return c.Find(ctx, id)
}

// Resolve is handle.Context.Resolve.
func (c *Scope) Resolve(ctx context.Context, ref string) (handle.Attachment, error) {
	d, err := c.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	return &Attachment{c.store, d}, nil
}

// Put stores an attachment of the session.
func (c *Scope) Put(ctx context.Context, name, mimeType string, origin Origin, r io.Reader) (Descriptor, error) {
	if !c.Available() {
		return Descriptor{}, ErrUnavailable
	}
	return c.store.Put(ctx, New{SessionID: c.session, Name: name, MimeType: mimeType, Origin: origin}, r)
}

// PutOutput is handle.Context.PutOutput.
func (c *Scope) PutOutput(ctx context.Context, name, mimeType string, r io.Reader) (handle.Output, error) {
	d, err := c.Put(ctx, name, mimeType, ToolOutput, r)
	if err != nil {
		return handle.Output{}, err
	}
	return handle.Output{AttachmentID: d.ID.String(), DisplayURL: c.store.o.Links.URL(d.ID), Name: d.Name, MimeType: d.MimeType}, nil
}

// List is handle.Context.List.
func (c *Scope) List(ctx context.Context) ([]handle.Info, error) {
	if !c.Available() {
		return nil, ErrUnavailable
	}
	list, err := c.store.List(ctx, c.session)
	infos := make([]handle.Info, len(list))
	for i, d := range list {
		infos[i] = d.Info()
	}
	return infos, err
}

// Meta is handle.Context.Meta.
func (c *Scope) Meta(ctx context.Context, ref string) (json.RawMessage, error) {
	d, err := c.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	r, err := readRecord(ctx, c.store.o.Registry, d.ID)
	return r.fields["ext"], err
}

// maxMeta bounds what tools note about one attachment, in bytes.
const maxMeta = 256 << 10

// SetMeta is handle.Context.SetMeta. The descriptor is replaced in one step; of
// several processes that do so at once, the last one wins.
func (c *Scope) SetMeta(ctx context.Context, ref string, meta json.RawMessage) error {
	d, err := c.find(ctx, ref)
	if err != nil {
		return err
	}
	if trimmed := bytes.TrimSpace(meta); len(meta) > maxMeta || !json.Valid(meta) || len(trimmed) == 0 || trimmed[0] != '{' {
		return fmt.Errorf("attachment: a note about %s must be a JSON object of at most %d bytes", d.ID, maxMeta)
	}
	return c.store.change(ctx, d.ID, func(r *record) { r.fields["ext"] = bytes.Clone(meta) })
}

// change rewrites a descriptor.
func (s *Store) change(ctx context.Context, id ID, with func(*record)) error {
	s.meta.Lock()
	defer s.meta.Unlock()
	begin := time.Now()
	r, err := readRecord(ctx, s.o.Registry, id)
	if err != nil {
		return err
	}
	with(&r)
	data, err := r.encode()
	if err == nil {
		err = putBytes(ctx, s.o.Registry, id.String()+descriptorSuffix, data)
	}
	if err == nil {
		s.index.add(r.Descriptor, begin)
	}
	return err
}

// Attachment is an attachment that a session may use, as a tool sees it.
type Attachment struct {
	store *Store
	d     Descriptor
}

// Info describes it.
func (a *Attachment) Info() handle.Info { return a.d.Info() }

// Descriptor is all that is known of it.
func (a *Attachment) Descriptor() Descriptor { return a.d }

// Open is handle.Attachment.Open.
func (a *Attachment) Open(ctx context.Context) (io.ReadSeekCloser, error) {
	o, err := a.store.Open(ctx, a.d)
	if err != nil {
		return nil, err
	}
	return o.ReadSeekCloser, nil
}

// Bytes is handle.Attachment.Bytes. A limit of 0 is the store's own.
func (a *Attachment) Bytes(ctx context.Context, limit int64) ([]byte, error) {
	if limit <= 0 {
		limit = a.store.o.Limit
	}
	if a.d.Size > limit {
		return nil, fmt.Errorf("%w: %s has %d bytes, and %d are read at most", ErrTooLarge, a.d.ID, a.d.Size, limit)
	}
	o, err := a.store.Open(ctx, a.d)
	if err != nil {
		return nil, err
	}
	defer o.Close()
	data := make([]byte, a.d.Size)
	_, err = io.ReadFull(o, data)
	return data, err
}

// LocalPath is handle.Attachment.LocalPath: the stored file itself where it is on
// this machine, else a private copy that release removes.
func (a *Attachment) LocalPath(ctx context.Context) (path string, release func(), err error) {
	path, ok, err := a.store.Path(ctx, a.d)
	if err != nil || ok {
		return path, func() {}, err
	}
	o, err := a.store.Open(ctx, a.d)
	if err != nil {
		return "", nil, err
	}
	defer o.Close()
	dir, err := os.MkdirTemp("", "piweb-attachment-")
	if err != nil {
		return "", nil, err
	}
	release = func() { _ = os.RemoveAll(dir) }
	path = filepath.Join(dir, a.d.ID.String())
	err = copyTo(path, io.LimitReader(o, a.d.Size))
	if err != nil {
		release()
		return "", nil, fmt.Errorf("attachment: copy %s to a temporary file: %w", a.d.ID, err)
	}
	return path, release, nil
}

func copyTo(path string, r io.Reader) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

// URL is handle.Attachment.URL.
func (a *Attachment) URL(context.Context) (string, error) { return a.store.o.Links.URL(a.d.ID), nil }

// URLFor is URL with another lifetime.
func (a *Attachment) URLFor(ttl time.Duration) string { return a.store.o.Links.URLFor(a.d.ID, ttl) }
