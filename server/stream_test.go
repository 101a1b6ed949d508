package server

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/agent/model/offline"
)

// slowTalk answers "count" word by word, so that there is time in its middle, and
// everything else at once.
func slowTalk(t *testing.T) *offline.Script {
	return modeltest.Parse(t, `{"steps":[
		{"match":"count","text":"one two three four five ","textTimes":8,"delayMs":5,"repeat":true},
		{"match":"for ever","text":"and on ","textTimes":5000,"delayMs":5,"repeat":true},
		{"match":"tool","toolCalls":[{"name":"read","arguments":{"path":"go.mod"}}]},
		{"match":"tool","text":"It is example."},
		{"match":"fail","error":{"status":401,"message":"No such key."},"repeat":true},
		{"text":"Good day.","repeat":true}]}`)
}

var plainChunks = []string{"start", "start-step", "text-start", "text-delta Good ", "text-delta day.", "text-end", "finish-step", "finish"}

func TestStreamHeadersAndSticky(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	tb := w.open(w.create(""), "", "")
	for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no",
		"Content-Encoding": "identity", "X-Pi-Protocol-Version": "0.1.0"} {
		if got := tb.res.Header.Get(name); got != want {
			t.Errorf("header %s is %q, want %q", name, got, want)
		}
	}
	frames := tb.wait("sticky controls", func(f []frame) bool { return len(f) >= 3 })
	var got []string
	for _, f := range frames {
		got = append(got, f.String())
	}
	if want := []string{"session-status", "state busy=false", "queue"}; !slices.Equal(got, want) {
		t.Errorf("a new stream begins with %v, want %v", got, want)
	}
	growing(t, frames, 0)
}

func TestStreamTurns(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	id := w.create(`["read"]`)
	tb := w.open(id, "", "")
	w.say(id, "hello")
	frames := tb.ended(1)
	if diff := cmp.Diff(plainChunks, chunks(frames)); diff != "" {
		t.Errorf("chunks (-want +got):\n%s", diff)
	}
	w.say(id, "use the tool") // at once: a finished turn leaves the session ready
	frames = tb.ended(2)
	want := append(slices.Clone(plainChunks), "start", "start-step", "tool-input-available", "tool-output-available", "finish-step",
		"start-step", "text-start", "text-delta It ", "text-delta is ", "text-delta example.", "text-end", "finish-step", "finish")
	if diff := cmp.Diff(want, chunks(frames)); diff != "" {
		t.Errorf("chunks (-want +got):\n%s", diff)
	}
	w.say(id, "please fail")
	frames = tb.ended(3)
	if got := chunks(frames)[len(want):]; !slices.Equal(got, []string{"start", "start-step", "finish-step", "error", "finish"}) {
		t.Errorf("a failed turn is told as %v", got)
	}
	busy := false
	for i, f := range frames {
		if f.control() == "session-state" {
			busy = f.busy()
		}
		if c := f.chunk(); busy == (c == "error" || c == "finish") && c != "" {
			t.Errorf("frame %d: %s while busy=%t", i, c, busy)
		}
	}
	growing(t, frames, 0)
}

func TestTwoTabsGetTheSame(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	id := w.create(`[]`)
	var tabs []*tab
	for range 4 {
		tabs = append(tabs, w.open(id, "", ""))
	}
	w.say(id, "count")
	first := tabs[0].ended(1)
	for _, tb := range tabs[1:] {
		if diff := cmp.Diff(chunks(first), chunks(tb.ended(1))); diff != "" {
			t.Errorf("another tab (-first +other):\n%s", diff)
		}
	}
}

// said puts the text deltas together.
func said(frames []frame) string {
	var b strings.Builder
	for _, f := range frames {
		if f.chunk() == "text-delta" {
			b.WriteString(f.field("delta").(string))
		}
	}
	return b.String()
}

var counted = strings.Repeat("one two three four five ", 8)

func TestLateSubscriberGetsTheRunningTurn(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	id := w.create(`[]`)
	early := w.open(id, "", "")
	w.say(id, "count")
	early.wait("some words", func(f []frame) bool { return count(f, "text-delta") > 5 })
	late := w.open(id, "", "")
	a, b := early.ended(1), late.ended(1)
	if diff := cmp.Diff(chunks(a), chunks(b)); diff != "" {
		t.Errorf("late (-early +late):\n%s", diff)
	}
	if said(b) != counted {
		t.Errorf("late heard %q", said(b))
	}
	if b[1].String() != "state busy=true" {
		t.Errorf("the state that sticks is %s", b[1])
	}
	growing(t, b, 0)
}

