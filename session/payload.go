package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/piweb-go/piweb/internal/structure"
	"github.com/piweb-go/piweb/message"
)

// Payload is the body of an entry: one of MessagePayload, ModelChange,
// ThinkingLevelChange, UsageRecord, Compaction, BranchSummary, Custom,
// CustomMessage, ContextEdit, Label, SessionInfo and Unknown.
type Payload interface {
	// EntryType is the value of the entry's "type".
	EntryType() string
}

// MessagePayload carries a message of the conversation.
type MessagePayload struct {
	Message message.Message `json:"message"`
}

// ModelChange sets the model from here on.
type ModelChange struct {
	Provider string `json:"provider"`
	ModelID  string `json:"modelId"`
}

// ThinkingLevelChange sets the thinking level from here on.
type ThinkingLevelChange struct {
	ThinkingLevel string `json:"thinkingLevel"`
}

// UsageRecord counts tokens spent outside of an answer.
type UsageRecord struct {
	Kind     string        `json:"kind"`
	Provider string        `json:"provider"`
	Model    string        `json:"model"`
	Usage    message.Usage `json:"usage"`
	Note     string        `json:"note,omitempty"`
}

// Compaction replaces what stands before it, from the root to the entry
// FirstKeptEntryID, by a summary. An id that is the compaction's own, or not on
// the branch, keeps nothing.
type Compaction struct {
	Summary          string          `json:"summary"`
	FirstKeptEntryID ID              `json:"firstKeptEntryId,omitempty"`
	TokensBefore     int64           `json:"tokensBefore"`
	Details          json.RawMessage `json:"details,omitempty"`
	Usage            json.RawMessage `json:"usage,omitempty"`
	FromHook         *bool           `json:"fromHook,omitempty"`
	SystemMessage    json.RawMessage `json:"systemMessage,omitempty"`
}

// BranchSummary stands for a branch that was left at FromID.
type BranchSummary struct {
	FromID   ID              `json:"fromId"` // or "root"
	Summary  string          `json:"summary"`
	Details  json.RawMessage `json:"details,omitempty"`
	Usage    json.RawMessage `json:"usage,omitempty"`
	FromHook *bool           `json:"fromHook,omitempty"`
}

// Custom is data of an extension or of piweb; models never see it.
type Custom struct {
	CustomType string
	Data       json.RawMessage
}

// CustomMessage is text of an extension for the model.
type CustomMessage struct {
	CustomType string
	Content    message.Content
	Display    bool
	Details    json.RawMessage
}

// ContextEdit drops (Replacement is nil) or replaces the content of another
// entry in the context. The entry itself stays as it is.
type ContextEdit struct {
	TargetID    ID           `json:"targetId"`
	Replacement *Replacement `json:"replacement"`
}

// Replacement is the new content of an edited entry: a string or blocks.
type Replacement struct {
	Content json.RawMessage `json:"content"`
}

// Label names an entry for people; an empty one takes the name away.
type Label struct {
	TargetID ID     `json:"targetId"`
	Label    string `json:"label,omitempty"`
}

// SessionInfo names the session; an empty name takes it away.
type SessionInfo struct {
	Name string `json:"name,omitempty"`
}

// Unknown is an entry of a type that pi 1.6.0 does not have. It cannot be
// appended.
type Unknown struct {
	Type string
	Raw  json.RawMessage
}

// The EntryType methods name the entry types of the payloads.

func (MessagePayload) EntryType() string      { return TypeMessage }
func (ModelChange) EntryType() string         { return TypeModelChange }
func (ThinkingLevelChange) EntryType() string { return TypeThinkingLevel }
func (UsageRecord) EntryType() string         { return TypeUsage }
func (Compaction) EntryType() string          { return TypeCompaction }
func (BranchSummary) EntryType() string       { return TypeBranchSummary }
func (Custom) EntryType() string              { return TypeCustom }
func (CustomMessage) EntryType() string       { return TypeCustomMessage }
func (ContextEdit) EntryType() string         { return TypeContextEdit }
func (Label) EntryType() string               { return TypeLabel }
func (SessionInfo) EntryType() string         { return TypeSessionInfo }
func (u Unknown) EntryType() string           { return u.Type }

// Message wraps a message for an append.
func Message(m message.Message) MessagePayload { return MessagePayload{m} }

