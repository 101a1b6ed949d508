package config

import (
	"encoding/json"
	"slices"
)

// Model describes a model that somebody has configured. It holds no secret and
// may be shown. Sizes are in tokens, prices in US dollars per million tokens.
type Model struct {
	ID       string `json:"id"`
	Name     string `json:"name"`     // for people; the id where none is given
	Provider string `json:"provider"` // provider id
	API      string `json:"api"`      // the wire, such as "openai-completions"
	BaseURL  string `json:"baseUrl"`  // without a slash at the end

	Reasoning        bool                      `json:"reasoning"`
	ThinkingLevelMap map[ThinkingLevel]*string `json:"thinkingLevelMap,omitempty"` // nil: the model does not have that level
	Input            []string                  `json:"input"`                      // "text", "image"
	InputLimits      InputLimits               `json:"inputLimits"`
	Cost             Cost                      `json:"cost"`
	PromptCache      PromptCache               `json:"promptCache"`
	ContextWindow    int                       `json:"contextWindow"` // default 128000
	MaxTokens        int                       `json:"maxTokens"`     // of one answer; default 16384

	// SamplingParams is a JSON object that is merged into every request body, or
	// nil; the one for a thinking level is merged over it.
	SamplingParams                json.RawMessage                   `json:"samplingParams,omitempty"`
	SamplingParamsByThinkingLevel map[ThinkingLevel]json.RawMessage `json:"samplingParamsByThinkingLevel,omitempty"`
	Compat                        json.RawMessage                   `json:"compat,omitempty"` // provider's and model's, merged; nil when neither is given

	KeySource   string `json:"keySource,omitempty"`   // where the key comes from, such as "auth.json"
	Note        string `json:"note,omitempty"`        // something worth knowing about a usable model
	Unavailable string `json:"unavailable,omitempty"` // why the model cannot be used; "" when it can

	headers map[string]Secret // as written; a literal one may be a key
}

// String is "provider/id".
func (m Model) String() string { return m.Provider + "/" + m.ID }

// Available reports whether the model can be used as far as that is known
// without running commands.
func (m Model) Available() bool { return m.Unavailable == "" }

// Images reports whether the model takes pictures.
func (m Model) Images() bool { return slices.Contains(m.Input, "image") }

// ThinkingLevels returns the levels that the model has, in ascending order: off
// alone without reasoning; else all through high that the map does not rule out,
// and xhigh and max where the map names them (spec/pi.md §8).
func (m Model) ThinkingLevels() []ThinkingLevel {
	if !m.Reasoning {
		return []ThinkingLevel{ThinkingOff}
	}
	return slices.DeleteFunc(ThinkingLevels(), func(l ThinkingLevel) bool {
		value, mapped := m.ThinkingLevelMap[l]
		if l == ThinkingXHigh || l == ThinkingMax {
			return !mapped || value == nil
		}
		return mapped && value == nil
	})
}

// Thinking returns the level that the model has nearest to the wanted one.
func (m Model) Thinking(wanted ThinkingLevel) ThinkingLevel { return wanted.Clamp(m.ThinkingLevels()) }

// Cost is a price list. The tier with the highest threshold below the input of a
// request prices the whole request.
type Cost struct {
	Rates
	Tiers []CostTier `json:"tiers,omitempty"`
}

// Rates are prices in US dollars per million tokens.
type Rates struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
}

// CostTier holds the prices for requests with more input tokens than a threshold.
type CostTier struct {
	InputTokensAbove float64 `json:"inputTokensAbove"`
	Rates
}

// For returns the prices of a request with that many input tokens, cached ones
// included.
func (c Cost) For(inputTokens int) Rates {
	rates, above := c.Rates, -1.0
	for _, tier := range c.Tiers {
		if float64(inputTokens) > tier.InputTokensAbove && tier.InputTokensAbove > above {
			rates, above = tier.Rates, tier.InputTokensAbove
		}
	}
	return rates
}

// PromptCache is how long a provider keeps a cached prompt, in seconds; 0 when
// it is not known.
type PromptCache struct {
	Short float64 `json:"short,omitempty"`
	Long  float64 `json:"long,omitempty"`
}

// InputLimits bounds what one request may hold; 0 for no bound.
type InputLimits struct {
	MaxRequestBytes int         `json:"maxRequestBytes,omitempty"`
	Images          ImageLimits `json:"images"`
}

// ImageLimits bounds the pictures of a request; 0 for no bound.
type ImageLimits struct {
	Resize        ImageResize `json:"resize"`
	MaxPerMessage int         `json:"maxPerMessage,omitempty"`
	MaxPerRequest int         `json:"maxPerRequest,omitempty"`
}

// ImageResize is the form that a picture is brought into before it is kept.
// Sides are in pixels, MaxBytes counts base64 characters; 0 for no bound.
type ImageResize struct {
	MaxWidth    int `json:"maxWidth,omitempty"`
	MaxHeight   int `json:"maxHeight,omitempty"`
	MaxBytes    int `json:"maxBytes,omitempty"`
	JPEGQuality int `json:"jpegQuality,omitempty"`
}

// Connection is a model with all that a client needs to reach it.
type Connection struct {
	Model
	Key     Secret
	Headers map[string]Secret // canonical names; sent with every request
}
