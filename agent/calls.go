package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/piweb-go/piweb/agent/tool"
	"github.com/piweb-go/piweb/internal/failpoint"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/toolselect"
)

// maxParallel is how many calls of one answer run at the same time.
const maxParallel = 16

func policyTool(name string) policy.Tool {
	return policy.Tool{Name: name, Builtin: toolselect.IsBuiltin(name) || name == "powershell"}
}

// pending is a call on its way through the gates.
type pending struct {
	call    *tool.Call
	tool    Tool         // nil when refused has the answer
	refused *tool.Result // why it does not run
	result  tool.Result
	took    int64 // milliseconds
}

// calls runs the calls of an answer and records their results in the order of
// the calls. Every call gets a result, whatever happens.
func (l *Loop) calls(ctx context.Context, answer *message.Assistant) (results []message.Message, ids []session.ID, terminate bool, err error) {
	blocks := answer.Content.ToolCalls()
	if len(blocks) == 0 {
		return nil, nil, false, nil
	}
	batch := make([]*pending, len(blocks))
	sequential := false
	for i, b := range blocks {
		batch[i] = &pending{call: &tool.Call{ID: b.ID, Name: b.Name, Arguments: b.Arguments, CWD: l.cfg.CWD, Env: l.cfg.Env}}
		l.cfg.Emit(Event{Type: ToolStart, ToolCallID: b.ID, ToolName: b.Name, Args: b.Arguments})
		if batch[i].tool, batch[i].refused = l.admitCall(ctx, answer, b, batch[i].call); batch[i].refused != nil {
			continue
		}
		sequential = sequential || batch[i].tool.Sequential()
	}
	l.runBatch(ctx, batch, sequential)
	failpoint.Here("before-results")

	payloads := make([]session.Payload, len(batch))
	terminate = true
	for i, p := range batch {
		m := &message.ToolResult{ToolCallID: p.call.ID, ToolName: p.call.Name, Content: p.result.Content, Details: p.result.Details,
			IsError: p.result.IsError, Timestamp: l.cfg.Now().UnixMilli(), DurationMs: p.took}
		payloads[i] = session.Message(m)
		results = append(results, m)
		terminate = terminate && p.result.Terminate
	}
	if ids, err = l.cfg.Transcript.Append(payloads...); err != nil {
		return nil, nil, false, err
	}
	for i, m := range results {
		l.tellRecorded(m, ids[i])
	}
	return results, ids, terminate, nil
}

// admitCall finds the tool of a call, or answers a call that must not run: the
// answer is broken off, the tool is unknown or gone, the arguments are no good, or
// a gate says no. The order of the gates is part of the design: policy, owner,
// budget, the hooks of extensions.
func (l *Loop) admitCall(ctx context.Context, answer *message.Assistant, b message.Block, call *tool.Call) (Tool, *tool.Result) {
	no := func(format string, args ...any) (Tool, *tool.Result) {
		r := tool.Error(fmt.Sprintf(format, args...))
		return nil, &r
	}
	switch answer.StopReason {
	case message.StopError, message.StopAborted:
		return no("Not run: the answer broke off.")
	case message.StopLength:
		return no("Not run: the answer came to its length limit, so the call may be incomplete.")
	}
	if ctx.Err() != nil {
		return no("Not run: the run was aborted.")
	}
	t, why := l.find(b.Name)
	if t == nil {
		return no("%s", why)
	}
	if b.ArgumentsError != "" {
		return no("Not run: %s.", b.ArgumentsError)
	}
	call.Arguments = fit(t, call.Arguments)
	if err := tool.Check(t.Declaration(), call.Arguments); err != nil {
		return no("Not run: %s.", err)
	}
	gates := []Gate{l.cfg.Gates.Owner, l.cfg.Gates.Budget}
	for _, h := range l.cfg.Hooks {
		gates = append(gates, h.Call)
	}
	for _, gate := range gates {
		if gate == nil {
			continue
		}
		if why := l.judge(ctx, gate, call); why != "" {
			return no("Not allowed: %s.", why)
		}
	}
	return t, nil
}

