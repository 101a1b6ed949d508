package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"text/template"
	"time"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
)

// API and Provider name this wire and its only provider in a configuration.
const (
	API      = "offline"
	Provider = "offline"
)

// maxDelay bounds the configured delay between two words.
const maxDelay = 10 * time.Second

// Models lists the models that piweb offers without a configuration. Sizes are in
// tokens; nothing costs anything.
func Models() []agent.ModelInfo {
	return []agent.ModelInfo{{
		API: API, Provider: Provider, ID: "echo", Name: "Offline (not a real model)",
		Images: true, ContextWindow: 128000, MaxTokens: 16384,
	}}
}

// New opens the echo model. The id in spec is for the caller's use. Of the compat
// object it reads "delayMs", the time between two words in milliseconds, at most
// ten seconds; without it nothing waits.
func New(spec model.Spec) (agent.Model, error) {
	var compat struct {
		DelayMs int `json:"delayMs"`
	}
	if len(spec.Compat) > 0 {
		if err := json.Unmarshal(spec.Compat, &compat); err != nil {
			return nil, fmt.Errorf("model %s: compat: %w", spec.Info, err)
		}
	}
	delay := time.Duration(compat.DelayMs) * time.Millisecond
	if delay < 0 || delay > maxDelay {
		return nil, fmt.Errorf("model %s: compat: delayMs is %d, allowed is 0 to %d",
			spec.Info, compat.DelayMs, maxDelay.Milliseconds())
	}
	prose, err := template.New("prose").Parse(proseText)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", spec.Info, err)
	}
	return &echo{info: spec.Info, delay: delay, prose: prose}, nil
}

var _ model.Factory = New

type echo struct {
	info  agent.ModelInfo
	delay time.Duration
	prose *template.Template
}

func (m *echo) Info() agent.ModelInfo { return m.info }

func (m *echo) Stream(ctx context.Context, req agent.Request) iter.Seq2[agent.Delta, error] {
	return func(yield func(agent.Delta, error) bool) {
		out := &speaker{ctx: ctx, delay: m.delay, yield: yield}
		if out.stopped() {
			return
		}
		answer, err := m.reply(req)
		if err != nil {
			out.fail(&agent.RequestError{Provider: m.info.Provider, Message: err.Error(), Err: err})
			return
		}
		out.text(Words(answer.text))
		for _, c := range answer.calls {
			out.call(c.id, c.tool, Fragments(string(c.arguments)))
		}
		out.send(agent.UsageDelta{Usage: usageOf(req, answer)})
		word := "stop"
		if len(answer.calls) > 0 {
			word = "tool_calls"
		}
		out.send(agent.Stop{Reason: stopReason(word, len(answer.calls) > 0), RawReason: word})
	}
}
