package wrapper

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/internal/document"
	"github.com/piweb-go/piweb/media"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/toolselect"
)

// State is what a live session is doing.
type State string

// The states of a live session.
const (
	Ready   State = "ready"   // nothing runs; the engine may not be built yet
	Running State = "running" // a prompt runs
	Failed  State = "failed"  // the engine could not be built; the next command tries again
	Closed  State = "closed"
)

// Errors to match with errors.Is.
var (
	ErrRunning = errors.New("the session is running")
	ErrChild   = errors.New("a subagent's tools are fixed by its profile")
	ErrClosed  = errors.New("the session is closed")
	ErrEmpty   = errors.New("the prompt is empty")
)

// Session is a live session. It is safe for concurrent use.
type Session struct {
	host Host
	opts Options
	key  string // in the registry
	log  *session.Session
	hub  *hub
	wish OpenOptions

	mu      sync.Mutex // admission and changes
	unwatch func()     // ends the watch over what the engine has read
	engine  *engine    // nil until it is needed, or after a failed build

	st     sync.Mutex // the fields below, held for moments only
	state  State
	cause  error // of Failed
	policy policy.Policy
	trail  policy.Trail
	cwd    Folder
	abort  context.CancelFunc
	done   chan struct{}    // closed when the running prompt has ended
	newer  []string         // what reads differently on disk
	later  []session.Custom // for the end of the turn that runs

	queue queue
	guard atomic.Pointer[agent.Guard] // that the last prompt came with
	asks  asks

	used   atomic.Int64 // Unix nanoseconds of the last use
	broken atomic.Bool  // the file cannot be gone on with; it must be opened anew
	told   int          // diagnostics that were told
	life   context.Context
	end    context.CancelFunc
}

// engine is what exists under one policy.
type engine struct {
	loadout Loadout
	chosen  Chosen
	loop    *agent.Loop
	cwd     string
	adopted int // entries of other programs that it has seen
}

// OpenOptions are the wishes of whoever opens a session.
type OpenOptions struct {
	// Tools are requested for a session that has no choice of its own; they are
	// recorded at once. nil requests nothing.
	Tools *[]string
	// CWD replaces a working directory that is gone.
	CWD string
	// Model and Thinking replace the session's.
	Model    string
	Thinking string
}

// newSession resolves the policy before anything is loaded, and records the
// requested tools where they decide. Whatever would keep the session from
// starting with them is found out first: a refusal records nothing.
func newSession(ctx context.Context, host Host, opts Options, log *session.Session, wish OpenOptions) (*Session, error) {
	life, end := context.WithCancel(context.Background())
	s := &Session{host: host, opts: opts, log: log, hub: newHub(), wish: wish, state: Ready, life: life, end: end}
	s.queue.tell = s.hub.publish
	s.touch()
	s.told = len(log.Diagnostics())
	s.cwd = WorkingFolder(log.Header().CWD, wish.CWD)
	p, trail, err := s.resolve(policy.Request{})
	if err == nil {
		err = p.Err()
	}
	if err != nil {
		end()
		return nil, err
	}
	s.policy, s.trail = p, trail
	if wish.Tools != nil {
		if err := s.request(ctx, *wish.Tools); err != nil {
			end()
			return nil, err
		}
	}
	return s, nil
}

// request asks for tools at a start. Where the file has its own choice it is an
// error unless it is the same; where it has none they are recorded at once.
func (s *Session) request(ctx context.Context, tools []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	sel, err := toolselect.Pin(tools...)
	if err != nil {
		return err
	}
	p, _, err := s.resolve(policy.Request{Given: true, Tools: sel.Tools()})
	if err == nil {
		err = p.Err()
	}
	if err != nil || p.Source.By != policy.ByRequest {
		return err
	}
	if err := s.idle("a change of tools"); err != nil {
		return err
	}
	if err := s.Folder().Err; err != nil {
		return err
	}
	if _, err := s.pickModel(ctx, s.Folder().Path); err != nil {
		return err
	}
	_, err = s.setTools(ctx, sel)
	return err
}

// resolve decides the policy from the file as it is now.
func (s *Session) resolve(r policy.Request) (policy.Policy, policy.Trail, error) {
	facts, err := policy.Gather(s.log)
	if err != nil {
		return policy.Policy{}, nil, err
	}
	facts.Request = r
	if facts.Settings, err = s.host.Settings(s.cwd.Path); err != nil {
		return policy.Policy{}, nil, err
	}
	p, trail := policy.Resolve(facts)
	return p, trail, nil
}

