package anthropic

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model/modeltest"
)

func dialect() modeltest.Dialect {
	return modeltest.Dialect{
		API: API, Open: New,
		Tune: func(m agent.Model, idle time.Duration, limit int64) {
			m.(*client).Idle, m.(*client).Limit = idle, limit
		},
		Text: func(text string) []string {
			return []string{
				`{"type":"message_start","message":{"id":"msg_1","model":"m"}}`,
				`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + strconv.Quote(text) + `}}`,
			}
		},
		Call: func(n int, id, name, arguments string) []string {
			return []string{
				fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":%q,"name":%q,"input":{}}}`, n, id, name),
				fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%q}}`, n, arguments),
			}
		},
		End: func(calls bool) []string {
			word := map[bool]string{true: "tool_use", false: "end_turn"}[calls]
			return []string{`{"type":"message_delta","delta":{"stop_reason":"` + word + `"}}`, `{"type":"message_stop"}`}
		},
	}
}

func TestMisbehave(t *testing.T) { modeltest.Misbehave(t, dialect()) }
