package wrapper

import (
	"context"
	"slices"

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

// Loadout is what the session has loaded; it builds the engine if there is none.
// The loadout stays the session's: it must not be closed.
func (s *Session) Loadout(ctx context.Context) (Loadout, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state, _ := s.State(); state {
	case Closed:
		return Loadout{}, ErrClosed
	case Running: // it has an engine, and nothing may change it now
	default:
		if err := s.ready(ctx); err != nil {
			return Loadout{}, err
		}
	}
	return s.engine.loadout, nil
}

// Newer names what reads differently on disk than in the session.
func (s *Session) Newer() []string {
	s.st.Lock()
	defer s.st.Unlock()
	return slices.Clone(s.newer)
}
