package wire

import (
	"fmt"
	"slices"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/wrapper"
)

// What happens around the answers of a turn: retries, summaries, messages that
// wait, and questions.

// retryData is the content of a retry's chunk.
type retryData struct {
	Phase        string `json:"phase"` // start or end
	Attempt      int    `json:"attempt"`
	MaxAttempts  int    `json:"maxAttempts,omitempty"`
	DelayMs      int64  `json:"delayMs,omitempty"`
	Success      *bool  `json:"success,omitempty"`
	ErrorMessage string `json:"errorMessage,omitempty"`
}

func retry(e wrapper.Event) Frame {
	d := retryData{Phase: "start", Attempt: e.Attempt, MaxAttempts: e.MaxAttempts, DelayMs: e.DelayMs}
	if e.Type == agent.AutoRetryEnd {
		d = retryData{Phase: "end", Attempt: e.Attempt, Success: e.Success}
	}
	if e.ErrorMessage != "" {
		d.ErrorMessage = shorten(e.ErrorMessage)
	}
	return Frame{Chunk: &Chunk{Type: RetryData, Data: d}}
}

// compactionData is the content of a summary's chunk.
type compactionData struct {
	Phase        string `json:"phase"` // start or end
	Reason       string `json:"reason"`
	Summary      string `json:"summary,omitempty"`
	Aborted      *bool  `json:"aborted,omitempty"`
	ErrorMessage string `json:"errorMessage,omitempty"` // our own
}

func compaction(e wrapper.Event) Frame {
	d := compactionData{Phase: "start", Reason: e.Reason}
	if e.Type == agent.CompactionEnd {
		d.Phase, d.Aborted = "end", e.Aborted
		if e.Compacted != nil {
			d.Summary = e.Compacted.Summary
		}
		if e.ErrorMessage != "" {
			d.ErrorMessage = shorten(e.ErrorMessage)
		}
	}
	return Frame{Chunk: &Chunk{Type: CompactionData, Data: d}}
}

// waits tells what waits. A chunk outside of a turn would have no reader.
func (t *Translator) waits(e wrapper.Event) []Frame {
	if e.Waiting == nil {
		return nil
	}
	frames := t.Queue(e.Steering, e.FollowUp)
	if !t.turn.running {
		return frames[1:]
	}
	return frames
}

// maxAskText is how many characters of a call's arguments a question shows.
const maxAskText = 2000

func (t *Translator) asked(e wrapper.Event) []Frame {
	args := []rune(string(e.Args))
	if len(args) > maxAskText {
		args = append(args[:maxAskText], '…')
	}
	a := Ask{ID: e.AskID, Title: fmt.Sprintf("Run %s?", e.ToolName), Text: e.Reason + "\n\n" + string(args), Call: e.ToolCallID, Tool: e.ToolName}
	t.asks = append(t.asks, a)
	return []Frame{{Control: a}}
}

func (t *Translator) answered(e wrapper.Event) []Frame {
	t.asks = slices.DeleteFunc(t.asks, func(a Ask) bool { return a.ID == e.AskID })
	return []Frame{{Control: Answered{e.AskID, e.Success != nil && *e.Success}, Own: true}}
}