// TestPromptBeforeAnyStream: whoever comes first gets the whole turn, whether it
// runs or has ended; nobody gets it again.
func TestPromptBeforeAnyStream(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		wait             bool
	}{{"running", "count", counted, false}, {"ended", "hello", "Good day.", true}} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, slowTalk(t))
			id := w.create(`[]`)
			w.say(id, c.text)
			if c.wait {
				w.idle(id)
			}
			first := w.open(id, "", "").ended(1)
			if said(first) != c.want || count(first, "start") != 1 {
				t.Errorf("the first subscriber heard %q in %v", said(first), chunks(first))
			}
			last := first[len(first)-1].id
			for _, header := range []string{"", strconv.FormatInt(last, 10)} {
				second := w.open(id, "", header)
				w.say(id, "hello")
				frames := second.ended(1)
				if got := chunks(frames); !slices.Equal(got, plainChunks) {
					t.Errorf("the next stream got %v", got)
				}
				growing(t, frames, last*int64(min(len(header), 1)))
				last = frames[len(frames)-1].id
				second.close()
			}
		})
	}
}

// TestReconnectMidTurn: a connection breaks many times in a turn. Nothing is
// lost, nothing comes twice.
func TestReconnectMidTurn(t *testing.T) {
	// What is left of a turn when a connection comes back must still be to come, on a
	// busy machine too: a finished turn is read from the session.
	w := newWorld(t, modeltest.Parse(t, `{"steps":[{"text":"one two three four five ","textTimes":8,"delayMs":60}]}`))
	id := w.create(`[]`)
	tb := w.open(id, "", "")
	w.say(id, "count")
	var got []frame
	for cut := 1; ; cut++ {
		const cuts = 5
		frames := tb.wait("more", func(f []frame) bool { return cut <= cuts && count(f, "text-delta") >= 4 || count(f, "finish") > 0 })
		tb.close()
		frames = tb.all()
		growing(t, frames, 0)
		got = append(got, frames...)
		if count(frames, "finish") > 0 {
			break
		}
		last := frames[len(frames)-1].id
		tb = w.open(id, "", strconv.FormatInt(last, 10))
		if first := tb.wait("a frame", func(f []frame) bool { return len(f) > 0 })[0]; first.id <= last {
			t.Errorf("after %d came %d", last, first.id)
		}
		if cut > 100 {
			t.Fatal("the turn has no end")
		}
	}
	if said(got) != counted || count(got, "start") != 1 || count(got, "text-start") != 1 || count(got, "text-end") != 1 {
		t.Errorf("heard %q in %v", said(got), chunks(got))
	}
}

// TestReconnectAfterTheEnd: of a turn that ended meanwhile nothing comes.
func TestReconnectAfterTheEnd(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	id := w.create(`[]`)
	tb := w.open(id, "", "")
	w.say(id, "count")
	frames := tb.wait("some words", func(f []frame) bool { return count(f, "text-delta") > 3 })
	tb.close()
	w.idle(id)
	again := w.open(id, "", strconv.FormatInt(frames[len(frames)-1].id, 10))
	w.say(id, "hello")
	if got := chunks(again.ended(1)); !slices.Equal(got, plainChunks) {
		t.Errorf("after the end came %v", got)
	}
}

// TestNothingOldAfterAbort is the trap of clients that close at the first
// terminal chunk: the next stream must not begin with leftovers.
func TestNothingOldAfterAbort(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	id := w.create(`[]`)
	tb := w.open(id, "", "")
	w.say(id, "for ever")
	tb.wait("some words", func(f []frame) bool { return count(f, "text-delta") > 3 })
	w.do(200, "POST", "/api/sessions/"+id+"/abort")
	frames := tb.ended(1)
	tb.close()
	got := chunks(frames)
	if count(frames, "abort") != 1 || count(frames, "finish") != 0 || got[len(got)-1] != "abort" {
		t.Errorf("an aborted turn ends with %v", got[max(0, len(got)-4):])
	}
	last := frames[len(frames)-1].id
	next := w.open(id, "", strconv.FormatInt(last, 10))
	w.say(id, "hello")
	frames = next.ended(1)
	if got := chunks(frames); !slices.Equal(got, plainChunks) {
		t.Errorf("the stream after an abort got %v", got)
	}
	growing(t, frames, last)
}

