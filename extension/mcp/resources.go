package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Resource is something that a server lets people name.
type Resource struct{ Server, URI, Name, Description string }

// Bounds of resources.
const (
	maxResources    = 500 // per server
	resourcesFor    = 30 * time.Second
	listingTimeout  = 2 * time.Second
	maxResourceText = 100 << 10
)

// ErrNoResource says that no running server has a resource.
var ErrNoResource = errors.New("no running MCP server has this resource")

// Resources lists the resources of the servers that run for a place. Nothing is
// started, and a server that is slow is left out this time.
func (p *Pool) Resources(ctx context.Context, at Place) []Resource {
	var out []Resource
	servers, _ := Servers(at)
	for _, cfg := range servers {
		if s := p.peek(cfg.key(at)); s != nil {
			out = append(out, s.resources(ctx)...)
		}
	}
	return out
}

// ReadResource reads a resource that is text, at most 100 KiB of it.
func (p *Pool) ReadResource(ctx context.Context, at Place, server, uri string) (string, error) {
	servers, _ := Servers(at)
	for _, cfg := range servers {
		if cfg.Name != server {
			continue
		}
		if s := p.peek(cfg.key(at)); s != nil {
			return s.readResource(ctx, uri)
		}
	}
	return "", fmt.Errorf("%w: %s of %s", ErrNoResource, clean(uri, 200), clean(server, 64))
}

func (s *server) resources(ctx context.Context) []Resource {
	s.mu.Lock()
	session, have, at := s.session, s.listed, s.listedAt
	s.mu.Unlock()
	if session == nil {
		return nil
	}
	if time.Since(at) < resourcesFor {
		return have
	}
	if c := session.InitializeResult().Capabilities; c == nil || c.Resources == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, listingTimeout)
	defer cancel()
	var out []Resource
	cursor := ""
	for range 50 { // pages
		page, err := session.ListResources(ctx, &sdk.ListResourcesParams{Cursor: cursor})
		if err != nil {
			return have
		}
		for _, r := range page.Resources {
			if r != nil && len(out) < maxResources && len(r.URI) <= 2000 {
				out = append(out, Resource{s.cfg.Name, r.URI, clean(r.Name, 200), clean(r.Description, 300)})
			}
		}
		if cursor = page.NextCursor; cursor == "" || len(out) >= maxResources {
			break
		}
	}
	s.mu.Lock()
	s.listed, s.listedAt = out, time.Now()
	s.mu.Unlock()
	return out
}

func (s *server) readResource(ctx context.Context, uri string) (string, error) {
	s.mu.Lock()
	session := s.session
	s.mu.Unlock()
	if session == nil {
		return "", fmt.Errorf("%w: %s is not there now", ErrNoResource, s.cfg.Name)
	}
	r, err := session.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
	if err != nil {
		return "", fmt.Errorf("the MCP server %s: %w", s.cfg.Name, err)
	}
	var parts []string
	for _, c := range r.Contents {
		if c != nil && c.Blob == nil {
			parts = append(parts, strings.ToValidUTF8(c.Text, "\ufffd"))
		}
	}
	if len(parts) == 0 {
		return "", fmt.Errorf("%w: %s is no text", ErrNoResource, clean(uri, 200))
	}
	text, _ := middleOut(strings.Join(parts, "\n"), maxResourceText)
	return text, nil
}
