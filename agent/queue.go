package agent

import (
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

// Said is a message of a user, or one of an extension, and what goes into the file
// in front of it.
type Said struct {
	Before  []session.Payload
	Message *message.User
	Custom  *message.Custom // where Message is nil
	// ID is what the entry is to be called; "" for any id.
	ID session.ID
}

// Said is the message, whoever it is from.
func (s Said) Said() message.Message {
	if s.Message == nil {
		return s.Custom
	}
	return s.Message
}

// entry is what stands in the file for it.
func (s Said) entry() session.Payload {
	if s.Message == nil {
		return session.CustomMessage{CustomType: s.Custom.CustomType, Content: s.Custom.Content, Display: s.Custom.Display, Details: s.Custom.Details}
	}
	return session.WithID(s.ID, session.Message(s.Message))
}

// Queue holds what was said while a run is on. The loop takes from it; who fills
// it, and how much it holds, is not its concern.
//
// Source of the rules: pi 1.6.0, "Turn mechanics".
type Queue interface {
	// Steering takes what goes in before the next request.
	Steering() []Said
	// Last takes what goes in when nothing else is left: steering that came late,
	// else follow-ups. Where there is neither, the queue is closed for this run in
	// the same moment, so that nobody puts in what would not be heard.
	Last() []Said
	// Return puts back what was taken last, because it could not be recorded.
	Return()
}

// noQueue is the queue of a loop that has none.
type noQueue struct{}

func (noQueue) Steering() []Said { return nil }
func (noQueue) Last() []Said     { return nil }
func (noQueue) Return()          {}

// record writes queued messages down and makes them durable, as a prompt is.
func (l *Loop) record(queued []Said) (Accepted, error) {
	if len(queued) == 0 {
		return Accepted{}, nil
	}
	var a Accepted
	var payloads []session.Payload
	var places []int // of the messages
	for _, q := range queued {
		payloads = append(append(payloads, q.Before...), q.entry())
		places = append(places, len(payloads)-1)
		a.messages = append(a.messages, q.Said())
	}
	ids, err := l.cfg.Transcript.Commit(payloads...)
	if err != nil {
		l.cfg.Queue.Return()
		return Accepted{}, err
	}
	for _, at := range places {
		a.ids = append(a.ids, ids[at])
	}
	return a, nil
}
