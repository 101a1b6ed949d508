package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/piweb-go/piweb/message"
)

// assembler puts an answer together from its deltas and tells about each step.
type assembler struct {
	info   ModelInfo
	msg    *message.Assistant
	blocks map[int]int // a delta's index → place in msg.Content
	args   map[int]*bytes.Buffer
	texts  map[int]*strings.Builder // of text and thinking, by place: an answer comes in many pieces
	ids    callIDs                  // of the conversation
	open   int                      // place of the text or thinking block that grows, -1 for none
	stop   *Stop
	emit   func(Event)
}

func newAssembler(info ModelInfo, thinking string, ids callIDs, start time.Time, emit func(Event)) *assembler {
	return &assembler{
		info: info, ids: ids, blocks: map[int]int{}, args: map[int]*bytes.Buffer{}, texts: map[int]*strings.Builder{}, open: -1, emit: emit,
		msg: &message.Assistant{API: info.API, Provider: info.Provider, Model: info.ID, ThinkingLevel: thinking,
			StopReason: message.StopPending, Timestamp: start.UnixMilli(), Content: message.Content{}},
	}
}

// block finds or begins the block of an index. Fragments of several calls may
// come interleaved, so a call stays open until the answer ends; text and
// thinking end where the next block begins.
func (a *assembler) block(index int, typ string) (place int, begins bool) {
	if place, ok := a.blocks[index]; ok && a.msg.Content[place].Type == typ {
		return place, false
	}
	a.closeBlock()
	place = len(a.msg.Content)
	a.msg.Content = append(a.msg.Content, message.Block{Type: typ})
	a.blocks[index] = place
	if typ != message.TypeToolCall {
		a.open = place
	}
	return place, true
}

// wire names a block type in events.
func wire(typ string) string {
	if typ == message.TypeToolCall {
		return "toolcall"
	}
	return typ
}

func (a *assembler) update(u Update) {
	usage := a.msg.Usage
	a.emit(Event{Type: MessageEvent, Update: &u, Usage: &usage})
}

// closeBlock ends the text or thinking block that grows.
func (a *assembler) closeBlock() {
	if a.open < 0 {
		return
	}
	a.tellEnd(a.open)
	a.open = -1
}

// closeCalls ends the calls: their arguments are whole now, or as whole as they
// will be.
func (a *assembler) closeCalls() {
	for place := range a.msg.Content {
		if text, ok := a.args[place]; ok {
			b := &a.msg.Content[place]
			b.Arguments, b.ArgumentsError = parseArguments(text.Bytes())
			a.tellEnd(place)
		}
	}
}

func (a *assembler) tellEnd(place int) {
	a.settle(place)
	whole := a.msg.Content[place]
	a.update(Update{Type: wire(whole.Type) + "_end", ContentIndex: place, Block: &whole})
}

// parseArguments wants a JSON object. Anything else is kept as an error for the
// model to see, and the call gets no arguments.
func parseArguments(text []byte) (args json.RawMessage, problem string) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return json.RawMessage("{}"), ""
	}
	if text[0] != '{' || !json.Valid(text) {
		return json.RawMessage("{}"), fmt.Sprintf("the arguments are not a JSON object: %.200q", text)
	}
	return bytes.Clone(text), ""
}

func (a *assembler) add(d Delta) {
	switch d := d.(type) {
	case TextDelta:
		a.grow(d.Index, message.TypeText, d.Text, "")
	case ThinkingDelta:
		place := a.grow(d.Index, message.TypeThinking, d.Text, d.Signature)
		a.msg.Content[place].Redacted = a.msg.Content[place].Redacted || d.Redacted
	case ToolCallDelta:
		a.growCall(d)
	case SignatureDelta:
		a.sign(d)
	case UsageDelta:
		a.msg.Usage = priced(d.Usage, a.info.Cost)
	case Stop:
		a.stop = &d
	}
}

