package server

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/piweb-go/piweb/session"
)

// stopping runs a world's server and returns what stops it and waits.
func stopping(t *testing.T, w *world) (stop func(), wait func()) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- w.server.Serve(ctx, ln) }()
	w.http.URL = "http://" + ln.Addr().String()
	return cancel, func() {
		t.Helper()
		select {
		case err := <-served:
			if err != nil {
				t.Errorf("Serve: %v", err)
			}
		case <-time.After(patience):
			t.Fatal("Serve does not end")
		}
	}
}

// TestStopKeepsEverything: a turn that runs is aborted, its stream gets the end of
// the turn and then the reason, what was said up to then is in the file as a whole
// line, and whoever opens it again goes on.
func TestStopKeepsEverything(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	stop, wait := stopping(t, w)
	id := w.create(`[]`)
	path := w.do(200, "GET", "/api/sessions/"+id+"/state").str("state", "sessionFile")
	tb := w.open(id, "", "")
	other := w.open(w.create(`[]`), "", "")
	w.say(id, "for ever")
	seen := said(tb.wait("some words", func(f []frame) bool { return count(f, "text-delta") > 3 }))
	stop()
	<-tb.done
	<-other.done
	wait()
	frames := tb.all()
	last := frames[len(frames)-1]
	if count(frames, "abort") != 1 || count(frames, "finish") != 0 || last.control() != "error" || last.field("code") != "shutdown" {
		t.Errorf("the stream ends with %v", frames[max(0, len(frames)-6):])
	}
	if f := other.all(); f[len(f)-1].field("code") != "shutdown" {
		t.Errorf("an idle stream ends with %v", f[len(f)-1])
	}
	if err := w.rt.Close(); err != nil {
		t.Error(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(string(data), "\n") {
		t.Error("the file ends in half a line")
	}
	for line := range strings.Lines(string(data)) {
		if !json.Valid([]byte(line)) {
			t.Errorf("a line is no JSON: %s", line)
		}
	}
	log, err := session.Open(path, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	c, err := log.Context()
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(c.Messages[len(c.Messages)-1])
	if !strings.Contains(string(text), "aborted") || !strings.Contains(string(text), strings.TrimSpace(seen)[:10]) {
		t.Errorf("of %q the file keeps %s", seen, text)
	}
}

// TestStopWaitsForTurns: within the grace a turn ends by itself, nothing new is
// taken meanwhile, and whoever looks is told that the program is ending.
func TestStopWaitsForTurns(t *testing.T) {
	w := newWorld(t, slowTalk(t), func(c *Config) { c.Grace = time.Minute })
	stop, wait := stopping(t, w)
	id := w.create(`[]`)
	tb := w.open(id, "", "")
	w.say(id, "hello")
	tb.wait("the turn runs", func(f []frame) bool { return count(f, "start") == 1 })
	stop()
	w.until("the server is ending", func() bool { return w.server.draining.Load() })
	<-tb.done
	wait()
	frames := tb.all()
	if count(frames, "finish") != 1 || count(frames, "abort") != 0 || frames[len(frames)-1].field("code") != "shutdown" {
		t.Errorf("the stream ends with %v", chunks(frames))
	}
}

// TestStopEndsTheGrace: a turn that does not end within the grace is aborted.
func TestStopEndsTheGrace(t *testing.T) {
	w := newWorld(t, slowTalk(t), func(c *Config) { c.Grace = 300 * time.Millisecond })
	stop, wait := stopping(t, w)
	id := w.create(`[]`)
	tb := w.open(id, "", "")
	w.say(id, "for ever")
	tb.wait("some words", func(f []frame) bool { return count(f, "text-delta") > 3 })
	stop()
	w.until("the server is ending", func() bool { return w.server.draining.Load() })
	// In the grace requests are answered: health says what goes on, sends are refused.
	if a := w.send(w.ask("GET", "/healthz").with("Authorization", "")); a.status != 503 || string(a.body) != "shutting down\n" {
		t.Errorf("health says %d %q", a.status, a.body)
	}
	if a := w.send(w.ask("POST", "/api/sessions", `{"source":""}`)); a.status != 503 || a.code() != "SHUTTING_DOWN" {
		t.Errorf("a new session is %d %s", a.status, a.code())
	}
	<-tb.done
	wait()
	if frames := tb.all(); count(frames, "abort") != 1 {
		t.Errorf("the stream ends with %v", chunks(frames))
	}
}
