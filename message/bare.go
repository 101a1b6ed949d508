package message

import "github.com/piweb-go/piweb/internal/structure"

// Bare reads a message as [Decode] does, and leaves out what it says. What is left is
// what it is: its role, the kinds of its blocks and whether a text among them is
// empty, the ids of its calls, the call that it answers, the model, why it ended.
// A text that is not empty reads as one space. It costs no copy of a text or a
// picture, so a long conversation can be counted without being decoded.
//
// data must be JSON; where it is no object, Bare is nil. TestBareAgainstDecode holds
// it against Decode.
func Bare(data []byte) Message {
	if at := structure.Space(data, 0); at == len(data) || data[at] != '{' {
		return nil
	}
	switch role := Role(text(structure.Get(data, "role"))); role {
	case RoleUser:
		m := &User{}
		structure.Each(data, func(key string, v []byte) {
			if key == "content" {
				m.Content = bareContent(v)
			}
		})
		return m
	case RoleAssistant:
		return bareAssistant(data)
	case RoleToolResult:
		m := &ToolResult{}
		structure.Each(data, func(key string, v []byte) {
			switch key {
			case "toolCallId":
				m.ToolCallID = text(v)
			case "content":
				m.Content = bareContent(v)
			}
		})
		return m
	case RoleSystem:
		return &System{}
	case RoleBashExecution:
		return &BashExecution{ExcludeFromContext: lenient(data, &BashExecution{}).ExcludeFromContext}
	case RoleCustom:
		return &Custom{Content: lenient(data, &Custom{}).Content.bare()}
	case RoleBranchSummary:
		return &BranchSummary{}
	case RoleCompactionSummary:
		return &CompactionSummary{}
	default:
		return &Unknown{Kind: role}
	}
}

func bareAssistant(data []byte) *Assistant {
	m := &Assistant{}
	structure.Each(data, func(key string, v []byte) {
		switch key {
		case "content":
			m.Content = bareContent(v)
		case "api":
			m.API = text(v)
		case "provider":
			m.Provider = text(v)
		case "model":
			m.Model = text(v)
		case "stopReason":
			m.StopReason = StopReason(text(v))
		}
	})
	return m
}

func bareContent(v []byte) Content { return contentOf(v, bareText, bareBlock) }

func bareBlock(v []byte) Block {
	var b Block
	structure.Each(v, func(key string, v []byte) {
		switch key {
		case "type":
			b.Type = usualType(structure.Text(v))
		case "text":
			b.Text = bareText(v)
		case "id":
			b.ID = text(v)
		}
	})
	return b.bare()
}

// bareText is a space for a string that is not empty.
func bareText(v []byte) string {
	if v[0] == '"' && len(v) > 2 {
		return " "
	}
	return ""
}

// usualType shares the names of the usual blocks.
func usualType(t string) string {
	for _, known := range [...]string{TypeText, TypeToolCall, TypeThinking, TypeImage} {
		if t == known {
			return known
		}
	}
	return string([]byte(t))
}

// bare leaves of a block what Bare leaves of it: ids belong to calls, texts to texts.
func (b Block) bare() Block {
	out := Block{Type: b.Type}
	switch {
	case b.Type == TypeToolCall:
		out.ID = b.ID
	case b.Type == TypeText && b.Text != "":
		out.Text = " "
	}
	return out
}

func (c Content) bare() Content {
	if c == nil {
		return nil
	}
	out := make(Content, len(c))
	for i, b := range c {
		out[i] = b.bare()
	}
	return out
}
