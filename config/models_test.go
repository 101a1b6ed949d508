package config

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

const wholeFile = "\ufeff" + `// my models
{
  "$schema": "https://example.com/schema.json",
  "providers": {
    "zeta": { // first in the file, first in the list
      "name": "Zeta", "baseUrl": "http://zeta:8080/v1/", "api": "openai-completions",
      "apiKey": "$ZETA_KEY", "authHeader": true,
      "headers": {"x-team": "${TEAM}-x", "X-Plain": "p"},
      "compat": {"supportsStore": false, "openRouterRouting": {"only": ["a"], "sort": "price"}, "extra": 1.50},
      "models": [
        {"id": "bare"},
        {"id": "full", "name": "Full model", "api": "anthropic-messages", "baseUrl": "https://full/",
         "reasoning": true, "thinkingLevelMap": {"off": null, "xhigh": "max", "low": "l"},
         "input": ["text", "image"], "contextWindow": 2e5, "maxTokens": 1000,
         "cost": {"input": 1, "output": 2.5, "cacheRead": 0.1, "cacheWrite": 0, "tiers": [
            {"inputTokensAbove": 200000, "input": 2, "output": 5, "cacheRead": 0.2, "cacheWrite": 0},
            {"inputTokensAbove": 100000, "input": 1.5, "output": 3, "cacheRead": 0.2, "cacheWrite": 0}]},
         "promptCache": {"short": 300, "long": 3600},
         "inputLimits": {"maxRequestBytes": 1000, "images": {"resize": {"maxWidth": 10, "maxHeight": 20, "maxBytes": 30, "jpegQuality": 80}, "maxPerMessage": 2, "maxPerRequest": 3}},
         "samplingParams": {"temperature": 0.70, "top_p": 1},
         "samplingParamsByThinkingLevel": {"high": {"top_k": 1}},
         "headers": {"X-TEAM": "own"},
         "compat": {"supportsStore": true, "openRouterRouting": {"sort": "speed"}}},
      ],
      "modelOverrides": {
        "full": {"name": "Renamed", "maxTokens": 2000, "cost": {"output": 9}, "promptCache": {"short": 1},
                 "thinkingLevelMap": {"max": "m"}, "samplingParams": {"top_p": 0.5},
                 "samplingParamsByThinkingLevel": {"high": {"top_k": 2, "x": 1}, "low": {"y": 1}},
                 "inputLimits": {"images": {"maxPerMessage": 9}}, "headers": {"X-Team": "override", "X-More": "m"},
                 "compat": {"maxTokensField": "max_tokens"}},
        "unknown": {"name": "nobody"},
      },
    },
    "alpha": {"baseUrl": "http://alpha", "apiKey": "none", "models": [{"id": "full", "api": "x"}]}
  }
}`

