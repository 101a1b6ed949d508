package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/toolselect"
)

func TestBootstrap(t *testing.T) {
	w := newWorld(t, slowTalk(t), func(c *Config) { c.DefaultSource = "here" })
	w.sessionFile("a", "stored", "2026-01-01T00:00:00.000Z", "x")
	a := w.do(200, "GET", "/api/bootstrap?sessionId=stored")
	for name, want := range map[string]any{
		"defaultSource": "here", "defaultCwd": w.project, "version": "1.2.3", "agentDir": filepath.Join(w.home, ".pi", "agent"),
		"sessionsDir": filepath.Join(w.home, ".pi", "agent", "sessions"), "offlineOnly": false, "demoAvailable": false, "resumeSource": w.project, "defaultModel": "rec/m1",
	} {
		if a.json[name] != want {
			t.Errorf("%s is %v, want %v", name, a.json[name], want)
		}
	}
	w.put(".pi/agent/models.json", `{}`)
	if a := w.do(200, "GET", "/api/bootstrap"); a.json["offlineOnly"] != true {
		t.Errorf("without a model: %s", a.body)
	}
}

func TestDemo(t *testing.T) {
	var broken error
	w := newWorld(t, slowTalk(t), func(c *Config) {
		c.Demo = func(context.Context) (Demo, error) { return Demo{[]string{"a", "b"}, "/demo"}, broken }
	})
	a := w.do(201, "POST", "/api/demo")
	if got := fmt.Sprintf("%v %v", a.json["sessions"], a.json["cwd"]); got != "[a b] /demo" {
		t.Errorf("demo: %s", a.body)
	}
	broken = errors.New("secret words of the disk")
	a = w.do(500, "POST", "/api/demo")
	if a.code() != "INTERNAL" || strings.Contains(string(a.body), "secret") || !strings.Contains(a.str("message"), a.header.Get("X-Request-Id")) {
		t.Errorf("an unknown error is told as %s", a.body)
	}
	if !strings.Contains(w.logs.String(), "secret words") {
		t.Error("the log does not say what it was")
	}
	newWorld(t, slowTalk(t)).do(404, "POST", "/api/demo")
}

// items are the sessions of a list.
func (a answer) items() (out []map[string]any) {
	list, _ := a.json["sessions"].([]any)
	for _, i := range list {
		out = append(out, i.(map[string]any))
	}
	return out
}

func TestList(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	named := `{"type":"session_info","id":"0000000d","parentId":"0000000b","timestamp":"2026-01-01T00:00:00.000Z","name":"Blue Whale"}`
	chat := `{"type":"custom","id":"0000000e","parentId":"0000000d","timestamp":"2026-01-01T00:00:00.000Z","customType":"pi-web:tool-selection","data":{"version":1,"tools":[]}}`
	path := w.sessionFile("a", "s0", "2026-01-01T00:00:00.000Z", "about the sea", named, chat)
	for i := 1; i < 7; i++ {
		w.sessionFile("b", fmt.Sprintf("s%d", i), fmt.Sprintf("2026-01-0%dT00:00:00.000Z", i), "about Fields")
	}
	w.put(".pi/agent/sessions/b/broken.jsonl", "no session\n")

	var got []string
	for next := "/api/sessions?limit=3"; next != ""; {
		a := w.do(200, "GET", next)
		for _, i := range a.items() {
			got = append(got, fmt.Sprint(i["sessionId"]))
		}
		if next = ""; a.str("nextCursor") != "" {
			next = "/api/sessions?limit=3&cursor=" + a.str("nextCursor")
		}
	}
	if want := []string{"s6", "s5", "s4", "s3", "s2", "s1", "s0"}; !slices.Equal(got[:min(7, len(got))], want) || len(got) != 8 {
		t.Errorf("pages: %v", got)
	}

	for q, want := range map[string][]string{"whale": {"s0"}, "FIELDS": {"s6", "s5", "s4", "s3", "s2", "s1"}, "S3": {"s3"}, "sea": nil, "nothing": nil} {
		var ids []string
		for _, i := range w.do(200, "GET", "/api/sessions?q="+q).items() {
			ids = append(ids, i["sessionId"].(string))
		}
		if !slices.Equal(ids, want) {
			t.Errorf("search for %q: %v, want %v", q, ids, want)
		}
	}

	item := w.do(200, "GET", "/api/sessions?q=whale").items()[0]
	for name, want := range map[string]any{
		"sessionId": "s0", "cwd": w.project, "source": w.project, "createdAt": "2026-01-01T00:00:00.000Z", "updatedAt": "2026-01-01T00:00:00.000Z", "name": "Blue Whale",
		"firstMessage": "about the sea", "messageCount": 2.0, "kind": "chat-only", "tools": "Chat Only", "path": path, "activity": nil, "problem": nil,
	} {
		if item[name] != want {
			t.Errorf("%s is %v, want %v", name, item[name], want)
		}
	}
	all := w.do(200, "GET", "/api/sessions").items()
	if last := all[len(all)-1]; last["problem"] == nil || !strings.HasPrefix(last["sessionId"].(string), "~") {
		t.Errorf("a file that is no session is listed as %v", last)
	}
}

