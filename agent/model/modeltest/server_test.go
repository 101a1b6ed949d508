package modeltest_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/fixtures/scripts"
)

// post sends a body to a completion route and returns what came back.
func post(t *testing.T, client *http.Client, base, key, body string) (status int, answer string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

func body(messages string, more ...string) string {
	return `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[` + messages + `]` + strings.Join(more, "") + `}`
}

const hello = `{"role":"user","content":"hello"}`

func TestStrictness(t *testing.T) {
	const (
		calls   = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"ls","arguments":"{}"}}]}`
		resultA = `{"role":"tool","tool_call_id":"a","content":"x"}`
		resultB = `{"role":"tool","tool_call_id":"b","content":""}`
		picture = `{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}`
	)
	for _, c := range []struct {
		name, body string
		want       string // part of the refusal, "" for served
	}{
		{"plain", body(hello), ""},
		{"head", body(`{"role":"system","content":"x"},` + hello), ""},
		{"calls and results", body(hello + "," + calls + "," + resultB + "," + resultA + "," + hello), ""},
		{"tools", body(hello, `,"tools":[{"type":"function","function":{"name":"ls","parameters":{}}}]`), ""},
		{"picture", body(`{"role":"user","content":[` + picture + `]}`), ""},
		{"not JSON", `{"model"`, "not a completion request"},
		{"no stream", `{"model":"m","messages":[` + hello + `]}`, "stream"},
		{"no model", `{"stream":true,"messages":[` + hello + `]}`, "model"},
		{"no messages", body(""), "empty"},
		{"empty head", body(`{"role":"system","content":""},` + hello), "without content"},
		{"empty parts", body(`{"role":"user","content":[]}`), "without content"},
		{"empty answer", body(hello + `,{"role":"assistant","content":""}`), "needs content"},
		{"unknown role", body(`{"role":"toolResult","content":"x"}`), "unknown role"},
		{"picture between results", body(hello + "," + calls + "," + resultA + `,{"role":"user","content":[` + picture + `]},` + resultB), "no result"},
		{"result missing at the end", body(hello + "," + calls + "," + resultA), "no results"},
		{"result without call", body(hello + "," + resultA), "before this result"},
		{"result twice", body(hello + "," + calls + "," + resultA + "," + resultA), "before this result"},
		{"call without arguments", body(hello + `,{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"ls"}}]},` + resultA), "arguments"},
		{"empty list of tools", body(hello, `,"tools":[]`), "leave the field out"},
		{"tool twice", body(hello, `,"tools":[{"type":"function","function":{"name":"ls"}},{"type":"function","function":{"name":"ls"}}]`), "name of its own"},
		{"name of a tool", body(hello, `,"tools":[{"type":"function","function":{"name":"l s"}}]`), "name of its own"},
		{"schema that is none", body(hello, `,"tools":[{"type":"function","function":{"name":"ls","parameters":"x"}}]`), "JSON Schema"},
		{"picture that is no data", body(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://h/x.png"}}]}`), "data URL"},
		{"picture that is no base64", body(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,A?"}}]}`), "base64"},
		{"picture of a tool", body(hello + "," + calls + `,{"role":"tool","tool_call_id":"a","content":[` + picture + `]},` + resultB), "picture in a tool"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := modeltest.NewServer(t, modeltest.Text("fine"))
			status, answer := post(t, s.Spec().Client, s.URL, "k", c.body)
			if c.want == "" && status != 200 || c.want != "" && (status != 400 || !strings.Contains(answer, c.want)) {
				t.Errorf("status %d: %s\nwant %q", status, answer, c.want)
			}
			lenient := modeltest.NewServerWith(t, modeltest.Text("fine"), modeltest.Options{Lenient: true})
			if status, answer := post(t, lenient.Spec().Client, lenient.URL, "k", c.body); status != 200 && c.name != "not JSON" {
				t.Errorf("a lenient server says %d: %s", status, answer)
			}
		})
	}
}

