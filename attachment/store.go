package attachment

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/piweb-go/piweb/blob"
	"github.com/piweb-go/piweb/message"
)

// The limits of a store that names no others, in bytes.
const (
	DefaultLimit = 25 << 20 // of one attachment, inclusive
	DefaultQuota = 2 << 30  // of one session's own attachments together
)

// Backend is a place for bytes. Its name stands in descriptors where a store has
// more than one.
type Backend struct {
	Name  string
	Store blob.Store
}

// Options say what a store is made of. Registry and Links are required.
type Options struct {
	// Registry keeps descriptors and grants. Alone it keeps the bytes, too.
	Registry blob.Store
	// Backends keep the bytes; new ones go to the one that Write names, else to the
	// first. None: the bytes are in the registry.
	Backends []Backend
	Write    string
	Links    *Links
	Limit    int64            // of one attachment; 0 for DefaultLimit
	Quota    int64            // of one session; 0 for DefaultQuota, negative for none
	Now      func() time.Time // nil for time.Now
}

// Store keeps attachments. It may be used by many goroutines, and several
// processes may use one folder.
type Store struct {
	o     Options
	write Backend
	index index

	mu      sync.Mutex
	uploads map[string]*account // while something arrives, by session
	meta    sync.Mutex          // read, change and write of a descriptor
}