// TestToolsChangeMidSession: the stream goes on over a change that loads all
// anew, and its ids grow. Only who asked for it is told in our own words.
func TestToolsChangeMidSession(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	id := w.create(`["read"]`)
	ours, theirs := w.open(id, "?piweb=1", ""), w.open(id, "", "")
	w.say(id, "hello")
	ours.ended(1)
	for i, body := range []string{`{"tools":[]}`, `{"preset":"read-only"}`} {
		if a := w.do(200, "PUT", "/api/sessions/"+id+"/tools", body); a.json["recreated"] != true || a.json["changed"] != true || a.str("sessionId") != id {
			t.Errorf("change %d is answered by %s", i, a.body)
		}
	}
	w.say(id, "hello again")
	a, b := ours.ended(2), theirs.ended(2)
	if diff := cmp.Diff(chunks(a), chunks(b)); diff != "" {
		t.Errorf("chunks (-ours +theirs):\n%s", diff)
	}
	growing(t, a, 0)
	growing(t, b, 0)
	var kinds []string
	for _, f := range a {
		if f.control() == "policy" {
			kinds = append(kinds, fmt.Sprintf("%v %v %v", f.field("kind"), f.field("recreated"), f.field("tools")))
		}
	}
	if want := []string{"chat-only false []", "chat-only true []", "pinned false [read grep find ls]", "pinned true [read grep find ls]"}; !slices.Equal(kinds, want) {
		t.Errorf("policies told: %v, want %v", kinds, want)
	}
	for _, f := range b {
		if f.control() == "policy" || f.control() == "notice" {
			t.Errorf("%s was told to a client that does not know it", f)
		}
	}
}

// TestStreamBeforeTheSessionIsLive: a stream starts nothing and still gets the
// turn that somebody starts later; after a stop it ends, and the session can be
// used again.
func TestStreamBeforeTheSessionIsLive(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	w.sessionFile("a", "0198-old", "2026-01-01T00:00:00.000Z", "old")
	tb := w.open("0198-old", "", "")
	tb.wait("sticky controls", func(f []frame) bool { return len(f) >= 3 })
	if n := len(w.server.rt.LiveSessions()); n != 0 {
		t.Fatalf("listening started %d sessions", n)
	}
	w.say("0198-old", "hello")
	frames := tb.ended(1)
	if got := chunks(frames); !slices.Equal(got, plainChunks) {
		t.Errorf("chunks %v", got)
	}
	w.do(200, "DELETE", "/api/sessions/0198-old")
	<-tb.done
	frames = tb.all()
	if end := frames[len(frames)-1]; end.control() != "error" || end.field("code") != "stopped" {
		t.Errorf("the last frame is %v", end.data)
	}
	next := w.open("0198-old", "", strconv.FormatInt(frames[len(frames)-1].id, 10))
	w.say("0198-old", "hello")
	again := next.ended(1)
	if got := chunks(again); !slices.Equal(got, plainChunks) {
		t.Errorf("chunks of its next life: %v", got)
	}
	growing(t, again, frames[len(frames)-1].id)
}

func TestStopWhileItRuns(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	id := w.create(`[]`)
	tb := w.open(id, "", "")
	w.say(id, "for ever")
	tb.wait("some words", func(f []frame) bool { return count(f, "text-delta") > 3 })
	w.do(200, "DELETE", "/api/sessions/"+id)
	<-tb.done
	frames := tb.all()
	if count(frames, "abort") != 1 || count(frames, "finish") != 0 {
		t.Errorf("chunks end with %v", chunks(frames))
	}
}

func TestForeignEventIDs(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	id := w.create(`[]`)
	for _, last := range []string{"41", "41abc", "garbage", "-5", "9007199254740991", "99999999999999999999999", strconv.FormatInt(1<<50, 10)} {
		tb := w.open(id, "", last)
		w.say(id, "hello")
		frames := tb.ended(1)
		if got := chunks(frames); !slices.Equal(got, plainChunks) {
			t.Errorf("Last-Event-ID %s: chunks %v", last, got)
		}
		above, _ := strconv.ParseInt(strings.TrimSuffix(last, "abc"), 10, 64)
		if above > 1<<53 {
			above = 0
		}
		growing(t, frames, above)
		tb.close()
	}
}

func TestHeartbeat(t *testing.T) {
	w := newWorld(t, slowTalk(t), func(c *Config) { c.Heartbeat = 5 * time.Millisecond })
	tb := w.open(w.create(""), "", "")
	w.until("three signs of life", func() bool {
		tb.mu.Lock()
		defer tb.mu.Unlock()
		return tb.beats >= 3
	})
}

// TestClientLeaves: a stream that its client left holds nothing.
func TestClientLeaves(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	id := w.create(`[]`)
	for range 20 {
		w.open(id, "", "").close()
	}
	w.until("no stream is left", func() bool { return w.server.streams.Load() == 0 })
	for _, s := range w.server.rt.LiveSessions() {
		f := w.server.feeds.peek(keyOf(s.Log().Path()))
		w.until("nothing follows the session", func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.pump == nil && len(f.readers) == 0
		})
	}
}

