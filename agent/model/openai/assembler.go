package openai

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"
	"github.com/tidwall/gjson"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model/wire"
	"github.com/piweb-go/piweb/message"
)

// assembler turns the chunks of one answer into deltas. It numbers the blocks: a
// text or a thought goes on in its block until another kind begins; calls keep
// theirs while their fragments interleave.
type assembler struct {
	client *client
	yield  wire.Yield

	blocks int         // how many have begun
	open   int         // index of the text or thinking block that goes on
	kind   string      // its type, "" for none
	calls  []*openCall // in the order in which they began
	ids    wire.CallIDs

	finish     string // the provider's word
	id, model  string
	usage      message.Usage
	usageKnown bool
}

// openCall is a call whose fragments arrive.
type openCall struct {
	slot      int64 // the provider's index
	id, name  string
	begun     bool   // its first delta is out
	block     int    // known once begun
	arguments string // what came before the name
}

// Finished says that the provider ended the answer.
func (a *assembler) Finished() bool { return a.finish != "" }

// chunk takes one event; false ends the stream.
func (a *assembler) chunk(c openai.ChatCompletionChunk) bool {
	if a.id == "" {
		a.id = c.ID
	}
	if a.model == "" && c.Model != a.client.info.ID {
		a.model = c.Model
	}
	usage := c.JSON.Usage.Raw()
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue // only one answer was asked for
		}
		if !a.delta(choice.Delta) {
			return false
		}
		if choice.FinishReason != "" {
			a.finish = choice.FinishReason
		}
		if f, ok := choice.JSON.ExtraFields["usage"]; ok && !c.JSON.Usage.Valid() {
			usage = f.Raw() // some servers count inside the choice
		}
	}
	return a.count(usage)
}

func (a *assembler) delta(d openai.ChatCompletionChunkChoiceDelta) bool {
	if text, field := thought(d.JSON.ExtraFields); text != "" {
		first := a.goOn(message.TypeThinking)
		delta := agent.ThinkingDelta{Index: a.open, Text: text}
		if first {
			delta.Signature = field // pi keeps the field's name here and so do we
		}
		if !a.yield(delta) {
			return false
		}
	}
	for _, text := range []string{d.Content, d.Refusal} {
		if text == "" {
			continue
		}
		a.goOn(message.TypeText)
		if !a.yield(agent.TextDelta{Index: a.open, Text: text}) {
			return false
		}
	}
	for _, c := range d.ToolCalls {
		if !a.call(c.Index, c.ID, c.Function.Name, c.Function.Arguments) {
			return false
		}
	}
	if f := d.FunctionCall; f.Name != "" || f.Arguments != "" {
		return a.call(-1, "", f.Name, f.Arguments) // the form before tool calls
	}
	return true
}

// thought finds the fields in which servers send thinking; where one sends it
// twice, the first counts.
func thought(extra map[string]respjson.Field) (text, field string) {
	for _, name := range []string{"reasoning_content", "reasoning", "reasoning_text"} {
		f, ok := extra[name]
		if !ok {
			continue
		}
		if json.Unmarshal([]byte(f.Raw()), &text) == nil && text != "" {
			return text, name
		}
	}
	return "", ""
}

// goOn makes sure that a block of that kind is open, and says whether it is new.
func (a *assembler) goOn(kind string) bool {
	if a.kind == kind {
		return false
	}
	a.kind, a.open = kind, a.blocks
	a.blocks++
	return true
}

func (a *assembler) call(slot int64, id, name, arguments string) bool {
	c := a.openCall(slot, id)
	if c.begun {
		if arguments == "" {
			return true
		}
		return a.yield(agent.ToolCallDelta{Index: c.block, Arguments: arguments})
	}
	if c.id == "" {
		c.id = id
	}
	c.name += name
	c.arguments += arguments
	if c.name == "" {
		return true // the name is still on its way
	}
	return a.begin(c)
}

// openCall finds the call that a fragment belongs to. A new id under a known
// index is a new call: some servers number all calls 0.
func (a *assembler) openCall(slot int64, id string) *openCall {
	for i := len(a.calls) - 1; i >= 0; i-- {
		if c := a.calls[i]; c.slot == slot && (id == "" || c.id == "" || c.id == id) {
			return c
		}
	}
	c := &openCall{slot: slot, id: id}
	a.calls = append(a.calls, c)
	return c
}

func (a *assembler) begin(c *openCall) bool {
	a.kind = "" // text behind a call is a new block
	c.begun, c.block = true, a.blocks
	a.blocks++
	return a.yield(agent.ToolCallDelta{Index: c.block, ID: a.ids.Take(c.id), Name: c.name, Arguments: c.arguments})
}

// count reports the tokens if they changed.
func (a *assembler) count(raw string) bool {
	if raw == "" || raw == "null" {
		return true
	}
	u := readUsage(raw)
	if a.usageKnown && u == a.usage {
		return true
	}
	a.usage, a.usageKnown = u, true
	return a.yield(agent.UsageDelta{Usage: u})
}

// readUsage reads the counts of the wire, which contain the cached tokens in the
// input, into ours, which do not. Servers disagree on where the cached ones
// stand.
func readUsage(raw string) message.Usage {
	number := func(paths ...string) int64 {
		for _, p := range paths {
			if r := gjson.Get(raw, p); r.Type == gjson.Number {
				return max(0, r.Int())
			}
		}
		return 0
	}
	in, out, total := number("prompt_tokens"), number("completion_tokens"), number("total_tokens")
	u := message.Usage{
		Output:     out,
		CacheRead:  number("prompt_tokens_details.cached_tokens", "prompt_cache_hit_tokens", "cached_tokens"),
		CacheWrite: number("prompt_tokens_details.cache_write_tokens"),
		Reasoning:  number("completion_tokens_details.reasoning_tokens"),
	}
	if u.Reasoning > 0 && total == in+out+u.Reasoning {
		u.Output += u.Reasoning // this server counts them apart; we do not
	}
	u.Input = max(0, in-u.CacheRead-u.CacheWrite)
	u.TotalTokens = u.Input + u.Output + u.CacheRead + u.CacheWrite
	return u
}

// End says how the answer ended: with a stop, with the provider's failure, or,
// for an answer that was cut, with nothing.
func (a *assembler) End() error {
	if !a.Finished() && (a.client.dialect.finish || a.blocks == 0) {
		return nil
	}
	for _, c := range a.calls {
		if !c.begun {
			return errNamelessCall
		}
	}
	end := wire.Whole // stop, tool_calls, function_call and words we do not know
	switch a.finish {
	case "length", "max_tokens":
		end = wire.Short
	case "content_filter":
		end = wire.Withheld
	case "error", "network_error":
		return fmt.Errorf("the provider ended the answer with %q", a.finish)
	}
	a.yield(agent.Stop{Reason: end.Reason(len(a.calls)), RawReason: a.finish, ResponseID: a.id, ResponseModel: a.model})
	return nil
}

var errNamelessCall = errors.New("the answer holds a tool call without a name")
