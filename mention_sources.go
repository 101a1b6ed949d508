package piweb

import (
	"context"

	"github.com/piweb-go/piweb/completion"
	"github.com/piweb-go/piweb/completion/sources"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/subagent"
)

// Profiles lists the kinds of subagents that a session may start: none where it
// does not have the tool, or where subagents are switched off. It implements
// sources.ProfileLister.
func (m *mentions) Profiles(_ context.Context, s completion.Scope) ([]sources.Profile, error) {
	if set, err := m.rt.subagentSettings.Read(); err != nil || !set.BuiltIn {
		return nil, nil // the tool is not there either
	}
	p, err := m.policyOf(s)
	if err != nil {
		return nil, err
	}
	if ok, _ := p.Admits(policy.Tool{Name: subagent.AgentTool}); !ok {
		return nil, nil
	}
	var all []sources.Profile
	found, _ := m.rt.subagents.Profiles(s.CWD)
	for _, f := range found {
		if f.Enabled && !f.Overridden {
			all = append(all, sources.Profile{Name: f.Name, Description: f.Description})
		}
	}
	return all, nil
}

// policyOf is the policy of a scope's session, live or not.
func (m *mentions) policyOf(s completion.Scope) (policy.Policy, error) {
	if live, ok := m.rt.Live(s.SessionFile); ok {
		p, _ := live.Policy()
		return p, nil
	}
	p, _, err := m.rt.Decide(s.SessionFile, s.CWD)
	if err == nil {
		err = p.Err()
	}
	return p, err
}
