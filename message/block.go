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

// Content is the content of a message. On disk it may be a string, which reads
// as one text block; null and a missing value read as no block. It is written
// as an array, never as null.
type Content []Block

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
