package openai

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model/modeltest"
)

func TestMisbehave(t *testing.T) {
	modeltest.Misbehave(t, modeltest.Dialect{
		API: API, Open: New,
		Tune: func(m agent.Model, idle time.Duration, limit int64) {
			m.(*client).Idle, m.(*client).Limit = idle, limit
		},
		Text: func(text string) []string { return []string{delta(`"content":` + strconv.Quote(text))} },
		Call: func(n int, id, name, arguments string) []string {
			return []string{call(n, fmt.Sprintf(`"id":%q,"function":{"name":%q,"arguments":%q}`, id, name, arguments))}
		},
		End: func(calls bool) []string {
			return []string{finish(map[bool]string{true: "tool_calls", false: "stop"}[calls]), "[DONE]"}
		},
	})
}
