package openai

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
)

func TestResolve(t *testing.T) {
	usual := dialect{store: true, effort: true, usage: true, finish: true, maxTokensField: "max_completion_tokens"}
	for _, c := range []struct {
		name      string
		url       string
		reasoning bool
		compat    string
		want      func(*dialect)
	}{
		{"OpenAI, plain model", "https://api.openai.com/v1", false, "", func(d *dialect) { d.shortIDs = true }},
		{"OpenAI, reasoning model", "https://api.openai.com/v1", true, "", func(d *dialect) { d.shortIDs, d.developerRole = true, true }},
		{"OpenAI, reasoning model, told not to", "https://api.openai.com/v1", true, `{"supportsDeveloperRole":false}`, func(d *dialect) { d.shortIDs = true }},
		{"local server", "http://127.0.0.1:1234/v1", true, "", func(*dialect) {}},
		{"developer role only where the model reasons", "http://h/v1", false, `{"supportsDeveloperRole":true}`, func(*dialect) {}},
		{"a host that only ends alike", "https://notdeepseek.com/v1", true, "", func(*dialect) {}},
		{"DeepSeek", "https://api.deepseek.com", true, "", func(d *dialect) {
			d.store, d.maxTokensField, d.thinking, d.emptyReasoning = false, "max_tokens", thinkDeepSeek, true
		}},
		{"configuration before host", "https://api.deepseek.com", true,
			`{"supportsStore":true,"maxTokensField":"max_completion_tokens","thinkingFormat":"openai","requiresReasoningContentOnAssistantMessages":false}`,
			func(d *dialect) { d.thinking = thinkEffort }},
		{"xAI", "https://api.x.ai/v1", true, "", func(d *dialect) { d.store, d.effort = false, false }},
		{"longest host wins", "https://gateway.ai.cloudflare.com/v1", true, "", func(d *dialect) {
			d.store, d.effort, d.maxTokensField = false, false, "max_tokens"
		}},
		{"unknown keys are passed over", "http://h/v1", true, `{"supportsMidConvoSystemMessages":false,"x":{"y":1}}`, func(*dialect) {}},
		{"all off", "http://h/v1", true, `{"supportsStore":false,"supportsReasoningEffort":false,"supportsUsageInStreaming":false,"supportsFinishReason":false}`,
			func(d *dialect) { *d = dialect{maxTokensField: "max_completion_tokens"} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			base, err := url.Parse(c.url)
			if err != nil {
				t.Fatal(err)
			}
			spec := model.Spec{Info: agent.ModelInfo{Reasoning: c.reasoning}}
			if c.compat != "" {
				spec.Compat = json.RawMessage(c.compat)
			}
			got, err := resolve(spec, base)
			if err != nil {
				t.Fatal(err)
			}
			want := usual
			c.want(&want)
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(dialect{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestThinkingFields(t *testing.T) {
	for _, c := range []struct {
		name   string
		compat string
		level  string
		effort string
		extra  string
	}{
		{"off", `{}`, "off", "", ""},
		{"none", `{}`, "", "", ""},
		{"level", `{}`, "medium", "medium", ""},
		{"mapped", `{"reasoningEffortMap":{"minimal":"low"}}`, "minimal", "low", ""},
		{"mapped to none", `{"reasoningEffortMap":{"minimal":null}}`, "minimal", "", ""},
		{"refused", `{"supportsReasoningEffort":false}`, "high", "", ""},
		{"unknown format", `{"thinkingFormat":"new"}`, "high", "high", ""},
		{"replay", `{"thinkingFormat":"reasoning_content"}`, "high", "high", ""},
		{"deepseek on", `{"thinkingFormat":"deepseek"}`, "high", "high", `{"thinking":{"type":"enabled"}}`},
		{"deepseek off", `{"thinkingFormat":"deepseek"}`, "off", "", `{"thinking":{"type":"disabled"}}`},
		{"zai on", `{"thinkingFormat":"zai","supportsReasoningEffort":false}`, "high", "", `{"thinking":{"clear_thinking":false,"type":"enabled"}}`},
		{"zai off", `{"thinkingFormat":"zai"}`, "off", "", `{"thinking":{"type":"disabled"}}`},
		{"qwen on", `{"thinkingFormat":"qwen","supportsReasoningEffort":false}`, "low", "", `{"enable_thinking":true}`},
		{"qwen off", `{"thinkingFormat":"qwen"}`, "off", "", `{"enable_thinking":false}`},
		{"qwen template", `{"thinkingFormat":"qwen-chat-template"}`, "low", "", `{"chat_template_kwargs":{"enable_thinking":true,"preserve_thinking":true}}`},
		{"together", `{"thinkingFormat":"together","supportsReasoningEffort":false}`, "low", "", `{"reasoning":{"enabled":true}}`},
		{"openrouter on", `{"thinkingFormat":"openrouter"}`, "low", "", `{"reasoning":{"effort":"low"}}`},
		{"openrouter off", `{"thinkingFormat":"openrouter"}`, "off", "", `{"reasoning":{"effort":"none"}}`},
		{"openrouter mapped to none", `{"thinkingFormat":"openrouter","reasoningEffortMap":{"low":null}}`, "low", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := model.Spec{Info: agent.ModelInfo{Reasoning: true}, Compat: json.RawMessage(c.compat)}
			d, err := resolve(spec, &url.URL{Host: "h"})
			if err != nil {
				t.Fatal(err)
			}
			effort, extra := d.thinkingFields(spec.Info, c.level)
			text := ""
			if extra != nil {
				b, err := json.Marshal(extra)
				if err != nil {
					t.Fatal(err)
				}
				text = string(b)
			}
			if effort != c.effort || text != c.extra {
				t.Errorf("got %q %s, want %q %s", effort, text, c.effort, c.extra)
			}
			if effort, extra := d.thinkingFields(agent.ModelInfo{}, c.level); effort != "" || extra != nil {
				t.Errorf("a model that does not reason got %q %v", effort, extra)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		spec model.Spec
		want string
	}{
		{"no URL", model.Spec{BaseURL: "://user:hunter22@h"}, "base URL"},
		{"no scheme", model.Spec{BaseURL: "localhost:8080/v1"}, "base URL"},
		{"other scheme", model.Spec{BaseURL: "file:///etc/passwd"}, "base URL"},
		{"compat of the wrong type", model.Spec{Compat: json.RawMessage(`{"supportsStore":"yes"}`)}, "supportsStore"},
		{"compat that is no object", model.Spec{Compat: json.RawMessage(`[]`)}, "compat"},
		{"unknown field for the limit", model.Spec{Compat: json.RawMessage(`{"maxTokensField":"max"}`)}, "maxTokensField"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.spec.Info = agent.ModelInfo{Provider: "p", ID: "m"}
			_, err := New(c.spec)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "p/m") {
				t.Fatalf("error is %v, want one about %s of p/m", err, c.want)
			}
			if strings.Contains(err.Error(), "hunter22") {
				t.Errorf("the error tells the password: %v", err)
			}
		})
	}
}

// A word of the configuration's thinkingLevelMap is the server's, unless compat
// names another.
func TestLevelsGiveTheWords(t *testing.T) {
	d := dialect{levels: map[string]string{"high": "max", "low": "little"}, efforts: map[string]*string{"low": nil}}
	for level, want := range map[string]string{"high": "max", "low": "", "medium": "medium"} {
		if got := d.word(level); got != want {
			t.Errorf("%s: %q, want %q", level, got, want)
		}
	}
}
