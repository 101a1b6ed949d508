package openai

import (
	"encoding/json"
	"errors"
	"maps"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model/wire"
	"github.com/piweb-go/piweb/message"
)

// body builds the one request that a stream sends.
func (c *client) body(req agent.Request) (openai.ChatCompletionNewParams, error) {
	p := openai.ChatCompletionNewParams{Model: c.info.ID}
	head, err := c.head(req.Head)
	if err != nil {
		return p, err
	}
	p.Messages = append(head, c.messages(req.Messages)...)
	if len(p.Messages) == 0 {
		return p, errors.New("nothing to send: no system prompt and no message with content")
	}
	if p.Tools, err = tools(req.Tools); err != nil {
		return p, err
	}
	if c.dialect.usage {
		p.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	}
	if c.dialect.store {
		p.Store = openai.Bool(false)
	}
	// An answer as long as the whole window is no limit, and no server grants it.
	if n := c.info.MaxTokens; n > 0 && (c.info.ContextWindow == 0 || n < c.info.ContextWindow) {
		if c.dialect.maxTokensField == "max_tokens" {
			p.MaxTokens = openai.Int(int64(n))
		} else {
			p.MaxCompletionTokens = openai.Int(int64(n))
		}
	}
	effort, extra := c.dialect.thinkingFields(c.info, req.Thinking)
	p.ReasoningEffort = shared.ReasoningEffort(effort)
	fields := c.Sampling(req.Thinking)
	fields["stream"] = true
	maps.Copy(fields, extra)
	p.SetExtraFields(fields)
	return p, nil
}

// head is the message that carries the system prompt, or nothing for an empty
// one.
func (c *client) head(head []byte) ([]openai.ChatCompletionMessageParamUnion, error) {
	if len(head) == 0 {
		return nil, nil
	}
	text, err := wire.Head(head)
	if err != nil {
		return nil, err
	}
	if c.dialect.developerRole {
		return []openai.ChatCompletionMessageParamUnion{openai.DeveloperMessage(text)}, nil
	}
	return []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(text)}, nil
}

// function is a tool as the wire declares it.
type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

func tools(declared []message.ToolDeclaration) ([]openai.ChatCompletionToolUnionParam, error) {
	if len(declared) == 0 {
		return nil, nil
	}
	out := make([]openai.ChatCompletionToolUnionParam, len(declared))
	for i, t := range declared {
		schema, err := wire.Schema(t)
		if err != nil {
			return nil, err
		}
		text, err := message.Marshal(function{
			Name: wire.Valid(t.Name), Description: wire.Valid(t.Description), Parameters: schema,
		})
		if err != nil {
			return nil, err
		}
		out[i] = openai.ChatCompletionFunctionTool(param.Override[shared.FunctionDefinitionParam](json.RawMessage(text)))
	}
	return out, nil
}
