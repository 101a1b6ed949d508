package completion

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// Patience is how long a provider may take to offer something.
	Patience = 800 * time.Millisecond
	// MaxItems is how many items an answer has.
	MaxItems = 30
	// MaxText is how long what was typed behind a trigger may be, in bytes.
	MaxText = 4096
	// maxInFlight bounds the calls of one provider that run at the same time, those
	// included that did not end when they were told to.
	maxInFlight = 32
)

// Registry knows the providers. It is safe for concurrent use.
type Registry struct {
	log *slog.Logger

	mu        sync.RWMutex
	providers []*entry // in the order in which they were added
}

type entry struct {
	Provider
	running atomic.Int64
}

// NewRegistry makes a registry without providers. log may be nil.
func NewRegistry(log *slog.Logger) *Registry {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Registry{log: log}
}

// Add adds a provider. One with the same id is replaced and keeps its place.
func (r *Registry) Add(p Provider) error {
	if err := check(p); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, have := range r.providers {
		if have.ID() == p.ID() {
			r.log.Warn("a completion provider is replaced", "id", p.ID())
			r.providers[i] = &entry{Provider: p}
			return nil
		}
	}
	r.providers = append(slices.Clone(r.providers), &entry{Provider: p})
	return nil
}

func (r *Registry) list() []*entry {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Clone(r.providers)
}

// TriggerRule is a trigger and where it counts.
type TriggerRule struct {
	Trigger string  `json:"trigger"`
	Extract Extract `json:"extract"`
}

// Triggers lists the triggers in the order of their first providers, whose rule
// counts.
func (r *Registry) Triggers() []TriggerRule {
	rules := []TriggerRule{}
	for _, p := range r.list() {
		t := NormalizeTrigger(p.Trigger())
		if !slices.ContainsFunc(rules, func(x TriggerRule) bool { return x.Trigger == t }) {
			rules = append(rules, TriggerRule{t, extractOf(p.Provider)})
		}
	}
	return rules
}

// Warm lets providers get ready for somebody who may soon type.
func (r *Registry) Warm(s Scope) {
	for _, p := range r.list() {
		if o, ok := p.Provider.(Observer); ok {
			o.Warm(s)
		}
	}
}

// Group counts the items of a kind in an answer.
type Group struct {
	Kind  string `json:"kind"`
	Count int    `json:"count"`
}

// Answer is what is offered for a query.
type Answer struct {
	Items  []Item  `json:"items"`
	Groups []Group `json:"groups"`
	// Partial says that asking again soon may bring more.
	Partial bool `json:"partial,omitempty"`
	// Missing are the providers that failed or took too long.
	Missing []string `json:"missing,omitempty"`
}

// Complete asks all providers of the query's trigger at once. It returns when all
// have answered, after [Patience], or soon after ctx is done; a provider that
// fails or is late contributes nothing and is named.
func (r *Registry) Complete(ctx context.Context, q Query) Answer {
	q.Trigger = NormalizeTrigger(q.Trigger)
	if q.Limit <= 0 || q.Limit > MaxItems {
		q.Limit = MaxItems
	}
	var asked []*entry
	for _, p := range r.list() {
		if q.Trigger != "" && NormalizeTrigger(p.Trigger()) == q.Trigger {
			asked = append(asked, p)
		}
	}
	if len(asked) == 0 || len(q.Text) > MaxText {
		return merge(nil, q.Limit)
	}
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	type result struct {
		n     int
		offer Offer
		err   error
	}
	results := make(chan result, len(asked))
	for i, p := range asked {
		if p.running.Add(1) > maxInFlight {
			p.running.Add(-1)
			results <- result{n: i, err: errBusy}
			continue
		}
		go func() {
			defer p.running.Add(-1)
			offer, err := ask(ctx, p.Provider, q)
			results <- result{i, offer, err}
		}()
	}
	offers := make([]offered, len(asked))
	for i, p := range asked {
		offers[i] = offered{provider: p.Provider, missing: true}
	}
	for range asked {
		select {
		case got := <-results:
			if got.err != nil {
				r.log.Debug("a completion provider failed", "id", asked[got.n].ID(), "error", got.err)
				continue
			}
			offers[got.n].Offer, offers[got.n].missing = got.offer, false
			continue
		case <-ctx.Done():
		}
		break
	}
	return merge(offers, q.Limit)
}
