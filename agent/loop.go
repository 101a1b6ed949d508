package agent

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/piweb-go/piweb/internal/failpoint"
	"github.com/piweb-go/piweb/media"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
)

// Config is everything that a loop works with. It does not change while the
// loop exists, but for what Late says: another policy or model is another loop.
type Config struct {
	Transcript Transcript
	Model      Model
	Policy     policy.Policy
	Head       []byte              // goes out as exactly these bytes
	Sources    []policy.SourceHash // the files that Head was made from
	Tools      []Tool              // in the order of their declaration
	Late       Late                // tools that come and go during a run; nil for none
	Gates      Gates
	Hooks      []Hooks // of extensions, in the order of their loading
	Outputs    Outputs // keeps what a model is shown a part of; nil for nothing
	Ledger     *policy.Ledger
	// Pictures admits pictures and opens references to them. Without an admitter
	// the loop has its own; share one among loops.
	Pictures media.Placer

	Thinking    string // thinking level for requests, "off" for none
	RecordModel bool   // the model was chosen, not fallen back to: write it down
	CWD         string
	Env         []string // for child processes

	// Emit is told of every event, one at a time, in order. It must not block
	// for long: the run waits for it.
	Emit func(Event)
	// Ask, if not nil, tells people of an asked call and waits for an answer.
	// Without it an asked call is blocked.
	Ask func(ctx context.Context, q Question) (allowed bool, err error)
	// MaxTurns ends a run that goes on and on; 0 for no limit.
	MaxTurns int
	// Guard, if not nil, is asked before each further request of a run; see [Guard].
	Guard Guard
	// AbandonAfter is how long a tool may go on after its run was aborted; 0 for 5
	// seconds. The built-in ones end long before. One of an extension that does not
	// listen must not keep the session, or the program's end, from going on.
	AbandonAfter time.Duration

	Queue     Queue     // what is said while a run is on; nil for none
	Retry     Retry     // of requests that failed for a moment
	Compactor Compactor // nil sums nothing up

	Now   func() time.Time                           // nil for time.Now
	Sleep func(context.Context, time.Duration) error // nil for the clock's
}

// Loop runs prompts of one session, one at a time.
type Loop struct {
	cfg      Config
	gear     atomic.Pointer[gear] // replaced between two requests of a run
	pictures media.Placer
	eyes     media.Eyes   // of the model, as far as its refusals have taught
	sent     media.Report // of the last request
	spared   spared
}

