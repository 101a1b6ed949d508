package sources

import (
	"context"
	"strings"

	"github.com/piweb-go/piweb/completion"
)

// ResourceInfo is a resource of an MCP server that a message may name.
type ResourceInfo struct{ Server, URI, Name, Description string }

// Resourcer lists and reads the resources of the servers that a session has.
type Resourcer interface {
	MCPResources(ctx context.Context, s completion.Scope) ([]ResourceInfo, error)
	// MCPResource is the text of one; ok is false where there is none.
	MCPResource(ctx context.Context, s completion.Scope, server, uri string) (text string, ok bool, err error)
}

// Resources offers resources of MCP servers behind an @. A token becomes the text
// of the resource, between marks that name where it came from.
func Resources(from Resourcer) completion.Provider { return resources{from} }

type resources struct{ from Resourcer }

func (resources) ID() string      { return "mcp" }
func (resources) Kind() string    { return "mcp" }
func (resources) Trigger() string { return "@" }

func (p resources) Complete(ctx context.Context, q completion.Query) (completion.Offer, error) {
	all, err := p.from.MCPResources(ctx, q.Scope)
	if err != nil {
		return completion.Offer{}, err
	}
	var offer completion.Offer
	for _, r := range all {
		label := clean(r.Name, 120)
		if label == "" {
			label = clean(r.URI, 120)
		}
		score, parts := match(label, q.Text)
		if score == no {
			if score, _ = match(r.URI, q.Text); score < word {
				continue
			}
			parts = nil
		}
		id := r.Server + "/" + r.URI
		offer.Items = append(offer.Items, completion.Item{
			ID: id, Label: label, Detail: clean(r.Server+" · "+r.URI, 200), InsertText: completion.Format("@", "mcp", id), Score: float64(score), Matches: parts,
		})
	}
	return offer, nil
}

func (p resources) Resolve(ctx context.Context, r completion.Ref) (completion.Resolution, bool, error) {
	server, uri, ok := strings.Cut(r.ID, "/")
	if !ok {
		return completion.Resolution{}, false, nil
	}
	text, ok, err := p.from.MCPResource(ctx, r.Scope, server, uri)
	if err != nil || !ok {
		return completion.Resolution{}, false, err
	}
	quote := strings.NewReplacer(`"`, "&quot;", "\n", " ")
	return completion.Resolution{Text: "<mcp_resource server=\"" + quote.Replace(server) + "\" uri=\"" + quote.Replace(uri) + "\">\n" + text + "\n</mcp_resource>", ID: r.ID}, true, nil
}
