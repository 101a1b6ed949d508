package wrapper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/toolselect"
)

// Folder is a working directory and what is wrong with it.
type Folder struct {
	Path    string // where the session works; "" when there is no such place
	Header  string // what the file says
	Warning string // it works somewhere else than the file says
	Err     error  // why it cannot work anywhere
}

// ErrFolder says that a session has no folder to work in.
var ErrFolder = errors.New("the session's working folder is not there")

// WorkingFolder decides where a session works: in the folder of its header, and
// where that is gone, in the one that the caller names. No folder is made, and
// the header stays as it is.
func WorkingFolder(header, asked string) Folder {
	f := Folder{Header: header}
	if isDir(header) && filepath.IsAbs(header) {
		f.Path = header
		if abs, err := filepath.Abs(asked); asked != "" && err == nil && abs != filepath.Clean(header) {
			f.Warning = fmt.Sprintf("the session works in %q, as its file says; a folder is chosen only for a session whose own is gone", header)
		}
		return f
	}
	what := fmt.Sprintf("the folder %q of the session is not there", header)
	if header == "" {
		what = "the session names no working folder"
	}
	if asked == "" {
		f.Err = fmt.Errorf("%w: %s; name one to work in with --cwd DIR", ErrFolder, what)
		return f
	}
	abs, err := filepath.Abs(asked)
	if err != nil || !isDir(abs) {
		f.Err = fmt.Errorf("%w: %s, and %q is no folder either", ErrFolder, what, asked)
		return f
	}
	f.Path = abs
	f.Warning = fmt.Sprintf("%s; it works in %q", what, abs)
	return f
}