func TestModelsWholeFile(t *testing.T) {
	h := newHome(t)
	h.write("models.json", wholeFile)
	h.set("ZETA_KEY", "zk")
	h.set("TEAM", "red")
	c := Load(h.env(), Options{})
	if len(c.Problems) != 0 {
		t.Fatalf("problems: %v", c.Problems)
	}
	list := c.Models.Available()
	if got := strings.Join(names(list), " "); got != "zeta/bare zeta/full alpha/full" {
		t.Fatalf("order: %s", got)
	}
	for _, m := range list {
		if !m.Available() {
			t.Errorf("%s: %s", m, m.Unavailable)
		}
	}

	bare := list[0]
	bare.headers, bare.Compat = nil, nil
	want := Model{ID: "bare", Name: "bare", Provider: "zeta", API: "openai-completions", BaseURL: "http://zeta:8080/v1",
		Input: []string{"text"}, ContextWindow: 128000, MaxTokens: 16384, KeySource: "models.json"}
	if !reflect.DeepEqual(bare, want) {
		t.Errorf("bare model:\n got %+v\nwant %+v", bare, want)
	}

	full := list[1]
	text := func(s string) *string { return &s }
	high := Rates{Input: 2, Output: 5, CacheRead: 0.2}
	for _, check := range []struct {
		name      string
		got, want any
	}{
		{"name", full.Name, "Renamed"},
		{"wire of the model", full.API, "anthropic-messages"},
		{"address of the model", full.BaseURL, "https://full"},
		{"reasoning", full.Reasoning, true},
		{"levels", full.ThinkingLevelMap, map[ThinkingLevel]*string{ThinkingOff: nil, ThinkingXHigh: text("max"), ThinkingLow: text("l"), ThinkingMax: text("m")}},
		{"input", full.Input, []string{"text", "image"}},
		{"pictures", full.Images(), true},
		{"sizes", []int{full.ContextWindow, full.MaxTokens}, []int{200000, 2000}},
		{"prices", full.Cost.Rates, Rates{Input: 1, Output: 9, CacheRead: 0.1}},
		{"small request", full.Cost.For(100000), full.Cost.Rates},
		{"larger request", full.Cost.For(100001).Input, 1.5},
		{"largest request", full.Cost.For(1 << 20), high},
		{"cache", full.PromptCache, PromptCache{Short: 1, Long: 3600}},
		{"limits", full.InputLimits, InputLimits{MaxRequestBytes: 1000, Images: ImageLimits{Resize: ImageResize{10, 20, 30, 80}, MaxPerMessage: 9, MaxPerRequest: 3}}},
		{"sampling", string(full.SamplingParams), `{"temperature":0.70,"top_p":0.5}`},
		{"sampling by level", stringsOf(full.SamplingParamsByThinkingLevel), map[ThinkingLevel]string{ThinkingHigh: `{"top_k":2,"x":1}`, ThinkingLow: `{"y":1}`}},
		{"compat", string(full.Compat), `{"supportsStore":true,"openRouterRouting":{"only":["a"],"sort":"speed"},"extra":1.50,"maxTokensField":"max_tokens"}`},
	} {
		if !reflect.DeepEqual(check.got, check.want) {
			t.Errorf("%s:\n got %v\nwant %v", check.name, check.got, check.want)
		}
	}

	conn, err := c.Models.Connect(context.Background(), full)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := reveal(conn), map[string]string{"": "zk", "Authorization": "Bearer zk", "X-Plain": "p", "X-Team": "own", "X-More": "m"}; !reflect.DeepEqual(got, want) {
		t.Errorf("key and headers %v, want %v", got, want)
	}
	conn, _ = c.Models.Connect(context.Background(), list[0])
	if got := conn.Headers["X-Team"].Reveal(); got != "red-x" {
		t.Errorf("header of the provider: %q", got)
	}
}

func stringsOf(m map[ThinkingLevel]json.RawMessage) map[ThinkingLevel]string {
	out := map[ThinkingLevel]string{}
	for level, raw := range m {
		out[level] = string(raw)
	}
	return out
}

// reveal maps header names to texts; the key is under "".
func reveal(c Connection) map[string]string {
	out := map[string]string{"": c.Key.Reveal()}
	for name, value := range c.Headers {
		out[name] = value.Reveal()
	}
	return out
}

func TestModelsUnavailable(t *testing.T) {
	const key = `"apiKey":"k"`
	for _, c := range []struct{ name, provider, model, reason string }{
		{"variable of the key", `"baseUrl":"http://h","api":"x","apiKey":"$MY_KEY"`, ``, "the environment variable MY_KEY"},
		{"two variables", `"baseUrl":"http://h","api":"x","apiKey":"$A1-${B1}"`, ``, "the environment variables A1, B1"},
		{"variable of a header", `"baseUrl":"http://h","api":"x","headers":{"x-a":"$HDR"},` + key, ``, "the header X-A of p needs the environment variable HDR"},
		{"variable of the model's header", `"baseUrl":"http://h","api":"x",` + key, `,"headers":{"x-b":"$HDR2"}`, "HDR2"},
		{"no key", `"baseUrl":"http://h","api":"x"`, ``, "there is no key for p"},
		{"no wire", `"baseUrl":"http://h",` + key, ``, `providers.p names no "api"`},
		{"no address", `"api":"x",` + key, ``, `providers.p names no "baseUrl"`},
		{"address and wire of the model", key, `,"api":"x","baseUrl":"http://h"`, ""},
		{"command is not run to look", `"baseUrl":"http://h","api":"x","apiKey":"!exit 1"`, ``, ""},
		{"empty header", `"baseUrl":"http://h","api":"x","headers":{"x-a":""},` + key, ``, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHome(t)
			h.write("models.json", `{"providers":{"p":{`+c.provider+`,"models":[{"id":"m"`+c.model+`}]}}}`)
			cfg := Load(h.env(), Options{Run: func(context.Context, string) (string, error) { return "", errors.New("no") }})
			m, err := cfg.Models.Find("p/m")
			if err != nil {
				t.Fatal(err)
			}
			if m.Available() != (c.reason == "") || !strings.Contains(m.Unavailable, c.reason) {
				t.Errorf("reason %q, want %q", m.Unavailable, c.reason)
			}
			_, err = cfg.Models.Connect(context.Background(), m)
			if c.reason != "" && (!errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), c.reason)) {
				t.Errorf("Connect: %v", err)
			}
		})
	}
}

