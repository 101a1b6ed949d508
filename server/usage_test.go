package server

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/agent/model/modeltest"
)

func TestUsageAndCompaction(t *testing.T) {
	w := newWorld(t, modeltest.Parse(t, `{"steps":[
		{"match":"sum up","text":"never"},
		{"match":"<conversation>","text":"A SUMMARY","usage":{"input":40,"output":4},"repeat":true},
		{"text":"a long answer ","textTimes":20,"usage":{"input":100,"output":10},"repeat":true}]}`))
	w.put(".pi/agent/settings.json", `{"defaultProvider":"rec","defaultModel":"m1","compaction":{"keepRecentTokens":20}}`)
	id := w.create(`[]`)
	at := "/api/sessions/" + id
	if a := w.do(409, "POST", at+"/compact"); a.code() != "NOTHING_TO_COMPACT" {
		t.Errorf("an empty session: %s", a.body)
	}
	tb := w.open(id, "", "")
	w.say(id, "one")
	tb.ended(2)
	w.idle(id)
	first := w.do(200, "GET", at+"/stats")
	if got := string(first.body); !strings.Contains(got, `"userMessages":1`) || !strings.Contains(got, `"total":110`) {
		t.Errorf("stats %s", got)
	}
	w.say(id, "two")
	tb.ended(3)
	w.idle(id)
	a := w.do(200, "POST", at+"/compact", `{"customInstructions":"mind the sea"}`)
	if !strings.HasPrefix(a.str("summary"), "A SUMMARY") || a.str("firstKeptEntryId") == "" {
		t.Errorf("answer %s", a.body)
	}
	frames := tb.ended(4)
	if count(frames, "data-pi-compaction") != 4 {
		t.Errorf("chunks %v", chunks(frames))
	}
	if got := string(w.do(200, "GET", at+"/usage").body); !strings.Contains(got, `"kind":"compaction"`) || !strings.Contains(got, `"input":280`) {
		t.Errorf("usage %s", got)
	}
	if got := string(w.do(200, "GET", at+"/usage?entries=false").body); !strings.Contains(got, `"entries":[]`) || !strings.Contains(got, `"input":280`) {
		t.Errorf("usage without entries %s", got)
	}
	w.say(id, "three")
	tb.ended(5)
	w.idle(id)
	last, _ := w.provider.Last()
	if head, ok := modeltest.Head(last.Body); !ok || string(head) != "PROJECT TEXT\n" {
		t.Errorf("the head after a summary is %q", head)
	}
	var entry string
	var got struct {
		Messages []struct{ Role, EntryID string }
	}
	if err := json.Unmarshal(w.do(200, "GET", at+"/messages").body, &got); err != nil {
		t.Fatal(err)
	}
	for _, m := range got.Messages {
		if m.Role == "user" {
			entry = m.EntryID
		}
	}
	if a := w.do(200, "POST", at+"/navigate", `{"entryId":"`+entry+`"}`); a.str("text") != "three" || a.str("leafId") == "" {
		t.Errorf("navigate: %s", a.body)
	}
	if a := w.do(404, "POST", at+"/navigate", `{"entryId":"nowhere"}`); a.code() != "ENTRY_NOT_FOUND" {
		t.Errorf("navigate: %s", a.body)
	}
}
