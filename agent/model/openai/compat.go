package openai

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
)

// defaultBaseURL is where requests go if the model names no other place.
const defaultBaseURL = "https://api.openai.com/v1"

// compat says in what a server differs from OpenAI's own. The names are the keys
// of the "compat" object in models.json (spec/pi.md §8); unknown keys are passed
// over.
type compat struct {
	SupportsDeveloperRole    *bool  `json:"supportsDeveloperRole"`
	SupportsStore            *bool  `json:"supportsStore"`
	SupportsReasoningEffort  *bool  `json:"supportsReasoningEffort"`
	SupportsUsageInStreaming *bool  `json:"supportsUsageInStreaming"`
	SupportsFinishReason     *bool  `json:"supportsFinishReason"`
	MaxTokensField           string `json:"maxTokensField"`
	ThinkingFormat           string `json:"thinkingFormat"`

	RequiresToolResultName           *bool `json:"requiresToolResultName"`
	RequiresAssistantAfterToolResult *bool `json:"requiresAssistantAfterToolResult"`
	RequiresReasoningContent         *bool `json:"requiresReasoningContentOnAssistantMessages"`

	// ReasoningEffortMap gives the server's word for a thinking level; null sends
	// none.
	ReasoningEffortMap map[string]*string `json:"reasoningEffortMap"`
}

// dialect is a compat with every question answered.
type dialect struct {
	developerRole, store, effort, usage, finish bool
	maxTokensField                              string
	thinking                                    thinkingFormat
	toolResultName, bridge, emptyReasoning      bool
	efforts                                     map[string]*string
	levels                                      map[string]string // where efforts says nothing
	shortIDs                                    bool              // ids of calls have at most 40 characters
}

// thinkingFormat is how a server is told to think and how it takes its thoughts
// back.
type thinkingFormat string

const (
	thinkEffort       thinkingFormat = "openai"             // reasoning_effort; thoughts stay here
	thinkDeepSeek     thinkingFormat = "deepseek"           // thinking.type, and thoughts go back
	thinkZai          thinkingFormat = "zai"                // thinking.type, and thoughts go back
	thinkQwen         thinkingFormat = "qwen"               // enable_thinking
	thinkQwenTemplate thinkingFormat = "qwen-chat-template" // chat_template_kwargs, and thoughts go back
	thinkTogether     thinkingFormat = "together"           // reasoning.enabled
	thinkOpenRouter   thinkingFormat = "openrouter"         // reasoning.effort
	thinkReplay       thinkingFormat = "reasoning_content"  // reasoning_effort, and thoughts go back
)

// replays says whether thoughts of earlier turns are sent as reasoning_content.
func (f thinkingFormat) replays() bool {
	switch f {
	case thinkDeepSeek, thinkZai, thinkQwenTemplate, thinkReplay:
		return true
	}
	return false
}

// habit is what a known host differs in, where the configuration says nothing.
type habit struct {
	host      string // the host itself or the end of its name
	noStore   bool   // refuses "store"
	maxTokens bool   // knows "max_tokens" only
	noEffort  bool   // refuses "reasoning_effort"
	thinking  thinkingFormat
}

// habits follows pi's table of hosts.
func habits() []habit {
	return []habit{
		{host: "cerebras.ai", noStore: true},
		{host: "x.ai", noStore: true, noEffort: true},
		{host: "chutes.ai", noStore: true, maxTokens: true},
		{host: "deepseek.com", noStore: true, maxTokens: true, thinking: thinkDeepSeek},
		{host: "z.ai", noStore: true, maxTokens: true, noEffort: true, thinking: thinkZai},
		{host: "bigmodel.cn", noStore: true, maxTokens: true, noEffort: true, thinking: thinkZai},
		{host: "moonshot.ai", noStore: true, maxTokens: true, noEffort: true},
		{host: "moonshot.cn", noStore: true, maxTokens: true, noEffort: true},
		{host: "together.ai", noStore: true, maxTokens: true, noEffort: true, thinking: thinkTogether},
		{host: "together.xyz", noStore: true, maxTokens: true, noEffort: true, thinking: thinkTogether},
		{host: "nvidia.com", noStore: true, maxTokens: true, noEffort: true},
		{host: "opencode.ai", noStore: true},
		{host: "api.cloudflare.com", noStore: true},
		{host: "gateway.ai.cloudflare.com", noStore: true, maxTokens: true, noEffort: true},
		{host: "openrouter.ai", thinking: thinkOpenRouter},
	}
}