func TestModelsSchemaErrorsSetTheFileAside(t *testing.T) {
	provider := func(members string) string { return `{"providers":{"p":{` + members + `}}}` }
	model := func(members string) string {
		return provider(`"baseUrl":"u","api":"x","apiKey":"k","models":[{"id":"ok"},{` + members + `}]`)
	}
	for _, c := range []struct{ name, text, path, what string }{
		{"not an object", `[]`, "root", "expected an object, found a list"},
		{"no providers", `{}`, "providers", "required"},
		{"providers null", `{"providers":null}`, "providers", "found null"},
		{"provider is text", `{"providers":{"p":"x"}}`, "providers.p", "found a string"},
		{"empty baseUrl", provider(`"baseUrl":""`), "providers.p.baseUrl", "not empty"},
		{"key is a number", provider(`"apiKey":1`), "providers.p.apiKey", "found a number"},
		{"oauth of another kind", provider(`"oauth":"x"`), "providers.p.oauth", "one of radius"},
		{"authHeader", provider(`"authHeader":"yes"`), "providers.p.authHeader", "true or false"},
		{"header value", provider(`"headers":{"X-A":1}`), "providers.p.headers.X-A", "found a number"},
		{"compat", provider(`"compat":[]`), "providers.p.compat", "found a list"},
		{"models is an object", provider(`"models":{}`), "providers.p.models", "expected a list"},
		{"model without id", model(`"name":"n"`), "providers.p.models.1.id", "required"},
		{"empty id", model(`"id":""`), "providers.p.models.1.id", "not empty"},
		{"input", model(`"id":"m","input":["text","audio"]`), "providers.p.models.1.input.1", "one of text, image"},
		{"context window", model(`"id":"m","contextWindow":0`), "providers.p.models.1.contextWindow", "above 0"},
		{"max tokens", model(`"id":"m","maxTokens":"9"`), "providers.p.models.1.maxTokens", "above 0"},
		{"number too large", model(`"id":"m","maxTokens":1e999`), "providers.p.models.1.maxTokens", "above 0"},
		{"cost lacks a price", model(`"id":"m","cost":{"input":1,"output":1,"cacheRead":1}`), "providers.p.models.1.cost.cacheWrite", "required"},
		{"tier", model(`"id":"m","cost":{"input":1,"output":1,"cacheRead":1,"cacheWrite":1,"tiers":[{"input":1,"output":1,"cacheRead":1,"cacheWrite":1}]}`), "providers.p.models.1.cost.tiers.0.inputTokensAbove", "required"},
		{"level", model(`"id":"m","thinkingLevelMap":{"low":1}`), "providers.p.models.1.thinkingLevelMap.low", "found a number"},
		{"sampling by level", model(`"id":"m","samplingParamsByThinkingLevel":{"low":1}`), "providers.p.models.1.samplingParamsByThinkingLevel.low", "expected an object"},
		{"limits", model(`"id":"m","inputLimits":{"images":{"resize":{"maxWidth":-1}}}`), "providers.p.models.1.inputLimits.images.resize.maxWidth", "above 0"},
		{"override", provider(`"modelOverrides":{"a/b":{"reasoning":1}}`), "providers.p.modelOverrides.a/b.reasoning", "true or false"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHome(t)
			path := h.write("models.json", c.text)
			h.set("OPENAI_API_KEY", "k")
			cfg := Load(h.env(), Options{})
			if len(cfg.Problems) == 0 {
				t.Fatal("accepted")
			}
			p := cfg.Problems[0]
			if p.File != path || p.Path != c.path || !strings.Contains(p.What, c.what) || p.Warning || !errors.Is(p, ErrSchema) {
				t.Errorf("%#v", p)
			}
			if n := len(cfg.Models.Available()); n != 0 {
				t.Errorf("%d models of a file that is not in force", n)
			}
			if _, err := cfg.Models.Find("p/ok"); !errors.Is(err, ErrUnknownModel) || !strings.Contains(err.Error(), "models.json is not in force") {
				t.Errorf("Find says %v", err)
			}
			if m, err := cfg.Models.Find("openai/x"); err != nil || !m.Available() {
				t.Errorf("what needs no models.json is gone: %v %v", m.Unavailable, err)
			}
		})
	}
}

