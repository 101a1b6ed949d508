package piweb_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/agent/model/anthropic"
	"github.com/piweb-go/piweb/agent/model/google"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/agent/model/openai"
	"github.com/piweb-go/piweb/toolselect"
)

// protocols are the wires that piweb speaks.
func protocols() model.Registry {
	return model.Registry{
		openai.API: openai.New, openai.ResponsesAPI: openai.NewResponses, anthropic.API: anthropic.New, google.API: google.New,
	}
}

// TestHeadOverEveryProtocol: on every wire the provider gets the head of the
// loadout byte for byte, on the first request, after a 429 and a 500, after a
// tool's result, after a compaction, after a change to Chat Only and back; and no
// request under Chat Only speaks of tools.
func TestHeadOverEveryProtocol(t *testing.T) {
	for api := range protocols() {
		t.Run(api, func(t *testing.T) {
			w := newWorld(t, modeltest.Parse(t, `{"steps":[
				{"match":"first","error":{"status":429,"message":"Slow down."}},
				{"match":"first","error":{"status":500,"message":"Oh no."}},
				{"match":"first","thinking":"I look.","text":"Looking.","toolCalls":[{"name":"read","arguments":{"path":"go.mod"}}],"usage":{"input":5000,"output":9}},
				{"match":"first","text":"It is a module."},
				{"match":"second","text":"Yes."},
				{"match":"third","error":{"status":503,"message":"Later."}},
				{"match":"third","text":"No."},
				{"match":"fourth","text":"Again."},
				{"repeat":true,"text":"A summary of what was said."}]}`))
			w.put(".pi/agent/models.json", fmt.Sprintf(`{"providers":{"rec":{"baseUrl":%q,"api":%q,"apiKey":"k","models":[{"id":"m1"}]}}}`, w.provider.URL, api))
			w.put(".pi/agent/settings.json", `{"defaultProvider":"rec","defaultModel":"m1","retry":{"baseDelayMs":1},"compaction":{"keepRecentTokens":1}}`)
			w.rt = w.runtime(func(c *piweb.Config) { c.Providers = protocols() })
			s := w.create("read", "ls")
			check := func(what string, from int) int {
				t.Helper()
				head, requests := w.head(s), w.provider.Requests()
				if len(requests) == from {
					t.Fatalf("%s: nothing was sent", what)
				}
				for _, r := range requests[from:] {
					sent := modeltest.SentOf(r)
					if len(sent.Heads) != 1 || string(sent.Heads[0]) != head {
						t.Errorf("%s, request %d: %d heads, the first differs from the loadout's:\n%.300q\n%.300q", what, r.N, len(sent.Heads), strings.Join(texts(sent.Heads), "|"), head)
					}
				}
				return len(requests)
			}
			w.say(s, "first")
			n := check("refusals and a tool", 0)
			if n != 4 {
				t.Errorf("%d requests, want 4: two refused, one with a call, one with its result", n)
			}
			w.say(s, "second")
			check("second turn", n)
			c, err := s.Compact(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Result(t.Context()); err != nil {
				t.Fatal(err)
			}
			n = w.provider.Count()
			w.say(s, "third")
			n = check("after the compaction", n)
			w.choose(s, toolselect.ChatOnly())
			w.say(s, "fourth")
			check("Chat Only", n)
			if sent := modeltest.SentOf(w.last()); sent.HasTools {
				t.Error("Chat Only spoke of tools")
			}
		})
	}
}

func texts(list [][]byte) []string {
	out := make([]string, len(list))
	for i, b := range list {
		out[i] = string(b)
	}
	return out
}
