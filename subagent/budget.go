package subagent

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/piweb-go/piweb/internal/structure"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

// BudgetType is the custom type of the entry that holds the limits of a tree.
const BudgetType = "piweb:budget"

// ErrBudget says that a tree of subagents has used up what it may.
var ErrBudget = errors.New("the budget of this session's subagents is used up")

// ErrLimits says that limits cannot be set like this.
var ErrLimits = errors.New("the limits cannot be set like this")

// Limits bound a tree of subagents: a session and everything that was started
// below it. What is zero or missing in an entry is the default.
type Limits struct {
	Depth      int     `json:"depth,omitempty"`      // children below children; 1 is children only
	Concurrent int     `json:"concurrent,omitempty"` // running at once, 1 to 32
	Total      int     `json:"total,omitempty"`      // children ever started
	Turns      int     `json:"turns,omitempty"`      // answers of all children together
	Tokens     int64   `json:"tokens,omitempty"`     // of all children together, cache reads counted in
	Dollars    float64 `json:"dollars,omitempty"`
	Seconds    int64   `json:"seconds,omitempty"` // of running, all children together
}

// DefaultLimits are in force where a session says nothing else. At their worst a
// tree starts 64 children, of which 10 run at once, and ends after 25 dollars or,
// where prices are unknown, 20 million tokens, plus one turn of each child that
// ran in that moment.
func DefaultLimits() Limits {
	return Limits{Depth: 1, Concurrent: defaultConcurrent, Total: 64, Turns: 2000, Tokens: 20_000_000, Dollars: 25, Seconds: 6 * 3600}
}

// Bounds of what an entry may ask for.
const (
	defaultConcurrent = 10
	// MaxConcurrent is the most that run at once, of settings and of a budget.
	MaxConcurrent = 32
	maxDepth      = 8
	maxTotal      = 10_000
)

// Check says what is wrong with limits that somebody wants to set.
func (l Limits) Check() error {
	switch name, most := l.wrong(); name {
	case "":
		return nil
	case "dollars":
		return fmt.Errorf("the limit \"dollars\" must be more than 0 and at most %v, or left out for the default", most)
	default:
		return fmt.Errorf("the limit %q must be from 1 to %v, or left out for the default", name, most)
	}
}

// Wrong is the name of the limit that Check speaks of, "" for none.
func (l Limits) Wrong() string {
	name, _ := l.wrong()
	return name
}

func (l Limits) wrong() (name string, most any) {
	switch {
	case l.Depth < 0 || l.Depth > maxDepth:
		return "depth", maxDepth
	case l.Concurrent < 0 || l.Concurrent > MaxConcurrent:
		return "concurrent", MaxConcurrent
	case l.Total < 0 || l.Total > maxTotal:
		return "total", maxTotal
	case l.Turns < 0 || l.Turns > math.MaxInt32:
		return "turns", math.MaxInt32
	case l.Tokens < 0:
		return "tokens", int64(math.MaxInt64)
	case l.Seconds < 0 || l.Seconds > math.MaxInt32:
		return "seconds", math.MaxInt32
	case l.Dollars < 0 || math.IsNaN(l.Dollars) || l.Dollars > 1e9:
		return "dollars", 1e9
	}
	return "", nil
}

// orDefault fills in what is not said.
func (l Limits) orDefault() Limits {
	d := DefaultLimits()
	if l.Depth > 0 {
		d.Depth = l.Depth
	}
	if l.Concurrent > 0 {
		d.Concurrent = l.Concurrent
	}
	if l.Total > 0 {
		d.Total = l.Total
	}
	if l.Turns > 0 {
		d.Turns = l.Turns
	}
	if l.Tokens > 0 {
		d.Tokens = l.Tokens
	}
	if l.Dollars > 0 {
		d.Dollars = l.Dollars
	}
	if l.Seconds > 0 {
		d.Seconds = l.Seconds
	}
	return d
}

// Spending is what children have used.
type Spending struct {
	Children int     `json:"children"`
	Turns    int     `json:"turns"`
	Tokens   int64   `json:"tokens"`
	Dollars  float64 `json:"dollars"`
	Seconds  int64   `json:"seconds"`
	// Unpriced are the tokens of answers whose price is not known: the limit of
	// dollars cannot see them, so that of tokens has to.
	Unpriced int64 `json:"unpricedTokens"`
}

