package server

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/server/wire"
)

// TestExport: each format as a file with the session's name, and what holds it
// back.
func TestExport(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	const at = "2026-01-02T03:04:05.000Z"
	named := `{"type":"session_info","id":"0000000d","parentId":"0000000b","timestamp":"` + at + `","name":"A/B 漢字"}`
	w.sessionFile("a", "talk", at, "about whales", named)
	for format, want := range map[string]string{"jsonl": `"type":"session"`, "md": "about whales", "html": "<!doctype html>", "": `"type":"session"`} {
		a := w.do(200, "GET", "/api/sessions/talk/export?format="+format)
		if format == "" {
			format = "jsonl"
			a = w.do(200, "GET", "/api/sessions/talk/export")
		}
		if !strings.Contains(strings.ToLower(string(a.body)), want) || a.header.Get("Content-Length") != fmt.Sprint(len(a.body)) {
			t.Errorf("%s: %s", format, a.body)
		}
		if got := a.header.Get("Content-Disposition"); !strings.HasPrefix(got, "attachment; filename*=utf-8''A_B%20") || !strings.HasSuffix(got, "."+format) {
			t.Errorf("%s is saved as %s", format, got)
		}
		if head := w.do(200, "HEAD", "/api/sessions/talk/export?format="+format); len(head.body) > 0 {
			t.Errorf("HEAD %s has a body", format)
		}
	}
	for query, field := range map[string]string{"format=pdf": "format", "redact=maybe": "redact", "format=md&all=1": "all", "all=1&entry=0000000a": "all"} {
		if a := w.do(400, "GET", "/api/sessions/talk/export?"+query); !strings.Contains(string(a.body), `"fields":["`+field+`"]`) {
			t.Errorf("%s: %s", query, a.body)
		}
	}
	w.do(404, "GET", "/api/sessions/talk/export?entry=ffffffff")
	w.do(404, "GET", "/api/sessions/none/export")
	if a := w.do(409, "GET", "/api/sessions/"+w.create("")+"/export"); a.code() != "NOTHING_TO_EXPORT" {
		t.Errorf("a session without messages: %s", a.body)
	}

	const secret = "q7Zk2Lw9Xv4Rt8Bn3Ms6Pd1Hj5Gf0Yc" // random, and explained by no rule
	w.sessionFile("a", "doubtful", at, "it is "+secret)
	if a := w.do(409, "GET", "/api/sessions/doubtful/export?format=html"); a.code() != "DOUBTS" || strings.Contains(string(a.body), secret) {
		t.Errorf("a doubt: %s", a.body)
	}
	report := w.do(200, "GET", "/api/sessions/doubtful/export?format=html&report=1")
	if !strings.Contains(string(report.body), `"doubt":true`) || strings.Contains(string(report.body), secret) {
		t.Errorf("the report: %s", report.body)
	}
	if a := w.do(200, "GET", "/api/sessions/doubtful/export?format=html&redact=strict"); strings.Contains(string(a.body), secret) {
		t.Error("strict leaves the doubt in")
	}
	if a := w.do(200, "GET", "/api/sessions/doubtful/export?format=html&force=1"); !strings.Contains(string(a.body), secret) {
		t.Error("force takes the doubt out")
	}
}

