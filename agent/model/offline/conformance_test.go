package offline_test

import (
	"testing"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/agent/model/offline"
)

func TestConformance(t *testing.T) {
	modeltest.Run(t, func(_ testing.TB, script *offline.Script) modeltest.Subject {
		return modeltest.Subject{Model: offline.Play(script, agent.ModelInfo{
			API: offline.API, Provider: "scripted", ID: "script",
		})}
	})
}
