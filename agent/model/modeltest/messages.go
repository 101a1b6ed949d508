package modeltest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/piweb-go/piweb/agent/model/offline"
)

// messages is Anthropic's wire.
type messages struct{}

type messagesRequest struct {
	Model     string            `json:"model"`
	MaxTokens int               `json:"max_tokens"`
	Stream    bool              `json:"stream"`
	System    []messagesBlock   `json:"system"`
	Messages  []messagesMessage `json:"messages"`
	Tools     *[]messagesTool   `json:"tools"`
	Thinking  *struct {
		Type   string `json:"type"`
		Budget int    `json:"budget_tokens"`
	} `json:"thinking"`
}

type messagesTool struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"input_schema"`
}

type messagesMessage struct {
	Role    string          `json:"role"`
	Content []messagesBlock `json:"content"`
}

type messagesBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   []messagesBlock `json:"content"`
	Source    *struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	} `json:"source"`
	CacheControl json.RawMessage `json:"cache_control"`
}

func (messages) read(r *http.Request, body []byte) (turn, error) {
	var req messagesRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return turn{}, err
	}
	check := func() error {
		if r.Header.Get("Anthropic-Version") != "2023-06-01" {
			return errors.New("anthropic-version: header is required")
		}
		return req.check()
	}
	return turn{model: req.Model, lastUser: req.lastUser(), usage: true, check: check}, nil
}

func (messages) key(r *http.Request) string { return r.Header.Get("X-Api-Key") }

func (messages) refuse(w http.ResponseWriter, status int, message, code, retryAfter string) {
	if retryAfter != "" {
		w.Header().Set("Retry-After", retryAfter)
	}
	if code == "" {
		code = "api_error"
	}
	writeJSON(w, status, map[string]any{"type": "error", "error": map[string]any{"type": code, "message": message}})
}

func (messages) sent(body []byte) Sent {
	var req messagesRequest
	_ = json.Unmarshal(body, &req) // what is no request says nothing
	s := Sent{HasTools: HasTools(body)}
	if bytes.Contains(body, []byte(`"system"`)) && len(req.System) == 0 {
		s.Heads = append(s.Heads, nil) // a field without a head
	}
	for _, b := range req.System {
		s.Heads = append(s.Heads, []byte(b.Text))
	}
	if req.Tools != nil {
		for _, t := range *req.Tools {
			s.Tools = append(s.Tools, t.Name)
		}
	}
	return s
}

// lastUser is the text of the last user message that says something.
func (r messagesRequest) lastUser() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		var text strings.Builder
		for _, b := range r.Messages[i].Content {
			if b.Type == "text" {
				text.WriteString(b.Text)
			}
		}
		if r.Messages[i].Role == "user" && text.Len() > 0 {
			return text.String()
		}
	}
	return ""
}

var messagesName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func (r messagesRequest) check() error {
	switch {
	case !r.Stream:
		return errors.New("only streaming is served here: stream must be true")
	case r.Model == "":
		return errors.New("model: field required")
	case r.MaxTokens < 1:
		return errors.New("max_tokens: field required")
	case len(r.Messages) == 0:
		return errors.New("messages: at least one message is required")
	case r.Messages[0].Role != "user":
		return errors.New("messages: first message must use the user role")
	}
	if t := r.Thinking; t != nil && t.Type == "enabled" && (t.Budget < 1024 || t.Budget >= r.MaxTokens) {
		return errors.New("thinking.budget_tokens: at least 1024 and less than max_tokens")
	}
	if r.Tools != nil {
		if len(*r.Tools) == 0 {
			return errors.New("tools: the list is empty; leave the field out")
		}
		for i, t := range *r.Tools {
			if !messagesName.MatchString(t.Name) || len(t.Schema) == 0 || t.Schema[0] != '{' {
				return fmt.Errorf("tools.%d: name and input_schema are required: %q", i, t.Name)
			}
		}
	}
	return r.checkMessages()
}

func (r messagesRequest) checkMessages() error {
	marks := 0
	var open map[string]bool // calls of the message before
	seen := map[string]bool{}
	for i, m := range r.Messages {
		if len(m.Content) == 0 {
			return fmt.Errorf("messages.%d: content must not be empty", i)
		}
		if i > 0 && r.Messages[i-1].Role == m.Role {
			return fmt.Errorf("messages.%d: roles must alternate", i)
		}
		calls := map[string]bool{}
		for k, b := range m.Content {
			if err := b.check(m.Role, open, calls); err != nil {
				return fmt.Errorf("messages.%d.content.%d: %w", i, k, err)
			}
			if len(b.CacheControl) > 0 {
				marks++
			}
		}
		if len(open) > 0 {
			return fmt.Errorf("messages.%d: tool_use ids were found without tool_result blocks immediately after", i)
		}
		for id := range calls {
			if seen[id] {
				return fmt.Errorf("messages.%d: tool_use ids must be unique: %s", i, id)
			}
			seen[id] = true
		}
		open = calls
	}
	if len(open) > 0 {
		return errors.New("messages: the last tool calls have no results")
	}
	if marks > 4 {
		return errors.New("a maximum of 4 blocks with cache_control may be provided")
	}
	return nil
}

func (b messagesBlock) check(role string, open, calls map[string]bool) error {
	switch b.Type {
	case "text":
		if strings.TrimSpace(b.Text) == "" {
			return errors.New("text content blocks must contain non-whitespace text")
		}
	case "image":
		return b.checkImage()
	case "thinking", "redacted_thinking":
		if role != "assistant" || b.Type == "thinking" && b.Signature == "" || b.Type == "redacted_thinking" && b.Data == "" {
			return errors.New("a thought without its signature, or of a user")
		}
	case "tool_use":
		if role != "assistant" || !messagesName.MatchString(b.ID) || b.Name == "" || len(b.Input) == 0 || b.Input[0] != '{' || calls[b.ID] {
			return errors.New("tool_use: id, name and input are required, and the id is to be unique")
		}
		calls[b.ID] = true
	case "tool_result":
		if role != "user" || !open[b.ToolUseID] {
			return fmt.Errorf("unexpected tool_use_id found in tool_result blocks: %q", b.ToolUseID)
		}
		delete(open, b.ToolUseID)
		for _, c := range b.Content {
			if c.Type != "text" && c.Type != "image" {
				return fmt.Errorf("tool_result: a block of type %q", c.Type)
			}
			if err := c.check("user", nil, nil); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("unknown type %q", b.Type)
	}
	if b.Type != "tool_result" && role == "user" && len(open) > 0 {
		return errors.New("tool_result blocks must come first")
	}
	return nil
}

func (b messagesBlock) checkImage() error {
	if b.Source == nil || b.Source.Type != "base64" {
		return errors.New("image: a base64 source is served here")
	}
	switch b.Source.MediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
	default:
		return fmt.Errorf("image: media type %q", b.Source.MediaType)
	}
	if _, err := base64.StdEncoding.DecodeString(b.Source.Data); err != nil || b.Source.Data == "" {
		return errors.New("image: the data is not base64")
	}
	return nil
}

// stream writes a step as Anthropic does: a start, block after block, and the end
// with the tokens. Calls interleave, so that nothing may rely on one call being
// whole before the next begins.
func (messages) stream(s *sse) {
	start := map[string]any{"id": fmt.Sprintf("msg_%d", s.n), "type": "message", "role": "assistant", "model": s.turn.model, "content": []any{}}
	if u := s.step.Usage; u != nil {
		start["usage"] = map[string]any{
			"input_tokens": u.Input, "output_tokens": 1,
			"cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite,
			"cache_creation": map[string]any{"ephemeral_5m_input_tokens": u.CacheWrite - u.CacheWrite1h, "ephemeral_1h_input_tokens": u.CacheWrite1h},
		}
	}
	s.named(map[string]any{"type": "message_start", "message": start})
	s.named(map[string]any{"type": "ping"})
	index := 0
	begin := func(block map[string]any) {
		s.named(map[string]any{"type": "content_block_start", "index": index, "content_block": block})
	}
	delta := func(at int, d map[string]any) {
		s.named(map[string]any{"type": "content_block_delta", "index": at, "delta": d})
	}
	end := func(at int) { s.named(map[string]any{"type": "content_block_stop", "index": at}) }
	if s.step.Thinking != "" {
		begin(map[string]any{"type": "thinking", "thinking": "", "signature": ""})
		for _, word := range s.step.Pieces(s.step.Thinking) {
			delta(index, map[string]any{"type": "thinking_delta", "thinking": word})
		}
		delta(index, map[string]any{"type": "signature_delta", "signature": "EqQBCg=="})
		end(index)
		index++
	}
	if text := s.step.FullText(); text != "" {
		begin(map[string]any{"type": "text", "text": ""})
		for _, word := range s.step.Pieces(text) {
			delta(index, map[string]any{"type": "text_delta", "text": word})
		}
		if !s.step.Broken() && s.step.Error == nil {
			end(index)
		}
		index++
	}
	first := index
	fragments := make([][]string, len(s.step.ToolCalls))
	longest := 0
	for i, c := range s.step.ToolCalls {
		fragments[i] = s.step.Fragments(c.Text())
		longest = max(longest, len(fragments[i]))
		begin(map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": map[string]any{}})
		index++
	}
	for k := range longest {
		for i := range fragments {
			if k < len(fragments[i]) {
				delta(first+i, map[string]any{"type": "input_json_delta", "partial_json": fragments[i][k]})
			}
		}
	}
	switch {
	case s.step.Error != nil:
		s.named(map[string]any{"type": "error", "error": map[string]any{"type": "overloaded_error", "message": s.step.Error.Message}})
	case s.step.Broken():
	default:
		for i := range fragments {
			end(first + i)
		}
		last := map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": messagesWord(s.step), "stop_sequence": nil}}
		if u := s.step.Usage; u != nil {
			last["usage"] = map[string]any{
				"output_tokens": u.Output, "output_tokens_details": map[string]any{"thinking_tokens": u.Reasoning},
			}
		}
		s.named(last)
		s.named(map[string]any{"type": "message_stop"})
	}
}

// messagesWord is the wire's word for the end of a step.
func messagesWord(step offline.Step) string {
	switch word := step.FinishWord(); word {
	case "stop":
		return "end_turn"
	case "tool_calls":
		return "tool_use"
	case "length":
		return "max_tokens"
	default:
		return word
	}
}
