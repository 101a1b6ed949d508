package wire

import (
	"context"

	"github.com/piweb-go/piweb/agent"
)

// Send posts the one request of a stream and returns the events of the answer.
// cancel ends the request with a reason, for [Endpoint.Watch].
type Send func(ctx context.Context, cancel context.CancelCauseFunc) (*Events, error)

// Yield gives a delta to whoever listens, and is false after they left. What is
// yielded after that goes nowhere.
type Yield func(agent.Delta) bool

// Reader turns the events of one answer into deltas.
type Reader interface {
	// Event takes one event. more is false after the last one. The error is the
	// provider's, or tells that the event cannot be read.
	Event(Event) (more bool, err error)
	// Finished says that the provider ended the answer: what breaks after that
	// took nothing from it.
	Finished() bool
	// End yields the stop of a whole answer, nothing for one that was cut, or
	// returns the provider's failure.
	End() error
}

// Answer sends a request and reads its answer, so that the contract of
// [agent.Model] is kept in one place: nothing is sent under a context that is
// done, an answer ends soon after its context, an error is a refusal without
// secrets, and a body is always closed.
func (e *Endpoint) Answer(ctx context.Context, yield func(agent.Delta, error) bool, send Send, read func(Yield) Reader) {
	if err := ctx.Err(); err != nil {
		yield(nil, err)
		return
	}
	sending, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	left := false
	reader := read(func(d agent.Delta) bool {
		if !left && !yield(d, nil) {
			left = true
		}
		return !left
	})
	events, err := send(sending, cancel)
	if err == nil {
		defer events.Close()
		for more := true; more && err == nil && !left && ctx.Err() == nil && events.Next(); {
			more, err = reader.Event(events.Event())
		}
		if err == nil {
			err = events.Err()
		}
	}
	if left {
		return
	}
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case err != nil && !reader.Finished():
		err = e.Failure(Cause(sending, err))
	default:
		if err = reader.End(); err != nil {
			err = e.Failure(err)
		}
	}
	if err != nil && !left {
		yield(nil, err)
	}
}
