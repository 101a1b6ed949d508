package server

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/agent/tool"
)

// askFirst asks about calls that name a secret.
func askFirst(_ context.Context, c *tool.Call) agent.Verdict {
	if bytes.Contains(c.Arguments, []byte("secret")) {
		return agent.Verdict{Decision: agent.Ask, Reason: "it is a secret"}
	}
	return agent.Verdict{}
}

func TestQueueRoutes(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	id := w.create("")
	tb := w.open(id, "", "")
	at := "/api/sessions/" + id
	if a := w.do(200, "POST", at+"/clear_queue"); a.str("steering") != "" || !strings.Contains(string(a.body), `"steering":[],"followUp":[]`) {
		t.Errorf("nothing waits: %s", a.body)
	}
	w.say(id, "for ever")
	tb.wait("text", func(f []frame) bool { return count(f, "text-delta") > 0 })
	if a := w.do(409, "POST", at+"/messages", `{"message":"hello"}`); a.code() != "RUNNING" {
		t.Errorf("a prompt without a behaviour: %s", a.body)
	}
	w.do(200, "POST", at+"/steer", `{"message":"one"}`)
	w.do(200, "POST", at+"/messages", `{"message":"two","streamingBehavior":"steer"}`)
	w.do(200, "POST", at+"/follow_up", `{"message":"three"}`)
	w.do(400, "POST", at+"/steer", `{"message":""}`)
	w.do(400, "POST", at+"/steer", `{}`)
	if a := w.do(200, "GET", at+"/state"); !strings.Contains(string(a.body), `"pendingMessageCount":3`) {
		t.Errorf("state %s", a.body)
	}
	late := w.open(id, "", "")
	late.wait("the queue", func(f []frame) bool {
		return slices.ContainsFunc(f, func(x frame) bool {
			return x.control() == "queue" && fmt.Sprint(x.field("steering"), x.field("followUp")) == "[one two] [three]"
		})
	})
	// One of them is taken back, if it is still the one that is meant.
	w.do(200, "POST", at+"/steer", `{"message":"not this"}`)
	for _, bad := range []string{`{"line":"steering"}`, `{"index":1}`, `{"line":"other","index":1}`, `{"line":"steering","index":-1,"text":"one"}`, `{"line":"steering","index":0.5,"text":"one"}`} {
		w.do(400, "POST", at+"/clear_queue", bad)
	}
	for _, gone := range []string{`{"line":"steering","index":1,"text":"not this"}`, `{"line":"steering","index":3,"text":"not this"}`, `{"line":"followUp","index":2,"text":"not this"}`} {
		if a := w.do(409, "POST", at+"/clear_queue", gone); a.code() != "TAKEN_IN" {
			t.Errorf("%s: %s", gone, a.body)
		}
	}
	if a := w.do(200, "POST", at+"/clear_queue", `{"line":"steering","index":2,"text":"not this"}`); !strings.Contains(string(a.body), `"steering":["not this"],"followUp":[]`) {
		t.Errorf("taken back: %s", a.body)
	}
	if a := w.do(200, "POST", at+"/clear_queue"); !strings.Contains(string(a.body), `"steering":["one","two"],"followUp":["three"]`) {
		t.Errorf("taken back: %s", a.body)
	}
	w.do(200, "POST", at+"/follow_up", `{"message":"at the end"}`)
	w.do(200, "POST", at+"/abort")
	tb.ended(1)
	w.idle(id)
	w.say(id, "hello") // what was left goes in behind it
	frames := tb.ended(2)
	if n := count(frames, "data-pi-queue"); n < 5 {
		t.Errorf("%d queue chunks: %v", n, chunks(frames))
	}
	w.idle(id)
	if a := w.do(200, "GET", at+"/messages"); !strings.Contains(string(a.body), "at the end") {
		t.Errorf("messages %s", a.body)
	}
}

// TestAskOverReconnects: a question is there for whoever comes while it is open,
// for nobody after, and any client may answer it.
func TestAskOverReconnects(t *testing.T) {
	w := newWorld(t, modeltest.Parse(t, `{"steps":[
		{"match":"look","toolCalls":[{"name":"read","arguments":{"path":"secret.txt"}}]},
		{"match":"look","text":"done"}]}`))
	w.put("project/secret.txt", "the secret")
	id := w.create(`["read"]`)
	at := "/api/sessions/" + id
	first := w.open(id, "", "")
	w.say(id, "look")
	var ask string
	isAsk := func(f frame) bool { return f.control() == "extension-ui" }
	seen := func(tb *tab) string {
		frames := tb.wait("a question", func(f []frame) bool { return slices.ContainsFunc(f, isAsk) })
		for _, f := range frames {
			if isAsk(f) {
				req, _ := f.field("request").(map[string]any)
				id, _ := req["id"].(string)
				return id
			}
		}
		return ""
	}
	ask = seen(first)
	first.close()
	second := w.open(id, "?piweb=1", "")
	if again := seen(second); again != ask || ask == "" {
		t.Errorf("the question is %q for the first, %q for the second", ask, again)
	}
	if list := w.do(200, "GET", "/api/sessions").items(); list[0]["activity"] != "awaiting-input" {
		t.Errorf("activity %v", list[0]["activity"])
	}
	if a := w.do(200, "GET", at+"/state"); !strings.Contains(string(a.body), ask) {
		t.Errorf("state %s", a.body)
	}
	w.do(409, "POST", at+"/ui-response", `{"type":"extension_ui_response","id":"none","confirmed":true}`)
	w.do(400, "POST", at+"/ui-response", `{"type":"other","id":"x","confirmed":true}`)
	w.do(200, "POST", at+"/ui-response", `{"type":"extension_ui_response","id":"`+ask+`","confirmed":true}`)
	if a := w.do(409, "POST", at+"/ui-response", `{"type":"extension_ui_response","id":"`+ask+`","cancelled":true}`); a.code() != "UNKNOWN_EXTENSION_UI" {
		t.Errorf("a second answer: %s", a.body)
	}
	frames := second.ended(1)
	if count(frames, "tool-output-available") != 1 || !slices.ContainsFunc(frames, func(f frame) bool { return f.control() == "ask-answered" }) {
		t.Errorf("chunks %v", chunks(frames))
	}
	third := w.open(id, "", "")
	for _, f := range third.wait("sticky controls", func(f []frame) bool { return len(f) >= 3 }) {
		if isAsk(f) {
			t.Error("an answered question is asked again")
		}
	}
}

// TestRetryIsOneTurn: a client sees one turn with one end, and hears of the wait.
func TestRetryIsOneTurn(t *testing.T) {
	w := newWorld(t, modeltest.Parse(t, `{"steps":[
		{"match":"hi","error":{"status":429,"message":"slow down","retryAfter":"0"}},
		{"match":"hi","text":"well"}]}`))
	id := w.create("")
	tb := w.open(id, "", "")
	w.say(id, "hi")
	want := []string{"start", "start-step", "finish-step", "data-pi-auto-retry", "start-step", "data-pi-auto-retry", "text-start", "text-delta well", "text-end", "finish-step", "finish"}
	got := chunks(tb.ended(1))
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Errorf("chunks %v", got)
	}
}
