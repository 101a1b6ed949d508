package piweb

import (
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/internal/owner"
	"github.com/piweb-go/piweb/subagent"
)

type (
	compactBody struct {
		Instructions string
		Options      OpenOptions
	}
	limitsBody struct{ Limits subagent.Limits }
)

// Compact sums up the beginning of a session and waits for it, live or not; the
// program that holds the session does it where another one does. instructions, if
// any, say what matters. When ctx ends it is stopped, and nothing is recorded. Of the
// options, model and thinking hold only for a session that is not live there yet.
func (r *Runtime) Compact(ctx context.Context, path, instructions string, o OpenOptions) (done agent.Compaction, err error) {
	if s, live := r.registry.Live(path); !live || !s.Log().Held() {
		if e, ok := r.Elsewhere(path); ok {
			if done, err = e.Compact(ctx, instructions, o); !IsGone(err) {
				return done, err
			}
		}
	}
	s, err := r.Open(ctx, path, o)
	if err != nil {
		return done, err
	}
	c, err := s.Compact(ctx, instructions)
	if err != nil {
		return done, err
	}
	defer context.AfterFunc(ctx, func() { s.Abort() })()
	return c.Result(context.WithoutCancel(ctx))
}

// Compact asks the program that holds the session to sum up its beginning, and waits
// for it. When ctx ends, that program is asked to stop, and its end is waited for.
func (e *Elsewhere) Compact(ctx context.Context, instructions string, o OpenOptions) (done agent.Compaction, err error) {
	if o.CWD != "" { // that program stands in another folder
		if o.CWD, err = filepath.Abs(o.CWD); err != nil {
			return done, err
		}
	}
	c, err := e.begin(ctx, askCompact, compactBody{instructions, o})
	if err != nil {
		return done, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Send(abortWord) })()
	raw, err := e.listen(c, func(json.RawMessage) error { return nil })
	if err != nil {
		return done, err
	}
	return done, json.Unmarshal(raw, &done)
}

// askedCompact sums up for another program. Where that goes away, the summary goes on.
func (r *Runtime) askedCompact(ctx context.Context, path string, b compactBody, c *owner.Conn) (done agent.Compaction, err error) {
	s, err := r.Open(ctx, path, b.Options)
	if err != nil {
		return done, err
	}
	run, err := s.Compact(ctx, b.Instructions)
	if err != nil {
		return done, err
	}
	go func() {
		var said string
		if c.Receive(&said) == nil && said == abortWord {
			s.Abort()
		}
	}()
	return run.Result(ctx)
}

// SetLimits records what the subagents of a session may use together, see
// [subagent.Manager.SetLimits]. The program that holds the session does it, because
// the limits are in force there at once.
func (r *Runtime) SetLimits(ctx context.Context, path string, l subagent.Limits) error {
	if s, live := r.registry.Live(path); !live || !s.Log().Held() {
		if done, err := r.handed(ctx, path, askLimits, limitsBody{l}, nil); done {
			return err
		}
	}
	return r.subagents.SetLimits(ctx, path, l)
}
