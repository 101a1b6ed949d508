package sources

import (
	"context"

	"github.com/piweb-go/piweb/completion"
)

// Profile is a kind of subagent that a session may start.
type Profile struct {
	Name        string
	Description string
}

// ProfileLister lists the profiles that a scope's session may use.
type ProfileLister interface {
	Profiles(ctx context.Context, s completion.Scope) ([]Profile, error)
}

// Profiles offers subagents' profiles behind an @. A token becomes the name, in
// words that a model with the tools for it understands.
func Profiles(from ProfileLister) completion.Provider { return profiles{from} }

type profiles struct{ from ProfileLister }

func (profiles) ID() string      { return "profile" }
func (profiles) Kind() string    { return "profile" }
func (profiles) Trigger() string { return "@" }

func (p profiles) Complete(ctx context.Context, q completion.Query) (completion.Offer, error) {
	all, err := p.from.Profiles(ctx, q.Scope)
	if err != nil {
		return completion.Offer{}, err
	}
	var offer completion.Offer
	for _, f := range all {
		score, parts := match(f.Name, q.Text)
		if score == no {
			continue
		}
		offer.Items = append(offer.Items, completion.Item{ID: f.Name, Label: f.Name, Detail: clean(f.Description, 200),
			InsertText: completion.Format("@", "profile", f.Name), Matches: parts})
	}
	return offer, nil
}

func (p profiles) Resolve(ctx context.Context, r completion.Ref) (completion.Resolution, bool, error) {
	all, err := p.from.Profiles(ctx, r.Scope)
	if err != nil {
		return completion.Resolution{}, false, err
	}
	for _, f := range all {
		if f.Name == r.ID {
			return completion.Resolution{Text: "the subagent profile " + f.Name, ID: f.Name}, true, nil
		}
	}
	return completion.Resolution{}, false, nil
}
