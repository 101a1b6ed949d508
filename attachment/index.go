package attachment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/piweb-go/piweb/blob"
)

// index knows which attachments a session has without reading the descriptors of
// all others. It is in memory and derived: names that appeared since the last look
// are read, names that went are dropped, and where nothing changed nothing is read.
// What it says is a hint; a descriptor is read again before anybody relies on it.
type index struct {
	mu       sync.Mutex
	seen     time.Time               // when the registry had changed last, at the last look
	looked   time.Time               // when that was
	looks    int                     // how many there were
	from, to time.Time               // when our own last change began and ended
	owners   map[ID]*owned           // good descriptors
	by       map[string]map[ID]int64 // session → its own attachments and their sizes
	granted  map[string]map[ID]bool  // tag of a session → what was granted to it
}

type owned struct {
	session string
	size    int64
	met     int // the look that met it last
}

// settling is how long after a change another one may carry the same time. File
// systems count in steps of up to two seconds.
const settling = 2 * time.Second

// patience is how long a change of somebody else may stay unseen that came in the
// very moment of one of ours.
const patience = time.Second

// remote is how old a look at a registry that cannot tell changes may be.
const remote = 2 * time.Second

// add notes a descriptor that was written since a moment.
func (x *index) add(d Descriptor, since time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.from, x.to = since, time.Now()
	x.put(d.ID, owned{session: d.SessionID, size: d.Size})
}

func (x *index) put(id ID, o owned) {
	if x.owners == nil {
		return // the first look will find it
	}
	x.forget(id)
	x.owners[id] = &o
	if x.by[o.session] == nil {
		x.by[o.session] = map[ID]int64{}
	}
	x.by[o.session][id] = o.size
}

// drop notes that a descriptor was deleted since a moment.
func (x *index) drop(id ID, since time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.from, x.to = since, time.Now()
	x.forget(id)
}

// grant notes a grant that was given or taken back.
func (x *index) grant(session string, id ID, given bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	tag := tagOf(session)
	switch {
	case x.owners == nil: // the first look will find it
	case !given:
		delete(x.granted[tag], id)
	case x.granted[tag] == nil:
		x.granted[tag] = map[ID]bool{id: true}
	default:
		x.granted[tag][id] = true
	}
}

func (x *index) forget(id ID) {
	o, ok := x.owners[id]
	if !ok {
		return
	}
	delete(x.owners, id)
	if delete(x.by[o.session], id); len(x.by[o.session]) == 0 {
		delete(x.by, o.session)
	}
}

// look brings the index up to date and calls use with it locked.
func (s *Store) look(ctx context.Context, use func(x *index)) error {
	x := &s.index
	x.mu.Lock()
	defer x.mu.Unlock()
	fresh, changed, err := x.fresh(s.o.Registry)
	if err != nil {
		return err
	}
	if !fresh {
		at := time.Now()
		if err := x.scan(ctx, s.o.Registry); err != nil {
			return err
		}
		x.seen, x.looked = changed, at
	}
	use(x)
	return nil
}

func (x *index) fresh(registry blob.Store) (fresh bool, changed time.Time, err error) {
	n, ok := registry.(blob.Namer)
	if !ok {
		return x.owners != nil && time.Since(x.looked) < remote, time.Time{}, nil
	}
	if changed, err = n.Changed(); err != nil {
		return false, changed, err
	}
	switch {
	case x.owners == nil:
		return false, changed, nil
	case changed.Equal(x.seen) && x.looked.Sub(changed) > settling:
		return true, changed, nil
	}
	ours := !changed.Before(x.from) && !changed.After(x.to)
	return ours && time.Since(x.looked) < patience, changed, nil
}

// names lists the keys of a registry.
func names(ctx context.Context, registry blob.Store, prefix string, each func(key string)) error {
	if n, ok := registry.(blob.Namer); ok {
		for key, err := range n.Names(ctx, prefix) {
			if err != nil {
				return err
			}
			each(key)
		}
		return nil
	}
	for info, err := range registry.List(ctx, prefix) {
		if err != nil {
			return err
		}
		each(info.Key)
	}
	return nil
}

func (x *index) scan(ctx context.Context, registry blob.Store) error {
	if x.owners == nil {
		x.owners, x.by = map[ID]*owned{}, map[string]map[ID]int64{}
	}
	x.looks++
	granted := map[string]map[ID]bool{}
	var unknown []ID
	err := names(ctx, registry, "", func(key string) {
		if stem, ok := strings.CutSuffix(key, descriptorSuffix); ok {
			if o := x.owners[ID{stem}]; o != nil {
				o.met = x.looks
			} else if id, err := ParseID(stem); err == nil {
				unknown = append(unknown, id)
			}
			return
		}
		if tag, id, ok := parseGrantKey(key); ok {
			if granted[tag] == nil {
				granted[tag] = map[ID]bool{}
			}
			granted[tag][id] = true
		}
	})
	if err != nil {
		return err
	}
	for id, o := range x.owners {
		if o.met != x.looks {
			x.forget(id)
		}
	}
	for _, id := range unknown {
		r, err := readRecord(ctx, registry, id)
		switch {
		case err == nil:
			x.put(id, owned{session: r.SessionID, size: r.Size})
		case !errors.Is(err, ErrUnknown):
			return err
		} // a damaged one costs only itself, and is tried again at the next look
	}
	x.granted = granted
	return nil
}

// List describes the attachments that a session may use, its own and granted
// ones, the oldest first.
func (s *Store) List(ctx context.Context, session string) ([]Descriptor, error) {
	var ids []ID
	err := s.look(ctx, func(x *index) {
		for id := range x.by[session] {
			ids = append(ids, id)
		}
		for id := range x.granted[tagOf(session)] {
			ids = append(ids, id)
		}
	})
	if err != nil {
		return nil, err
	}
	var list []Descriptor
	for _, id := range ids {
		d, err := s.Check(ctx, session, id)
		switch {
		case err == nil:
			list = append(list, d)
		case errors.Is(err, ErrUnknown), errors.Is(err, ErrForeign): // gone or given away since
		default:
			return nil, err
		}
	}
	slices.SortFunc(list, func(a, b Descriptor) int {
		if c := strings.Compare(a.CreatedAt, b.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(a.ID.s, b.ID.s)
	})
	return slices.CompactFunc(list, func(a, b Descriptor) bool { return a.ID == b.ID }), nil
}

// used is how many bytes a session's own attachments have together.
func (s *Store) used(ctx context.Context, session string) (sum int64, err error) {
	err = s.look(ctx, func(x *index) {
		for _, size := range x.by[session] {
			sum += size
		}
	})
	return sum, err
}

// tagOf stands for a session in the names of grants: ids of sessions are no names
// of files.
func tagOf(session string) string {
	sum := sha256.Sum256([]byte(session))
	return hex.EncodeToString(sum[:16])
}
