package anthropic

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/wire"
)

// API is the name of this wire in a configuration.
const API = "anthropic-messages"

const (
	defaultBaseURL = "https://api.anthropic.com"
	version        = "2023-06-01" // of the wire, the header anthropic-version
)

// New builds a client for a model. It opens no connection and reads nothing but
// spec. It fails for a base URL or a compat object that cannot be used. The
// client is safe for concurrent use, and an [io.Closer] that ends its idle
// connections.
func New(spec model.Spec) (agent.Model, error) {
	end, err := wire.NewEndpoint(spec, defaultBaseURL)
	if err != nil {
		return nil, err
	}
	habits, err := resolve(spec)
	if err != nil {
		return nil, err
	}
	c := &client{Endpoint: end, habits: habits, path: "v1/messages"}
	if strings.HasSuffix(end.Base.Path, "/v1") {
		c.path = "messages" // the address names the version already
	}
	c.sdk = anthropic.Client{Options: options(spec, end, habits)}
	return c, nil
}

var _ model.Factory = New

// client is one model at one provider.
type client struct {
	*wire.Endpoint
	habits habits
	path   string
	sdk    anthropic.Client // without its services: only Execute is used
}

func (c *client) Info() agent.ModelInfo { return c.Endpoint.Info }

func (c *client) Stream(ctx context.Context, req agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		c.Answer(ctx, yield,
			func(ctx context.Context, cancel context.CancelCauseFunc) (*wire.Events, error) {
				body, err := c.body(req)
				if err != nil {
					return nil, err
				}
				return c.send(ctx, body, cancel)
			},
			func(yield wire.Yield) wire.Reader { return &reader{client: c, yield: yield} })
	}
}

// send posts a body and returns the events of the answer.
func (c *client) send(ctx context.Context, body anthropic.MessageNewParams, cancel context.CancelCauseFunc) (*wire.Events, error) {
	watch := func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		return c.Watch(cancel, req, next)
	}
	var res *http.Response
	if err := c.sdk.Execute(ctx, http.MethodPost, c.path, body, &res, option.WithMiddleware(watch)); err != nil {
		return nil, err
	}
	if res == nil || res.Body == nil {
		return nil, errors.New("the SDK gave neither an answer nor an error")
	}
	return wire.NewEvents(res.Body), nil
}

// options tell the SDK where to send and what not to do.
func options(spec model.Spec, end *wire.Endpoint, h habits) []option.RequestOption {
	opts := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithoutOpenTelemetry(),
		option.WithBaseURL(end.Base.String() + "/"),
		option.WithHTTPClient(end.HTTP),
		option.WithMaxRetries(0),
		option.WithHeader("User-Agent", "piweb"),
		option.WithHeader("anthropic-version", version),
	}
	for _, name := range wire.TellingHeaders() {
		opts = append(opts, option.WithHeaderDel(name))
	}
	if len(h.betas) > 0 {
		opts = append(opts, option.WithHeader("anthropic-beta", strings.Join(h.betas, ",")))
	}
	if spec.APIKey != "" {
		opts = append(opts, option.WithHeader("X-Api-Key", spec.APIKey))
	}
	for name, value := range spec.Headers {
		opts = append(opts, option.WithHeader(name, value))
	}
	for name, values := range end.Query {
		for _, v := range values {
			opts = append(opts, option.WithQueryAdd(name, v))
		}
	}
	return opts
}
