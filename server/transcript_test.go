package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/agent/model/modeltest"
)

// saidMessage is a message of a page.
type saidMessage struct {
	Role, EntryID, Edited string
}

type saidPage struct {
	Messages    []saidMessage
	From, Total int
	LeafID      string
	Moved       bool
}

func (w *world) transcript(query string) (p saidPage, ids string) {
	w.t.Helper()
	if err := json.Unmarshal(w.do(200, "GET", "/api/sessions/long/transcript"+query).body, &p); err != nil {
		w.t.Fatal(err)
	}
	var list []string
	for _, m := range p.Messages {
		list = append(list, m.EntryID)
	}
	return p, strings.Join(list, " ")
}

// TestTranscript pages through a branch with all that people read of it: what a
// summary stands for, what the model is shown otherwise, calls with their results.
func TestTranscript(t *testing.T) {
	w := newWorld(t, modeltest.Parse(t, `{"steps":[]}`))
	const at = "2026-01-01T00:00:00.000Z"
	parent, lines := "0000000b", []string{}
	add := func(id, rest string) {
		lines = append(lines, fmt.Sprintf(`{"id":%q,"parentId":%q,"timestamp":%q,%s}`, id, parent, at, rest))
		parent = id
	}
	message := func(id, m string) { add(id, `"type":"message","message":`+m) }
	message("q1", `{"role":"user","content":"one","timestamp":1}`)
	message("a1", `{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"ls","arguments":{}},{"type":"toolCall","id":"c2","name":"ls","arguments":{}}],"api":"x","provider":"rec","model":"m1","usage":{},"stopReason":"toolUse","timestamp":1}`)
	message("r1", `{"role":"toolResult","toolCallId":"c1","toolName":"ls","content":[{"type":"text","text":"x"}],"isError":false,"timestamp":1}`)
	message("r2", `{"role":"toolResult","toolCallId":"c2","toolName":"ls","content":[{"type":"text","text":"y"}],"isError":false,"timestamp":1}`)
	message("sys", `{"role":"system","content":"never shown","timestamp":1}`)
	add("edit", `"type":"context_edit","targetId":"q1"`)
	add("sum", `"type":"compaction","summary":"SUMMARY","firstKeptEntryId":"r2","tokensBefore":10`)
	add("note", `"type":"custom_message","customType":"x","content":"a note","display":true`)
	message("q2", `{"role":"user","content":"two","timestamp":1}`)
	w.sessionFile("p", "long", at, "first", lines...)

	const all = "0000000a 0000000b q1 a1 r1 r2 sum note q2"
	p, ids := w.transcript("")
	if ids != all || p.From != 0 || p.Total != 9 || p.LeafID != "q2" || p.Moved {
		t.Errorf("everything: %s %+v", ids, p)
	}
	if i := slices.IndexFunc(p.Messages, func(m saidMessage) bool { return m.Edited != "" }); i != 2 || p.Messages[2].Edited != "removed" {
		t.Errorf("edited: %+v", p.Messages)
	}
	for _, row := range []struct {
		query, ids string
		from       int
		moved      bool
	}{
		{"?limit=3", "sum note q2", 6, false},
		{"?limit=4", "a1 r1 r2 sum note q2", 3, false}, // no result without its call
		{"?limit=2&before=r1", "q1 a1", 2, false},
		{"?limit=1&before=sum", "a1 r1 r2", 3, false},
		{"?before=0000000a", "", 0, false},
		{"?after=note", "q2", 8, false},
		{"?after=q2", "", 9, false},
		{"?after=0000000b&limit=2", "q1 a1", 2, false},
		{"?after=nowhere&limit=1", "q2", 8, true},
		{"?before=sys&limit=1", "q2", 8, true}, // it says nothing to people
	} {
		if p, ids := w.transcript(row.query); ids != row.ids || p.From != row.from || p.Moved != row.moved || p.Total != 9 {
			t.Errorf("%s: %q from %d moved %v of %d", row.query, ids, p.From, p.Moved, p.Total)
		}
	}
	// Page after page from the end gives the same once, in order.
	var back []string
	for before := ""; ; {
		p, _ := w.transcript("?limit=1" + before)
		for _, m := range slices.Backward(p.Messages) {
			back = append(back, m.EntryID)
		}
		if p.From == 0 {
			break
		}
		before = "&before=" + p.Messages[0].EntryID
	}
	slices.Reverse(back)
	if got := strings.Join(back, " "); got != all {
		t.Errorf("page by page: %s", got)
	}
	for _, bad := range []string{"?limit=0", "?limit=x", "?before=a&after=b"} {
		w.do(400, "GET", "/api/sessions/long/transcript"+bad)
	}
	w.do(404, "GET", "/api/sessions/nobody/transcript")
}

// TestTranscriptBytes: a page ends by its size, but never between a call and its
// result; a message that is too large alone comes alone.
func TestTranscriptBytes(t *testing.T) {
	w := newWorld(t, modeltest.Parse(t, `{"steps":[]}`))
	const at = "2026-01-01T00:00:00.000Z"
	big := strings.Repeat("x", 3<<20)
	parent, lines := "0000000b", []string{}
	for _, m := range [][2]string{
		{"q1", `{"role":"user","content":"` + big + `","timestamp":1}`},
		{"a1", `{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"ls","arguments":{}}],"api":"x","provider":"rec","model":"m1","usage":{},"stopReason":"toolUse","timestamp":1}`},
		{"r1", `{"role":"toolResult","toolCallId":"c1","toolName":"ls","content":[{"type":"text","text":"` + big + big + `"}],"isError":false,"timestamp":1}`},
		{"q2", `{"role":"user","content":"` + big + `","timestamp":1}`},
	} {
		lines = append(lines, fmt.Sprintf(`{"type":"message","id":%q,"parentId":%q,"timestamp":%q,"message":%s}`, m[0], parent, at, m[1]))
		parent = m[0]
	}
	w.sessionFile("p", "long", at, "first", lines...)
	for _, row := range []struct {
		query, ids string
		from       int
	}{
		{"", "q2", 5},
		{"?before=q2", "a1 r1", 3},
		{"?before=a1", "0000000a 0000000b q1", 0},
		{"?after=0000000b", "q1 a1", 2},
		{"?after=a1", "r1", 4},
	} {
		if p, ids := w.transcript(row.query); ids != row.ids || p.From != row.from {
			t.Errorf("%s: %q from %d", row.query, ids, p.From)
		}
	}
}
