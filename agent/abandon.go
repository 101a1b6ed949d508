package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/piweb-go/piweb/agent/tool"
)

// abandonAfter is Config.AbandonAfter where it is not set.
const abandonAfter = 5 * time.Second

// runTool runs a tool to its end, or leaves it behind where it does not end after
// an abort. What a tool that was left behind reports or answers later is not heard.
func (l *Loop) runTool(ctx context.Context, t Tool, call *tool.Call) (tool.Result, error) {
	type ending struct {
		r      tool.Result
		err    error
		broken any
	}
	done := make(chan ending, 1)
	own := *call // a tool that is left behind keeps its own copy
	go func() {
		var e ending
		defer func() {
			e.broken = recover()
			done <- e
		}()
		e.r, e.err = t.Run(ctx, &own)
	}()
	answer := func(e ending) (tool.Result, error) {
		if e.broken != nil {
			return tool.Error(fmt.Sprintf("The tool %s failed in an unexpected way: %v", call.Name, e.broken)), nil
		}
		return e.r, e.err
	}
	select {
	case e := <-done:
		return answer(e)
	case <-ctx.Done():
	}
	late := time.NewTimer(l.cfg.AbandonAfter)
	defer late.Stop()
	select {
	case e := <-done:
		return answer(e)
	case <-late.C:
		return tool.Error(fmt.Sprintf("The tool %s did not stop within %s after the run was aborted, and was left behind. What it does from here on is not known.", call.Name, l.cfg.AbandonAfter)), nil
	}
}