func TestListOfLiveSessions(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	id := w.create(`["read"]`)
	list := w.do(200, "GET", "/api/sessions").items()
	if len(list) != 1 || list[0]["sessionId"] != id || list[0]["kind"] != "pinned" || list[0]["tools"] != "pinned: read" || list[0]["activity"] != nil {
		t.Fatalf("a session without a file is listed as %v", list)
	}
	w.say(id, "for ever")
	if list = w.do(200, "GET", "/api/sessions").items(); len(list) != 1 || list[0]["activity"] != "working" || list[0]["firstMessage"] != "for ever" {
		t.Errorf("a running session is listed as %v", list)
	}
	w.do(200, "POST", "/api/sessions/"+id+"/abort")
	w.idle(id)
	if list = w.do(200, "GET", "/api/sessions").items(); len(list) != 1 || list[0]["activity"] != nil {
		t.Errorf("afterwards it is listed as %v", list)
	}
	w.do(200, "DELETE", "/api/sessions/"+id)
	if list = w.do(200, "GET", "/api/sessions").items(); len(list) != 1 || list[0]["sessionId"] != id {
		t.Errorf("stopped, it is listed as %v", list)
	}
	if a := w.do(404, "DELETE", "/api/sessions/"+id); a.code() != "SESSION_NOT_FOUND" {
		t.Errorf("stopped twice: %s", a.body)
	}
}

func TestCreate(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	for _, c := range []struct{ tools, kind, preset, all string }{
		{"", "open", "configured", "[read bash edit write]"}, {`["ls","read"]`, "pinned", "default", "[ls read]"},
		{`[]`, "chat-only", "none", "[]"}, {`["read","grep","find","ls"]`, "pinned", "read-only", "[read grep find ls]"},
	} {
		id := w.create(c.tools)
		a := w.do(200, "GET", "/api/sessions/"+id+"/tools")
		if a.str("kind") != c.kind || a.str("preset") != c.preset || fmt.Sprint(a.json["tools"]) != c.all || a.str("sessionId") != id {
			t.Errorf("created with %s: %s", c.tools, a.body)
		}
		w.do(200, "DELETE", "/api/sessions/"+id)
		w.do(404, "GET", "/api/sessions/"+id+"/tools") // it never had a file
	}
	other := w.put("other/AGENTS.md", "x")
	id := w.do(201, "POST", "/api/sessions", fmt.Sprintf(`{"source":%q}`, filepath.Dir(other))).str("sessionId")
	if a := w.do(200, "GET", "/api/sessions/"+id+"/state"); a.str("state", "cwd") != filepath.Dir(other) {
		t.Errorf("a folder is a source: %s", a.body)
	}
	id = w.do(201, "POST", "/api/sessions", `{"source":"","cwd":"../other","trust":true}`).str("sessionId")
	if a := w.do(200, "GET", "/api/sessions/"+id+"/state"); a.str("state", "cwd") != filepath.Dir(other) {
		t.Errorf("a folder beside the source: %s", a.body)
	}
}

