package message

import (
	"bytes"
	"encoding/json"
	"strings"
)

// System is pi's record of prompt and tools: text that stays at the head,
// named sections that later messages patch, and the tools declared or
// withdrawn. piweb writes it so that stock pi resumes with the same tools; its
// text never joins the head of a request under an exact prompt.
type System struct {
	Content      SystemText        `json:"content"`
	Sections     *Sections         `json:"sections,omitempty"`
	ToolsAdded   []ToolDeclaration `json:"toolsAdded,omitempty"`
	ToolsRemoved []ToolName        `json:"toolsRemoved,omitempty"`
	// Writer is Piweb on what we write, so that our own echo of a policy is never
	// taken for a declaration that decides one. pi keeps and ignores the field.
	Writer    string `json:"writer,omitempty"`
	Timestamp int64  `json:"timestamp"` // Unix milliseconds
}

// Piweb is the writer of our own system messages.
const Piweb = "piweb"

// MarshalJSON writes the message as pi stores it.
func (m *System) MarshalJSON() ([]byte, error) {
	type plain System
	return withRole(RoleSystem, (*plain)(m))
}

// SystemText is the content of a system message: a string on disk, or text
// blocks joined by line feeds.
type SystemText string

// UnmarshalJSON reads a string, text blocks or null.
func (t *SystemText) UnmarshalJSON(data []byte) error {
	var c Content
	if err := c.UnmarshalJSON(data); err != nil {
		return err
	}
	*t = SystemText(c.PlainText())
	return nil
}

// ToolDeclaration is what a model is told of a tool.
type ToolDeclaration struct {
	Name                string          `json:"name"`
	Description         string          `json:"description"`
	Parameters          json.RawMessage `json:"parameters"` // a JSON Schema
	ConstrainedSampling json.RawMessage `json:"constrainedSampling,omitempty"`
}

// ToolName names a withdrawn tool.
type ToolName struct {
	Name string `json:"name"`
}

// Section is one named part of the prompt. A nil Text withdraws it.
type Section struct {
	Name string
	Text *string
}

// Sections is a JSON object of section texts that keeps its order.
type Sections []Section

// MarshalJSON writes an object in order.
func (s Sections) MarshalJSON() ([]byte, error) {
	var buf bytes.Buffer
	buf.WriteByte('{')
	for i, sec := range s {
		if i > 0 {
			buf.WriteByte(',')
		}
		name, err := Marshal(sec.Name)
		if err != nil {
			return nil, err
		}
		text, err := Marshal(sec.Text)
		if err != nil {
			return nil, err
		}
		buf.Write(name)
		buf.WriteByte(':')
		buf.Write(text)
	}
	buf.WriteByte('}')
	return buf.Bytes(), nil
}

// UnmarshalJSON reads an object and keeps its order. Values that are neither
// string nor null are passed over.
func (s *Sections) UnmarshalJSON(data []byte) error {
	*s = nil
	dec := json.NewDecoder(bytes.NewReader(data))
	tok, err := dec.Token()
	if err != nil || tok != json.Delim('{') {
		return nil
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return err
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		name, _ := key.(string)
		if bytes.Equal(raw, []byte("null")) {
			*s = append(*s, Section{Name: name})
			continue
		}
		var text string
		if json.Unmarshal(raw, &text) == nil {
			*s = append(*s, Section{Name: name, Text: &text})
		}
	}
	return nil
}

// Replay folds system messages in order into the state that they leave: what pi
// would send as prompt, and the tools that it would declare.
type Replay struct {
	Content  []string // texts that stay for ever, in order
	Sections []Section
	Tools    []ToolDeclaration
	Declared bool // at least one system message was seen
}

// Apply folds one system message in: texts are added, sections patched by name
// (null removes, a replaced one keeps its place, a re-added one goes to the
// end), tools first withdrawn, then added.
func (r *Replay) Apply(m *System) {
	r.Declared = true
	if m.Content != "" {
		r.Content = append(r.Content, string(m.Content))
	}
	if m.Sections != nil {
		for _, sec := range *m.Sections {
			r.patch(sec)
		}
	}
	for _, gone := range m.ToolsRemoved {
		r.removeTool(gone.Name)
	}
	for _, tool := range m.ToolsAdded {
		r.addTool(tool)
	}
}

func (r *Replay) patch(sec Section) {
	for i := range r.Sections {
		if r.Sections[i].Name != sec.Name {
			continue
		}
		if sec.Text == nil {
			r.Sections = append(r.Sections[:i:i], r.Sections[i+1:]...)
		} else {
			r.Sections[i] = sec
		}
		return
	}
	if sec.Text != nil {
		r.Sections = append(r.Sections, sec)
	}
}

func (r *Replay) removeTool(name string) {
	for i := range r.Tools {
		if r.Tools[i].Name == name {
			r.Tools = append(r.Tools[:i:i], r.Tools[i+1:]...)
			return
		}
	}
}

func (r *Replay) addTool(tool ToolDeclaration) {
	for i := range r.Tools {
		if r.Tools[i].Name == tool.Name {
			r.Tools[i] = tool
			return
		}
	}
	r.Tools = append(r.Tools, tool)
}

// ToolNames returns the names of the declared tools in order.
func (r *Replay) ToolNames() []string {
	names := make([]string, len(r.Tools))
	for i, t := range r.Tools {
		names[i] = t.Name
	}
	return names
}

// Prompt renders the text that pi would send: contents, then sections, joined
// by one blank line.
func (r *Replay) Prompt() string {
	parts := append([]string(nil), r.Content...)
	for _, sec := range r.Sections {
		parts = append(parts, *sec.Text)
	}
	return strings.Join(parts, "\n\n")
}
