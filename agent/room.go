package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/piweb-go/piweb/internal/failpoint"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

// CompactionReason says why a conversation is summed up.
type CompactionReason string

// The reasons, as clients see them.
const (
	ByHand      CompactionReason = "manual"
	ByThreshold CompactionReason = "threshold"
	ByOverflow  CompactionReason = "overflow"
)

// ErrNothingToCompact says that there is nothing before the part that a
// compaction would keep.
var ErrNothingToCompact = errors.New("there is nothing to sum up: what is kept as it is, is all there is")

// ErrNoCompactor says that this loop cannot sum anything up.
var ErrNoCompactor = errors.New("this session cannot be summed up")

// Compactor sums up the beginning of a conversation, so that the rest has room.
// Its requests are its own: they never carry the head of the loadout, so they
// have no receipt; the entry that comes of them says what was sent.
type Compactor interface {
	// Due tells whether a context leaves too little room for the next answer.
	Due(c *session.Context) bool
	// Full tells whether an answer shows that its request did not fit, though the
	// provider did not refuse it.
	Full(input, output int64, cut bool) bool
	// Compact makes the entry that replaces the beginning. Nothing is recorded.
	// It is ErrNothingToCompact where nothing can be replaced.
	Compact(ctx context.Context, c *session.Context, why CompactionReason, instructions string) (session.Compaction, Compaction, error)
}

// Compact sums up the conversation because somebody asked for it. It is told as a
// run of its own.
func (l *Loop) Compact(ctx context.Context, instructions string) (Compaction, error) {
	l.cfg.Emit(Event{Type: AgentStart})
	done, err := l.compact(ctx, ByHand, instructions, false)
	l.settle(ctx, err)
	return done, err
}

// compact sums up, records and tells. again says that a request is sent anew
// afterwards.
func (l *Loop) compact(ctx context.Context, why CompactionReason, instructions string, again bool) (Compaction, error) {
	if l.cfg.Compactor == nil {
		return Compaction{}, ErrNoCompactor
	}
	l.cfg.Emit(Event{Type: CompactionStart, Reason: string(why)})
	done, id, err := l.sumUp(ctx, why, instructions)
	aborted, retry := ctx.Err() != nil && err != nil, again && err == nil
	end := Event{Type: CompactionEnd, Reason: string(why), Aborted: &aborted, WillRetry: &retry, EntryID: id}
	if err != nil {
		end.ErrorMessage = err.Error()
	} else {
		end.Compacted = &done
	}
	l.cfg.Emit(end)
	return done, err
}

func (l *Loop) sumUp(ctx context.Context, why CompactionReason, instructions string) (Compaction, session.ID, error) {
	c, err := l.cfg.Transcript.Context()
	if err != nil {
		return Compaction{}, "", err
	}
	entry, done, err := l.summary(ctx, c, why, instructions)
	if err != nil {
		return Compaction{}, "", err
	}
	failpoint.Here("before-compaction")
	ids, err := l.cfg.Transcript.Commit(entry)
	if err != nil {
		return Compaction{}, "", &recordError{err}
	}
	failpoint.Here("after-compaction")
	return done, ids[0], nil
}

// summary asks for the summary, again where the provider was only busy.
func (l *Loop) summary(ctx context.Context, c *session.Context, why CompactionReason, instructions string) (session.Compaction, Compaction, error) {
	for attempt := 1; ; attempt++ {
		entry, done, err := l.cfg.Compactor.Compact(ctx, c, why, instructions)
		if err == nil || ctx.Err() != nil {
			return entry, done, err
		}
		delay, ok := l.cfg.Retry.Delay(attempt, err, l.cfg.Now())
		if !ok {
			return entry, done, err
		}
		l.cfg.Emit(Event{Type: SummaryRetry, Attempt: attempt, MaxAttempts: l.cfg.Retry.Max, DelayMs: delay.Milliseconds(), ErrorMessage: err.Error()})
		if err := l.cfg.Sleep(ctx, delay); err != nil {
			return entry, done, err
		}
	}
}

// recordError is a failure of the transcript. The run cannot go on after it.
type recordError struct{ error }

func (e *recordError) Unwrap() error { return e.error }

// makeRoom sums up before a request where too little room is left. That it could
// not be done does not end the run: the request may still fit. It is not tried
// again in the same run, because every request would wait for the same failure.
func (r *run) makeRoom(ctx context.Context) error {
	l := r.l
	if l.cfg.Compactor == nil || r.full || ctx.Err() != nil {
		return nil
	}
	c, err := l.cfg.Transcript.Context()
	if err != nil {
		return err
	}
	if !l.cfg.Compactor.Due(c) {
		return nil
	}
	_, err = l.compact(ctx, ByThreshold, "", false)
	var lost *recordError
	if errors.As(err, &lost) {
		return err
	}
	r.full = err != nil
	return nil
}

// recover sums up after a request that did not fit, once per answer. ok tells
// whether to send it again; the failed answer is then taken out of the context.
func (r *run) recover(ctx context.Context, t turned) (ok bool, err error) {
	l := r.l
	if r.recovered || l.cfg.Compactor == nil || ctx.Err() != nil || !r.overflowed(t) {
		return false, nil
	}
	r.recovered = true
	yes := true
	l.cfg.Emit(Event{Type: AgentEnd, WillRetry: &yes})
	if _, err = l.compact(ctx, ByOverflow, "", true); err != nil {
		var lost *recordError
		if errors.As(err, &lost) {
			return false, err
		}
		return false, nil // the refusal stands as the answer
	}
	if err := l.drop(t); err != nil {
		return false, err
	}
	l.cfg.Emit(Event{Type: AgentStart})
	return true, nil
}

func (r *run) overflowed(t turned) bool {
	if t.failure != nil {
		return Overflow(t.failure)
	}
	u := t.answer.Usage
	cut := t.answer.StopReason == message.StopLength
	if len(t.answer.Content.ToolCalls()) > 0 && !cut {
		return false // its calls have run: the next request finds out
	}
	return r.l.cfg.Compactor.Full(u.Input+u.CacheRead+u.CacheWrite, u.Output, cut)
}

// drop takes an answer and its results out of the context; the entries stay.
func (l *Loop) drop(t turned) error {
	edits := make([]session.Payload, len(t.entries))
	for i, id := range t.entries {
		edits[i] = session.ContextEdit{TargetID: id}
	}
	if _, err := l.cfg.Transcript.Append(edits...); err != nil {
		return fmt.Errorf("take a failed answer out of the context: %w", err)
	}
	return nil
}
