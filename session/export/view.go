package export

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
	"github.com/tidwall/gjson"
)

// Bounds of the pictures that an HTML page shows.
const (
	// MaxImage is the length of a picture's base64 that is shown, in bytes. A
	// longer one is named only.
	MaxImage = 1 << 20
	// MaxImages is the length of all of them together.
	MaxImages = 16 << 20
)

// view is what people are shown of one entry, redacted, for every format.
type view struct {
	Number int
	Kind   string // user, assistant, tool, system, shell, custom, summary, note
	Title  string
	Time   string // for people, UTC
	Parts  []part
}

// part is a piece of a view.
type part struct {
	Kind  string // text, fold, fields, image, note, error
	Title string // of a fold or an image
	Text  string
	Field []field // of a tool call
	Mime  string
	Data  string // base64
}

// field is one argument of a tool call.
type field struct{ Name, Text string }

// view makes what is shown of an entry; nil for entries that only programs read.
func (x *exporter) view(e session.Entry) (*view, error) {
	x.entry = e
	p, err := x.s.Decode(e)
	if err != nil {
		return nil, err
	}
	v := &view{}
	if t := e.Time(); !t.IsZero() {
		v.Time = t.UTC().Format("2006-01-02 15:04:05")
	}
	switch p := p.(type) {
	case session.MessagePayload:
		x.message(v, p.Message)
	case session.CustomMessage:
		x.custom(v, p.CustomType, p.Content)
	case session.Compaction:
		v.Kind, v.Title = "summary", "Compaction"
		v.note("What came before was replaced by this summary for the model.")
		v.text(x.shown("summary", p.Summary))
	case session.BranchSummary:
		v.Kind, v.Title = "summary", "Summary of another branch"
		v.text(x.shown("summary", p.Summary))
	case session.ModelChange:
		v.Kind, v.Title = "note", x.shown("model", "Model: "+p.Provider+"/"+p.ModelID)
	case session.ThinkingLevelChange:
		v.Kind, v.Title = "note", x.shown("thinking level", "Thinking: "+p.ThinkingLevel)
	case session.ContextEdit:
		v.Kind, v.Title = "note", "An earlier entry was taken out of what the model is shown"
		if p.Replacement != nil {
			v.Title = "An earlier entry was replaced in what the model is shown"
			var c message.Content
			_ = json.Unmarshal(p.Replacement.Content, &c)
			v.fold("the replacement", x.shown("replacement", c.PlainText()))
		}
	default:
		return nil, nil
	}
	return v, nil
}

func (v *view) text(s string) {
	if strings.TrimSpace(s) != "" {
		v.Parts = append(v.Parts, part{Kind: "text", Text: s})
	}
}

func (v *view) note(s string) { v.Parts = append(v.Parts, part{Kind: "note", Text: s}) }

func (v *view) fold(title, s string) {
	if strings.TrimSpace(s) != "" {
		v.Parts = append(v.Parts, part{Kind: "fold", Title: title, Text: s})
	}
}

func (x *exporter) message(v *view, m message.Message) {
	switch m := m.(type) {
	case *message.User:
		v.Kind, v.Title = "user", "User"
		x.content(v, "user", m.Content)
	case *message.Assistant:
		v.Kind, v.Title = "assistant", "Assistant"
		if m.Model != "" {
			v.Title = x.shown("model", "Assistant ("+m.Model+")")
		}
		x.content(v, "assistant", m.Content)
		if m.ErrorMessage != "" || m.StopReason == message.StopError || m.StopReason == message.StopAborted {
			v.Parts = append(v.Parts, part{Kind: "error", Text: x.shown("error", cmp.Or(m.ErrorMessage, string(m.StopReason)))})
		}
	case *message.ToolResult:
		name := x.shown("tool", m.ToolName)
		v.Kind, v.Title = "tool", "Result of "+name
		if m.IsError {
			v.Title += ", failed"
		}
		x.folded(v, "result of "+name, m.Content)
	case *message.BashExecution:
		v.Kind, v.Title = "shell", "Command of the user"
		v.Parts = append(v.Parts, part{Kind: "fields", Title: "command", Field: []field{{"command", x.shown("command of the user", m.Command)}}})
		v.fold("output", x.shown("output of a command of the user", m.Output))
	case *message.System:
		v.Kind, v.Title = "system", "System prompt"
		v.fold("prompt", x.shown("system prompt", systemText(m)))
		var names []string
		for _, t := range m.ToolsAdded {
			names = append(names, t.Name)
		}
		if len(names) > 0 {
			v.note(x.shown("tools", "Tools added: "+strings.Join(names, ", ")))
		}
		names = nil
		for _, t := range m.ToolsRemoved {
			names = append(names, t.Name)
		}
		if len(names) > 0 {
			v.note(x.shown("tools", "Tools withdrawn: "+strings.Join(names, ", ")))
		}
	case *message.Custom:
		x.custom(v, m.CustomType, m.Content)
	default:
		v.Kind, v.Title = "custom", x.shown("role", "Message of the role "+string(m.Role()))
		x.folded(v, "message", message.ContentOf(m))
	}
}

func systemText(m *message.System) string {
	parts := []string{string(m.Content)}
	if m.Sections != nil {
		for _, s := range *m.Sections {
			if s.Text != nil {
				parts = append(parts, *s.Text)
			}
		}
	}
	return strings.TrimSpace(strings.Join(parts, "\n\n"))
}

func (x *exporter) custom(v *view, kind string, c message.Content) {
	v.Kind, v.Title = "custom", x.shown("custom type", "Message of an extension ("+kind+")")
	x.content(v, "message of an extension", c)
}

