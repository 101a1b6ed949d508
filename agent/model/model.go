// Package model turns a configured model into a provider that package agent can
// ask.
//
// It holds the registry only: a [Spec] says which wire a model speaks, where,
// and with which key; a [Factory] of a sub-package builds the client. The
// sub-packages hold the makers' SDKs, one each, so that an embedder links just
// the providers that it registers. No SDK type leaves its package.
package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/piweb-go/piweb/agent"
)

// Spec is a model with everything a client needs to reach it. Keys and headers
// are resolved: a Spec prints and encodes as the model's name and no more.
type Spec struct {
	Info    agent.ModelInfo
	BaseURL string            `json:"-"` // without a trailing slash, "" for the provider's own
	APIKey  string            `json:"-"` // "" where none is needed
	Headers map[string]string `json:"-"` // sent with every request
	Compat  json.RawMessage   // the models.json "compat" object, or nil
	Client  *http.Client      `json:"-"` // nil for a client with sane time-outs

	// Sampling is a JSON object whose members go into every request, or nil; the
	// one for a thinking level is laid over it. On Google's wire they go into its
	// generationConfig.
	Sampling        json.RawMessage
	SamplingByLevel map[string]json.RawMessage

	// Levels gives the provider's word for a thinking level, where the
	// configuration names one.
	Levels map[string]string
}

// Format writes the model's name, whatever the verb.
func (s Spec) Format(f fmt.State, _ rune) { fmt.Fprint(f, s.Info.String()) }

// Factory builds a client. It opens no connection.
type Factory func(Spec) (agent.Model, error)

// Registry maps the name of a wire ("openai-completions", "offline") to the
// factory that speaks it. The zero value is empty; a Registry is not changed
// after it was handed to piweb.New.
type Registry map[string]Factory

// Speaks says which wires are there if the model's is not.
func (r Registry) Speaks(info agent.ModelInfo) error {
	if _, ok := r[info.API]; ok {
		return nil
	}
	apis := slices.Sorted(maps.Keys(r))
	return fmt.Errorf("model %s speaks %q, which is not registered (registered: %s)", info, info.API, strings.Join(apis, ", "))
}

// Open builds the client for spec.
func (r Registry) Open(spec Spec) (agent.Model, error) {
	if err := r.Speaks(spec.Info); err != nil {
		return nil, err
	}
	return r[spec.Info.API](spec)
}
