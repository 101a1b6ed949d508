package agent

import (
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

// Said is a message of a user, and what goes into the file in front of it.
type Said struct {
	Before  []session.Payload
	Message *message.User
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
		payloads = append(append(payloads, q.Before...), session.Message(q.Message))
		places = append(places, len(payloads)-1)
		a.messages = append(a.messages, q.Message)
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
