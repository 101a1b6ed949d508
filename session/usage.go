package session

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/piweb-go/piweb/internal/structure"
	"github.com/piweb-go/piweb/message"
)

// Usage is what a session has used, computed from its file: all branches count,
// because what was asked was paid for, whether it is in the context or not. A fork
// holds the entries of its source, and counts them, too.
type Usage struct {
	Total  message.Usage `json:"total"`
	Millis int64         `json:"durationMs"` // that models took to answer
	Counts Counts        `json:"counts"`
	Models []ModelUsage  `json:"models"`  // in the order of their first answer
	Lines  []UsageLine   `json:"entries"` // what used anything, in the order of the file
	// Damaged counts entries that cannot be read, and so do not count.
	Damaged int `json:"damagedEntries,omitempty"`
}

// Counts are numbers of messages, on all branches.
type Counts struct {
	User        int `json:"userMessages"`
	Assistant   int `json:"assistantMessages"`
	ToolCalls   int `json:"toolCalls"`
	ToolResults int `json:"toolResults"`
	Failed      int `json:"failedAnswers"` // that broke off, and those that were tried again
	Total       int `json:"totalMessages"`
}

// ModelUsage is the part of one model.
type ModelUsage struct {
	Model   string        `json:"model"` // "provider/id"
	Answers int           `json:"answers"`
	Usage   message.Usage `json:"usage"`
	Millis  int64         `json:"durationMs"`
}

// UsageLine is one entry that used something.
type UsageLine struct {
	Entry  ID            `json:"entryId"`
	At     time.Time     `json:"at"`
	Kind   string        `json:"kind"` // answer, tool, compaction, branch_summary, or the kind of a usage entry
	Model  string        `json:"model,omitempty"`
	Usage  message.Usage `json:"usage"`
	Millis int64         `json:"durationMs,omitempty"`
}

// Usage adds up what the file says. It reads the entries that can say something.
func (s *Session) Usage() (Usage, error) {
	u := Usage{Models: []ModelUsage{}, Lines: []UsageLine{}}
	seen := map[ID]bool{}
	for e := range s.Entries() {
		switch e.Type {
		case TypeMessage, TypeUsage, TypeCompaction, TypeBranchSummary:
		default:
			continue
		}
		if seen[e.ID] && e.ID != "" {
			continue
		}
		seen[e.ID] = true
		if e.Type == TypeMessage {
			u.count(e.Role)
			if e.Role != "assistant" && e.Role != "toolResult" {
				continue
			}
		}
		raw, err := s.Raw(e)
		if errors.Is(err, ErrDamaged) {
			u.Damaged++
			continue
		}
		if err != nil {
			return Usage{}, err
		}
		u.add(e, raw)
	}
	return u, nil
}

func (u *Usage) count(role string) {
	u.Counts.Total++
	switch role {
	case "user":
		u.Counts.User++
	case "assistant":
		u.Counts.Assistant++
	case "toolResult":
		u.Counts.ToolResults++
	}
}

func (u *Usage) add(e Entry, raw []byte) {
	line := UsageLine{Entry: e.ID, At: e.Time(), Kind: e.Type}
	at := raw
	switch e.Type {
	case TypeMessage:
		at = structure.Get(raw, "message")
		line.Kind = "tool"
		if e.Role == "assistant" {
			line.Kind = "answer"
			structure.Items(structure.Get(at, "content"), func(block []byte) {
				if structure.Text(structure.Get(block, "type")) == message.TypeToolCall {
					u.Counts.ToolCalls++
				}
			})
			if stop := text(at, "stopReason"); stop == string(message.StopError) || stop == string(message.StopAborted) {
				u.Counts.Failed++
			}
			line.Model = modelName(at)
			line.Millis = field(at, "durationMs").Int()
		}
	case TypeUsage:
		line.Kind, line.Model = text(raw, "kind"), modelName(raw)
	case TypeCompaction, TypeBranchSummary:
		line.Model = text(structure.Get(structure.Get(raw, "details"), "request"), "model")
	}
	_ = structure.Unmarshal(structure.Get(at, "usage"), &line.Usage) // fields of another type read as absent
	if line.Usage.TotalTokens == 0 {
		line.Usage.TotalTokens = line.Usage.Input + line.Usage.Output + line.Usage.CacheRead + line.Usage.CacheWrite
	}
	if line.Usage == (message.Usage{}) && line.Kind != "answer" {
		return
	}
	u.Lines = append(u.Lines, line)
	u.Total = u.Total.Plus(line.Usage)
	u.Millis += line.Millis
	if line.Model == "" {
		return
	}
	i := slices.IndexFunc(u.Models, func(m ModelUsage) bool { return m.Model == line.Model })
	if i < 0 {
		u.Models = append(u.Models, ModelUsage{Model: line.Model})
		i = len(u.Models) - 1
	}
	m := &u.Models[i]
	m.Usage, m.Millis = m.Usage.Plus(line.Usage), m.Millis+line.Millis
	if line.Kind == "answer" {
		m.Answers++
	}
}

// text is a string field that stays valid after its object is gone.
func text(object []byte, key string) string {
	return strings.Clone(structure.Text(structure.Get(object, key)))
}

func modelName(object []byte) string {
	provider, id := text(object, "provider"), text(object, "model")
	if provider == "" && id == "" {
		return ""
	}
	return provider + "/" + id
}
