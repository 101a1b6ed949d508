package wrapper

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/compact"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/resource"
	"github.com/piweb-go/piweb/session"
)

// compactName is the command that a person types.
const compactName = "compact"

// compactCommand reads "/compact [what matters]".
func compactCommand(in Input) (instructions string, ok bool) {
	name, args, ok := resource.Slash(in.Text)
	return strings.TrimSpace(args), ok && name == compactName && !in.Verbatim
}

// compactor sums up for an engine.
func compactor(l Loadout, c Chosen) *compact.Compactor {
	size := len(l.Head)
	for _, t := range l.Tools {
		if data, err := message.Marshal(t.Declaration()); err == nil {
			size += len(data)
		}
	}
	return &compact.Compactor{Model: c.Model, Settings: c.Conduct.Compaction, Overhead: int64(size / 4), Picture: c.Conduct.Picture}
}

// Compaction is a summary under way.
type Compaction struct {
	*Turn
	done agent.Compaction
}

// Result waits for the summary.
func (c *Compaction) Result(ctx context.Context) (agent.Compaction, error) {
	err := c.Wait(ctx)
	return c.done, err
}

// Compact sums up the beginning of the conversation, in the background, as a run
// that can be stopped. instructions, if any, say what matters. It is refused while
// something runs.
func (s *Session) Compact(ctx context.Context, instructions string) (*Compaction, error) {
	s.touch()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.idle("a summary"); err != nil {
		return nil, err
	}
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	return s.compact(instructions), nil
}

// compact is called under mu, with an engine, when nothing runs.
func (s *Session) compact(instructions string) *Compaction {
	loop, c := s.engine.loop, &Compaction{}
	c.Turn = s.begin("", func(ctx context.Context) (err error) {
		c.done, err = loop.Compact(ctx, instructions)
		return err
	})
	return c
}

// NavigateOptions say what becomes of the branch that is left.
type NavigateOptions struct {
	Summarize    bool
	Instructions string // what matters in the summary
}

// Navigated is where a session is after going somewhere else.
type Navigated struct {
	Text    string     `json:"text,omitempty"` // of the message that can be written anew
	Leaf    session.ID `json:"leafId"`
	Summary string     `json:"summary,omitempty"`
	Pinned  bool       `json:"pinned,omitempty"` // the tools were pinned, so that going there gives no more rights
}

// Navigate goes to another entry, durably. Going to a message that a person wrote
// means going to its parent; its text is returned. With a summary, the branch that
// is left is summed up first and the summary stands at the new place, in the same
// write; it can be stopped, and then nothing has changed. The session's choice of
// tools stays in force; where the branch would widen what may be used, because
// what it declares decides, the tools of now are pinned. It is refused while
// something runs.
func (s *Session) Navigate(ctx context.Context, target session.ID, o NavigateOptions) (Navigated, error) {
	s.touch()
	s.mu.Lock()
	if err := s.idle("going to another place"); err != nil {
		s.mu.Unlock()
		return Navigated{}, err
	}
	if err := s.ready(ctx); err != nil {
		s.mu.Unlock()
		return Navigated{}, err
	}
	if _, ok := s.log.Entry(target); !ok {
		s.mu.Unlock()
		return Navigated{}, fmt.Errorf("%s: %w: %s", s.log.Path(), session.ErrNoEntry, target)
	}
	var n Navigated
	var failed error
	turn := s.begin("", func(ctx context.Context) error {
		n, failed = s.navigate(ctx, target, o)
		return nil // told by the answer, not as a failed run
	})
	s.mu.Unlock()
	if err := turn.Wait(ctx); err != nil {
		s.Abort()
		return Navigated{}, err
	}
	return n, s.note(failed)
}

func (s *Session) navigate(ctx context.Context, target session.ID, o NavigateOptions) (Navigated, error) {
	var n Navigated
	var carry []session.Payload
	pin, err := s.keepRights(target)
	if err != nil {
		return n, err
	}
	if pin != nil {
		carry, n.Pinned = append(carry, pin), true
	}
	if o.Summarize {
		sum, err := s.leftBranch(ctx, target, o.Instructions)
		if err != nil {
			return n, err
		}
		if sum != nil {
			carry, n.Summary = append(carry, *sum), sum.Summary
		}
	}
	if err := ctx.Err(); err != nil {
		return n, err
	}
	s.log.Release()
	defer s.log.Hold() // begin releases it
	if n.Text, err = s.log.MoveLeaf(target, carry...); err != nil {
		return Navigated{}, err
	}
	n.Leaf = s.log.Leaf()
	s.hub.publish(agent.Event{Type: Navigation, EntryID: n.Leaf})
	return n, nil
}

// Navigation tells that the session went to another place of its tree.
const Navigation agent.EventType = "session_tree"

// leftBranch sums up what is on the way to the leaf and not on the way to the
// target; nil where there is nothing.
func (s *Session) leftBranch(ctx context.Context, target session.ID, instructions string) (*session.BranchSummary, error) {
	leaf := s.log.Leaf()
	from, err := s.log.ContextAt(leaf)
	if err != nil {
		return nil, err
	}
	to, err := s.log.Branch(target)
	if err != nil {
		return nil, err
	}
	stays := to.IDs()
	var msgs []message.Message
	for i, m := range from.Messages {
		if _, isSum := m.(*message.CompactionSummary); !isSum && !slices.Contains(stays, from.Sources[i]) {
			msgs = append(msgs, m)
		}
	}
	if len(msgs) == 0 {
		return nil, nil
	}
	c := compactor(s.engine.loadout, s.engine.chosen)
	sum, err := c.Branch(ctx, msgs, leaf, instructions)
	if err != nil {
		return nil, err
	}
	return &sum, nil
}
