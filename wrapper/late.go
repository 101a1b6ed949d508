package wrapper

import (
	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/policy"
)

// late tells a loop of the tools that its extensions offer and take back while a
// run is on. The engine itself follows at the next command. It belongs to the
// goroutine of the run.
type late struct {
	now Loadout // what the last request went out with
	cwd string
}

// newLate is nil where no extension can offer anything.
func newLate(l Loadout, cwd string) agent.Late {
	if l.x == nil {
		return nil
	}
	return &late{l, cwd}
}

func (e *late) Changed() (agent.Gear, bool) {
	if e.now.version == e.now.x.version() {
		return agent.Gear{}, false
	}
	e.now = dress(e.now.Policy, e.cwd, e.now.builtin, e.now)
	return agent.Gear{Head: e.now.Head, Sources: e.now.Sources, Tools: e.now.Tools}, true
}

func (e *late) Offered(name string) (agent.Tool, bool) {
	tools, _, _, _ := e.now.x.admitted(e.now.Policy, e.now.builtin)
	for _, t := range append(tools, e.now.builtin...) {
		if t.Declaration().Name == name {
			return t, true
		}
	}
	return e.now.x.unwanted(e.now.Policy, name)
}

// unwanted finds a tool that is offered and that the policy does not admit, for
// whoever says why.
func (x *extensions) unwanted(p policy.Policy, name string) (agent.Tool, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, l := range x.list {
		for _, t := range l.tools {
			asked := agent.PolicyTool(t)
			if ok, _ := p.Admits(asked); !ok && asked.Name == name {
				return t, true
			}
		}
	}
	return nil, false
}
