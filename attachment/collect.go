package attachment

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/piweb-go/piweb/blob"
)

// sweeper is a store that finds what puts that never ended left behind.
type sweeper interface {
	Sweep(ctx context.Context, age time.Duration) (int, error)
}

// Collect removes what no descriptor names once it is older than age: bytes of an
// upload that never ended, of an attachment whose deletion was cut short. Age must
// be longer than any upload takes. It returns how many attachments went.
func (s *Store) Collect(ctx context.Context, age time.Duration) (int, error) {
	n := 0
	var errs []error
	for _, b := range s.places() {
		if sw, ok := b.Store.(sweeper); ok {
			_, err := sw.Sweep(ctx, age)
			errs = append(errs, err)
		}
		var old []ID
		for info, err := range b.Store.List(ctx, idPrefix) {
			if err != nil {
				errs = append(errs, err)
				break
			}
			id, perr := ParseID(strings.TrimSuffix(info.Key, metaSuffix))
			if perr == nil && time.Since(info.ModTime) >= age {
				old = append(old, id)
			}
		}
		for _, id := range old {
			_, err := s.o.Registry.Stat(ctx, id.String()+descriptorSuffix)
			if err == nil || !errors.Is(err, blob.ErrNotFound) {
				errs = append(errs, err) // nil, or a registry that does not answer: nothing goes
				continue
			}
			_, err = b.Store.Stat(ctx, id.String())
			was := err == nil
			if err = errors.Join(b.Store.Delete(ctx, id.String()+metaSuffix), b.Store.Delete(ctx, id.String())); err == nil && was {
				n++
			}
			errs = append(errs, err)
		}
	}
	return n, errors.Join(errs...)
}

// heir is a session other than the owner that was granted an attachment.
func (s *Store) heir(ctx context.Context, id ID, owner string) (string, error) {
	keys, err := s.grantsOf(ctx, id)
	if err != nil {
		return "", err
	}
	for _, key := range keys {
		o, err := s.o.Registry.Get(ctx, key)
		if err != nil {
			continue
		}
		data, err := io.ReadAll(io.LimitReader(o, maxDescriptor))
		o.Close()
		var g grant
		// The name of the file gives the right; what it says must fit.
		if err == nil && json.Unmarshal(data, &g) == nil && grantKey(g.SessionID, id) == key && g.SessionID != owner {
			return g.SessionID, nil
		}
	}
	return "", nil
}

// regrant gives a grant back that was just taken.
func (s *Store) regrant(ctx context.Context, by, to string, id ID) error {
	_, err := s.grant(ctx, by, to, id)
	return err
}
