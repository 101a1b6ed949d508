package google

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/wire"
	"github.com/piweb-go/piweb/message"
)

// API is the name of this wire in a configuration.
const API = "google-generative-ai"

const defaultBaseURL = "https://generativelanguage.googleapis.com/v1beta"

// New builds a client for a model. It opens no connection and reads nothing but
// spec. It fails for a base URL or a compat object that cannot be used. The
// client is safe for concurrent use, and an [io.Closer] that ends its idle
// connections.
func New(spec model.Spec) (agent.Model, error) {
	end, err := wire.NewEndpoint(spec, defaultBaseURL)
	if err != nil {
		return nil, err
	}
	var c compat
	if len(spec.Compat) > 0 {
		if err := json.Unmarshal(spec.Compat, &c); err != nil {
			return nil, fmt.Errorf("model %s: compat: %w", spec.Info, err)
		}
	}
	header := http.Header{"Accept": {"text/event-stream"}}
	if spec.APIKey != "" {
		header.Set("X-Goog-Api-Key", spec.APIKey)
	}
	for name, value := range spec.Headers {
		header.Set(name, value)
	}
	return &client{Endpoint: end, habits: resolve(spec, c), header: header}, nil
}

var _ model.Factory = New

// client is one model at one provider.
type client struct {
	*wire.Endpoint
	habits habits
	header http.Header
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
				text, err := message.Marshal(body)
				if err != nil {
					return nil, err
				}
				path := "models/" + url.PathEscape(c.Endpoint.Info.ID) + ":streamGenerateContent"
				return c.Post(ctx, cancel, path, url.Values{"alt": {"sse"}}, c.header, text)
			},
			func(yield wire.Yield) wire.Reader { return &reader{client: c, yield: yield} })
	}
}

// The body of a request. Schemas, arguments and signatures are raw: their bytes
// are a part of what the model reads.
type (
	request struct {
		System   *content   `json:"systemInstruction,omitempty"`
		Contents []*content `json:"contents"`
		Tools    []toolSet  `json:"tools,omitempty"`
		Config   config     `json:"generationConfig,omitempty"`
	}
	content struct {
		Role  string `json:"role,omitempty"`
		Parts []part `json:"parts"`
	}
	part struct {
		Text      *string           `json:"text,omitempty"`
		Thought   bool              `json:"thought,omitempty"`
		Inline    *blob             `json:"inlineData,omitempty"`
		Call      *functionCall     `json:"functionCall,omitempty"`
		Response  *functionResponse `json:"functionResponse,omitempty"`
		Signature string            `json:"thoughtSignature,omitempty"`
	}
	blob struct {
		MimeType string `json:"mimeType"`
		Data     string `json:"data"`
	}
	functionCall struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	}
	functionResponse struct {
		Name     string         `json:"name"`
		Response responseObject `json:"response"`
		Parts    []part         `json:"parts,omitempty"`
	}
	responseObject struct {
		Output *string `json:"output,omitempty"`
		Error  *string `json:"error,omitempty"`
	}
	toolSet struct {
		Functions []function `json:"functionDeclarations"`
	}
	function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Schema      json.RawMessage `json:"parametersJsonSchema"`
	}
	config map[string]any
)

// body builds the one request that a stream sends.
func (c *client) body(req agent.Request) (request, error) {
	var out request
	if len(req.Head) > 0 {
		head, err := wire.Head(req.Head)
		if err != nil {
			return out, err
		}
		out.System = &content{Parts: []part{{Text: &head}}}
	}
	if out.Contents = c.contents(req.Messages); len(out.Contents) == 0 {
		return out, errors.New("nothing to send: no message with content")
	}
	var functions []function
	for _, t := range req.Tools {
		schema, err := wire.Schema(t)
		if err != nil {
			return out, err
		}
		functions = append(functions, function{wire.Valid(t.Name), wire.Valid(t.Description), schema})
	}
	if functions != nil {
		out.Tools = []toolSet{{functions}}
	}
	info := c.Endpoint.Info
	out.Config = c.Sampling(req.Thinking)
	if t := c.habits.think(req.Thinking); t != nil {
		out.Config["thinkingConfig"] = t
	}
	// An answer as long as the whole window is no limit, and no server grants it.
	if n := info.MaxTokens; n > 0 && (info.ContextWindow == 0 || n < info.ContextWindow) {
		out.Config["maxOutputTokens"] = n
	}
	return out, nil
}
