package files

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/piweb-go/piweb/completion"
	"github.com/piweb-go/piweb/internal/confine"
)

const (
	// Limit is how many files are offered.
	Limit = completion.MaxItems
	// maxIndexes bounds the folders that are indexed at the same time; the one that
	// was used longest ago goes.
	maxIndexes = 8
	// idleTime is how long an index stays that nobody asks.
	idleTime = 15 * time.Minute
	// grace is how long the first question after a start waits, so that a client
	// that asks only once gets something. Later ones wait for nothing.
	grace = 100 * time.Millisecond
)

// Provider offers the files of a session's working folder, and judges paths that
// are sent. It keeps an [Index] for each folder that is used. It must be closed.
type Provider struct {
	opts   IndexOptions
	always func() bool // nil for no

	mu      sync.Mutex
	closed  bool
	indexes map[indexKey]*used
}

type indexKey struct {
	dir string
	all bool
}

type used struct {
	*Index
	last time.Time
	idle *time.Timer
}

var (
	_ completion.Provider = (*Provider)(nil)
	_ completion.Observer = (*Provider)(nil)
)

// New makes a provider. Nothing is read before somebody asks.
//
// Where o.All is set, what git ignores is offered to every query.
func New(o IndexOptions) *Provider {
	return &Provider{opts: o, indexes: map[indexKey]*used{}}
}

// Ignored has a function say, at each question, whether what git ignores is offered
// without a ! in the query. It must be called before the first question.
func (p *Provider) Ignored(always func() bool) { p.always = always }

func (p *Provider) all() bool { return p.opts.All || p.always != nil && p.always() }

func (p *Provider) ID() string      { return "file" }
func (p *Provider) Kind() string    { return completion.FileKind }
func (p *Provider) Trigger() string { return "@" }

// Close ends all indexes.
func (p *Provider) Close() error {
	p.mu.Lock()
	p.closed = true
	all := p.indexes
	p.indexes = map[indexKey]*used{}
	p.mu.Unlock()
	var errs []error
	for _, u := range all {
		u.idle.Stop()
		errs = append(errs, u.Close())
	}
	return errors.Join(errs...)
}

// Warm begins to index the folder of a session.
func (p *Provider) Warm(s completion.Scope) {
	_, _ = p.index(s.CWD, p.all())
}

var errClosed = errors.New("files are no longer offered")

// index is the index of a folder, which is started where there is none.
func (p *Provider) index(folder string, all bool) (*Index, error) {
	if folder == "" {
		return nil, fs.ErrNotExist
	}
	key := indexKey{folder, all}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	if u := p.indexes[key]; u != nil {
		if u.Err() == nil {
			u.last = time.Now()
			u.idle.Reset(idleTime)
			return u.Index, nil
		}
		p.drop(key, u)
	}
	o := p.opts
	o.All = all
	x, err := OpenIndex(folder, o)
	if err != nil {
		return nil, err
	}
	for len(p.indexes) >= maxIndexes {
		var oldest indexKey
		for k, u := range p.indexes {
			if o := p.indexes[oldest]; o == nil || u.last.Before(o.last) {
				oldest = k
			}
		}
		p.drop(oldest, p.indexes[oldest])
	}
	u := &used{Index: x, last: time.Now()}
	u.idle = time.AfterFunc(idleTime, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.indexes[key] == u {
			p.drop(key, u)
		}
	})
	p.indexes[key] = u
	return x, nil
}

// drop forgets an index and closes it. It is called under mu.
func (p *Provider) drop(key indexKey, u *used) {
	delete(p.indexes, key)
	u.idle.Stop()
	go u.Close()
}

// Complete offers files and folders. A query that begins with ! looks among all
// files, those included that git ignores; with [Provider.Ignored] every query may.
func (p *Provider) Complete(ctx context.Context, q completion.Query) (completion.Offer, error) {
	text, all := strings.CutPrefix(q.Text, "!")
	x, err := p.index(q.CWD, all || p.all())
	if err != nil {
		return completion.Offer{}, err
	}
	select {
	case <-x.first:
	default:
		wait, cancel := context.WithTimeout(ctx, grace)
		defer cancel()
		select {
		case <-x.first:
		case <-wait.Done():
		}
	}
	limit := Limit
	if q.Limit > 0 {
		limit = min(q.Limit, Limit)
	}
	found, err := x.Search(ctx, text, limit, q.Recent)
	if err != nil {
		return completion.Offer{}, err
	}
	offer := completion.Offer{Partial: found.Partial, Items: make([]completion.Item, 0, len(found.Hits))}
	for n, h := range found.Hits {
		offer.Items = append(offer.Items, completion.Item{
			ID: h.Path, Label: h.Path, InsertText: completion.Format("@", completion.FileKind, h.Path),
			// Only the order counts, and no file is less than 1.
			Score:   1 + float64(len(found.Hits)-n),
			Matches: h.Matches, Folder: h.Folder, Link: h.Link,
		})
	}
	return offer, nil
}

// Resolve lets a path pass that lies in the working folder; see [Gate]. What
// enters the message is the path from the working folder on.
func (p *Provider) Resolve(_ context.Context, r completion.Ref) (completion.Resolution, bool, error) {
	if r.CWD == "" {
		return completion.Resolution{}, false, nil
	}
	root, err := confine.OpenRoot(r.CWD)
	if err != nil {
		return completion.Resolution{}, false, err
	}
	defer root.Close()
	n, err := Gate(root, r.ID, r.Lines)
	if err != nil {
		return completion.Resolution{}, false, err
	}
	return completion.Resolution{Text: completion.Mention(n.Path, n.Lines), ID: n.Path, Lines: n.Lines}, true, nil
}
