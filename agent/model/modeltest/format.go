package modeltest

import (
	"encoding/json"
	"net/http"
	"strings"
)

// format is one provider's wire, written and read by hand.
type format interface {
	// read finds what the server needs in a request.
	read(r *http.Request, body []byte) (turn, error)
	// key is the key that came with a request.
	key(r *http.Request) string
	// refuse answers with an error in the provider's shape.
	refuse(w http.ResponseWriter, status int, message, code, retryAfter string)
	// stream writes an answer.
	stream(s *sse)
	// sent is what the provider reads as head and tools.
	sent(body []byte) Sent
}

// turn is a request as the server sees it.
type turn struct {
	model, lastUser string
	usage           bool         // the client wants the tokens
	check           func() error // the rules for which providers refuse a conversation
}

// formatOf is the wire of a path, nil for none.
func formatOf(path string) format {
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return chat{}
	case strings.HasSuffix(path, "/messages"):
		return messages{}
	case strings.HasSuffix(path, "/responses"):
		return responses{}
	case strings.HasSuffix(path, ":streamGenerateContent"):
		return generate{}
	}
	return nil
}

// chat is the chat completions wire.
type chat struct{}

func (chat) read(_ *http.Request, body []byte) (turn, error) {
	var r request
	if err := json.Unmarshal(body, &r); err != nil {
		return turn{}, err
	}
	return turn{model: r.Model, lastUser: r.lastUser(), usage: r.StreamOptions.IncludeUsage, check: r.check}, nil
}

func (chat) key(r *http.Request) string { return bearer(r) }

func bearer(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

func (chat) refuse(w http.ResponseWriter, status int, message, code, retryAfter string) {
	if retryAfter != "" {
		w.Header().Set("Retry-After", retryAfter)
	}
	var c any
	if code != "" {
		c = code
	}
	writeJSON(w, status, map[string]any{
		"error": map[string]any{"message": message, "type": "modeltest", "param": nil, "code": c},
	})
}

func (chat) sent(body []byte) Sent {
	return Sent{Heads: SystemContents(body), HasTools: HasTools(body), Tools: ToolNames(body)}
}