func TestModelsSyntaxError(t *testing.T) {
	h := newHome(t)
	h.write("models.json", "\ufeff// comment\n{\"providers\": {\n  \"p\" 1}}")
	p := Load(h.env(), Options{}).Problems[0]
	if p.Line != 3 || p.Column != 7 || !errors.Is(p, ErrSyntax) {
		t.Errorf("%v", p)
	}
}

func TestModelsManyErrorsAreBounded(t *testing.T) {
	h := newHome(t)
	h.write("models.json", `{"providers":{"p":{"models":[`+strings.Repeat(`1,`, 5000)+`1]}}}`)
	if n := len(Load(h.env(), Options{}).Problems); n != maxProblems {
		t.Errorf("%d problems", n)
	}
}

func TestModelsEntriesWithoutEffectAreTold(t *testing.T) {
	h := newHome(t)
	h.write("models.json", `{"providers":{"empty":{},"proxy":{"baseUrl":"http://h"},"login":{"oauth":"radius","baseUrl":"http://h","models":[{"id":"m","api":"x"}]},
		"openai":{"baseUrl":"http://mirror/v1"},"upper":{"BASEURL":"http://h","models":[{"id":"m","api":"x"}]}}}`)
	c := Load(h.env(), Options{})
	var paths []string
	for _, p := range c.Problems {
		paths = append(paths, p.Path)
		if !p.Warning {
			t.Errorf("%v", p)
		}
	}
	if got := strings.Join(paths, " "); got != "providers.empty providers.proxy providers.login" {
		t.Errorf("%s", got)
	}
	if m, _ := c.Models.Find("upper/m"); m.Available() {
		t.Error("a member with other letters counted")
	}
}

func TestModelsLaterEntryReplaces(t *testing.T) {
	h := newHome(t)
	h.write("models.json", `{"providers":{"p":{"baseUrl":"u","api":"x","apiKey":"k","models":[{"id":"a","name":"1"},{"id":"b"},{"id":"a","name":"2"}]},
		"p":{"baseUrl":"v","api":"x","apiKey":"k","models":[{"id":"a","name":"3"},{"id":"a","name":"4"}]}}}`)
	list := Load(h.env(), Options{}).Models.Available()
	if len(list) != 1 || list[0].Name != "4" || list[0].BaseURL != "v" {
		t.Errorf("%+v", list)
	}
}