func TestEventStream(t *testing.T) {
	s := modeltest.NewServer(t, modeltest.Parse(t, `{"steps":[{"thinking":"hm","text":"a b","toolCalls":[
		{"id":"x","name":"ls","arguments":{"p":1}},{"id":"y","name":"rm","arguments":{"q":2}}],
		"usage":{"input":3,"output":4,"cacheRead":5,"reasoning":1}}]}`))
	_, got := post(t, s.Spec().Client, s.URL, "k", body(hello))
	head := `{"choices":[{"delta":`
	tail := `,"finish_reason":null,"index":0}],"created":1,"id":"chatcmpl-1","model":"m","object":"chat.completion.chunk"}`
	var want strings.Builder
	for _, d := range []string{
		`{"content":"","role":"assistant"}`, `{"reasoning_content":"hm"}`, `{"content":"a "}`, `{"content":"b"}`,
		`{"tool_calls":[{"function":{"arguments":"","name":"ls"},"id":"x","index":0,"type":"function"}]}`,
		`{"tool_calls":[{"function":{"arguments":"","name":"rm"},"id":"y","index":1,"type":"function"}]}`,
		`{"tool_calls":[{"function":{"arguments":"{\""},"index":0}]}`, `{"tool_calls":[{"function":{"arguments":"{\""},"index":1}]}`,
		`{"tool_calls":[{"function":{"arguments":"p\""},"index":0}]}`, `{"tool_calls":[{"function":{"arguments":"q\""},"index":1}]}`,
		`{"tool_calls":[{"function":{"arguments":":1}"},"index":0}]}`, `{"tool_calls":[{"function":{"arguments":":2}"},"index":1}]}`,
	} {
		want.WriteString("data: " + head + d + tail + "\n\n")
	}
	want.WriteString("data: " + head + "{}" + strings.Replace(tail, "null", `"tool_calls"`, 1) + "\n\n")
	want.WriteString(`data: {"choices":[],"created":1,"id":"chatcmpl-1","model":"m","object":"chat.completion.chunk","usage":` +
		`{"completion_tokens":4,"completion_tokens_details":{"reasoning_tokens":1},"prompt_tokens":8,` +
		`"prompt_tokens_details":{"cache_write_tokens":0,"cached_tokens":5},"total_tokens":12}}` + "\n\ndata: [DONE]\n\n")
	if diff := cmp.Diff(want.String(), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUsageOnlyOnRequest(t *testing.T) {
	s := modeltest.NewServer(t, modeltest.Script(t, scripts.FS(), "plain"))
	_, got := post(t, s.Spec().Client, s.URL, "k", `{"model":"m","stream":true,"messages":[`+hello+`]}`)
	if strings.Contains(got, "usage") {
		t.Errorf("nobody asked for the usage: %s", got)
	}
}

func TestRecording(t *testing.T) {
	s := modeltest.NewServer(t, modeltest.Text("one", "two"))
	if _, ok := s.Last(); ok {
		t.Error("something was recorded before anything was sent")
	}
	first := "{ \"model\" : \"m\",\n\t\"stream\":true, \"messages\":[" + hello + "]}"
	post(t, s.Spec().Client, s.URL, "key-1", first)
	post(t, s.Spec().Client, s.URL, "key-2", body(hello))
	got := s.Requests()
	if len(got) != 2 || s.Count() != 2 {
		t.Fatalf("%d requests", len(got))
	}
	if string(got[0].Body) != first {
		t.Errorf("the body was not kept as it came: %s", got[0].Body)
	}
	last, _ := s.Last()
	if last.N != 2 || last.Method != "POST" || last.Path != "/v1/chat/completions" || last.Header.Get("Authorization") != "Bearer key-2" {
		t.Errorf("the last one is %+v", last)
	}
}

func TestWait(t *testing.T) {
	s := modeltest.NewServer(t, modeltest.Text("one", "two"))
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { post(t, s.Spec().Client, s.URL, "k", body(hello)) })
	}
	if err := s.Wait(t.Context(), 2); err != nil {
		t.Error(err)
	}
	wg.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := s.Wait(ctx, 3); err == nil || !strings.Contains(err.Error(), "2 of 3") {
		t.Errorf("error is %v", err)
	}
}

