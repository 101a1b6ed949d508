package config

import (
	"errors"
	"slices"
	"testing"
)

// A public provider needs only a key: in the environment, in auth.json or given
// explicitly. Without one nothing of it is offered, and its models can be named.
func TestPublicProvidersNeedOnlyAKey(t *testing.T) {
	for name, set := range map[string]func(h *home) Options{
		"environment": func(h *home) Options { h.set("ANTHROPIC_API_KEY", "k"); return Options{} },
		"auth.json": func(h *home) Options {
			h.write("auth.json", `{"anthropic":{"type":"api_key","key":"k"}}`)
			return Options{}
		},
		"variable of auth.json": func(h *home) Options {
			h.write("auth.json", `{"anthropic":{"type":"api_key","key":"$MINE","env":{"MINE":"k"}}}`)
			return Options{}
		},
		"command": func(h *home) Options {
			h.write("auth.json", `{"anthropic":{"type":"api_key","key":"!echo k"}}`)
			return Options{}
		},
		"explicit": func(*home) Options { return Options{Keys: map[string]Secret{"anthropic": NewSecret("k")}} },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			opts := set(h)
			ms := Load(h.env(), opts).Models
			list := ms.Available()
			if len(list) < 5 || list[0].String() != "anthropic/claude-sonnet-4-6" {
				t.Fatalf("offered are %v", list)
			}
			m, err := ms.Find("claude-opus-4-6")
			if err != nil || !m.Available() || m.API != "anthropic-messages" || m.BaseURL != "https://api.anthropic.com" || !m.Reasoning || !m.Images() ||
				m.ContextWindow != 200000 || m.MaxTokens != 128000 || m.Cost.Rates != (Rates{5, 25, 0.5, 6.25}) {
				t.Errorf("%+v, %v", m, err)
			}
			if want := []ThinkingLevel{"off", "low", "medium", "high", "max"}; !slices.Equal(m.ThinkingLevels(), want) {
				t.Errorf("levels %v, want %v", m.ThinkingLevels(), want)
			}
			c, err := ms.Connect(t.Context(), m)
			if err != nil || c.Key.Reveal() != "k" {
				t.Errorf("%v", err)
			}
		})
	}
	h := newHome(t)
	ms := Load(h.env(), Options{}).Models
	if list := ms.Available(); len(list) != 0 {
		t.Errorf("without a key are offered %v", list)
	}
	for _, ref := range []string{"anthropic/claude-opus-4-6", "google/gemini-new"} {
		m, err := ms.Find(ref)
		if err != nil || m.Available() {
			t.Errorf("%s: %+v, %v", ref, m, err)
		}
		if _, err := ms.Connect(t.Context(), m); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

// What the user writes wins over what is known.
func TestModelsFileWinsOverWhatIsKnown(t *testing.T) {
	h := newHome(t)
	h.write("models.json", `{"providers":{
		"local":{"baseUrl":"http://l/v1","api":"openai-completions","apiKey":"none","models":[{"id":"mine"}]},
		"google":{"baseUrl":"http://proxy/v1beta","apiKey":"k","headers":{"X-Team":"t"},
			"models":[{"id":"gemini-2.5-pro","contextWindow":7}],
			"modelOverrides":{"gemini-2.5-flash":{"maxTokens":9,"cost":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4},"name":"Flash"}}}}}`)
	h.set("OPENAI_API_KEY", "k")
	ms := Load(h.env(), Options{}).Models
	list := ms.Available()
	if len(list) < 20 || list[0].String() != "local/mine" || list[1].String() != "google/gemini-2.5-pro" || list[len(list)-1].Provider != "openai" {
		t.Fatalf("the order is %v", list)
	}
	seen := map[string]bool{}
	for _, m := range list {
		if seen[m.String()] {
			t.Errorf("%s twice", m)
		}
		seen[m.String()] = true
	}
	pro, _ := ms.Find("google/gemini-2.5-pro")
	if pro.ContextWindow != 7 || pro.Reasoning || pro.Images() || pro.Cost.Input != 0 || pro.API != "google-generative-ai" || pro.BaseURL != "http://proxy/v1beta" {
		t.Errorf("an entry of the same id replaces: %+v", pro)
	}
	flash, _ := ms.Find("google/gemini-2.5-flash")
	if flash.MaxTokens != 9 || flash.Cost.Rates != (Rates{1, 2, 3, 4}) || flash.Name != "Flash" || !flash.Reasoning || !flash.Images() || flash.ContextWindow != 1048576 {
		t.Errorf("an override merges: %+v", flash)
	}
	c, err := ms.Connect(t.Context(), flash)
	if err != nil || c.Headers["X-Team"].Reveal() != "t" || c.Key.Reveal() != "k" {
		t.Errorf("%+v, %v", c, err)
	}
	gpt, _ := ms.Find("openai/gpt-5")
	if gpt.API != "openai-responses" || slices.Contains(gpt.ThinkingLevels(), ThinkingOff) {
		t.Errorf("gpt-5: %s, levels %v", gpt.API, gpt.ThinkingLevels())
	}
}

func TestVariablesThatHoldKeys(t *testing.T) {
	h := newHome(t)
	h.write("models.json", `{"providers":{"own":{"baseUrl":"http://h","api":"openai-completions","apiKey":"x-${OWN_KEY}","headers":{"A":"$HEADER_KEY"},
		"models":[{"id":"m","headers":{"B":"$MODEL_KEY"}}],"modelOverrides":{"m":{"headers":{"C":"$$LITERAL $OVERRIDE_KEY"}}}},"mistral":{"apiKey":"!echo $NOT_READ_HERE"}}}`)
	h.write("auth.json", `{"own":{"type":"api_key","key":"$STORED_KEY"}}`)
	names := Load(h.env(), Options{}).Models.KeyVariables()
	for _, want := range []string{"OWN_KEY", "HEADER_KEY", "MODEL_KEY", "OVERRIDE_KEY", "STORED_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "MISTRAL_API_KEY"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing in %v", want, names)
		}
	}
	for _, not := range []string{"LITERAL", "NOT_READ_HERE", "PATH"} {
		if slices.Contains(names, not) {
			t.Errorf("%s is no key", not)
		}
	}
}