func habitOf(host string) habit {
	host = strings.ToLower(host)
	var found habit
	for _, h := range habits() {
		if (host == h.host || strings.HasSuffix(host, "."+h.host)) && len(h.host) > len(found.host) {
			found = h
		}
	}
	return found
}

// resolve answers every question: the configuration first, then the host.
func resolve(spec model.Spec, base *url.URL) (dialect, error) {
	var c compat
	if len(spec.Compat) > 0 {
		if err := json.Unmarshal(spec.Compat, &c); err != nil {
			return dialect{}, fmt.Errorf("model %s: compat: %w", spec.Info, err)
		}
	}
	openAI := strings.EqualFold(base.Hostname(), "api.openai.com")
	known := habitOf(base.Hostname())
	d := dialect{
		developerRole:  spec.Info.Reasoning && or(c.SupportsDeveloperRole, openAI),
		store:          or(c.SupportsStore, !known.noStore),
		effort:         or(c.SupportsReasoningEffort, !known.noEffort),
		usage:          or(c.SupportsUsageInStreaming, true),
		finish:         or(c.SupportsFinishReason, true),
		maxTokensField: c.MaxTokensField,
		thinking:       thinkingFormat(c.ThinkingFormat),
		toolResultName: or(c.RequiresToolResultName, false),
		bridge:         or(c.RequiresAssistantAfterToolResult, false),
		efforts:        c.ReasoningEffortMap,
		levels:         spec.Levels,
		shortIDs:       openAI,
	}
	if d.thinking == "" {
		d.thinking = known.thinking
	}
	d.emptyReasoning = spec.Info.Reasoning && or(c.RequiresReasoningContent, known.thinking == thinkDeepSeek)
	switch {
	case d.maxTokensField == "" && known.maxTokens:
		d.maxTokensField = "max_tokens"
	case d.maxTokensField == "":
		d.maxTokensField = "max_completion_tokens"
	case d.maxTokensField != "max_tokens" && d.maxTokensField != "max_completion_tokens":
		return dialect{}, fmt.Errorf("model %s: compat: maxTokensField is %q, allowed are max_tokens and max_completion_tokens",
			spec.Info, d.maxTokensField)
	}
	return d, nil
}

func or(set *bool, otherwise bool) bool {
	if set != nil {
		return *set
	}
	return otherwise
}

// thinkingFields are the body fields that ask for a thinking level. A model that
// does not reason gets none.
func (d dialect) thinkingFields(info agent.ModelInfo, level string) (effort string, extra map[string]any) {
	if !info.Reasoning {
		return "", nil
	}
	on := level != "" && level != "off"
	kind := "disabled"
	if on {
		kind = "enabled"
	}
	effort = d.effortWord(level, on)
	switch d.thinking {
	case thinkDeepSeek:
		return effort, map[string]any{"thinking": map[string]any{"type": kind}}
	case thinkZai:
		thinking := map[string]any{"type": kind}
		if on {
			thinking["clear_thinking"] = false
		}
		return effort, map[string]any{"thinking": thinking}
	case thinkQwen:
		return effort, map[string]any{"enable_thinking": on}
	case thinkQwenTemplate:
		return "", map[string]any{"chat_template_kwargs": map[string]any{"enable_thinking": on, "preserve_thinking": true}}
	case thinkTogether:
		return effort, map[string]any{"reasoning": map[string]any{"enabled": on}}
	case thinkOpenRouter:
		word := "none"
		if on {
			word = d.word(level)
		}
		if word == "" {
			return "", nil
		}
		return "", map[string]any{"reasoning": map[string]any{"effort": word}}
	}
	return effort, nil
}

func (d dialect) effortWord(level string, on bool) string {
	if !on || !d.effort {
		return ""
	}
	return d.word(level)
}

// word is the server's word for a level, "" for none.
func (d dialect) word(level string) string {
	mapped, ok := d.efforts[level]
	switch {
	case !ok && d.levels[level] != "":
		return d.levels[level]
	case !ok:
		return level
	case mapped == nil:
		return ""
	}
	return *mapped
}
