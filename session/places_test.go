package session

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestPlacesAgainstMap: the table says what a map would, whatever is put into it and
// taken out again.
func TestPlacesAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p places
		var entries []Entry
		want := map[ID]int{}
		id := rapid.Custom(func(t *rapid.T) ID {
			return ID([]string{"", "a", "漢", fmt.Sprint(rapid.IntRange(0, 40).Draw(t, "n"))}[rapid.IntRange(0, 3).Draw(t, "which")])
		})
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			switch id := id.Draw(t, "id"); rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				p.remove(entries, id)
				delete(want, id)
			case 1:
				p.reserve(rapid.IntRange(0, 100).Draw(t, "room"))
			default:
				before, ok := want[id]
				if !ok {
					before = -1
				}
				if got := p.put(entries, id, len(entries)); got != before {
					t.Fatalf("%q stood at %d, want %d", id, got, before)
				}
				want[id] = len(entries)
				entries = append(entries, Entry{ID: id})
			}
		}
		if p.n != len(want) {
			t.Fatalf("%d ids, want %d", p.n, len(want))
		}
		for _, id := range append([]ID{"", "a", "漢", "none"}, func() (ids []ID) {
			for i := range 41 {
				ids = append(ids, ID(fmt.Sprint(i)))
			}
			return ids
		}()...) {
			got, ok := p.get(entries, id)
			if place, has := want[id]; ok != has || ok && got != place {
				t.Fatalf("%q: %d, %v; want %d, %v", id, got, ok, place, has)
			}
		}
	})
}
