package anthropic

import (
	"errors"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model/wire"
	"github.com/piweb-go/piweb/message"
)

// body builds the one request that a stream sends.
func (c *client) body(req agent.Request) (anthropic.MessageNewParams, error) {
	p := anthropic.MessageNewParams{Model: c.Endpoint.Info.ID}
	if len(req.Head) > 0 {
		head, err := wire.Head(req.Head)
		if err != nil {
			return p, err
		}
		p.System = []anthropic.TextBlockParam{{Text: head, CacheControl: c.habits.mark(c.habits.cache)}}
	}
	p.Messages = c.messages(req.Messages)
	if len(p.Messages) == 0 {
		return p, errors.New("nothing to send: no message with content")
	}
	var err error
	if p.Tools, err = c.tools(req.Tools); err != nil {
		return p, err
	}
	c.habits.think(&p, req.Thinking, c.Endpoint.Info.MaxTokens)
	fields := c.Sampling(req.Thinking)
	fields["stream"] = true
	p.SetExtraFields(fields)
	return p, nil
}

// mark is a breakpoint of the prompt cache, or none. The marks stand where pi
// puts them: at the head, at the last tool and at the last block of the last user
// message.
func (h habits) mark(on bool) anthropic.CacheControlEphemeralParam {
	if !on {
		return anthropic.CacheControlEphemeralParam{}
	}
	m := anthropic.NewCacheControlEphemeralParam()
	if h.cacheLong {
		m.TTL = anthropic.CacheControlEphemeralTTLTTL1h
	}
	return m
}

func (c *client) tools(declared []message.ToolDeclaration) ([]anthropic.ToolUnionParam, error) {
	var out []anthropic.ToolUnionParam
	for i, t := range declared {
		schema, err := wire.Schema(t)
		if err != nil {
			return nil, err
		}
		tool := &anthropic.ToolParam{
			Name: wire.Valid(t.Name), InputSchema: param.Override[anthropic.ToolInputSchemaParam](schema),
			CacheControl: c.habits.mark(c.habits.cacheTools && i == len(declared)-1),
		}
		if t.Description != "" {
			tool.Description = anthropic.String(wire.Valid(t.Description))
		}
		out = append(out, anthropic.ToolUnionParam{OfTool: tool})
	}
	return out, nil
}