func TestTooManyStreams(t *testing.T) {
	w := newWorld(t, slowTalk(t), func(c *Config) { c.MaxStreams = 2 })
	id := w.create(`[]`)
	a := w.open(id, "", "")
	w.open(id, "", "")
	if got := w.do(503, "GET", "/api/sessions/"+id+"/stream"); got.code() != "TOO_MANY_STREAMS" {
		t.Errorf("code %s", got.code())
	}
	a.close()
	w.until("there is room again", func() bool { return w.server.streams.Load() == 1 })
	w.open(id, "", "").wait("sticky controls", func(f []frame) bool { return len(f) >= 3 })
}

// TestStalledReaderIsCut: a client that reads nothing is cut, and the other one
// does not notice.
func TestStalledReaderIsCut(t *testing.T) {
	const line, times = "a word of some length and then another one, ", 200
	script := modeltest.Parse(t, fmt.Sprintf(`{"steps":[{"text":%q,"textTimes":%d}]}`, line, times))
	w := newWorld(t, script, func(c *Config) { c.WriteTimeout = 300 * time.Millisecond })
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	small := httptest.NewUnstartedServer(w.server.Handler())
	small.Listener.Close()
	small.Listener = smallBuffers{ln}
	small.Start()
	defer small.Close()
	id := w.create(`[]`)

	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	fmt.Fprintf(conn, "GET /api/sessions/%s/stream HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", id, ln.Addr(), testToken)
	w.until("the stalled stream is open", func() bool { return w.server.streams.Load() == 1 })
	good := w.open(id, "", "")
	w.say(id, "go")
	frames := good.ended(1)
	if want := strings.Repeat(line, times); said(frames) != want {
		t.Errorf("the good reader heard %d bytes, want %d", len(said(frames)), len(want))
	}
	w.until("the stalled stream is cut", func() bool { return w.server.streams.Load() == 1 })
}

// TestGracefulStop: streams get their last frame, requests are refused, and
// nothing of the server is left.
func TestGracefulStop(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	before := runtime.NumGoroutine()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := newContext(t)
	served := make(chan error, 1)
	go func() { served <- w.server.Serve(ctx, ln) }()
	w.http.URL = "http://" + ln.Addr().String()
	id := w.create(`[]`)
	tb := w.open(id, "", "")
	w.say(id, "for ever")
	tb.wait("some words", func(f []frame) bool { return count(f, "text-delta") > 3 })
	stop()
	select {
	case err := <-served:
		if err != nil {
			t.Errorf("Serve: %v", err)
		}
	case <-time.After(patience):
		t.Fatal("Serve does not end")
	}
	<-tb.done
	frames := tb.all()
	if end := frames[len(frames)-1]; end.control() != "error" || end.field("code") != "shutdown" {
		t.Errorf("the last frame is %v", end.data)
	}
	if err := w.rt.Close(); err != nil {
		t.Error(err)
	}
	w.client.CloseIdleConnections()
	w.until("no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
}

func TestRefusedWhileItEnds(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	id := w.create(`[]`)
	w.server.Close()
	for _, a := range []*ask{
		w.ask("POST", "/api/sessions", `{"source":""}`), w.ask("POST", "/api/sessions/"+id+"/messages", `{"message":"x"}`),
		w.ask("GET", "/api/sessions/"+id+"/stream"),
	} {
		if got := w.send(a); got.status != 503 || got.code() != "SHUTTING_DOWN" {
			t.Errorf("%s %s: %d %s", a.method, a.path, got.status, got.code())
		}
	}
	w.do(200, "GET", "/api/sessions")
}

// TestManyTabsManySessions lets everything happen at once.
func TestManyTabsManySessions(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	var wg sync.WaitGroup
	for range 4 {
		id := w.create(`[]`)
		for range 3 {
			tb := w.open(id, "?piweb=1", "")
			wg.Go(func() {
				for range 5 {
					w.send(w.ask("GET", "/api/sessions"))
				}
				tb.w.until("two turns", func() bool { return count(tb.all(), "finish") >= 2 })
			})
		}
		wg.Go(func() {
			for turn := range 2 {
				w.until("the prompt is taken", func() bool {
					return w.send(w.ask("POST", "/api/sessions/"+id+"/messages", `{"message":"hello"}`)).status == http.StatusOK
				})
				_ = turn
			}
		})
	}
	wg.Wait()
}
