package google

import (
	"errors"
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model/wire"
	"github.com/piweb-go/piweb/message"
)

// reader turns the events of one answer into deltas. The wire sends parts without
// numbers: a text or a thought goes on in its block until another kind begins.
type reader struct {
	client *client
	yield  wire.Yield

	blocks int
	open   int    // index of the text or thinking block that goes on
	kind   string // its type, "" for none
	ids    wire.CallIDs
	calls  int
	broken error // a call that cannot be run

	finish, words string // why the answer ended, and what the provider says of it
	id, model     string
	usage         message.Usage
	told          bool // the usage
}

// Event takes one chunk of the answer.
func (r *reader) Event(e wire.Event) (more bool, err error) {
	if !gjson.ValidBytes(e.Data) {
		return false, errors.New("an event of the answer cannot be read: it is not JSON")
	}
	if e.Mark() {
		return false, r.client.StreamRefusal(e.Data)
	}
	v := gjson.ParseBytes(e.Data)
	if id := v.Get("responseId").Str; id != "" {
		r.id = id
	}
	if name := v.Get("modelVersion").Str; name != "" && name != r.client.Endpoint.Info.ID {
		r.model = name
	}
	if why := v.Get("promptFeedback.blockReason").Str; why != "" {
		return false, fmt.Errorf("the provider refused the request: %s", why)
	}
	for _, c := range v.Get("candidates").Array() {
		if c.Get("index").Int() != 0 {
			continue // only one answer was asked for
		}
		for _, p := range c.Get("content.parts").Array() {
			if !r.part(p) {
				return false, nil
			}
		}
		if word := c.Get("finishReason").Str; word != "" {
			r.finish, r.words = word, c.Get("finishMessage").Str
		}
	}
	return r.count(v.Get("usageMetadata")), nil
}

func (r *reader) part(p gjson.Result) bool {
	signature := p.Get("thoughtSignature").Str
	if call := p.Get("functionCall"); call.IsObject() {
		return r.call(call, signature)
	}
	if t := p.Get("text"); t.Type == gjson.String {
		if p.Get("thought").Bool() {
			return r.say(message.TypeThinking, t.Str, signature)
		}
		return r.say(message.TypeText, t.Str, signature)
	}
	return true // parts of another kind are passed over
}

// say adds to a text or a thought. An empty one with a signature belongs to what
// is open, and is nothing where nothing is.
func (r *reader) say(kind, text, signature string) bool {
	if text == "" && (signature == "" || r.kind == "") {
		return true
	}
	if text != "" && r.kind != kind {
		r.kind, r.open = kind, r.blocks
		r.blocks++
	}
	if r.kind == message.TypeThinking {
		return r.yield(agent.ThinkingDelta{Index: r.open, Text: text, Signature: signature})
	}
	if text != "" && !r.yield(agent.TextDelta{Index: r.open, Text: text}) {
		return false
	}
	return signature == "" || r.yield(agent.SignatureDelta{Index: r.open, Signature: signature})
}

// call is a whole one; the wire does not send them in pieces.
func (r *reader) call(c gjson.Result, signature string) bool {
	name := c.Get("name").Str
	if name == "" {
		r.broken = errors.New("the answer holds a tool call without a name")
		return true
	}
	at := r.blocks
	r.blocks++
	r.calls++
	r.kind = "" // text behind a call is a new block
	call := agent.ToolCallDelta{Index: at, ID: r.ids.Take(c.Get("id").Str), Name: name}
	switch args := c.Get("args"); args.Type {
	case gjson.Null:
	case gjson.String:
		call.Arguments = args.Str // what some gateways could not read
	default:
		call.Arguments = args.Raw
	}
	if !r.yield(call) {
		return false
	}
	return signature == "" || r.yield(agent.SignatureDelta{Index: at, Signature: signature})
}

// count reports the tokens if they changed. The wire counts thoughts apart from
// the output, and cached tokens into the input.
func (r *reader) count(u gjson.Result) bool {
	if !u.IsObject() {
		return true
	}
	number := func(path string) int64 { return max(0, u.Get(path).Int()) }
	now := message.Usage{CacheRead: number("cachedContentTokenCount"), Reasoning: number("thoughtsTokenCount")}
	now.Input = max(0, number("promptTokenCount")+number("toolUsePromptTokenCount")-now.CacheRead)
	now.Output = number("candidatesTokenCount") + now.Reasoning
	now.TotalTokens = now.Input + now.Output + now.CacheRead
	if r.told && now == r.usage {
		return true
	}
	r.usage, r.told = now, true
	return r.yield(agent.UsageDelta{Usage: now})
}

// Finished says that the provider ended the answer.
func (r *reader) Finished() bool { return r.finish != "" }

// End says how the answer ended; nothing for one that was cut.
func (r *reader) End() error {
	if !r.Finished() {
		return nil
	}
	if r.broken != nil {
		return r.broken
	}
	var end wire.End
	switch r.finish {
	case "STOP", "FINISH_REASON_UNSPECIFIED":
		end = wire.Whole
	case "MAX_TOKENS":
		end = wire.Short
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY":
		end = wire.Withheld
	default: // MALFORMED_FUNCTION_CALL, UNEXPECTED_TOOL_CALL, OTHER and what comes to be
		if r.words != "" {
			return fmt.Errorf("the provider ended the answer with %q: %s", r.finish, r.words)
		}
		return fmt.Errorf("the provider ended the answer with %q", r.finish)
	}
	r.yield(agent.Stop{Reason: end.Reason(r.calls), RawReason: r.finish, ResponseID: r.id, ResponseModel: r.model})
	return nil
}
