package openai

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/message"
)

// pixel is a PNG of one pixel, in base64.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// sent opens a model against a recording server, asks once and returns the body
// that arrived. change may edit the spec first.
func sent(t *testing.T, change func(*model.Spec), req agent.Request) []byte {
	t.Helper()
	server := modeltest.NewServerWith(t, modeltest.Text("fine"), modeltest.Options{Lenient: true})
	spec := server.Spec()
	if change != nil {
		change(&spec)
	}
	m, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	if got := modeltest.Ask(t, m, req); got.Err != nil {
		t.Fatal(got.Err)
	}
	last, _ := server.Last()
	return last.Body
}

func compatOf(text string) func(*model.Spec) {
	return func(s *model.Spec) { s.Compat = json.RawMessage(text) }
}

func user(blocks ...message.Block) *message.User { return &message.User{Content: blocks} }

func result(id, tool string, blocks ...message.Block) *message.ToolResult {
	return &message.ToolResult{ToolCallID: id, ToolName: tool, Content: blocks}
}

func calls(blocks ...message.Block) *message.Assistant {
	return &message.Assistant{
		API: API, Provider: "modeltest", Model: "scripted", StopReason: message.StopToolUse, Content: blocks,
	}
}

func thinking(text string) message.Block {
	return message.Block{Type: message.TypeThinking, Thinking: text, ThinkingSignature: "reasoning_content"}
}

