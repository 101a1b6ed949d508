package openai

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/agent/model/offline"
	"github.com/piweb-go/piweb/message"
)

func TestResponsesConformance(t *testing.T) {
	modeltest.Run(t, func(tb testing.TB, script *offline.Script) modeltest.Subject {
		server := modeltest.NewServer(tb, script)
		m, err := NewResponses(server.SpecOf(ResponsesAPI))
		if err != nil {
			tb.Fatal(err)
		}
		return modeltest.Subject{Model: m, Sent: server.Sent}
	})
}

const reasoningItem = `{"id":"rs_9","type":"reasoning","encrypted_content":"gA/+==","summary":[{"type":"summary_text","text":"First <this> & that."}],"n":1.50}`

func TestResponsesBodies(t *testing.T) {
	signed := modeltest.Signed{
		API:      ResponsesAPI,
		Thinking: message.Block{Type: message.TypeThinking, Thinking: "First <this> & that.", ThinkingSignature: reasoningItem},
		Text:     message.Block{Type: message.TypeText, Text: "I look.", TextSignature: `{"v":1,"id":"msg_9","phase":"commentary"}`},
		Call:     message.ToolCall("call_s", "read", json.RawMessage(`{"path":"x","n":1.50}`)),
	}
	hello := modeltest.UserRequest("hello")
	hello.Head, hello.Thinking = []byte("exact"), "xhigh"
	list := append(modeltest.Conversations(signed),
		modeltest.NamedRequest{Name: "level with a word", Change: func(s *model.Spec) {
			s.Info.Reasoning, s.Levels = true, map[string]string{"xhigh": "high"}
			s.Compat = json.RawMessage(`{"supportsDeveloperRole":false,"supportsStore":false}`)
		}, Request: hello},
		modeltest.NamedRequest{Name: "ids and older signatures", Change: func(s *model.Spec) { s.Info.Reasoning = true }, Request: agent.Request{
			Thinking: "low",
			Messages: []message.Message{
				user(message.Text("hello")),
				&message.Assistant{API: ResponsesAPI, Provider: "modeltest", Model: "scripted", Content: message.Content{
					{Type: message.TypeThinking, Thinking: "cut before its end"},
					{Type: message.TypeThinking, ThinkingSignature: reasoningItem},
					{Type: message.TypeText, Text: "Well.", TextSignature: "msg_bare"},
					message.ToolCall("call_1|fc_1", "ls", nil), message.ToolCall("call_2|fc_2", "ls", nil),
				}},
				result("call_1|fc_1", "ls"), result("call_2|fc_2", "ls", message.Text("a"), message.Text("b")),
				&message.Assistant{API: ResponsesAPI, Provider: "modeltest", Model: "scripted", Content: message.Content{
					{Type: message.TypeThinking, ThinkingSignature: reasoningItem},
				}},
			},
		}})
	for i := range list {
		list[i].Name = "responses " + list[i].Name
	}
	modeltest.Goldens(t, NewResponses, *update, list)
}

