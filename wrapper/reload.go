package wrapper

import (
	"context"

	"github.com/piweb-go/piweb/agent"
)

const reloadCommand = "reload"

// Reload reads everything anew that the policy lets in: context files, skills,
// templates, extensions. It is refused while a prompt runs. Until then a live
// session keeps what it has.
func (s *Session) Reload(ctx context.Context) error {
	s.touch()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.idle("a reload"); err != nil {
		return err
	}
	if err := s.ready(ctx); err != nil {
		return err
	}
	return s.reload(ctx)
}

// reload is Reload under mu, with an engine.
func (s *Session) reload(ctx context.Context) error {
	p, _ := s.Policy()
	if err := s.build(ctx, p); err != nil {
		return err
	}
	s.hub.publish(agent.Event{Type: Notice, Reason: "Everything was read anew."})
	return nil
}