// NewLoop checks the configuration. A tool that the policy does not admit is an
// error: it must not even be constructed.
func NewLoop(cfg Config) (*Loop, error) {
	if err := cfg.Policy.Err(); err != nil {
		return nil, err
	}
	if cfg.AbandonAfter == 0 {
		cfg.AbandonAfter = abandonAfter
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Emit == nil {
		cfg.Emit = func(Event) {}
	}
	if cfg.Queue == nil {
		cfg.Queue = noQueue{}
	}
	if cfg.Sleep == nil {
		cfg.Sleep = sleep
	}
	g, err := admit(cfg.Policy, Gear{cfg.Head, cfg.Sources, cfg.Tools})
	if err != nil {
		return nil, err
	}
	if cfg.Late == nil {
		cfg.Late = noLate{g.tools}
	}
	l := &Loop{cfg: cfg, pictures: cfg.Pictures}
	l.gear.Store(g)
	if l.pictures.Admitter == nil {
		l.pictures.Admitter = media.NewAdmitter(media.Limits{})
	}
	l.eyes = cfg.Model.Info().eyes()
	l.spared.proven = map[string]bool{}
	l.pictures.Withheld = l.spared.withheld
	return l, nil
}

// Accepted is a prompt that stands in the file and was not run yet.
type Accepted struct {
	messages []message.Message
	ids      []session.ID
}

// EntryID is the entry of the user's message.
func (a Accepted) EntryID() session.ID { return a.ids[len(a.ids)-1] }

// Accept records a prompt and makes it durable: what stands before it, what the
// transcript does not yet say of model, level and tools, then the message, all in
// one write. On error nothing was accepted.
func (l *Loop) Accept(prompt *message.User, before ...session.Payload) (Accepted, error) {
	return l.AcceptSaid(Said{Before: before, Message: prompt})
}

// AcceptSaid is Accept for a message of anybody.
func (l *Loop) AcceptSaid(said Said) (Accepted, error) {
	c, err := l.cfg.Transcript.Context()
	if err != nil {
		return Accepted{}, err
	}
	payloads := append(said.Before, l.settingEntries(c)...)
	var a Accepted
	if sys := l.declaration(&c.System); sys != nil {
		payloads = append(payloads, session.Message(sys))
		a.messages = append(a.messages, sys)
	}
	payloads = append(payloads, said.entry())
	a.messages = append(a.messages, said.Said())
	failpoint.Here("before-prompt")
	ids, err := l.cfg.Transcript.Commit(payloads...)
	if err != nil {
		return Accepted{}, err
	}
	failpoint.Here("after-prompt")
	a.ids = ids[len(ids)-len(a.messages):]
	return a, nil
}

// settingEntries are the entries without which pi would append its own when it
// opens the file, or would go on with another model.
func (l *Loop) settingEntries(c *session.Context) []session.Payload {
	var payloads []session.Payload
	info := l.cfg.Model.Info()
	if l.cfg.RecordModel && (c.Model == nil || c.Model.Provider != info.Provider || c.Model.ModelID != info.ID) {
		payloads = append(payloads, session.ModelChange{Provider: info.Provider, ModelID: info.ID})
	}
	level := l.level()
	if c.ThinkingLevel == "" || l.cfg.RecordModel && c.ThinkingLevel != level {
		payloads = append(payloads, session.ThinkingLevelChange{ThinkingLevel: level})
	}
	return payloads
}

func (l *Loop) level() string {
	if l.cfg.Thinking == "" {
		return "off"
	}
	return l.cfg.Thinking
}

// declaration is the system message that brings the tools declared by the
// transcript to those of the loop, so that stock pi resumes with the same, or
// nil. It carries no text: the head is not in the transcript.
func (l *Loop) declaration(declared *message.Replay) *message.System {
	sys := &message.System{Writer: message.Piweb, Timestamp: l.cfg.Now().UnixMilli()}
	decls := l.gear.Load().decls
	same := func(a, b message.ToolDeclaration) bool {
		x, _ := message.Marshal(a)
		y, _ := message.Marshal(b)
		return slices.Equal(x, y)
	}
	for _, old := range declared.Tools {
		keep := slices.ContainsFunc(decls, func(d message.ToolDeclaration) bool { return same(d, old) })
		if !keep {
			sys.ToolsRemoved = append(sys.ToolsRemoved, message.ToolName{Name: old.Name})
		}
	}
	for _, d := range decls {
		have := slices.ContainsFunc(declared.Tools, func(old message.ToolDeclaration) bool { return same(d, old) })
		if !have {
			sys.ToolsAdded = append(sys.ToolsAdded, d)
		}
	}
	if declared.Declared && len(sys.ToolsAdded)+len(sys.ToolsRemoved) == 0 {
		return nil
	}
	return sys
}

// tellRecorded tells of a message that is in the file as a whole.
func (l *Loop) tellRecorded(m message.Message, id session.ID) {
	m = told(m)
	l.cfg.Emit(Event{Type: MessageStart, Message: m})
	l.cfg.Emit(Event{Type: MessageEnd, Message: m, EntryID: id})
}

// Request builds what the next turn would send, without sending it.
func (l *Loop) Request(ctx context.Context) (Request, error) { return l.request(ctx) }

func (l *Loop) request(ctx context.Context) (Request, error) {
	c, err := l.cfg.Transcript.Context()
	if err != nil {
		return Request{}, err
	}
	messages, err := l.see(ctx, History(c.Messages, l.cfg.Model.Info()))
	if err != nil {
		return Request{}, err
	}
	g := l.gear.Load()
	return Request{Head: g.head, Messages: messages, Tools: g.decls, Thinking: l.cfg.Thinking}, nil
}

// recordReceipt writes down what the request carries, before it is sent.
func (l *Loop) recordReceipt(req Request) error {
	r, err := policy.NewReceipt(l.cfg.Policy, req.Head, l.gear.Load().sources, req.Tools, l.cfg.Model.Info().String())
	if err != nil {
		return err
	}
	entry, changed, err := l.cfg.Ledger.Next(r)
	if err != nil || !changed {
		return err
	}
	if _, err := l.cfg.Transcript.Append(entry); err != nil {
		return err
	}
	l.cfg.Ledger.Recorded(r)
	return nil
}

// ask streams one answer. The message that it returns has its final state;
// failure is why it is no whole answer.
func (l *Loop) ask(ctx context.Context, req Request, start time.Time) (answer *message.Assistant, failure error) {
	info := l.cfg.Model.Info()
	a := newAssembler(info, l.cfg.Thinking, takenIDs(req.Messages), start, l.cfg.Emit)
	began := false
	begin := func() {
		if !began {
			began = true
			pending := *a.msg
			pending.Content = message.Content{}
			l.cfg.Emit(Event{Type: MessageStart, Message: &pending})
		}
	}
	for d, err := range l.cfg.Model.Stream(ctx, req) {
		if err != nil {
			failure = err
			break
		}
		if ctx.Err() != nil {
			break
		}
		begin()
		a.add(d)
		if a.stop != nil {
			break
		}
	}
	begin()
	if failure == nil && a.stop == nil {
		failure = errCut
	}
	return a.finish(ctx, failure), failure
}

func (l *Loop) recordAbort() error {
	info := l.cfg.Model.Info()
	m := &message.Assistant{API: info.API, Provider: info.Provider, Model: info.ID, Content: message.Content{},
		StopReason: message.StopAborted, ErrorMessage: "the request was aborted", Timestamp: l.cfg.Now().UnixMilli()}
	ids, err := l.cfg.Transcript.Append(session.Message(m))
	if err != nil {
		return err
	}
	l.tellRecorded(m, ids[0])
	return nil
}
