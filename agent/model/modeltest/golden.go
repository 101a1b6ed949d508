package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/message"
)

// Pixel is a PNG of one pixel, in base64.
const Pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// Signed are blocks with the signatures of a provider, as an answer of its own
// would hold them.
type Signed struct {
	API            string
	Thinking, Text message.Block
	Hidden         message.Block // a redacted thought, the zero block where there is none
	Call           message.Block // with the id "call_s" and the name "read"
}

// NamedRequest is a request with the name of its golden file.
type NamedRequest struct {
	Name   string
	Change func(*model.Spec) // nil for none
	agent.Request
}

// Conversations returns what a session may send, from one message to several turns
// with thoughts, calls and pictures. Every provider keeps the body that it makes
// of each as a golden file.
func Conversations(own Signed) []NamedRequest {
	user := func(blocks ...message.Block) message.Message { return &message.User{Content: blocks} }
	answer := func(model string, blocks ...message.Block) message.Message {
		return &message.Assistant{API: own.API, Provider: "modeltest", Model: model, StopReason: message.StopToolUse, Content: blocks}
	}
	result := func(id, tool string, blocks ...message.Block) message.Message {
		return &message.ToolResult{ToolCallID: id, ToolName: tool, Content: blocks}
	}
	call := func(id, name, args string) message.Block {
		return message.ToolCall(id, name, json.RawMessage(args))
	}
	tools := []message.ToolDeclaration{
		{Name: "read", Description: "Reads a <file> & shows it.", Parameters: json.RawMessage(
			`{"type":"object","required":["path"],"properties":{"path":{"type":"string"},"limit":{"type":"number","maximum":1e3,"default":1.50}}}`)},
		{Name: "ls"},
	}
	text := []message.Message{user(message.Text("hello"))}
	thoughts := []message.Block{own.Thinking, own.Text, own.Call}
	if own.Hidden.Type != "" {
		thoughts = append([]message.Block{own.Hidden}, thoughts...)
	}
	thinking := func(model string) []message.Message {
		return []message.Message{
			user(message.Text("why?")), answer(model, thoughts...), result("call_s", "read", message.Text("because")), user(message.Text("really?")),
		}
	}
	pictures := []message.Message{
		user(message.Text("look at "), message.Image("image/png", Pixel), message.Text("and both")),
		answer("scripted", call("a", "read", `{"path":"a.png"}`), call("b", "read", `{"path":"b.png"}`)),
		result("a", "read", message.Text("a.png, 1×1"), message.Image("image/png", Pixel)),
		result("b", "read", message.Image("image/png", Pixel)),
		user(message.Text("and?")),
	}
	reasoning := func(s *model.Spec) { s.Info.Reasoning = true }
	return []NamedRequest{
		{"text", nil, agent.Request{Head: []byte("Be brief. \n"), Messages: text}},
		{"no head", nil, agent.Request{Messages: text}},
		{"tools", nil, agent.Request{Head: []byte("h"), Messages: text, Tools: tools}},
		{"thinking", reasoning, agent.Request{Messages: thinking("scripted"), Tools: tools, Thinking: "high"}},
		{"thinking off", reasoning, agent.Request{Messages: text, Thinking: "off"}},
		{"thoughts of another model", reasoning, agent.Request{Messages: thinking("other"), Tools: tools, Thinking: "low"}},
		{"pictures", nil, agent.Request{Messages: pictures, Tools: tools}},
		{"pictures for a model that is blind", func(s *model.Spec) { s.Info.Images = false }, agent.Request{Messages: pictures, Tools: tools}},
		{"pictures that cannot be read", nil, agent.Request{Messages: []message.Message{
			user(message.Text("see"), message.Image("image/png", "blob:sha256:00"), message.Image("image/png", "")),
		}}},
		{"sampling", func(s *model.Spec) {
			s.Info.Reasoning = true
			s.Sampling = json.RawMessage(`{"temperature":0.70,"top_p":0.5,"stream":false}`)
			s.SamplingByLevel = map[string]json.RawMessage{"off": json.RawMessage(`{"temperature":0.20}`), "high": json.RawMessage(`{"top_k":1}`)}
		}, agent.Request{Messages: text}},
		{"several turns", nil, agent.Request{Head: []byte("h"), Tools: tools, Messages: []message.Message{
			user(message.Text("look")),
			answer("scripted", message.Text("I look."), message.Block{Type: "hologram", Text: "no"},
				call("a", "read", `{"path": "x", "n":1.0,"s":"\u00e9\/"}`), call("call_1|fc_+/=", "ls", `{}`)),
			&message.ToolResult{ToolCallID: "a", ToolName: "read", IsError: true, Content: message.Content{message.Text("no such file"), message.Text("sorry")}},
			result("call_1|fc_+/=", "ls"),
			answer("scripted", message.Text("Not there.")),
			answer("scripted", message.Text("  ")), answer("scripted"),
			user(), user(message.Text("")),
			&message.System{Content: "never"}, &message.Custom{CustomType: "x", Content: message.Content{message.Text("never")}},
			user(message.Text("go on")),
		}}},
	}
}

// Goldens sends each conversation to a strict server and compares the bodies that
// arrived with testdata/NAME.golden.json, or writes those files.
func Goldens(t *testing.T, open model.Factory, update bool, conversations []NamedRequest) {
	for _, c := range conversations {
		t.Run(c.Name, func(t *testing.T) {
			server := NewServer(t, Text("fine"))
			spec := server.Spec()
			if c.Change != nil {
				c.Change(&spec)
			}
			m, err := open(spec)
			if err != nil {
				t.Fatal(err)
			}
			if got := Ask(t, m, c.Request); got.Err != nil {
				t.Fatal(got.Err)
			}
			last, _ := server.Last()
			var got bytes.Buffer
			if err := json.Indent(&got, last.Body, "", "  "); err != nil {
				t.Fatal(err)
			}
			got.WriteByte('\n')
			path := filepath.Join("testdata", strings.ReplaceAll(c.Name, " ", "-")+".golden.json")
			if update {
				if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want = bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n"))
			if diff := cmp.Diff(Sorted(t, want), Sorted(t, got.Bytes())); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

// Sorted is a JSON object with its outermost keys in order: an SDK that is given
// fields that it does not know writes them in any. What the keys hold stays as it
// is written.
func Sorted(t *testing.T, body []byte) string {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		fmt.Fprintf(&b, "%s: %s\n", key, fields[key])
	}
	return b.String()
}
