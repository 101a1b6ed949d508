package anthropic

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/piweb-go/piweb/agent/model"
)

// compat says in what a server differs from Anthropic's own: keys of the "compat"
// object in models.json. Unknown keys are passed over.
type compat struct {
	SupportsCacheControl        *bool  `json:"supportsCacheControl"`        // default true
	SupportsCacheControlOnTools *bool  `json:"supportsCacheControlOnTools"` // default true
	SupportsLongCacheRetention  *bool  `json:"supportsLongCacheRetention"`  // default false: keep caches for an hour
	ForceAdaptiveThinking       *bool  `json:"forceAdaptiveThinking"`       // default by the model's name
	ThinkingFormat              string `json:"thinkingFormat"`              // "adaptive" or "budget", like the one above
}

// habits is a compat with every question answered.
type habits struct {
	cache, cacheTools, cacheLong bool
	reasoning, adaptive          bool
	betas                        []string
	levels                       map[string]string
}

// interleaved lets a model with a thinking budget think between calls; adaptive
// ones do so anyway.
const interleaved = "interleaved-thinking-2025-05-14"

func resolve(spec model.Spec) (habits, error) {
	var c compat
	if len(spec.Compat) > 0 {
		if err := json.Unmarshal(spec.Compat, &c); err != nil {
			return habits{}, fmt.Errorf("model %s: compat: %w", spec.Info, err)
		}
	}
	h := habits{
		cache: or(c.SupportsCacheControl, true), cacheLong: or(c.SupportsLongCacheRetention, false),
		reasoning: spec.Info.Reasoning, levels: spec.Levels,
	}
	h.cacheTools = h.cache && or(c.SupportsCacheControlOnTools, true)
	switch c.ThinkingFormat {
	case "":
		h.adaptive = or(c.ForceAdaptiveThinking, adaptive(spec.Info.ID))
	case "adaptive":
		h.adaptive = true
	case "budget":
	default:
		return habits{}, fmt.Errorf("model %s: compat: thinkingFormat is %q, allowed are adaptive and budget", spec.Info, c.ThinkingFormat)
	}
	if h.reasoning && !h.adaptive {
		h.betas = append(h.betas, interleaved)
	}
	return h, nil
}

func or(set *bool, otherwise bool) bool {
	if set != nil {
		return *set
	}
	return otherwise
}

// family finds the version in names such as claude-opus-4-6 and
// anthropic/claude-sonnet-5-20270101. A date is no version.
var family = regexp.MustCompile(`claude-[a-z]+-(\d{1,2})(?:[-.](\d{1,2}))?(?:\D|$)`)

// adaptive says whether a model decides itself how long it thinks: those from 4.6
// on do, and take no budget.
func adaptive(id string) bool {
	m := family.FindStringSubmatch(id)
	if m == nil {
		return false
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	return major > 4 || major == 4 && minor >= 6
}

// Budgets of thinking, in tokens (pi's defaults), and the room that is left for
// the answer beside them.
const (
	minBudget  = 1024
	answerRoom = 1024
)

func budget(level string) int64 {
	switch level {
	case "minimal":
		return 1024
	case "low":
		return 2048
	case "medium":
		return 8192
	}
	return 16384
}

// fallbackMaxTokens is the limit of an answer where the model names none; the
// wire demands one.
const fallbackMaxTokens = 8192

// think puts the limit of the answer and the thinking level into a request. A
// model that does not reason gets no field about it.
func (h habits) think(p *anthropic.MessageNewParams, level string, maxTokens int) {
	p.MaxTokens = int64(maxTokens)
	if p.MaxTokens <= 0 {
		p.MaxTokens = fallbackMaxTokens
	}
	on := level != "" && level != "off"
	switch {
	case !h.reasoning:
	case !on:
		p.Thinking.OfDisabled = &anthropic.ThinkingConfigDisabledParam{}
	case h.adaptive:
		p.Thinking.OfAdaptive = &anthropic.ThinkingConfigAdaptiveParam{Display: "summarized"}
		p.OutputConfig.Effort = anthropic.OutputConfigEffort(h.effort(level))
	default:
		n := min(budget(level), p.MaxTokens-answerRoom)
		if n < minBudget {
			p.Thinking.OfDisabled = &anthropic.ThinkingConfigDisabledParam{} // no room to think in
			return
		}
		p.Thinking = anthropic.ThinkingConfigParamOfEnabled(n)
	}
}

func (h habits) effort(level string) string {
	if word, ok := h.levels[level]; ok {
		return word
	}
	switch level {
	case "minimal":
		return "low"
	case "xhigh":
		return "max"
	}
	return level
}
