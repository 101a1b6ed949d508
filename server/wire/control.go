package wire

import "github.com/piweb-go/piweb/message"

// Control is what is true of a session: one of Status, State, Queue, Failure,
// and of our own Policy and Notice.
type Control interface{ control() string }

// Lifecycle is how far a session is.
type Lifecycle string

// The lifecycles that we use. The client knows initializing and error, too; a
// session of ours takes commands from the moment it exists, and a failed build
// is tried again by the next command, so neither would be true.
const (
	Ready Lifecycle = "ready"
	Ended Lifecycle = "ended"
)

// Status tells whether the session takes commands. Sticky.
type Status struct{ State Lifecycle }

// State is a snapshot of what the session is doing. Sticky.
type State struct {
	Lifecycle Lifecycle
	Busy      bool
	StartedAt int64 // Unix milliseconds of the running turn; 0 for none
	Title     string
}

// Queue lists messages that wait for their turn. Sticky.
type Queue struct{ Steering, FollowUp []string }

// Failure tells of a failure of the session, or with a code why it ended.
type Failure struct{ Message, Code string }

// Ask is a question to whoever is there: a call that waits for a yes. The client
// knows it as a request of an extension, and answers it as one. Sticky while it is
// open.
type Ask struct {
	ID, Title, Text string
	// Call and Tool say which call waits. Our own.
	Call, Tool string
}

// Answered tells that a question is settled. Our own.
type Answered struct {
	ID      string
	Allowed bool
}

// Policy tells that other tools are in force. Our own.
type Policy struct {
	Kind      string
	Tools     []string
	Source    any
	Recreated bool // everything was loaded anew
}

// Notice is something that a person should know. Our own.
type Notice struct{ Text string }

// History tells that the history is another one: another program wrote to the
// session's file, or somebody went to another place of its tree, or named one. Read
// the messages again. Our own.
type History struct{}

func (History) control() string  { return "history" }
func (Status) control() string   { return "session-status" }
func (State) control() string    { return "session-state" }
func (Queue) control() string    { return "queue" }
func (Ask) control() string      { return "extension-ui" }
func (Answered) control() string { return "ask-answered" }
func (Failure) control() string  { return "error" }
func (Policy) control() string   { return "policy" }
func (Notice) control() string   { return "notice" }

// MarshalJSON writes the payload.
func (c Status) MarshalJSON() ([]byte, error) {
	return message.Marshal(struct {
		Control string    `json:"control"`
		State   Lifecycle `json:"state"`
	}{c.control(), c.State})
}

// MarshalJSON writes the payload.
func (c State) MarshalJSON() ([]byte, error) {
	type turn struct {
		StartedAt int64 `json:"startedAt"`
	}
	type snapshot struct {
		Lifecycle Lifecycle `json:"lifecycle"`
		Busy      bool      `json:"busy"`
		Turn      *turn     `json:"turn,omitempty"`
		Title     string    `json:"title,omitempty"`
	}
	s := snapshot{Lifecycle: c.Lifecycle, Busy: c.Busy, Title: c.Title}
	if c.StartedAt != 0 {
		s.Turn = &turn{c.StartedAt}
	}
	return message.Marshal(struct {
		Control  string   `json:"control"`
		Snapshot snapshot `json:"snapshot"`
	}{c.control(), s})
}

// queue is the content of a queue, as the control and as the chunk have it.
type queue struct {
	Steering []string `json:"steering"`
	FollowUp []string `json:"followUp"`
}

func (c Queue) content() queue {
	return queue{append([]string{}, c.Steering...), append([]string{}, c.FollowUp...)}
}

// MarshalJSON writes the payload.
func (c Queue) MarshalJSON() ([]byte, error) {
	return message.Marshal(struct {
		Control string `json:"control"`
		queue
	}{c.control(), c.content()})
}

// MarshalJSON writes the payload.
func (c Ask) MarshalJSON() ([]byte, error) {
	type request struct {
		Type    string `json:"type"`
		ID      string `json:"id"`
		Method  string `json:"method"`
		Title   string `json:"title"`
		Message string `json:"message"`
		Call    string `json:"toolCallId"`
		Tool    string `json:"toolName"`
	}
	return message.Marshal(struct {
		Control string  `json:"control"`
		Request request `json:"request"`
	}{c.control(), request{"extension_ui_request", c.ID, "confirm", c.Title, c.Text, c.Call, c.Tool}})
}

// MarshalJSON writes the payload.
func (c Answered) MarshalJSON() ([]byte, error) {
	return message.Marshal(struct {
		Control string `json:"control"`
		ID      string `json:"id"`
		Allowed bool   `json:"allowed"`
	}{c.control(), c.ID, c.Allowed})
}

// MarshalJSON writes the payload.
func (c Failure) MarshalJSON() ([]byte, error) {
	return message.Marshal(struct {
		Control string `json:"control"`
		Message string `json:"message"`
		Code    string `json:"code,omitempty"`
	}{c.control(), c.Message, c.Code})
}

// MarshalJSON writes the payload.
func (c Policy) MarshalJSON() ([]byte, error) {
	return message.Marshal(struct {
		Control   string   `json:"control"`
		Kind      string   `json:"kind"`
		Tools     []string `json:"tools"`
		Source    any      `json:"source"`
		Recreated bool     `json:"recreated"`
	}{c.control(), c.Kind, append([]string{}, c.Tools...), c.Source, c.Recreated})
}

// MarshalJSON writes the payload.
func (c Notice) MarshalJSON() ([]byte, error) {
	return message.Marshal(struct {
		Control string `json:"control"`
		Text    string `json:"text"`
	}{c.control(), c.Text})
}

// MarshalJSON writes the payload.
func (c History) MarshalJSON() ([]byte, error) {
	return message.Marshal(struct {
		Control string `json:"control"`
	}{c.control()})
}