func TestBodyGolden(t *testing.T) {
	readTool := message.ToolDeclaration{
		Name: "read", Description: "Reads a <file> & shows it.",
		Parameters: json.RawMessage(`{"type":"object","required":["path"],"properties":{"path":{"type":"string"},"limit":{"type":"number","maximum":1e3,"default":1.50}}}`),
	}
	twoPictures := []message.Message{
		user(message.Text("look at both")),
		calls(message.ToolCall("a", "read", json.RawMessage(`{"path":"a.png"}`)), message.ToolCall("b", "read", json.RawMessage(`{"path":"b.png"}`))),
		result("a", "read", message.Text("a.png, 1×1"), message.Image("image/png", pixel)),
		result("b", "read", message.Image("image/png", pixel)),
		user(message.Text("and?")),
	}
	withThoughts := []message.Message{
		user(message.Text("why?")),
		calls(thinking("First this."), thinking("Then that."), message.Text("Because.")),
		user(message.Text("really?")),
	}
	for _, c := range []struct {
		name   string
		change func(*model.Spec)
		req    agent.Request
	}{
		{"plain", nil, agent.Request{
			Head: []byte("Be brief.\n"), Messages: []message.Message{user(message.Text("hello"))},
			Tools: []message.ToolDeclaration{readTool, {Name: "ls"}}, Thinking: "off",
		}},
		{"nothing extra", compatOf(`{"supportsStore":false,"supportsUsageInStreaming":false}`), agent.Request{
			Messages: []message.Message{user(message.Text("hello"))}, Thinking: "high",
		}},
		{"max_tokens", compatOf(`{"maxTokensField":"max_tokens"}`), modeltest.UserRequest("hello")},
		{"answer as long as the window", func(s *model.Spec) { s.Info.MaxTokens = s.Info.ContextWindow }, modeltest.UserRequest("hello")},
		{"developer role and effort", func(s *model.Spec) {
			s.Info.Reasoning = true
			s.Compat = json.RawMessage(`{"supportsDeveloperRole":true,"reasoningEffortMap":{"xhigh":"high"}}`)
		}, agent.Request{Head: []byte("exact"), Messages: []message.Message{user(message.Text("hello"))}, Thinking: "xhigh"}},
		{"thinking off", func(s *model.Spec) { s.Info.Reasoning = true }, modeltest.UserRequest("hello")},
		{"user content", nil, agent.Request{Messages: []message.Message{
			user(message.Text("see"), message.Image("image/png", pixel), message.Text(""), message.Text("and tell"),
				message.Block{Type: "hologram", Text: "no"}, message.Image("image/png", "blob:sha256:00"), message.Image("image/png", "")),
			user(), user(message.Text("")), user(message.Block{Type: "hologram"}),
			user(message.Text(" \n")),
		}}},
		{"no pictures", func(s *model.Spec) { s.Info.Images = false }, agent.Request{Messages: []message.Message{
			user(message.Text("see"), message.Image("image/png", pixel), message.Image("image/png", pixel), message.Text("both")),
			calls(message.ToolCall("a", "read", nil)),
			result("a", "read", message.Image("image/png", pixel)),
		}}},
		{"history", nil, agent.Request{Messages: []message.Message{
			user(message.Text("look")),
			calls(thinking("hm"), message.Text("I look."), message.Block{Type: "hologram", Text: "no"}, message.Text(" Now."),
				message.ToolCall("a", "read", json.RawMessage(`{"path": "x", "n":1.0,"s":"\u00e9\/"}`)),
				message.ToolCall("call_1|fc_+/=", "bash", json.RawMessage(`{}`))),
			&message.ToolResult{ToolCallID: "a", ToolName: "read", IsError: true, Content: message.Content{message.Text("no such file"), message.Text("sorry")}},
			result("call_1|fc_+/=", "bash"),
			calls(message.ToolCall("c", "ls", json.RawMessage(`{}`))),
			result("c", "ls", message.Text("x")),
			calls(thinking("only thought")),
			calls(message.Text("  ")),
			&message.System{Content: "never"}, &message.Custom{CustomType: "x", Content: message.Content{message.Text("never")}},
			user(message.Text("go on")),
		}}},
		{"pictures of parallel results", nil, agent.Request{Messages: twoPictures}},
		{"picture of one result at the end", nil, agent.Request{Messages: twoPictures[:3]}},
		{"strict servers", compatOf(`{"requiresToolResultName":true,"requiresAssistantAfterToolResult":true}`), agent.Request{Messages: twoPictures}},
		{"bridge before a user", compatOf(`{"requiresAssistantAfterToolResult":true}`), agent.Request{Messages: []message.Message{
			user(message.Text("go")), calls(message.ToolCall("a", "ls", nil)), result("a", "ls", message.Text("x")), user(message.Text("stop")),
		}}},
		{"thoughts stay", func(s *model.Spec) { s.Info.Reasoning = true }, agent.Request{Messages: withThoughts}},
		{"thoughts go back", func(s *model.Spec) {
			s.Info.Reasoning = true
			s.Compat = json.RawMessage(`{"thinkingFormat":"deepseek","requiresReasoningContentOnAssistantMessages":true}`)
		}, agent.Request{Thinking: "high", Messages: append(withThoughts[:2:2],
			&message.Assistant{API: API, Provider: "other", Model: "scripted", Content: message.Content{thinking("of another"), message.Text("Foreign.")}},
			user(message.Text("so?")))}},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := sent(t, c.change, c.req)
			var got bytes.Buffer
			if err := json.Indent(&got, body, "", "  "); err != nil {
				t.Fatal(err)
			}
			got.WriteByte('\n')
			path := filepath.Join("testdata", strings.ReplaceAll(c.name, " ", "-")+".golden.json")
			if *update {
				if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want = bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n"))
			if diff := cmp.Diff(modeltest.Sorted(t, want), modeltest.Sorted(t, got.Bytes())); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHeadThatIsNotUTF8(t *testing.T) {
	server := modeltest.NewServer(t, modeltest.Text("fine"))
	m, err := New(server.Spec())
	if err != nil {
		t.Fatal(err)
	}
	req := modeltest.UserRequest("hello")
	req.Head = []byte("gr\xfc\xdfe")
	got := modeltest.Ask(t, m, req)
	if got.Err == nil || !strings.Contains(got.Err.Error(), "byte 2") {
		t.Errorf("error is %v, want one that names byte 2", got.Err)
	}
	if server.Count() != 0 {
		t.Error("something was sent in its place")
	}
}

func TestAnyHead(t *testing.T) { modeltest.AnyHead(t, API, New) }

// What is not UTF-8 anywhere but in the head is repaired, and a valid text passes
// unchanged.
func TestInvalidText(t *testing.T) {
	body := sent(t, nil, agent.Request{
		Messages: []message.Message{
			user(message.Text("a\xffb\xed\xa0\x80c")),
			calls(message.Text("\xc3"), message.ToolCall("i\xffd", "na\xffme", json.RawMessage(`{"s":"\ud83d x \udc00 \ud83c\udf0a"}`))),
			result("i\xffd", "na\xffme", message.Text("\xfe")),
		},
		Tools: []message.ToolDeclaration{{Name: "t", Description: "d\xff", Parameters: json.RawMessage(`{"description":"\ud800"}`)}},
	})
	var got struct {
		Messages []struct {
			Content   any
			ToolCalls []struct {
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
			ToolCallID string `json:"tool_call_id"`
		}
	}
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	if s := string(body); !strings.Contains(s, `"a`+"\ufffd"+`b`+"\ufffd"+`c"`) || strings.Contains(strings.ToLower(s), `\ud800`) {
		t.Errorf("body is %s", s)
	}
	call := got.Messages[1].ToolCalls[0]
	if want := `{"s":"` + "\ufffd x \ufffd" + ` \ud83c\udf0a"}`; call.Function.Arguments != want {
		t.Errorf("arguments are %s, want %s", call.Function.Arguments, want)
	}
	if call.ID != got.Messages[2].ToolCallID {
		t.Errorf("call %q and result %q no longer meet", call.ID, got.Messages[2].ToolCallID)
	}
}

func TestCallID(t *testing.T) {
	long := "call_" + strings.Repeat("x", 60)
	for _, c := range []struct {
		name  string
		short bool
		id    string
		want  string // "" for the id itself
	}{
		{"usual", true, "call_abc", ""},
		{"foreign signs elsewhere", false, "functions.read:0", ""},
		{"long elsewhere", false, long, ""},
		{"long at OpenAI", true, long, "call_xxxxxxxxxxxxxxxxxxxxxx_"},
		{"two ids", false, "call_1|fc_2+/=", "call_1_fc_2___"},
		{"two long ids", false, "call_1|" + long, "call_1_call_xxxxxxxxxxxxxxx_"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := dialect{shortIDs: c.short}.callID(c.id)
			switch {
			case c.want == "" && got != c.id:
				t.Errorf("got %q, want %q", got, c.id)
			case !strings.HasPrefix(got, c.want):
				t.Errorf("got %q, want it to begin with %q", got, c.want)
			case c.want != "" && len(got) > maxCallID:
				t.Errorf("%q is too long", got)
			case got != (dialect{shortIDs: c.short}).callID(c.id):
				t.Error("not the same twice")
			}
		})
	}
	if a, b := (dialect{}).callID("c|"+long+"1"), (dialect{}).callID("c|"+long+"2"); a == b {
		t.Errorf("two ids became one: %q", a)
	}
}
