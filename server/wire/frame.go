package wire

import (
	"encoding/json"

	"github.com/piweb-go/piweb/message"
)

// ProtocolVersion is the version of the client's protocol, in every frame and in
// every answer of the API.
const ProtocolVersion = "0.1.0"

// Kind says what a frame carries. It is the event name of the stream.
type Kind string

// The kinds of frames.
const (
	KindChunk   Kind = "uiMessageChunk"
	KindControl Kind = "control"
)

// Frame is one message to a client: a chunk or a control.
type Frame struct {
	Chunk   *Chunk
	Control Control
	// Own marks a frame outside the client's vocabulary. It goes only to readers
	// that asked for piweb's own controls.
	Own bool
}

// Kind tells what the frame carries.
func (f Frame) Kind() Kind {
	if f.Chunk != nil {
		return KindChunk
	}
	return KindControl
}

// Terminal tells whether the frame ends a turn.
func (f Frame) Terminal() bool {
	return f.Chunk != nil && (f.Chunk.Type == Finish || f.Chunk.Type == Abort)
}

// Starts tells whether the frame begins a turn.
func (f Frame) Starts() bool { return f.Chunk != nil && f.Chunk.Type == Start }

// Sticky tells whether a newer frame of the same sort makes this one worthless:
// clients get the newest when they come, and never an old one.
func (f Frame) Sticky() bool {
	switch f.Control.(type) {
	case Status, State, Queue, Ask, Shared:
		return true
	}
	return false
}

// MarshalJSON writes the frame as the data of one event, on one line.
func (f Frame) MarshalJSON() ([]byte, error) {
	if f.Chunk != nil {
		return message.Marshal(struct {
			Kind    Kind   `json:"kind"`
			Version string `json:"protocolVersion"`
			Chunk   *Chunk `json:"chunk"`
		}{KindChunk, ProtocolVersion, f.Chunk})
	}
	return message.Marshal(struct {
		Kind    Kind    `json:"kind"`
		Version string  `json:"protocolVersion"`
		Payload Control `json:"payload"`
	}{KindControl, ProtocolVersion, f.Control})
}

// ChunkType names a piece of an answer.
type ChunkType string

// The chunks that the client understands.
const (
	Start           ChunkType = "start"
	StartStep       ChunkType = "start-step"
	TextStart       ChunkType = "text-start"
	TextDelta       ChunkType = "text-delta"
	TextEnd         ChunkType = "text-end"
	ReasoningStart  ChunkType = "reasoning-start"
	ReasoningDelta  ChunkType = "reasoning-delta"
	ReasoningEnd    ChunkType = "reasoning-end"
	ToolInput       ChunkType = "tool-input-available"
	ToolOutput      ChunkType = "tool-output-available"
	ToolOutputError ChunkType = "tool-output-error"
	QueueData       ChunkType = "data-pi-queue"
	RetryData       ChunkType = "data-pi-auto-retry"
	CompactionData  ChunkType = "data-pi-compaction"
	FinishStep      ChunkType = "finish-step"
	Finish          ChunkType = "finish"
	Abort           ChunkType = "abort"
	Error           ChunkType = "error"
)

// Chunk is a piece of an answer. Which fields are set depends on the type.
type Chunk struct {
	Type        ChunkType       `json:"type"`
	ID          string          `json:"id,omitempty"` // of the part
	Delta       string          `json:"delta,omitempty"`
	ToolCallID  string          `json:"toolCallId,omitempty"`
	ToolName    string          `json:"toolName,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`
	Output      any             `json:"output,omitempty"`
	Preliminary bool            `json:"preliminary,omitempty"` // a later output of the same call replaces it
	IsError     *bool           `json:"isError,omitempty"`
	ErrorText   string          `json:"errorText,omitempty"`
	Data        any             `json:"data,omitempty"`
}

func chunk(t ChunkType) Frame { return Frame{Chunk: &Chunk{Type: t}} }

func part(t ChunkType, id string) Frame { return Frame{Chunk: &Chunk{Type: t, ID: id}} }

func failure(text string) Frame { return Frame{Chunk: &Chunk{Type: Error, ErrorText: text}} }
