package message

import (
	"encoding/json"
	"fmt"
	"strings"
)

// ContentOf returns the content of a message of any role that has one.
func ContentOf(m Message) Content {
	switch m := m.(type) {
	case *System:
		return Content{Text(string(m.Content))}
	case *User:
		return m.Content
	case *Assistant:
		return m.Content
	case *ToolResult:
		return m.Content
	case *Custom:
		return m.Content
	case *Unknown:
		var u struct{ Content Content }
		_ = json.Unmarshal(m.Raw, &u)
		return u.Content
	}
	return nil
}

// Describe renders what a message says as text, for people and for comparing:
// text as it is, a summary's text, a command and its output, and everything else
// as a mark that names it.
func Describe(m Message) string {
	switch m := m.(type) {
	case *BashExecution:
		return "$ " + m.Command + "\n" + m.Output
	case *BranchSummary:
		return m.Summary
	case *CompactionSummary:
		return m.Summary
	}
	var b strings.Builder
	for _, block := range ContentOf(m) {
		switch block.Type {
		case TypeText:
			b.WriteString(block.Text)
		case TypeThinking:
			b.WriteString("<thinking>" + block.Thinking + "</thinking>")
		case TypeToolCall:
			b.WriteString("<toolCall " + block.ID + " " + block.Name + " " + string(block.Arguments) + ">")
		case TypeImage:
			fmt.Fprintf(&b, "<image %s %d>", block.MimeType, len(block.Data))
		default:
			b.WriteString("<" + block.Type + ">")
		}
	}
	return b.String()
}
