package memory

import (
	"context"
	"encoding/json"
)

// Engine keeps memories and finds them.
type Engine interface {
	// Add keeps messages. body is what the client sent, byte for byte.
	Add(ctx context.Context, a Added) (Reply, error)
	// Flush ends what a session has open, so that later messages begin something new.
	Flush(ctx context.Context, s Scope, session string) (Reply, error)
	// Search finds memories of a scope, the best first.
	Search(ctx context.Context, s Scope, q Query) (Found, error)
	// Health tells whether the engine can be used.
	Health(ctx context.Context) error
}

// Added is an add that was looked at.
type Added struct {
	Scope   Scope
	Session string
	Body    []byte
	body    addBody
}

// Reply is an answer as a client gets it.
type Reply struct {
	Status int
	Body   []byte // JSON
}

// OK tells whether it says that something was done.
func (r Reply) OK() bool { return r.Status >= 200 && r.Status < 300 }

// Query is a question.
type Query struct {
	Text    string
	Method  string // keyword, vector, hybrid, agentic; "" for hybrid
	TopK    int    // 0 for the default
	Body    []byte // what the client sent, for an upstream
	Session string // the session that a plain filter names, or ""
	filter  condition
}

// Item is one result. Raw is what the engine said, untouched.
type Item struct {
	ID          string          `json:"id"`
	Type        string          `json:"type"` // episode, agent_case, agent_skill, profile or message
	SessionID   *string         `json:"session_id"`
	Score       *float64        `json:"score"`
	Text        string          `json:"text"`
	Snippet     []Part          `json:"snippet,omitempty"` // of a search: where in the text it was found
	Timestamp   string          `json:"timestamp"`
	Raw         json.RawMessage `json:"raw"`
	Attachments []File          `json:"attachments"`

	app, project string
}

// File is an attachment of a result. URI is where it really is.
type File struct {
	Type string `json:"type"`
	Name string `json:"name"`
	URI  string `json:"internal_uri"`
}

// Found is what a search has found.
type Found struct {
	RequestID string `json:"request_id"`
	Results   []Item `json:"results"`
	// Method is how it was searched, where that is not what was asked for.
	Method string `json:"method_used,omitempty"`
	// Degraded says that the service did not answer, and what is kept here did.
	Degraded bool `json:"degraded,omitempty"`
}