// fit turns arguments into what the tool asks for where models are known to
// slip; a tool may know its own slips better.
func fit(t Tool, args json.RawMessage) json.RawMessage {
	if p, ok := t.(interface {
		Prepare(json.RawMessage) json.RawMessage
	}); ok {
		return p.Prepare(args)
	}
	return tool.Coerce(t.Declaration(), args)
}

// judge asks one gate, and a person where the gate says so. It returns why the
// call must not run, or "".
func (l *Loop) judge(ctx context.Context, gate Gate, call *tool.Call) string {
	v := gate(ctx, call)
	switch v.Decision {
	case Allow:
		return ""
	case Ask:
		if l.cfg.Ask == nil {
			return v.Reason + " (and nobody is there to ask)"
		}
		allowed, err := l.cfg.Ask(ctx, Question{CallID: call.ID, Tool: call.Name, Arguments: call.Arguments, Reason: v.Reason})
		if err != nil {
			return v.Reason + ": " + err.Error()
		}
		if allowed {
			return ""
		}
		return "the user said no: " + v.Reason
	}
	return v.Reason
}

// runBatch runs the calls that were not refused, beside each other unless one of
// them wants to be alone.
func (l *Loop) runBatch(ctx context.Context, batch []*pending, sequential bool) {
	var mu sync.Mutex // events come one at a time
	limit := maxParallel
	if sequential {
		limit = 1
	}
	slots := make(chan struct{}, limit)
	var wg sync.WaitGroup
	for _, p := range batch {
		slots <- struct{}{} // in order, so that a sequential batch runs in order
		wg.Go(func() {
			defer func() { <-slots }()
			l.runOne(ctx, p, &mu)
		})
	}
	wg.Wait()
}

func (l *Loop) runOne(ctx context.Context, p *pending, mu *sync.Mutex) {
	tell := func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		l.cfg.Emit(e)
	}
	start := l.cfg.Now()
	if p.refused != nil {
		p.result = *p.refused
	} else {
		ended := false
		p.call.Update = func(r tool.Result) {
			mu.Lock()
			defer mu.Unlock()
			if ended {
				return // a tool that reports after its end is not heard
			}
			l.cfg.Emit(Event{Type: ToolUpdate, ToolCallID: p.call.ID, ToolName: p.call.Name, Args: p.call.Arguments, Partial: toldResult(r)})
		}
		p.result = l.execute(ctx, p.tool, p.call)
		mu.Lock()
		ended = true
		mu.Unlock()
		p.took = l.cfg.Now().Sub(start).Milliseconds()
	}
	tell(Event{Type: ToolEnd, ToolCallID: p.call.ID, ToolName: p.call.Name, Result: toldResult(p.result), IsError: p.result.IsError})
}

// execute runs a tool and the gates behind it: media, strip, artifact. An error
// or a panic becomes a result, because the model must get one.
func (l *Loop) execute(ctx context.Context, t Tool, call *tool.Call) (r tool.Result) {
	defer func() {
		if broken := recover(); broken != nil {
			r = tool.Error(fmt.Sprintf("The tool %s failed in an unexpected way: %v", call.Name, broken))
		}
	}()
	if ctx.Err() != nil {
		return tool.Error("Not run: the run was aborted.")
	}
	if l.cfg.Outputs != nil {
		defer l.keepOutput(call)()
	}
	r, err := l.runTool(ctx, t, call)
	if err != nil {
		r = tool.Error(err.Error())
	}
	var gates []ResultGate
	for _, h := range l.cfg.Hooks {
		gates = append(gates, h.Result)
	}
	for _, gate := range append(gates, l.admitPictures, l.cfg.Gates.Media, l.cfg.Gates.Strip, l.cfg.Gates.Artifact) {
		if gate == nil {
			continue
		}
		if r, err = gate(ctx, call, r); err != nil {
			r = tool.Error(err.Error())
		}
	}
	if l.cfg.Outputs != nil {
		r = spillResult(l.cfg.Outputs, call, r)
	}
	if r.Content == nil {
		r.Content = message.Content{}
	}
	if r.Details != nil && !json.Valid(r.Details) {
		r.Details = nil // a tool's mistake must not break the line
	}
	return r
}
