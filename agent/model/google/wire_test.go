package google

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/message"
)

func TestBodies(t *testing.T) {
	signed := modeltest.Signed{
		API:      API,
		Thinking: message.Block{Type: message.TypeThinking, Thinking: "First <this> & that. ", ThinkingSignature: "c2ln/+=="},
		Text:     message.Block{Type: message.TypeText, Text: "I look.", TextSignature: "dGV4dA=="},
		Call:     message.Block{Type: message.TypeToolCall, ID: "call_s", Name: "read", Arguments: json.RawMessage(`{"path":"x","n":1.50}`), ThoughtSignature: "Y2FsbA=="},
	}
	list := modeltest.Conversations(signed)
	third := func(more func(*model.Spec)) func(*model.Spec) {
		return func(s *model.Spec) {
			s.Info.ID = "gemini-3-flash-preview"
			if more != nil {
				more(s)
			}
		}
	}
	for _, c := range list {
		if strings.HasPrefix(c.Name, "pictures") || strings.HasPrefix(c.Name, "thoughts of") {
			list = append(list, modeltest.NamedRequest{Name: "third " + c.Name, Change: third(c.Change), Request: c.Request})
		}
	}
	list = append(list, modeltest.NamedRequest{Name: "third pictures lifted", Change: third(func(s *model.Spec) {
		s.Compat = json.RawMessage(`{"supportsToolResultImages":false}`)
	}), Request: list[6].Request})
	modeltest.Goldens(t, New, *update, list)
}

func TestThinkingLevels(t *testing.T) {
	for _, c := range []struct {
		id     string
		levels map[string]string
		want   string // for off, minimal, low, medium, high, xhigh
	}{
		{"gemini-3-pro-preview", nil, "LOW LOW+ LOW+ MEDIUM+ HIGH+ HIGH+"},
		{"gemini-3-flash-preview", nil, "MINIMAL MINIMAL+ LOW+ MEDIUM+ HIGH+ HIGH+"},
		{"gemini-2.5-pro", nil, "128 128+ 2048+ 8192+ 32768+ 32768+"},
		{"gemini-2.5-flash", nil, "0 128+ 2048+ 8192+ 24576+ 24576+"},
		{"gemini-2.5-flash-lite", nil, "0 512+ 2048+ 8192+ 24576+ 24576+"},
		{"gemma", nil, "0 -1+ -1+ -1+ -1+ -1+"},
		{"gemini-3-pro", map[string]string{"medium": "high", "low": "99"}, "LOW LOW+ 99+ HIGH+ HIGH+ HIGH+"},
	} {
		var got []string
		for _, level := range []string{"off", "minimal", "low", "medium", "high", "xhigh"} {
			f := resolve(model.Spec{Info: agent.ModelInfo{ID: c.id, Reasoning: true}, Levels: c.levels}, compat{}).think(level)
			word := f.Level
			if f.Budget != nil {
				text, _ := json.Marshal(*f.Budget)
				word += string(text)
			}
			if f.Include {
				word += "+"
			}
			got = append(got, word)
		}
		if all := strings.Join(got, " "); all != c.want {
			t.Errorf("%s: %s, want %s", c.id, all, c.want)
		}
	}
	if f := resolve(model.Spec{}, compat{}).think("high"); f != nil {
		t.Errorf("a model that does not reason gets %+v", f)
	}
}