func TestResume(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	w.sessionFile("a", "stored", "2026-01-01T00:00:00.000Z", "x")
	for range 2 {
		if id := w.do(201, "POST", "/api/sessions", `{"source":"whatever","resumeId":"stored"}`).str("sessionId"); id != "stored" {
			t.Errorf("resumed as %q", id)
		}
	}
	if n := len(w.server.rt.LiveSessions()); n != 1 {
		t.Errorf("%d sessions are live", n)
	}
}

// TestReadingNeitherStartsNorWrites: every reading address of a session that is
// not live leaves its file and the runtime alone.
func TestReadingNeitherStartsNorWrites(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	path := w.sessionFile("a", "stored", "2026-01-01T00:00:00.000Z", "the question",
		`{"type":"message","id":"0000000c","parentId":"0000000b","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"system","content":"SECRET HEAD","timestamp":1}}`,
		`{"type":"mess`) // a torn tail
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"messages", "state", "models", "tools", "policy"} {
		a := w.do(200, "GET", "/api/sessions/stored/"+what)
		if what == "messages" && strings.Contains(string(a.body), "SECRET HEAD") {
			t.Error("a system message is told")
		}
	}
	w.open("stored", "", "").wait("sticky controls", func(f []frame) bool { return len(f) >= 3 })
	w.do(200, "POST", "/api/sessions/stored/abort")
	after, err := os.ReadFile(path)
	if err != nil || string(after) != string(before) {
		t.Errorf("the file was changed (%v)", err)
	}
	if n := len(w.server.rt.LiveSessions()); n != 0 {
		t.Errorf("%d sessions were started", n)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("files beside it: %v %v", entries, err)
	}
}

func TestMessagesAndState(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	id := w.create(`["read"]`)
	if a := w.do(200, "GET", "/api/sessions/"+id+"/state"); a.json["state"].(map[string]any)["model"] != nil || a.str("state", "thinkingLevel") != "off" || a.str("state", "live") != "ready" {
		t.Errorf("a new session: %s", a.body)
	}
	w.say(id, "use the tool")
	w.idle(id)
	a := w.do(200, "GET", "/api/sessions/"+id+"/messages")
	var roles []string
	for _, m := range a.json["messages"].([]any) {
		m := m.(map[string]any)
		roles = append(roles, m["role"].(string))
		if e, _ := m["entryId"].(string); len(e) != 8 {
			t.Errorf("entryId %q of %v", e, m)
		}
	}
	if want := []string{"user", "assistant", "toolResult", "assistant"}; !slices.Equal(roles, want) {
		t.Errorf("roles %v, want %v", roles, want)
	}
	st := w.do(200, "GET", "/api/sessions/"+id+"/state").json["state"].(map[string]any)
	if st["messageCount"] != 4.0 || st["pendingMessageCount"] != 0.0 || fmt.Sprint(st["model"]) != "map[id:m1 provider:rec]" || st["sessionId"] != id || st["persisted"] != true {
		t.Errorf("state %v", st)
	}
	if _, err := os.Stat(st["sessionFile"].(string)); err != nil {
		t.Error(err)
	}
	// The same from the file.
	w.do(200, "DELETE", "/api/sessions/"+id)
	if again := w.do(200, "GET", "/api/sessions/"+id+"/messages"); string(again.body) != string(a.body) {
		t.Errorf("from the file:\n%s\nlive:\n%s", again.body, a.body)
	}
	if a := w.do(200, "GET", "/api/sessions/"+id+"/state"); a.str("state", "live") != "" {
		t.Errorf("stopped: %s", a.body)
	}
}

