package agent

import (
	"time"

	"github.com/piweb-go/piweb/message"
)

// Guard watches over a run that goes on: it is asked before each request but the
// first, with the number of whole answers so far. What it says goes in as a
// message of the user's side; an error ends the run with it.
type Guard func(answers int) (say string, err error)

// guarded asks the guard before a further request, and records what it says.
func (r *run) guarded(said Accepted) (Accepted, error) {
	guard := r.l.cfg.Guard
	if guard == nil || r.turns == 0 {
		return said, nil
	}
	text, err := guard(r.answers)
	if err != nil || text == "" {
		return said, err
	}
	m := &message.User{Content: message.Content{message.Text(text)}, Timestamp: r.l.cfg.Now().Round(time.Millisecond).UnixMilli()}
	more, err := r.l.record([]Said{{Message: m}})
	if err != nil {
		return said, err
	}
	return Accepted{append(said.messages, more.messages...), append(said.ids, more.ids...)}, nil
}
