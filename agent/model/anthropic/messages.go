package anthropic

import (
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/piweb-go/piweb/agent/model/wire"
	"github.com/piweb-go/piweb/message"
)

// maxCallID is what the wire allows for the id of a call, in characters; it takes
// letters, digits, "_" and "-".
const maxCallID = 64

// messages turns a conversation into the wire's. Results of one turn, and a user
// message behind them, become one user message, because servers want the roles
// to alternate. Messages of other roles than user, assistant and toolResult,
// blocks of unknown type, and texts of blanks alone, which the wire refuses, are
// left out.
func (c *client) messages(list []message.Message) []anthropic.MessageParam {
	var out []anthropic.MessageParam
	user := func(blocks []anthropic.ContentBlockParamUnion) {
		switch n := len(out); {
		case len(blocks) == 0:
		case n > 0 && out[n-1].OfUser != nil:
			out[n-1].OfUser.Content = append(out[n-1].OfUser.Content, blocks...)
		default:
			out = append(out, anthropic.NewUserMessage(blocks...))
		}
	}
	for _, m := range list {
		switch m := m.(type) {
		case *message.User:
			user(c.user(m.Content))
		case *message.Assistant:
			if blocks := c.assistant(m); len(blocks) > 0 {
				out = append(out, anthropic.NewAssistantMessage(blocks...))
			}
		case *message.ToolResult:
			user([]anthropic.ContentBlockParamUnion{c.toolResult(m)})
		}
	}
	c.markLast(out)
	return out
}

// markLast puts a breakpoint of the cache at the end of the last user message.
func (c *client) markLast(list []anthropic.MessageParam) {
	if !c.habits.cache || len(list) == 0 || list[len(list)-1].OfUser == nil {
		return
	}
	content := list[len(list)-1].OfUser.Content
	if control := content[len(content)-1].GetCacheControl(); control != nil {
		*control = c.habits.mark(true)
	}
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

func (c *client) user(content message.Content) []anthropic.ContentBlockParamUnion {
	var out []anthropic.ContentBlockParamUnion
	note := ""
	for _, b := range content {
		switch b.Type {
		case message.TypeText:
			if !blank(b.Text) {
				out, note = append(out, anthropic.NewTextBlock(wire.Valid(b.Text))), ""
			}
		case message.TypeImage:
			if picture, instead := c.picture(b); picture != nil {
				out, note = append(out, anthropic.ContentBlockParamUnion{OfImage: picture}), ""
			} else if instead != note { // one note for pictures in a row
				out, note = append(out, anthropic.NewTextBlock(instead)), instead
			}
		}
	}
	return out
}

func (c *client) assistant(m *message.Assistant) []anthropic.ContentBlockParamUnion {
	var out []anthropic.ContentBlockParamUnion
	own := m.API == API && m.Provider == c.Endpoint.Info.Provider && m.Model == c.Endpoint.Info.ID
	for _, b := range m.Content {
		switch b.Type {
		case message.TypeText:
			if !blank(b.Text) {
				out = append(out, anthropic.NewTextBlock(wire.Valid(b.Text)))
			}
		case message.TypeThinking:
			// A thought without a signature was cut; one of another model is not
			// believed.
			switch {
			case !own || b.ThinkingSignature == "":
			case b.Redacted:
				out = append(out, anthropic.NewRedactedThinkingBlock(b.ThinkingSignature))
			default:
				out = append(out, anthropic.NewThinkingBlock(b.ThinkingSignature, wire.Valid(b.Thinking)))
			}
		case message.TypeToolCall:
			out = append(out, anthropic.NewToolUseBlock(
				wire.PlainID(b.ID, maxCallID), wire.Arguments(b.Arguments), wire.Valid(b.Name)))
		}
	}
	if len(out) > 0 && onlyThoughts(out) {
		return nil // a message of thoughts alone is refused
	}
	return out
}

func onlyThoughts(blocks []anthropic.ContentBlockParamUnion) bool {
	for _, b := range blocks {
		if b.OfThinking == nil && b.OfRedactedThinking == nil {
			return false
		}
	}
	return true
}

func (c *client) toolResult(m *message.ToolResult) anthropic.ContentBlockParamUnion {
	result := &anthropic.ToolResultBlockParam{ToolUseID: wire.PlainID(m.ToolCallID, maxCallID)}
	if m.IsError {
		result.IsError = anthropic.Bool(true)
	}
	text := func(s string) {
		result.Content = append(result.Content, anthropic.ToolResultBlockParamContentUnion{OfText: &anthropic.TextBlockParam{Text: s}})
	}
	note := ""
	for _, b := range m.Content {
		switch b.Type {
		case message.TypeText:
			if !blank(b.Text) {
				text(wire.Valid(b.Text))
				note = ""
			}
		case message.TypeImage:
			if picture, instead := c.picture(b); picture != nil {
				result.Content = append(result.Content, anthropic.ToolResultBlockParamContentUnion{OfImage: picture})
				note = ""
			} else if instead != note {
				text(instead)
				note = instead
			}
		}
	}
	if len(result.Content) == 0 {
		text(wire.NoOutput(0))
	}
	return anthropic.ContentBlockParamUnion{OfToolResult: result}
}

// picture is the block of a picture, or the text that stands for one that cannot
// be sent. It is the only place that makes one, for user messages and for tool
// results.
func (c *client) picture(b message.Block) (block *anthropic.ImageBlockParam, instead string) {
	if instead := wire.Instead(b, c.Endpoint.Info.Images); instead != "" {
		return nil, instead
	}
	return anthropic.NewImageBlockBase64(b.MimeType, b.Data).OfImage, ""
}
