package wrapper

import (
	"context"
	"fmt"
	"slices"

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
	// Left is what was looked at and left out, with the texts' own.
	Left []resource.Omission

	x       *extensions
	failed  []resource.Omission // extensions that failed to load
	spared  []resource.Omission // what extensions left out themselves
	bad     []resource.Omission // failed, and tools with names that cannot be had
	version int                 // of the extensions' offers
	builtin []agent.Tool        // those of Tools that are piweb's own
}

// Close ends the extensions of a loadout. A live session does it itself.
func (l Loadout) Close() error { return l.x.close() }

// Load reads and constructs what the policy allows, and nothing else. It is how
// `explain` looks, too, with env.Peek: it has no side effect on the session then.
// Extensions are constructed only if the policy loads them; the caller closes the
// loadout.
func Load(ctx context.Context, host Host, p policy.Policy, env agent.Env) (Loadout, error) {
	if err := p.Err(); err != nil {
		return Loadout{}, err
	}
	res, err := host.Resources(ctx, env.CWD, p.Loads)
	if err != nil {
		return Loadout{}, fmt.Errorf("load the session's texts: %w", err)
	}
	base := Loadout{Resources: res}
	if p.Loads.Extensions {
		base.x, base.failed, base.spared = construct(ctx, host.Extensions(env.CWD, p.Loads), env)
	}
	l, err := equip(host, p, env.CWD, base)
	if err != nil {
		_ = base.Close()
	}
	return l, err
}

// equip makes a loadout from the texts and extensions of another.
func equip(host Host, p policy.Policy, cwd string, base Loadout) (Loadout, error) {
	var builtin []agent.Tool
	var err error
	if len(p.Tools) > 0 {
		if builtin, err = host.Tools(cwd, p.Tools); err != nil {
			return Loadout{}, fmt.Errorf("load the session's tools: %w", err)
		}
	}
	return dress(p, cwd, builtin, base), nil
}

// dress joins built-in tools with what the extensions offer now, and writes the
// head for them.
func dress(p policy.Policy, cwd string, builtin []agent.Tool, base Loadout) Loadout {
	res := base.Resources
	l := Loadout{Policy: p, Resources: res, x: base.x, failed: base.failed, spared: base.spared, builtin: builtin}
	late, bad, kept, version := l.x.admitted(p, builtin)
	l.Tools, l.version = slices.Concat(builtin, late), version
	l.bad = slices.Concat(l.failed, bad)
	l.Left = slices.Concat(res.Left, l.bad, l.spared, kept)
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
		for _, s := range visibleSkills(l.Tools, res.Skills) {
			l.Sources = append(l.Sources, policy.SourceHash{Path: s.Path, SHA256: s.SHA256})
		}
	}
	return l
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
