package anthropic

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/message"
)

func TestReader(t *testing.T) {
	const (
		begin = `{"type":"message_start","message":{"id":"msg_1","model":"m-2026","usage":{"input_tokens":5,"cache_read_input_tokens":90,"cache_creation_input_tokens":3,"output_tokens":1}}}`
		end   = `{"type":"message_stop"}`
	)
	stop := func(word string) string { return `{"type":"message_delta","delta":{"stop_reason":"` + word + `"}}` }
	first := agent.UsageDelta{Usage: message.Usage{Input: 5, CacheRead: 90, CacheWrite: 3, Output: 1, TotalTokens: 99}}
	over := func(reason message.StopReason, word string) agent.Stop {
		return agent.Stop{Reason: reason, RawReason: word, ResponseID: "msg_1", ResponseModel: "m-2026"}
	}
	call := `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":"ls","input":{}}}`
	began := agent.ToolCallDelta{ID: "c", Name: "ls"}
	for _, c := range []struct {
		name   string
		events []string
		want   []agent.Delta
	}{
		{"signatures in pieces, hidden thoughts, empty blocks", []string{begin,
			`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"Eq/"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"+Q=="}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"x/+=="}}`,
			`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_start","index":3,"content_block":{"type":"server_tool_use","id":"s","name":"web"}}`,
			`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{}"}}`,
			`{"type":"content_block_start","index":4,"content_block":{"type":"text","text":"So"}}`,
			`{"type":"content_block_delta","index":4,"delta":{"type":"text_delta","text":"."}}`,
			`{"type":"content_block_delta","index":4,"delta":{"type":"citations_delta","citation":{}}}`,
			`{"type":"content_block_delta","index":9,"delta":{"type":"text_delta","text":"of no block"}}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9,"output_tokens_details":{"thinking_tokens":4}}}`, end, `{"type":"more"}`},
			[]agent.Delta{first,
				agent.ThinkingDelta{Text: "Hm"}, agent.ThinkingDelta{Signature: "Eq/"}, agent.ThinkingDelta{Signature: "Eq/+Q=="},
				agent.ThinkingDelta{Index: 1, Text: redactedText, Signature: "x/+==", Redacted: true},
				agent.TextDelta{Index: 2, Text: "So"}, agent.TextDelta{Index: 2, Text: "."},
				agent.UsageDelta{Usage: message.Usage{Input: 5, CacheRead: 90, CacheWrite: 3, Output: 9, Reasoning: 4, TotalTokens: 107}},
				over(message.StopEnd, "end_turn")}},
		{"written for an hour, told at the beginning and by a gateway at the end", []string{
			`{"type":"message_start","message":{"id":"msg_1","model":"m-2026","usage":{"input_tokens":5,"cache_creation_input_tokens":30,"cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":20},"output_tokens":1}}}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"cache_creation":{"ephemeral_1h_input_tokens":25}}}`, end},
			[]agent.Delta{agent.UsageDelta{Usage: message.Usage{Input: 5, CacheWrite: 30, CacheWrite1h: 20, Output: 1, TotalTokens: 36}},
				agent.UsageDelta{Usage: message.Usage{Input: 5, CacheWrite: 30, CacheWrite1h: 25, Output: 1, TotalTokens: 36}}, over(message.StopEnd, "end_turn")}},
		{"a thought of a signature alone", []string{begin,
			`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":"whole"}}`, stop("end_turn"), end},
			[]agent.Delta{first, agent.ThinkingDelta{Signature: "whole"}, over(message.StopEnd, "end_turn")}},
		{"input at once", []string{begin, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":"ls","input":{"n":1.50}}}`, stop("end_turn"), end},
			[]agent.Delta{first, agent.ToolCallDelta{ID: "c", Name: "ls", Arguments: `{"n":1.50}`}, over(message.StopToolUse, "end_turn")}},
		{"length", []string{begin, call, stop("max_tokens"), end}, []agent.Delta{first, began, over(message.StopLength, "max_tokens")}},
		{"window", []string{begin, stop("model_context_window_exceeded"), end}, []agent.Delta{first, over(message.StopLength, "model_context_window_exceeded")}},
		{"refusal", []string{begin, stop("refusal"), end}, []agent.Delta{first, over(message.StopEnd, "refusal")}},
		{"refusal in a call", []string{begin, call, stop("refusal"), end}, []agent.Delta{first, began, over(message.StopLength, "refusal")}},
		{"word of the future", []string{begin, stop("tired"), end}, []agent.Delta{first, over(message.StopEnd, "tired")}},
		{"ends without the last event", []string{begin, stop("end_turn")}, []agent.Delta{first, over(message.StopEnd, "end_turn")}},
		{"cut", []string{begin, end}, []agent.Delta{first}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := modeltest.Deltas(t, API, New, c.events...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The loop decides by a status whether to try again; the stream tells a word.
func TestErrorsInTheStream(t *testing.T) {
	for word, status := range map[string]int{"overloaded_error": 529, "rate_limit_error": 429, "invalid_request_error": 400, "new_error": 0} {
		_, err := modeltest.Deltas(t, API, New, `{"type":"error","error":{"type":"`+word+`","message":"Sorry."}}`)
		var refusal *agent.RequestError
		if !errors.As(err, &refusal) || refusal.Status != status || refusal.Message != "Sorry. ("+word+")" {
			t.Errorf("%s: %+v", word, err)
		}
	}
	_, err := modeltest.Deltas(t, API, New, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":""}}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`)
	if err == nil {
		t.Error("a call without a name went through")
	}
}

func TestRequestLine(t *testing.T) {
	for name, value := range map[string]string{
		"ANTHROPIC_API_KEY": "env-key", "ANTHROPIC_AUTH_TOKEN": "env-token", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1/env",
		"ANTHROPIC_CUSTOM_HEADERS": "X-Env: env-header", "ANTHROPIC_PROFILE": "env-profile", "ANTHROPIC_LOG": "debug",
	} {
		t.Setenv(name, value)
	}
	server := modeltest.NewServer(t, modeltest.Text("one", "two"))
	for _, c := range []struct{ base, path, beta string }{
		{server.URL[:len(server.URL)-3], "/v1/messages", ""}, {server.URL, "/v1/messages", interleaved},
	} {
		spec := server.SpecOf(API)
		spec.BaseURL, spec.Info.Reasoning = c.base+"/?x=a%20b", c.beta != ""
		spec.Headers = map[string]string{"X-Title": "mine"}
		m, err := New(spec)
		if err != nil {
			t.Fatal(err)
		}
		if got := modeltest.Ask(t, m, modeltest.UserRequest("hello")); got.Err != nil {
			t.Fatal(got.Err)
		}
		last, _ := server.Last()
		want := http.Header{
			"Accept": {"application/json"}, "Accept-Encoding": {"gzip"}, "Content-Type": {"application/json"}, "User-Agent": {"piweb"},
			"Anthropic-Version": {version}, "X-Api-Key": {"modeltest-key"}, "X-Title": {"mine"}, "Content-Length": last.Header["Content-Length"],
		}
		if c.beta != "" {
			want.Set("Anthropic-Beta", c.beta)
		}
		if diff := cmp.Diff(want, last.Header); diff != "" || last.Path != c.path || last.Query != "x=a+b" {
			t.Errorf("%s?%s, headers (-want +got):\n%s", last.Path, last.Query, diff)
		}
	}
}