func TestReader(t *testing.T) {
	parts := func(text string) string {
		return `{"candidates":[{"content":{"role":"model","parts":[` + text + `]}}],"responseId":"r1","modelVersion":"m-001"}`
	}
	end := func(word string) string { return `{"candidates":[{"finishReason":"` + word + `"}]}` }
	over := func(reason message.StopReason, word string) agent.Stop {
		return agent.Stop{Reason: reason, RawReason: word, ResponseID: "r1", ResponseModel: "m-001"}
	}
	call := parts(`{"functionCall":{"id":"c","name":"ls","args":{"n":1.50,"a":12345678901234567890}}}`)
	called := agent.ToolCallDelta{ID: "c", Name: "ls", Arguments: `{"n":1.50,"a":12345678901234567890}`}
	for _, c := range []struct {
		name   string
		events []string
		want   []agent.Delta
	}{
		{"signatures", []string{
			parts(`{"text":"Hm","thought":true},{"text":".","thought":true,"thoughtSignature":"a=="}`),
			parts(`{"text":"So","thoughtSignature":"b=="}`), parts(`{"text":"","thoughtSignature":"c=="}`),
			parts(`{"functionCall":{"id":"1","name":"ls","args":{}},"thoughtSignature":"d=="},{"functionCall":{"id":"2","name":"ls"}}`),
			parts(`{"text":"","thoughtSignature":"of nothing"},{"executableCode":{}}`), parts(`{"text":"more"}`), end("STOP"),
			`{"usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":64,"candidatesTokenCount":5,"thoughtsTokenCount":4}}`,
		}, []agent.Delta{
			agent.ThinkingDelta{Text: "Hm"}, agent.ThinkingDelta{Text: ".", Signature: "a=="},
			agent.TextDelta{Index: 1, Text: "So"}, agent.SignatureDelta{Index: 1, Signature: "b=="}, agent.SignatureDelta{Index: 1, Signature: "c=="},
			agent.ToolCallDelta{Index: 2, ID: "1", Name: "ls", Arguments: "{}"}, agent.SignatureDelta{Index: 2, Signature: "d=="},
			agent.ToolCallDelta{Index: 3, ID: "2", Name: "ls"}, agent.TextDelta{Index: 4, Text: "more"},
			agent.UsageDelta{Usage: message.Usage{Input: 36, CacheRead: 64, Output: 9, Reasoning: 4, TotalTokens: 109}},
			over(message.StopToolUse, "STOP"),
		}},
		{"numbers of arguments keep their spelling", []string{call, end("STOP")}, []agent.Delta{called, over(message.StopToolUse, "STOP")}},
		{"length", []string{call, end("MAX_TOKENS")}, []agent.Delta{called, over(message.StopLength, "MAX_TOKENS")}},
		{"safety", []string{parts(`{"text":"x"}`), end("SAFETY")}, []agent.Delta{agent.TextDelta{Text: "x"}, over(message.StopEnd, "SAFETY")}},
		{"safety in a call", []string{call, end("SAFETY")}, []agent.Delta{called, over(message.StopLength, "SAFETY")}},
		{"another answer", []string{`{"candidates":[{"index":1,"content":{"parts":[{"text":"x"}]}}]}`}, nil},
		{"cut", []string{parts(`{"text":"x"}`)}, []agent.Delta{agent.TextDelta{Text: "x"}}},
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
	for event, want := range map[string]string{
		`{"error":{"code":503,"message":"Overloaded.","status":"UNAVAILABLE"}}`:                                      "here: HTTP 503: Overloaded.",
		`{"promptFeedback":{"blockReason":"SAFETY"}}`:                                                                "here: the provider refused the request: SAFETY",
		`{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: ls("}]}`: `here: the provider ended the answer with "MALFORMED_FUNCTION_CALL": Malformed function call: ls(`,
		`{"candidates":[{"content":{"parts":[{"functionCall":{}}]},"finishReason":"STOP"}]}`:                         "here: the answer holds a tool call without a name",
	} {
		_, err := modeltest.Deltas(t, API, New, event)
		var refusal *agent.RequestError
		if !errors.As(err, &refusal) || err.Error() != want {
			t.Errorf("%s: %v", event, err)
		}
	}
}

func TestRequestLine(t *testing.T) {
	for name, value := range map[string]string{
		"GOOGLE_API_KEY": "env-key", "GEMINI_API_KEY": "env-key", "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:1/env", "GOOGLE_GENAI_USE_VERTEXAI": "true",
	} {
		t.Setenv(name, value)
	}
	server := modeltest.NewServer(t, modeltest.Text("one"))
	spec := server.SpecOf(API)
	spec.BaseURL += "/?x=a%20b"
	spec.Info.ID = "models that/were tuned"
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
		"Accept": {"text/event-stream"}, "Accept-Encoding": {"gzip"}, "Content-Type": {"application/json"}, "User-Agent": {"piweb"},
		"X-Goog-Api-Key": {"modeltest-key"}, "X-Title": {"mine"}, "Content-Length": last.Header["Content-Length"],
	}
	if diff := cmp.Diff(want, last.Header); diff != "" || last.Query != "alt=sse&x=a+b" || last.Path != "/v1/models/models that/were tuned:streamGenerateContent" {
		t.Errorf("%s?%s, headers (-want +got):\n%s", last.Path, last.Query, diff)
	}
}
