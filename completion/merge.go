package completion

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"
)

var errBusy = errors.New("too many questions are unanswered")

// ask calls a provider. One that panics has failed, and nothing else.
func ask(ctx context.Context, p Provider, q Query) (offer Offer, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("it panicked: %v", v)
		}
	}()
	return p.Complete(ctx, q)
}

// offered is what one provider answered.
type offered struct {
	provider Provider
	Offer
	missing bool
}

// share is how many items every kind gets before the better ones of others take
// all places.
const share = 5

// merge orders items by the priority of their providers, by score, then by label
// as dictionaries do. Of equal kind and id the first stays. Where there are more
// than limit, the worst go; but a kind keeps its best few, so that many files do
// not hide the one attachment.
func merge(offers []offered, limit int) Answer {
	type ranked struct {
		Item
		priority int
		key      []byte
	}
	var all []ranked
	a := Answer{Items: []Item{}, Groups: []Group{}}
	var keys collate.Buffer
	order := collate.New(language.Und)
	for _, o := range offers {
		if o.missing {
			a.Missing = append(a.Missing, o.provider.ID())
		}
		a.Partial = a.Partial || o.Partial || o.missing
		for _, item := range o.Items {
			item.ProviderID = o.provider.ID()
			if item.Kind == "" {
				item.Kind = o.provider.Kind()
			}
			all = append(all, ranked{item, priorityOf(o.provider), order.KeyFromString(&keys, item.Label)})
		}
	}
	slices.SortStableFunc(all, func(x, y ranked) int {
		switch {
		case x.priority != y.priority:
			return y.priority - x.priority
		case x.Score > y.Score:
			return -1
		case x.Score < y.Score:
			return 1
		}
		return slices.Compare(x.key, y.key)
	})
	type name struct{ kind, id string }
	seen := map[name]bool{}
	all = slices.DeleteFunc(all, func(x ranked) bool {
		n := name{x.Kind, x.ID}
		if seen[n] {
			return true
		}
		seen[n] = true
		return false
	})
	kept := make([]bool, len(all))
	places, ofKind := limit, map[string]int{}
	for i, x := range all { // the share of each kind first
		if ofKind[x.Kind] < share && places > 0 {
			kept[i] = true
			ofKind[x.Kind]++
			places--
		}
	}
	for i := range all {
		if !kept[i] && places > 0 {
			kept[i] = true
			places--
		}
	}
	for i, x := range all {
		if kept[i] {
			a.add(x.Item)
		}
	}
	return a
}

func (a *Answer) add(item Item) {
	a.Items = append(a.Items, item)
	for i := range a.Groups {
		if a.Groups[i].Kind == item.Kind {
			a.Groups[i].Count++
			return
		}
	}
	a.Groups = append(a.Groups, Group{item.Kind, 1})
}
