package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"unicode/utf8"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/piweb-go/piweb/agent"
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
	fields := map[string]any{"stream": true}
	maps.Copy(fields, extra)
	p.SetExtraFields(fields)
	return p, nil
}

// head is the message that carries the system prompt, or nothing for an empty
// one. JSON cannot carry bytes that are not UTF-8: such a head is refused, since
// to repair it would send another one than was recorded.
func (c *client) head(head []byte) ([]openai.ChatCompletionMessageParamUnion, error) {
	if len(head) == 0 {
		return nil, nil
	}
	if !utf8.Valid(head) {
		return nil, invalidHead(invalidAt(head))
	}
	if c.dialect.developerRole {
		return []openai.ChatCompletionMessageParamUnion{openai.DeveloperMessage(string(head))}, nil
	}
	return []openai.ChatCompletionMessageParamUnion{openai.SystemMessage(string(head))}, nil
}

func invalidAt(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(b)
}

// function is a tool as the wire declares it. The schema keeps its bytes: order
// of keys and spelling of numbers are a part of what the model reads.
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
		schema := bytes.TrimSpace(t.Parameters)
		switch {
		case len(schema) == 0 || bytes.Equal(schema, []byte("null")):
			schema = []byte(`{"type":"object","properties":{}}`)
		case !json.Valid(schema) || schema[0] != '{':
			return nil, errors.New("the parameters of the tool " + t.Name + " are not a JSON Schema")
		}
		text, err := message.Marshal(function{
			Name: valid(t.Name), Description: valid(t.Description), Parameters: validJSON(schema),
		})
		if err != nil {
			return nil, err
		}
		out[i] = openai.ChatCompletionFunctionTool(param.Override[shared.FunctionDefinitionParam](json.RawMessage(text)))
	}
	return out, nil
}
