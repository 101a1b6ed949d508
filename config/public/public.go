// Package public says what is known of public providers and their models: the
// wire, the address, the variable of the key, and per model its sizes, prices,
// thinking levels and whether it sees.
//
// The table of providers is ours, with the ids that pi gives them; what is known
// of the models comes from a catalogue that is linked in. It is read when it is
// first asked for, because most starts need nothing of it. Nothing here touches
// the network, a file or the environment.
package public

import (
	"slices"
	"sync"

	"charm.land/catwalk/pkg/catwalk"
	"charm.land/catwalk/pkg/embedded"
)

// Provider is a public provider.
type Provider struct {
	ID       string // as pi calls it
	Name     string // for people
	API      string // the wire
	BaseURL  string
	Variable string // the environment variable of the key

	catalogue catwalk.InferenceProvider
}

// Model is a model of a public provider. Sizes are in tokens, prices in US
// dollars per million tokens.
type Model struct {
	ID, Name                             string
	Reasoning, Images                    bool
	Levels                               []string // thinking levels in the provider's words; nil where not told
	ContextWindow, MaxTokens             int
	Input, Output, CacheRead, CacheWrite float64
}

const (
	completions = "openai-completions"
	responses   = "openai-responses"
	messages    = "anthropic-messages"
	gemini      = "google-generative-ai"
)

// Providers returns the table in the order in which providers are offered.
func Providers() []Provider {
	return []Provider{
		{"anthropic", "Anthropic", messages, "https://api.anthropic.com", "ANTHROPIC_API_KEY", "anthropic"},
		{"openai", "OpenAI", responses, "https://api.openai.com/v1", "OPENAI_API_KEY", "openai"},
		{"google", "Google Gemini", gemini, "https://generativelanguage.googleapis.com/v1beta", "GEMINI_API_KEY", "gemini"},
		{"openrouter", "OpenRouter", completions, "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "openrouter"},
		{"deepseek", "DeepSeek", completions, "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "deepseek"},
		{"xai", "xAI", completions, "https://api.x.ai/v1", "XAI_API_KEY", "xai"},
		{"zai", "Z.AI", completions, "https://api.z.ai/api/coding/paas/v4", "ZAI_API_KEY", "zai"},
		{"moonshotai", "Moonshot AI", completions, "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY", "moonshot"},
		{"kimi-coding", "Kimi for Coding", messages, "https://api.kimi.com/coding", "KIMI_API_KEY", "kimi-coding"},
		{"minimax", "MiniMax", messages, "https://api.minimax.io/anthropic", "MINIMAX_API_KEY", "minimax"},
		{"groq", "Groq", completions, "https://api.groq.com/openai/v1", "GROQ_API_KEY", "groq"},
		{"cerebras", "Cerebras", completions, "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY", "cerebras"},
		{"fireworks", "Fireworks", completions, "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY", "fireworks"},
		{"baseten", "Baseten", completions, "https://inference.baseten.co/v1", "BASETEN_API_KEY", "baseten"},
		{"huggingface", "Hugging Face", completions, "https://router.huggingface.co/v1", "HF_TOKEN", "huggingface"},
		{"vercel-ai-gateway", "Vercel AI Gateway", completions, "https://ai-gateway.vercel.sh/v1", "AI_GATEWAY_API_KEY", "vercel"},
		{"opencode", "OpenCode Zen", completions, "https://opencode.ai/zen/v1", "OPENCODE_API_KEY", "opencode-zen"},
		{"opencode-go", "OpenCode Go", completions, "https://opencode.ai/zen/go/v1", "OPENCODE_API_KEY", "opencode-go"},
		{"venice", "Venice", completions, "https://api.venice.ai/api/v1", "VENICE_API_KEY", "venice"},
		{"chutes", "Chutes", completions, "https://llm.chutes.ai/v1", "CHUTES_API_KEY", "chutes"},
		{"nebius", "Nebius", completions, "https://api.tokenfactory.nebius.com/v1", "NEBIUS_API_KEY", "nebius"},
		{"zhipu", "Zhipu", completions, "https://open.bigmodel.cn/api/paas/v4", "ZHIPU_API_KEY", "zhipu"},
	}
}

// Find returns a provider of the table.
func Find(id string) (Provider, bool) {
	all := Providers()
	if i := slices.IndexFunc(all, func(p Provider) bool { return p.ID == id }); i >= 0 {
		return all[i], true
	}
	return Provider{}, false
}

// catalogue is read once; it does not change.
var catalogue = sync.OnceValue(read)

func read() map[catwalk.InferenceProvider]catwalk.Provider {
	out := map[catwalk.InferenceProvider]catwalk.Provider{}
	for _, p := range embedded.GetAll() {
		out[p.ID] = p
	}
	return out
}

// Models returns what is known of the provider's models, the one that suits most
// first.
func (p Provider) Models() []Model {
	c := catalogue()[p.catalogue]
	out := make([]Model, 0, len(c.Models))
	for _, m := range c.Models {
		read, write := cachePrices(m)
		known := Model{
			ID: m.ID, Name: m.Name, Reasoning: m.CanReason, Images: m.SupportsImages, Levels: m.ReasoningLevels,
			ContextWindow: int(m.ContextWindow), MaxTokens: int(m.DefaultMaxTokens),
			Input: m.CostPer1MIn, Output: m.CostPer1MOut, CacheRead: read, CacheWrite: write,
		}
		if m.ID == c.DefaultLargeModelID {
			out = slices.Insert(out, 0, known)
		} else {
			out = append(out, known)
		}
	}
	return out
}

// cachePrices reads the two prices of the catalogue, whose fields do not always
// mean the same: a price above that of plain input is that of writing, the
// lowest one below it is that of reading.
func cachePrices(m catwalk.Model) (read, write float64) {
	for _, price := range []float64{m.CostPer1MInCached, m.CostPer1MOutCached} {
		if price > 0 && price < m.CostPer1MIn && (read == 0 || price < read) {
			read = price
		}
	}
	if m.CostPer1MInCached > m.CostPer1MIn {
		write = m.CostPer1MInCached
	}
	return read, write
}