func isDir(path string) bool {
	if path == "" {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// ready sees to it that the engine is that of the policy that the file says now:
// another program may have written to the file, and the settings may have
// changed. It is called under mu.
func (s *Session) ready(ctx context.Context) error {
	if err := s.Folder().Err; err != nil {
		return err
	}
	if err := s.log.Refresh(); err != nil {
		return s.note(err)
	}
	p, trail, err := s.resolve(policy.Request{})
	if err != nil {
		return err
	}
	if err := p.Err(); err != nil {
		return err
	}
	s.setPolicy(p, trail)
	switch {
	case s.engine == nil:
		return s.build(ctx, p)
	case !s.engine.loadout.Policy.Equal(p):
	case s.engine.loadout.version != s.engine.loadout.x.version():
		return s.apply(p) // an extension changed its tools
	case s.engine.adopted != s.log.Adopted():
		return s.repick(ctx)
	default:
		return nil
	}
	switch {
	case crosses(s.engine.loadout.Policy, p):
		return s.build(ctx, p)
	}
	return s.apply(p)
}

func (s *Session) setPolicy(p policy.Policy, trail policy.Trail) {
	s.st.Lock()
	defer s.st.Unlock()
	s.policy, s.trail = p, trail
}

// crosses tells whether going from one policy to the other means loading
// everything anew.
func crosses(from, to policy.Policy) bool {
	return (from.Kind == policy.ChatOnly) != (to.Kind == policy.ChatOnly) || from.Kind == policy.Child || to.Kind == policy.Child
}

// build makes a fresh engine: texts are read again, tools constructed, the model
// picked. On failure there is none, and the session says so.
func (s *Session) build(ctx context.Context, p policy.Policy) error {
	cwd := s.Folder().Path
	had := s.engine != nil
	s.drop()
	l, err := Load(ctx, s.host, p, s.env(cwd))
	if err == nil {
		var c Chosen
		if c, err = s.pickModel(ctx, cwd); err == nil {
			err = s.install(l, c, cwd)
		}
		if err != nil {
			_ = l.Close()
		}
	}
	if err != nil && ctx.Err() != nil {
		return err // the caller went away; the next one builds
	}
	if err != nil {
		s.setState(Failed, err)
		return err
	}
	s.setState(Ready, nil)
	s.watch(p, cwd)
	if had {
		s.hub.publish(agent.Event{Type: EngineSwapped, Reason: p.String()})
	}
	return nil
}

// apply changes the tools of the engine and keeps what it has read.
func (s *Session) apply(p policy.Policy) error {
	e := s.engine
	l, err := equip(s.host, p, e.cwd, e.loadout)
	if err == nil {
		err = s.install(l, e.chosen, e.cwd)
	}
	if err != nil {
		s.drop()
		s.setState(Failed, err)
	}
	return err
}

// repick looks at the session's model and receipts again, after another program
// wrote to the file.
func (s *Session) repick(ctx context.Context) error {
	c, err := s.pickModel(ctx, s.engine.cwd)
	if err == nil {
		err = s.install(s.engine.loadout, c, s.engine.cwd)
	}
	if err != nil {
		s.drop()
		s.setState(Failed, err)
	}
	return err
}

// env is what the extensions of the session get to know of it.
func (s *Session) env(cwd string) agent.Env {
	return agent.Env{
		SessionID: s.log.ID(), SessionFile: s.log.Path, CWD: cwd, AgentDir: s.opts.AgentDir,
		Admits: func(t policy.Tool) (bool, string) {
			p, _ := s.Policy()
			return p.Admits(t)
		},
		Notify: func(text string) { s.hub.publish(agent.Event{Type: Notice, Reason: text}) },
	}
}

// drop ends the engine, if there is one, and its extensions.
func (s *Session) drop() {
	if s.unwatch != nil {
		s.unwatch()
		s.unwatch = nil
	}
	e := s.engine
	s.engine = nil
	if e == nil {
		return
	}
	if err := e.loadout.Close(); err != nil {
		s.hub.publish(agent.Event{Type: Notice, Reason: err.Error()})
	}
}

// tellLeft tells of the tools and extensions that a loadout could not have. What
// the policy does not want, or an extension leaves out by itself, is no news.
func (s *Session) tellLeft(was, now Loadout) {
	for _, o := range now.bad {
		if !slices.Contains(was.bad, o) {
			s.hub.publish(agent.Event{Type: Notice, Reason: o.Path + " is left out: " + o.Reason})
		}
	}
}

func (s *Session) pickModel(ctx context.Context, cwd string) (Chosen, error) {
	c, err := s.log.Context()
	if err != nil {
		return Chosen{}, err
	}
	chosen, err := s.host.Model(ctx, ModelWish{CWD: cwd, Explicit: s.wish.Model, Session: c.Model, Thinking: s.wish.Thinking, Level: c.ThinkingLevel})
	if err == nil && chosen.Notice != "" {
		s.hub.publish(agent.Event{Type: Notice, Reason: chosen.Notice})
	}
	return chosen, err
}

func (s *Session) install(l Loadout, c Chosen, cwd string) error {
	ledger, err := policy.ReadLedger(s.log)
	if err != nil {
		return err
	}
	info := c.Model.Info()
	var outputs agent.Outputs
	if s.opts.Outputs != nil {
		outputs = s.opts.Outputs(s.log.Path())
	}
	loop, err := agent.NewLoop(agent.Config{
		Transcript: s.log, Model: c.Model, Policy: l.Policy, Head: l.Head, Sources: l.Sources, Tools: l.Tools, Late: newLate(l, cwd),
		Gates: s.gates(), Outputs: outputs, Hooks: l.x.hooks(), Ledger: ledger, Pictures: s.opts.Pictures.placer(s.log.Path()), Thinking: c.Thinking, RecordModel: c.Record, CWD: cwd, MaxTurns: s.opts.MaxTurns,
		Env: []string{
			"PI_SESSION_ID=" + s.log.ID(), "PI_SESSION_FILE=" + s.log.Path(), "PI_PROVIDER=" + info.Provider,
			"PI_MODEL=" + info.ID, "PI_REASONING_LEVEL=" + c.Thinking,
		},
		Emit: func(e agent.Event) {
			if e.Type == agent.TurnEnd {
				s.recordLater()
			}
			s.hub.publish(e)
			l.x.told(e)
		}, Ask: s.ask, Guard: s.guarded, Queue: &s.queue, Retry: c.Conduct.Retry, Compactor: s.opts.Pictures.counted(compactor(l, c), info),
	})
	if err != nil {
		return err
	}
	if s.engine != nil {
		s.tellLeft(s.engine.loadout, l)
	} else {
		s.tellLeft(Loadout{}, l)
	}
	s.queue.setModes(c.Conduct.Steering, c.Conduct.FollowUp)
	s.engine = &engine{l, c, loop, cwd, s.log.Adopted()}
	return nil
}

// Changed is the answer to a change of tools.
type Changed struct {
	Policy    policy.Policy
	Trail     policy.Trail
	Appended  bool // false when the session had this choice already
	Recreated bool // everything was loaded anew
}

// SetTools changes what the session has chosen: it is recorded and synced, then
// applied. It is refused while a prompt runs and for subagents. The same choice
// again changes nothing. An error after the record says so: the choice is in
// force then, and the next command tries to load for it.
func (s *Session) SetTools(ctx context.Context, sel toolselect.Selection) (Changed, error) {
	s.touch()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.idle("a change of tools"); err != nil {
		return Changed{}, err
	}
	return s.setTools(ctx, sel)
}

func (s *Session) setTools(ctx context.Context, sel toolselect.Selection) (Changed, error) {
	if err := s.log.Refresh(); err != nil {
		return Changed{}, s.note(err)
	}
	facts, err := policy.Gather(s.log)
	if err != nil {
		return Changed{}, err
	}
	if facts.Child.Is {
		return Changed{}, ErrChild
	}
	if had := facts.Selection.Selection; had.Equal(sel) || sel.State() == toolselect.Cleared && had.State() == toolselect.Unset {
		// Another process may have recorded the same: what counts is the file.
		p, trail, err := s.resolve(policy.Request{})
		if err == nil {
			s.setPolicy(p, trail)
		}
		return Changed{Policy: p, Trail: trail}, err
	}
	entry, err := sel.Payload()
	if err != nil {
		return Changed{}, err
	}
	if _, err := s.log.Commit(entry); err != nil {
		return Changed{}, fmt.Errorf("the change of tools was not made: %w", s.note(err))
	}
	return s.applySelection(ctx, sel)
}

// applySelection brings a recorded selection into force. What is loaded decides
// whether that means loading anew: the file may have said something else meanwhile.
func (s *Session) applySelection(ctx context.Context, sel toolselect.Selection) (Changed, error) {
	p, trail, err := s.resolve(policy.Request{})
	if err != nil {
		s.drop()
		s.setState(Failed, err)
		return Changed{Appended: true}, err
	}
	s.setPolicy(p, trail)
	c := Changed{Policy: p, Trail: trail, Appended: true}
	s.hub.publish(agent.Event{Type: PolicyChanged, Reason: p.String()})
	if s.engine == nil {
		return c, nil // loaded when it is needed
	}
	if c.Recreated = crosses(s.engine.loadout.Policy, p) || sel.State() == toolselect.Cleared; c.Recreated {
		err = s.build(ctx, p)
	} else {
		err = s.apply(p)
	}
	if err != nil {
		err = fmt.Errorf("the choice is recorded, and loading for it failed; the next command tries again: %w", err)
	}
	return c, err
}
