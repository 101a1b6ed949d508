package config

import (
	"context"
	"testing"
)

// Whatever stands in the files: loading ends, says where it went wrong, and what
// it gives can be used.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(wholeFile), []byte(`{"defaultTools":["+grep"],"retry":{"maxDelayMs":1}}`), []byte(`{"p":{"type":"api_key","key":"$A"}}`))
	f.Add([]byte(`{"providers":{"":{"models":[{"id":"/"}]},"openai":{"models":[{"id":"openai/x"}]}}}`), []byte("\ufeff[]"), []byte(`{"p":null}`))
	f.Add([]byte(`// {"providers`), []byte(`{"compaction":{"modelOverrides":{"a":{"reserveTokens":1e400}}}}`), []byte{0xff})
	f.Fuzz(func(t *testing.T, models, settings, auth []byte) {
		h := newHome(t)
		h.write("models.json", string(models))
		h.write("settings.json", string(settings))
		h.write("auth.json", string(auth))
		h.project(".pi/settings.json", string(settings))
		c := Load(h.env(), Options{Trust: yes(), Run: func(context.Context, string) (string, error) { return "out", nil }})
		for _, p := range c.Problems {
			if p.File == "" || p.What == "" || p.Err == nil || p.Line < 0 || p.Column < 0 {
				t.Errorf("%#v", p)
			}
		}
		for _, m := range c.Models.Available() {
			if m.ContextWindow < 1 || m.MaxTokens < 1 || m.Provider == "" && m.ID == "" {
				t.Errorf("%+v", m)
			}
			if conn, err := c.Models.Connect(context.Background(), m); err == nil && conn.Key.IsZero() {
				t.Errorf("%s connects without a key", m)
			}
			c.Models.Find(m.String())
		}
	})
}
