package openai

import (
	"context"
	"iter"

	"github.com/openai/openai-go/v3"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/wire"
)

// API is the name of this wire in a configuration.
const API = "openai-completions"

// New builds a client for a model. It opens no connection and reads nothing but
// spec. It fails for a base URL or a compat object that cannot be used. The
// client is safe for concurrent use; where spec brings no http.Client it has its
// own, whose idle connections end by themselves after a minute and a half, or at
// once with its Close method (it is an [io.Closer]).
func New(spec model.Spec) (agent.Model, error) {
	end, err := wire.NewEndpoint(spec, defaultBaseURL)
	if err != nil {
		return nil, err
	}
	dialect, err := resolve(spec, end.Base)
	if err != nil {
		return nil, err
	}
	c := &client{Endpoint: end, info: spec.Info, dialect: dialect}
	c.sdk = openai.Client{Options: options(spec, end)}
	return c, nil
}

var _ model.Factory = New

// client is one model at one provider.
type client struct {
	*wire.Endpoint
	info    agent.ModelInfo
	dialect dialect
	sdk     openai.Client // without its services: only Execute is used
}

func (c *client) Info() agent.ModelInfo { return c.info }

func (c *client) Stream(ctx context.Context, req agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		c.Answer(ctx, yield,
			func(ctx context.Context, cancel context.CancelCauseFunc) (*wire.Events, error) {
				body, err := c.body(req)
				if err != nil {
					return nil, err
				}
				return send(ctx, c.Endpoint, &c.sdk, "chat/completions", body, cancel)
			},
			func(yield wire.Yield) wire.Reader { return &assembler{client: c, yield: yield} })
	}
}
