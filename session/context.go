package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/piweb-go/piweb/message"
)

// ModelRef names a model by provider and id.
type ModelRef struct {
	Provider string `json:"provider"`
	ModelID  string `json:"modelId"`
}

// Context is what a branch means for the next request.
type Context struct {
	Leaf     ID
	Branch   []ID // all entries from the root to the leaf
	Selected []ID // those that compactions leave, in context order

	// Messages in order, system messages included, context edits applied.
	// Sources[i] is the entry that gave Messages[i].
	Messages []message.Message
	Sources  []ID

	// Changed is the last entry on the branch that changes what earlier ones mean
	// for the context: a compaction or a context edit; "" for none.
	Changed ID

	Model         *ModelRef // last set or used on the branch, nil for none
	ThinkingLevel string    // last set on the branch, "" for never: that means "off"

	// System is what the system messages of the whole branch add up to,
	// compacted parts included: it is what pi resumes with. What a compaction
	// repeats of it counts only for the context.
	System      message.Replay
	Diagnostics []Diagnostic
}

// Context builds the context of the current leaf.
func (s *Session) Context() (*Context, error) { return s.ContextAt(s.Leaf()) }

// ContextAt builds the context of any entry; the empty id gives the empty one.
func (s *Session) ContextAt(leaf ID) (*Context, error) {
	branch, err := s.Branch(leaf)
	if err != nil {
		return nil, err
	}
	c := &Context{Leaf: leaf, Branch: branch.IDs(), Diagnostics: branch.Diagnostics}
	b := builder{s: s, c: c, decoded: make(map[int]Payload)}
	if err := b.build(branch.Entries); err != nil {
		return nil, err
	}
	return c, b.replay(branch.Entries)
}

type builder struct {
	s       *Session
	c       *Context
	decoded map[int]Payload // by place; bodies are read once
	edits   map[ID]ContextEdit
	last    int     // place of the compaction that counts, -1 for none
	bare    *window // of an outline: messages are read through it, and bare
}

func (b *builder) build(branch []Entry) error {
	if err := b.settings(branch); err != nil {
		return err
	}
	selected, err := b.selectEntries(branch)
	if err != nil {
		return err
	}
	return b.project(selected)
}

func (b *builder) decode(e Entry) (Payload, error) {
	if p, ok := b.decoded[e.pos]; ok {
		return p, nil
	}
	if b.bare != nil && e.Type == TypeMessage {
		g, err := b.s.gistOf(e, b.bare)
		if err != nil {
			return nil, err
		}
		if g.state == gistMessage {
			p := MessagePayload{g.message()}
			if g.text == gistNotUTF8 {
				b.c.Diagnostics = append(b.c.Diagnostics, Diagnostic{Kind: KindNotText, Line: e.Line, Offset: e.Offset, ID: e.ID, Text: notText})
				b.decoded[e.pos] = p // told once
			}
			return p, nil
		}
	} // what is damaged is read as ever, and told
	raw, err := b.s.Raw(e)
	var p Payload
	switch {
	case errors.Is(err, ErrDamaged):
		// What hangs on it goes on; pi would lose all that stands before.
		p = Unknown{Type: e.Type}
		b.c.Diagnostics = append(b.c.Diagnostics, Diagnostic{Kind: KindBadLine, Line: e.Line, Offset: e.Offset, ID: e.ID,
			Text: "the message is damaged and left out: " + describeDamage(line{}, b.damaged(e))})
	case err != nil:
		return nil, err
	default:
		if p, err = decode(raw); err != nil {
			return nil, err
		}
		if isSaid(e.Type, e.Role) && !utf8.Valid(raw) {
			b.c.Diagnostics = append(b.c.Diagnostics, Diagnostic{Kind: KindNotText, Line: e.Line, Offset: e.Offset, ID: e.ID, Text: notText})
		}
	}
	b.decoded[e.pos] = p
	return p, nil
}

func (b *builder) damaged(e Entry) []byte {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	raw, _ := b.s.raw(e)
	return raw
}

// settings finds model and level on the whole branch, compacted parts included.
// It walks from the leaf and stops when it has both.
func (b *builder) settings(branch []Entry) error {
	haveLevel := false
	for i := len(branch) - 1; i >= 0 && (b.c.Model == nil || !haveLevel); i-- {
		e := branch[i]
		wanted := e.Type == TypeThinkingLevel && !haveLevel ||
			b.c.Model == nil && (e.Type == TypeModelChange || e.Type == TypeMessage && e.Role == "assistant")
		if !wanted {
			continue
		}
		p, err := b.decode(e)
		if err != nil {
			return err
		}
		switch p := p.(type) {
		case ThinkingLevelChange:
			b.c.ThinkingLevel, haveLevel = p.ThinkingLevel, true
		case ModelChange:
			b.c.Model = &ModelRef{p.Provider, p.ModelID}
		case MessagePayload:
			if a, ok := p.Message.(*message.Assistant); ok && (a.Provider != "" || a.Model != "") {
				b.c.Model = &ModelRef{a.Provider, a.Model}
			}
		}
	}
	return nil
}

