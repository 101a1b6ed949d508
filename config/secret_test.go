package config

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

const canary = "sk-CANARY-0123456789"

// Every way in which a value usually gets out of a program.
func printings(v any) map[string]string {
	out := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%t", "%e", "%U", "%c", "%p", "%20v", "%-5s", "%T"} {
		out[verb] = fmt.Sprintf(verb, v)
	}
	out["Sprint"] = fmt.Sprint(v)
	if data, err := json.Marshal(v); err == nil {
		out["json"] = string(data)
	}
	if data, err := xml.Marshal(v); err == nil {
		out["xml"] = string(data)
	}
	var text, js bytes.Buffer
	slog.New(slog.NewTextHandler(&text, nil)).Info("m", "v", v)
	slog.New(slog.NewJSONHandler(&js, nil)).Info("m", "v", v)
	out["slog text"], out["slog json"] = text.String(), js.String()
	return out
}

func assertHidden(t *testing.T, v any, secrets ...string) {
	t.Helper()
	for how, text := range printings(v) {
		for _, secret := range secrets {
			if strings.Contains(text, secret) || strings.Contains(strings.ToLower(text), fmt.Sprintf("%x", secret)) {
				t.Errorf("%s shows a secret: %s", how, text)
			}
		}
	}
}

func TestSecretNeverShows(t *testing.T) {
	s := NewSecret(canary)
	type holder struct {
		Public  Secret
		private Secret
		list    []Secret
		byName  map[string]Secret
		pointer *Secret
	}
	for name, v := range map[string]any{
		"value": s, "pointer": &s, "slice": []Secret{s}, "map": map[string]Secret{"k": s},
		"struct":            holder{s, s, []Secret{s}, map[string]Secret{"k": s}, &s},
		"pointer to struct": &holder{s, s, []Secret{s}, map[string]Secret{"k": s}, &s},
		"error":             fmt.Errorf("key %v", s),
		"any":               any(s),
		"connection":        Connection{Key: s, Headers: map[string]Secret{"Authorization": s}, Model: Model{headers: map[string]Secret{"X": s}}},
	} {
		t.Run(name, func(t *testing.T) { assertHidden(t, v, canary) })
	}
	if s.Reveal() != canary {
		t.Error("Reveal does not give the text")
	}
}

func TestSecretEmptyAndEqual(t *testing.T) {
	var zero Secret
	if !zero.IsZero() || NewSecret("") != zero || zero.Reveal() != "" || fmt.Sprint(zero) != "" {
		t.Error("the empty secret is not empty")
	}
	if data, _ := json.Marshal(zero); string(data) != `""` {
		t.Errorf("json of the empty secret: %s", data)
	}
	if data, _ := json.Marshal(NewSecret("x")); string(data) != `"[redacted]"` {
		t.Errorf("json: %s", data)
	}
	if !NewSecret("a").Equal(NewSecret("a")) || NewSecret("a").Equal(NewSecret("b")) || NewSecret("a").Equal(zero) || !zero.Equal(Secret{}) {
		t.Error("Equal is wrong")
	}
}

// A configuration full of keys, printed whole and by its parts.
func TestConfigurationNeverShowsKeys(t *testing.T) {
	h := newHome(t)
	h.write("models.json", `{"providers":{
		"lit":{"baseUrl":"http://h/v1","api":"x","apiKey":"`+canary+`-1","headers":{"X-Key":"`+canary+`-2"},"models":[{"id":"m","headers":{"Y":"`+canary+`-3"}}]},
		"cmd":{"baseUrl":"http://h/v1","api":"x","apiKey":"!echo `+canary+`-4","models":[{"id":"c"}]},
		"failing":{"baseUrl":"http://h/v1","api":"x","apiKey":"!echo `+canary+`-5; exit 3","models":[{"id":"f"}]},
		"env":{"baseUrl":"http://h/v1","api":"x","apiKey":"`+canary+`-6$NOT_SET","models":[{"id":"e"}]}}}`)
	h.write("auth.json", `{"stored":{"type":"api_key","key":"`+canary+`-7","env":{"A":"`+canary+`-8"}},
		"login":{"type":"oauth","access":"`+canary+`-9","refresh":"`+canary+`-a","expires":1},
		"odd":{"type":"`+canary+`-b"},"odder":"`+canary+`-c"}`)
	h.set("OPENAI_API_KEY", canary+"-d")
	c := Load(h.env(), Options{Keys: map[string]Secret{"x": NewSecret(canary + "-e")}})

	assertHidden(t, c, canary)
	assertHidden(t, *c, canary)
	assertHidden(t, *c.Models, canary)
	assertHidden(t, c.Models.Available(), canary)
	for _, p := range c.Problems {
		assertHidden(t, p, canary)
		assertHidden(t, p.Error(), canary)
	}
	for _, ref := range []string{"lit/m", "cmd/c", "failing/f", "env/e", "openai/o"} {
		m, err := c.Models.Find(ref)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := c.Models.Connect(context.Background(), m)
		assertHidden(t, conn, canary)
		assertHidden(t, err, canary)
		if failed := ref == "failing/f" || ref == "env/e"; failed != (err != nil) {
			t.Errorf("%s: %v", ref, err)
		}
		if err == nil && !strings.HasPrefix(conn.Key.Reveal(), canary) {
			t.Errorf("%s: the key was lost", ref)
		}
	}
	assertHidden(t, c.Models, canary) // after commands were remembered
}

// Broken files that hold keys are not quoted in messages.
func TestBrokenFilesAreNotQuoted(t *testing.T) {
	for _, content := range []string{
		`{"providers":{"p":{"apiKey":["` + canary + `"]}}}`,
		`{"providers":{"p":{"apiKey":"` + canary + `","models":7}}}`,
		`{"providers":{"p":{"apiKey":"` + canary,
		`{"p":{"type":"api_key","key":{"` + canary + `":1}}}`,
		`{"p":{"type":"api_key","key":"` + canary + `",}}`,
		`"` + canary + `"`,
		canary,
	} {
		h := newHome(t)
		h.write("models.json", content)
		h.write("auth.json", content)
		c := Load(h.env(), Options{})
		if len(c.Problems) == 0 {
			t.Errorf("no problem for %s", content)
		}
		for _, p := range c.Problems {
			assertHidden(t, p, canary)
			assertHidden(t, errors.Unwrap(p), canary)
		}
	}
}