// Log is the session's file. Whoever appends to it beside the wrapper breaks
// its promises; it is there to be read.
func (s *Session) Log() *session.Session { return s.log }

// ID is the session's id.
func (s *Session) ID() string { return s.log.ID() }

// State tells what the session is doing, and why it failed if it did.
func (s *Session) State() (State, error) {
	s.st.Lock()
	defer s.st.Unlock()
	return s.state, s.cause
}

// Policy is the policy in force, and why it is.
func (s *Session) Policy() (policy.Policy, policy.Trail) {
	s.st.Lock()
	defer s.st.Unlock()
	return s.policy, s.trail
}

// Folder is where the session works.
func (s *Session) Folder() Folder {
	s.st.Lock()
	defer s.st.Unlock()
	return s.cwd
}

// Subscribe reads the session's events from a number on; 0 begins with the next
// one.
func (s *Session) Subscribe(from uint64) *Subscription {
	s.touch()
	return s.hub.subscribe(from)
}

func (s *Session) touch() { s.used.Store(time.Now().UnixNano()) }

func (s *Session) setState(state State, cause error) {
	s.st.Lock()
	defer s.st.Unlock()
	if s.state != Closed {
		s.state, s.cause = state, cause
	}
}

// Input is what a user sends.
type Input struct {
	Text string
	// Verbatim is for texts that no person typed, such as a subagent's task: no
	// mention in it is resolved, and no command run.
	Verbatim bool
	// Images were admitted by [Session.Admit]; they follow the text.
	Images []*media.Admitted
	// Attachments are ids of attachments that the session may use.
	Attachments []string
	// ID is what the entry of the message is to be called, chosen by who sends it.
	// Sent again under the same id, because an answer got lost, it is the prompt
	// that was accepted already. "" for any id, and for commands.
	ID session.ID
}

// Turn is a prompt that was accepted.
type Turn struct {
	// Entry holds the user's message; it is durable. "" for a command that led to
	// no prompt.
	Entry session.ID
	// Seq is the number of the first event of the run.
	Seq  uint64
	done chan struct{}
	err  error
}

