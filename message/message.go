package message

import (
	"bytes"
	"encoding/json"
)

// Role says who speaks. Values other than the constants belong to other writers.
type Role string

// The roles of pi 1.6.0.
const (
	RoleSystem            Role = "system"
	RoleUser              Role = "user"
	RoleAssistant         Role = "assistant"
	RoleToolResult        Role = "toolResult"
	RoleBashExecution     Role = "bashExecution"
	RoleCustom            Role = "custom"
	RoleBranchSummary     Role = "branchSummary"
	RoleCompactionSummary Role = "compactionSummary"
)

// Message is one of *System, *User, *Assistant, *ToolResult, *BashExecution,
// *Custom, *BranchSummary, *CompactionSummary and *Unknown.
type Message interface {
	Role() Role
	json.Marshaler
	isMessage()
}

// StopReason says why an assistant message ended.
type StopReason string

// The stop reasons of pi. Pending exists only while a message streams.
const (
	StopEnd      StopReason = "stop"
	StopLength   StopReason = "length"
	StopToolUse  StopReason = "toolUse"
	StopError    StopReason = "error"
	StopAborted  StopReason = "aborted"
	StopDeferred StopReason = "deferred"
	StopPending  StopReason = "pending"
)

// User is what a person (or a program for them) said.
type User struct {
	Content   Content `json:"content"`
	Timestamp int64   `json:"timestamp"` // Unix milliseconds
}

// Assistant is an answer of a model.
type Assistant struct {
	Content       Content         `json:"content"`
	API           string          `json:"api"`
	Provider      string          `json:"provider"`
	Model         string          `json:"model"`
	ResponseModel string          `json:"responseModel,omitempty"`
	ResponseID    string          `json:"responseId,omitempty"`
	ThinkingLevel string          `json:"thinkingLevel,omitempty"`
	Diagnostics   json.RawMessage `json:"diagnostics,omitempty"`
	Usage         Usage           `json:"usage"`
	StopReason    StopReason      `json:"stopReason"`
	ErrorMessage  string          `json:"errorMessage,omitempty"`
	RawStopReason string          `json:"rawStopReason,omitempty"`
	Timestamp     int64           `json:"timestamp"`            // Unix milliseconds, start of the request
	DurationMs    int64           `json:"durationMs,omitempty"` // milliseconds
}

// ToolResult answers one tool call.
type ToolResult struct {
	ToolCallID string          `json:"toolCallId"`
	ToolName   string          `json:"toolName"`
	Content    Content         `json:"content"`
	Details    json.RawMessage `json:"details,omitempty"`
	IsError    bool            `json:"isError"`
	Timestamp  int64           `json:"timestamp"`            // Unix milliseconds
	DurationMs int64           `json:"durationMs,omitempty"` // milliseconds
}

// BashExecution is a shell command that the user ran, not the model.
type BashExecution struct {
	Command            string `json:"command"`
	Output             string `json:"output"`
	ExitCode           *int   `json:"exitCode,omitempty"`
	Cancelled          bool   `json:"cancelled"`
	Truncated          bool   `json:"truncated"`
	FullOutputPath     string `json:"fullOutputPath,omitempty"`
	ExcludeFromContext bool   `json:"excludeFromContext,omitempty"`
	Timestamp          int64  `json:"timestamp"` // Unix milliseconds
}

// Custom is a message of an extension; it is stored as a custom_message entry.
type Custom struct {
	CustomType string          `json:"customType"`
	Content    Content         `json:"content"`
	Display    bool            `json:"display"`
	Details    json.RawMessage `json:"details,omitempty"`
	Timestamp  int64           `json:"timestamp"` // Unix milliseconds
}

// BranchSummary stands for a branch that was left. It occurs only in a context.
type BranchSummary struct {
	Summary   string `json:"summary"`
	FromID    string `json:"fromId"`
	Timestamp int64  `json:"timestamp"` // Unix milliseconds
}

// CompactionSummary stands for the messages that a compaction left out. It
// occurs only in a context.
type CompactionSummary struct {
	Summary      string `json:"summary"`
	TokensBefore int64  `json:"tokensBefore"`
	Timestamp    int64  `json:"timestamp"` // Unix milliseconds
}

// Unknown is a message whose role pi does not have. It keeps its bytes and is
// never sent to a model.
type Unknown struct {
	Kind Role
	Raw  json.RawMessage
}

func (*System) Role() Role            { return RoleSystem }
func (*User) Role() Role              { return RoleUser }
func (*Assistant) Role() Role         { return RoleAssistant }
func (*ToolResult) Role() Role        { return RoleToolResult }
func (*BashExecution) Role() Role     { return RoleBashExecution }
func (*Custom) Role() Role            { return RoleCustom }
func (*BranchSummary) Role() Role     { return RoleBranchSummary }
func (*CompactionSummary) Role() Role { return RoleCompactionSummary }
func (m *Unknown) Role() Role         { return m.Kind }

func (*System) isMessage()            {}
func (*User) isMessage()              {}
func (*Assistant) isMessage()         {}
func (*ToolResult) isMessage()        {}
func (*BashExecution) isMessage()     {}
func (*Custom) isMessage()            {}
func (*BranchSummary) isMessage()     {}
func (*CompactionSummary) isMessage() {}
func (*Unknown) isMessage()           {}

// withRole writes the role first and the fields of the body after it, which is
// pi's key order. body must be a pointer to a plain struct without methods.
func withRole(role Role, body any) ([]byte, error) {
	fields, err := Marshal(body)
	if err != nil {
		return nil, err
	}
	head, err := Marshal(string(role))
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	buf.WriteString(`{"role":`)
	buf.Write(head)
	if len(fields) > 2 {
		buf.WriteByte(',')
	}
	buf.Write(fields[1:])
	return buf.Bytes(), nil
}

// The MarshalJSON methods write a message as pi stores it; see encode.go for those
// of every turn.

func (m *BashExecution) MarshalJSON() ([]byte, error) {
	type plain BashExecution
	return withRole(RoleBashExecution, (*plain)(m))
}

func (m *Custom) MarshalJSON() ([]byte, error) {
	type plain Custom
	return withRole(RoleCustom, (*plain)(m))
}

func (m *BranchSummary) MarshalJSON() ([]byte, error) {
	type plain BranchSummary
	return withRole(RoleBranchSummary, (*plain)(m))
}

func (m *CompactionSummary) MarshalJSON() ([]byte, error) {
	type plain CompactionSummary
	return withRole(RoleCompactionSummary, (*plain)(m))
}

func (m *Unknown) MarshalJSON() ([]byte, error) { return m.Raw, nil }
