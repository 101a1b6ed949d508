package message

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/piweb-go/piweb/internal/structure"
)

// What is written at every turn, and all that is in it, is encoded by hand, in one
// pass into one buffer: encoding/json would read and copy the text of a message once
// for each value that it lies in. TestEncodeAgainstSlow holds the bytes against it.

// Append appends a message as pi stores it.
func Append(out []byte, m Message) ([]byte, error) {
	switch m := m.(type) {
	case *User:
		return m.appendTo(slices.Grow(out, m.Content.size()))
	case *Assistant:
		return m.appendTo(slices.Grow(out, m.Content.size()))
	case *ToolResult:
		return m.appendTo(slices.Grow(out, m.Content.size()+len(m.Details)))
	}
	raw, err := Marshal(m)
	return append(out, raw...), err
}

// size is about how many bytes a message of this content takes, so that its line
// seldom has to be copied while it grows.
func (c Content) size() int {
	const frame, perBlock = 512, 128
	n := frame
	for _, b := range c {
		body := len(b.Raw)
		if b.Raw == nil {
			body = len(b.Text) + len(b.Thinking) + len(b.ThinkingSignature) + len(b.Arguments) + len(b.Data)
		}
		n += perBlock + body + body/16 // escapes
	}
	return n
}

// object writes the fields of a JSON object.
type object struct {
	out []byte
	err error
}

func begin(out []byte) object { return object{out: append(out, '{')} }

func (o *object) end() ([]byte, error) { return append(o.out, '}'), o.err }

// key writes a key, which needs no escapes, and what separates it.
func (o *object) key(name string) {
	if o.out[len(o.out)-1] != '{' {
		o.out = append(o.out, ',')
	}
	o.out = append(append(append(o.out, '"'), name...), '"', ':')
}

func (o *object) text(name, s string) {
	o.key(name)
	o.out = structure.AppendText(o.out, s)
}

// textIf, and its like, leave out a field that holds nothing.
func (o *object) textIf(name, s string) {
	if s != "" {
		o.text(name, s)
	}
}

func (o *object) number(name string, n int64) {
	o.key(name)
	o.out = strconv.AppendInt(o.out, n, 10)
}

func (o *object) numberIf(name string, n int64) {
	if n != 0 {
		o.number(name, n)
	}
}

func (o *object) float(name string, f float64) {
	o.key(name)
	raw, err := json.Marshal(f)
	if err != nil && o.err == nil {
		o.err = err
	}
	o.out = append(o.out, raw...)
}

func (o *object) bool(name string, b bool) {
	o.key(name)
	o.out = strconv.AppendBool(o.out, b)
}

// rawIf writes JSON as it is, but for white space.
func (o *object) rawIf(name string, raw json.RawMessage) {
	if len(raw) > 0 {
		o.key(name)
		o.raw(raw)
	}
}