func TestOptions(t *testing.T) {
	t.Run("key", func(t *testing.T) {
		s := modeltest.NewServerWith(t, modeltest.Text("fine"), modeltest.Options{Key: "right"})
		if status, answer := post(t, s.Spec().Client, s.URL, "wrong-key", body(hello)); status != 401 || !strings.Contains(answer, "wrong-key") {
			t.Errorf("status %d: %s", status, answer)
		}
		if status, _ := post(t, s.Spec().Client, s.URL, "right", body(hello)); status != 200 {
			t.Errorf("status %d", status)
		}
	})
	t.Run("on request", func(t *testing.T) {
		seen := make(chan string, 1)
		s := modeltest.NewServerWith(t, modeltest.Text("fine"), modeltest.Options{
			OnRequest: func(_ context.Context, r modeltest.Recorded) { seen <- string(r.Body) },
		})
		post(t, s.Spec().Client, s.URL, "k", body(hello))
		if got := <-seen; got != body(hello) {
			t.Errorf("saw %s", got)
		}
	})
}

func TestRoutes(t *testing.T) {
	// A handler without a test and without a server of ours.
	h := modeltest.NewHandler(modeltest.Text("fine"), modeltest.Options{})
	defer h.Close()
	for _, c := range []struct {
		method, path string
		status       int
		want         string
	}{
		{"GET", "/v1/models", 200, `"scripted"`},
		{"GET", "/v1/chat/completions", 404, "no such route"},
		{"POST", "/v1/completions", 404, "no such route"},
		{"POST", "/any/prefix/chat/completions", 200, "[DONE]"},
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(c.method, c.path, strings.NewReader(body(hello))))
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
				t.Errorf("status %d: %s", w.Code, w.Body)
			}
		})
	}
}

func TestCloseEndsAnswers(t *testing.T) {
	s := modeltest.Start(modeltest.Parse(t, `{"steps":[{"repeat":true,"text":"a b c d ","textTimes":1000,"delayMs":1000}]}`), modeltest.Options{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			res, err := s.Spec().Client.Post(s.URL+"/chat/completions", "application/json", strings.NewReader(body(hello)))
			if err != nil {
				return // closed already
			}
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
		})
	}
	if err := s.Wait(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	s.Close()
	s.Close()
	wg.Wait()
	if took := time.Since(start); took > 4*time.Second {
		t.Errorf("closing took %v", took)
	}
}

func TestLastUserOfPictures(t *testing.T) {
	s := modeltest.NewServer(t, modeltest.Parse(t, `{"steps":[{"match":"hello","text":"found"}]}`))
	status, answer := post(t, s.Spec().Client, s.URL, "k", body(hello+
		`,{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{}"}}]}`+
		`,{"role":"tool","tool_call_id":"a","content":"x"}`+
		`,{"role":"user","content":[{"type":"text","text":"pictures"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}`))
	if status != 200 || !strings.Contains(answer, "found") {
		t.Errorf("status %d: %s", status, answer)
	}
}

func ExampleStart() {
	server := modeltest.Start(modeltest.Text("Good morning."), modeltest.Options{})
	defer server.Close()

	ask := `{"model":"m","stream":true,"messages":[{"role":"system","content":"Be <brief>.\n"},{"role":"user","content":"Hello"}]}`
	res, err := http.Post(server.URL+"/chat/completions", "application/json", strings.NewReader(ask))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer res.Body.Close()

	last, _ := server.Last()
	head, _ := modeltest.Head(last.Body)
	fmt.Printf("%s, head %q, tools %t\n", res.Status, head, modeltest.HasTools(last.Body))
	// Output: 200 OK, head "Be <brief>.\n", tools false
}
