package sources

import (
	"context"

	"github.com/piweb-go/piweb/completion"
)

// Command is what can be typed at the start of a message: a template, a skill, a
// command of an extension.
type Command struct {
	Name        string // without "/"
	Description string
	Hint        string // what its arguments are, or ""
	Kind        string // "template", "skill", …
}

// Commander lists the commands of a session, those that its policy lets in.
type Commander interface {
	Commands(ctx context.Context, s completion.Scope) ([]Command, error)
}

// Commands offers commands behind a / at the start of a line. They are no tokens:
// the message door expands them.
func Commands(from Commander) completion.Provider { return commands{from} }

type commands struct{ from Commander }

func (commands) ID() string                  { return "command" }
func (commands) Kind() string                { return "command" }
func (commands) Trigger() string             { return "/" }
func (commands) Extract() completion.Extract { return completion.LineStart }

func (p commands) Complete(ctx context.Context, q completion.Query) (completion.Offer, error) {
	all, err := p.from.Commands(ctx, q.Scope)
	if err != nil {
		return completion.Offer{}, err
	}
	var offer completion.Offer
	for _, c := range all {
		score, parts := match(c.Name, q.Text)
		if score == no {
			continue
		}
		for i := range parts { // the label has the slash before the name
			parts[i][0]++
			parts[i][1]++
		}
		detail := clean(c.Description, 200)
		if c.Hint != "" {
			detail = clean(c.Hint, 80) + " · " + detail
		}
		offer.Items = append(offer.Items, completion.Item{
			Kind: c.Kind, ID: c.Name, Label: "/" + c.Name, Detail: detail, InsertText: "/" + c.Name, Score: float64(score), Matches: parts,
		})
	}
	return offer, nil
}

func (commands) Resolve(context.Context, completion.Ref) (completion.Resolution, bool, error) {
	return completion.Resolution{}, false, nil
}
