package agent

import (
	"testing"

	"github.com/piweb-go/piweb/message"
)

// TestPriceOfLongRequests: a tier prices the whole request, by its input with what
// the cache read and wrote (pi 1.6.0, "models.json": cost.tiers).
func TestPriceOfLongRequests(t *testing.T) {
	p := Price{Input: 1, Output: 10, For: func(input int64) Price {
		if input > 1000 {
			return Price{Input: 2, Output: 20, CacheRead: 4, CacheWrite: 8}
		}
		return Price{Input: 1, Output: 10}
	}}
	for _, c := range []struct {
		usage message.Usage
		want  float64 // US dollars per million
	}{
		{message.Usage{Input: 1000, Output: 1}, 1000 + 10},
		{message.Usage{Input: 1001, Output: 1}, 2002 + 20},
		{message.Usage{Input: 1, Output: 1, CacheRead: 500, CacheWrite: 500}, 2 + 20 + 2000 + 4000},
	} {
		if got := priced(c.usage, p).Cost.Total * 1e6; got < c.want-1e-6 || got > c.want+1e-6 {
			t.Errorf("%+v costs %v, want %v", c.usage, got, c.want)
		}
	}
}
