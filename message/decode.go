package message

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/piweb-go/piweb/internal/structure"
)

// Reading is lenient: a field of an unexpected type reads as absent, because one odd
// field of another writer must not hide a conversation. Keys are taken to the letter
// and the last of those that repeat counts, as in JSON.parse. What is read at every
// turn is read by hand, in one pass over each level; TestDecodeAgainstSlow holds it
// against a decoder that is not.

// Decode reads a message. It fails only where data is not a JSON object.
func Decode(data []byte) (Message, error) {
	data = bytes.TrimSpace(data)
	if !structure.Valid(data) || data[0] != '{' {
		var object map[string]json.RawMessage
		err := json.Unmarshal(data, &object) // says what is wrong with it
		if err == nil {
			err = fmt.Errorf("null, or nested too deeply")
		}
		return nil, fmt.Errorf("message: not a JSON object: %w", err)
	}
	switch role := Role(text(structure.Get(data, "role"))); role {
	case RoleUser:
		return decodeUser(data), nil
	case RoleAssistant:
		return decodeAssistant(data), nil
	case RoleToolResult:
		return decodeToolResult(data), nil
	case RoleSystem:
		return lenient(data, &System{}), nil
	case RoleBashExecution:
		return lenient(data, &BashExecution{}), nil
	case RoleCustom:
		return lenient(data, &Custom{}), nil
	case RoleBranchSummary:
		return lenient(data, &BranchSummary{}), nil
	case RoleCompactionSummary:
		return lenient(data, &CompactionSummary{}), nil
	default:
		return &Unknown{Kind: role, Raw: bytes.Clone(data)}, nil
	}
}

// lenient decodes what fits: encoding/json goes on after a field of the wrong
// type and reports the first one at the end.
func lenient[M any](data []byte, m *M) *M {
	_ = structure.Unmarshal(data, m)
	return m
}

func decodeUser(data []byte) *User {
	m := &User{}
	structure.Each(data, func(key string, v []byte) {
		switch key {
		case "content":
			m.Content = decodeContent(v)
		case "timestamp":
			m.Timestamp = number(v)
		}
	})
	return m
}

func decodeAssistant(data []byte) *Assistant {
	m := &Assistant{}
	structure.Each(data, func(key string, v []byte) {
		switch key {
		case "content":
			m.Content = decodeContent(v)
		case "api":
			m.API = text(v)
		case "provider":
			m.Provider = text(v)
		case "model":
			m.Model = text(v)
		case "responseModel":
			m.ResponseModel = text(v)
		case "responseId":
			m.ResponseID = text(v)
		case "thinkingLevel":
			m.ThinkingLevel = text(v)
		case "diagnostics":
			m.Diagnostics = bytes.Clone(v)
		case "usage":
			m.Usage = decodeUsage(v)
		case "stopReason":
			m.StopReason = StopReason(text(v))
		case "errorMessage":
			m.ErrorMessage = text(v)
		case "rawStopReason":
			m.RawStopReason = text(v)
		case "timestamp":
			m.Timestamp = number(v)
		case "durationMs":
			m.DurationMs = number(v)
		}
	})
	return m
}

func decodeToolResult(data []byte) *ToolResult {
	m := &ToolResult{}
	structure.Each(data, func(key string, v []byte) {
		switch key {
		case "toolCallId":
			m.ToolCallID = text(v)
		case "toolName":
			m.ToolName = text(v)
		case "content":
			m.Content = decodeContent(v)
		case "details":
			m.Details = bytes.Clone(v)
		case "isError":
			m.IsError = isTrue(v)
		case "timestamp":
			m.Timestamp = number(v)
		case "durationMs":
			m.DurationMs = number(v)
		}
	})
	return m
}

func decodeUsage(v []byte) (u Usage) {
	structure.Each(v, func(key string, v []byte) {
		switch key {
		case "input":
			u.Input = number(v)
		case "output":
			u.Output = number(v)
		case "cacheRead":
			u.CacheRead = number(v)
		case "cacheWrite":
			u.CacheWrite = number(v)
		case "cacheWrite1h":
			u.CacheWrite1h = number(v)
		case "reasoning":
			u.Reasoning = number(v)
		case "totalTokens":
			u.TotalTokens = number(v)
		case "cost":
			u.Cost = decodeCost(v)
		}
	})
	return u
}

func decodeCost(v []byte) (c Cost) {
	structure.Each(v, func(key string, v []byte) {
		switch key {
		case "input":
			c.Input = float(v)
		case "output":
			c.Output = float(v)
		case "cacheRead":
			c.CacheRead = float(v)
		case "cacheWrite":
			c.CacheWrite = float(v)
		case "total":
			c.Total = float(v)
		}
	})
	return c
}

// decodeContent reads a string, an array of blocks, or null; any other shape holds
// nothing that we could show.
func decodeContent(v []byte) Content { return contentOf(v, text, decodeBlock) }

// contentOf is the shape of every content; said and block read its parts.
func contentOf(v []byte, said func([]byte) string, block func([]byte) Block) Content {
	switch v[0] {
	case '"':
		return Content{Text(said(v))}
	case '[':
		c := Content{}
		structure.Items(v, func(item []byte) { c = append(c, block(item)) })
		return c
	}
	return nil
}

// decodeBlock reads one block and keeps its bytes. A scalar or an array where a block
// should be is kept, without a type.
func decodeBlock(v []byte) Block {
	b := Block{Raw: bytes.Clone(v)}
	structure.Each(v, func(key string, v []byte) {
		switch key {
		case "type":
			b.Type = text(v)
		case "text":
			b.Text = text(v)
		case "textSignature":
			b.TextSignature = text(v)
		case "thinking":
			b.Thinking = text(v)
		case "thinkingSignature":
			b.ThinkingSignature = text(v)
		case "redacted":
			b.Redacted = isTrue(v)
		case "id":
			b.ID = text(v)
		case "name":
			b.Name = text(v)
		case "arguments":
			b.Arguments = nil
			if v[0] == '{' {
				b.Arguments = bytes.Clone(v)
			}
		case "thoughtSignature":
			b.ThoughtSignature = text(v)
		case "namespace":
			b.Namespace = text(v)
		case "argumentsError":
			b.ArgumentsError = text(v)
		case "data":
			b.Data = text(v)
		case "mimeType":
			b.MimeType = text(v)
		}
	})
	if b.Type == TypeToolCall && b.Arguments == nil {
		b.Arguments = json.RawMessage("{}")
	}
	return b
}

// UnmarshalJSON reads one block and keeps its bytes. A field of the wrong type
// is left empty: the block still has its place and its bytes.
func (b *Block) UnmarshalJSON(data []byte) error {
	*b = decodeBlock(data)
	return nil
}

// UnmarshalJSON reads a string, an array of blocks, or null.
func (c *Content) UnmarshalJSON(data []byte) error {
	*c = nil
	if data = bytes.TrimSpace(data); len(data) > 0 {
		*c = decodeContent(data)
	}
	return nil
}

// text is the value of a JSON string, and "" for any other value.
func text(v []byte) string { return strings.Clone(structure.Text(v)) }

// number is the value of an integer, and 0 for any other value.
func number(v []byte) int64 {
	n, err := strconv.ParseInt(structure.Alias(v), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func float(v []byte) float64 {
	f, err := strconv.ParseFloat(structure.Alias(v), 64)
	if err != nil {
		return 0
	}
	return f
}

func isTrue(v []byte) bool { return string(v) == "true" }
