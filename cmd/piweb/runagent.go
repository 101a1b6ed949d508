package main

import (
	"context"
	"fmt"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/subagent"
)

// runAgent starts a subagent for a task and prints its answers as they come. The
// session that it belongs to is the one that --session names, or a new one, which
// holds nothing but what was delegated.
func (a *app) runAgent(ctx context.Context, rt *piweb.Runtime, f *runFlags, task string) error {
	parent, err := openSession(ctx, rt, f)
	if err != nil {
		return err
	}
	for _, p := range rt.Problems(parent.Folder().Path) {
		a.notef("note: %s\n", oneLine(p))
	}
	if p, _ := parent.Policy(); p.Kind == policy.Refused {
		return fmt.Errorf("%w: the session is refused", subagent.ErrSpec)
	}
	m := rt.Subagents()
	foreground := false
	r, err := m.Start(ctx, parent.Log().Path(), piweb.SubagentSpec{Profile: f.agent, Task: task, InputFiles: f.inputFiles, Model: f.model, Thinking: f.thinking,
		Background: &foreground})
	if err != nil {
		return err
	}
	if !a.json {
		a.notef("subagent %s, %s\n", r.ID, oneLine(r.Profile))
	}
	asking, stopped, done := stopOnSignal(ctx, func() bool { return m.Cancel(context.WithoutCancel(ctx), parent.Log().Path(), r.ID) == nil })
	defer done()
	end, err := m.Wait(context.WithoutCancel(asking), parent.Log().Path(), r.ID)
	if err != nil {
		return err
	}
	if by := stopped.Load(); by != nil {
		return silent{by}
	}
	if a.json {
		if err := a.printJSON(agentRun{r.ID, parent.ID(), end.Path, end.Profile, end.Status, end.Text, end.Error, end.Output, end.Spent}); err != nil {
			return err
		}
	} else if end.Text != "" {
		a.printf("%s\n", printable(end.Text))
	}
	switch end.Status {
	case subagent.Completed:
		return nil
	case subagent.Aborted:
		return silent{errAborted}
	}
	return a.failed(end.Error)
}

// agentRun is what `run --agent --json` prints at the end.
type agentRun struct {
	SessionID string            `json:"sessionId"`
	ParentID  string            `json:"parentSessionId"`
	Path      string            `json:"path"`
	Profile   string            `json:"profile"`
	Status    subagent.Status   `json:"status"`
	Result    string            `json:"result"`
	Error     string            `json:"error,omitempty"`
	Output    string            `json:"output,omitempty"`
	Spent     subagent.Spending `json:"spent"`
}
