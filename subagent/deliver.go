package subagent

import (
	"context"
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/piweb-go/piweb/internal/failpoint"
	"github.com/piweb-go/piweb/internal/structure"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

//go:embed prose/notice.md
var noticePreamble string

// doors lets one delivery to a parent happen at a time.
type doors struct{ sync.Mutex }

func (m *Manager) door(parent string) *doors {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, ok := m.notices[parent]
	if !ok {
		d = &doors{}
		m.notices[parent] = d
	}
	return d
}

// deliver hands what background children found to their parent, each result
// once. What the parent does not take now waits: it is shown, and goes in with
// the next prompt (RULINGS 38).
func (m *Manager) deliver(parent string) {
	d := m.door(parent)
	d.Lock()
	defer d.Unlock()
	pending, err := m.Pending(m.life, parent)
	if err != nil {
		return
	}
	for _, r := range pending {
		if err := m.host.Deliver(m.life, parent, Notice(r)); err != nil {
			return
		}
		failpoint.Here("subagent-delivered")
		m.hand(r)
	}
}

// Pending are the results that the parent has not got, the oldest first: those of
// background children, and those whose tool call was waiting when its program died.
func (m *Manager) Pending(ctx context.Context, parent string) ([]Run, error) {
	runs, err := m.Children(ctx, parent)
	if err != nil {
		return nil, err
	}
	runs = slices.DeleteFunc(runs, func(r Run) bool { return r.CompletedAt == "" || m.coming(r) })
	if len(runs) == 0 {
		return nil, nil
	}
	var got map[string]bool
	if err := m.host.Look(parent, func(v View) (err error) {
		got, err = Delivered(v)
		return err
	}); err != nil {
		return nil, err
	}
	runs = slices.DeleteFunc(runs, func(r Run) bool { return got[r.key()] || !r.Background && got[r.Call] })
	slices.SortStableFunc(runs, func(a, b Run) int { return strings.Compare(a.CompletedAt, b.CompletedAt) })
	return runs, nil
}

// key names one result: a resumed child has several.
func (r Run) key() string { return r.ID + " " + r.CompletedAt }

// hand notes that a result is on its way into the parent's file.
func (m *Manager) hand(r Run) { m.mark(m.fetched, r.ParentPath, r.key()) }

func (m *Manager) mark(table map[string]map[string]bool, parent, key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if table[parent] == nil {
		table[parent] = map[string]bool{}
	}
	table[parent][key] = true
}

// coming says that a result needs no delivery: it is on its way, a tool call of this
// process waits for it, or nobody of the parent's asked to be told.
func (m *Manager) coming(r Run) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.fetched[r.ParentPath][r.key()] || !r.Background && (r.Call == "" || m.waited[r.ParentPath][r.ID])
}

// forget takes back that results of a parent are on their way. It is called when
// no run of the parent is on: what was on its way is in the file by then, or lost.
func (m *Manager) forget(parent string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.fetched, parent)
	delete(m.waited, parent)
}

// Notice is the message that brings a result to a parent. It says that it is a
// tool's report and nobody's wish.
func Notice(r Run) session.CustomMessage {
	details, _ := message.Marshal(r.Details())
	return session.CustomMessage{CustomType: NoticeType, Display: true, Details: details,
		Content: message.Content{message.Text(strings.TrimSpace(noticePreamble) + "\n\n" + r.FinalText())}}
}

// Delivered are the results that a parent has got: those whose child and time of
// completion stand in a notice or in the result of a control tool, and the calls of
// control tools that were answered. Every branch counts: what was delivered on a
// branch that was left is not delivered again.
func Delivered(v View) (map[string]bool, error) {
	got := map[string]bool{}
	for e := range v.Entries() {
		notice := e.Type == session.TypeCustomMessage && e.CustomType == NoticeType
		result := e.Type == session.TypeMessage && e.Role == string(message.RoleToolResult)
		if !notice && !result {
			continue
		}
		p, err := v.Decode(e)
		if err != nil {
			return nil, err
		}
		var details json.RawMessage
		switch p := p.(type) {
		case session.CustomMessage:
			details = p.Details
		case session.MessagePayload:
			if m, ok := p.Message.(*message.ToolResult); ok && isControl(m.ToolName) {
				details, got[m.ToolCallID] = m.Details, true
			}
		}
		var d Details
		if len(details) > 0 && structure.Unmarshal(details, &d) == nil && d.SessionID != "" && d.CompletedAt != "" {
			got[d.SessionID+" "+d.CompletedAt] = true
		}
	}
	return got, nil
}
