package google

import (
	"testing"
	"time"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/agent/model/offline"
)

func TestConformance(t *testing.T) {
	modeltest.Run(t, func(tb testing.TB, script *offline.Script) modeltest.Subject {
		server := modeltest.NewServer(tb, script)
		m, err := New(server.SpecOf(API))
		if err != nil {
			tb.Fatal(err)
		}
		return modeltest.Subject{Model: m, Sent: server.Sent}
	})
}

func TestMisbehave(t *testing.T) {
	modeltest.Misbehave(t, modeltest.Dialect{
		Wire: modeltest.WireOf(API), Open: New,
		Tune: func(m agent.Model, idle time.Duration, limit int64) {
			m.(*client).Idle, m.(*client).Limit = idle, limit
		},
	})
}

func TestAnyHead(t *testing.T) { modeltest.AnyHead(t, API, New) }
