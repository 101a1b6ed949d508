// Package attachtest has a model for tests of attachments: one that calls the tool
// that the last message names, which a script written beforehand cannot, because
// ids of attachments are made while the test runs.
//
// Only tests import it.
package attachtest

import (
	"context"
	"iter"
	"regexp"
	"strings"
	"sync"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/message"
)

// API is the wire of the model, and its provider's and its own name.
const API = "obedient"

// Model answers a message that holds "CALL tool {arguments}" by that call, with
// LAST in the arguments as the id of an attachment that was named last, and
// everything else by "Done.". It keeps what it was asked.
type Model struct {
	info agent.ModelInfo

	mu   sync.Mutex
	last agent.Request
}

// New makes a model and the registry that opens it.
func New() (*Model, model.Registry) {
	m := &Model{}
	return m, model.Registry{API: func(s model.Spec) (agent.Model, error) {
		m.info = s.Info
		return m, nil
	}}
}

// Models is the models.json that names it.
const Models = `{"providers":{"obedient":{"baseUrl":"http://127.0.0.1:1","api":"obedient","apiKey":"k","models":[{"id":"obedient","name":"Obedient","input":["text","image"]}]}}}`

// Settings is the settings.json that chooses it.
const Settings = `{"defaultProvider":"obedient","defaultModel":"obedient"}`

// Info is what was configured.
func (m *Model) Info() agent.ModelInfo { return m.info }

// Last is the last request.
func (m *Model) Last() agent.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last
}

var (
	order = regexp.MustCompile(`CALL (\w+) (\{.*\})`)
	id    = regexp.MustCompile(`att_[A-Za-z0-9_-]{22}`)
)

// Stream obeys.
func (m *Model) Stream(_ context.Context, req agent.Request) iter.Seq2[agent.Delta, error] {
	m.mu.Lock()
	m.last = req
	m.mu.Unlock()
	return func(yield func(agent.Delta, error) bool) {
		var named string
		for _, msg := range req.Messages {
			if _, ok := msg.(*message.Assistant); ok {
				continue
			}
			if ids := id.FindAllString(message.ContentOf(msg).PlainText(), -1); len(ids) > 0 {
				named = ids[len(ids)-1]
			}
		}
		if u, ok := req.Messages[len(req.Messages)-1].(*message.User); ok {
			if call := order.FindStringSubmatch(u.Content.PlainText()); call != nil {
				args := strings.ReplaceAll(call[2], "LAST", named)
				if yield(agent.ToolCallDelta{ID: "call_1", Name: call[1], Arguments: args}, nil) {
					yield(agent.Stop{Reason: message.StopToolUse}, nil)
				}
				return
			}
		}
		if yield(agent.TextDelta{Text: "Done."}, nil) {
			yield(agent.Stop{Reason: message.StopEnd}, nil)
		}
	}
}