func TestFind(t *testing.T) {
	const file = `{"providers":{
		"a":{"baseUrl":"u","api":"x","apiKey":"k","models":[{"id":"one"},{"id":"both"},{"id":"Case"},{"id":"vendor/deep"},{"id":"日本 モデル"}]},
		"b":{"baseUrl":"u","api":"x","apiKey":"k","models":[{"id":"both"},{"id":"a/one"},{"id":"case"},{"id":"CASE"}]},
		"off":{"baseUrl":"u","api":"x","apiKey":"$UNSET","models":[{"id":"both"},{"id":"dark"},{"id":"vendor/deep"}]},
		"gate":{"baseUrl":"u","api":"x","apiKey":"k","models":[{"id":"off/dark"},{"id":"openai/gpt"}]},
		"name/slash":{"baseUrl":"u","api":"x","apiKey":"k","models":[{"id":"m"}]}}}`
	for _, c := range []struct {
		name, ref, want string
		err             error
		says            string
	}{
		{"provider and id", "a/one", "a/one", nil, ""},
		{"named provider before an id with a slash", "a/one", "a/one", nil, ""},
		{"that id by its own provider", "b/a/one", "b/a/one", nil, ""},
		{"id alone", "one", "a/one", nil, ""},
		{"id with a slash alone, one usable", "vendor/deep", "a/vendor/deep", nil, ""},
		{"unusable provider named, one usable id", "off/dark", "gate/off/dark", nil, ""},
		{"unusable, found all the same", "dark", "off/dark", nil, ""},
		{"ambiguous", "both", "", ErrAmbiguousModel, "a/both, b/both, off/both"},
		{"not ambiguous with its provider", "b/both", "b/both", nil, ""},
		{"case counts", "case", "b/case", nil, ""},
		{"case does not count", "ONE", "a/one", nil, ""},
		{"case of the provider", "A/ONE", "a/one", nil, ""},
		{"case leaves two", "cAsE", "", ErrAmbiguousModel, "b/case"},
		{"unicode and a blank", "日本 モデル", "a/日本 モデル", nil, ""},
		{"provider with a slash", "name/slash/m", "name/slash/m", nil, ""},
		{"described before open", "openai/gpt", "gate/openai/gpt", nil, ""},
		{"open provider", "openai/gpt-next", "openai/gpt-next", nil, ""},
		{"open provider, id with a slash", "openai/x/y", "openai/x/y", nil, ""},
		{"open provider without id", "openai/", "", ErrUnknownModel, ""},
		{"unknown id of a provider", "b/nope", "", ErrUnknownModel, "b has: b/both, b/a/one"},
		{"unknown provider", "c/one", "", ErrUnknownModel, "there are: a/one"},
		{"unknown", "nope", "", ErrUnknownModel, "a/one"},
		{"empty", "", "", ErrUnknownModel, ""},
		{"prefix is not enough", "on", "", ErrUnknownModel, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHome(t)
			h.write("models.json", file)
			m, err := Load(h.env(), Options{}).Models.Find(c.ref)
			if !errors.Is(err, c.err) || (err == nil && m.String() != c.want) {
				t.Fatalf("Find(%q) = %s, %v; want %s, %v", c.ref, m, err, c.want, c.err)
			}
			var me *ModelError
			if err != nil && (!errors.As(err, &me) || me.Ref != c.ref || !strings.Contains(err.Error(), c.says)) {
				t.Errorf("error %v does not say %q", err, c.says)
			}
		})
	}
}

func TestFindWithoutModelsFile(t *testing.T) {
	h := newHome(t)
	c := Load(h.env(), Options{})
	if len(c.Models.Available()) != 0 {
		t.Error("models out of nowhere")
	}
	if _, err := c.Models.Find("gpt"); !errors.Is(err, ErrUnknownModel) || !strings.Contains(err.Error(), `"openai/<id>"`) {
		t.Errorf("%v", err)
	}
	m, err := c.Models.Find("openai/gpt")
	if err != nil || m.API != "openai-completions" || m.BaseURL != "https://api.openai.com/v1" || m.ContextWindow != 128000 || !strings.Contains(m.Unavailable, "OPENAI_API_KEY") {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := c.Models.Connect(context.Background(), m); !errors.Is(err, ErrUnavailable) {
		t.Errorf("%v", err)
	}
	h.set("OPENAI_API_KEY", "k")
	m, _ = Load(h.env(), Options{}).Models.Find("openai/gpt")
	if !m.Available() || m.KeySource != "environment" {
		t.Errorf("%+v", m)
	}
}

func TestOpenAIFollowsModelsFile(t *testing.T) {
	h := newHome(t)
	h.write("models.json", `{"providers":{"openai":{"baseUrl":"http://mirror/v1/","apiKey":"k","compat":{"supportsStore":false},
		"models":[{"id":"own","contextWindow":5}],"modelOverrides":{"gpt":{"contextWindow":9}}}}}`)
	ms := Load(h.env(), Options{}).Models
	for ref, window := range map[string]int{"openai/own": 5, "openai/gpt": 9, "openai/other": 128000} {
		m, err := ms.Find(ref)
		if err != nil || m.BaseURL != "http://mirror/v1" || m.ContextWindow != window || string(m.Compat) != `{"supportsStore":false}` || m.API != "openai-completions" {
			t.Errorf("%s: %+v, %v", ref, m, err)
		}
	}
	if list := ms.Available(); len(list) < 2 || list[0].ID != "own" || list[1].BaseURL != "http://mirror/v1" {
		t.Errorf("%v", list)
	}
}
