package piweb_test

import (
	"fmt"
	"testing"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent/model/modeltest"
)

// TestCostOfTiers: cost.tiers of models.json count in the answers and in the sums of
// the session's file.
func TestCostOfTiers(t *testing.T) {
	w := newWorld(t, modeltest.Parse(t, `{"steps":[
		{"match":"short","text":"a","usage":{"input":1000,"output":10}},
		{"match":"long","text":"b","usage":{"input":1001,"output":10}}]}`))
	w.put(".pi/agent/models.json", fmt.Sprintf(`{"providers":{"rec":{"baseUrl":%q,"api":"openai-completions","apiKey":"k","models":[{"id":"m1",
		"cost":{"input":1,"output":10,"cacheRead":0,"cacheWrite":0,"tiers":[
			{"inputTokensAbove":1000,"input":2,"output":20,"cacheRead":0,"cacheWrite":0}]}}]}}}`, w.provider.URL))
	w.rt = w.runtime()
	s := w.create("read")
	w.say(s, "short")
	w.say(s, "long")
	u, err := s.Log().Usage()
	if err != nil {
		t.Fatal(err)
	}
	const want = 1000*1 + 10*10 + 1001*2 + 10*20
	if got := u.Total.Cost.Total * 1e6; got < want-1e-6 || got > want+1e-6 {
		t.Errorf("the session costs %v dollars per million, want %v", got, want)
	}
}

// TestCostOfLongCacheWrites: tokens that Anthropic writes for an hour are recorded
// as such, and cost twice the input.
func TestCostOfLongCacheWrites(t *testing.T) {
	w := newWorld(t, modeltest.Parse(t, `{"steps":[{"text":"a","usage":{"input":10,"output":1,"cacheWrite":1000,"cacheWrite1h":600}}]}`))
	w.put(".pi/agent/models.json", fmt.Sprintf(`{"providers":{"rec":{"baseUrl":%q,"api":"anthropic-messages","apiKey":"k","models":[{"id":"m1",
		"cost":{"input":3,"output":15,"cacheRead":0.3,"cacheWrite":3.75},"compat":{"supportsLongCacheRetention":true}}]}}}`, w.provider.URL))
	w.rt = w.runtime(func(c *piweb.Config) { c.Providers = protocols() })
	s := w.create("read")
	w.say(s, "hello")
	u, err := s.Log().Usage()
	if err != nil {
		t.Fatal(err)
	}
	const want = 10*3 + 1*15 + 400*3.75 + 600*6
	if got := u.Total.Cost.Total * 1e6; u.Total.CacheWrite1h != 600 || got < want-1e-6 || got > want+1e-6 {
		t.Errorf("%d tokens for an hour, %v dollars per million in all, want %v", u.Total.CacheWrite1h, got, want)
	}
}
