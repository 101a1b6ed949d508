package agent

import (
	"fmt"

	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
)

// Gear is what the requests of a loop carry beside the messages.
type Gear struct {
	Head    []byte              // goes out as exactly these bytes
	Sources []policy.SourceHash // the files that Head was made from
	Tools   []Tool              // in the order of their declaration
}

// Late is how a loop learns of tools that come and go while a run is on. It is
// asked by one goroutine at a time.
type Late interface {
	// Changed returns what the next request carries, or false where that is what
	// the last one did.
	Changed() (Gear, bool)
	// Offered finds a tool that is no built-in one as it is offered now.
	Offered(name string) (Tool, bool)
}

// noLate is a loop whose tools stay as they are.
type noLate struct{ tools map[string]Tool }

func (noLate) Changed() (Gear, bool) { return Gear{}, false }

func (n noLate) Offered(name string) (Tool, bool) {
	t, ok := n.tools[name]
	return t, ok
}

// gear is a Gear that the policy was asked about. It is not changed.
type gear struct {
	head    []byte
	sources []policy.SourceHash
	tools   map[string]Tool
	decls   []message.ToolDeclaration
}

// admit makes a gear. A tool that the policy does not admit is an error: it must
// not even be constructed.
func admit(p policy.Policy, from Gear) (*gear, error) {
	g := &gear{head: from.Head, sources: from.Sources, tools: map[string]Tool{}}
	for _, t := range from.Tools {
		d := t.Declaration()
		if ok, why := p.Admits(PolicyTool(t)); !ok {
			return nil, fmt.Errorf("agent: tool %q was loaded against the policy: %s", d.Name, why)
		}
		if _, twice := g.tools[d.Name]; twice {
			return nil, fmt.Errorf("agent: two tools have the name %q", d.Name)
		}
		g.tools[d.Name] = t
		g.decls = append(g.decls, d)
	}
	return g, nil
}

// late takes in what extensions changed since the last request, and declares it
// in the transcript. The receipt of the request follows by itself.
func (r *run) late(said Accepted) (Accepted, error) {
	l := r.l
	from, changed := l.cfg.Late.Changed()
	if !changed {
		return said, nil
	}
	g, err := admit(l.cfg.Policy, from)
	if err != nil {
		return said, err
	}
	l.gear.Store(g)
	c, err := l.cfg.Transcript.Context()
	if err != nil {
		return said, err
	}
	sys := l.declaration(&c.System)
	if sys == nil {
		return said, nil
	}
	ids, err := l.cfg.Transcript.Append(session.Message(sys))
	if err != nil {
		return said, err
	}
	return Accepted{append(said.messages, sys), append(said.ids, ids...)}, nil
}

// find looks for the tool of a call: among those of the request, and as it is
// now. why is the reason for which there is none to run.
func (l *Loop) find(name string) (t Tool, why string) {
	t, declared := l.gear.Load().tools[name]
	asked := policyTool(name)
	offered := declared
	if !asked.Builtin {
		var now Tool
		if now, offered = l.cfg.Late.Offered(name); offered {
			t = now
		}
	}
	if t != nil {
		asked = PolicyTool(t)
	}
	if ok, why := l.cfg.Policy.Admits(asked); !ok {
		return nil, "Not allowed: " + why + "."
	}
	switch {
	case declared && !offered:
		return nil, fmt.Sprintf("Not run: the tool %q was withdrawn while you answered.", name)
	case offered && !declared:
		return nil, fmt.Sprintf("Not run: the tool %q came while you answered; call it again.", name)
	case !declared:
		return nil, fmt.Sprintf("There is no tool %q here.", name)
	}
	return t, ""
}
