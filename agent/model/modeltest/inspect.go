package modeltest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// request is the part of a completion request that the server looks at.
type request struct {
	Model         string           `json:"model"`
	Stream        bool             `json:"stream"`
	Messages      []wireMessage    `json:"messages"`
	Tools         *json.RawMessage `json:"tools"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type wireMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string  `json:"name"`
			Arguments *string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

type wirePart struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	ImageURL struct {
		URL string `json:"url"`
	} `json:"image_url"`
}

// text is a content as one string, whatever its shape.
func (m wireMessage) text() string {
	var s string
	if json.Unmarshal(m.Content, &s) == nil {
		return s
	}
	var b strings.Builder
	for _, p := range m.parts() {
		b.WriteString(p.Text)
	}
	return b.String()
}

func (m wireMessage) parts() []wirePart {
	var parts []wirePart
	_ = json.Unmarshal(m.Content, &parts) // a string has no parts
	return parts
}

func (m wireMessage) hasImage() bool {
	for _, p := range m.parts() {
		if p.Type == "image_url" {
			return true
		}
	}
	return false
}

func (m wireMessage) empty() bool {
	content := bytes.TrimSpace(m.Content)
	return len(content) == 0 || bytes.Equal(content, []byte("null")) ||
		bytes.Equal(content, []byte(`""`)) || bytes.Equal(content, []byte("[]"))
}

// lastUser is the text of the last user message. One that stands behind tool
// results and carries pictures belongs to the results and is passed over.
func (r request) lastUser() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		m := r.Messages[i]
		if m.Role != "user" {
			continue
		}
		if i > 0 && m.hasImage() && r.Messages[i-1].Role == "tool" {
			continue
		}
		return m.text()
	}
	return ""
}

// check applies the rules for which providers refuse a conversation.
func (r request) check() error {
	if !r.Stream {
		return errors.New("only streaming is served here: stream must be true")
	}
	if r.Model == "" {
		return errors.New("model is missing")
	}
	if len(r.Messages) == 0 {
		return errors.New("messages: the list is empty")
	}
	if err := r.checkTools(); err != nil {
		return err
	}
	return r.checkMessages()
}

func (r request) checkTools() error {
	if r.Tools == nil {
		return nil
	}
	var tools []struct {
		Type     string `json:"type"`
		Function struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"function"`
	}
	if err := json.Unmarshal(*r.Tools, &tools); err != nil {
		return fmt.Errorf("tools: %w", err)
	}
	if len(tools) == 0 {
		return errors.New("tools: the list is empty; leave the field out")
	}
	name := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	seen := make(map[string]bool)
	for i, t := range tools {
		if t.Type != "function" || !name.MatchString(t.Function.Name) || seen[t.Function.Name] {
			return fmt.Errorf("tools[%d]: not a function with a name of its own: %q", i, t.Function.Name)
		}
		seen[t.Function.Name] = true
		if p := bytes.TrimSpace(t.Function.Parameters); len(p) > 0 && p[0] != '{' {
			return fmt.Errorf("tools[%d]: parameters are not a JSON Schema", i)
		}
	}
	return nil
}

func (r request) checkMessages() error {
	open := make(map[string]bool) // calls that wait for their results
	for i, m := range r.Messages {
		if len(open) > 0 && m.Role != "tool" {
			return fmt.Errorf("messages[%d]: a tool call before it has no result: tool messages must follow their calls at once", i)
		}
		switch m.Role {
		case "system", "developer", "user":
			if m.empty() {
				return fmt.Errorf("messages[%d]: a %s message without content", i, m.Role)
			}
		case "assistant":
			if m.empty() && len(m.ToolCalls) == 0 {
				return fmt.Errorf("messages[%d]: an assistant message needs content or tool_calls", i)
			}
			for _, c := range m.ToolCalls {
				if c.ID == "" || c.Function.Name == "" || c.Function.Arguments == nil || open[c.ID] {
					return fmt.Errorf("messages[%d]: a tool call without id, name or arguments, or with the id of another", i)
				}
				open[c.ID] = true
			}
		case "tool":
			if !open[m.ToolCallID] {
				return fmt.Errorf("messages[%d]: no tool call %q before this result", i, m.ToolCallID)
			}
			delete(open, m.ToolCallID)
		default:
			return fmt.Errorf("messages[%d]: unknown role %q", i, m.Role)
		}
		if err := m.checkImages(); err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	if len(open) > 0 {
		return errors.New("messages: the last tool calls have no results")
	}
	return nil
}

func (m wireMessage) checkImages() error {
	for _, p := range m.parts() {
		if p.Type != "image_url" {
			continue
		}
		if m.Role != "user" {
			return fmt.Errorf("a picture in a %s message", m.Role)
		}
		kind, data, ok := strings.Cut(p.ImageURL.URL, ";base64,")
		if !ok || !strings.HasPrefix(kind, "data:image/") {
			return errors.New("a picture that is not a data URL")
		}
		if _, err := base64.StdEncoding.DecodeString(data); err != nil || data == "" {
			return errors.New("a picture whose data is not base64")
		}
	}
	return nil
}

// SystemContents returns the decoded contents of all system and developer
// messages of a request body, in order: what the provider reads as the head. A
// body that is not JSON has none.
func SystemContents(body []byte) [][]byte {
	var r request
	if json.Unmarshal(body, &r) != nil {
		return nil
	}
	var contents [][]byte
	for _, m := range r.Messages {
		if m.Role == "system" || m.Role == "developer" {
			contents = append(contents, []byte(m.text()))
		}
	}
	return contents
}

// Head returns the decoded bytes of the first message if it is a system or
// developer message whose content is one string.
func Head(body []byte) (head []byte, ok bool) {
	var r request
	if json.Unmarshal(body, &r) != nil || len(r.Messages) == 0 {
		return nil, false
	}
	m := r.Messages[0]
	var s string
	if m.Role != "system" && m.Role != "developer" || json.Unmarshal(m.Content, &s) != nil {
		return nil, false
	}
	return []byte(s), true
}

// RawHead returns the JSON text of the head's content as it crossed the wire,
// quotes and escapes included.
func RawHead(body []byte) (text []byte, ok bool) {
	if _, ok := Head(body); !ok {
		return nil, false
	}
	var r request
	_ = json.Unmarshal(body, &r) // it could be read just now
	return r.Messages[0].Content, true
}

// HasTools says whether the body has the field "tools", even an empty one, or
// any other field that speaks of tools.
func HasTools(body []byte) bool {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return false
	}
	for _, name := range []string{"tools", "tool_choice", "parallel_tool_calls", "functions", "function_call", "tool_stream"} {
		if _, ok := fields[name]; ok {
			return true
		}
	}
	return false
}

// ToolNames returns the names of the declared tools in order.
func ToolNames(body []byte) []string {
	var r struct {
		Tools []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
	}
	_ = json.Unmarshal(body, &r) // without tools there are no names
	var names []string
	for _, t := range r.Tools {
		names = append(names, t.Function.Name)
	}
	return names
}

// Roles returns the roles of the messages in order.
func Roles(body []byte) []string {
	var r request
	_ = json.Unmarshal(body, &r) // what is no request has no roles
	var roles []string
	for _, m := range r.Messages {
		roles = append(roles, m.Role)
	}
	return roles
}
