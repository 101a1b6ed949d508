package sources

import (
	"context"
	"fmt"

	"github.com/piweb-go/piweb/completion"
)

// SessionInfo is a session that a message may name.
type SessionInfo struct {
	ID    string
	Title string // its name, or what was first said
	CWD   string
	Path  string // of its file
}

// Sessions lists the sessions that the user of a scope may see, the latest first.
type SessionLister interface {
	Sessions(ctx context.Context, s completion.Scope) ([]SessionInfo, error)
}

// Sessions offers other sessions behind a #. A token becomes the title and the
// path of the file, which a model with the read tool can open.
func Sessions(from SessionLister) completion.Provider { return sessions{from} }

type sessions struct{ from SessionLister }

func (sessions) ID() string      { return "session" }
func (sessions) Kind() string    { return "session" }
func (sessions) Trigger() string { return "#" }

func (p sessions) Complete(ctx context.Context, q completion.Query) (completion.Offer, error) {
	all, err := p.from.Sessions(ctx, q.Scope)
	if err != nil {
		return completion.Offer{}, err
	}
	var offer completion.Offer
	for n, s := range all {
		if s.ID == q.SessionID {
			continue
		}
		label := clean(s.Title, 120)
		if label == "" {
			label = s.ID
		}
		score, parts := match(label, q.Text)
		if score == no {
			if score, _ = match(s.ID, q.Text); score < begins {
				continue
			}
			parts = nil
		}
		points := float64(score)
		if s.CWD == q.CWD {
			points += 0.5
		}
		offer.Items = append(offer.Items, completion.Item{
			ID: s.ID, Label: label, Detail: clean(s.CWD, 200), InsertText: completion.Format("#", "session", s.ID),
			Score: points + 0.4/float64(n+1), Matches: parts, // the latest of equals first
		})
	}
	return offer, nil
}

func (p sessions) Resolve(ctx context.Context, r completion.Ref) (completion.Resolution, bool, error) {
	all, err := p.from.Sessions(ctx, r.Scope)
	if err != nil {
		return completion.Resolution{}, false, err
	}
	for _, s := range all {
		if s.ID == r.ID {
			return completion.Resolution{Text: fmt.Sprintf("the session %q (%s)", clean(s.Title, 120), s.Path), ID: s.ID}, true, nil
		}
	}
	return completion.Resolution{}, false, nil
}
