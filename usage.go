package piweb

import (
	"context"

	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/subagent"
)

// TreeUsage is what a session has used together with all subagents below it,
// computed from their files. Subagents that were deleted are not in it; what a
// budget counts has a longer memory, see [Subagents].Budget.
type TreeUsage struct {
	Total   message.Usage `json:"total"`
	Millis  int64         `json:"durationMs"` // that models took to answer, added up
	Answers int           `json:"answers"`
	// Subagents are those below the session, each behind its parent's.
	Subagents []SubagentUsage `json:"subagents"`
	// Unread counts subagents whose files cannot be read, and so do not count.
	Unread int `json:"unreadSubagents,omitempty"`
}

// SubagentUsage is what one subagent has used, without those below it.
type SubagentUsage struct {
	ID          string        `json:"sessionId"`
	Parent      string        `json:"parentSessionId"`
	Profile     string        `json:"profile"`
	Description string        `json:"description"`
	Path        string        `json:"-"`
	Total       message.Usage `json:"total"`
	Millis      int64         `json:"durationMs"`
	Answers     int           `json:"answers"`
}

// TreeUsage adds up what the session of a file and the subagents below it have used.
// It may be asked while they run, and then tells what was recorded by that moment.
func (r *Runtime) TreeUsage(ctx context.Context, path string) (TreeUsage, error) {
	out := TreeUsage{Subagents: []SubagentUsage{}}
	_, own, err := r.usageOf(path)
	if err != nil {
		return out, err
	}
	out.add(own)
	files, err := r.descendants(path, func(of string, _ session.Header) ([]string, error) {
		t, err := r.nursery.Tree(ctx, of)
		return t.Children, err
	})
	if err != nil {
		return out, err
	}
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		run, u, err := r.usageOf(file)
		if err != nil {
			out.Unread++
			continue
		}
		out.add(u)
		out.Subagents = append(out.Subagents, SubagentUsage{run.ID, run.ParentID, run.Profile, run.Description, file, u.Total, u.Millis, u.Counts.Assistant})
	}
	return out, nil
}

func (t *TreeUsage) add(u session.Usage) {
	t.Total, t.Millis, t.Answers = t.Total.Plus(u.Total), t.Millis+u.Millis, t.Answers+u.Counts.Assistant
}

// usageOf reads one session, and what it says of itself as a subagent.
func (r *Runtime) usageOf(path string) (run subagent.Run, u session.Usage, err error) {
	err = r.nursery.look(path, func(log *session.Session) (err error) {
		if run, _, err = subagent.ReadRun(log); err == nil {
			u, err = log.Usage()
		}
		return err
	})
	return run, u, err
}
