package wrapper

import (
	"context"
	"errors"
	"slices"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/tool"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

// Attachments is what a live session needs of the store of attachments.
type Attachments interface {
	// Attach makes the content of a prompt: the markers of the attachments that ids
	// name, the text, and the pictures among them and among those whose markers the
	// text has already. notes say what a model will not see. An id that the session
	// may not use is an error that names it; a named one is passed over.
	Attach(ctx context.Context, sessionID, text string, ids, named []string) (content message.Content, notes []string, err error)
	// Judge says why a call of the session must not run with these arguments, or "".
	Judge(ctx context.Context, sessionID string, call *tool.Call) string
	// Strip frees a result of bytes that would go into the file as base64.
	Strip(ctx context.Context, sessionID string, call *tool.Call, r tool.Result) tool.Result
}

// content is the content of a prompt. Its attachments come after everything that
// was made of the text: they are never taken for a part of what the user wrote.
// A picture that was uploaded and sent beside is there once.
func (s *Session) content(ctx context.Context, in Input, text string, named []string) (message.Content, error) {
	if len(in.Attachments)+len(named) == 0 {
		return in.content(text), nil
	}
	if s.opts.Attachments == nil {
		return nil, ErrNoAttachments
	}
	content, notes, err := s.opts.Attachments.Attach(ctx, s.ID(), text, in.Attachments, named)
	for _, n := range notes {
		s.hub.publish(agent.Event{Type: Notice, Reason: n})
	}
	if err != nil {
		return nil, err
	}
	for _, p := range in.Images {
		b := p.Block()
		if !slices.ContainsFunc(content, func(c message.Block) bool { return c.Type == message.TypeImage && c.Data == b.Data }) {
			content = append(content, b)
		}
	}
	return content, nil
}

// ErrNoAttachments says that the program has no store of attachments.
var ErrNoAttachments = errors.New("attachments are not available here")

// gates are those of the program with the session's own around them: who owns what
// is asked first, and nothing gets past the one that strips.
func (s *Session) gates() agent.Gates {
	g := s.opts.Gates
	store := s.opts.Attachments
	if store == nil {
		return g
	}
	id := s.ID()
	owner, strip := g.Owner, g.Strip
	g.Owner = func(ctx context.Context, call *tool.Call) agent.Verdict {
		if why := store.Judge(ctx, id, call); why != "" {
			return agent.Verdict{Decision: agent.Block, Reason: why}
		}
		if owner == nil {
			return agent.Verdict{Decision: agent.Allow}
		}
		return owner(ctx, call)
	}
	g.Strip = func(ctx context.Context, call *tool.Call, r tool.Result) (tool.Result, error) {
		if strip != nil {
			var err error
			if r, err = strip(ctx, call, r); err != nil {
				return r, err
			}
		}
		return store.Strip(ctx, id, call, r), nil
	}
	return g
}

// Noted tells of an entry that [Session.Record] was given, at once: ToolName is its
// custom type and Args its data. The entry itself may follow at the end of the turn.
const Noted agent.EventType = "noted"

// Record appends entries of piweb that belong to no message, such as the note of an
// attachment: at once while nothing runs, else at the end of the turn.
func (s *Session) Record(entries ...session.Custom) error {
	s.touch()
	for _, e := range entries {
		s.hub.publish(agent.Event{Type: Noted, ToolName: e.CustomType, Args: e.Data})
	}
	s.st.Lock()
	switch s.state {
	case Closed:
		s.st.Unlock()
		return ErrClosed
	case Running:
		s.later = append(s.later, entries...)
		s.st.Unlock()
		return nil
	}
	s.st.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record(entries)
}

func (s *Session) record(entries []session.Custom) error {
	payloads := make([]session.Payload, len(entries))
	for i, e := range entries {
		payloads[i] = e
	}
	_, err := s.log.Commit(payloads...)
	return s.note(err)
}

// recordLater appends what waited for a boundary. What cannot be appended is told:
// the attachment itself is in its store.
func (s *Session) recordLater() {
	s.st.Lock()
	entries := s.later
	s.later = nil
	s.st.Unlock()
	if len(entries) == 0 {
		return
	}
	if err := s.record(entries); err != nil {
		s.hub.publish(agent.Event{Type: Notice, Reason: "A note about an attachment could not be written to the session's file: " + err.Error()})
	}
}
