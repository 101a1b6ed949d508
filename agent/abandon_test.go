package agent

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/piweb-go/piweb/agent/tool"
	"github.com/piweb-go/piweb/message"
)

// TestToolThatDoesNotListenIsLeftBehind: an abort ends the run also where a tool
// goes on; the call has a result that says so, the file ends as after any abort,
// and what the tool reports and answers later is not heard.
func TestToolThatDoesNotListenIsLeftBehind(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	release, ended := make(chan struct{}), make(chan struct{})
	deaf := fake{name: "bash", run: func(_ context.Context, c *tool.Call) (tool.Result, error) {
		defer close(ended)
		cancel()
		<-release
		c.Report(tool.Text("late report"))
		return tool.Text("late answer"), errors.New("late error")
	}}
	m := &played{answers: [][]Delta{{call(0, "c1", "bash", `{"n":1}`), Stop{Reason: message.StopToolUse}}, say("never")}}
	b := newBench(t, m, func(c *Config) { c.AbandonAfter = time.Millisecond }, deaf)
	if err := b.prompt(t, ctx, "go"); err != nil {
		t.Fatal(err)
	}
	told := len(b.events)
	close(release)
	<-ended
	file := strings.Join(b.file(t), "\n")
	if !strings.Contains(file, "toolResult c1 true The tool bash did not stop within 1ms") || !strings.HasSuffix(file, "assistant aborted ") || strings.Contains(file, "late") {
		t.Errorf("file:\n%s", file)
	}
	if last := b.names()[told-1]; last != "agent_settled aborted=true" || len(b.events) != told {
		t.Errorf("last event %s, %d more came", last, len(b.events)-told)
	}
	if len(m.requests) != 1 {
		t.Errorf("%d requests", len(m.requests))
	}
}