// content shows text as it is, and folds the rest.
func (x *exporter) content(v *view, where string, c message.Content) {
	for _, b := range c {
		switch b.Type {
		case message.TypeText:
			v.text(x.shown(where, b.Text))
		case message.TypeThinking:
			v.fold("thinking", x.shown("thinking", b.Thinking))
		case message.TypeToolCall:
			v.Parts = append(v.Parts, x.call(b))
		case message.TypeImage:
			v.Parts = append(v.Parts, x.image(b))
		default:
			v.note(x.shown("block", "A block of the type "+b.Type))
		}
	}
}

// folded folds everything but pictures.
func (x *exporter) folded(v *view, where string, c message.Content) {
	for _, b := range c {
		switch b.Type {
		case message.TypeText:
			v.fold(sizeOf(b.Text), x.shown(where, b.Text))
		case message.TypeImage:
			v.Parts = append(v.Parts, x.image(b))
		default:
			v.note(x.shown("block", "A block of the type "+b.Type))
		}
	}
	if len(v.Parts) == 0 {
		v.note("(empty)")
	}
}

func sizeOf(s string) string {
	n := strings.Count(strings.TrimRight(s, "\n"), "\n") + 1
	if n == 1 {
		return fmt.Sprintf("%d characters", len([]rune(s)))
	}
	return fmt.Sprintf("%d lines", n)
}

// call shows a tool call by its arguments, texts as texts.
func (x *exporter) call(b message.Block) part {
	name := x.shown("tool", b.Name)
	where := "call of " + name
	p := part{Kind: "fields", Title: name}
	gjson.ParseBytes(b.Arguments).ForEach(func(k, v gjson.Result) bool {
		if v.Type == gjson.String {
			p.Field = append(p.Field, field{x.shown(where, k.String()), x.namedShown(where, k.String(), v.String())})
			return true
		}
		raw, err := x.json([]byte(v.Raw))
		if err != nil {
			raw = []byte("?")
		}
		p.Field = append(p.Field, field{x.shown(where, k.String()), readable(string(raw))})
		return true
	})
	if len(p.Field) > 0 {
		p.Title += "  " + brief(p.Field[0].Text)
	}
	return p
}

// brief is the beginning of a text, on one line.
func brief(s string) string {
	const length = 80
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) > length {
		return string(r[:length-1]) + "…"
	}
	return string(r)
}

// image shows a small picture whose bytes are here, and names any other.
func (x *exporter) image(b message.Block) part {
	mime := x.shown("picture", b.MimeType)
	kind := sniff(b.Data)
	switch {
	case strings.Contains(b.Data, ":"):
		return part{Kind: "note", Text: "A picture (" + mime + ") that is kept outside of the file"}
	case kind == "":
		return part{Kind: "note", Text: "A picture (" + mime + ") that cannot be shown"}
	}
	x.report.Pictures++
	return part{Kind: "image", Title: fmt.Sprintf("picture, %s, %d KB", kind, (len(b.Data)*3/4+1023)>>10), Mime: kind, Data: b.Data}
}

// sniff tells the kind of a picture by its first bytes, for those that every
// browser shows and that hold no program; what a record says of it is not asked.
func sniff(data string) string {
	head, err := base64.StdEncoding.DecodeString(data[:min(len(data), 16)])
	if err != nil || span(data, 0, base64Byte) != len(data) {
		return ""
	}
	s := string(head)
	switch {
	case strings.HasPrefix(s, "\x89PNG\r\n\x1a\n"):
		return "image/png"
	case strings.HasPrefix(s, "\xff\xd8\xff"):
		return "image/jpeg"
	case strings.HasPrefix(s, "GIF8"):
		return "image/gif"
	case strings.HasPrefix(s, "RIFF") && strings.HasSuffix(s, "WEBP"):
		return "image/webp"
	}
	return ""
}

// shown makes a text of somebody else fit to be shown, and then redacts it: the
// colours of a terminal stand in the middle of words.
func (x *exporter) shown(where, s string) string { return x.text(where, readable(s)) }

func (x *exporter) namedShown(where, key, s string) string { return x.named(where, key, readable(s)) }

var escapes = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[@-Z\\\\-_])")

// readable takes out what only a terminal understands, and what turns the
// direction of text around.
func readable(s string) string {
	if strings.IndexByte(s, 0x1b) >= 0 {
		s = escapes.ReplaceAllString(s, "")
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r':
			return -1
		case unicode.IsControl(r), r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
			return '\uFFFD'
		}
		return r
	}, s)
}

// about is what stands above the conversation.
type about struct {
	Title, Created, Exported, Folder, ID string
	Redacted                             bool
}

func (x *exporter) about() (about, error) {
	x.entry = session.Entry{Line: 1}
	name, err := x.s.Name()
	if err != nil {
		return about{}, err
	}
	h := x.s.Header()
	a := about{Title: x.shown("name", cmp.Or(name, "Session "+h.ID)), Folder: x.shown("folder", h.CWD), ID: x.shown("id", h.ID),
		Exported: x.now().UTC().Format(time.DateOnly), Redacted: x.redact}
	if t := h.Created(); !t.IsZero() {
		a.Created = t.UTC().Format("2006-01-02 15:04")
	}
	return a, nil
}

// each shows the entries of the branch one after the other.
func (x *exporter) each(show func(*view) error) error {
	b, err := x.s.Branch(cmp.Or(x.o.Entry, x.s.Leaf()))
	if err != nil {
		return err
	}
	for i, e := range b.Entries {
		v, err := x.view(e)
		if err != nil {
			return err
		}
		x.tell(i+1, len(b.Entries))
		if v == nil {
			continue
		}
		x.report.Entries++
		v.Number = x.report.Entries
		if err := show(v); err != nil {
			return err
		}
	}
	x.report.Redacted = x.redact
	return nil
}
