package google

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

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

// Every head arrives as it was, whatever stands in it.
func TestHeadProperty(t *testing.T) {
	server := modeltest.NewServer(t, modeltest.Parse(t, `{"steps":[{"repeat":true,"text":"fine"}]}`))
	m, err := New(server.SpecOf(API))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(r *rapid.T) {
		head := rapid.String().Draw(r, "head")
		req := modeltest.UserRequest("hello")
		req.Head = []byte(head)
		if got := modeltest.Collect(m.Stream(t.Context(), req)); got.Err != nil {
			r.Fatal(got.Err)
		}
		sent := server.Sent()
		if len(sent.Heads) > 1 || (head != "") != (len(sent.Heads) == 1) || head != "" && string(sent.Heads[0]) != head {
			r.Fatalf("head %q arrived as %q", head, sent.Heads)
		}
	})
}
