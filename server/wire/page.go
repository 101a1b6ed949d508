package wire

import (
	"encoding/json"

	"github.com/piweb-go/piweb/message"
)

// What the client's page knows besides the session itself: log lines, values that
// its tabs share, and answers to what it asks of the agent's own interface.

// LogEntry is a line of a session's log.
type LogEntry struct {
	ID    int64  `json:"id"`    // counts from 1 in each life of the session
	Level string `json:"level"` // debug, info, warn or error
	NS    string `json:"ns"`    // what it is about
	Msg   string `json:"msg"`
	TS    int64  `json:"ts"` // Unix milliseconds
}

// Logs are lines of the session's log: those so far for who comes, then each new one.
type Logs struct{ Entries []LogEntry }

// Shared is a value that the pages of a session share. Sticky by its key.
type Shared struct {
	Key     string
	Value   json.RawMessage // nil where it was deleted
	Rev     int64           // grows with every change
	Deleted bool
}

// Attached tells of a file that the session got, from a person or from a tool.
type Attached struct{ Attachment json.RawMessage }

// RPCAnswer refuses a call to the agent's interface.
type RPCAnswer struct{ ID, Code, Text string }

func (Attached) control() string  { return "attachment" }
func (Logs) control() string      { return "logs" }
func (Shared) control() string    { return "state" }
func (RPCAnswer) control() string { return "ui-rpc" }

// MarshalJSON writes the payload.
func (c Logs) MarshalJSON() ([]byte, error) {
	return message.Marshal(struct {
		Control string     `json:"control"`
		Entries []LogEntry `json:"entries"`
	}{c.control(), append([]LogEntry{}, c.Entries...)})
}

// MarshalJSON writes the payload.
func (c Attached) MarshalJSON() ([]byte, error) {
	return message.Marshal(struct {
		Control    string          `json:"control"`
		Event      string          `json:"event"`
		Attachment json.RawMessage `json:"attachment"`
	}{c.control(), "added", c.Attachment})
}

// attached is the frame of an entry that names an attachment; none for any other.
func attached(customType string, data json.RawMessage) []Frame {
	var d struct {
		Attachment json.RawMessage `json:"attachment"`
	}
	if customType != attachmentType || json.Unmarshal(data, &d) != nil || len(d.Attachment) == 0 || d.Attachment[0] != '{' {
		return nil
	}
	return []Frame{{Control: Attached{d.Attachment}}}
}

// attachmentType is the type of the entries that name an attachment.
const attachmentType = "pi-web:attachment"

// MarshalJSON writes the payload.
func (c Shared) MarshalJSON() ([]byte, error) {
	return message.Marshal(struct {
		Control string          `json:"control"`
		Key     string          `json:"key"`
		Value   json.RawMessage `json:"value,omitempty"`
		Rev     int64           `json:"rev"`
		Deleted bool            `json:"deleted,omitempty"`
	}{c.control(), c.Key, c.Value, c.Rev, c.Deleted})
}

// MarshalJSON writes the payload.
func (c RPCAnswer) MarshalJSON() ([]byte, error) {
	type failure struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	type response struct {
		ID    string  `json:"correlationId"`
		OK    bool    `json:"ok"`
		Error failure `json:"error"`
	}
	return message.Marshal(struct {
		Control  string   `json:"control"`
		Response response `json:"response"`
	}{c.control(), response{c.ID, false, failure{c.Code, c.Text}}})
}
