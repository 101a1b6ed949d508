package mcp

import (
	"context"

	"github.com/piweb-go/piweb/agent"
)

// Check starts the servers of a place that are switched on, waits until each has
// answered or failed, and ends them. names picks some; none picks all. Servers
// that are off are listed with the others.
func (p *Pool) Check(ctx context.Context, at Place, names ...string) ([]Status, []agent.LeftOut) {
	servers, left := Servers(at)
	var out []Status
	var held []*handle
	var place []int
	for _, cfg := range servers {
		if len(names) > 0 && !contains(names, cfg.Name) {
			continue
		}
		st := Status{Server: cfg, State: Disabled}
		if cfg.Enabled {
			if h := p.acquire(cfg, at); h != nil {
				held, place = append(held, h), append(place, len(out))
			}
		}
		out = append(out, st)
	}
	for i, h := range held {
		h.settled(ctx)
		out[place[i]] = h.status()
	}
	for _, h := range held {
		h.release()
	}
	return out, left
}

// settled waits until a server has answered or failed for the first time.
func (s *server) settled(ctx context.Context) {
	for {
		s.mu.Lock()
		state, changed := s.state, s.changed
		s.mu.Unlock()
		if state != Starting {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
