package compact

import (
	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

// plan is where a context is cut.
type plan struct {
	before    string            // the last summary, with its lists of files
	history   []message.Message // whole turns that are summed up
	prefix    []message.Message // the beginning of a turn that is cut in two
	kept      []message.Message
	firstKept session.ID
	summed    []message.Message // history and prefix
}

// plan goes back from the end until enough is kept. It never cuts in front of a
// tool's result, because that belongs to the call before it.
func (c *Compactor) plan(sc *session.Context, why agent.CompactionReason) (plan, error) {
	var p plan
	start := 0
	for start < len(sc.Messages) {
		s, isSummary := sc.Messages[start].(*message.CompactionSummary)
		if isSummary {
			p.before = s.Summary
		} else if sc.Messages[start].Role() != message.RoleSystem {
			break
		}
		start++
	}
	msgs := sc.Messages[start:]
	cut, ok := c.cut(msgs, c.keep(msgs, why))
	if !ok {
		return p, agent.ErrNothingToCompact
	}
	p.kept, p.firstKept, p.summed = msgs[cut:], sc.Sources[start+cut], msgs[:cut]
	turn := cut
	for turn > 0 && !begins(msgs[turn]) {
		turn--
	}
	p.history, p.prefix = msgs[:turn], msgs[turn:cut]
	return p, nil
}

// keep is how many tokens of the end are kept. Where a request did not fit, the
// estimates were too low: then at most half of what they say.
func (c *Compactor) keep(msgs []message.Message, why agent.CompactionReason) int64 {
	_, _, keep := c.limits()
	if why == agent.ByOverflow {
		var all int64
		for _, m := range msgs {
			all += c.estimate(m)
		}
		keep = min(keep, all/2)
	}
	return keep
}

func (c *Compactor) cut(msgs []message.Message, keep int64) (at int, ok bool) {
	var n int64
	at = len(msgs)
	for at > 0 && n < max(keep, 1) {
		at--
		n += c.estimate(msgs[at])
	}
	if n < keep || at == 0 {
		return 0, false // all of it is kept
	}
	next := at
	for next < len(msgs) && !cuttable(msgs[next]) {
		next++
	}
	if next < len(msgs) {
		return next, true
	}
	for at > 0 && !cuttable(msgs[at]) {
		at--
	}
	return at, at > 0
}

func cuttable(m message.Message) bool {
	return m.Role() != message.RoleToolResult && m.Role() != message.RoleSystem
}

// begins tells whether a turn begins with a message.
func begins(m message.Message) bool {
	switch m.(type) {
	case *message.User, *message.Custom, *message.BranchSummary, *message.BashExecution:
		return true
	}
	return false
}
