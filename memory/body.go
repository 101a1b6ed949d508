package memory

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// Limits of an add.
const (
	// MaxBody is how large a body may be, in bytes.
	MaxBody = 48 << 20
	// MaxItem is how large one file of a body may be, in bytes once it is decoded.
	MaxItem     = 25 << 20
	maxMessages = 500
	maxItems    = 1000
	maxText     = 256 << 10 // bytes of one message's text that are kept for searching
)

// addBody is the body of an add, as far as it is looked at.
type addBody struct {
	UserID    *string       `json:"user_id"`
	SessionID string        `json:"session_id"`
	App       string        `json:"app_id"`
	Project   string        `json:"project_id"`
	Messages  []messageBody `json:"messages"`
	Defer     bool          `json:"defer_extraction"`
}

type messageBody struct {
	MessageID  string          `json:"message_id"`
	SenderID   string          `json:"sender_id"`
	SenderName string          `json:"sender_name"`
	Role       string          `json:"role"`
	Timestamp  json.Number     `json:"timestamp"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`

	items []contentItem
}

type contentItem struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	URI    string `json:"uri"`
	Base64 string `json:"base64"`
	Ext    string `json:"ext"`
	Name   string `json:"name"`
}

// readAdd reads a body and refuses what no engine could take, and what speaks for
// somebody else than the user.
func readAdd(user string, body []byte, lax bool, aliases []string) (addBody, Scope, error) {
	var b addBody
	if len(body) > MaxBody {
		return b, Scope{}, tooLarge("A request may have %d MiB at most. Send fewer files at once, or name them by their address.", MaxBody>>20)
	}
	if err := decode(body, &b); err != nil {
		return b, Scope{}, err
	}
	scope, err := Scope{user, b.App, b.Project}.check()
	if err != nil {
		return b, scope, err
	}
	if b.UserID != nil && *b.UserID != user {
		return b, scope, forbidden("The body names another user than the one who is signed in.")
	}
	if err := checkSession(b.SessionID); err != nil {
		return b, scope, err
	}
	if n := len(b.Messages); n < 1 || n > maxMessages {
		return b, scope, invalid("1 to %d messages are wanted: messages", maxMessages)
	}
	items := 0
	for i := range b.Messages {
		m := &b.Messages[i]
		if m.items, err = readContent(m.Content); err != nil {
			return b, scope, err
		}
		if items += len(m.items); items > maxItems {
			return b, scope, tooLarge("A request may have %d parts at most.", maxItems)
		}
		// An upstream files a user's message under its sender.
		if !lax && m.Role == "user" && m.SenderID != "" && m.SenderID != user && !slices.Contains(aliases, m.SenderID) {
			return b, scope, forbidden("A message of the role user has another sender than the one who is signed in.")
		}
	}
	return b, scope, nil
}

// readContent is the parts of a message: a text is one part.
func readContent(raw json.RawMessage) ([]contentItem, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '"' {
		var text string
		err := json.Unmarshal(raw, &text)
		return []contentItem{{Type: "text", Text: text}}, err
	}
	var items []contentItem
	if len(raw) == 0 || json.Unmarshal(raw, &items) != nil {
		return nil, invalid("a text or a list of parts is wanted: messages.content")
	}
	return items, nil
}

func decode(body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return invalid("the body cannot be read as JSON of this form: %v", err)
	}
	return nil
}

// decodeBase64 reads what a client sent: with or without line breaks and padding,
// and also what a browser puts in front.
func decodeBase64(s string) ([]byte, bool) {
	if rest, ok := strings.CutPrefix(s, "data:"); ok {
		_, after, found := strings.Cut(rest, ",")
		if !found {
			return nil, false
		}
		s = after
	}
	s = strings.Map(func(r rune) rune {
		switch r {
		case ' ', '\n', '\r', '\t', '=':
			return -1
		case '-':
			return '+'
		case '_':
			return '/'
		}
		return r
	}, s)
	data, err := base64.RawStdEncoding.DecodeString(s)
	return data, err == nil && len(data) > 0
}

// checkEmbedded looks at what the embedded engine wants besides.
func (b *addBody) checkEmbedded(user string) error {
	for i := range b.Messages {
		m := &b.Messages[i]
		switch m.Role {
		case "user", "assistant", "tool":
		default:
			return invalid("one of user, assistant and tool is wanted: messages.role")
		}
		if m.SenderID == "" && m.Role == "user" {
			m.SenderID = user
		}
		if m.SenderID == "" {
			m.SenderID = m.Role
		}
		if m.Role == "tool" && m.ToolCallID == "" {
			return invalid("a result of a tool wants the id of its call: messages.tool_call_id")
		}
		if m.Timestamp != "" {
			if f, err := m.Timestamp.Float64(); err != nil || f < 0 || f > 1e15 {
				return invalid("milliseconds since 1970 are wanted: messages.timestamp")
			}
		}
	}
	return nil
}

// text is what a message says, with the names of its files.
func (m *messageBody) text() string {
	var parts []string
	for _, item := range m.items {
		switch {
		case item.URI != "" || item.Base64 != "":
			parts = append(parts, "[attached: "+nameOf(item)+"]")
			if item.Text != "" {
				parts = append(parts, item.Text)
			}
		case strings.TrimSpace(item.Text) != "":
			parts = append(parts, item.Text)
		}
	}
	return cut(strings.Join(parts, "\n"), maxText)
}

// key makes the same message the same.
func (m *messageBody) key() string {
	if m.MessageID != "" {
		return "id:" + m.MessageID
	}
	h := sha256.New()
	for _, s := range []string{m.SenderID, m.Role, m.Timestamp.String(), string(m.Content)} {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// at is when it was said, in milliseconds; now where nobody says.
func (m *messageBody) at(now int64) int64 {
	f, err := m.Timestamp.Float64()
	if err != nil || f <= 0 {
		return now
	}
	if f < 1e12 {
		f *= 1000
	}
	return int64(f)
}
