package piweb_test

import (
	"fmt"
	"testing"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent/model/anthropic"
	"github.com/piweb-go/piweb/agent/model/google"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/agent/model/openai"
	"github.com/piweb-go/piweb/toolselect"
)

// TestHeadOfQueuedMessages: what is said while a Chat Only run is on, and what is
// said after the session goes over to another provider's wire, is sent under the
// same exact head, and speaks of no tools.
func TestHeadOfQueuedMessages(t *testing.T) {
	w := newWorld(t, modeltest.Parse(t, `{"steps":[{"match":"slowly","delayMs":100,"text":"one two three four"},{"repeat":true,"text":"ok"}]}`))
	provider := func(api string) string {
		return fmt.Sprintf(`{"baseUrl":%q,"api":%q,"apiKey":"k","models":[{"id":"m1"}]}`, w.provider.URL, api)
	}
	w.put(".pi/agent/models.json", fmt.Sprintf(`{"providers":{"rec":%s,"second":%s,"third":%s}}`, provider(openai.API), provider(anthropic.API), provider(google.API)))
	w.rt = w.runtime(func(c *piweb.Config) { c.Providers = protocols() })
	s := w.create("read")
	w.choose(s, toolselect.ChatOnly())
	for i, model := range []string{"rec/m1", "second/m1", "third/m1", "rec/m1"} {
		if i > 0 {
			if _, err := s.SetModel(t.Context(), model, ""); err != nil {
				t.Fatal(err)
			}
		}
		from := w.provider.Count()
		turn, err := s.Prompt(t.Context(), piweb.Input{Text: "slowly"})
		if err != nil {
			t.Fatal(err)
		}
		for _, put := range []func() (*piweb.Turn, error){
			func() (*piweb.Turn, error) { return s.Steer(t.Context(), piweb.Input{Text: "left"}) },
			func() (*piweb.Turn, error) { return s.FollowUp(t.Context(), piweb.Input{Text: "and then"}) },
		} {
			if late, err := put(); err != nil {
				t.Fatal(err)
			} else if late != nil { // the run was over already
				turn = late
			}
		}
		if err := turn.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		sent := w.provider.Requests()[from:]
		if len(sent) < 2 {
			t.Errorf("%s: %d requests", model, len(sent))
		}
		for _, r := range sent {
			got := modeltest.SentOf(r)
			if len(got.Heads) != 1 || string(got.Heads[0]) != chatHead || got.HasTools {
				t.Errorf("%s, request %d: heads %q, tools %v", model, r.N, texts(got.Heads), got.Tools)
			}
		}
	}
	w.checkReceipts(s)
}
