package config

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
)

func TestKeyPrecedence(t *testing.T) {
	const models = `{"providers":{"groq":{"baseUrl":"u","api":"x"%s,"models":[{"id":"m"}]}}}`
	for _, c := range []struct {
		name, explicit, auth, apiKey, env string
		want, source, note, reason        string
	}{
		{name: "explicit over all", explicit: "e", auth: `{"groq":{"type":"api_key","key":"a"}}`, apiKey: "m", env: "v", want: "e", source: "given explicitly"},
		{name: "auth.json over models.json", auth: `{"groq":{"type":"api_key","key":"a"}}`, apiKey: "m", env: "v", want: "a", source: "auth.json"},
		{name: "models.json over the environment", apiKey: "m", env: "v", want: "m", source: "models.json"},
		{name: "environment", env: "v", want: "v", source: "environment"},
		{name: "nothing", reason: "GROQ_API_KEY"},
		{name: "auth.json resolves variables", auth: `{"groq":{"type":"api_key","key":"x$GROQ_API_KEY"}}`, env: "v", want: "xv", source: "auth.json"},
		{name: "its own variables win", auth: `{"groq":{"type":"api_key","key":"$GROQ_API_KEY","env":{"GROQ_API_KEY":"own"}}}`, env: "v", want: "own", source: "auth.json"},
		{name: "unresolved auth.json does not fall through", auth: `{"groq":{"type":"api_key","key":"$NOPE"}}`, apiKey: "m", env: "v", reason: "NOPE"},
		{name: "unresolved models.json does not fall through", apiKey: "$NOPE", env: "v", reason: "NOPE"},
		{name: "entry without key lends its variables", auth: `{"groq":{"type":"api_key","env":{"GROQ_API_KEY":"own"}}}`, env: "v", want: "own", source: "environment"},
		{name: "empty key is no key", auth: `{"groq":{"type":"api_key","key":""}}`, apiKey: "m", want: "m", source: "models.json"},
		{name: "entry of another provider", auth: `{"xai":{"type":"api_key","key":"a"}}`, env: "v", want: "v", source: "environment"},
		{name: "login is passed over with a note", auth: `{"groq":{"type":"oauth","access":"a","refresh":"r","expires":1}}`, env: "v", want: "v", source: "environment", note: "OAuth"},
		{name: "login alone", auth: `{"groq":{"type":"oauth"}}`, reason: "GROQ_API_KEY", note: "OAuth"},
		{name: "broken entry is passed over with a note", auth: `{"groq":{"type":"api_key","key":5}}`, apiKey: "m", want: "m", source: "models.json", note: "its key is a number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHome(t)
			apiKey := ""
			if c.apiKey != "" {
				apiKey = `,"apiKey":"` + c.apiKey + `"`
			}
			h.write("models.json", strings.Replace(models, "%s", apiKey, 1))
			if c.auth != "" {
				h.write("auth.json", c.auth)
			}
			if c.env != "" {
				h.set("GROQ_API_KEY", c.env)
			}
			keys := map[string]Secret{}
			if c.explicit != "" {
				keys["groq"] = NewSecret(c.explicit)
			}
			ms := Load(h.env(), Options{Keys: keys}).Models
			m, err := ms.Find("groq/m")
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(m.Note, c.note) || (c.note == "") != (m.Note == "") {
				t.Errorf("note %q, want %q", m.Note, c.note)
			}
			conn, err := ms.Connect(context.Background(), m)
			if c.reason != "" {
				if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), c.reason) || m.Available() {
					t.Errorf("%v; want %q", err, c.reason)
				}
				return
			}
			if err != nil || conn.Key.Reveal() != c.want || m.KeySource != c.source {
				t.Errorf("key %q from %q, %v; want %q from %q", conn.Key.Reveal(), m.KeySource, err, c.want, c.source)
			}
		})
	}
}

func TestAuthCommandsRunOnceAndModelsCommandsEachTime(t *testing.T) {
	h := newHome(t)
	h.write("models.json", `{"providers":{"a":{"baseUrl":"u","api":"x","apiKey":"!models","models":[{"id":"m"}]},
		"b":{"baseUrl":"u","api":"x","headers":{"X":"!header"},"models":[{"id":"m"}]}}}`)
	h.write("auth.json", `{"b":{"type":"api_key","key":"!auth"}}`)
	runs := map[string]int{}
	c := Load(h.env(), Options{Run: func(_ context.Context, command string) (string, error) { runs[command]++; return "out-" + command, nil }})
	if len(runs) != 0 {
		t.Errorf("loading ran commands: %v", runs)
	}
	for range 3 {
		for _, ref := range []string{"a/m", "b/m"} {
			m, _ := c.Models.Find(ref)
			if _, err := c.Models.Connect(context.Background(), m); err != nil {
				t.Fatal(err)
			}
		}
	}
	if runs["auth"] != 1 || runs["models"] != 3 || runs["header"] != 3 {
		t.Errorf("runs %v", runs)
	}
}

func TestAuthFileProblems(t *testing.T) {
	for _, c := range []struct {
		name, text, path, says string
		warning                bool
		err                    error
	}{
		{"login", `{"p":{"type":"oauth","access":"a"}}`, "p", "OAuth", true, ErrValue},
		{"unknown type", `{"p":{"type":"magic"}}`, "p", "its type", true, ErrValue},
		{"no type", `{"p":{"key":"k"}}`, "p", "its type", true, ErrValue},
		{"entry is text", `{"p":"k"}`, "p", "found a string", true, ErrValue},
		{"env is text", `{"p":{"type":"api_key","env":"x"}}`, "p", "its env is a string", true, ErrValue},
		{"env holds a number", `{"p":{"type":"api_key","env":{"A":1}}}`, "p", "a member of its env is a number", true, ErrValue},
		{"list", `[]`, "", "expected", false, ErrSchema},
		{"syntax", `{"p":`, "", "too early", false, ErrSyntax},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHome(t)
			path := h.write("auth.json", c.text)
			cfg := Load(h.env(), Options{})
			if len(cfg.Problems) != 1 {
				t.Fatalf("%v", cfg.Problems)
			}
			p := cfg.Problems[0]
			if p.File != path || p.Path != c.path || p.Warning != c.warning || !errors.Is(p, c.err) || !strings.Contains(p.What, c.says) {
				t.Errorf("%#v", p)
			}
		})
	}
}

func TestAuthFileMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes are not what protects files here")
	}
	for mode, warns := range map[os.FileMode]bool{0o600: false, 0o400: false, 0o640: true, 0o644: true, 0o606: true, 0o610: true} {
		h := newHome(t)
		path := h.write("auth.json", `{}`)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		problems := Load(h.env(), Options{}).Problems
		if warned := len(problems) == 1 && errors.Is(problems[0], ErrOpenAccess) && problems[0].Warning; warned != warns {
			t.Errorf("%04o: %v", mode, problems)
		}
	}
}

func TestKeyVariables(t *testing.T) {
	for provider, want := range map[string]string{
		"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "google": "GEMINI_API_KEY", "openrouter": "OPENROUTER_API_KEY",
		"deepseek": "DEEPSEEK_API_KEY", "groq": "GROQ_API_KEY", "mistral": "MISTRAL_API_KEY", "xai": "XAI_API_KEY", "mine": "",
	} {
		if got := keyVariable(provider); got != want {
			t.Errorf("%s: %q", provider, got)
		}
	}
}