func TestRunningRefuses(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	id := w.create(`["read"]`)
	tb := w.open(id, "", "")
	w.say(id, "for ever")
	for _, a := range []*ask{
		w.ask("POST", "/api/sessions/"+id+"/messages", `{"message":"and"}`),
		w.ask("PUT", "/api/sessions/"+id+"/tools", `{"tools":[]}`), w.ask("DELETE", "/api/sessions/"+id+"/tools"),
		w.ask("POST", "/api/sessions/"+id+"/models", `{"provider":"rec","modelId":"m2"}`),
	} {
		if got := w.send(a); got.status != 409 || got.code() != "RUNNING" {
			t.Errorf("%s %s while it runs: %d %s", a.method, a.path, got.status, got.body)
		}
	}
	for _, what := range []string{"messages", "state", "models", "tools", "policy"} {
		w.do(200, "GET", "/api/sessions/"+id+"/"+what)
	}
	if a := w.do(200, "GET", "/api/sessions/"+id+"/policy"); a.str("live") != "running" {
		t.Errorf("live is %q", a.str("live"))
	}
	w.do(200, "POST", "/api/sessions/"+id+"/abort")
	tb.ended(1)
	w.say(id, "hello")
	tb.ended(2)
	w.do(200, "POST", "/api/sessions/"+id+"/abort") // nothing runs: fine
}

func TestModels(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	id := w.create(`[]`)
	var names []string
	for _, m := range w.do(200, "GET", "/api/sessions/"+id+"/models").json["models"].([]any) {
		m := m.(map[string]any)
		names = append(names, fmt.Sprintf("%s/%s", m["provider"], m["id"]))
		for _, field := range []string{"name", "api", "reasoning", "input", "contextWindow", "maxTokens", "cost"} {
			if m[field] == nil {
				t.Errorf("%v has no %s", m, field)
			}
		}
	}
	if want := []string{"rec/m1", "rec/m2", "offline/echo"}; !slices.Equal(names, want) {
		t.Errorf("models %v, want %v", names, want)
	}
	w.do(200, "POST", "/api/sessions/"+id+"/models", `{"provider":"rec","modelId":"m2"}`)
	w.say(id, "hello")
	w.idle(id)
	if a := w.do(200, "GET", "/api/sessions/"+id+"/state"); a.json["state"].(map[string]any)["model"].(map[string]any)["id"] != "m2" {
		t.Errorf("state %s", a.body)
	}
	last, _ := w.provider.Last()
	if !strings.Contains(string(last.Body), `"m2"`) {
		t.Errorf("asked was %.100s", last.Body)
	}
}

func TestHiddenProviders(t *testing.T) {
	w := newWorld(t, slowTalk(t), func(c *Config) { c.HiddenProviders = []string{"rec"} })
	a := w.do(200, "GET", "/api/models?cwd="+url.QueryEscape(w.project))
	if list := a.json["models"].([]any); len(list) != 1 || !strings.Contains(string(a.body), "offline") {
		t.Errorf("offered are %s", a.body)
	}
	id := w.create(`[]`)
	w.do(200, "POST", "/api/sessions/"+id+"/models", `{"provider":"rec","modelId":"m2"}`) // hidden is not forbidden
}

