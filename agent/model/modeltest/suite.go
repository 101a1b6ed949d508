package modeltest

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model/offline"
	"github.com/piweb-go/piweb/message"
)

// prompt is how soon a stream must end after its context.
const prompt = 5 * time.Second

// Subject is a model under test.
type Subject struct {
	Model agent.Model
	// Sent tells what reached the provider with the newest request. It is nil for
	// a model without a wire; the checks of the wire are then left out.
	Sent func() Sent
}

// Sent is a request as its provider read it.
type Sent struct {
	Heads    []([]byte) // contents of all system messages
	HasTools bool       // any field that speaks of tools
	Tools    []string   // names in order
}

// Factory opens a model that answers from the script: a provider against a
// scripted server, or a scripted model itself. It is called once for each check
// and cleans up through tb.
type Factory func(tb testing.TB, script *offline.Script) Subject

// Run checks that a model keeps the contract of [agent.Model], as subtests of t.
func Run(t *testing.T, open Factory) {
	t.Helper()
	t.Run("answers", func(t *testing.T) { runAnswers(t, open) })
	t.Run("failures", func(t *testing.T) { runFailures(t, open) })
	t.Run("ends", func(t *testing.T) { runEnds(t, open) })
	t.Run("concurrency", func(t *testing.T) { runConcurrency(t, open) })
	t.Run("request is not changed", func(t *testing.T) { runUnchanged(t, open) })
	t.Run("wire", func(t *testing.T) { runWire(t, open) })
}

