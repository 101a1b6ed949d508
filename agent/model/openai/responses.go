package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/wire"
	"github.com/piweb-go/piweb/message"
)

// ResponsesAPI is the name of the Responses wire in a configuration.
const ResponsesAPI = "openai-responses"

// NewResponses is [New] for the Responses wire. Nothing is stored at the
// provider: thoughts come encrypted and go back byte for byte, as whole items, to
// the model that had them.
func NewResponses(spec model.Spec) (agent.Model, error) {
	end, err := wire.NewEndpoint(spec, defaultBaseURL)
	if err != nil {
		return nil, err
	}
	var c responsesCompat
	if len(spec.Compat) > 0 {
		if err := json.Unmarshal(spec.Compat, &c); err != nil {
			return nil, fmt.Errorf("model %s: compat: %w", spec.Info, err)
		}
	}
	return &responder{
		Endpoint: end, sdk: openai.Client{Options: options(spec, end)}, levels: spec.Levels,
		developer: spec.Info.Reasoning && or(c.SupportsDeveloperRole, true), store: or(c.SupportsStore, true),
	}, nil
}

var _ model.Factory = NewResponses

// responsesCompat is what may be said of a server that copies this wire.
type responsesCompat struct {
	SupportsDeveloperRole *bool `json:"supportsDeveloperRole"`
	SupportsStore         *bool `json:"supportsStore"`
}

// responder is one model at one provider.
type responder struct {
	*wire.Endpoint
	sdk       openai.Client // without its services: only Execute is used
	levels    map[string]string
	developer bool // the head goes out under the role "developer"
	store     bool // the server knows the field "store"
}

func (c *responder) Info() agent.ModelInfo { return c.Endpoint.Info }

func (c *responder) Stream(ctx context.Context, req agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		c.Answer(ctx, yield,
			func(ctx context.Context, cancel context.CancelCauseFunc) (*wire.Events, error) {
				body, err := c.body(req)
				if err != nil {
					return nil, err
				}
				return send(ctx, c.Endpoint, &c.sdk, "responses", body, cancel)
			},
			func(yield wire.Yield) wire.Reader { return &responseReader{client: c, yield: yield} })
	}
}

// body builds the one request that a stream sends.
func (c *responder) body(req agent.Request) (responses.ResponseNewParams, error) {
	info := c.Endpoint.Info
	p := responses.ResponseNewParams{Model: info.ID}
	input, err := c.input(req)
	if err != nil {
		return p, err
	}
	if len(input) == 0 {
		return p, errors.New("nothing to send: no system prompt and no message with content")
	}
	p.Input.OfInputItemList = input
	for _, t := range req.Tools {
		tool, err := responseTool(t)
		if err != nil {
			return p, err
		}
		p.Tools = append(p.Tools, responses.ToolUnionParam{OfFunction: &tool})
	}
	if c.store {
		p.Store = openai.Bool(false)
	}
	// An answer as long as the whole window is no limit, and no server grants it.
	if n := info.MaxTokens; n > 0 && (info.ContextWindow == 0 || n < info.ContextWindow) {
		p.MaxOutputTokens = openai.Int(int64(n))
	}
	if info.Reasoning {
		c.think(&p, req.Thinking)
	}
	fields := c.Sampling(req.Thinking)
	fields["stream"] = true
	p.SetExtraFields(fields)
	return p, nil
}

// think asks for a thinking level, for summaries of the thoughts, and for the
// thoughts themselves, encrypted.
func (c *responder) think(p *responses.ResponseNewParams, level string) {
	word, mapped := c.levels[level]
	if level == "" || level == "off" {
		if !mapped {
			word = "none"
		}
		p.Reasoning.Effort = shared.ReasoningEffort(word)
		return
	}
	if !mapped {
		word = level
	}
	p.Reasoning.Effort = shared.ReasoningEffort(word)
	p.Reasoning.Summary = shared.ReasoningSummaryAuto
	p.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
}

// responseFunction is a tool as this wire declares it.
type responseFunction struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"` // its default would change the schema
}

func responseTool(t message.ToolDeclaration) (responses.FunctionToolParam, error) {
	schema, err := wire.Schema(t)
	if err != nil {
		return responses.FunctionToolParam{}, err
	}
	text, err := message.Marshal(responseFunction{
		Type: "function", Name: wire.Valid(t.Name), Description: wire.Valid(t.Description), Parameters: schema,
	})
	return param.Override[responses.FunctionToolParam](json.RawMessage(text)), err
}
