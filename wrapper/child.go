package wrapper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
)

// CreateWith makes a live session whose file stands at once and holds the given
// entries, durable: what it may do is decided from them. On error no file is left.
func (r *Registry) CreateWith(ctx context.Context, n session.NewSession, wish OpenOptions, first ...session.Payload) (*Session, error) {
	if !isDir(n.CWD) {
		return nil, fmt.Errorf("%w: %q is no folder", ErrFolder, n.CWD)
	}
	log, err := session.Create(n, r.opts.Session)
	if err != nil {
		return nil, err
	}
	if _, err = log.Commit(first...); err == nil {
		err = log.Persist()
	}
	var s *Session
	if err == nil {
		var key string
		if key, err = RealPath(log.Path()); err == nil {
			s, err = r.start(ctx, key, wish, func() (*session.Session, error) { return log, nil })
		}
	}
	if err == nil {
		return s, nil
	}
	made := log.Persisted() // also where it was made and could not be synced
	err = errors.Join(err, log.Close())
	if made {
		err = errors.Join(err, os.Remove(log.Path()))
	}
	return nil, err
}

// WasIdled tells whether a session was closed by this registry because nobody used
// it, and not opened since.
func (r *Registry) WasIdled(path string) bool {
	key, err := RealPath(path)
	if err != nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.idled[key]
}

// PromptGuarded is Prompt with a guard over the run: it is asked before each
// further request of it, and of what wakes the session afterwards without a prompt.
func (s *Session) PromptGuarded(ctx context.Context, in Input, guard agent.Guard) (*Turn, error) {
	return s.prompt(ctx, in, guard)
}

// guarded asks the guard of the run that is on, if it has one.
func (s *Session) guarded(answers int) (string, error) {
	if g := s.guard.Load(); g != nil && *g != nil {
		return (*g)(answers)
	}
	return "", nil
}

// RecordNow appends entries that no model sees, and makes them durable, also in
// the middle of a turn.
func (s *Session) RecordNow(entries ...session.Payload) error {
	s.touch()
	s.mu.Lock()
	defer s.mu.Unlock()
	if state, _ := s.State(); state == Closed {
		return ErrClosed
	}
	_, err := s.log.Commit(entries...)
	return s.note(err)
}

// Persist gives the session its file, if it has none yet.
func (s *Session) Persist() error {
	s.touch()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.note(s.log.Persist())
}

// Notify hands the session a message that is no user's: into the running prompt at
// its next turn, or as the beginning of a turn of its own.
func (s *Session) Notify(ctx context.Context, n session.CustomMessage) error {
	s.touch()
	said := agent.Said{Custom: &message.Custom{CustomType: n.CustomType, Content: n.Content, Display: n.Display, Details: n.Details, Timestamp: time.Now().UnixMilli()}}
	for {
		done, err := s.tryNotify(ctx, said)
		if done || err != nil {
			return err
		}
		if err := s.ended(ctx); err != nil { // it will not look into its queue again
			return err
		}
	}
}

func (s *Session) tryNotify(ctx context.Context, said agent.Said) (done bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state, _ := s.State(); state == Running {
		return s.queue.put(steering, said)
	}
	if err := s.idle("a notice"); err != nil {
		return false, err
	}
	if err := s.ready(ctx); err != nil {
		return false, err
	}
	_, err = s.accept(said)
	return err == nil, err
}

// ExtensionTool is a tool that an extension brought.
type ExtensionTool struct {
	Name string
	From string // the extension, or the MCP server
}

// Equipment is what a session works with at the moment.
type Equipment struct {
	Policy   policy.Policy
	Model    agent.ModelInfo
	Thinking string
	Tools    []ExtensionTool // of extensions only
	Messages []message.Message
}

// Equipment says what the session works with; it is built if it was not yet.
func (s *Session) Equipment(ctx context.Context) (Equipment, error) {
	s.touch()
	s.mu.Lock()
	defer s.mu.Unlock()
	if state, _ := s.State(); state != Running {
		if err := s.idle("this"); err != nil {
			return Equipment{}, err
		}
		if err := s.ready(ctx); err != nil {
			return Equipment{}, err
		}
	}
	e := s.engine
	c, err := s.log.Context()
	if err != nil {
		return Equipment{}, err
	}
	out := Equipment{Policy: e.loadout.Policy, Model: e.chosen.Model.Info(), Thinking: e.chosen.Thinking, Messages: c.Messages}
	offered := map[string]bool{}
	for _, t := range e.loadout.Tools {
		offered[t.Declaration().Name] = true
	}
	for _, t := range e.loadout.x.origins() {
		if offered[t.Name] && !policy.IsControl(t.Name) {
			out.Tools = append(out.Tools, t)
		}
	}
	return out, nil
}

// origins says which extension brought each tool. A tool may name another origin,
// such as an MCP server.
func (x *extensions) origins() []ExtensionTool {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []ExtensionTool
	for _, l := range x.list {
		for _, t := range l.tools {
			from := l.name
			if o, ok := t.(interface{ Origin() string }); ok {
				from = o.Origin()
			}
			out = append(out, ExtensionTool{t.Declaration().Name, from})
		}
	}
	return slices.Clip(out)
}