// The thoughts go back as exactly the bytes that came.
func TestResponsesSignatureRoundTrip(t *testing.T) {
	m, err := NewResponses(model.Spec{Info: agent.ModelInfo{API: ResponsesAPI, Provider: "p", ID: "m", Reasoning: true}, BaseURL: "http://h"})
	if err != nil {
		t.Fatal(err)
	}
	body, err := m.(*responder).body(agent.Request{Messages: []message.Message{
		user(message.Text("x")),
		&message.Assistant{API: ResponsesAPI, Provider: "p", Model: "m", Content: message.Content{
			{Type: message.TypeThinking, ThinkingSignature: reasoningItem}, message.Text("y"),
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	item, err := body.Input.OfInputItemList[1].MarshalJSON()
	if err != nil || string(item) != reasoningItem {
		t.Errorf("got  %s, %v\nwant %s", item, err, reasoningItem)
	}
}

func TestResponsesReader(t *testing.T) {
	over := agent.Stop{Reason: message.StopEnd, RawReason: "completed", ResponseID: "resp_1"}
	end := `{"type":"response.completed","response":{"id":"resp_1","status":"completed","model":"m"}}`
	for _, c := range []struct {
		name   string
		events []string
		want   []agent.Delta
	}{
		{"in pieces", []string{
			`{"type":"response.created","response":{"id":"resp_1"}}`,
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_9","summary":[]}}`,
			`{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"One."}`,
			`{"type":"response.reasoning_summary_part.done","output_index":0}`,
			`{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"Two."}`,
			`{"type":"response.output_item.done","output_index":0,"item":` + reasoningItem + `}`,
			`{"type":"response.output_item.added","output_index":1,"item":{"type":"web_search_call","id":"ws_1"}}`,
			`{"type":"response.output_text.delta","output_index":2,"delta":"So"}`,
			`{"type":"response.output_item.done","output_index":2,"item":{"type":"message","id":"msg_1","phase":"final_answer","content":[{"type":"output_text","text":"So"}]}}`,
			`{"type":"response.output_item.added","output_index":3,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"ls","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","output_index":3,"delta":"{\"n\":"}`,
			`{"type":"response.function_call_arguments.delta","output_index":3,"delta":"1.50}"}`,
			`{"type":"response.output_item.done","output_index":3,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"ls","arguments":"{\"n\":1.50}"}}`,
			`{"type":"response.completed","response":{"id":"resp_1","status":"completed","model":"m-2026","usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":64},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":4}}}}`,
			`{"type":"response.output_text.delta","output_index":9,"delta":"late"}`,
		}, []agent.Delta{
			agent.ThinkingDelta{Text: "One."}, agent.ThinkingDelta{Text: "\n\nTwo."}, agent.ThinkingDelta{Signature: reasoningItem},
			agent.TextDelta{Index: 1, Text: "So"}, agent.SignatureDelta{Index: 1, Signature: `{"v":1,"id":"msg_1","phase":"final_answer"}`},
			agent.ToolCallDelta{Index: 2, ID: "call_1|fc_1", Name: "ls"}, agent.ToolCallDelta{Index: 2, Arguments: `{"n":`}, agent.ToolCallDelta{Index: 2, Arguments: `1.50}`},
			agent.UsageDelta{Usage: message.Usage{Input: 36, CacheRead: 64, Output: 9, Reasoning: 4, TotalTokens: 109}},
			agent.Stop{Reason: message.StopToolUse, RawReason: "completed", ResponseID: "resp_1", ResponseModel: "m-2026"},
		}},
		{"whole items only", []string{
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"r","summary":[{"text":"a"},{"text":"b"}]}}`,
			`{"type":"response.output_item.done","output_index":1,"item":{"type":"message","content":[{"type":"refusal","refusal":"No."}]}}`,
			`{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","call_id":"c","name":"ls","arguments":"{}"}}`,
			end, "[DONE]",
		}, []agent.Delta{
			agent.ThinkingDelta{Text: "a\n\nb"}, agent.ThinkingDelta{Signature: `{"type":"reasoning","id":"r","summary":[{"text":"a"},{"text":"b"}]}`},
			agent.TextDelta{Index: 1, Text: "No."},
			agent.ToolCallDelta{Index: 2, ID: "c", Name: "ls"}, agent.ToolCallDelta{Index: 2, Arguments: "{}"},
			agent.Stop{Reason: message.StopToolUse, RawReason: "completed", ResponseID: "resp_1"},
		}},
		{"nothing", []string{end}, []agent.Delta{over}},
		{"length", []string{`{"type":"response.incomplete","response":{"id":"resp_1","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`},
			[]agent.Delta{agent.Stop{Reason: message.StopLength, RawReason: "max_output_tokens", ResponseID: "resp_1"}}},
		{"filter", []string{`{"type":"response.incomplete","response":{"id":"resp_1","status":"incomplete","incomplete_details":{"reason":"content_filter"}}}`},
			[]agent.Delta{agent.Stop{Reason: message.StopEnd, RawReason: "content_filter", ResponseID: "resp_1"}}},
		{"cut", []string{`{"type":"response.created","response":{"id":"resp_1"}}`}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := modeltest.Deltas(t, ResponsesAPI, NewResponses, c.events...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for event, status := range map[string]int{
		`{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"Sorry."}}}`: 429,
		`{"type":"response.failed","response":{"status":"failed","error":{"code":"new_word","message":"Sorry."}}}`:            0,
		`{"type":"error","code":"server_error","message":"Sorry."}`:                                                           0,
		`{"error":{"message":"Sorry.","code":503}}`:                                                                           503,
	} {
		_, err := modeltest.Deltas(t, ResponsesAPI, NewResponses, event)
		var refusal *agent.RequestError
		if !errors.As(err, &refusal) || refusal.Status != status {
			t.Errorf("%s: %+v", event, err)
		}
	}
}

func TestResponsesAnyHead(t *testing.T) { modeltest.AnyHead(t, ResponsesAPI, NewResponses) }