func (a *assembler) grow(index int, typ, text, signature string) (place int) {
	place, begins := a.block(index, typ)
	if begins {
		a.update(Update{Type: typ + "_start", ContentIndex: place})
	}
	b := &a.msg.Content[place]
	if a.texts[place] == nil {
		a.texts[place] = &strings.Builder{}
	}
	a.texts[place].WriteString(text)
	if typ == message.TypeThinking && signature != "" {
		b.ThinkingSignature = signature
	}
	if text != "" {
		a.update(Update{Type: typ + "_delta", ContentIndex: place, Delta: text})
	}
	return place
}

// settle puts the text so far into its block.
func (a *assembler) settle(place int) {
	text, ok := a.texts[place]
	if !ok {
		return
	}
	if b := &a.msg.Content[place]; b.Type == message.TypeText {
		b.Text = text.String()
	} else {
		b.Thinking = text.String()
	}
}

func (a *assembler) growCall(d ToolCallDelta) {
	place, begins := a.block(d.Index, message.TypeToolCall)
	b := &a.msg.Content[place]
	if begins {
		a.args[place] = &bytes.Buffer{}
		b.ID, b.Name = a.ids.take(d.ID), d.Name
		a.update(Update{Type: "toolcall_start", ContentIndex: place, ID: b.ID, ToolName: d.Name})
	} else if b.Name == "" {
		b.Name = d.Name
	}
	if d.Arguments != "" {
		a.args[place].WriteString(d.Arguments)
		a.update(Update{Type: "toolcall_delta", ContentIndex: place, Delta: d.Arguments})
	}
}

// sign keeps the provider's mark of a block; a block that has not begun has none.
func (a *assembler) sign(d SignatureDelta) {
	place, ok := a.blocks[d.Index]
	if !ok {
		return
	}
	switch b := &a.msg.Content[place]; b.Type {
	case message.TypeText:
		b.TextSignature = d.Signature
	case message.TypeToolCall:
		b.ThoughtSignature = d.Signature
	}
}

// longWrite is what it costs to write what a cache keeps for an hour, in prices of
// input. It holds for tiers, too.
const longWrite = 2

func priced(u message.Usage, p Price) message.Usage {
	const million = 1e6
	p = p.of(u)
	u.Cost.Input = float64(u.Input) * p.Input / million
	u.Cost.Output = float64(u.Output) * p.Output / million
	u.Cost.CacheRead = float64(u.CacheRead) * p.CacheRead / million
	long := min(max(u.CacheWrite1h, 0), u.CacheWrite) // a part of it, whatever a provider says
	u.Cost.CacheWrite = (float64(u.CacheWrite-long)*p.CacheWrite + float64(long)*longWrite*p.Input) / million
	u.Cost.Total = u.Cost.Input + u.Cost.Output + u.Cost.CacheRead + u.Cost.CacheWrite
	if u.TotalTokens == 0 {
		u.TotalTokens = u.Input + u.Output + u.CacheRead + u.CacheWrite
	}
	return u
}

// finish ends the answer: as the model ended it, as aborted, or as failed.
func (a *assembler) finish(ctx context.Context, err error) *message.Assistant {
	a.closeBlock()
	a.closeCalls()
	for place := range a.texts {
		a.settle(place) // one may have grown after its end was told
	}
	m := a.msg
	switch {
	case ctx.Err() != nil:
		m.StopReason, m.ErrorMessage = message.StopAborted, "the request was aborted"
	case err != nil:
		m.StopReason, m.ErrorMessage = message.StopError, err.Error()
	default:
		m.StopReason, m.RawStopReason = a.stop.Reason, a.stop.RawReason
		m.ResponseID, m.ResponseModel = a.stop.ResponseID, a.stop.ResponseModel
		if m.StopReason == message.StopEnd && len(m.Content.ToolCalls()) > 0 {
			m.StopReason = message.StopToolUse
		}
	}
	if m.StopReason == message.StopError && errors.Is(err, context.DeadlineExceeded) {
		m.ErrorMessage = "the provider did not answer in time: " + m.ErrorMessage
	}
	return m
}
