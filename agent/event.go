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
	Reason     string          `json:"reason,omitempty"` // tool_execution_ask

	ToolResults []message.Message `json:"toolResults,omitempty"` // turn_end

	WillRetry *bool  `json:"willRetry,omitempty"` // agent_end
	Aborted   *bool  `json:"aborted,omitempty"`   // agent_settled
	Error     string `json:"error,omitempty"`     // agent_end: why the run broke off
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
