package piweb

import (
	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/compact"
	"github.com/piweb-go/piweb/config"
	"github.com/piweb-go/piweb/wrapper"
)

// conduct is what the settings say of runs with a model.
func (h *host) conduct(set config.Settings, info agent.ModelInfo) wrapper.Conduct {
	c := wrapper.Conduct{Steering: wrapper.QueueMode(set.SteeringMode), FollowUp: wrapper.QueueMode(set.FollowUpMode)}
	if r := set.Retry; r.Enabled {
		c.Retry = agent.Retry{Max: r.MaxRetries, BaseDelay: r.BaseDelay, MaxDelay: r.MaxAgentDelay, MaxAsked: r.ProviderMaxDelay}
	}
	k := set.Compaction.For(info.Provider, info.ID)
	c.Compaction = compact.Settings{Enabled: k.Enabled, Reserve: k.ReserveTokens, Keep: k.KeepRecentTokens, Branch: set.BranchSummary.ReserveTokens}
	c.Picture = h.pictures.Estimate(info.API, info.ID)
	return c
}
