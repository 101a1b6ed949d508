package gc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/piweb-go/piweb/internal/durable"
)

// Key names something that can be named or kept, such as "blob:<hash>",
// "attachment:<id>", "session:<id>", "outputs:<folder>". Keys of different kinds
// never meet.
type Key string

// Root names things. Mark calls mark for everything that it names; an error means
// that it may name more, and then nothing is collected.
type Root interface {
	Mark(ctx context.Context, mark func(Key)) error
}

// Item is a thing that a store keeps.
type Item struct {
	Key Key // unlike that of any other item
	// UsedBy keep it: it stays if one of them is marked.
	UsedBy   []Key
	Label    string // for people
	Size     int64  // bytes
	Modified time.Time
}

// Store keeps things.
type Store interface {
	// List lists all of them. What is listed must have been there before the roots
	// are marked.
	List(ctx context.Context) ([]Item, error)
	// Remove takes one away, unless it was changed or used since it was listed:
	// then it stays, and gone is false. Others may use the store meanwhile.
	Remove(ctx context.Context, item Item) (gone bool, err error)
}

// DefaultGrace is how long a thing must be unused.
const DefaultGrace = 24 * time.Hour

// ErrBusy says that another collection runs.
var ErrBusy = errors.New("another collection is running")

// Collector collects.
type Collector struct {
	Roots  []Root
	Stores []Store
	// Dir keeps the notes of earlier runs, and the lock. It may be deleted: then
	// the grace period begins anew.
	Dir   string
	Grace time.Duration    // 0 for DefaultGrace
	Now   func() time.Time // nil for time.Now
}

// Unused is a thing that nothing names.
type Unused struct {
	Item
	Since time.Time // when a run first found it unused
	Due   bool      // the grace period is over
	Gone  bool      // it was removed by this run
}

// Report is what a run found.
type Report struct {
	Listed int // things in all stores
	Unused []Unused
}

// Bytes adds up the sizes of the unused things for which which is true.
func (r Report) Bytes(which func(Unused) bool) (n int64) {
	for _, u := range r.Unused {
		if which(u) {
			n += u.Size
		}
	}
	return n
}

// Look finds what is unused, notes it, and removes nothing.
func (c *Collector) Look(ctx context.Context) (Report, error) { return c.run(ctx, false) }

// Collect is Look, and removes what an earlier run noted a grace period ago. What
// it cannot remove is told in the error; the rest goes all the same.
func (c *Collector) Collect(ctx context.Context) (Report, error) { return c.run(ctx, true) }

func (c *Collector) run(ctx context.Context, remove bool) (Report, error) {
	unlock, err := c.lock()
	if err != nil {
		return Report{}, err
	}
	defer unlock()
	notes := readLedger(c.ledgerPath())
	listed, err := c.list(ctx)
	if err != nil {
		return Report{}, err
	}
	marked, err := c.mark(ctx)
	if err != nil {
		return Report{}, err
	}
	now := c.now()
	report := Report{Listed: len(listed)}
	from := map[Key]Store{}
	fresh := ledger{Version: 1, Seen: map[Key]note{}}
	for _, l := range listed {
		if marked.keeps(l.Item) {
			continue
		}
		n, seen := notes.Seen[l.Key]
		if !seen || !n.Modified.Equal(l.Modified) || n.First.After(now) {
			n = note{now, l.Modified}
		}
		fresh.Seen[l.Key] = n
		from[l.Key] = l.store
		report.Unused = append(report.Unused, Unused{Item: l.Item, Since: n.First,
			Due: seen && now.Sub(n.First) >= c.grace() && now.Sub(l.Modified) >= c.grace()})
	}
	slices.SortFunc(report.Unused, func(a, b Unused) int { return cmp.Compare(a.Key, b.Key) })
	if err := fresh.write(c.ledgerPath()); err != nil {
		return report, err
	}
	if !remove || !slices.ContainsFunc(report.Unused, func(u Unused) bool { return u.Due }) {
		return report, nil
	}
	return report, c.sweep(ctx, report, from)
}

// sweep marks again and removes what is due.
func (c *Collector) sweep(ctx context.Context, report Report, from map[Key]Store) error {
	marked, err := c.mark(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for i := range report.Unused {
		u := &report.Unused[i]
		if !u.Due || marked.keeps(u.Item) {
			u.Due = u.Due && !marked.keeps(u.Item)
			continue
		}
		if err := ctx.Err(); err != nil {
			return errors.Join(append(errs, err)...)
		}
		gone, err := from[u.Key].Remove(ctx, u.Item)
		if err != nil {
			errs = append(errs, fmt.Errorf("remove %s: %w", u.Label, err))
		}
		u.Gone = gone
	}
	return errors.Join(errs...)
}

type listedItem struct {
	Item
	store Store
}

func (c *Collector) list(ctx context.Context) ([]listedItem, error) {
	var all []listedItem
	for _, s := range c.Stores {
		items, err := s.List(ctx)
		if err != nil {
			return nil, err
		}
		for _, i := range items {
			all = append(all, listedItem{i, s})
		}
	}
	return all, nil
}

// marks are the keys that roots name.
type marks map[Key]struct{}

func (m marks) keeps(i Item) bool {
	if _, ok := m[i.Key]; ok {
		return true
	}
	for _, k := range i.UsedBy {
		if _, ok := m[k]; ok {
			return true
		}
	}
	return false
}

func (c *Collector) mark(ctx context.Context) (marks, error) {
	m := marks{}
	for _, r := range c.Roots {
		if err := r.Mark(ctx, func(k Key) { m[k] = struct{}{} }); err != nil {
			return nil, fmt.Errorf("nothing was removed, because it is not known what is in use: %w", err)
		}
	}
	return m, nil
}

func (c *Collector) now() time.Time {
	if c.Now != nil {
		return c.Now()
	}
	return time.Now()
}

func (c *Collector) grace() time.Duration {
	if c.Grace == 0 {
		return DefaultGrace
	}
	return c.Grace
}

func (c *Collector) ledgerPath() string { return filepath.Join(c.Dir, "gc.json") }

func (c *Collector) lock() (unlock func(), err error) {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(c.Dir, "gc.lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	_ = f.Close()
	l, err := durable.TryLock(path)
	if errors.Is(err, durable.ErrLocked) {
		return nil, fmt.Errorf("%w; wait until it is done", ErrBusy)
	}
	if err != nil {
		return nil, err
	}
	return func() { _ = l.Unlock() }, nil
}
