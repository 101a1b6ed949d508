package completion_test

import (
	"context"
	"fmt"

	"github.com/piweb-go/piweb/completion"
)

// issues offers the issues of a tracker behind a $.
type issues map[string]string

func (issues) ID() string      { return "tracker" }
func (issues) Kind() string    { return "issue" }
func (issues) Trigger() string { return "$" }

func (p issues) Complete(_ context.Context, q completion.Query) (completion.Offer, error) {
	var offer completion.Offer
	for id, title := range p {
		offer.Items = append(offer.Items, completion.Item{ID: id, Label: title, InsertText: completion.Format("$", "issue", id)})
	}
	return offer, nil
}

func (p issues) Resolve(_ context.Context, r completion.Ref) (completion.Resolution, bool, error) {
	title, ok := p[r.ID]
	return completion.Resolution{Text: fmt.Sprintf("issue %s (%s)", r.ID, title), ID: r.ID}, ok, nil
}

// A program adds what its people may name. With piweb as a library the registry is
// Runtime.Completion, and Config.Completion takes providers from the start.
func Example() {
	r := completion.NewRegistry(nil)
	if err := r.Add(issues{"7": "Login fails"}); err != nil {
		fmt.Println(err)
		return
	}
	for _, item := range r.Complete(context.Background(), completion.Query{Trigger: "$", Text: "log"}).Items {
		fmt.Println(item.Label, "→", item.InsertText)
	}
	fmt.Println(r.Resolve(context.Background(), completion.Scope{}, "Please fix $issue:7, not $issue:8.").Text)
	// Output:
	// Login fails → $issue:7
	// Please fix issue 7 (Login fails), not $issue:8.
}