// decode reads the body of an entry, and keeps nothing of raw but what it returns
// as raw JSON. Fields of an unexpected type read as
// absent.
func decode(raw []byte) (Payload, error) {
	typ, body := typeAndMessage(raw)
	switch typ {
	case TypeMessage:
		if len(body) == 0 || body[0] != '{' {
			return Unknown{typ, raw}, nil
		}
		m, err := message.Decode(body)
		return MessagePayload{m}, err
	case TypeModelChange:
		return lenient[ModelChange](raw), nil
	case TypeThinkingLevel:
		return lenient[ThinkingLevelChange](raw), nil
	case TypeUsage:
		return lenient[UsageRecord](raw), nil
	case TypeCompaction:
		return lenient[Compaction](raw), nil
	case TypeBranchSummary:
		return lenient[BranchSummary](raw), nil
	case TypeCustom:
		return Custom{field(raw, "customType").String(), rawField(raw, "data")}, nil
	case TypeCustomMessage:
		c := CustomMessage{CustomType: field(raw, "customType").String(), Details: rawField(raw, "details"), Display: field(raw, "display").Bool()}
		_ = json.Unmarshal(rawField(raw, "content"), &c.Content)
		return c, nil
	case TypeContextEdit:
		return lenient[ContextEdit](raw), nil
	case TypeLabel:
		return lenient[Label](raw), nil
	case TypeSessionInfo:
		return lenient[SessionInfo](raw), nil
	default:
		return Unknown{typ, raw}, nil
	}
}

// typeAndMessage reads the two fields that most entries are decoded by, in one pass;
// of keys that repeat the last counts. Both alias the object.
func typeAndMessage(object []byte) (typ string, body []byte) {
	structure.Each(object, func(key string, v []byte) {
		switch key {
		case "type":
			typ = structure.Text(v)
		case "message":
			body = v
		}
	})
	return typ, body
}

// lenient decodes what fits: a field of the wrong type leaves the others.
func lenient[P any](raw []byte) (p P) {
	_ = structure.Unmarshal(raw, &p)
	return p
}

func rawField(object []byte, key string) json.RawMessage {
	f := field(object, key)
	if !f.Exists() {
		return nil
	}
	return json.RawMessage(f.Raw)
}

// common are the fields of every entry, in pi's order.
type common struct {
	Type      string `json:"type"`
	ID        ID     `json:"id"`
	ParentID  *ID    `json:"parentId"` // null for a root, never absent
	Timestamp string `json:"timestamp"`
}

// encode builds the line of an entry, without its line feed, in pi's key order.
func encode(p Payload, id, parent ID, at time.Time) ([]byte, error) {
	c := common{Type: p.EntryType(), ID: id, Timestamp: at.UTC().Format(TimeLayout)}
	if parent != "" {
		c.ParentID = &parent
	}
	switch p := p.(type) {
	case Custom:
		return message.Marshal(struct {
			Type       string          `json:"type"`
			CustomType string          `json:"customType"`
			Data       json.RawMessage `json:"data,omitempty"`
			ID         ID              `json:"id"`
			ParentID   *ID             `json:"parentId"`
			Timestamp  string          `json:"timestamp"`
		}{c.Type, p.CustomType, p.Data, c.ID, c.ParentID, c.Timestamp})
	case CustomMessage:
		return message.Marshal(struct {
			Type       string          `json:"type"`
			CustomType string          `json:"customType"`
			Content    message.Content `json:"content"`
			Display    bool            `json:"display"`
			Details    json.RawMessage `json:"details,omitempty"`
			ID         ID              `json:"id"`
			ParentID   *ID             `json:"parentId"`
			Timestamp  string          `json:"timestamp"`
		}{c.Type, p.CustomType, p.Content, p.Display, p.Details, c.ID, c.ParentID, c.Timestamp})
	case Unknown:
		return nil, fmt.Errorf("session: an entry of type %q is not ours to write", p.Type)
	case MessagePayload:
		if p.Message == nil {
			return nil, fmt.Errorf("session: a message entry without a message")
		}
		return appendMessage(make([]byte, 0, 256), c, p.Message)
	}
	head, err := message.Marshal(c)
	if err != nil {
		return nil, err
	}
	body, err := message.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("session: encode a %s entry: %w", c.Type, err)
	}
	if bytes.Equal(body, []byte("{}")) {
		return head, nil
	}
	// {"type":…} and {"field":…} become one object.
	return append(append(head[:len(head)-1:len(head)-1], ','), body[1:]...), nil
}

// appendMessage is encode for messages, which are nearly all that is written.
func appendMessage(out []byte, c common, m message.Message) ([]byte, error) {
	out = structure.AppendText(append(out, `{"type":`...), c.Type)
	out = structure.AppendText(append(out, `,"id":`...), string(c.ID))
	out = append(out, `,"parentId":`...)
	if c.ParentID == nil {
		out = append(out, "null"...)
	} else {
		out = structure.AppendText(out, string(*c.ParentID))
	}
	out = structure.AppendText(append(out, `,"timestamp":`...), c.Timestamp)
	out, err := message.Append(append(out, `,"message":`...), m)
	if err != nil {
		return nil, fmt.Errorf("session: encode a message entry: %w", err)
	}
	return append(out, '}'), nil
}
