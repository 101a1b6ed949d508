package message

import (
	"bytes"
	"encoding/json"
	"strings"
)

// The block types of pi 1.6.0. Any other value of [Block.Type] is a block of
// another writer; it is kept and never sent.
const (
	TypeText     = "text"
	TypeThinking = "thinking"
	TypeToolCall = "toolCall"
	TypeImage    = "image"
)

// Block is one piece of a message's content. Which fields hold something
// depends on Type.
type Block struct {
	Type string

	Text          string // text
	TextSignature string // text, opaque

	Thinking          string // thinking
	ThinkingSignature string // thinking, opaque
	Redacted          bool   // thinking

	ID               string          // toolCall
	Name             string          // toolCall
	Arguments        json.RawMessage // toolCall: a JSON object
	ThoughtSignature string          // toolCall, opaque
	Namespace        string          // toolCall
	ArgumentsError   string          // toolCall: set when the model's text was no JSON object

	Data     string // image: base64 without a data-URL prefix
	MimeType string // image

	// Raw is the block as it was read, nil for a block made by us.
	// A non-nil Raw is what MarshalJSON writes.
	Raw json.RawMessage
}

// Text returns a text block.
func Text(s string) Block { return Block{Type: TypeText, Text: s} }

// Image returns an image block; data is base64 without a data-URL prefix.
func Image(mimeType, data string) Block {
	return Block{Type: TypeImage, MimeType: mimeType, Data: data}
}

// ToolCall returns a tool call block; arguments must be a JSON object.
func ToolCall(id, name string, arguments json.RawMessage) Block {
	return Block{Type: TypeToolCall, ID: id, Name: name, Arguments: arguments}
}

// blockJSON gives pi's key order for the blocks that we write.
type blockJSON struct {
	Type              string          `json:"type"`
	Text              *string         `json:"text,omitempty"`
	TextSignature     string          `json:"textSignature,omitempty"`
	Thinking          *string         `json:"thinking,omitempty"`
	ThinkingSignature string          `json:"thinkingSignature,omitempty"`
	Redacted          bool            `json:"redacted,omitempty"`
	ID                string          `json:"id,omitempty"`
	Name              string          `json:"name,omitempty"`
	Arguments         json.RawMessage `json:"arguments,omitempty"`
	ThoughtSignature  string          `json:"thoughtSignature,omitempty"`
	Namespace         string          `json:"namespace,omitempty"`
	ArgumentsError    string          `json:"argumentsError,omitempty"`
	Data              *string         `json:"data,omitempty"`
	MimeType          string          `json:"mimeType,omitempty"`
}

// MarshalJSON writes the raw bytes of a block that was read, else the fields.
func (b Block) MarshalJSON() ([]byte, error) {
	if b.Raw != nil {
		return b.Raw, nil
	}
	j := blockJSON{
		Type: b.Type, TextSignature: b.TextSignature, ThinkingSignature: b.ThinkingSignature,
		Redacted: b.Redacted, ID: b.ID, Name: b.Name, Arguments: b.Arguments,
		ThoughtSignature: b.ThoughtSignature, Namespace: b.Namespace,
		ArgumentsError: b.ArgumentsError, MimeType: b.MimeType,
	}
	switch b.Type {
	case TypeText:
		j.Text = &b.Text
	case TypeThinking:
		j.Thinking = &b.Thinking
	case TypeImage:
		j.Data = &b.Data
	case TypeToolCall:
		if len(j.Arguments) == 0 {
			j.Arguments = json.RawMessage("{}")
		}
	}
	return Marshal(j)
}

// UnmarshalJSON reads one block and keeps its bytes. A field of the wrong type
// is left empty: the block still has its place and its bytes.
func (b *Block) UnmarshalJSON(data []byte) error {
	*b = Block{Raw: bytes.Clone(data)}
	var f map[string]json.RawMessage
	if json.Unmarshal(data, &f) != nil {
		return nil // a scalar or an array where a block should be: kept, without a type
	}
	str := func(key string) (s string) {
		_ = json.Unmarshal(f[key], &s)
		return s
	}
	b.Type = str("type")
	b.Text, b.TextSignature = str("text"), str("textSignature")
	b.Thinking, b.ThinkingSignature = str("thinking"), str("thinkingSignature")
	_ = json.Unmarshal(f["redacted"], &b.Redacted)
	b.ID, b.Name = str("id"), str("name")
	b.ThoughtSignature, b.Namespace, b.ArgumentsError = str("thoughtSignature"), str("namespace"), str("argumentsError")
	b.Data, b.MimeType = str("data"), str("mimeType")
	if raw := bytes.TrimSpace(f["arguments"]); len(raw) > 0 && raw[0] == '{' {
		b.Arguments = json.RawMessage(raw)
	} else if b.Type == TypeToolCall {
		b.Arguments = json.RawMessage("{}")
	}
	return nil
}

// Content is the content of a message. On disk it may be a string, which reads
// as one text block; null and a missing value read as no block. It is written
// as an array, never as null.
type Content []Block

// UnmarshalJSON reads a string, an array of blocks, or null.
func (c *Content) UnmarshalJSON(data []byte) error {
	*c = nil
	data = bytes.TrimSpace(data)
	if len(data) == 0 || bytes.Equal(data, []byte("null")) {
		return nil
	}
	if data[0] == '"' {
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		*c = Content{Text(s)}
		return nil
	}
	if data[0] != '[' {
		return nil // another shape of another writer: nothing we could show
	}
	var blocks []Block
	if err := json.Unmarshal(data, &blocks); err != nil {
		return err
	}
	*c = blocks
	return nil
}

// MarshalJSON writes an array, also for no content.
func (c Content) MarshalJSON() ([]byte, error) {
	if c == nil {
		return []byte("[]"), nil
	}
	return Marshal([]Block(c))
}

// PlainText returns the text blocks joined by line feeds.
func (c Content) PlainText() string {
	var parts []string
	for _, b := range c {
		if b.Type == TypeText {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// ToolCalls returns the tool calls in their order.
func (c Content) ToolCalls() []Block {
	var calls []Block
	for _, b := range c {
		if b.Type == TypeToolCall {
			calls = append(calls, b)
		}
	}
	return calls
}

// Marshal encodes v without HTML escaping and without a trailing line feed, as
// JSON.stringify would: the one way in which piweb turns a value into a line.
func Marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