// TestDoctorOverHTTP: what is wrong with a file, a repaired copy beside it, and a
// look at all files.
func TestDoctorOverHTTP(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	const at = "2026-01-02T03:04:05.000Z"
	w.sessionFile("a", "sound", at, "one")
	torn := w.sessionFile("a", "torn", at, "two", `{"type":"message","id":"0000000d","par`)
	before, err := os.ReadFile(torn)
	if err != nil {
		t.Fatal(err)
	}
	if a := w.do(200, "GET", "/api/sessions/sound/doctor"); a.json["loses"] != false || a.json["opens"] != true {
		t.Errorf("a sound file: %s", a.body)
	}
	if a := w.do(200, "GET", "/api/sessions/torn/doctor"); len(a.json["findings"].([]any)) == 0 {
		t.Errorf("a torn file: %s", a.body)
	}
	a := w.do(201, "POST", "/api/sessions/torn/repair")
	if after, _ := os.ReadFile(torn); !bytes.Equal(before, after) {
		t.Error("the file itself was changed")
	}
	copied := a.str("sessionId")
	if fixed := w.do(200, "GET", "/api/sessions/"+copied+"/doctor"); fixed.json["loses"] != false || filepath.Base(fixed.str("path")) != "torn.repaired.jsonl" {
		t.Errorf("the copy: %s", fixed.body)
	}
	if again := w.do(409, "POST", "/api/sessions/"+distinguished("torn", keyOf(torn))+"/repair"); again.code() != "EXISTS" {
		t.Errorf("again: %s", again.body)
	}
	if sound := w.do(200, "POST", "/api/sessions/sound/repair"); sound.str("path") != "" {
		t.Errorf("nothing to repair: %s", sound.body)
	}
	all := w.do(200, "GET", "/api/doctor")
	if all.json["files"] != 3.0 || all.json["checked"] != 3.0 || !strings.Contains(string(all.body), torn) {
		t.Errorf("all: %s", all.body)
	}
	fresh := w.create("")
	w.do(409, "GET", "/api/sessions/"+fresh+"/doctor")
	w.do(409, "POST", "/api/sessions/"+fresh+"/repair")
}

// TestCollectOverHTTP: a look removes nothing, and a first collection only notes.
func TestCollectOverHTTP(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	w.sessionFile("a", "one", "2026-01-02T03:04:05.000Z", "one")
	lost := w.put(".pi/agent/sessions/a/2026-01-02T03-04-05-000Z_gone/0.bash.log", "an output that no session has")
	for _, method := range []string{"GET", "POST"} {
		a := w.do(200, method, "/api/gc")
		if a.json["removed"] != 0.0 || !strings.Contains(string(a.body), filepath.Dir(lost)) && !strings.Contains(string(a.body), "gone") {
			t.Errorf("%s: %s", method, a.body)
		}
	}
	if _, err := os.Stat(lost); err != nil {
		t.Error("it went at first sight")
	}
	for _, hours := range []string{"0", "-1", "1e9", `"x"`, "null"} {
		if a := w.do(400, "POST", "/api/gc", `{"graceHours":`+hours+`}`); a.code() != "VALIDATION_FAILED" {
			t.Errorf("%s hours: %s", hours, a.body)
		}
	}
}

