package piweb

import (
	"context"
	"errors"

	"github.com/piweb-go/piweb/completion"
	"github.com/piweb-go/piweb/completion/sources"
	"github.com/piweb-go/piweb/extension/mcp"
)

// mcpScope is where a session's servers run; ok is false for a session that is not
// live or whose policy has none: then nothing of a server is shown.
func (m *mentions) mcpScope(s completion.Scope) (at mcp.Place, ok bool) {
	h := m.rt.host
	live, found := m.rt.Live(s.SessionFile)
	if !found || h.servers == nil {
		return mcp.Place{}, false
	}
	p, _ := live.Policy()
	return h.mcpPlace(s.CWD), p.Err() == nil && p.Loads.MCP && p.Loads.Extensions
}

// MCPResources lists what the running servers of a session let people name. It
// implements sources.Resourcer.
func (m *mentions) MCPResources(ctx context.Context, s completion.Scope) ([]sources.ResourceInfo, error) {
	at, ok := m.mcpScope(s)
	if !ok {
		return nil, nil
	}
	var out []sources.ResourceInfo
	for _, r := range m.rt.host.servers.Resources(ctx, at) {
		out = append(out, sources.ResourceInfo(r))
	}
	return out, nil
}

// MCPResource reads one. It implements sources.Resourcer.
func (m *mentions) MCPResource(ctx context.Context, s completion.Scope, server, uri string) (string, bool, error) {
	at, ok := m.mcpScope(s)
	if !ok {
		return "", false, nil
	}
	text, err := m.rt.host.servers.ReadResource(ctx, at, server, uri)
	if errors.Is(err, mcp.ErrNoResource) {
		return "", false, nil
	}
	return text, err == nil, err
}
