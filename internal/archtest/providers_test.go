package archtest

import (
	"slices"
	"strings"
	"testing"
)

// TestProvidersLinkOnlyTheirOwn: an embedder links the SDKs of the providers that
// it registers, and none with the facade alone.
func TestProvidersLinkOnlyTheirOwn(t *testing.T) {
	sdks := []string{openaiGo, anthropicGo}
	for _, c := range []struct {
		pkg string
		own []string
	}{
		{".", nil},
		{"./server", nil},
		{"./agent/model/wire", nil},
		{"./agent/model/offline", nil},
		{"./agent/model/openai", []string{openaiGo}},
		{"./agent/model/anthropic", []string{anthropicGo}},
		{"./agent/model/google", nil},
	} {
		var linked []string
		for _, p := range list(t, "-deps", c.pkg) {
			if p.Module != nil && slices.Contains(sdks, p.Module.Path) && !slices.Contains(linked, p.Module.Path) {
				linked = append(linked, p.Module.Path)
			}
			if strings.HasPrefix(p.ImportPath, module+"/agent/model/modeltest") {
				t.Errorf("%s links the test server", c.pkg)
			}
		}
		if !slices.Equal(linked, c.own) {
			t.Errorf("%s links %v, want %v", c.pkg, linked, c.own)
		}
	}
}
