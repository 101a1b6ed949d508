package public

import (
	"slices"
	"strings"
	"testing"

	"charm.land/catwalk/pkg/catwalk"
)

// The table and the catalogue speak of the same providers: the same address and
// wire, and models that can be priced.
func TestTableAgainstTheCatalogue(t *testing.T) {
	wires := map[catwalk.Type]string{
		catwalk.TypeOpenAI: responses, catwalk.TypeOpenAICompat: completions, catwalk.TypeOpenRouter: completions,
		catwalk.TypeVercel: completions, catwalk.TypeAnthropic: messages, catwalk.TypeGoogle: gemini,
	}
	var ids []string
	for _, p := range Providers() {
		c, ok := catalogue()[p.catalogue]
		switch {
		case !ok:
			t.Errorf("%s: the catalogue has no %s", p.ID, p.catalogue)
			continue
		case wires[c.Type] != p.API:
			t.Errorf("%s: wire %s, the catalogue says %s", p.ID, p.API, c.Type)
		case !strings.HasPrefix(c.APIEndpoint, "$") && c.APIEndpoint != p.BaseURL:
			t.Errorf("%s: address %s, the catalogue says %s", p.ID, p.BaseURL, c.APIEndpoint)
		case slices.Contains(ids, p.ID):
			t.Errorf("%s stands there twice", p.ID)
		}
		ids = append(ids, p.ID)
		models := p.Models()
		if len(models) == 0 || models[0].ID != c.DefaultLargeModelID {
			t.Errorf("%s: the first of %d models is not %s", p.ID, len(models), c.DefaultLargeModelID)
		}
		for _, m := range models {
			if m.ID == "" || m.ContextWindow <= 0 || m.MaxTokens < 0 || m.Input < 0 || m.CacheRead > m.Input || m.CacheWrite < 0 {
				t.Errorf("%s/%s: %+v", p.ID, m.ID, m)
			}
		}
	}
}

func TestWhatIsKnown(t *testing.T) {
	for ref, want := range map[string]Model{
		"anthropic/claude-opus-4-6": {ID: "claude-opus-4-6", Name: "Claude Opus 4.6", Reasoning: true, Images: true, Levels: []string{"low", "medium", "high", "max"},
			ContextWindow: 200000, MaxTokens: 128000, Input: 5, Output: 25, CacheRead: 0.5, CacheWrite: 6.25},
		"openai/gpt-4o": {ID: "gpt-4o", Name: "GPT-4o", Images: true, ContextWindow: 128000, MaxTokens: 8192, Input: 2.5, Output: 10, CacheRead: 1.25},
		"deepseek/deepseek-v4-flash": {ID: "deepseek-v4-flash", Name: "DeepSeek-V4-Flash", Reasoning: true, Levels: []string{"low", "high", "max"},
			ContextWindow: 1000000, MaxTokens: 384000, Input: 0.14, Output: 0.28, CacheRead: 0.0028},
	} {
		provider, id, _ := strings.Cut(ref, "/")
		p, ok := Find(provider)
		models := p.Models()
		i := slices.IndexFunc(models, func(m Model) bool { return m.ID == id })
		if !ok || i < 0 {
			t.Errorf("%s is not known", ref)
			continue
		}
		got := models[i]
		if !slices.Equal(got.Levels, want.Levels) {
			t.Errorf("%s: levels %v, want %v", ref, got.Levels, want.Levels)
		}
		got.Levels, want.Levels = nil, nil
		if got.ID != want.ID || got.Name != want.Name || got.Reasoning != want.Reasoning || got.Images != want.Images ||
			got.ContextWindow != want.ContextWindow || got.MaxTokens != want.MaxTokens ||
			got.Input != want.Input || got.Output != want.Output || got.CacheRead != want.CacheRead || got.CacheWrite != want.CacheWrite {
			t.Errorf("%s:\n got %+v\nwant %+v", ref, got, want)
		}
	}
	if _, ok := Find("nobody"); ok {
		t.Error("an unknown provider was found")
	}
}

// BenchmarkCatalogue: what the first start that needs the catalogue pays.
func BenchmarkCatalogue(b *testing.B) {
	for b.Loop() {
		if len(read()) == 0 {
			b.Fatal("it is empty")
		}
	}
}
