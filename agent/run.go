package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/piweb-go/piweb/internal/failpoint"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

// ErrTooManyTurns says that a run came to its limit of turns.
var ErrTooManyTurns = errors.New("the run came to its limit of turns")

// run is one prompt on its way, with what was queued behind it.
type run struct {
	l         *Loop
	turns     int
	answers   int  // whole ones
	attempt   int  // retries since the last whole answer
	recovered bool // a summary was made for an answer that did not fit
	full      bool // making room failed
}

// Run runs an accepted prompt to its end, and what is queued meanwhile. The
// answer may be a failure of the provider: that is recorded and told like any
// answer, and tried again as [Retry] says. The error is for what could not be
// recorded or told at all. Cancelling ctx aborts the run; what was answered so
// far is kept, every open call gets a result, and what is queued stays queued.
func (l *Loop) Run(ctx context.Context, prompt Accepted) error {
	l.cfg.Emit(Event{Type: AgentStart})
	err := (&run{l: l}).all(ctx, prompt)
	l.settle(ctx, err)
	return err
}

// settle tells the end of a run.
func (l *Loop) settle(ctx context.Context, err error) {
	no, aborted := false, ctx.Err() != nil
	end := Event{Type: AgentEnd, WillRetry: &no}
	if err != nil && !aborted {
		end.Error = err.Error()
	}
	l.cfg.Emit(end)
	l.cfg.Emit(Event{Type: AgentSettled, Aborted: &aborted})
}

func (r *run) all(ctx context.Context, said Accepted) error {
	queued, err := r.l.record(r.l.cfg.Queue.Steering())
	if err != nil {
		return err
	}
	said.messages, said.ids = append(said.messages, queued.messages...), append(said.ids, queued.ids...)
	for {
		if said, err = r.guarded(said); err != nil {
			return err
		}
		if err := r.makeRoom(ctx); err != nil {
			return err
		}
		if said, err = r.late(said); err != nil {
			return err
		}
		t, err := r.turn(ctx, said)
		if err != nil {
			return err
		}
		again, err := r.again(ctx, t)
		if err != nil {
			return err
		}
		if again {
			said = Accepted{}
			continue
		}
		if ctx.Err() != nil || t.failed() {
			return nil
		}
		if said, err = r.next(t); err != nil {
			return err
		}
		if len(said.messages) == 0 && !t.more {
			return nil
		}
	}
}

// next takes what goes in before the next request.
func (r *run) next(t turned) (Accepted, error) {
	queued := r.l.cfg.Queue.Steering()
	if len(queued) == 0 && !t.more {
		queued = r.l.cfg.Queue.Last()
	}
	return r.l.record(queued)
}

// turned is a turn that is over.
type turned struct {
	answer  *message.Assistant
	failure error        // why the answer is no whole one
	entries []session.ID // of the answer and its results
	more    bool         // the model wants to see the results
}

func (t turned) failed() bool {
	return t.answer.StopReason == message.StopError || t.answer.StopReason == message.StopAborted
}

// turn asks once and runs the calls of the answer.
func (r *run) turn(ctx context.Context, said Accepted) (turned, error) {
	l := r.l
	if l.cfg.MaxTurns > 0 && r.turns >= l.cfg.MaxTurns {
		return turned{}, fmt.Errorf("%w (%d)", ErrTooManyTurns, l.cfg.MaxTurns)
	}
	r.turns++
	l.cfg.Emit(Event{Type: TurnStart})
	for i, m := range said.messages {
		l.tellRecorded(m, said.ids[i])
	}
	req, err := l.request(ctx)
	if err != nil {
		return turned{}, err
	}
	failpoint.Here("before-receipt")
	if err := l.recordReceipt(req); err != nil {
		return turned{}, err
	}
	failpoint.Here("before-answer")
	start := l.cfg.Now()
	answer, failure := l.ask(ctx, req, start)
	answer.DurationMs = l.cfg.Now().Sub(start).Milliseconds()
	ids, err := l.cfg.Transcript.Append(session.Message(answer))
	if err != nil {
		return turned{}, err
	}
	failpoint.Here("after-answer")
	l.cfg.Emit(Event{Type: MessageEnd, Message: answer, EntryID: ids[0]})
	t := turned{answer: answer, failure: failure, entries: ids}
	if !t.failed() {
		r.answers++
		r.answered()
	}
	results, ids, terminate, err := l.calls(ctx, answer)
	if err != nil {
		return turned{}, err
	}
	failpoint.Here("after-results")
	t.entries = append(t.entries, ids...)
	if ctx.Err() != nil && !t.failed() && len(results) > 0 {
		// pi ends an aborted batch with an answer that says so.
		if err := l.recordAbort(); err != nil {
			return turned{}, err
		}
	}
	if err := l.cfg.Transcript.Sync(); err != nil {
		return turned{}, err
	}
	failpoint.Here("after-sync")
	l.cfg.Emit(Event{Type: TurnEnd, Message: answer, ToolResults: toldAll(results)})
	t.more = len(results) > 0 && !t.failed() && !terminate && ctx.Err() == nil
	return t, nil
}

// answered notes a whole answer: what went wrong before it is over.
func (r *run) answered() {
	if r.attempt > 0 {
		yes := true
		r.l.cfg.Emit(Event{Type: AutoRetryEnd, Attempt: r.attempt, Success: &yes})
	}
	r.attempt = 0
}

// again decides whether the request of a turn is sent once more: with other
// pictures where one was refused, after a summary where it did not fit, or a little later where the provider was only busy.
func (r *run) again(ctx context.Context, t turned) (bool, error) {
	if ok, err := r.spare(ctx, t); ok || err != nil {
		return ok, err
	}
	if ok, err := r.recover(ctx, t); ok || err != nil {
		return ok, err
	}
	if t.failure == nil {
		r.recovered = false
		return false, nil
	}
	return r.retry(ctx, t)
}

// retry waits and takes the failed answer out of the context. The last failure
// stays in it: it is the answer then.
func (r *run) retry(ctx context.Context, t turned) (bool, error) {
	l := r.l
	delay, ok := l.cfg.Retry.Delay(r.attempt+1, t.failure, l.cfg.Now())
	if !ok || ctx.Err() != nil {
		r.gaveUp(t.failure.Error())
		return false, nil
	}
	r.attempt++
	yes := true
	l.cfg.Emit(Event{Type: AgentEnd, WillRetry: &yes})
	l.cfg.Emit(Event{Type: AutoRetryStart, Attempt: r.attempt, MaxAttempts: l.cfg.Retry.Max, DelayMs: delay.Milliseconds(), ErrorMessage: t.failure.Error()})
	if err := l.cfg.Sleep(ctx, delay); err != nil {
		r.gaveUp("the run was stopped before the request was sent again")
		return false, nil
	}
	failpoint.Here("before-edit")
	if err := l.drop(t); err != nil {
		return false, err
	}
	failpoint.Here("after-edit")
	l.cfg.Emit(Event{Type: AgentStart})
	return true, nil
}

// gaveUp tells that it is not tried again, where it was tried again before.
func (r *run) gaveUp(why string) {
	if r.attempt == 0 {
		return
	}
	no := false
	r.l.cfg.Emit(Event{Type: AutoRetryEnd, Attempt: r.attempt, Success: &no, ErrorMessage: why})
	r.attempt = 0
}