// Open makes a store. It reads nothing yet.
func Open(o Options) (*Store, error) {
	if o.Registry == nil || o.Links == nil {
		return nil, errors.New("attachment: a store needs a registry and links")
	}
	if o.Limit <= 0 {
		o.Limit = DefaultLimit
	}
	if o.Quota == 0 {
		o.Quota = DefaultQuota
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Store{o: o, uploads: map[string]*account{}}
	if len(o.Backends) == 0 {
		s.write = Backend{Store: o.Registry}
		return s, nil
	}
	names := map[string]bool{}
	for i, b := range o.Backends {
		if b.Store == nil || b.Name == "" || names[b.Name] {
			return nil, fmt.Errorf("attachment: backend %d has no store, or no name of its own", i+1)
		}
		names[b.Name] = true
		if b.Name == o.Write || o.Write == "" && i == 0 {
			s.write = b
		}
	}
	if s.write.Store == nil {
		return nil, fmt.Errorf("attachment: there is no backend %q to write to", o.Write)
	}
	return s, nil
}

// Links makes and checks the store's signed addresses.
func (s *Store) Links() *Links { return s.o.Links }

// Limit is how many bytes one attachment may have, inclusive.
func (s *Store) Limit() int64 { return s.o.Limit }

// New is what is known of an attachment before its bytes arrive.
type New struct {
	SessionID string
	Name      string // for display; anything
	MimeType  string
	Origin    Origin
	// Size is the announced number of bytes, 0 or less where it is not known.
	Size int64
}

// Put stores what r yields to its end as a new attachment. It is there as a whole
// or not at all, and only when it is, the descriptor is. ErrTooLarge and ErrQuota
// are found out as early as the bytes tell.
func (s *Store) Put(ctx context.Context, n New, r io.Reader) (Descriptor, error) {
	if n.SessionID == "" {
		return Descriptor{}, errors.New("attachment: put: no session is named")
	}
	if n.Size > s.o.Limit {
		return Descriptor{}, s.tooLarge()
	}
	room, done, err := s.reserve(ctx, n.SessionID)
	if err != nil {
		return Descriptor{}, err
	}
	d := Descriptor{ID: newID(), Name: cleanName(n.Name), MimeType: cleanType(n.MimeType), Origin: n.Origin, SessionID: n.SessionID,
		CreatedAt: stamp(s.o.Now()), Backend: s.write.Name}
	sum := sha256.New()
	info, err := s.write.Store.Put(ctx, d.ID.String(), io.TeeReader(room(r), sum),
		blob.PutOptions{IfAbsent: true, Size: n.Size, Limit: s.o.Limit, ContentType: d.MimeType})
	if err == nil {
		d.Size, d.SHA256 = info.Size, hex.EncodeToString(sum.Sum(nil))
		err = s.describe(ctx, d)
	}
	done(err == nil)
	if errors.Is(err, blob.ErrTooBig) {
		return Descriptor{}, s.tooLarge()
	}
	if err != nil {
		return Descriptor{}, fmt.Errorf("attachment: put %q: %w", clip(d.Name, 80), err)
	}
	return d, nil
}

func (s *Store) tooLarge() error {
	return fmt.Errorf("%w; at most %d bytes are taken", ErrTooLarge, s.o.Limit)
}

// describe writes what stands beside the bytes, the descriptor last. On failure
// everything of the attachment is taken away again, as far as the store lets us.
func (s *Store) describe(ctx context.Context, d Descriptor) error {
	begin := time.Now()
	meta, err := message.Marshal(struct {
		MimeType string `json:"mimeType"`
		Size     int64  `json:"size"`
	}{d.MimeType, d.Size})
	if err == nil {
		err = putBytes(ctx, s.write.Store, d.ID.String()+metaSuffix, meta)
	}
	var data []byte
	if err == nil {
		data, err = record{Descriptor: d}.encode()
	}
	if err == nil {
		err = putBytes(ctx, s.o.Registry, d.ID.String()+descriptorSuffix, data)
	}
	if err != nil {
		_ = s.remove(context.WithoutCancel(ctx), d.ID, d.Backend)
		return err
	}
	s.index.add(d, begin)
	return nil
}

// An account is kept for a session while something arrives for it.
type account struct {
	puts     int   // that are under way
	arriving int64 // bytes that they have taken so far
	landed   int64 // bytes of those that ended well since the account began
}

// reserve accounts for bytes while they arrive, so that uploads side by side
// cannot pass the quota together: neither while they run, nor when one has ended
// after another looked how much there is. done ends the account.
func (s *Store) reserve(ctx context.Context, session string) (room func(io.Reader) io.Reader, done func(stored bool), err error) {
	if s.o.Quota < 0 {
		return func(r io.Reader) io.Reader { return r }, func(bool) {}, nil
	}
	s.mu.Lock()
	a := s.uploads[session]
	if a == nil {
		a = &account{}
		s.uploads[session] = a
	}
	a.puts++
	s.mu.Unlock()
	var mine int64
	done = func(stored bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		a.arriving -= mine
		if stored {
			a.landed += mine
		}
		if a.puts--; a.puts == 0 {
			delete(s.uploads, session)
		}
	}
	// What had landed when the store was asked is in used; what lands later is not.
	var used, before int64
	measure := func() (err error) {
		s.mu.Lock()
		before = a.landed
		s.mu.Unlock()
		used, err = s.used(ctx, session)
		return err
	}
	full := fmt.Errorf("%w: its attachments may have %d bytes together. Delete some, or go on in a new session", ErrQuota, s.o.Quota)
	if err = measure(); err == nil && used >= s.o.Quota {
		err = full
	}
	if err != nil {
		done(false)
		return nil, nil, err
	}
	take := func(n int) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if used+a.landed-before+a.arriving+int64(n) > s.o.Quota {
			return false
		}
		a.arriving += int64(n)
		mine += int64(n)
		return true
	}
	room = func(r io.Reader) io.Reader {
		return readerFunc(func(p []byte) (int, error) {
			n, err := r.Read(p)
			if take(n) {
				return n, err
			}
			// One that was stored but had not ended yet counts twice in the first
			// look, and something may have been deleted since.
			if err := measure(); err != nil {
				return 0, err
			}
			if !take(n) {
				return 0, full
			}
			return n, err
		})
	}
	return room, done, nil
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func putBytes(ctx context.Context, store blob.Store, key string, data []byte) error {
	_, err := store.Put(ctx, key, bytes.NewReader(data), blob.PutOptions{Size: int64(len(data)), ContentType: "application/json"})
	return err
}

// Head reads a descriptor. It asks nobody who may; see Scope.
func (s *Store) Head(ctx context.Context, id ID) (Descriptor, error) {
	r, err := readRecord(ctx, s.o.Registry, id)
	return r.Descriptor, err
}

// Open opens the bytes of an attachment. Bytes that are missing, or are not as
// many as the descriptor says, are ErrUnknown before anything is read.
func (s *Store) Open(ctx context.Context, d Descriptor) (*blob.Object, error) {
	var found *blob.Object
	err := s.backends(d, func(b blob.Store) (err error) {
		found, err = b.Get(ctx, d.ID.String())
		return err
	})
	if err != nil {
		return nil, err
	}
	if found.Info.Size != d.Size {
		found.Close()
		return nil, fmt.Errorf("%w: the bytes of %s are damaged", ErrUnknown, d.ID)
	}
	return found, nil
}

// Path is the file with the bytes of an attachment, where they are on this
// machine.
func (s *Store) Path(ctx context.Context, d Descriptor) (path string, ok bool, err error) {
	err = s.backends(d, func(b blob.Store) (err error) {
		l, local := b.(blob.Local)
		if !local {
			return nil
		}
		path, err = l.Path(ctx, d.ID.String())
		ok = err == nil
		return err
	})
	return path, ok, err
}

// Presign is an address at which the backend itself serves the bytes, for those
// that do.
func (s *Store) Presign(ctx context.Context, d Descriptor, ttl time.Duration) (address string, ok bool, err error) {
	err = s.backends(d, func(b blob.Store) (err error) {
		p, can := b.(blob.Presigner)
		if !can {
			return nil
		}
		address, err = p.Presign(ctx, d.ID.String(), ttl)
		ok = err == nil
		return err
	})
	return address, ok, err
}

// backends tries the backend that the descriptor names. A descriptor without one
// is looked for in all of them, and only "not found" leads to the next.
func (s *Store) backends(d Descriptor, try func(blob.Store) error) error {
	if len(s.o.Backends) == 0 {
		return found(d.ID, try(s.o.Registry))
	}
	err := error(blob.ErrNotFound)
	known := false
	for _, b := range s.o.Backends {
		if d.Backend != "" && d.Backend != b.Name {
			continue
		}
		known = true
		if err = try(b.Store); !errors.Is(err, blob.ErrNotFound) {
			return err
		}
	}
	if !known {
		return fmt.Errorf("attachment: %s is on a backend %q, which is not configured here", d.ID, clip(d.Backend, 40))
	}
	return found(d.ID, err)
}

func found(id ID, err error) error {
	if errors.Is(err, blob.ErrNotFound) {
		return fmt.Errorf("%w: the bytes of %s are missing", ErrUnknown, id)
	}
	return err
}

// Delete removes an attachment with its grants. One that is not there is no error.
func (s *Store) Delete(ctx context.Context, id ID) error {
	d, err := s.Head(ctx, id)
	if err != nil && !errors.Is(err, ErrUnknown) {
		return err
	}
	grants, err := s.grantsOf(ctx, id)
	if err != nil {
		return err
	}
	for _, key := range grants {
		if err := s.o.Registry.Delete(ctx, key); err != nil {
			return err
		}
	}
	return s.remove(ctx, id, d.Backend)
}

// remove takes the descriptor away first: from then on nobody sees the rest.
func (s *Store) remove(ctx context.Context, id ID, backend string) error {
	begin := time.Now()
	if err := s.o.Registry.Delete(ctx, id.String()+descriptorSuffix); err != nil {
		return err
	}
	err := s.removeBytes(ctx, id, backend)
	s.index.drop(id, begin)
	return err
}

func (s *Store) removeBytes(ctx context.Context, id ID, backend string) error {
	var errs []error
	for _, b := range s.places() {
		if backend != "" && b.Name != backend {
			continue
		}
		errs = append(errs, b.Store.Delete(ctx, id.String()+metaSuffix), b.Store.Delete(ctx, id.String()))
	}
	return errors.Join(errs...)
}

// places are all backends.
func (s *Store) places() []Backend {
	if len(s.o.Backends) == 0 {
		return []Backend{s.write}
	}
	return s.o.Backends
}