// Plus is both together. Nothing in o is counted as less than nothing.
func (s Spending) Plus(o Spending) Spending {
	return Spending{s.Children + max(o.Children, 0), s.Turns + max(o.Turns, 0), plus(s.Tokens, o.Tokens), s.Dollars + max(o.Dollars, 0), plus(s.Seconds, o.Seconds), plus(s.Unpriced, o.Unpriced)}
}

// addEntry counts an answer.
func (s *Spending) addEntry(d decoder, e session.Entry) error {
	p, err := d.Decode(e)
	if err != nil {
		return err
	}
	m, _ := p.(session.MessagePayload)
	a, ok := m.Message.(*message.Assistant)
	if !ok {
		return nil
	}
	s.Turns++
	s.addUsage(a.Usage)
	return nil
}

type decoder interface {
	Decode(session.Entry) (session.Payload, error)
}

// addUsage counts what a file says, which may be anything: nothing in it makes a
// tree cheaper than it was.
func (s *Spending) addUsage(u message.Usage) {
	var sum int64
	for _, n := range []int64{u.Input, u.Output, u.CacheRead, u.CacheWrite} {
		sum = plus(sum, n)
	}
	tokens := max(sum, u.TotalTokens)
	s.Tokens = plus(s.Tokens, tokens)
	switch cost := u.Cost.Total; {
	case cost > 0 && !math.IsInf(cost, 0):
		s.Dollars += cost
	default:
		s.Unpriced = plus(s.Unpriced, tokens)
	}
}

// plus adds what is not negative, without wrapping around.
func plus(a, b int64) int64 {
	if b <= 0 {
		return a
	}
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Over says which limit the spending has reached, or nil. It is asked before a
// child is started and before each of its turns.
func (l Limits) Over(s Spending) error {
	l = l.orDefault()
	over := func(what string, have, limit any) error {
		return fmt.Errorf("%w: %v of %v %s; a person can raise the limit", ErrBudget, have, limit, what)
	}
	switch {
	case s.Turns >= l.Turns:
		return over("turns", s.Turns, l.Turns)
	case s.Tokens >= l.Tokens:
		return over("tokens", s.Tokens, l.Tokens)
	case s.Dollars >= l.Dollars:
		return over("dollars", fmt.Sprintf("%.2f", s.Dollars), l.Dollars)
	case s.Seconds >= l.Seconds:
		return over("of running time", (time.Duration(s.Seconds) * time.Second).String(), (time.Duration(l.Seconds) * time.Second).String())
	}
	return nil
}

// Budget is what the entry of a session says: the limits, and what was spent in
// the tree that it was forked from.
type Budget struct {
	Limits  Limits    `json:"limits"`
	Carried *Spending `json:"carried,omitempty"`
}

// Payload is the entry that records a budget.
func (b Budget) Payload() (session.Custom, error) {
	if err := b.Limits.Check(); err != nil {
		return session.Custom{}, err
	}
	return payload(BudgetType, b)
}

// ReadBudget reads the budget of a session from its file: the newest valid limits
// of the whole file, and the most that any entry carries, so that no later entry
// makes the past cheaper.
func ReadBudget(v View) (Budget, error) {
	var out Budget
	for e := range v.Entries() {
		if e.Type != session.TypeCustom || e.CustomType != BudgetType {
			continue
		}
		p, err := v.Decode(e)
		if err != nil {
			return out, err
		}
		var b struct {
			Version int `json:"version"`
			Budget
		}
		if structure.Unmarshal(p.(session.Custom).Data, &b) != nil || b.Version != 1 || b.Limits.Check() != nil {
			continue
		}
		out.Limits = b.Limits
		if b.Carried != nil {
			if out.Carried == nil {
				out.Carried = &Spending{}
			}
			*out.Carried = out.Carried.most(*b.Carried)
		}
	}
	return out, nil
}

// most is the larger of both in each place.
func (s Spending) most(o Spending) Spending {
	return Spending{max(s.Children, o.Children), max(s.Turns, o.Turns), max(s.Tokens, o.Tokens), max(s.Dollars, o.Dollars), max(s.Seconds, o.Seconds), max(s.Unpriced, o.Unpriced)}
}
