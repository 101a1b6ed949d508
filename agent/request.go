package agent

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"

	"github.com/piweb-go/piweb/message"
)

//go:embed prose/compaction.md
var compactionLead string

//go:embed prose/branch.md
var branchLead string

// History turns a context into messages for a model: custom messages and
// summaries become user text, system messages are left out (the head is the
// loadout's), and blocks that no provider knows are dropped. Then the order of
// calls and results is repaired. Nothing of the context itself is changed.
func History(msgs []message.Message, info ModelInfo) []message.Message {
	var out []message.Message
	for _, m := range msgs {
		switch m := m.(type) {
		case *message.User:
			out = append(out, &message.User{Content: sendable(m.Content), Timestamp: m.Timestamp})
		case *message.Assistant:
			out = append(out, sendableAnswer(m, info))
		case *message.ToolResult:
			r := *m
			r.Content = sendable(m.Content)
			out = append(out, &r)
		case *message.Custom:
			out = append(out, &message.User{Content: sendable(m.Content), Timestamp: m.Timestamp})
		case *message.BranchSummary:
			out = append(out, userText(summary(branchLead, m.Summary), m.Timestamp))
		case *message.CompactionSummary:
			out = append(out, userText(summary(compactionLead, m.Summary), m.Timestamp))
		case *message.BashExecution:
			if !m.ExcludeFromContext {
				out = append(out, userText(bashText(m), m.Timestamp))
			}
		}
	}
	return pair(out)
}

func userText(text string, at int64) *message.User {
	return &message.User{Content: message.Content{message.Text(text)}, Timestamp: at}
}

func summary(lead, text string) string {
	return strings.TrimSpace(lead) + "\n\n<summary>\n" + text + "\n</summary>"
}

func bashText(m *message.BashExecution) string {
	var b strings.Builder
	b.WriteString("The user ran `" + m.Command + "`.\n")
	if m.Output == "" {
		b.WriteString("It printed nothing.")
	} else {
		b.WriteString("```\n" + strings.TrimSuffix(m.Output, "\n") + "\n```")
	}
	if m.Cancelled {
		b.WriteString("\n\nThe user stopped it.")
	} else if m.ExitCode != nil && *m.ExitCode != 0 {
		b.WriteString("\n\nIt ended with exit code " + strconv.Itoa(*m.ExitCode) + ".")
	}
	if m.Truncated && m.FullOutputPath != "" {
		b.WriteString("\n\nThe output is cut; all of it is in " + m.FullOutputPath + ".")
	}
	return b.String()
}

// sendable keeps the blocks that a user message or a result may hold. Empty texts
// say nothing, and some providers refuse them.
func sendable(c message.Content) message.Content {
	out := message.Content{}
	for _, b := range c {
		if b.Type == message.TypeText && b.Text != "" || b.Type == message.TypeImage {
			out = append(out, b)
		}
	}
	return out
}

// sendableAnswer keeps text, calls, and the thinking of this very model: another
// model's thinking, or its signature, is refused by providers.
func sendableAnswer(m *message.Assistant, info ModelInfo) *message.Assistant {
	out := *m
	own := m.API == info.API && m.Provider == info.Provider && m.Model == info.ID
	out.Content = message.Content{}
	for _, b := range m.Content {
		switch b.Type {
		case message.TypeText:
			if b.Text != "" {
				out.Content = append(out.Content, b)
			}
		case message.TypeToolCall:
			out.Content = append(out.Content, b)
		case message.TypeThinking:
			if own {
				out.Content = append(out.Content, b)
			}
		}
	}
	return &out
}

// pair makes a history that every provider takes: answers that failed or were
// aborted are left out with their results, a call without result gets one that
// says so, a result without call is left out, and what stands between a call and
// its results is moved behind them, and calls under one id get ids of their own.
func pair(msgs []message.Message) []message.Message {
	p := pairer{ids: callIDs{}}
	for _, m := range msgs {
		p.add(m)
	}
	p.close()
	return p.out
}

type pairer struct {
	out  []message.Message
	ids  callIDs
	open []openCall        // of the last answer, without a result yet
	held []message.Message // what came between calls and results
	at   int64             // time of the last answer
}

// openCall is a call that waits for its result.
type openCall struct {
	recorded     string // its id in the file
	id, toolName string
}

// add takes the next message, which is the pairer's to change.
func (p *pairer) add(m message.Message) {
	switch m := m.(type) {
	case *message.Assistant:
		p.close()
		if m.StopReason == message.StopError || m.StopReason == message.StopAborted || len(m.Content) == 0 {
			return
		}
		p.out = append(p.out, m)
		p.at = m.Timestamp
		for i := range m.Content {
			if b := &m.Content[i]; b.Type == message.TypeToolCall {
				c := openCall{recorded: b.ID, id: p.ids.take(b.ID), toolName: b.Name}
				b.ID = c.id
				p.open = append(p.open, c)
			}
		}
	case *message.ToolResult:
		for i, c := range p.open {
			if c.recorded == m.ToolCallID {
				m.ToolCallID = c.id
				p.open = slices.Delete(p.open, i, i+1)
				p.out = append(p.out, m)
				break
			}
		}
		if len(p.open) == 0 {
			p.close()
		}
	default:
		if u, ok := m.(*message.User); ok && len(p.open) > 0 && len(u.Content) == 0 {
			return
		}
		p.held = append(p.held, m)
		if len(p.open) == 0 {
			p.close()
		}
	}
}

// close answers the calls that are still open and lets go what was held back.
func (p *pairer) close() {
	for _, c := range p.open {
		p.out = append(p.out, &message.ToolResult{
			ToolCallID: c.id, ToolName: c.toolName, IsError: true, Timestamp: p.at,
			Content: message.Content{message.Text("There is no result: the call was interrupted before it ended.")},
		})
	}
	p.out = append(p.out, p.held...)
	p.open, p.held = nil, nil
}
