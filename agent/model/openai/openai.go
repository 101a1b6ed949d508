package openai

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/openai/openai-go/v3"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
)

// API is the name of this wire in a configuration.
const API = "openai-completions"

// New builds a client for a model. It opens no connection and reads nothing but
// spec. It fails for a base URL or a compat object that cannot be used. The
// client is safe for concurrent use; where spec brings no http.Client it has its
// own, whose idle connections end by themselves after a minute and a half, or at
// once with its Close method (it is an [io.Closer]).
func New(spec model.Spec) (agent.Model, error) {
	base, query, err := baseURL(spec)
	if err != nil {
		return nil, err
	}
	dialect, err := resolve(spec, base)
	if err != nil {
		return nil, err
	}
	c := &client{
		info: spec.Info, dialect: dialect, secrets: newScrubber(spec, base, query),
		host: base.Host, idle: idleTimeout, http: spec.Client,
	}
	if c.http == nil {
		c.http = newHTTPClient()
		c.ownHTTP = true
	}
	c.sdk = openai.Client{Options: options(spec, base, query, c)}
	return c, nil
}

var _ model.Factory = New

// client is one model at one provider.
type client struct {
	info    agent.ModelInfo
	dialect dialect
	secrets scrubber
	host    string
	sdk     openai.Client // without its services: only Execute is used
	http    *http.Client
	ownHTTP bool
	idle    time.Duration
}

func (c *client) Info() agent.ModelInfo { return c.info }

// Close ends the idle connections of the client's own http.Client.
func (c *client) Close() error {
	if c.ownHTTP {
		c.http.CloseIdleConnections()
	}
	return nil
}

func (c *client) Stream(ctx context.Context, req agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		body, err := c.body(req)
		if err != nil {
			yield(nil, c.failure(err))
			return
		}
		sending, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		stream, err := c.send(sending, body, c.watch(cancel))
		defer stream.close()

		a := assembler{client: c, yield: yield}
		for err == nil && stream.next() && ctx.Err() == nil {
			var more bool
			if more, err = a.event(stream.event()); !more {
				return
			}
		}
		if err == nil {
			err = stream.err()
		}
		switch {
		case ctx.Err() != nil:
			yield(nil, ctx.Err())
		case err != nil && !a.finished():
			yield(nil, c.failure(cause(sending, err)))
		default:
			a.end()
		}
	}
}

// cause prefers the reason for which we ended a request to the error that this
// gave.
func cause(ctx context.Context, err error) error {
	if why := context.Cause(ctx); why != nil {
		return why
	}
	return err
}
