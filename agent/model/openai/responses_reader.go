package openai

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model/wire"
	"github.com/piweb-go/piweb/message"
)

// responseReader turns the events of one answer into deltas. The wire's items
// become blocks in the order in which they first say something.
type responseReader struct {
	client *responder
	yield  wire.Yield

	blocks int
	items  map[int64]*responseItem // by the wire's number
	ids    wire.CallIDs
	calls  int
	broken error // a call that cannot be run

	id, model string
	status    string // of the whole answer, "" before its end
	reason    string // why it is incomplete
}

// responseItem is an item of the answer that is under way.
type responseItem struct {
	kind  string // reasoning, message, function_call
	index int
	begun bool
	said  bool   // text or arguments came
	gap   string // goes before the next text: the end of a part
}

// Event takes one event of the stream.
func (r *responseReader) Event(e wire.Event) (more bool, err error) {
	if string(e.Data) == "[DONE]" {
		return false, nil
	}
	if !gjson.ValidBytes(e.Data) {
		return false, errors.New("an event of the answer cannot be read: it is not JSON")
	}
	v := gjson.ParseBytes(e.Data)
	kind := v.Get("type").Str
	if kind == "error" || kind == "" && e.Mark() {
		return false, r.client.StreamRefusal(e.Data)
	}
	at := v.Get("output_index").Int()
	switch strings.TrimPrefix(kind, "response.") {
	case "created":
		r.id = v.Get("response.id").Str
	case "output_item.added":
		return r.added(at, v.Get("item")), nil
	case "output_item.done":
		return r.done(at, v.Get("item")), nil
	case "reasoning_summary_text.delta", "reasoning_text.delta":
		return r.thought(r.item(at, "reasoning"), v.Get("delta").Str), nil
	case "reasoning_summary_part.done":
		r.item(at, "reasoning").gap = "\n\n"
	case "output_text.delta", "refusal.delta":
		return r.text(r.item(at, "message"), v.Get("delta").Str), nil
	case "function_call_arguments.delta":
		return r.arguments(r.item(at, "function_call"), v.Get("delta").Str), nil
	case "completed", "incomplete", "done":
		return false, r.over(v.Get("response"))
	case "failed":
		return false, r.failed(v.Get("response"))
	}
	return true, nil // the other events repeat what these tell
}

func (r *responseReader) item(at int64, kind string) *responseItem {
	if r.items == nil {
		r.items = map[int64]*responseItem{}
	}
	i := r.items[at]
	if i == nil || i.kind != kind {
		i = &responseItem{kind: kind}
		r.items[at] = i
	}
	return i
}

func (r *responseReader) begin(i *responseItem) {
	if !i.begun {
		i.begun, i.index = true, r.blocks
		r.blocks++
	}
}

func (r *responseReader) added(at int64, item gjson.Result) bool {
	if item.Get("type").Str != "function_call" {
		return true // the others begin with what they say
	}
	return r.call(r.item(at, "function_call"), item)
}

// call begins a call. Its id joins that of the call and that of the item, as pi
// keeps them.
func (r *responseReader) call(i *responseItem, item gjson.Result) bool {
	name := item.Get("name").Str
	if name == "" {
		r.broken = errNamelessCall
		return true
	}
	r.begin(i)
	r.calls++
	id := r.ids.Take(item.Get("call_id").Str)
	if own := item.Get("id").Str; own != "" {
		id += "|" + own
	}
	if !r.yield(agent.ToolCallDelta{Index: i.index, ID: id, Name: name}) {
		return false
	}
	return r.arguments(i, item.Get("arguments").Str)
}

func (r *responseReader) arguments(i *responseItem, text string) bool {
	if !i.begun || text == "" {
		return true
	}
	i.said = true
	return r.yield(agent.ToolCallDelta{Index: i.index, Arguments: text})
}

func (r *responseReader) thought(i *responseItem, text string) bool {
	if text == "" {
		return true
	}
	r.begin(i)
	text, i.gap, i.said = i.gap+text, "", true
	return r.yield(agent.ThinkingDelta{Index: i.index, Text: text})
}

func (r *responseReader) text(i *responseItem, text string) bool {
	if text == "" {
		return true
	}
	r.begin(i)
	i.said = true
	return r.yield(agent.TextDelta{Index: i.index, Text: text})
}

