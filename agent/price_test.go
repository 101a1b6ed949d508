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

// TestPriceOfLongCacheWrites: what the cache keeps for an hour costs twice the input
// to write, by the tier of the request (pi 1.6.0, "Usage and cost").
func TestPriceOfLongCacheWrites(t *testing.T) {
	p := Price{Input: 3, CacheWrite: 3.75, For: func(input int64) Price {
		if input > 1000 {
			return Price{Input: 6, CacheWrite: 7.5}
		}
		return Price{Input: 3, CacheWrite: 3.75}
	}}
	for _, c := range []struct {
		usage message.Usage
		want  float64 // US dollars per million
	}{
		{message.Usage{CacheWrite: 100}, 375},
		{message.Usage{CacheWrite: 100, CacheWrite1h: 100}, 600},
		{message.Usage{CacheWrite: 100, CacheWrite1h: 40}, 60*3.75 + 40*6},
		{message.Usage{CacheWrite: 2000, CacheWrite1h: 2000}, 2000 * 12},
		{message.Usage{CacheWrite: 100, CacheWrite1h: 900}, 600},  // no more than was written
		{message.Usage{CacheWrite: 100, CacheWrite1h: -900}, 375}, // and no less than nothing
	} {
		if got := priced(c.usage, p).Cost.CacheWrite * 1e6; got < c.want-1e-6 || got > c.want+1e-6 {
			t.Errorf("%+v costs %v to write, want %v", c.usage, got, c.want)
		}
	}
}
