package piweb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/piweb-go/piweb/internal/owner"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

// Elsewhere is a session that another program of the user holds for writing and
// that can be asked there.
type Elsewhere struct {
	Holder session.Holder
	path   string
}

// Elsewhere tells whether another program that can be asked holds a session. It
// asks nothing yet: that program may be gone by then.
func (r *Runtime) Elsewhere(path string) (*Elsewhere, bool) {
	h, ok := r.session.Lease.Holder(path)
	if !ok || h.Address == "" || h.Key == r.myKey() {
		return nil, false
	}
	return &Elsewhere{h, h.Path}, true
}

// errNotHeld: the program that was asked does not hold the session any more.
var errNotHeld = errors.New("the session is not held there any more")

// IsGone tells whether an error of Elsewhere means that nobody holds the session
// there: nothing was done, and the caller may do it itself.
func IsGone(err error) bool {
	return errors.Is(err, errNotHeld) || errors.Is(err, owner.ErrNobody) || errors.Is(err, owner.ErrDenied)
}

// Prompt sends a prompt to the program that holds the session, and tells each its
// events. When ctx ends, that program is asked to stop the prompt, and its end is
// still waited for. Of the options, model and thinking hold only for a session that
// is not live there yet.
func (e *Elsewhere) Prompt(ctx context.Context, in Input, o OpenOptions, each func(Event)) error {
	c, err := e.begin(ctx, askPrompt, promptBody{in, o})
	if err != nil {
		return err
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { _ = c.Send(abortWord) })
	defer stop()
	_, err = e.listen(c, func(raw json.RawMessage) error {
		ev, err := decodeEvent(raw)
		if err == nil {
			each(ev)
		}
		return err
	})
	return err
}

// Release asks the program that holds the session to give it back when its turn
// has ended, and waits for that.
func (e *Elsewhere) Release(ctx context.Context) error {
	return e.ask(ctx, askRelease, nil, nil)
}

// ask asks one thing that has one answer.
func (e *Elsewhere) ask(ctx context.Context, what string, b, result any) error {
	c, err := e.begin(ctx, what, b)
	if err != nil {
		return err
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	raw, err := e.listen(c, func(json.RawMessage) error { return nil })
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil || result == nil {
		return err
	}
	return json.Unmarshal(raw, result)
}

func (e *Elsewhere) begin(ctx context.Context, what string, b any) (*owner.Conn, error) {
	raw, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	return owner.Ask(ctx, e.Holder.Address, e.Holder.Key, question{what, e.path, raw})
}

// listen reads the answer up to its end.
func (e *Elsewhere) listen(c *owner.Conn, event func(json.RawMessage) error) (json.RawMessage, error) {
	for {
		var w word
		err := c.Receive(&w)
		switch {
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("%s: process %d, which holds the session, went away in the middle of it; look at the session before you try again", e.path, e.Holder.PID)
		case err != nil:
			return nil, fmt.Errorf("%s: ask process %d, which holds the session: %w", e.path, e.Holder.PID, err)
		case w.Held != nil && !*w.Held:
			return nil, errNotHeld
		case w.Error != nil:
			return nil, w.Error
		case w.Event == nil:
			return w.Result, nil
		}
		if err := event(w.Event); err != nil {
			return nil, err
		}
	}
}

// handed lets the program that holds a session do something with it, and tells
// whether it did. Where it holds the session no longer, or is gone, the caller goes
// on by itself.
func (r *Runtime) handed(ctx context.Context, path, what string, b, result any) (done bool, err error) {
	e, ok := r.Elsewhere(path)
	if !ok {
		return false, nil
	}
	if err = e.ask(ctx, what, b, result); IsGone(err) {
		return false, nil
	}
	return true, err
}

// decodeEvent reads an event that was written as JSON.
func decodeEvent(raw json.RawMessage) (Event, error) {
	var w struct {
		Event
		Message     json.RawMessage   `json:"message"`
		ToolResults []json.RawMessage `json:"toolResults"`
	}
	if err := json.Unmarshal(raw, &w); err != nil {
		return Event{}, fmt.Errorf("read an event: %w", err)
	}
	e := w.Event
	decode := func(raw json.RawMessage) (message.Message, error) {
		m, err := message.Decode(raw)
		if err != nil {
			return nil, fmt.Errorf("read the message of an event: %w", err)
		}
		return m, nil
	}
	var err error
	if len(w.Message) > 0 && string(w.Message) != "null" {
		if e.Message, err = decode(w.Message); err != nil {
			return Event{}, err
		}
	}
	for _, raw := range w.ToolResults {
		m, err := decode(raw)
		if err != nil {
			return Event{}, err
		}
		e.ToolResults = append(e.ToolResults, m)
	}
	return e, nil
}
