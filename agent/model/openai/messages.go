package openai

import (
	_ "embed"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/piweb-go/piweb/agent/model/wire"
	"github.com/piweb-go/piweb/message"
)

// proseBridge stands between a result and a user message for servers that want an
// answer there.
//
//go:embed prose/bridge.md
var proseBridge string

// conversation collects the messages of a request. Pictures of tool results wait
// until the run of results ends, because the wire wants the results of one turn
// without anything between them (spec/media-memory.md §1.5).
type conversation struct {
	client  *client
	out     []openai.ChatCompletionMessageParamUnion
	lifted  []liftedPicture
	wasTool bool // the last message is a tool result
}

type liftedPicture struct {
	tool, id string
	picture  message.Block
}

// messages turns a conversation into the wire's. Messages of other roles than
// user, assistant and toolResult, blocks of unknown type and messages without
// content are left out.
func (c *client) messages(list []message.Message) []openai.ChatCompletionMessageParamUnion {
	conv := &conversation{client: c}
	for _, m := range list {
		switch m := m.(type) {
		case *message.User:
			conv.flush()
			conv.user(m.Content)
		case *message.Assistant:
			conv.flush()
			conv.assistant(m)
		case *message.ToolResult:
			conv.toolResult(m)
		}
	}
	conv.flush()
	return conv.out
}

func (v *conversation) add(m openai.ChatCompletionMessageParamUnion) {
	v.wasTool = m.OfTool != nil
	v.out = append(v.out, m)
}

// addUser adds parts as a user message, with the message between that some
// servers need behind a tool result.
func (v *conversation) addUser(parts []openai.ChatCompletionContentPartUnionParam) {
	if v.wasTool && v.client.dialect.bridge {
		v.add(openai.AssistantMessage(wire.Line(proseBridge)))
	}
	v.add(openai.UserMessage(parts))
}

func (v *conversation) user(content message.Content) {
	var parts []openai.ChatCompletionContentPartUnionParam
	note := ""
	for _, b := range content {
		switch b.Type {
		case message.TypeText:
			if b.Text != "" {
				parts, note = append(parts, openai.TextContentPart(wire.Valid(b.Text))), ""
			}
		case message.TypeImage:
			instead := v.instead(b)
			if instead == "" {
				parts, note = append(parts, picturePart(b)), ""
			} else if instead != note { // one note for pictures in a row
				parts, note = append(parts, openai.TextContentPart(instead)), instead
			}
		}
	}
	if len(parts) > 0 {
		v.addUser(parts)
	}
}

func (v *conversation) assistant(m *message.Assistant) {
	var text, thinking strings.Builder
	var calls []openai.ChatCompletionMessageToolCallUnionParam
	for _, b := range m.Content {
		switch b.Type {
		case message.TypeText:
			text.WriteString(wire.Valid(b.Text))
		case message.TypeThinking:
			if !b.Redacted && strings.TrimSpace(b.Thinking) != "" {
				if thinking.Len() > 0 {
					thinking.WriteByte('\n')
				}
				thinking.WriteString(wire.Valid(b.Thinking))
			}
		case message.TypeToolCall:
			calls = append(calls, v.call(b))
		}
	}
	p := openai.ChatCompletionAssistantMessageParam{ToolCalls: calls}
	switch {
	case strings.TrimSpace(text.String()) != "":
		p.Content.OfString = openai.String(text.String())
	case len(calls) == 0:
		return // nothing that the wire could carry
	case v.client.dialect.bridge:
		p.Content.OfString = openai.String("") // these servers take no null either
	default:
		p.Content = param.NullStruct[openai.ChatCompletionAssistantMessageParamContentUnion]()
	}
	if thought := v.replay(m, thinking.String()); thought != "" || v.client.dialect.emptyReasoning {
		p.SetExtraFields(map[string]any{"reasoning_content": thought})
	}
	v.add(openai.ChatCompletionMessageParamUnion{OfAssistant: &p})
}

// replay is the thinking that goes back: only that of the very same model, and
// only where the server asks for it.
func (v *conversation) replay(m *message.Assistant, thinking string) string {
	info := v.client.info
	if !v.client.dialect.thinking.replays() || m.API != info.API || m.Provider != info.Provider || m.Model != info.ID {
		return ""
	}
	return thinking
}

func (v *conversation) call(b message.Block) openai.ChatCompletionMessageToolCallUnionParam {
	arguments := string(wire.ValidJSON(b.Arguments))
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	return openai.ChatCompletionMessageToolCallUnionParam{OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
		ID: v.client.dialect.callID(b.ID),
		Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{
			Name: wire.Valid(b.Name), Arguments: arguments,
		},
	}}
}

func (v *conversation) toolResult(m *message.ToolResult) {
	var lines []string
	pictures := 0
	for _, b := range m.Content {
		switch b.Type {
		case message.TypeText:
			lines = append(lines, wire.Valid(b.Text))
		case message.TypeImage:
			if instead := v.instead(b); instead != "" {
				if len(lines) == 0 || lines[len(lines)-1] != instead {
					lines = append(lines, instead)
				}
				continue
			}
			pictures++
			v.lifted = append(v.lifted, liftedPicture{tool: m.ToolName, id: m.ToolCallID, picture: b})
		}
	}
	text := strings.Join(lines, "\n")
	if text == "" {
		text = wire.NoOutput(pictures)
	}
	p := openai.ToolMessage(text, v.client.dialect.callID(m.ToolCallID))
	if v.client.dialect.toolResultName && m.ToolName != "" {
		p.OfTool.SetExtraFields(map[string]any{"name": wire.Valid(m.ToolName)})
	}
	v.add(p)
}

// flush sends the pictures of a run of tool results, in the order of the calls.
// One picture stands without a label, several each have theirs.
func (v *conversation) flush() {
	if len(v.lifted) == 0 {
		return
	}
	parts := []openai.ChatCompletionContentPartUnionParam{openai.TextContentPart(wire.Attached())}
	for _, l := range v.lifted {
		if len(v.lifted) > 1 {
			parts = append(parts, openai.TextContentPart(wire.AttachedLabel(l.tool, l.id)))
		}
		parts = append(parts, picturePart(l.picture))
	}
	v.lifted = nil
	v.addUser(parts)
}

func (v *conversation) instead(b message.Block) string {
	return wire.Instead(b, v.client.info.Images)
}

func picturePart(b message.Block) openai.ChatCompletionContentPartUnionParam {
	return openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{
		URL: "data:" + b.MimeType + ";base64," + b.Data,
	})
}

// maxCallID is what OpenAI allows for the id of a call, in characters.
const maxCallID = 40

// callID makes an id of another wire fit this one. The ids of the Responses wire
// join two ids with a bar. Most ids pass unchanged, and one id always becomes the
// same one, so that calls and results still meet.
func (d dialect) callID(id string) string {
	foreign := strings.Contains(id, "|")
	if !foreign && !(d.shortIDs && len(id) > maxCallID) {
		return wire.Valid(id)
	}
	return wire.PlainID(id, maxCallID)
}
