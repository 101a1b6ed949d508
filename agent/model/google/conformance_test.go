package google

import (
	"fmt"
	"strconv"
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
	parts := func(parts string) string {
		return `{"candidates":[{"content":{"role":"model","parts":[` + parts + `]}}]}`
	}
	modeltest.Misbehave(t, modeltest.Dialect{
		API: API, Open: New,
		Tune: func(m agent.Model, idle time.Duration, limit int64) {
			m.(*client).Idle, m.(*client).Limit = idle, limit
		},
		Text: func(text string) []string { return []string{parts(`{"text":` + strconv.Quote(text) + `}`)} },
		Call: func(_ int, id, name, arguments string) []string {
			// The wire sends an object; what is none can only come as a text.
			if arguments[0] != '{' || arguments[len(arguments)-1] != '}' || arguments == `{"a":1}{"b":2}` {
				arguments = strconv.Quote(arguments)
			}
			return []string{parts(fmt.Sprintf(`{"functionCall":{"id":%q,"name":%q,"args":%s}}`, id, name, arguments))}
		},
		End: func(bool) []string { return []string{`{"candidates":[{"finishReason":"STOP"}]}`} },
	})
}

func TestAnyHead(t *testing.T) { modeltest.AnyHead(t, API, New) }
