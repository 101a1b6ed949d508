package anthropic

import (
	"testing"

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
