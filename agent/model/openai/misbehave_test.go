package openai

import (
	"testing"
	"time"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model/modeltest"
)

func TestMisbehave(t *testing.T) {
	modeltest.Misbehave(t, modeltest.Dialect{
		Wire: modeltest.WireOf(API), Open: New,
		Tune: func(m agent.Model, idle time.Duration, limit int64) {
			m.(*client).Idle, m.(*client).Limit = idle, limit
		},
	})
}

func TestResponsesMisbehave(t *testing.T) {
	modeltest.Misbehave(t, modeltest.Dialect{
		Wire: modeltest.WireOf(ResponsesAPI), Open: NewResponses,
		Tune: func(m agent.Model, idle time.Duration, limit int64) {
			m.(*responder).Idle, m.(*responder).Limit = idle, limit
		},
	})
}