// TestManageSwitchedOff: deleting, renaming and marking are refused, reading is not.
func TestManageSwitchedOff(t *testing.T) {
	w := newWorld(t, slowTalk(t), func(c *Config) { c.NoManage = true })
	w.sessionFile("a", "one", "2026-01-02T03:04:05.000Z", "one")
	for path, body := range map[string]string{"sessions/delete": `{"sessionId":"one"}`, "sessions/rename": `{"sessionId":"one","name":"x"}`,
		"sessions/favorites": `{"sessionIds":[]}`, "trash/restore": `{"sessionId":"one"}`, "gc": `{}`} {
		if a := w.do(403, "POST", "/api/"+path, body); a.code() != "SESSIONS_MANAGE_DISABLED" {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	w.do(200, "GET", "/api/sessions/favorites")
	if a := w.do(200, "GET", "/api/bootstrap"); !strings.Contains(string(a.body), `"sessionsManage":false`) {
		t.Errorf("the page is not told: %s", a.body)
	}
}

// TestDeleteRunning: a session that answers is not deleted; one that is deleted
// tells its readers.
func TestDeleteRunning(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	id := w.create(`["read"]`)
	tb := w.open(id, "", "")
	w.say(id, "for ever")
	if a := w.do(409, "POST", "/api/sessions/delete", `{"sessionId":"`+id+`"}`); a.code() != "RUNNING" {
		t.Errorf("while it runs: %s", a.body)
	}
	w.do(200, "POST", "/api/sessions/"+id+"/abort")
	w.idle(id)
	w.do(200, "POST", "/api/sessions/delete", `{"sessionId":"`+id+`"}`)
	<-tb.done
	frames := tb.all()
	if last := frames[len(frames)-1]; last.control() != "error" || last.field("code") != "stopped" {
		t.Errorf("the last frame is %v", last.data)
	}
	w.do(404, "GET", "/api/sessions/"+id+"/messages")
}

// TestRT5: the version of the list rises on create, rename and delete, and not on
// reads and prompts.
func TestRT5(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	version := func() float64 {
		t.Helper()
		v, _ := w.do(200, "GET", "/api/sessions").json["listVersion"].(float64)
		return v
	}
	last := version()
	rises := func(what string) {
		t.Helper()
		v := version()
		if v <= last || v != version() {
			t.Errorf("%s: the version was %v and is %v, then %v", what, last, v, version())
		}
		last = v
	}
	stays := func(what string) {
		t.Helper()
		if v := version(); v != last {
			t.Errorf("%s: the version was %v and is %v", what, last, v)
		}
	}
	id := w.create(`["read"]`)
	rises("create")
	w.say(id, "hello")
	w.idle(id)
	stays("a prompt")
	w.do(200, "GET", "/api/sessions/"+id+"/messages")
	w.do(200, "GET", "/api/sessions/"+id+"/state")
	stays("reads")
	w.do(200, "POST", "/api/sessions/rename", `{"sessionId":"`+id+`","name":"x"}`)
	rises("rename")
	w.do(200, "POST", "/api/sessions/delete", `{"sessionId":"`+id+`"}`)
	rises("delete")
	w.do(200, "POST", "/api/trash/restore", `{"sessionId":"`+id+`"}`)
	rises("restore")
}

// TestRT6: answers of 1024 bytes and more are compressed for who takes that, and
// all say that it depends.
func TestRT6(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	w.sessionFile("a", "big", "2026-01-02T03:04:05.000Z", strings.Repeat("whale ", 500))
	w.sessionFile("a", "small", "2026-01-02T03:04:05.000Z", "x")
	for name, c := range map[string]struct {
		path, accepts string
		gzip          bool
	}{
		"large":          {"/api/sessions/big/messages", "gzip", true},
		"large, any":     {"/api/sessions/big/messages", "br;q=1, *", true},
		"large, listed":  {"/api/sessions/big/messages", "deflate, GZIP;q=0.5", true},
		"not taken":      {"/api/sessions/big/messages", "gzip;q=0, *", false},
		"nothing taken":  {"/api/sessions/big/messages", "identity", false},
		"small":          {"/api/sessions/small/fork-messages", "gzip", false},
		"an error":       {"/api/sessions/none/messages", "gzip", false},
		"odd quality":    {"/api/sessions/big/messages", "gzip;q=much", false},
		"another coding": {"/api/sessions/big/messages", "x-gzip", false},
	} {
		a := w.send(w.ask("GET", c.path).with("Accept-Encoding", c.accepts))
		if got := a.header.Get("Content-Encoding") == "gzip"; got != c.gzip || !strings.Contains(strings.Join(a.header.Values("Vary"), ","), "Accept-Encoding") {
			t.Errorf("%s: gzip %t, Vary %v", name, got, a.header.Values("Vary"))
		}
		if !c.gzip {
			continue
		}
		z, err := gzip.NewReader(bytes.NewReader(a.body))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if plain, err := io.ReadAll(z); err != nil || !bytes.HasSuffix(plain, []byte(`"protocolVersion":"0.1.0"}`)) {
			t.Errorf("%s: %v, %s", name, err, plain)
		}
	}
	if a := w.send(w.ask("HEAD", "/api/sessions/big/messages").with("Accept-Encoding", "gzip")); a.status != 200 || len(a.body) > 0 {
		t.Errorf("HEAD: %d, %d bytes", a.status, len(a.body))
	}
}

// TestRT8: what is live and has no file is described like any other, and says so.
func TestRT8(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	id := w.create(`[]`)
	item := w.do(200, "GET", "/api/sessions").items()[0]
	if item["transient"] != true || item["sessionId"] != id || item["kind"] != "chat-only" {
		t.Errorf("it is listed as %v", item)
	}
	if a := w.do(200, "GET", "/api/sessions/"+id+"/state"); !strings.Contains(string(a.body), `"persisted":false`) {
		t.Errorf("its state is %s", a.body)
	}
	w.do(200, "GET", "/api/sessions/"+id+"/messages")
	w.do(200, "GET", "/api/sessions/"+id+"/policy")
	w.do(200, "GET", "/api/sessions/"+id+"/tree")
	w.do(200, "GET", "/api/sessions/"+id+"/usage")
	w.say(id, "hello")
	w.idle(id)
	if item = w.do(200, "GET", "/api/sessions").items()[0]; item["transient"] != nil {
		t.Errorf("with a file it is listed as %v", item)
	}
}

// TestRT10: a prompt while the file is ahead of what is live. The reference drops
// the prompt; here what another program wrote is taken over, and the prompt stands
// behind it.
func TestRT10(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	id := w.create(`["read"]`)
	w.say(id, "hello")
	w.idle(id)
	path := w.do(200, "GET", "/api/sessions/"+id+"/state").str("state", "sessionFile")
	leaf := w.do(200, "GET", "/api/sessions/"+id+"/tree").str("leafId")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(f, `{"type":"message","id":"f0f0f0f0","parentId":%q,"timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"user","content":"from elsewhere","timestamp":1}}`+"\n", leaf)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.say(id, "and here")
	w.idle(id)
	var texts []string
	for _, m := range w.do(200, "GET", "/api/sessions/"+id+"/fork-messages").json["messages"].([]any) {
		texts = append(texts, m.(map[string]any)["text"].(string))
	}
	if got := strings.Join(texts, ", "); got != "hello, from elsewhere, and here" {
		t.Errorf("the branch holds %s", got)
	}
}

// TestFavoritesSurviveBadJSON: a list that cannot be read is an empty one, and can
// be replaced.
func TestFavoritesSurviveBadJSON(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	w.put(".pi/agent/piweb-data/favorites.json", "{broken")
	if a := w.do(200, "GET", "/api/sessions/favorites"); !strings.Contains(string(a.body), `"sessionIds":[]`) {
		t.Errorf("broken: %s", a.body)
	}
	w.do(200, "POST", "/api/sessions/favorites", `{"sessionIds":["a"]}`)
	w.do(200, "PUT", "/api/agent-sources/favorites", `{"sources":["/x"]}`)
	if a := w.do(200, "GET", "/api/sessions/favorites"); !strings.Contains(string(a.body), `"sessionIds":["a"]`) {
		t.Errorf("replaced: %s", a.body)
	}
	long, _ := json.Marshal(map[string][]string{"sessionIds": {strings.Repeat("x", 5000)}})
	w.do(400, "POST", "/api/sessions/favorites", string(long))
}

// TestSharedState: what a page sets reaches the others at once, and who comes later
// first; deletions, too. Revisions grow.
func TestSharedState(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	id := w.create(`["read"]`)
	tb := w.open(id, "", "")
	set := func(body string) { w.do(200, "POST", "/api/sessions/"+id+"/state", body) }
	set(`{"key":"a","value":{"x":[1]}}`)
	set(`{"key":"b","value":null}`)
	set(`{"key":"a","op":"delete"}`)
	shared := func(frames []frame) (out []string, revs []float64) {
		for _, f := range frames {
			if f.control() == "state" {
				out = append(out, fmt.Sprintf("%v=%v deleted %v", f.field("key"), f.field("value"), f.field("deleted")))
				revs = append(revs, f.field("rev").(float64))
			}
		}
		return out, revs
	}
	frames := tb.wait("the values", func(frames []frame) bool { got, _ := shared(frames); return len(got) == 3 })
	got, revs := shared(frames)
	if want := "a=map[x:[1]] deleted <nil>, b=<nil> deleted <nil>, a=<nil> deleted true"; strings.Join(got, ", ") != want || !(revs[0] < revs[1] && revs[1] < revs[2]) {
		t.Errorf("told: %v %v", got, revs)
	}
	late := w.open(id, "", "")
	frames = late.wait("the values", func(frames []frame) bool { got, _ := shared(frames); return len(got) == 2 })
	if got, _ = shared(frames); strings.Join(got, ", ") != "a=<nil> deleted true, b=<nil> deleted <nil>" {
		t.Errorf("who comes later is told %v", got)
	}
	growing(t, frames, 0)
	for i := range maxSharedKeys - 2 {
		set(fmt.Sprintf(`{"key":"k%d","value":%d}`, i, i))
	}
	if a := w.do(409, "POST", "/api/sessions/"+id+"/state", `{"key":"one more","value":1}`); a.code() != "STATE_FULL" {
		t.Errorf("too many: %s", a.body)
	}
	full := w.open(id, "", "")
	growing(t, full.wait("all of them", func(frames []frame) bool { got, _ := shared(frames); return len(got) == maxSharedKeys }), 0)
	big, _ := json.Marshal(map[string]any{"key": "b", "value": strings.Repeat("x", maxSharedValue)})
	w.do(400, "POST", "/api/sessions/"+id+"/state", string(big))
}

// TestUIRPC: a call to the agent's interface is answered over the stream, by its id.
func TestUIRPC(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	id := w.create(`["read"]`)
	tb := w.open(id, "", "")
	w.do(200, "POST", "/api/sessions/"+id+"/ui-rpc", `{"correlationId":"c7","point":"command","action":"execute","payload":{"name":"x"},"protocolVersion":"0.1.0"}`)
	frames := tb.wait("the answer", func(frames []frame) bool { return countControls(frames, "ui-rpc") > 0 })
	res, _ := frames[len(frames)-1].field("response").(map[string]any)
	if failure, _ := res["error"].(map[string]any); res["correlationId"] != "c7" || res["ok"] != false || failure["code"] != "NOT_SUPPORTED" {
		t.Errorf("answered %v", res)
	}
}

// TestLogLines: what went wrong is kept for who asks and who comes later, newest
// last; level, limit and since choose from it.
func TestLogLines(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	id := w.create(`["read"]`)
	tb := w.open(id, "", "")
	quiet := tb.wait("the first frames", func(frames []frame) bool { return len(frames) >= 3 })
	for _, f := range quiet {
		if f.control() == "logs" {
			t.Error("a session without lines tells of them")
		}
	}
	s, ok := w.rt.Live(w.do(200, "GET", "/api/sessions/"+id+"/state").str("state", "sessionFile"))
	if !ok {
		t.Fatal("the session is not live")
	}
	for i := range 3 {
		s.Tell(fmt.Sprintf("remark %d", i))
	}
	tb.wait("three lines", func(frames []frame) bool { return countControls(frames, "logs") == 3 })
	entries := func(query string) []any {
		t.Helper()
		list, _ := w.do(200, "GET", "/api/sessions/"+id+"/logs"+query).json["entries"].([]any)
		return list
	}
	all := entries("")
	if len(all) != 3 || all[2].(map[string]any)["msg"] != "remark 2" || all[0].(map[string]any)["id"] != 1.0 {
		t.Errorf("lines %v", all)
	}
	for query, n := range map[string]int{"?limit=2": 2, "?limit=0": 0, "?level=info": 3, "?level=warn": 0, "?since=0": 3, "?since=1e15": 0} {
		if got := entries(query); len(got) != n {
			t.Errorf("%s: %v", query, got)
		}
	}
	late := w.open(id, "", "").wait("a frame", func(frames []frame) bool { return len(frames) >= 4 })
	if late[0].control() != "logs" || len(late[0].field("entries").([]any)) != 3 || late[1].control() != "session-status" {
		t.Errorf("who comes later is told first %v", late)
	}
}

func countControls(frames []frame, control string) int {
	n := 0
	for _, f := range frames {
		if f.control() == control {
			n++
		}
	}
	return n
}

// TestCommandWithoutATurn: a page that opened a stream for a command which leads to
// no answer gets a lone finish; a real turn and plain text get their own only.
func TestCommandWithoutATurn(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	id := w.create(`["read"]`)
	tb := w.open(id, "", "")
	w.say(id, "/reload")
	if got := chunks(tb.ended(1)); strings.Join(got, " ") != "finish" {
		t.Errorf("a command: %v", got)
	}
	w.say(id, "hello")
	frames := tb.ended(2)
	w.idle(id)
	if n := count(frames, "finish"); n != 2 || count(frames, "start") != 1 {
		t.Errorf("plain text: %v", chunks(frames))
	}
	w.say(id, "/compact")
	tb.ended(3)
	if got := count(tb.all(), string(wire.Finish)); got != 3 {
		t.Errorf("%d ends: %v", got, tb.all())
	}
}
