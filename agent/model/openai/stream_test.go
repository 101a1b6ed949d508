package openai

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/message"
)

// against opens a model at a server that answers with handle.
func against(t *testing.T, handle http.HandlerFunc, change func(*model.Spec)) *client {
	t.Helper()
	server := serve(t, handle)
	spec := model.Spec{
		Info:    agent.ModelInfo{API: API, Provider: "here", ID: "m"},
		BaseURL: server.URL + "/v1", APIKey: secretKey, Client: server.Client(),
	}
	if change != nil {
		change(&spec)
	}
	m, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return m.(*client)
}

func serve(t *testing.T, handle http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // before that, a server does not see its client leave
		handle(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

// streaming answers with the lines of an event stream; a line without "data:" gets
// it.
func streaming(lines ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, l := range lines {
			if !strings.HasPrefix(l, ":") {
				l = "data: " + l
			}
			fmt.Fprintf(w, "%s\n\n", l)
		}
	}
}

// delta is a chunk with one delta; finish is a chunk that ends the answer.
func delta(fields string) string {
	return `{"id":"r1","model":"m","choices":[{"index":0,"delta":{` + fields + `}}]}`
}

func finish(word string) string {
	return `{"id":"r1","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"` + word + `"}]}`
}

func call(index int, fields string) string {
	return delta(fmt.Sprintf(`"tool_calls":[{"index":%d,%s}]`, index, fields))
}

func toolCall(id, name, arguments string) message.Block {
	return message.Block{Type: message.TypeToolCall, ID: id, Name: name, Arguments: []byte(arguments)}
}

func think(text string) message.Block {
	return message.Block{Type: message.TypeThinking, Thinking: text}
}

func TestStreamShapes(t *testing.T) {
	stop := func(blocks ...message.Block) modeltest.Answer {
		return modeltest.Answer{Blocks: blocks, Stops: 1, Stop: message.StopEnd, RawReason: "stop"}
	}
	use := func(word string, blocks ...message.Block) modeltest.Answer {
		return modeltest.Answer{Blocks: blocks, Stops: 1, Stop: message.StopToolUse, RawReason: word}
	}
	ended := func(reason message.StopReason, word string, blocks ...message.Block) modeltest.Answer {
		return modeltest.Answer{Blocks: blocks, Stops: 1, Stop: reason, RawReason: word}
	}
	text, done := delta(`"content":"x"`), "[DONE]"
	for _, c := range []struct {
		name   string
		compat string
		events []string
		want   modeltest.Answer
	}{
		{"empty and null contents are no blocks", "", []string{delta(`"role":"assistant","content":""`), delta(`"content":null`), text, finish("stop"), done}, stop(message.Text("x"))},
		{"comments and empty choices", "", []string{": keep-alive", `{"id":"r1","choices":[]}`, text, finish("stop"), done}, stop(message.Text("x"))},
		{"without the end mark", "", []string{text, finish("stop")}, stop(message.Text("x"))},
		{"reasoning_content", "", []string{delta(`"reasoning_content":"a"`), delta(`"reasoning_content":"b"`), text, finish("stop"), done}, stop(think("ab"), message.Text("x"))},
		{"reasoning", "", []string{delta(`"reasoning":"a","content":""`), text, finish("stop"), done}, stop(think("a"), message.Text("x"))},
		{"reasoning twice", "", []string{delta(`"reasoning":"a","reasoning_content":"a"`), finish("stop"), done}, stop(think("a"))},
		{"reasoning null", "", []string{delta(`"reasoning_content":null,"content":"x"`), finish("stop"), done}, stop(message.Text("x"))},
		{"thinking again after text", "", []string{delta(`"reasoning":"a"`), text, delta(`"reasoning":"b"`), text, finish("stop"), done}, stop(think("a"), message.Text("x"), think("b"), message.Text("x"))},
		{"refusal is text", "", []string{delta(`"refusal":"I will not."`), finish("stop"), done}, stop(message.Text("I will not."))},
		{"other choices are not ours", "", []string{`{"choices":[{"index":1,"delta":{"content":"no"},"finish_reason":"length"}]}`, text, finish("stop"), done}, stop(message.Text("x"))},
		{
			"text behind a call", "",
			[]string{text, call(0, `"id":"a","function":{"name":"ls","arguments":"{}"}`), text, finish("tool_calls"), done},
			use("tool_calls", message.Text("x"), toolCall("a", "ls", "{}"), message.Text("x")),
		},
		{
			"name and id in every fragment", "",
			[]string{call(0, `"id":"a","function":{"name":"ls","arguments":"{\"p\""}`), call(0, `"id":"a","function":{"name":"ls","arguments":":1}"}`), finish("tool_calls"), done},
			use("tool_calls", toolCall("a", "ls", `{"p":1}`)),
		},
		{
			"all calls numbered 0", "",
			[]string{call(0, `"id":"a","function":{"name":"ls","arguments":"{}"}`), call(0, `"id":"b","function":{"name":"ls","arguments":"{\"p\":"}`), call(0, `"function":{"arguments":"2}"}`), finish("stop"), done},
			use("stop", toolCall("a", "ls", "{}"), toolCall("b", "ls", `{"p":2}`)),
		},
		{
			"name after the id", "",
			[]string{call(0, `"id":"a","function":{"arguments":"{"}`), call(0, `"function":{"name":"ls"}`), call(0, `"function":{"arguments":"}"}`), finish("tool_calls"), done},
			use("tool_calls", toolCall("a", "ls", "{}")),
		},
		{
			"no arguments at all", "", []string{call(0, `"id":"a","function":{"name":"ls"}`), finish("tool_calls"), done},
			use("tool_calls", toolCall("a", "ls", "")),
		},
		{
			"gaps in the numbers", "",
			[]string{call(3, `"id":"a","function":{"name":"x"}`), call(7, `"id":"b","function":{"name":"y"}`), call(3, `"function":{"arguments":"{}"}`), finish("tool_calls"), done},
			use("tool_calls", toolCall("a", "x", "{}"), toolCall("b", "y", "")),
		},
		{"length", "", []string{text, finish("length"), done}, ended(message.StopLength, "length", message.Text("x"))},
		{"content filter", "", []string{text, finish("content_filter"), done}, ended(message.StopEnd, "content_filter", message.Text("x"))},
		{
			"content filter in a call", "", []string{call(0, `"id":"a","function":{"name":"ls","arguments":"{"}`), finish("content_filter"), done},
			ended(message.StopLength, "content_filter", toolCall("a", "ls", "{")),
		},
		{"unknown word", "", []string{text, finish("eos"), done}, ended(message.StopEnd, "eos", message.Text("x"))},
		{"empty errors mean none", "", []string{`{"error":null,"choices":[{"index":0,"delta":{"content":"x"}}]}`, `{"error":"","choices":[]}`, `{"error":{},"choices":[]}`, `{"error":0,"choices":[]}`, finish("stop"), done}, stop(message.Text("x"))},
		{"empty answer", "", []string{finish("stop"), done}, stop()},
		{"cut", "", []string{text}, modeltest.Answer{Blocks: []message.Block{message.Text("x")}}},
		{"cut before anything", "", nil, modeltest.Answer{}},
		{"end mark without finish", "", []string{text, done}, modeltest.Answer{Blocks: []message.Block{message.Text("x")}}},
		{
			"server that knows no finish", `{"supportsFinishReason":false}`, []string{text, done},
			ended(message.StopEnd, "", message.Text("x")),
		},
		{"server that knows no finish, nothing said", `{"supportsFinishReason":false}`, []string{done}, modeltest.Answer{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := against(t, streaming(c.events...), func(s *model.Spec) {
				if c.compat != "" {
					s.Compat = []byte(c.compat)
				}
			})
			got := modeltest.Ask(t, m, modeltest.UserRequest("hello"))
			if got.Err != nil {
				t.Fatal(got.Err)
			}
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFunctionCallOfOldServers(t *testing.T) {
	m := against(t, streaming(
		delta(`"function_call":{"name":"ls","arguments":"{\"p\""}`), delta(`"function_call":{"arguments":":1}"}`), finish("function_call"),
	), nil)
	got := modeltest.Ask(t, m, modeltest.UserRequest("hello"))
	if got.Err != nil || len(got.Blocks) != 1 || got.Stop != message.StopToolUse {
		t.Fatalf("got %+v", got)
	}
	if b := got.Blocks[0]; b.Name != "ls" || string(b.Arguments) != `{"p":1}` || len(b.ID) < 10 {
		t.Errorf("call is %+v; it needs an id of its own", b)
	}
}

func TestStopAndSignature(t *testing.T) {
	m := against(t, streaming(
		`{"id":"r9","model":"m-2026","choices":[{"index":0,"delta":{"reasoning_text":"a"}}]}`,
		`{"id":"r9","model":"m-2026","choices":[{"index":0,"delta":{"reasoning_text":"b"},"finish_reason":"stop"}]}`,
	), nil)
	var got []agent.Delta
	for d, err := range m.Stream(t.Context(), modeltest.UserRequest("hello")) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, d)
	}
	want := []agent.Delta{
		agent.ThinkingDelta{Text: "a", Signature: "reasoning_text"},
		agent.ThinkingDelta{Text: "b"},
		agent.Stop{Reason: message.StopEnd, RawReason: "stop", ResponseID: "r9", ResponseModel: "m-2026"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUsage(t *testing.T) {
	for _, c := range []struct {
		name, raw string
		want      message.Usage
	}{
		{"plain", `{"prompt_tokens":10,"completion_tokens":3,"total_tokens":13}`, message.Usage{Input: 10, Output: 3, TotalTokens: 13}},
		{"cached and reasoning", `{"prompt_tokens":100,"completion_tokens":30,"total_tokens":130,"prompt_tokens_details":{"cached_tokens":64},"completion_tokens_details":{"reasoning_tokens":20}}`, message.Usage{Input: 36, CacheRead: 64, Output: 30, Reasoning: 20, TotalTokens: 130}},
		{"written to the cache", `{"prompt_tokens":100,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":10,"cache_write_tokens":80}}`, message.Usage{Input: 10, CacheRead: 10, CacheWrite: 80, Output: 1, TotalTokens: 101}},
		{"DeepSeek's place", `{"prompt_tokens":100,"completion_tokens":1,"prompt_cache_hit_tokens":90}`, message.Usage{Input: 10, CacheRead: 90, Output: 1, TotalTokens: 101}},
		{"Moonshot's place", `{"prompt_tokens":100,"completion_tokens":1,"cached_tokens":90}`, message.Usage{Input: 10, CacheRead: 90, Output: 1, TotalTokens: 101}},
		{"reasoning counted apart", `{"prompt_tokens":10,"completion_tokens":3,"total_tokens":20,"completion_tokens_details":{"reasoning_tokens":7}}`, message.Usage{Input: 10, Output: 10, Reasoning: 7, TotalTokens: 20}},
		{"more cached than sent", `{"prompt_tokens":5,"completion_tokens":1,"cached_tokens":9}`, message.Usage{CacheRead: 9, Output: 1, TotalTokens: 10}},
		{"nulls and nonsense", `{"prompt_tokens":null,"completion_tokens":"3","total_tokens":-1,"prompt_tokens_details":null}`, message.Usage{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for place, lines := range map[string][]string{
				"chunk":  {delta(`"content":"x"`), finish("stop"), `{"choices":[],"usage":` + c.raw + `}`, "[DONE]"},
				"choice": {delta(`"content":"x"`), `{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":` + c.raw + `}]}`, "[DONE]"},
				"last":   {`{"choices":[{"index":0,"delta":{"content":"x"}}],"usage":{"prompt_tokens":1,"completion_tokens":99}}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":` + c.raw + `}`},
			} {
				got := modeltest.Ask(t, against(t, streaming(lines...), nil), modeltest.UserRequest("hello"))
				if got.Err != nil || got.Usage != c.want {
					t.Errorf("in the %s: got %+v, %v, want %+v", place, got.Usage, got.Err, c.want)
				}
			}
		})
	}
	t.Run("null in every chunk", func(t *testing.T) {
		m := against(t, streaming(`{"choices":[{"index":0,"delta":{"content":"x"}}],"usage":null}`, finish("stop")), nil)
		for d := range m.Stream(t.Context(), modeltest.UserRequest("hello")) {
			if _, ok := d.(agent.UsageDelta); ok {
				t.Error("usage was told without usage")
			}
		}
	})
}

func TestStreamFailures(t *testing.T) {
	text := delta(`"content":"x"`)
	for _, c := range []struct {
		name   string
		handle http.HandlerFunc
		status int
		want   string
		told   string // text before
	}{
		{"error event", streaming(text, `{"error":{"message":"Overloaded.","code":503}}`), 503, "Overloaded.", "x"},
		{"error event with a word for a code", streaming(`{"error":{"message":"Too much.","type":"server_error","code":"overloaded"}}`), 0, "Too much. (overloaded)", ""},
		{"event of the type error", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: error\ndata: {\"message\":\"Sorry.\"}\n\n")
		}, 0, "Sorry.", ""},
		{"error event as a string", streaming(`{"error":"went wrong"}`), 0, "went wrong", ""},
		{"not JSON", streaming(text, `{"choices":[`), 0, "cannot be read", "x"},
		{"finish says error", streaming(text, finish("network_error")), 0, "network_error", "x"},
		{"call without a name", streaming(call(0, `"id":"a","function":{"arguments":"{}"}`), finish("tool_calls")), 0, "without a name", ""},
		{"connection lost", func(w http.ResponseWriter, r *http.Request) {
			streaming(text)(w, r)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}, 0, "EOF", "x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := modeltest.Ask(t, against(t, c.handle, nil), modeltest.UserRequest("hello"))
			var failure *agent.RequestError
			if !errors.As(got.Err, &failure) {
				t.Fatalf("got %+v", got)
			}
			if failure.Status != c.status || !strings.Contains(failure.Message, c.want) || failure.Provider != "here" {
				t.Errorf("failure is %+v, want status %d and %q", failure, c.status, c.want)
			}
			if got.Stops != 0 || got.Text() != c.told {
				t.Errorf("before it came %+v", got)
			}
		})
	}
}

// A connection that breaks between the finish and the end mark took nothing from
// the answer.
func TestLostAfterFinish(t *testing.T) {
	m := against(t, func(w http.ResponseWriter, r *http.Request) {
		streaming(delta(`"content":"x"`), finish("stop"))(w, r)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}, nil)
	if got := modeltest.Ask(t, m, modeltest.UserRequest("hello")); got.Err != nil || got.Stops != 1 {
		t.Errorf("got %+v", got)
	}
}
