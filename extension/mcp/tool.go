package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/piweb-go/piweb/agent/tool"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
)

// Bounds of a declaration.
const (
	maxDescription = 4 << 10
	maxSchema      = 64 << 10
	maxSchemaDepth = 64
)

// serverTool is one tool of a server, as a model sees it.
type serverTool struct {
	server *server
	name   string // the server's
	decl   message.ToolDeclaration
	reads  bool
}

func newTool(s *server, t *sdk.Tool, name string) *serverTool {
	description := clean(t.Description, maxDescription)
	if description == "" {
		description = "A tool of the MCP server " + s.cfg.Name + "."
	}
	return &serverTool{server: s, name: t.Name, reads: t.Annotations != nil && t.Annotations.ReadOnlyHint,
		decl: message.ToolDeclaration{Name: name, Description: description, Parameters: schema(t.InputSchema)}}
}

// schema is the server's, cleaned; one that is no object, or too large, becomes
// that of any object.
func schema(v any) json.RawMessage {
	anything := json.RawMessage(`{"type":"object"}`)
	m, ok := v.(map[string]any)
	if !ok {
		return anything
	}
	if kind, ok := m["type"]; ok && kind != "object" {
		return anything
	}
	cleaned, ok := scrub(m, 0).(map[string]any)
	if !ok {
		return anything
	}
	cleaned["type"] = "object"
	raw, err := message.Marshal(cleaned)
	if err != nil || len(raw) > maxSchema {
		return anything
	}
	return raw
}

// scrub cleans the texts of a schema.
func scrub(v any, depth int) any {
	if depth > maxSchemaDepth {
		return nil
	}
	switch v := v.(type) {
	case string:
		return clean(v, maxDescription)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = scrub(item, depth+1)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[key] = scrub(item, depth+1)
		}
		return out
	}
	return v
}

// Declaration is what the model is told.
func (t *serverTool) Declaration() message.ToolDeclaration { return t.decl }

// Sequential is never asked for: a server has to bear calls beside each other.
func (t *serverTool) Sequential() bool { return false }

// Traits is what the policy is asked about.
func (t *serverTool) Traits() policy.Tool {
	return policy.Tool{Name: t.decl.Name, MCP: true, OnlyReads: t.reads}
}

// Run calls the tool.
func (t *serverTool) Run(ctx context.Context, call *tool.Call) (tool.Result, error) {
	r, err := t.server.call(ctx, t.name, call.Arguments)
	if err != nil {
		if ctx.Err() != nil {
			return tool.Result{}, ctx.Err()
		}
		return tool.Error(clean(err.Error(), 2000)), nil
	}
	out := convert(r, call.Output())
	details, err := message.Marshal(struct {
		Server string `json:"serverName"`
		Tool   string `json:"mcpToolName"`
		Cut    int    `json:"bytesLeftOut,omitempty"`
	}{t.server.cfg.Name, clean(t.name, 200), out.cut})
	if err != nil {
		return tool.Result{}, fmt.Errorf("mcp: %w", err)
	}
	return tool.Result{Content: out.content, Details: details, IsError: r.IsError}, nil
}
