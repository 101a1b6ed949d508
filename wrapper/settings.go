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
	LabelChanged agent.EventType = "label_changed"
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

// SetLabel gives an entry a name for people; "" takes it away. Line breaks become
// blanks. It is allowed while a prompt runs.
func (s *Session) SetLabel(_ context.Context, target session.ID, label string) error {
	s.touch()
	label = session.CleanName(label)
	if len([]rune(label)) > maxName {
		return fmt.Errorf("%w: a label has at most %d characters", ErrName, maxName)
	}
	if state, _ := s.State(); state == Closed {
		return ErrClosed
	}
	if _, ok := s.log.Entry(target); !ok {
		return fmt.Errorf("%s: %w: %s", s.log.Path(), session.ErrNoEntry, target)
	}
	if _, err := s.log.Commit(session.Label{TargetID: target, Label: label}); err != nil {
		return err
	}
	s.hub.publish(agent.Event{Type: LabelChanged, EntryID: target, Reason: label})
	return nil
}

// SetModel makes a model answer from the next prompt on, and records it. ref is
// "provider/id" or "id"; thinking is a level, or "" for the session's. It is
// refused while a prompt runs; a model that cannot be used changes nothing.
func (s *Session) SetModel(ctx context.Context, ref, thinking string) (agent.ModelInfo, error) {
	s.touch()
	s.mu.Lock()
	defer s.mu.Unlock()
	chosen, err := s.choose(ctx, "a change of the model", ref, thinking)
	if err != nil {
		return agent.ModelInfo{}, err
	}
	return chosen.Model.Info(), nil
}

// SetThinking makes the session's model think so much from the next prompt on, and
// records it. It returns the level that is in force: the nearest one that the
// model has. It is refused while a prompt runs.
func (s *Session) SetThinking(ctx context.Context, level string) (string, error) {
	s.touch()
	s.mu.Lock()
	defer s.mu.Unlock()
	chosen, err := s.choose(ctx, "a change of the thinking level", s.wish.Model, level)
	return chosen.Thinking, err
}

// choose picks a model, records what is new of it, and installs it. It is called
// under mu. A model that was not asked for stays unrecorded, so that the session's
// own comes back when it can be had.
func (s *Session) choose(ctx context.Context, what, ref, thinking string) (Chosen, error) {
	if err := s.idle(what); err != nil {
		return Chosen{}, err
	}
	if err := s.log.Refresh(); err != nil {
		return Chosen{}, s.note(err)
	}
	c, err := s.log.Outline()
	if err != nil {
		return Chosen{}, err
	}
	chosen, err := s.host.Model(ctx, ModelWish{CWD: s.Folder().Path, Explicit: ref, Session: c.Model, Thinking: thinking, Level: c.ThinkingLevel})
	if err != nil {
		return Chosen{}, err
	}
	info := chosen.Model.Info()
	var entries []session.Payload
	if ref != "" && (c.Model == nil || c.Model.Provider != info.Provider || c.Model.ModelID != info.ID) {
		entries = append(entries, session.ModelChange{Provider: info.Provider, ModelID: info.ID})
	}
	if c.ThinkingLevel != chosen.Thinking {
		entries = append(entries, session.ThinkingLevelChange{ThinkingLevel: chosen.Thinking})
	}
	if len(entries) > 0 {
		if _, err := s.log.Commit(entries...); err != nil {
			return Chosen{}, s.note(err)
		}
	}
	s.wish.Model, s.wish.Thinking = ref, thinking
	if s.engine != nil {
		if err := s.install(s.engine.loadout, chosen, s.engine.cwd); err != nil {
			s.drop()
			s.setState(Failed, err)
			return chosen, err
		}
	}
	s.hub.publish(agent.Event{Type: ModelChanged, Reason: info.String()})
	return chosen, nil
}