// Wait waits until the prompt has ended. The error is for what could not be
// recorded; a failed answer is in the file.
func (t *Turn) Wait(ctx context.Context) error {
	select {
	case <-t.done:
		return t.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Prompt is the one door for what a user says. When it returns, the prompt is
// in the file, durable, and runs. It is refused while another one runs.
func (s *Session) Prompt(ctx context.Context, in Input) (*Turn, error) { return s.prompt(ctx, in, nil) }

func (s *Session) prompt(ctx context.Context, in Input, guard agent.Guard) (*Turn, error) {
	s.touch()
	if in.empty() {
		return nil, ErrEmpty
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.saidAlready(in.ID); t != nil {
		return t, nil
	}
	if err := s.idle("a prompt"); err != nil {
		return nil, err
	}
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	if instructions, ok := compactCommand(in); ok {
		return s.compact(instructions).Turn, nil
	}
	said, send, err := s.compose(ctx, in)
	if err != nil {
		return nil, err
	}
	if !send {
		return s.answered(), nil
	}
	s.guard.Store(&guard) // nothing runs, and nothing can begin before this prompt
	return s.accept(said)
}

// compose makes the message of what a user sends, and what an extension puts in
// front of it. send is false where nothing is left to send. It is called under
// mu, with an engine.
func (s *Session) compose(ctx context.Context, in Input) (said agent.Said, send bool, err error) {
	text := strings.ToValidUTF8(in.Text, "\uFFFD")
	var named []string
	if !in.Verbatim {
		var behind []document.Document
		text, behind, named = s.mentioned(ctx, text)
		if text, send, err = s.expand(ctx, text); err != nil || !send {
			return said, false, err
		}
		text = document.Append(text, behind)
	}
	content, err := s.content(ctx, in, text, named)
	if err != nil {
		return said, false, err
	}
	said.Message = &message.User{Content: content, Timestamp: time.Now().UnixMilli()}
	said.ID = in.ID
	said.Before, err = s.engine.loadout.x.before(ctx, said.Message)
	return said, err == nil, err
}

// accept records a composed prompt and runs it. It is called under mu, with an
// engine, when nothing runs.
func (s *Session) accept(said agent.Said) (*Turn, error) {
	accepted, err := s.engine.loop.AcceptSaid(said)
	s.tellNotes()
	if err != nil {
		return nil, s.note(err)
	}
	return s.start(accepted), nil
}

// start runs an accepted prompt in the background.
func (s *Session) start(accepted agent.Accepted) *Turn {
	loop := s.engine.loop
	return s.begin(accepted.EntryID(), func(ctx context.Context) error { return loop.Run(ctx, accepted) })
}

// begin runs something of the loop in the background, under the session's life
// and not under the caller's.
func (s *Session) begin(entry session.ID, do func(context.Context) error) *Turn {
	run, abort := context.WithCancel(s.life)
	t := &Turn{Entry: entry, done: make(chan struct{}), Seq: s.hub.upcoming()}
	s.st.Lock()
	s.state, s.cause, s.abort, s.done = Running, nil, abort, t.done
	s.st.Unlock()
	s.log.Hold()
	s.queue.begin()
	go func() {
		defer abort()
		t.err = s.note(do(run))
		s.recordLater()
		s.queue.end()
		s.log.Release()
		s.touch()
		s.tellNotes()
		if t.err != nil {
			s.hub.publish(agent.Event{Type: PromptError, Error: t.err.Error()})
		}
		// Told before the next prompt can begin: its reader must not meet the end
		// of this one.
		s.st.Lock()
		s.hub.publish(agent.Event{Type: PromptDone})
		if s.state != Closed {
			s.state, s.cause = Ready, nil
		}
		s.st.Unlock()
		s.recordLater() // what came in the very last moment
		close(t.done)
	}()
	return t
}

// note marks the session as broken where its file cannot be gone on with; the
// registry opens such a file anew.
func (s *Session) note(err error) error {
	if errors.Is(err, session.ErrReplaced) || errors.Is(err, session.ErrPoisoned) {
		s.broken.Store(true)
	}
	return err
}

// Tell publishes something that a person should know.
func (s *Session) Tell(text string) {
	s.hub.publish(agent.Event{Type: Notice, Reason: text})
}

// tellNotes tells what was noticed about the file since the last time, such as
// entries of another program.
func (s *Session) tellNotes() {
	diags := s.log.Diagnostics()
	s.st.Lock()
	from := min(s.told, len(diags))
	s.told = len(diags)
	s.st.Unlock()
	for _, d := range diags[from:] {
		s.hub.publish(agent.Event{Type: Notice, Reason: d.Text})
	}
}

// idle refuses what cannot be done while a prompt runs or after the end.
func (s *Session) idle(what string) error {
	switch state, _ := s.State(); state {
	case Running:
		return fmt.Errorf("%w: %s has to wait until the running prompt has ended, or until it is stopped", ErrRunning, what)
	case Closed:
		return ErrClosed
	}
	return nil
}

// Abort stops the running prompt, if there is one, and tells whether there was.
// What was answered so far is kept. It does not wait for the end.
func (s *Session) Abort() bool {
	s.touch()
	s.st.Lock()
	defer s.st.Unlock()
	if s.state != Running {
		return false
	}
	s.abort()
	return true
}

// Request is what the next turn would send, built and not sent.
func (s *Session) Request(ctx context.Context) (agent.Request, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.idle("this"); err != nil {
		return agent.Request{}, err
	}
	if err := s.ready(ctx); err != nil {
		return agent.Request{}, err
	}
	return s.engine.loop.Request(ctx)
}

// Model is the model of the engine, or of none yet.
func (s *Session) Model() (agent.ModelInfo, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.engine == nil {
		return agent.ModelInfo{}, false
	}
	return s.engine.chosen.Model.Info(), true
}

// close ends the session: the running prompt is aborted and waited for, the file
// is given back. With onlyIdle it does nothing to a session that is in use, and
// says so.
func (s *Session) close(onlyIdle func() bool) (closed bool, err error) {
	s.mu.Lock()
	if onlyIdle != nil && !onlyIdle() {
		s.mu.Unlock()
		return false, nil
	}
	s.st.Lock()
	if s.state == Closed {
		s.st.Unlock()
		s.mu.Unlock()
		return true, nil
	}
	var done chan struct{}
	if s.state == Running {
		s.abort()
		done = s.done
	}
	s.state = Closed
	s.st.Unlock()
	s.mu.Unlock()
	if done != nil {
		<-done
	}
	s.mu.Lock() // a build that had begun ends first
	s.drop()
	s.mu.Unlock()
	s.end()
	s.hub.publish(agent.Event{Type: Shutdown})
	s.hub.close()
	return true, s.log.Close()
}
