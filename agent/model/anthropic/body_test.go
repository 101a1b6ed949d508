package anthropic

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/message"
)

// signed are blocks as this provider would have given them.
func signed() modeltest.Signed {
	return modeltest.Signed{
		API:      API,
		Thinking: message.Block{Type: message.TypeThinking, Thinking: "First <this> & that. ", ThinkingSignature: "Eq/+QB=="},
		Text:     message.Text("I look."),
		Hidden:   message.Block{Type: message.TypeThinking, Thinking: redactedText, ThinkingSignature: "hidden/+==", Redacted: true},
		Call:     message.ToolCall("call_s", "read", json.RawMessage(`{"path":"x","n":1.50}`)),
	}
}

func as(id string, more func(*model.Spec)) func(*model.Spec) {
	return func(s *model.Spec) {
		s.Info.ID, s.Info.Reasoning = id, true
		if more != nil {
			more(s)
		}
	}
}

func TestBodies(t *testing.T) {
	hello := modeltest.UserRequest("hello")
	hello.Thinking = "xhigh"
	compat := func(text string) func(*model.Spec) {
		return func(s *model.Spec) { s.Compat = json.RawMessage(text) }
	}
	marked := agent.Request{Head: []byte("h"), Messages: hello.Messages, Tools: []message.ToolDeclaration{{Name: "ls"}}}
	modeltest.Goldens(t, New, *update, append(modeltest.Conversations(signed()),
		modeltest.NamedRequest{Name: "adaptive", Change: as("claude-opus-4-7", nil), Request: hello},
		modeltest.NamedRequest{Name: "adaptive with a word", Change: as("claude-sonnet-5", func(s *model.Spec) {
			s.Levels = map[string]string{"xhigh": "xhigh"}
		}), Request: hello},
		modeltest.NamedRequest{Name: "no room to think", Change: as("m", func(s *model.Spec) { s.Info.MaxTokens = 2000 }), Request: hello},
		modeltest.NamedRequest{Name: "no cache", Change: compat(`{"supportsCacheControl":false}`), Request: marked},
		modeltest.NamedRequest{Name: "long cache", Change: compat(`{"supportsLongCacheRetention":true,"supportsCacheControlOnTools":false}`), Request: marked},
	))
}

func TestAdaptive(t *testing.T) {
	for id, want := range map[string]bool{
		"claude-opus-4-5": false, "claude-opus-4-6": true, "claude-sonnet-4-20250514": false, "claude-opus-4-1-20250805": false,
		"claude-3-7-sonnet-20250219": false, "anthropic/claude-opus-4.7": true, "claude-haiku-5": true, "claude-fable-5-20270101": true,
		"claude-sonnet-4": false, "glm-5": false, "claude-haiku-4-5@20251001": false,
	} {
		if got := adaptive(id); got != want {
			t.Errorf("%s: %t, want %t", id, got, want)
		}
	}
}

func TestCompatThatCannotBeUsed(t *testing.T) {
	for _, compat := range []string{`{"thinkingFormat":"qwen"}`, `{"supportsCacheControl":"yes"}`} {
		if _, err := New(model.Spec{Compat: json.RawMessage(compat)}); err == nil || !strings.Contains(err.Error(), "compat") {
			t.Errorf("%s: error is %v", compat, err)
		}
	}
}

func TestAnyHead(t *testing.T) { modeltest.AnyHead(t, API, New) }