func TestThinking(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	w.put(".pi/agent/models.json", fmt.Sprintf(`{"providers":{"rec":{"baseUrl":%q,"api":"openai-completions","apiKey":"k","models":[
		{"id":"m1","reasoning":true,"thinkingLevelMap":{"minimal":null,"low":"little"}},{"id":"m2"}]}}}`, w.provider.URL))
	id := w.create(`[]`)
	models := w.do(200, "GET", "/api/sessions/"+id+"/models").json["models"].([]any)
	if got := fmt.Sprint(models[0].(map[string]any)["thinkingLevels"], models[1].(map[string]any)["thinkingLevels"]); got != "[off low medium high] [off]" {
		t.Errorf("levels %s", got)
	}
	level := func(body string) string {
		return w.do(200, "POST", "/api/sessions/"+id+"/thinking", body).str("level")
	}
	if got := level(`{"level":"minimal"}`); got != "low" {
		t.Errorf("minimal became %q, want low", got)
	}
	w.say(id, "hello")
	w.idle(id)
	if last, _ := w.provider.Last(); !strings.Contains(string(last.Body), `"reasoning_effort":"little"`) {
		t.Errorf("asked was %.300s", last.Body)
	}
	if got := level(`{"level":"off"}`); got != "off" {
		t.Errorf("off became %q", got)
	}
	if a := w.do(200, "GET", "/api/sessions/"+id+"/state"); a.str("state", "thinkingLevel") != "off" || a.str("state", "model", "id") != "m1" {
		t.Errorf("state %s", a.body)
	}
	w.say(id, "hello")
	w.idle(id)
	if last, _ := w.provider.Last(); strings.Contains(string(last.Body), `reasoning_effort`) {
		t.Errorf("asked was %.300s", last.Body)
	}
	for _, body := range []string{`{}`, `{"level":""}`, `{"level":"loud"}`, `{"level":1}`} {
		w.do(400, "POST", "/api/sessions/"+id+"/thinking", body)
	}
	// A model without thinking takes the level that it has.
	w.do(200, "POST", "/api/sessions/"+id+"/models", `{"provider":"rec","modelId":"m2"}`)
	if got := level(`{"level":"high"}`); got != "off" {
		t.Errorf("a model that does not think took %q", got)
	}
	var entries []string
	for _, line := range strings.Split(string(readAll(t, w.do(200, "GET", "/api/sessions/"+id+"/state").str("state", "sessionFile"))), "\n") {
		for _, kind := range []string{"model_change", "thinking_level_change"} {
			if strings.Contains(line, `"type":"`+kind+`"`) {
				entries = append(entries, kind)
			}
		}
	}
	if want := []string{"thinking_level_change", "model_change", "thinking_level_change", "model_change"}; !slices.Equal(entries, want) {
		t.Errorf("the file has %v, want %v", entries, want)
	}
}

