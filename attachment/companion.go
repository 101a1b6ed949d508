package attachment

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/piweb-go/piweb/session"
)

var _ session.Companion = (*Companion)(nil)

// Companion lets attachments follow sessions: a fork is granted what its source
// may use, a session that is removed for good takes its own with it. Attachments
// belong to a session's id and not to the place of its file, so a move is nothing
// to do.
type Companion struct {
	store *Store
	// others tells whether another file carries a session's id, such as an imported
	// copy. Then nothing of it is removed.
	others func(at session.Place) bool

	mu   sync.Mutex
	gone []Descriptor // without a descriptor; their bytes are still there
}

// NewCompanion makes the companion of a store. others may be nil.
func NewCompanion(store *Store, others func(at session.Place) bool) *Companion {
	if others == nil {
		others = func(session.Place) bool { return false }
	}
	return &Companion{store: store, others: others}
}

// Copy is session.Companion.Copy.
func (c *Companion) Copy(from, to session.Place) (session.Undo, error) {
	if from.ID == to.ID || to.ID == "" {
		return nil, nil
	}
	ctx := context.Background()
	list, err := c.store.List(ctx, from.ID)
	if err != nil {
		return nil, err
	}
	var made []ID
	undo := func() error {
		var errs []error
		for _, id := range made {
			errs = append(errs, c.store.Revoke(ctx, to.ID, id))
		}
		return errors.Join(errs...)
	}
	for _, d := range list {
		fresh, err := c.store.grant(ctx, from.ID, to.ID, d.ID)
		if err != nil {
			return nil, errors.Join(err, undo())
		}
		if fresh {
			made = append(made, d.ID)
		}
	}
	if len(made) == 0 {
		return nil, nil
	}
	return undo, nil
}

// Move is session.Companion.Move.
func (c *Companion) Move(_, _ session.Place) (session.Undo, error) { return nil, nil }

// Remove is session.Companion.Remove. What others were granted goes over to the
// first of them; the rest loses its descriptor, and its bytes with Settle.
func (c *Companion) Remove(at session.Place) (session.Undo, error) {
	if at.ID == "" || c.others(at) {
		return nil, nil
	}
	ctx := context.Background()
	list, err := c.store.List(ctx, at.ID)
	if err != nil {
		return nil, err
	}
	var undos []func() error
	undo := func() error {
		var errs []error
		for i := len(undos) - 1; i >= 0; i-- {
			errs = append(errs, undos[i]())
		}
		return errors.Join(errs...)
	}
	for _, d := range list {
		back, err := c.release(ctx, at.ID, d)
		if back != nil {
			undos = append(undos, back)
		}
		if err != nil {
			return nil, errors.Join(err, undo())
		}
	}
	if len(undos) == 0 {
		return nil, nil
	}
	return undo, nil
}

// release lets a session go of one attachment.
func (c *Companion) release(ctx context.Context, owner string, d Descriptor) (session.Undo, error) {
	if d.SessionID != owner { // it was granted
		if err := c.store.Revoke(ctx, owner, d.ID); err != nil {
			return nil, err
		}
		return func() error { return c.store.regrant(ctx, d.SessionID, owner, d.ID) }, nil
	}
	heir, err := c.store.heir(ctx, d.ID, owner)
	if err != nil {
		return nil, err
	}
	r, err := readRecord(ctx, c.store.o.Registry, d.ID)
	if err != nil {
		return nil, err
	}
	old, err := r.encode()
	if err != nil {
		return nil, err
	}
	back := func() error {
		c.forget(d.ID)
		begin := time.Now()
		err := putBytes(ctx, c.store.o.Registry, d.ID.String()+descriptorSuffix, old)
		if err == nil {
			c.store.index.add(d, begin)
		}
		if err == nil && heir != "" {
			err = c.store.regrant(ctx, owner, heir, d.ID)
		}
		return err
	}
	if heir != "" {
		if err := c.store.change(ctx, d.ID, func(r *record) { r.SessionID = heir }); err != nil {
			return nil, err
		}
		return back, c.store.Revoke(ctx, heir, d.ID) // it is the owner now
	}
	begin := time.Now()
	if err := c.store.o.Registry.Delete(ctx, d.ID.String()+descriptorSuffix); err != nil {
		return nil, err
	}
	c.store.index.drop(d.ID, begin)
	c.mu.Lock()
	c.gone = append(c.gone, d)
	c.mu.Unlock()
	return back, nil
}

func (c *Companion) forget(id ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, d := range c.gone {
		if d.ID == id {
			c.gone = append(c.gone[:i], c.gone[i+1:]...)
			return
		}
	}
}

// Settle deletes the bytes of what was removed. It is called when the removal of
// the session can no longer be taken back. What a process that ends before leaves
// is found by Store.Collect.
func (c *Companion) Settle(ctx context.Context) error {
	c.mu.Lock()
	gone := c.gone
	c.gone = nil
	c.mu.Unlock()
	var errs []error
	for _, d := range gone {
		errs = append(errs, c.store.removeBytes(ctx, d.ID, d.Backend))
	}
	return errors.Join(errs...)
}
