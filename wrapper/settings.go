package wrapper

import (
	"context"
	"errors"
	"fmt"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/session"
)

// Events of settings that are no part of the policy.
const (
	NameChanged  agent.EventType = "session_info_changed"
	ModelChanged agent.EventType = "model_changed"
)

// maxName bounds a session's name, in characters.
const maxName = 200

// ErrName says that a session's name cannot be used.
var ErrName = errors.New("the name cannot be used")

// SetName names the session. Line breaks become blanks. It is allowed while a
// prompt runs.
func (s *Session) SetName(_ context.Context, name string) error {
	s.touch()
	name = session.CleanName(name)
	if name == "" || len([]rune(name)) > maxName {
		return fmt.Errorf("%w: it must have 1 to %d characters", ErrName, maxName)
	}
	if state, _ := s.State(); state == Closed {
		return ErrClosed
	}
	if _, err := s.log.Commit(session.SessionInfo{Name: name}); err != nil {
		return err
	}
	s.hub.publish(agent.Event{Type: NameChanged, Reason: name})
	return nil
}

// SetModel makes a model answer from the next prompt on, and records it. ref is
// "provider/id" or "id"; thinking is a level, or "" for the session's. It is
// refused while a prompt runs; a model that cannot be used changes nothing.
func (s *Session) SetModel(ctx context.Context, ref, thinking string) (agent.ModelInfo, error) {
	s.touch()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.idle("a change of the model"); err != nil {
		return agent.ModelInfo{}, err
	}
	c, err := s.log.Context()
	if err != nil {
		return agent.ModelInfo{}, err
	}
	chosen, err := s.host.Model(ctx, ModelWish{CWD: s.Folder().Path, Explicit: ref, Session: c.Model, Thinking: thinking, Level: c.ThinkingLevel})
	if err != nil {
		return agent.ModelInfo{}, err
	}
	info := chosen.Model.Info()
	var entries []session.Payload
	if c.Model == nil || c.Model.Provider != info.Provider || c.Model.ModelID != info.ID {
		entries = append(entries, session.ModelChange{Provider: info.Provider, ModelID: info.ID})
	}
	if c.ThinkingLevel != chosen.Thinking {
		entries = append(entries, session.ThinkingLevelChange{ThinkingLevel: chosen.Thinking})
	}
	if _, err := s.log.Commit(entries...); err != nil {
		return agent.ModelInfo{}, err
	}
	s.wish.Model, s.wish.Thinking = ref, thinking
	if s.engine != nil {
		if err := s.install(s.engine.loadout, chosen, s.engine.cwd); err != nil {
			s.drop()
			s.setState(Failed, err)
			return info, err
		}
	}
	s.hub.publish(agent.Event{Type: ModelChanged, Reason: info.String()})
	return info, nil
}