func readAll(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestTools(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	w.sessionFile("a", "stored", "2026-01-01T00:00:00.000Z", "x")
	full, _ := toolselect.PresetFull.Tools()
	a := w.do(200, "GET", "/api/sessions/stored/tools")
	if a.str("kind") != "open" || a.str("source", "by") != "default" || a.str("preset") != "configured" {
		t.Errorf("unset: %s", a.body)
	}
	for _, c := range []struct{ method, body, kind, by, tools string }{
		{"PUT", `{"tools":["ls","ls","read"]}`, "pinned", "selection", "[ls read]"},
		{"PUT", `{"preset":"none"}`, "chat-only", "selection", "[]"},
		{"PUT", `{"preset":"full"}`, "pinned", "selection", fmt.Sprint(full)},
		{"DELETE", ``, "open", "default", "[read bash edit write]"},
		{"PUT", `{"preset":"configured"}`, "open", "default", "[read bash edit write]"},
	} {
		ask := w.ask(c.method, "/api/sessions/stored/tools")
		if c.body != "" {
			ask = w.ask(c.method, "/api/sessions/stored/tools", c.body)
		}
		got := w.send(ask)
		if got.status != 200 || got.json["changed"] != (c.body != `{"preset":"configured"}`) || got.str("sessionId") != "stored" {
			t.Errorf("%s %s: %d %s", c.method, c.body, got.status, got.body)
		}
		for range 2 { // live, and from the file
			a := w.do(200, "GET", "/api/sessions/stored/tools")
			if a.str("kind") != c.kind || a.str("source", "by") != c.by || fmt.Sprint(a.json["tools"]) != c.tools {
				t.Errorf("after %s %s: %s", c.method, c.body, a.body)
			}
			for _, item := range a.json["available"].([]any) {
				i := item.(map[string]any)
				if (i["allowed"] == true) != (i["why"] == "") {
					t.Errorf("available: %v", i)
				}
			}
			w.send(w.ask("DELETE", "/api/sessions/stored"))
		}
	}
}

func TestPolicy(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	id := w.create(`[]`)
	a := w.do(200, "GET", "/api/sessions/"+id+"/policy")
	if a.str("decide", "kind") != "chat-only" || a.str("live") != "ready" || a.str("load", "head", "text") != "PROJECT TEXT\n" {
		t.Errorf("before its first message: %s", a.body)
	}
	w.say(id, "hello")
	w.idle(id)
	for _, live := range []any{"ready", nil} {
		a = w.do(200, "GET", "/api/sessions/"+id+"/policy")
		if a.json["live"] != live || a.str("load", "head", "text") != "PROJECT TEXT\n" || a.str("decide", "kind") != "chat-only" || a.str("read", "id") != id {
			t.Errorf("policy: %s", a.body)
		}
		if r := a.json["record"].(map[string]any)["receipts"].([]any); len(r) != 1 {
			t.Errorf("%d receipts", len(r))
		}
		history := a.json["record"].(map[string]any)["history"].([]any)
		if len(history) != 2 { // the choice, and what was sent under it
			t.Fatalf("history: %v", history)
		}
		sent := history[1].(map[string]any)
		if sent["what"] != "receipt" || sent["holds"] != true || sent["kind"] != "chat-only" {
			t.Errorf("history: %v", sent)
		}
		if h := w.do(200, "GET", "/api/sessions/"+id+"/heads/"+sent["head"].(string)); h.str("text") != "PROJECT TEXT\n" {
			t.Errorf("the head by its hash: %s", h.body)
		}
		w.do(404, "GET", "/api/sessions/"+id+"/heads/"+strings.Repeat("0", 64))
		w.send(w.ask("DELETE", "/api/sessions/"+id))
	}
}

func TestRename(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	w.sessionFile("a", "stored", "2026-01-01T00:00:00.000Z", "x")
	a := w.do(200, "POST", "/api/sessions/rename", `{"sessionId":"stored","name":"  A better name "}`)
	if a.str("sessionId") != "stored" || a.str("name") != "A better name" {
		t.Errorf("answer %s", a.body)
	}
	if list := w.do(200, "GET", "/api/sessions?q=better").items(); len(list) != 1 {
		t.Errorf("list %v", list)
	}
	if a := w.do(200, "GET", "/api/sessions/stored/state"); a.str("state", "sessionName") != "A better name" {
		t.Errorf("state %s", a.body)
	}
}

// TestIDsOfCopies: two files with one id are told apart by a longer id, the same
// on every address; a link to a file is the file.
func TestIDsOfCopies(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	const at = "2026-01-01T00:00:00.000Z"
	one := w.sessionFile("a", "twice", at, "first copy")
	w.sessionFile("b", "twice", at, "second copy")
	single := w.sessionFile("b", "single", at, "alone")
	if err := os.Symlink(single, filepath.Join(filepath.Dir(one), "link.jsonl")); err != nil {
		t.Logf("no links here: %v", err)
	}
	if list := w.do(200, "GET", "/api/sessions").items(); len(list) != 3 {
		t.Fatalf("list %v", list)
	}
	w.do(200, "GET", "/api/sessions/single/state")
	w.do(200, "GET", "/api/sessions/"+distinguished("single", keyOf(single))+"/state")
	for _, i := range w.do(200, "GET", "/api/sessions?q=copy").items() {
		id := i["sessionId"].(string)
		for _, what := range []string{"messages", "state", "models", "tools", "policy"} {
			w.do(200, "GET", "/api/sessions/"+id+"/"+what)
		}
		w.say(id, "hello "+i["firstMessage"].(string))
		w.idle(id)
		got := string(w.do(200, "GET", "/api/sessions/"+id+"/messages").body)
		if strings.Contains(got, "first copy") == strings.Contains(got, "second copy") {
			t.Errorf("%s mixes the copies: %s", id, got)
		}
		w.do(409, "GET", "/api/sessions/twice/state")
	}
}

// hostile are names that are no session, and must never become a path.
func hostile(w *world) []string {
	stored := w.sessionFile("a", "stored", "2026-01-01T00:00:00.000Z", "x")
	names := []string{"..", ".", "../..", "../../../../etc/passwd", `..\..\x`, "stored.jsonl", "a/stored", "a/stored.jsonl", stored, "file://" + stored,
		"stored\x00", "\x00", "stored\n", " stored", "stored ", "STORED", "stored/", "~", "~00000000", "stored~00000000", "stored~", "%2e%2e", "%252e",
		"*", "?", "sto?ed", "stor", "CON", "NUL.txt", "a:b", "c:\\x", "-", "--help", "$(id)", "'; drop", "<script>", "\u202e", "\ufeffstored", "ｓtored", "stored\u0301",
		strings.Repeat("a", 513), strings.Repeat("../", 500), "null", "undefined", "0", "\xff\xfe"}
	return names
}

func TestHostileIDs(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	names := hostile(w)
	for _, r := range w.server.routes.routes {
		if !slices.Contains(r.segments, ":id") {
			continue
		}
		for _, name := range names {
			path := "/api"
			for _, s := range r.segments {
				if s == ":id" {
					s = escape(name)
				}
				path += "/" + s
			}
			body := map[string]string{"messages": `{"message":"x"}`, "steer": `{"message":"x"}`, "follow_up": `{"message":"x"}`, "navigate": `{"entryId":"x"}`, "models": `{"provider":"rec","modelId":"m1"}`, "thinking": `{"level":"off"}`, "subagents": `{"task":"x"}`, ":id": `{"action":"abort"}`, "tools": `{"tools":[]}`}[r.segments[len(r.segments)-1]]
			a := w.ask(r.method, path, body)
			if body == "" || r.method == "GET" || r.method == "DELETE" {
				a = w.ask(r.method, path)
			}
			if got := w.send(a); got.status != 404 || got.code() != "SESSION_NOT_FOUND" {
				t.Errorf("%s %q in %s: %d %s", r.method, name, path, got.status, got.body)
			}
		}
	}
	if n := len(w.server.rt.LiveSessions()); n != 0 {
		t.Errorf("%d sessions were started", n)
	}
	for _, name := range names {
		data, _ := json.Marshal(map[string]string{"source": "", "resumeId": name})
		if got := w.send(w.ask("POST", "/api/sessions", string(data))); got.status != 404 || got.code() != "SESSION_NOT_FOUND" {
			t.Errorf("resume %q: %d %s", name, got.status, got.body)
		}
	}
}

// escape encodes every byte, so that nothing on the way can take it for syntax.
func escape(name string) string {
	var b strings.Builder
	for i := range len(name) {
		fmt.Fprintf(&b, "%%%02X", name[i])
	}
	return b.String()
}

// broken is a runtime that panics.
type broken struct{ Runtime }

func (broken) LiveSessions() []*piweb.Session { panic("the secret of the house") }

func TestPanic(t *testing.T) {
	w := newWorld(t, slowTalk(t), func(c *Config) { c.Runtime = broken{c.Runtime} })
	a := w.do(http.StatusInternalServerError, "GET", "/api/sessions")
	if a.code() != "INTERNAL" || strings.Contains(string(a.body), "secret") || !strings.Contains(a.str("message"), a.header.Get("X-Request-Id")) {
		t.Errorf("answer %s", a.body)
	}
	if !strings.Contains(w.logs.String(), "the secret of the house") {
		t.Error("the log does not say what broke")
	}
	w.do(200, "GET", "/api/bootstrap")
}
