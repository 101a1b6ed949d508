package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Wire is a provider's wire as a server that misbehaves speaks it: the data of single
// events of an answer. What it says nothing of, such as the tokens, is not sent.
type Wire struct {
	API string
	// Text is an answer's text so far, without an end. It comes first in an answer.
	Text func(text string) []string
	// Call is the n-th call of an answer, from 0 on. Arguments are sent as they are,
	// also those that are no JSON.
	Call func(n int, id, name, arguments string) []string
	// End ends an answer.
	End func(calls bool) []string
}

// Wires are the wires that piweb speaks.
func Wires() []Wire { return []Wire{chatWire, responsesWire, messagesWire, generateWire} }

// WireOf is the wire of an API's name; it panics for an unknown one.
func WireOf(api string) Wire {
	for _, w := range Wires() {
		if w.API == api {
			return w
		}
	}
	panic("modeltest: no wire of the name " + api)
}

// Answer is a text as a whole answer.
func (w Wire) Answer(text string) []string { return append(w.Text(text), w.End(false)...) }

// Events joins data to a body of server-sent events.
func Events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		b.WriteString("data: " + d + "\n\n")
	}
	return b.String()
}

// Stream answers with events and flushes them; the handler that it is called from may
// hold the connection open.
func Stream(w http.ResponseWriter, data ...string) { stream(w, Events(data...)) }

// quoted is a text as JSON.
func quoted(text string) string {
	data, _ := json.Marshal(text) // a string always encodes
	return string(data)
}

var chatWire = Wire{
	API:  "openai-completions",
	Text: func(text string) []string { return []string{chatDelta(`"content":` + quoted(text))} },
	Call: func(n int, id, name, arguments string) []string {
		return []string{chatDelta(fmt.Sprintf(`"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}]`,
			n, quoted(id), quoted(name), quoted(arguments)))}
	},
	End: func(calls bool) []string {
		word := map[bool]string{true: "tool_calls", false: "stop"}[calls]
		return []string{`{"choices":[{"index":0,"delta":{},"finish_reason":"` + word + `"}]}`, "[DONE]"}
	},
}

func chatDelta(fields string) string {
	return `{"choices":[{"index":0,"delta":{` + fields + `},"finish_reason":null}]}`
}

var responsesWire = Wire{
	API: "openai-responses",
	Text: func(text string) []string {
		return []string{
			`{"type":"response.created","response":{"id":"resp_1"}}`,
			`{"type":"response.output_text.delta","output_index":0,"delta":` + quoted(text) + `}`,
		}
	},
	Call: func(n int, id, name, arguments string) []string {
		return []string{
			fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":{"type":"function_call","id":"fc_%d","call_id":%s,"name":%s}}`, n+1, n, quoted(id), quoted(name)),
			fmt.Sprintf(`{"type":"response.function_call_arguments.delta","output_index":%d,"delta":%s}`, n+1, quoted(arguments)),
		}
	},
	End: func(bool) []string {
		return []string{`{"type":"response.completed","response":{"id":"resp_1","status":"completed"}}`}
	},
}

var messagesWire = Wire{
	API: "anthropic-messages",
	Text: func(text string) []string {
		return []string{
			`{"type":"message_start","message":{"id":"msg_1","model":"m"}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + quoted(text) + `}}`,
		}
	},
	Call: func(n int, id, name, arguments string) []string {
		return []string{
			fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":%s,"name":%s,"input":{}}}`, n+1, quoted(id), quoted(name)),
			fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%s}}`, n+1, quoted(arguments)),
		}
	},
	End: func(calls bool) []string {
		word := map[bool]string{true: "tool_use", false: "end_turn"}[calls]
		return []string{`{"type":"message_delta","delta":{"stop_reason":"` + word + `"}}`, `{"type":"message_stop"}`}
	},
}

var generateWire = Wire{
	API:  "google-generative-ai",
	Text: func(text string) []string { return []string{generated(`{"text":` + quoted(text) + `}`)} },
	Call: func(_ int, id, name, arguments string) []string {
		// The wire sends an object; what is none can only come as a text.
		var object map[string]json.RawMessage
		if json.Unmarshal([]byte(arguments), &object) != nil || object == nil {
			arguments = quoted(arguments)
		}
		return []string{generated(fmt.Sprintf(`{"functionCall":{"id":%s,"name":%s,"args":%s}}`, quoted(id), quoted(name), arguments))}
	},
	End: func(bool) []string { return []string{`{"candidates":[{"finishReason":"STOP"}]}`} },
}

func generated(part string) string {
	return `{"candidates":[{"content":{"role":"model","parts":[` + part + `]}}]}`
}
