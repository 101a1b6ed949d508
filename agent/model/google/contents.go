package google

import (
	"encoding/base64"
	"strings"

	"github.com/piweb-go/piweb/agent/model/wire"
	"github.com/piweb-go/piweb/message"
)

// unsigned marks a call that has no signature, for a model that insists on one:
// calls of another model in the history have none (pi does the same).
const unsigned = "skip_thought_signature_validator"

// conversation collects the contents of a request. Results of one turn stand in
// one content. Where they take no pictures, those wait until the run of results
// ends.
type conversation struct {
	client *client
	out    []*content
	run    bool // the last content holds results
	lifted []liftedPicture
}

type liftedPicture struct {
	tool, id string
	picture  part
}

// contents turns a conversation into the wire's. Messages of other roles than
// user, assistant and toolResult, blocks of unknown type and messages without
// content are left out.
func (c *client) contents(list []message.Message) []*content {
	v := &conversation{client: c}
	for _, m := range list {
		switch m := m.(type) {
		case *message.User:
			v.flush()
			v.add("user", v.user(m.Content))
		case *message.Assistant:
			v.flush()
			v.add("model", v.assistant(m))
		case *message.ToolResult:
			v.toolResult(m)
		}
	}
	v.flush()
	return v.out
}

func (v *conversation) add(role string, parts []part) {
	if len(parts) > 0 {
		v.out = append(v.out, &content{Role: role, Parts: parts})
		v.run = false
	}
}

func text(s string) part { return part{Text: &s} }

// picture is the part of a picture, or the text that stands for one that cannot
// be sent.
func (v *conversation) picture(b message.Block) (p part, instead string) {
	if instead := wire.Instead(b, v.client.Endpoint.Info.Images); instead != "" {
		return part{}, instead
	}
	return part{Inline: &blob{MimeType: b.MimeType, Data: b.Data}}, ""
}

func (v *conversation) user(blocks message.Content) []part {
	var parts []part
	note := ""
	for _, b := range blocks {
		switch b.Type {
		case message.TypeText:
			if b.Text != "" {
				parts, note = append(parts, text(wire.Valid(b.Text))), ""
			}
		case message.TypeImage:
			if p, instead := v.picture(b); instead == "" {
				parts, note = append(parts, p), ""
			} else if instead != note { // one note for pictures in a row
				parts, note = append(parts, text(instead)), instead
			}
		}
	}
	return parts
}

// assistant gives every block its part. Signatures go back to the very same model
// only.
func (v *conversation) assistant(m *message.Assistant) []part {
	info := v.client.Endpoint.Info
	own := m.API == API && m.Provider == info.Provider && m.Model == info.ID
	signature := func(s string) string {
		if _, err := base64.StdEncoding.DecodeString(s); !own || err != nil {
			return ""
		}
		return s
	}
	var parts []part
	spoken := false
	for _, b := range m.Content {
		switch b.Type {
		case message.TypeText:
			if strings.TrimSpace(b.Text) != "" {
				p := text(wire.Valid(b.Text))
				p.Signature = signature(b.TextSignature)
				parts, spoken = append(parts, p), true
			}
		case message.TypeThinking:
			if own && strings.TrimSpace(b.Thinking) != "" {
				p := text(wire.Valid(b.Thinking))
				p.Thought, p.Signature = true, signature(b.ThinkingSignature)
				parts = append(parts, p)
			}
		case message.TypeToolCall:
			p := part{Call: &functionCall{Name: wire.Valid(b.Name), Args: wire.Arguments(b.Arguments)}, Signature: signature(b.ThoughtSignature)}
			if p.Signature == "" && v.client.habits.generation >= 3 {
				p.Signature = unsigned
			}
			parts, spoken = append(parts, p), true
		}
	}
	if !spoken {
		return nil // thoughts alone are no answer
	}
	return parts
}

func (v *conversation) toolResult(m *message.ToolResult) {
	var lines []string
	var pictures []part
	for _, b := range m.Content {
		switch b.Type {
		case message.TypeText:
			if b.Text != "" {
				lines = append(lines, wire.Valid(b.Text))
			}
		case message.TypeImage:
			if p, instead := v.picture(b); instead == "" {
				pictures = append(pictures, p)
			} else if len(lines) == 0 || lines[len(lines)-1] != instead {
				lines = append(lines, instead)
			}
		}
	}
	said := strings.Join(lines, "\n")
	r := &functionResponse{Name: wire.Valid(m.ToolName)}
	if v.client.habits.pictureResults {
		r.Parts = pictures
	} else {
		for _, p := range pictures {
			v.lifted = append(v.lifted, liftedPicture{m.ToolName, m.ToolCallID, p})
		}
	}
	if said == "" {
		said = wire.NoOutput(len(pictures))
	}
	if m.IsError {
		r.Response.Error = &said
	} else {
		r.Response.Output = &said
	}
	if !v.run {
		v.out = append(v.out, &content{Role: "user"})
		v.run = true
	}
	last := v.out[len(v.out)-1]
	last.Parts = append(last.Parts, part{Response: r})
}

// flush sends the pictures of a run of results behind it. One picture stands
// without a label, several each have theirs.
func (v *conversation) flush() {
	if len(v.lifted) == 0 {
		return
	}
	parts := []part{text(wire.Attached())}
	for _, l := range v.lifted {
		if len(v.lifted) > 1 {
			parts = append(parts, text(wire.AttachedLabel(l.tool, l.id)))
		}
		parts = append(parts, l.picture)
	}
	v.lifted = nil
	v.add("user", parts)
}
