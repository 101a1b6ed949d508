package wrapper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/tool"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/resource"
	"github.com/piweb-go/piweb/session"
)

// extensions are what the factories of one engine made. The zero value and nil
// are the extensions of a session that may have none.
type extensions struct {
	list []*loaded

	mu      sync.Mutex
	offers  int // how often the tools changed
	closing bool
}

// loaded is one extension of an engine.
type loaded struct {
	agent.Extension
	name  string
	owns  []string
	tools []agent.Tool // as offered last; guarded by extensions.mu
}

// construct asks the factories, in order. One that fails is left out; failed says
// so, and what somebody has to mend; left is what the others left out themselves.
func construct(ctx context.Context, factories []agent.Factory, env agent.Env) (x *extensions, failed, left []resource.Omission) {
	x = &extensions{}
	for _, f := range factories {
		l := &loaded{name: f.Name, owns: f.Owns}
		offered := false
		own := env
		own.Offer = func(tools ...agent.Tool) {
			x.mu.Lock()
			defer x.mu.Unlock()
			if !x.closing {
				offered, l.tools = true, slices.Clone(tools)
				x.offers++
			}
		}
		var err error
		if l.Extension, err = newExtension(ctx, f, own); err != nil {
			failed = append(failed, resource.Omission{Path: "extension " + f.Name, Reason: "it failed to load: " + err.Error()})
			continue
		}
		x.mu.Lock()
		if !offered {
			l.tools = slices.Clone(l.Tools)
		}
		x.mu.Unlock()
		for _, o := range l.Left {
			out := resource.Omission{Path: o.What, Reason: o.Why}
			if o.Wrong {
				failed = append(failed, out)
			} else {
				left = append(left, out)
			}
		}
		x.list = append(x.list, l)
	}
	return x, failed, left
}

func newExtension(ctx context.Context, f agent.Factory, env agent.Env) (x agent.Extension, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("it broke: %v", broken)
		}
	}()
	return f.New(ctx, env)
}

// admitted are the tools that join the built-in ones under a policy, those that
// cannot be had by their names (bad), and those that the policy does not want
// (kept). version tells when to ask again.
func (x *extensions) admitted(p policy.Policy, builtin []agent.Tool) (tools []agent.Tool, bad, kept []resource.Omission, version int) {
	if x == nil {
		return nil, nil, nil, 0
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	taken := map[string]string{} // name → whose it is
	for _, t := range builtin {
		taken[t.Declaration().Name] = "piweb"
	}
	owner := map[string]string{}
	for _, l := range x.list {
		for _, name := range l.owns {
			owner[name] = l.name
		}
	}
	for _, l := range x.list {
		for _, t := range l.tools {
			asked := agent.PolicyTool(t)
			what := fmt.Sprintf("tool %q of %s", asked.Name, l.name)
			if why := refusal(asked, l.name, taken, owner); why != "" {
				bad = append(bad, resource.Omission{Path: what, Reason: why})
				continue
			}
			if ok, why := p.Admits(asked); !ok {
				kept = append(kept, resource.Omission{Path: what, Reason: why})
				continue
			}
			taken[asked.Name] = l.name
			tools = append(tools, t)
		}
	}
	return tools, bad, kept, x.offers
}

// refusal is why a tool must not join whatever the policy says, or "".
func refusal(t policy.Tool, by string, taken, owner map[string]string) string {
	switch {
	case !agent.ValidToolName(t.Name):
		return "a tool's name has 1 to 64 letters, digits, \"_\" and \"-\""
	case t.Builtin:
		return "the name belongs to piweb's own tool"
	case owner[t.Name] != "" && owner[t.Name] != by:
		return "the name is reserved for " + owner[t.Name]
	case policy.IsControl(t.Name) && owner[t.Name] != by:
		return "the name is reserved for the control of subagents"
	case taken[t.Name] != "":
		return "the name is taken by a tool of " + taken[t.Name]
	}
	return ""
}

// version counts the offers so far.
func (x *extensions) version() int {
	if x == nil {
		return 0
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.offers
}

// close ends the extensions, the last first. It is called once, when no call
// runs.
func (x *extensions) close() error {
	if x == nil {
		return nil
	}
	x.mu.Lock()
	again := x.closing
	x.closing = true
	x.mu.Unlock()
	if again {
		return nil
	}
	var errs []error
	for _, l := range slices.Backward(x.list) {
		if l.Close == nil {
			continue
		}
		if err := guarded(l.Close); err != nil {
			errs = append(errs, fmt.Errorf("the extension %s did not end well: %w", l.name, err))
		}
	}
	return errors.Join(errs...)
}

// guarded turns a panic of an extension into an error.
func guarded(do func() error) (err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("it broke: %v", broken)
		}
	}()
	return do()
}

// hooks are those of the loop: they judge calls and results.
func (x *extensions) hooks() []agent.Hooks {
	if x == nil {
		return nil
	}
	var out []agent.Hooks
	for _, l := range x.list {
		h := agent.Hooks{Result: l.Hooks.Result}
		if judge := l.Hooks.Call; judge != nil {
			h.Call = func(ctx context.Context, call *tool.Call) (v agent.Verdict) {
				err := guarded(func() error {
					v = judge(ctx, call)
					return nil
				})
				if err != nil {
					return agent.Verdict{Decision: agent.Block, Reason: fmt.Sprintf("the extension %s could not judge it: %v", l.name, err)}
				}
				return v
			}
		}
		out = append(out, h)
	}
	return out
}

// told hands a recorded message to the extensions.
func (x *extensions) told(e agent.Event) {
	if x == nil || e.Type != agent.MessageEnd || e.Message == nil {
		return
	}
	for _, l := range x.list {
		if hear := l.Hooks.Message; hear != nil {
			_ = guarded(func() error { hear(e.Message); return nil })
		}
	}
}

// before asks the extensions what to record in front of a user's message.
func (x *extensions) before(ctx context.Context, m *message.User) ([]session.Payload, error) {
	if x == nil {
		return nil, nil
	}
	var out []session.Payload
	for _, l := range x.list {
		if l.Hooks.Prompt == nil {
			continue
		}
		err := guarded(func() error {
			customs, err := l.Hooks.Prompt(ctx, m)
			for _, c := range customs {
				out = append(out, session.CustomMessage{CustomType: c.CustomType, Content: c.Content, Display: c.Display, Details: c.Details})
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("the extension %s refused the prompt: %w", l.name, err)
		}
	}
	return out, nil
}

// command finds a command by name; the first extension that has it wins.
func (x *extensions) command(name string) (agent.Command, string, bool) {
	if x == nil {
		return agent.Command{}, "", false
	}
	for _, l := range x.list {
		for _, c := range l.Commands {
			if c.Name == name && agent.ValidCommandName(name) && c.Run != nil {
				return c, l.name, true
			}
		}
	}
	return agent.Command{}, "", false
}