func runAnswers(t *testing.T, open Factory) {
	for _, c := range []struct {
		name   string
		script string
		want   Answer
	}{
		{
			"text", `{"steps":[{"text":"Hello, 世界 🌍.\n\n  Indented\tline ","usage":{"input":9,"output":4}}]}`,
			Answer{
				Blocks: []message.Block{message.Text("Hello, 世界 🌍.\n\n  Indented\tline ")},
				Usage:  usage(9, 4, 0, 0), Stops: 1, Stop: message.StopEnd,
			},
		},
		{
			"thinking before text", `{"steps":[{"thinking":"One.\nTwo.","text":"Three."}]}`,
			Answer{
				Blocks: []message.Block{{Type: message.TypeThinking, Thinking: "One.\nTwo."}, message.Text("Three.")},
				Stops:  1, Stop: message.StopEnd,
			},
		},
		{
			"one call", `{"steps":[{"text":"I look.","toolCalls":[{"id":"call_x","name":"read","arguments":{"path":"a b/文件.md","limit":1.50}}]}]}`,
			Answer{
				Blocks: []message.Block{message.Text("I look."), message.ToolCall("call_x", "read", []byte(`{"path":"a b/文件.md","limit":1.50}`))},
				Stops:  1, Stop: message.StopToolUse,
			},
		},
		{
			"parallel calls", `{"steps":[{"toolCalls":[
				{"id":"call_1","name":"read","arguments":{"path":"one"}},
				{"id":"call_2","name":"bash","arguments":{"command":"printf '%s\\n' \"x & y\" \u003e out"}},
				{"id":"call_3","name":"ls","arguments":{}}]}]}`,
			Answer{
				Blocks: []message.Block{
					message.ToolCall("call_1", "read", []byte(`{"path":"one"}`)),
					message.ToolCall("call_2", "bash", []byte(`{"command":"printf '%s\\n' \"x & y\" \u003e out"}`)),
					message.ToolCall("call_3", "ls", []byte(`{}`)),
				},
				Stops: 1, Stop: message.StopToolUse,
			},
		},
		{
			"arguments that are not JSON", `{"steps":[{"toolCalls":[{"id":"c","name":"read","argumentsText":"{\"path\": "}]}]}`,
			Answer{
				Blocks: []message.Block{message.ToolCall("c", "read", []byte(`{"path": `))},
				Stops:  1, Stop: message.StopToolUse,
			},
		},
		{
			"length", `{"steps":[{"text":"and so","finish":"length"}]}`,
			Answer{Blocks: []message.Block{message.Text("and so")}, Stops: 1, Stop: message.StopLength},
		},
		{
			"cached tokens", `{"steps":[{"text":"ok","usage":{"input":10,"output":5,"cacheRead":90,"reasoning":2}}]}`,
			Answer{Blocks: []message.Block{message.Text("ok")}, Usage: usage(10, 5, 90, 2), Stops: 1, Stop: message.StopEnd},
		},
		{
			"cut", `{"steps":[{"text":"The reason is","cut":true}]}`,
			Answer{Blocks: []message.Block{message.Text("The reason is")}},
		},
		{
			"long text", `{"steps":[{"text":"行に行を重ねて, a line.\n","textTimes":4000}]}`,
			Answer{
				Blocks: []message.Block{message.Text(strings.Repeat("行に行を重ねて, a line.\n", 4000))},
				Stops:  1, Stop: message.StopEnd,
			},
		},
		{
			"in one huge piece", `{"steps":[{"text":"行に行を重ねて, a line.\n","textTimes":40000,"whole":true,"toolCalls":[{"id":"c","name":"ls","arguments":{}}]}]}`,
			Answer{
				Blocks: []message.Block{message.Text(strings.Repeat("行に行を重ねて, a line.\n", 40000)), message.ToolCall("c", "ls", []byte(`{}`))},
				Stops:  1, Stop: message.StopToolUse,
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, Parse(t, c.script))
			got := Ask(t, s.Model, UserRequest("hello"))
			if got.Err != nil {
				t.Fatalf("the stream failed: %v", got.Err)
			}
			got.RawReason = "" // differs between wires
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("answer\n got %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func usage(in, out, cached, reasoning int64) message.Usage {
	return message.Usage{Input: in, Output: out, CacheRead: cached, Reasoning: reasoning, TotalTokens: in + out + cached}
}

func runFailures(t *testing.T, open Factory) {
	t.Run("refused, then answered", func(t *testing.T) {
		s := open(t, Parse(t, `{"steps":[
			{"error":{"status":429,"message":"Slow down, please.","retryAfter":"7"}},
			{"text":"now"}]}`))
		got := Ask(t, s.Model, UserRequest("hello"))
		var refusal *agent.RequestError
		if !errors.As(got.Err, &refusal) {
			t.Fatalf("error is %T %v, want *agent.RequestError", got.Err, got.Err)
		}
		if refusal.Status != 429 || refusal.RetryAfter != "7" || !strings.Contains(refusal.Message, "Slow down, please.") {
			t.Errorf("refusal is %+v", refusal)
		}
		if refusal.Provider != s.Model.Info().Provider {
			t.Errorf("refusal names provider %q, want %q", refusal.Provider, s.Model.Info().Provider)
		}
		if len(got.Blocks) > 0 || got.Stops > 0 {
			t.Errorf("a refusal came with %+v", got)
		}
		if again := Ask(t, s.Model, UserRequest("hello")); again.Err != nil || again.Stops != 1 {
			t.Errorf("the next request got %+v; a refused one must be sent once", again)
		}
	})
	t.Run("garbled", func(t *testing.T) { runGarbled(t, open) })
	t.Run("in the middle", func(t *testing.T) {
		s := open(t, Parse(t, `{"steps":[{"text":"I begin","error":{"status":503,"message":"Overloaded."}}]}`))
		got := Ask(t, s.Model, UserRequest("hello"))
		var failure *agent.RequestError
		if !errors.As(got.Err, &failure) || !strings.Contains(failure.Message, "Overloaded.") {
			t.Fatalf("error is %T %v", got.Err, got.Err)
		}
		if got.Stops != 0 || len(got.Blocks) != 1 || got.Blocks[0].Text != "I begin" {
			t.Errorf("before the failure came %+v", got)
		}
	})
}

func runGarbled(t *testing.T, open Factory) {
	s := open(t, Parse(t, `{"steps":[{"text":"I begin","garbled":true}]}`))
	got := Ask(t, s.Model, UserRequest("hello"))
	if got.Err == nil || got.Stops != 0 || len(got.Blocks) != 1 || got.Blocks[0].Text != "I begin" {
		t.Errorf("before something that cannot be read came %+v", got)
	}
}

func runEnds(t *testing.T, open Factory) {
	t.Run("stands still until its context is done", func(t *testing.T) {
		s := open(t, Parse(t, `{"steps":[{"text":"I begin","whole":true,"stall":true},{"text":"after"}]}`))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var last error
		for d, err := range s.Model.Stream(ctx, UserRequest("hello")) {
			switch d.(type) {
			case agent.TextDelta:
				cancel()
			case agent.Stop:
				t.Error("it ended with a Stop")
			}
			last = err
		}
		if !errors.Is(last, context.Canceled) {
			t.Errorf("the stream ended with %v, want context.Canceled", last)
		}
		if got := Ask(t, s.Model, UserRequest("hello")); got.Text() != "after" {
			t.Errorf("the next answer is %q", got.Text())
		}
	})
	slow := `{"steps":[{"text":"one two three four ","textTimes":5000,"delayMs":5},{"text":"after"}]}`
	t.Run("context done before", func(t *testing.T) {
		s := open(t, Parse(t, slow))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		got := AskContext(ctx, t, s.Model, UserRequest("hello"))
		if !errors.Is(got.Err, context.Canceled) || len(got.Blocks) > 0 {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("context cancelled while it streams", func(t *testing.T) {
		s := open(t, Parse(t, slow))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var last error
		var cancelled time.Time
		for d, err := range s.Model.Stream(ctx, UserRequest("hello")) {
			if err != nil {
				last = err
				continue
			}
			if _, ok := d.(agent.Stop); ok {
				t.Error("a cancelled answer ended with a Stop")
			}
			if cancelled.IsZero() {
				cancel()
				cancelled = time.Now()
			}
		}
		if cancelled.IsZero() {
			t.Fatal("nothing arrived")
		}
		if took := time.Since(cancelled); took > prompt {
			t.Errorf("the stream ended %v after its context", took)
		}
		if !errors.Is(last, context.Canceled) {
			t.Errorf("the stream ended with %v, want context.Canceled", last)
		}
	})
	t.Run("listener leaves", func(t *testing.T) {
		s := open(t, Parse(t, slow))
		for range s.Model.Stream(t.Context(), UserRequest("hello")) {
			break
		}
		if got := Ask(t, s.Model, UserRequest("hello")); got.Text() != "after" {
			t.Errorf("the next answer is %q", got.Text())
		}
	})
	t.Run("a stream is a request each time", func(t *testing.T) {
		s := open(t, Text("first", "second"))
		stream := s.Model.Stream(t.Context(), UserRequest("hello"))
		for _, want := range []string{"first", "second"} {
			if got := Collect(stream); got.Err != nil || got.Text() != want {
				t.Errorf("got %+v, want %q", got, want)
			}
		}
	})
}

func runConcurrency(t *testing.T, open Factory) {
	s := open(t, Parse(t, `{"steps":[
		{"match":"even","repeat":true,"text":"even even even"},
		{"match":"odd","repeat":true,"text":"odd odd odd"}]}`))
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			word := []string{"even", "odd"}[i%2]
			got := Collect(s.Model.Stream(t.Context(), UserRequest(word)))
			if want := word + " " + word + " " + word; got.Err != nil || got.Text() != want {
				t.Errorf("answer %d is %+v, want %q", i, got, want)
			}
		})
	}
	wg.Wait()
}

func runUnchanged(t *testing.T, open Factory) {
	s := open(t, Text("fine"))
	req, twin := fullRequest(), fullRequest()
	if got := Ask(t, s.Model, req); got.Err != nil {
		t.Fatal(got.Err)
	}
	if !reflect.DeepEqual(req, twin) {
		t.Errorf("the request was changed\n now %+v\n was %+v", req, twin)
	}
}

func runWire(t *testing.T, open Factory) {
	if open(t, Text("x")).Sent == nil {
		t.Log("no wire: left out")
		return
	}
	for _, h := range Heads() {
		t.Run("head: "+h.Name, func(t *testing.T) {
			s := open(t, Text("fine"))
			req := UserRequest("hello")
			req.Head = []byte(h.Text)
			if got := Ask(t, s.Model, req); got.Err != nil {
				t.Fatal(got.Err)
			}
			sent := s.Sent()
			if len(sent.Heads) != 1 || string(sent.Heads[0]) != h.Text {
				t.Errorf("the head did not arrive as it was: got %d of them, first %.80q, want %.80q",
					len(sent.Heads), first(sent.Heads), h.Text)
			}
		})
	}
	t.Run("no head, no tools", func(t *testing.T) {
		s := open(t, Text("fine"))
		if got := Ask(t, s.Model, UserRequest("hello")); got.Err != nil {
			t.Fatal(got.Err)
		}
		if sent := s.Sent(); len(sent.Heads) > 0 || sent.HasTools {
			t.Errorf("sent %d system messages (first %.80q) and tools: %t", len(sent.Heads), first(sent.Heads), sent.HasTools)
		}
	})
	t.Run("tools in order", func(t *testing.T) {
		s := open(t, Text("fine"))
		if got := Ask(t, s.Model, fullRequest()); got.Err != nil {
			t.Fatal(got.Err)
		}
		if sent := s.Sent(); !reflect.DeepEqual(sent.Tools, []string{"zeta", "alpha"}) {
			t.Errorf("tools arrived as %q", sent.Tools)
		}
	})
	t.Run("head after tool results", func(t *testing.T) {
		s := open(t, Text("fine"))
		req := fullRequest()
		req.Head = []byte("exact \n")
		if got := Ask(t, s.Model, req); got.Err != nil {
			t.Fatal(got.Err)
		}
		if sent := s.Sent(); len(sent.Heads) != 1 || string(sent.Heads[0]) != "exact \n" {
			t.Errorf("heads arrived as %q", sent.Heads)
		}
	})
}

func first(list [][]byte) []byte {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}
