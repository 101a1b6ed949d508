package openai

import (
	"encoding/json"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model/wire"
	"github.com/piweb-go/piweb/message"
)

// maxItemID is what the wire allows for the ids of calls and items, in characters.
const maxItemID = 64

type inputItem = responses.ResponseInputItemUnionParam

// input turns the head and a conversation into the wire's items. Messages of
// other roles than user, assistant and toolResult, blocks of unknown type and
// messages without content are left out.
func (c *responder) input(req agent.Request) ([]inputItem, error) {
	var out []inputItem
	if len(req.Head) > 0 {
		head, err := wire.Head(req.Head)
		if err != nil {
			return nil, err
		}
		role := responses.EasyInputMessageRoleSystem
		if c.developer {
			role = responses.EasyInputMessageRoleDeveloper
		}
		out = append(out, responses.ResponseInputItemParamOfMessage(head, role))
	}
	for _, m := range req.Messages {
		switch m := m.(type) {
		case *message.User:
			if parts := c.user(m.Content); len(parts) > 0 {
				out = append(out, responses.ResponseInputItemParamOfMessage(parts, responses.EasyInputMessageRoleUser))
			}
		case *message.Assistant:
			out = append(out, c.assistant(m)...)
		case *message.ToolResult:
			out = append(out, c.toolResult(m))
		}
	}
	return out, nil
}

func (c *responder) user(content message.Content) responses.ResponseInputMessageContentListParam {
	var parts responses.ResponseInputMessageContentListParam
	text := func(s string) {
		parts = append(parts, responses.ResponseInputContentParamOfInputText(s))
	}
	note := ""
	for _, b := range content {
		switch b.Type {
		case message.TypeText:
			if b.Text != "" {
				text(wire.Valid(b.Text))
				note = ""
			}
		case message.TypeImage:
			if instead := wire.Instead(b, c.Endpoint.Info.Images); instead == "" {
				parts = append(parts, responses.ResponseInputContentUnionParam{OfInputImage: &responses.ResponseInputImageParam{
					Detail: responses.ResponseInputImageDetailAuto, ImageURL: openai.String(dataURL(b)),
				}})
				note = ""
			} else if instead != note { // one note for pictures in a row
				text(instead)
				note = instead
			}
		}
	}
	return parts
}

func dataURL(b message.Block) string { return "data:" + b.MimeType + ";base64," + b.Data }

// assistant gives every block its item. Thoughts go back as the items that came,
// and only to the very same model; the ids of its items go back with them,
// because the provider pairs the ones with the others.
func (c *responder) assistant(m *message.Assistant) []inputItem {
	var out []inputItem
	info := c.Endpoint.Info
	own := m.API == ResponsesAPI && m.Provider == info.Provider && m.Model == info.ID
	for _, b := range m.Content {
		switch b.Type {
		case message.TypeText:
			if strings.TrimSpace(b.Text) != "" {
				out = append(out, outputText(b, own))
			}
		case message.TypeThinking:
			if own && isReasoning(b.ThinkingSignature) {
				raw := wire.ValidJSON([]byte(b.ThinkingSignature))
				out = append(out, param.Override[inputItem](json.RawMessage(raw)))
			}
		case message.TypeToolCall:
			call, item := callIDs(b.ID)
			f := &responses.ResponseFunctionToolCallParam{
				CallID: call, Name: wire.Valid(b.Name), Arguments: string(wire.Arguments(b.Arguments)),
			}
			if own && item != "" {
				f.ID = openai.String(item)
			}
			out = append(out, inputItem{OfFunctionCall: f})
		}
	}
	if own && len(out) > 0 && onlyReasoning(m.Content) {
		return nil // a thought that nothing follows is refused
	}
	return out
}

func onlyReasoning(content message.Content) bool {
	for _, b := range content {
		if b.Type == message.TypeToolCall || b.Type == message.TypeText && strings.TrimSpace(b.Text) != "" {
			return false
		}
	}
	return true
}

func isReasoning(signature string) bool {
	var item struct{ Type string }
	return json.Unmarshal([]byte(signature), &item) == nil && item.Type == "reasoning"
}

// textSignature is how pi keeps the id of a message item.
type textSignature struct {
	V     int    `json:"v"`
	ID    string `json:"id"`
	Phase string `json:"phase,omitempty"`
}

// outputText is a text as the message item that it was. A text of another model
// goes out without an id.
func outputText(b message.Block, own bool) inputItem {
	var s textSignature
	if own && b.TextSignature != "" && json.Unmarshal([]byte(b.TextSignature), &s) != nil {
		s = textSignature{ID: b.TextSignature} // older files hold the bare id
	}
	if s.ID == "" {
		easy := &responses.EasyInputMessageParam{Role: responses.EasyInputMessageRoleAssistant}
		easy.Content.OfString = openai.String(wire.Valid(b.Text))
		return inputItem{OfMessage: easy}
	}
	return inputItem{OfOutputMessage: &responses.ResponseOutputMessageParam{
		ID: wire.PlainID(s.ID, maxItemID), Status: responses.ResponseOutputMessageStatusCompleted, Phase: responses.ResponseOutputMessagePhase(s.Phase),
		Content: []responses.ResponseOutputMessageContentUnionParam{{OfOutputText: &responses.ResponseOutputTextParam{
			Text: wire.Valid(b.Text), Annotations: []responses.ResponseOutputTextAnnotationUnionParam{},
		}}},
	}}
}

// callIDs splits the id of a call as pi keeps it: that of the call and that of
// its item, joined by a bar. Ids of other wires are made to fit.
func callIDs(id string) (call, item string) {
	call, item, _ = strings.Cut(id, "|")
	return wire.PlainID(call, maxItemID), wire.PlainID(item, maxItemID)
}

// toolResult puts text and pictures into the output of a call. Text alone goes
// out as a string, which every server reads.
func (c *responder) toolResult(m *message.ToolResult) inputItem {
	var parts responses.ResponseFunctionCallOutputItemListParam
	var lines []string
	pictures := 0
	text := func(s string) {
		lines = append(lines, s)
		parts = append(parts, responses.ResponseFunctionCallOutputItemParamOfInputText(s))
	}
	for _, b := range m.Content {
		switch b.Type {
		case message.TypeText:
			if b.Text != "" {
				text(wire.Valid(b.Text))
			}
		case message.TypeImage:
			if instead := wire.Instead(b, c.Endpoint.Info.Images); instead == "" {
				pictures++
				parts = append(parts, responses.ResponseFunctionCallOutputItemUnionParam{OfInputImage: &responses.ResponseInputImageContentParam{
					Detail: responses.ResponseInputImageContentDetailAuto, ImageURL: openai.String(dataURL(b)),
				}})
			} else if len(lines) == 0 || lines[len(lines)-1] != instead {
				text(instead)
			}
		}
	}
	call, _ := callIDs(m.ToolCallID)
	out := &responses.ResponseInputItemFunctionCallOutputParam{CallID: openai.String(call)}
	switch {
	case pictures > 0:
		out.Output.OfResponseFunctionCallOutputItemArray = parts
	case len(lines) == 0:
		out.Output.OfString = openai.String(wire.NoOutput(0))
	default:
		out.Output.OfString = openai.String(strings.Join(lines, "\n"))
	}
	return inputItem{OfFunctionCallOutput: out}
}