func (o *object) raw(raw json.RawMessage) {
	if structure.Tight(raw) && structure.Valid(raw) {
		o.out = append(o.out, raw...)
		return
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil && o.err == nil {
		o.err = err
	}
	o.out = append(o.out, b.Bytes()...)
}

func (o *object) content(c Content) {
	o.key("content")
	o.out = append(o.out, '[')
	for i, b := range c {
		if i > 0 {
			o.out = append(o.out, ',')
		}
		o.block(&b)
	}
	o.out = append(o.out, ']')
}

// block writes the bytes of a block that was read, else its fields in pi's order.
func (o *object) block(b *Block) {
	if b.Raw != nil {
		o.raw(b.Raw)
		return
	}
	o.out = append(o.out, '{')
	o.text("type", b.Type)
	if b.Type == TypeText {
		o.text("text", b.Text)
	}
	o.textIf("textSignature", b.TextSignature)
	if b.Type == TypeThinking {
		o.text("thinking", b.Thinking)
	}
	o.textIf("thinkingSignature", b.ThinkingSignature)
	if b.Redacted {
		o.bool("redacted", true)
	}
	o.textIf("id", b.ID)
	o.textIf("name", b.Name)
	if len(b.Arguments) == 0 && b.Type == TypeToolCall {
		o.rawIf("arguments", json.RawMessage("{}"))
	}
	o.rawIf("arguments", b.Arguments)
	o.textIf("thoughtSignature", b.ThoughtSignature)
	o.textIf("namespace", b.Namespace)
	o.textIf("argumentsError", b.ArgumentsError)
	if b.Type == TypeImage {
		o.text("data", b.Data)
	}
	o.textIf("mimeType", b.MimeType)
	o.out = append(o.out, '}')
}

func (o *object) usage(u *Usage) {
	o.key("usage")
	o.out = append(o.out, '{')
	o.number("input", u.Input)
	o.number("output", u.Output)
	o.number("cacheRead", u.CacheRead)
	o.number("cacheWrite", u.CacheWrite)
	o.numberIf("cacheWrite1h", u.CacheWrite1h)
	o.numberIf("reasoning", u.Reasoning)
	o.number("totalTokens", u.TotalTokens)
	o.key("cost")
	o.out = append(o.out, '{')
	o.float("input", u.Cost.Input)
	o.float("output", u.Cost.Output)
	o.float("cacheRead", u.Cost.CacheRead)
	o.float("cacheWrite", u.Cost.CacheWrite)
	o.float("total", u.Cost.Total)
	o.out = append(o.out, '}', '}')
}

func (m *User) appendTo(out []byte) ([]byte, error) {
	o := begin(out)
	o.text("role", string(RoleUser))
	o.content(m.Content)
	o.number("timestamp", m.Timestamp)
	return o.end()
}

func (m *Assistant) appendTo(out []byte) ([]byte, error) {
	o := begin(out)
	o.text("role", string(RoleAssistant))
	o.content(m.Content)
	o.text("api", m.API)
	o.text("provider", m.Provider)
	o.text("model", m.Model)
	o.textIf("responseModel", m.ResponseModel)
	o.textIf("responseId", m.ResponseID)
	o.textIf("thinkingLevel", m.ThinkingLevel)
	o.rawIf("diagnostics", m.Diagnostics)
	o.usage(&m.Usage)
	o.text("stopReason", string(m.StopReason))
	o.textIf("errorMessage", m.ErrorMessage)
	o.textIf("rawStopReason", m.RawStopReason)
	o.number("timestamp", m.Timestamp)
	o.numberIf("durationMs", m.DurationMs)
	return o.end()
}

func (m *ToolResult) appendTo(out []byte) ([]byte, error) {
	o := begin(out)
	o.text("role", string(RoleToolResult))
	o.text("toolCallId", m.ToolCallID)
	o.text("toolName", m.ToolName)
	o.content(m.Content)
	o.rawIf("details", m.Details)
	o.bool("isError", m.IsError)
	o.number("timestamp", m.Timestamp)
	o.numberIf("durationMs", m.DurationMs)
	return o.end()
}

// The MarshalJSON methods write a message, and what it is made of, as pi stores it.

func (m *User) MarshalJSON() ([]byte, error)       { return m.appendTo(nil) }
func (m *Assistant) MarshalJSON() ([]byte, error)  { return m.appendTo(nil) }
func (m *ToolResult) MarshalJSON() ([]byte, error) { return m.appendTo(nil) }

// MarshalJSON writes the raw bytes of a block that was read, else the fields.
func (b Block) MarshalJSON() ([]byte, error) {
	if b.Raw != nil {
		return b.Raw, nil
	}
	var o object
	o.block(&b)
	return o.out, o.err
}

// MarshalJSON writes an array, also for no content.
func (c Content) MarshalJSON() ([]byte, error) {
	o := begin(nil)
	o.content(c)
	return o.out[len(`{"content":`):], o.err
}
