package agent

import (
	"encoding/json"

	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

// EventType is pi's name of an event.
type EventType string

// The events of a run, in the order in which a plain one has them. Per turn:
// turn_start, the messages that start it, the answer, its tools, the results,
// turn_end.
const (
	AgentStart   EventType = "agent_start"
	TurnStart    EventType = "turn_start"
	MessageStart EventType = "message_start"
	MessageEvent EventType = "message_update"
	MessageEnd   EventType = "message_end"
	ToolStart    EventType = "tool_execution_start"
	ToolUpdate   EventType = "tool_execution_update"
	ToolEnd      EventType = "tool_execution_end"
	ToolAsk      EventType = "tool_execution_ask"
	TurnEnd      EventType = "turn_end"
	AgentEnd     EventType = "agent_end"
	AgentSettled EventType = "agent_settled"

	AutoRetryStart  EventType = "auto_retry_start"
	AutoRetryEnd    EventType = "auto_retry_end"
	CompactionStart EventType = "compaction_start"
	CompactionEnd   EventType = "compaction_end"
	SummaryRetry    EventType = "summarization_retry_scheduled"
	QueueUpdate     EventType = "queue_update"
)

// Event tells what happened. Which fields are set depends on the type.
type Event struct {
	Type EventType `json:"type"`

	Message message.Message `json:"message,omitempty"` // message_start, message_end, turn_end
	EntryID session.ID      `json:"entryId,omitempty"` // message_end: the entry that holds it
	Update  *Update         `json:"assistantMessageEvent,omitempty"`
	Usage   *message.Usage  `json:"usage,omitempty"` // message_update

	ToolCallID string          `json:"toolCallId,omitempty"`
	ToolName   string          `json:"toolName,omitempty"`
	Args       json.RawMessage `json:"args,omitempty"`
	Partial    *EventResult    `json:"partialResult,omitempty"`
	Result     *EventResult    `json:"result,omitempty"`
	IsError    bool            `json:"isError,omitempty"`
	Reason     string          `json:"reason,omitempty"` // tool_execution_ask; compaction_*: a [CompactionReason]

	ToolResults []message.Message `json:"toolResults,omitempty"` // turn_end

	WillRetry *bool  `json:"willRetry,omitempty"` // agent_end, compaction_end
	Aborted   *bool  `json:"aborted,omitempty"`   // agent_settled, compaction_end
	Error     string `json:"error,omitempty"`     // agent_end: why the run broke off

	AskID        string      `json:"askId,omitempty"`        // tool_execution_ask: what an answer names
	Attempt      int         `json:"attempt,omitempty"`      // of a retry, from 1
	MaxAttempts  int         `json:"maxAttempts,omitempty"`  // auto_retry_start
	DelayMs      int64       `json:"delayMs,omitempty"`      // auto_retry_start: until it is tried again
	Success      *bool       `json:"success,omitempty"`      // auto_retry_end
	ErrorMessage string      `json:"errorMessage,omitempty"` // why it is tried again, or why it failed
	Compacted    *Compaction `json:"compaction,omitempty"`   // compaction_end, if it was done

	*Waiting // queue_update
}

// Waiting lists messages that wait for a run.
type Waiting struct {
	Steering []string `json:"steering"`
	FollowUp []string `json:"followUp"`
}

// Compaction is a finished compaction as clients see it. Sizes are in tokens,
// estimated.
type Compaction struct {
	Summary          string         `json:"summary"`
	FirstKeptEntryID session.ID     `json:"firstKeptEntryId"`
	TokensBefore     int64          `json:"tokensBefore"`
	TokensAfter      int64          `json:"estimatedTokensAfter"`
	Usage            *message.Usage `json:"usage,omitempty"`
}

// EventResult is a tool's result as clients see it.
type EventResult struct {
	Content message.Content `json:"content"`
	Details json.RawMessage `json:"details,omitempty"`
}

// Update is one step of an answer: text_start, text_delta, text_end, the same
// for thinking and toolcall. An end carries the whole block.
type Update struct {
	Type         string         `json:"type"`
	ContentIndex int            `json:"contentIndex"`
	Delta        string         `json:"delta,omitempty"`
	ID           string         `json:"id,omitempty"`       // toolcall_start
	ToolName     string         `json:"toolName,omitempty"` // toolcall_start
	Block        *message.Block `json:"block,omitempty"`
}
