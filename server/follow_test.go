package server

import (
	"os"
	"testing"

	"github.com/piweb-go/piweb/session"
)

// otherProgram appends to a file as a program without locks does.
func otherProgram(t *testing.T, path, line string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(line + "\n"); err != nil {
		t.Fatal(err)
	}
}

const theirs = `{"type":"message","id":"0000000c","parentId":"0000000b","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"from elsewhere","timestamp":1}}`

// histories counts what tells a page to read the messages again.
func histories(frames []frame) (n int) {
	for _, f := range frames {
		if f.control() == "history" {
			n++
		}
	}
	return n
}

// TestFollowersSeeOthers: what another program appends is told to every page of
// ours, whether the session is live here or not, and our own turns are not.
func TestFollowersSeeOthers(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	path := w.sessionFile("--p--", "followed", "2026-01-01T00:00:00.000Z", "hello")
	tabs := []*tab{w.open("followed", "?piweb=1", ""), w.open("followed", "?piweb=1", ""), w.open("followed", "", "")}
	told := func(what string, want [3]int) {
		t.Helper()
		w.until(what, func() bool {
			for i, tb := range tabs {
				if histories(tb.all()) < want[i] {
					return false
				}
			}
			return true
		})
		for i, tb := range tabs {
			if n := histories(tb.all()); n > want[i] {
				t.Errorf("%s: page %d was told %d times, want %d", what, i, n, want[i])
			}
		}
	}
	w.until("the file is looked at", func() bool {
		f := w.server.feeds.peek(keyOf(path))
		if f == nil {
			return false
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.fileSize > 0
	})
	otherProgram(t, path, theirs)
	told("not live", [3]int{1, 1, 0})

	w.say("followed", "hello again")
	tabs[0].ended(1)
	w.idle("followed")
	live, ok := w.rt.Live(path)
	if !ok {
		t.Fatal("it is not live")
	}
	w.until("the live session is looked at", func() bool {
		f := w.server.feeds.peek(keyOf(path))
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.fileSize < 0
	})
	told("our own turn", [3]int{1, 1, 0})

	leaf := live.Log().Leaf()
	otherProgram(t, path, `{"type":"message","id":"0000000d","parentId":"`+string(leaf)+`","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"and again","timestamp":1}}`)
	told("live", [3]int{2, 2, 0})
	if live.Log().Leaf() != session.ID("0000000d") {
		t.Errorf("the leaf is %s", live.Log().Leaf())
	}
}
