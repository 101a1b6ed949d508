package modeltest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"testing"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/message"
)

// Answer is a stream put together.
type Answer struct {
	Blocks    []message.Block // in the order in which they began
	Usage     message.Usage   // the last one told
	Stops     int             // 1 for a whole answer
	Stop      message.StopReason
	RawReason string
	Err       error // what ended the stream, or a breach of the contract
}

// Text joins the text blocks.
func (a Answer) Text() string { return message.Content(a.Blocks).PlainText() }

// Collect reads a stream to its end and checks the order of its deltas: blocks
// are numbered without a gap, keep their kind, calls begin with id and name,
// nothing follows a stop or an error. A breach is put into Err.
func Collect(stream iter.Seq2[agent.Delta, error]) Answer {
	var a Answer
	breach := func(format string, args ...any) {
		if a.Err == nil {
			a.Err = fmt.Errorf("modeltest: "+format, args...)
		}
	}
	for d, err := range stream {
		switch {
		case a.Err != nil:
			// %v, so that the breach does not pass for the error before it.
			a.Err = fmt.Errorf("modeltest: %T, %v after the error %v", d, err, a.Err)
			continue
		case err != nil:
			a.Err = err
			continue
		case a.Stops > 0:
			breach("%T after the stop", d)
			continue
		}
		a.add(d, breach)
	}
	return a
}

func (a *Answer) add(d agent.Delta, breach func(string, ...any)) {
	switch d := d.(type) {
	case agent.TextDelta:
		if b := a.block(d.Index, message.TypeText, breach); b != nil {
			b.Text += d.Text
		}
	case agent.ThinkingDelta:
		if b := a.block(d.Index, message.TypeThinking, breach); b != nil {
			b.Thinking += d.Text
		}
	case agent.ToolCallDelta:
		begins := d.Index == len(a.Blocks)
		if begins != (d.ID != "") || begins != (d.Name != "") {
			breach("call %d: id %q and name %q belong to its first delta", d.Index, d.ID, d.Name)
		}
		b := a.block(d.Index, message.TypeToolCall, breach)
		if b == nil {
			return
		}
		if begins {
			b.ID, b.Name = d.ID, d.Name
		}
		b.Arguments = append(b.Arguments, d.Arguments...)
	case agent.SignatureDelta:
		if d.Index < 0 || d.Index >= len(a.Blocks) || a.Blocks[d.Index].Type == message.TypeThinking || d.Signature == "" {
			breach("signature %q of block %d, which has none", d.Signature, d.Index)
		}
	case agent.UsageDelta:
		a.Usage = d.Usage
	case agent.Stop:
		a.Stops++
		a.Stop, a.RawReason = d.Reason, d.RawReason
		switch d.Reason {
		case message.StopEnd, message.StopLength, message.StopToolUse:
		default:
			breach("stop with reason %q", d.Reason)
		}
	default:
		breach("unknown delta %T", d)
	}
}

// block returns block i, new if it is the next one.
func (a *Answer) block(i int, kind string, breach func(string, ...any)) *message.Block {
	if i == len(a.Blocks) {
		a.Blocks = append(a.Blocks, message.Block{Type: kind})
	}
	if i < 0 || i >= len(a.Blocks) {
		breach("block %d after %d blocks", i, len(a.Blocks))
		return nil
	}
	if a.Blocks[i].Type != kind {
		breach("block %d is %s and got %s", i, a.Blocks[i].Type, kind)
		return nil
	}
	return &a.Blocks[i]
}

// Ask sends a request under the test's context and collects the answer.
func Ask(tb testing.TB, m agent.Model, req agent.Request) Answer {
	tb.Helper()
	return AskContext(tb.Context(), tb, m, req)
}

// AskContext is Ask under another context.
func AskContext(ctx context.Context, tb testing.TB, m agent.Model, req agent.Request) Answer {
	tb.Helper()
	return Collect(m.Stream(ctx, req))
}

// UserRequest is a request of one user message.
func UserRequest(text string) agent.Request {
	return agent.Request{Messages: []message.Message{&message.User{Content: message.Content{message.Text(text)}}}}
}

// fullRequest has a bit of everything that a request may hold.
func fullRequest() agent.Request {
	return agent.Request{
		Head: []byte("head\n"),
		Messages: []message.Message{
			&message.User{Content: message.Content{message.Text("look at both")}},
			&message.Assistant{
				API: "offline", Provider: "offline", Model: "echo", StopReason: message.StopToolUse,
				Content: message.Content{
					{Type: message.TypeThinking, Thinking: "two files", ThinkingSignature: "sig"},
					message.Text("I look."),
					message.ToolCall("call_1", "zeta", json.RawMessage(`{"b":1, "a":2}`)),
					message.ToolCall("call_2", "alpha", json.RawMessage(`{}`)),
				},
			},
			&message.ToolResult{ToolCallID: "call_1", ToolName: "zeta", Content: message.Content{message.Text("one")}},
			&message.ToolResult{ToolCallID: "call_2", ToolName: "alpha", IsError: true, Content: message.Content{message.Text("no")}},
			&message.User{Content: message.Content{message.Text("and now?")}},
		},
		Tools: []message.ToolDeclaration{
			{Name: "zeta", Description: "the last letter", Parameters: json.RawMessage(`{"type":"object","properties":{"b":{"type":"number"}}}`)},
			{Name: "alpha", Description: "the first letter", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)},
		},
		Thinking: "off",
	}
}