// done takes a whole item: what did not come in pieces, and what has to go back.
func (r *responseReader) done(at int64, item gjson.Result) bool {
	switch kind := item.Get("type").Str; kind {
	case "reasoning":
		i := r.item(at, kind)
		if !i.said {
			var parts []string
			for _, path := range []string{"summary.#.text", "content.#.text"} {
				for _, p := range item.Get(path).Array() {
					parts = append(parts, p.Str)
				}
				if len(parts) > 0 {
					break
				}
			}
			if !r.thought(i, strings.Join(parts, "\n\n")) {
				return false
			}
		}
		r.begin(i)
		return r.yield(agent.ThinkingDelta{Index: i.index, Signature: item.Raw})
	case "message":
		return r.message(r.item(at, kind), item)
	case "function_call":
		i := r.item(at, kind)
		if !i.begun {
			return r.call(i, item)
		}
		return i.said || r.arguments(i, item.Get("arguments").Str)
	}
	return true
}

func (r *responseReader) message(i *responseItem, item gjson.Result) bool {
	if !i.said {
		for _, part := range item.Get("content").Array() {
			if !r.text(i, part.Get("text").Str+part.Get("refusal").Str) {
				return false
			}
		}
	}
	id := item.Get("id").Str
	if id == "" || !i.begun {
		return true
	}
	mark, err := message.Marshal(textSignature{V: 1, ID: id, Phase: item.Get("phase").Str})
	return err != nil || r.yield(agent.SignatureDelta{Index: i.index, Signature: string(mark)})
}

// over takes the end of the answer, with its tokens.
func (r *responseReader) over(response gjson.Result) error {
	r.status, r.reason = response.Get("status").Str, response.Get("incomplete_details.reason").Str
	if r.status == "" {
		r.status = "completed"
	}
	if id := response.Get("id").Str; id != "" {
		r.id = id
	}
	if name := response.Get("model").Str; name != r.client.Endpoint.Info.ID {
		r.model = name
	}
	if u := response.Get("usage"); u.IsObject() {
		r.yield(agent.UsageDelta{Usage: responseUsage(u)})
	}
	return nil
}

// responseUsage reads the counts of the wire, which contain the cached tokens in
// the input, into ours, which do not.
func responseUsage(v gjson.Result) message.Usage {
	count := func(path string) int64 { return max(0, v.Get(path).Int()) }
	u := message.Usage{
		Output: count("output_tokens"), Reasoning: count("output_tokens_details.reasoning_tokens"),
		CacheRead: count("input_tokens_details.cached_tokens"), CacheWrite: count("input_tokens_details.cache_write_tokens"),
	}
	u.Input = max(0, count("input_tokens")-u.CacheRead-u.CacheWrite)
	u.TotalTokens = u.Input + u.Output + u.CacheRead + u.CacheWrite
	return u
}

// failed is the refusal of an answer that had begun. The wire tells a word where
// a refusal has a status.
func (r *responseReader) failed(response gjson.Result) error {
	err := r.client.StreamRefusal([]byte(response.Raw))
	var refusal *agent.RequestError
	if errors.As(err, &refusal) && refusal.Status == 0 {
		refusal.Status = map[string]int{"server_error": 500, "rate_limit_exceeded": 429, "invalid_prompt": 400}[response.Get("error.code").Str]
	}
	return err
}

// Finished says that the provider ended the answer.
func (r *responseReader) Finished() bool { return r.status != "" }

// End says how the answer ended; nothing for one that was cut.
func (r *responseReader) End() error {
	if !r.Finished() {
		return nil
	}
	if r.broken != nil {
		return r.broken
	}
	word, end := r.status, wire.Whole
	if r.reason != "" {
		word = r.reason
	}
	switch {
	case r.status == "failed" || r.status == "cancelled":
		return fmt.Errorf("the provider ended the answer with %q", r.status)
	case r.status == "incomplete" && r.reason == "content_filter":
		end = wire.Withheld
	case r.status == "incomplete":
		end = wire.Short
	}
	r.yield(agent.Stop{Reason: end.Reason(r.calls), RawReason: word, ResponseID: r.id, ResponseModel: r.model})
	return nil
}
