package mcp

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/piweb-go/piweb/agent"
)

// Factory makes the extension that gives a session the tools of its servers.
// place says where a session works; it is asked when a session is constructed.
func (p *Pool) Factory(place func(cwd string) Place) agent.Factory {
	return agent.Factory{Name: "mcp", New: func(ctx context.Context, env agent.Env) (agent.Extension, error) {
		at := place(env.CWD)
		servers, left := Servers(at)
		x := &extension{env: env, place: at}
		for _, cfg := range servers {
			if !cfg.Enabled {
				left = append(left, agent.LeftOut{What: fmt.Sprintf("MCP server %q of %s", cfg.Name, cfg.Source), Why: "it is switched off"})
				continue
			}
			x.servers = append(x.servers, cfg)
		}
		if env.Peek {
			return agent.Extension{Tools: p.look(x.servers, at), Left: append(left, p.notRunning(x.servers, at)...)}, nil
		}
		for _, cfg := range x.servers {
			if h := p.acquire(cfg, at); h != nil {
				x.handles = append(x.handles, h)
			}
		}
		x.grace(ctx, p.opts.Grace)
		tools := x.tools()
		x.offered = fingerprint(tools)
		for _, h := range x.handles {
			h.subscribe(func() { x.changed(h) })
			x.changed(h) // what happened until now
		}
		return agent.Extension{Tools: tools, Left: left, Close: x.close, Commands: []agent.Command{{
			Name: "mcp", Description: "Say how the MCP servers of this session are doing", Run: x.report,
		}}}, nil
	}}
}

// extension is the servers of one session.
type extension struct {
	env     agent.Env
	place   Place
	servers []Server
	handles []*handle

	mu      sync.Mutex
	offered string
	told    map[string]string // server → the reason that was told last
	closed  bool
}

// grace waits a moment for servers of which nothing is known: at their very first
// start a session would have to do without.
func (x *extension) grace(ctx context.Context, most time.Duration) {
	t := time.NewTimer(most)
	defer t.Stop()
	for _, h := range x.handles {
		for {
			h.mu.Lock()
			known, changed := h.known, h.server.changed
			h.mu.Unlock()
			if known {
				break
			}
			select {
			case <-changed:
			case <-t.C:
				return
			case <-ctx.Done():
				return
			}
		}
	}
}

// changed offers what the servers have now, if it is something else.
func (x *extension) changed(h *handle) {
	tools := x.tools()
	mark := fingerprint(tools)
	h.mu.Lock()
	state, reason := h.state, h.reason
	h.mu.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return
	}
	if x.told == nil {
		x.told = map[string]string{}
	}
	if state == Failed && x.told[h.cfg.Name] != reason {
		x.told[h.cfg.Name] = reason
		x.env.Notify(fmt.Sprintf("The MCP server %s is not there: %s. It is tried again.", h.cfg.Name, strings.TrimSuffix(reason, ".")))
	}
	if state == Ready {
		delete(x.told, h.cfg.Name)
	}
	if mark != x.offered {
		x.offered = mark
		x.env.Offer(tools...)
	}
}

func (x *extension) tools() []agent.Tool {
	servers := make([]*server, len(x.handles))
	for i, h := range x.handles {
		servers[i] = h.server
	}
	return build(servers)
}

// build names and makes the tools of servers, in their order.
func build(servers []*server) []agent.Tool {
	var from []source
	var of []*server
	var raw []*sdk.Tool
	for _, s := range servers {
		s.mu.Lock()
		tools := s.tools
		s.mu.Unlock()
		once := map[string]bool{}
		for _, t := range tools {
			if once[t.Name] || s.cfg.hidden(t.Name) {
				continue // of two tools with one name only the first can be called
			}
			once[t.Name] = true
			from, of, raw = append(from, source{s.cfg.Name, t.Name}), append(of, s), append(raw, t)
		}
	}
	var out []agent.Tool
	for i, name := range names(from) {
		out = append(out, newTool(of[i], raw[i], name))
	}
	return out
}

// fingerprint tells whether a list of tools says anything new.
func fingerprint(tools []agent.Tool) string {
	var b strings.Builder
	for _, t := range tools {
		d := t.Declaration()
		fmt.Fprintf(&b, "%q %q %s %v\n", d.Name, d.Description, d.Parameters, t.(*serverTool).reads)
	}
	return b.String()
}

func (x *extension) close() error {
	x.mu.Lock()
	x.closed = true
	x.mu.Unlock()
	for _, h := range x.handles {
		h.release()
	}
	return nil
}

// report is the command /mcp.
func (x *extension) report(context.Context, string) (agent.CommandResult, error) {
	if len(x.handles) == 0 {
		return agent.CommandResult{Notice: "No MCP server is configured. Name some in mcp.json of the agent directory."}, nil
	}
	var lines []string
	for _, h := range x.handles {
		lines = append(lines, h.status().String())
	}
	return agent.CommandResult{Notice: strings.Join(lines, "\n")}, nil
}

// String is one line for people.
func (s Status) String() string {
	line := fmt.Sprintf("%s (%s): %s", s.Server.Name, s.Server.Transport(), s.State)
	if s.Reason != "" {
		line += ": " + s.Reason
	}
	if s.State == Ready {
		line += fmt.Sprintf(", %d tools", len(s.Tools))
	}
	return line
}

// look is what `explain` sees: the tools of servers that run, and those that are
// remembered of the others. Nothing is started.
func (p *Pool) look(servers []Server, at Place) []agent.Tool {
	var seen []*server
	for _, cfg := range servers {
		key := cfg.key(at)
		if s := p.peek(key); s != nil {
			seen = append(seen, s)
		} else if tools, ok := recall(p.opts.cacheFile(key)); ok {
			seen = append(seen, &server{cfg: cfg, place: at, tools: tools, opts: p.opts})
		}
	}
	return build(seen)
}

// notRunning says of servers whose tools nobody knows that they are not known.
func (p *Pool) notRunning(servers []Server, at Place) (left []agent.LeftOut) {
	for _, cfg := range servers {
		key := cfg.key(at)
		if _, ok := recall(p.opts.cacheFile(key)); !ok && p.peek(key) == nil {
			left = append(left, agent.LeftOut{What: fmt.Sprintf("tools of the MCP server %q", cfg.Name), Why: "it has never run, so they are not known yet"})
		}
	}
	return left
}
