package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What the existing client understands. Anything else is an error to it.
var (
	clientControls = []string{"session-status", "session-state", "state", "queue", "logs", "extension-ui", "ui-rpc", "attachment", "settings-changed", "error", "stats"}
	clientChunks   = []string{"start", "start-step", "text-start", "text-delta", "text-end", "reasoning-start", "reasoning-delta", "reasoning-end", "tool-input-available",
		"tool-output-available", "tool-output-error", "data-pi-ui", "data-pi-queue", "data-pi-compaction", "data-pi-auto-retry", "finish-step", "finish", "abort", "error"}
)

// clientTurn is a turn as the client does it: it opens a stream with the last id that
// it saw, waits for the headers, sends, reads to the first finish or abort, and hangs
// up. It returns the frames.
func (w *world) clientTurn(id, text, last string) []frame {
	w.t.Helper()
	tb := w.open(id, "", last)
	w.say(id, text)
	frames := tb.ended(1)
	tb.close()
	end := slices.IndexFunc(frames, func(f frame) bool { return f.chunk() == "finish" || f.chunk() == "abort" })
	return frames[:end+1]
}

// clientReads holds frames against what the client accepts.
func clientReads(t *testing.T, frames []frame) {
	t.Helper()
	open := map[string]bool{}
	calls := map[any]bool{}
	busy := false
	for _, f := range frames {
		if f.data["protocolVersion"] != "0.1.0" || f.data["kind"] != f.kind {
			t.Errorf("a frame is %v", f.data)
		}
		switch {
		case f.kind == "control" && !slices.Contains(clientControls, f.control()):
			t.Errorf("the client does not know the control %q", f.control())
		case f.kind != "control" && !slices.Contains(clientChunks, f.chunk()):
			t.Errorf("the client does not know the chunk %q", f.chunk())
		}
		part, _ := f.field("id").(string)
		switch f.chunk() {
		case "text-start", "reasoning-start":
			open[part] = true
		case "text-delta", "text-end", "reasoning-delta", "reasoning-end":
			if !open[part] {
				t.Errorf("the part %s grows before it begins", part)
			}
		case "tool-input-available":
			calls[f.field("toolCallId")] = true
		case "tool-output-available", "tool-output-error":
			if !calls[f.field("toolCallId")] {
				t.Errorf("a result without its call: %v", f.data)
			}
		case "finish", "abort":
			if busy {
				t.Error("the turn ends before busy is false")
			}
		}
		if f.control() == "session-state" {
			busy = f.busy()
		}
	}
}

// TestClientsDay is what the existing client does in a day, request by request.
func TestClientsDay(t *testing.T) {
	w := newWorld(t, slowTalk(t), func(c *Config) { c.DefaultSource = "project" })
	if b := w.do(200, "GET", "/api/bootstrap"); b.str("defaultSource") != "project" || b.str("defaultCwd") == "" {
		t.Errorf("bootstrap: %s", b.body)
	}
	id := w.do(201, "POST", "/api/sessions", `{"source":"`+w.project+`"}`).str("sessionId")
	base := "/api/sessions/" + id
	w.do(200, "GET", base+"/completion/triggers")
	w.do(200, "GET", base+"/commands")
	w.do(200, "GET", base+"/models")
	w.do(200, "GET", base+"/messages")

	// While idle it keeps a stream for controls alone.
	idle := w.open(id, "", "")
	first := idle.wait("it is ready", func(frames []frame) bool { return len(frames) >= 3 })
	if first[0].control() != "session-status" || first[0].field("state") != "ready" || first[1].control() != "session-state" || first[1].busy() {
		t.Errorf("the composer stays off: %v", first)
	}
	idle.close()

	one := w.clientTurn(id, "hello", "")
	clientReads(t, one)
	two := w.clientTurn(id, "hello", fmt.Sprint(one[len(one)-1].id))
	clientReads(t, two)
	growing(t, two, one[len(one)-1].id)
	if got := chunks(two); got[0] != "start" || count(two, "start") != 1 {
		t.Errorf("the second turn is %v", got)
	}

	// Stop, then another turn on a new stream: nothing of the stopped one comes.
	tb := w.open(id, "", fmt.Sprint(two[len(two)-1].id))
	w.say(id, "for ever")
	tb.wait("it answers", func(frames []frame) bool { return count(frames, "text-delta") > 0 })
	w.do(200, "POST", base+"/steer", `{"message":"wait"}`)
	w.do(200, "POST", base+"/clear_queue")
	w.do(200, "POST", base+"/abort")
	stopped := tb.ended(1)
	clientReads(t, stopped)
	if count(stopped, "abort") != 1 || count(stopped, "finish") != 0 {
		t.Errorf("stopped: %v", chunks(stopped))
	}
	tb.close()
	w.idle(id)
	after := w.clientTurn(id, "hello", fmt.Sprint(stopped[len(stopped)-1].id))
	clientReads(t, after)
	if got := chunks(after); got[0] != "start" || count(after, "abort") != 0 {
		t.Errorf("after the stop: %v", got)
	}

	// The list, a name, a mark, a model, a level.
	w.do(200, "POST", "/api/sessions/rename", `{"sessionId":"`+id+`","name":"Day"}`)
	w.do(200, "POST", "/api/sessions/favorites", `{"sessionIds":["`+id+`"]}`)
	if items := w.do(200, "GET", "/api/sessions?limit=20&q=day").items(); len(items) != 1 || items[0]["sessionId"] != id {
		t.Errorf("the list: %v", items)
	}
	w.do(200, "POST", base+"/models", `{"provider":"rec","modelId":"m2"}`)
	w.do(200, "GET", base+"/stats")

	// Write the first message anew: the same session goes on in front of it.
	list, _ := w.do(200, "GET", base+"/fork-messages").json["messages"].([]any)
	at, _ := list[0].(map[string]any)
	entry, _ := json.Marshal(map[string]any{"entryId": at["entryId"]})
	if fork := w.do(200, "POST", base+"/fork", string(entry)); fork.str("text") != "hello" || fork.json["cancelled"] != false {
		t.Errorf("fork: %s", fork.body)
	}
	if got, _ := w.do(200, "GET", base+"/messages").json["messages"].([]any); len(got) != 0 {
		t.Errorf("after the fork %d messages are shown", len(got))
	}
	clientReads(t, w.clientTurn(id, "hello", ""))
	if got, _ := w.do(200, "GET", base+"/messages").json["messages"].([]any); len(got) != 2 {
		t.Errorf("after the new turn %d messages are shown", len(got))
	}

	// Away, and back on another day.
	w.do(200, "DELETE", base)
	if again := w.do(201, "POST", "/api/sessions", `{"source":"`+w.project+`","resumeId":"`+id+`"}`); again.str("sessionId") != id {
		t.Errorf("resumed as %s", again.body)
	}
	if got := string(w.do(200, "GET", base+"/messages").body); strings.Count(got, `"role":"user"`) != 1 {
		t.Errorf("resumed with %s", got)
	}
	w.do(200, "POST", "/api/sessions/delete", `{"sessionId":"`+id+`"}`)
	w.do(404, "GET", base+"/messages")
}
