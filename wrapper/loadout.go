package wrapper

import (
	"context"
	"fmt"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/chatonly"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/resource"
)

// Loadout is what a policy lets a session have: the exact head, the files that
// it was made from, and the tools.
type Loadout struct {
	Policy    policy.Policy
	Head      []byte
	Sources   []policy.SourceHash
	Tools     []agent.Tool
	Resources Resources
}

// Load reads and constructs what the policy allows, and nothing else. It is how
// `explain` looks, too: it has no side effect on the session.
func Load(ctx context.Context, host Host, p policy.Policy, cwd string) (Loadout, error) {
	if err := p.Err(); err != nil {
		return Loadout{}, err
	}
	res, err := host.Resources(ctx, cwd, p.Loads)
	if err != nil {
		return Loadout{}, fmt.Errorf("load the session's texts: %w", err)
	}
	return equip(host, p, cwd, res)
}

// equip makes a loadout from texts that were read before.
func equip(host Host, p policy.Policy, cwd string, res Resources) (Loadout, error) {
	l := Loadout{Policy: p, Resources: res}
	var err error
	if len(p.Tools) > 0 {
		if l.Tools, err = host.Tools(cwd, p.Tools); err != nil {
			return Loadout{}, fmt.Errorf("load the session's tools: %w", err)
		}
	}
	switch {
	case p.Prompt.IsContextFiles():
		l.Head = chatonly.Prompt(res.ContextFiles)
		l.addContextSources()
	case p.Prompt.Exact():
		l.Head = []byte(p.Prompt.Text())
	default:
		l.Head = Compose(p, l.Tools, res, cwd)
		l.addSource(res.System)
		l.addSource(res.Append)
		l.addContextSources()
	}
	return l, nil
}

func (l *Loadout) addContextSources() {
	for i := range l.Resources.ContextFiles {
		l.addSource(&l.Resources.ContextFiles[i])
	}
}

func (l *Loadout) addSource(f *resource.ContextFile) {
	if f != nil {
		l.Sources = append(l.Sources, policy.SourceHash{Path: f.Path, SHA256: f.SHA256})
	}
}
