package anthropic

import (
	"errors"
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model/wire"
	"github.com/piweb-go/piweb/message"
)

// reader turns the events of one answer into deltas. A block begins with the
// first delta that says something, so that empty ones leave no trace.
type reader struct {
	client *client
	yield  wire.Yield

	blocks int // how many have begun
	open   map[int64]*block
	ids    wire.CallIDs
	calls  int
	broken error // a call that cannot be run

	stop      string // the provider's word
	id, model string
	usage     message.Usage
	told      bool // the usage
}

// block is a block of the wire that is under way.
type block struct {
	kind      string
	index     int
	begun     bool
	signature string // as far as it came
}

// Event takes one event of the stream.
func (r *reader) Event(e wire.Event) (more bool, err error) {
	if !gjson.ValidBytes(e.Data) {
		return false, errors.New("an event of the answer cannot be read: it is not JSON")
	}
	v := gjson.ParseBytes(e.Data)
	switch kind := v.Get("type").Str; {
	case kind == "error" || e.Mark():
		return false, r.failure(e.Data)
	case kind == "message_start":
		m := v.Get("message")
		r.id = m.Get("id").Str
		if name := m.Get("model").Str; name != r.client.Endpoint.Info.ID {
			r.model = name
		}
		return r.count(m.Get("usage")), nil
	case kind == "content_block_start":
		return r.start(v.Get("index").Int(), v.Get("content_block")), nil
	case kind == "content_block_delta":
		return r.delta(v.Get("index").Int(), v.Get("delta")), nil
	case kind == "message_delta":
		if word := v.Get("delta.stop_reason").Str; word != "" {
			r.stop = word
		}
		return r.count(v.Get("usage")), nil
	case kind == "message_stop":
		return false, nil
	}
	return true, nil // ping, content_block_stop, and what comes to be
}

// failure reads an error of the stream. The wire tells a word where a refusal has
// a status; the loop decides by statuses.
func (r *reader) failure(data []byte) error {
	err := r.client.StreamRefusal(data)
	var refusal *agent.RequestError
	if errors.As(err, &refusal) && refusal.Status == 0 {
		refusal.Status = map[string]int{
			"invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
			"not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429,
			"api_error": 500, "timeout_error": 504, "overloaded_error": 529,
		}[gjson.GetBytes(data, "error.type").Str]
	}
	return err
}

func (r *reader) start(at int64, b gjson.Result) bool {
	if r.open == nil {
		r.open = map[int64]*block{}
	}
	now := &block{kind: b.Get("type").Str}
	r.open[at] = now
	switch now.kind {
	case "text":
		return r.text(now, b.Get("text").Str)
	case "thinking":
		now.signature = b.Get("signature").Str
		return r.think(now, b.Get("thinking").Str, now.signature)
	case "redacted_thinking":
		r.begin(now)
		return r.yield(agent.ThinkingDelta{Index: now.index, Text: redactedText, Signature: b.Get("data").Str, Redacted: true})
	case "tool_use":
		name := b.Get("name").Str
		if name == "" {
			r.broken = errors.New("the answer holds a tool call without a name")
			return true
		}
		r.begin(now)
		r.calls++
		call := agent.ToolCallDelta{Index: now.index, ID: r.ids.Take(b.Get("id").Str), Name: name}
		// Some servers send the whole input here and no deltas.
		if input := b.Get("input"); input.IsObject() && len(input.Map()) > 0 {
			call.Arguments = input.Raw
		}
		return r.yield(call)
	}
	return true // a block of another kind is passed over
}

// redactedText is what pi shows for a thought that the provider hides.
const redactedText = "[Reasoning redacted]"

func (r *reader) delta(at int64, d gjson.Result) bool {
	now := r.open[at]
	if now == nil {
		return true
	}
	switch d.Get("type").Str {
	case "text_delta":
		return now.kind != "text" || r.text(now, d.Get("text").Str)
	case "thinking_delta":
		return now.kind != "thinking" || r.think(now, d.Get("thinking").Str, "")
	case "signature_delta":
		now.signature += d.Get("signature").Str
		return now.kind != "thinking" || r.think(now, "", now.signature)
	case "input_json_delta":
		part := d.Get("partial_json").Str
		if !now.begun || now.kind != "tool_use" || part == "" {
			return true
		}
		return r.yield(agent.ToolCallDelta{Index: now.index, Arguments: part})
	}
	return true
}

func (r *reader) begin(b *block) {
	if !b.begun {
		b.begun, b.index = true, r.blocks
		r.blocks++
	}
}

func (r *reader) text(b *block, text string) bool {
	if text == "" {
		return true
	}
	r.begin(b)
	return r.yield(agent.TextDelta{Index: b.index, Text: text})
}

func (r *reader) think(b *block, text, signature string) bool {
	if text == "" && signature == "" {
		return true
	}
	r.begin(b)
	return r.yield(agent.ThinkingDelta{Index: b.index, Text: text, Signature: signature})
}

// count reports the tokens. The last event tells those of the output, and may
// repeat the others or leave them out.
func (r *reader) count(u gjson.Result) bool {
	if !u.IsObject() {
		return true
	}
	now := r.usage
	set := func(to *int64, path string) {
		if n := u.Get(path); n.Type == gjson.Number {
			*to = max(0, n.Int())
		}
	}
	set(&now.Input, "input_tokens")
	set(&now.Output, "output_tokens")
	set(&now.CacheRead, "cache_read_input_tokens")
	set(&now.CacheWrite, "cache_creation_input_tokens")
	set(&now.CacheWrite1h, "cache_creation.ephemeral_1h_input_tokens")
	set(&now.Reasoning, "output_tokens_details.thinking_tokens")
	now.TotalTokens = now.Input + now.Output + now.CacheRead + now.CacheWrite
	if r.told && now == r.usage {
		return true
	}
	r.usage, r.told = now, true
	return r.yield(agent.UsageDelta{Usage: now})
}

// Finished says that the provider ended the answer.
func (r *reader) Finished() bool { return r.stop != "" }

// End says how the answer ended; nothing for one that was cut.
func (r *reader) End() error {
	if !r.Finished() {
		return nil
	}
	if r.broken != nil {
		return r.broken
	}
	end := wire.Whole // end_turn, tool_use, stop_sequence, pause_turn and words we do not know
	switch r.stop {
	case "max_tokens", "model_context_window_exceeded":
		end = wire.Short
	case "refusal":
		end = wire.Withheld
	case "error":
		return fmt.Errorf("the provider ended the answer with %q", r.stop)
	}
	r.yield(agent.Stop{Reason: end.Reason(r.calls), RawReason: r.stop, ResponseID: r.id, ResponseModel: r.model})
	return nil
}
