package server

import (
	"strings"
	"sync"
	"testing"

	"github.com/piweb-go/piweb/session"
)

// TestSentAgain: a message that is sent again under its id, because an answer got
// lost, is there once: while its turn runs, while it waits, from several senders in
// one moment, and when the session was closed and opened in between.
func TestSentAgain(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	id := w.create("")
	tb := w.open(id, "", "")
	at := "/api/sessions/" + id
	times := func(what string) int {
		t.Helper()
		return strings.Count(string(w.do(200, "GET", at+"/messages").body), what)
	}
	first := `{"message":"for ever","entryId":"00112233aabbccdd"}`
	var senders sync.WaitGroup
	for range 4 {
		senders.Go(func() {
			if a := w.send(w.ask("POST", at+"/messages", first)); a.status != 200 {
				t.Errorf("one of several senders: %d %s", a.status, a.body)
			}
		})
	}
	senders.Wait()
	tb.wait("text", func(f []frame) bool { return count(f, "text-delta") > 0 })
	w.do(200, "POST", at+"/messages", first)
	if n := times("for ever"); n != 1 {
		t.Errorf("the message is there %d times", n)
	}
	if !strings.Contains(string(w.do(200, "GET", at+"/messages").body), `"entryId":"00112233aabbccdd"`) {
		t.Error("its entry has another id")
	}

	// It waits for its place, once; and is one prompt when it was taken.
	for range 2 {
		w.do(200, "POST", at+"/follow_up", `{"message":"later on","entryId":"ffeeddcc00112233"}`)
	}
	w.do(200, "POST", at+"/messages", `{"message":"later on","streamingBehavior":"steer","entryId":"ffeeddcc00112233"}`)
	if a := w.do(200, "GET", at+"/state"); !strings.Contains(string(a.body), `"pendingMessageCount":1`) {
		t.Errorf("what waits: %s", a.body)
	}
	w.do(200, "POST", at+"/abort")
	w.idle(id)
	w.say(id, "hello") // what waited goes in behind it
	tb.ended(2)
	w.idle(id)
	w.do(200, "POST", at+"/messages", `{"message":"later on","entryId":"ffeeddcc00112233"}`)
	if n := times("later on"); n != 1 {
		t.Errorf("the message that waited is there %d times", n)
	}

	// The file knows it, whoever opens it.
	w.do(200, "DELETE", at)
	before := times(`"role":"user"`)
	w.do(200, "POST", at+"/messages", first)
	if a := w.do(200, "GET", at+"/state"); strings.Contains(string(a.body), `"isStreaming":true`) || times(`"role":"user"`) != before {
		t.Errorf("sent again to a session that was closed: %s", a.body)
	}
	w.do(400, "POST", at+"/messages", `{"message":"x","entryId":"../../x"}`)
}

// TestForeignEntryID: an id that another entry has is no prompt that was sent.
func TestForeignEntryID(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	id := w.create("")
	w.say(id, "hello")
	w.idle(id)
	var other session.ID
	for e := range w.rt.LiveSessions()[0].Log().Entries() {
		if e.Role == "assistant" {
			other = e.ID
		}
	}
	if a := w.do(409, "POST", "/api/sessions/"+id+"/messages", `{"message":"x","entryId":"`+string(other)+`"}`); a.code() != "ENTRY_EXISTS" {
		t.Errorf("%s", a.body)
	}
}