// selectEntries applies the last compaction of the branch: the compaction
// itself, then what it keeps without system messages, then what came after it.
func (b *builder) selectEntries(branch []Entry) ([]Entry, error) {
	b.last = -1
	at := -1
	for i := len(branch) - 1; i >= 0; i-- {
		if branch[i].Type == TypeCompaction {
			at, b.last = i, branch[i].pos
			break
		}
	}
	if at < 0 {
		return branch, nil
	}
	p, err := b.decode(branch[at])
	if err != nil {
		return nil, err
	}
	c, _ := p.(Compaction)
	b.c.Changed = branch[at].ID
	selected := []Entry{branch[at]}
	keeping := false
	for _, e := range branch[:at] {
		keeping = keeping || e.ID == c.FirstKeptEntryID
		if keeping && !(e.Type == TypeMessage && e.Role == "system") {
			selected = append(selected, e)
		}
	}
	if !keeping && c.FirstKeptEntryID != "" && c.FirstKeptEntryID != branch[at].ID {
		b.c.Diagnostics = append(b.c.Diagnostics, Diagnostic{Kind: KindKept, Line: branch[at].Line, Offset: branch[at].Offset, ID: branch[at].ID,
			Text: fmt.Sprintf("firstKeptEntryId %s is not on the branch before the compaction; nothing before it is kept", c.FirstKeptEntryID)})
	}
	return append(selected, branch[at+1:]...), nil
}

func (b *builder) replay(branch []Entry) error {
	for _, e := range branch {
		if e.Type != TypeMessage || e.Role != "system" {
			continue
		}
		p, err := b.decode(e)
		if err != nil {
			return err
		}
		if m, ok := p.(MessagePayload); ok {
			if sys, ok := m.Message.(*message.System); ok {
				b.c.System.Apply(sys)
			}
		}
	}
	return nil
}

func (b *builder) project(selected []Entry) error {
	b.edits = map[ID]ContextEdit{}
	for _, e := range selected {
		if e.Type != TypeContextEdit {
			continue
		}
		p, err := b.decode(e)
		if err != nil {
			return err
		}
		if edit, ok := p.(ContextEdit); ok {
			b.edits[edit.TargetID] = edit
			b.c.Changed = e.ID
		}
	}
	for _, e := range selected {
		b.c.Selected = append(b.c.Selected, e.ID)
		if err := b.projectEntry(e); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) projectEntry(e Entry) error {
	switch e.Type {
	case TypeMessage, TypeCustomMessage, TypeBranchSummary:
	case TypeCompaction:
		if e.pos != b.last {
			return nil // an older compaction in the kept part says nothing
		}
	default:
		return nil
	}
	p, err := b.decode(e)
	if err != nil {
		return err
	}
	at := e.Time().UnixMilli()
	if e.Time().IsZero() {
		at = 0
	}
	switch p := p.(type) {
	case MessagePayload:
		b.emit(e, p.Message)
	case CustomMessage:
		b.emit(e, &message.Custom{CustomType: p.CustomType, Content: p.Content, Display: p.Display, Details: p.Details, Timestamp: at})
	case BranchSummary:
		if p.Summary != "" {
			b.emit(e, &message.BranchSummary{Summary: p.Summary, FromID: string(p.FromID), Timestamp: at})
		}
	case Compaction:
		if len(p.SystemMessage) > 0 {
			if m, err := message.Decode(p.SystemMessage); err == nil {
				b.emit(e, m)
			}
		}
		b.emit(e, &message.CompactionSummary{Summary: p.Summary, TokensBefore: p.TokensBefore, Timestamp: at})
	}
	return nil
}

// emit applies the edit of an entry and adds its message.
func (b *builder) emit(e Entry, m message.Message) {
	if edit, ok := b.edits[e.ID]; ok {
		if edit.Replacement == nil {
			return
		}
		replaceContent(m, edit.Replacement.Content)
	}
	b.c.Messages = append(b.c.Messages, m)
	b.c.Sources = append(b.c.Sources, e.ID)
}

// replaceContent changes a message that this builder decoded for itself.
func replaceContent(m message.Message, content json.RawMessage) {
	var c message.Content
	_ = json.Unmarshal(content, &c)
	switch m := m.(type) {
	case *message.User:
		m.Content = c
	case *message.Assistant:
		m.Content = c
	case *message.ToolResult:
		m.Content = c
	case *message.Custom:
		m.Content = c
	}
}
