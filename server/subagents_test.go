package server

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/subagent"
)

// delegating is a world whose subagents are on, and whose project is trusted.
func delegating(t *testing.T, script string) *world {
	t.Helper()
	w := newWorld(t, modeltest.Parse(t, script))
	w.put(".pi/agent/settings.json", `{"defaultProvider":"rec","defaultModel":"m1","defaultProjectTrust":"always"}`)
	w.do(200, "PUT", "/api/subagents/settings", `{"enabled":true}`)
	return w
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// kids are the children of a session as the list of them says.
func (w *world) kids(id string) []map[string]any {
	w.t.Helper()
	var out []map[string]any
	for _, k := range w.do(200, "GET", "/api/sessions/"+id+"/subagents").json["subagents"].([]any) {
		out = append(out, k.(map[string]any))
	}
	return out
}

// ended waits until a subagent has this status.
func (w *world) comesTo(id, status string) answer {
	w.t.Helper()
	var a answer
	w.until("the subagent is "+status, func() bool {
		a = w.do(200, "GET", "/api/subagents/"+id)
		return a.str("run", "status") == status
	})
	return a
}

// TestStartByHTTP: a person starts a child with a file; it is listed below its
// parent, its result is delivered once, and each way of looking tells the same.
func TestStartByHTTP(t *testing.T) {
	w := delegating(t, `{"steps":[{"match":"look at it","text":"the child's answer"},{"match":"Report of a subagent","text":"I have read it"},{"text":"ok","repeat":true}]}`)
	w.put("project/notes 漢.md", "what is in the notes")
	id := w.create(`["read"]`)
	w.say(id, "hello")
	w.idle(id)
	a := w.do(201, "POST", "/api/sessions/"+id+"/subagents",
		`{"profile":"explore","task":"look at it","description":"A look","inputFiles":["notes 漢.md"],"thinking":"low","maxTurns":3}`)
	child := a.str("run", "sessionId")
	if a.str("run", "parentSessionId") != id || a.str("run", "profile") != "explore" || a.str("run", "description") != "A look" || a.json["run"].(map[string]any)["runInBackground"] != true {
		t.Errorf("started: %s", a.body)
	}
	done := w.comesTo(child, "completed")
	if done.str("run", "result") != "the child's answer" || !strings.HasPrefix(done.str("run", "output"), "agent://") {
		t.Errorf("ended: %s", done.body)
	}
	spent := done.json["run"].(map[string]any)["spent"].(map[string]any)
	if spent["turns"] != 1.0 {
		t.Errorf("spent %v", spent)
	}
	w.until("the parent has read it", func() bool {
		return strings.Contains(string(w.do(200, "GET", "/api/sessions/"+id+"/messages").body), "I have read it")
	})
	all := w.do(200, "GET", "/api/sessions/"+id+"/subagents")
	if kids := w.kids(id); len(kids) != 1 || kids[0]["pending"] != false || len(all.json["pending"].([]any)) != 0 {
		t.Errorf("the list: %s", all.body)
	}
	if l := all.json["limits"].(map[string]any); l["total"] != 64.0 || l["dollars"] != 25.0 || all.json["spent"].(map[string]any)["children"] != 1.0 {
		t.Errorf("the budget: %s", all.body)
	}
	usage := w.do(200, "GET", "/api/sessions/"+id+"/usage")
	tree := usage.json["tree"].(map[string]any)
	if kids := tree["subagents"].([]any); len(kids) != 1 || kids[0].(map[string]any)["sessionId"] != child || tree["answers"] != 3.0 ||
		usage.json["counts"].(map[string]any)["assistantMessages"] != 2.0 {
		t.Errorf("the usage: %s", usage.body)
	}
	request := ""
	for _, r := range w.provider.Requests() {
		if strings.Contains(string(r.Body), "look at it") && !strings.Contains(string(r.Body), "Report of") {
			request = string(r.Body)
		}
	}
	if !strings.Contains(request, "what is in the notes") {
		t.Errorf("the child was asked %s", request)
	}
	// In the list of sessions it stands as a child of its parent.
	list := w.do(200, "GET", "/api/sessions")
	i := slices.IndexFunc(list.json["sessions"].([]any), func(s any) bool { return s.(map[string]any)["sessionId"] == child })
	if i < 0 {
		t.Fatalf("not listed: %s", list.body)
	}
	rel, _ := list.json["sessions"].([]any)[i].(map[string]any)["subagent"].(map[string]any)
	if rel["parentSessionId"] != id || rel["status"] != "completed" || rel["profile"] != "explore" {
		t.Errorf("its relation: %v", rel)
	}
	// It opens as a session, and its tools are fixed.
	w.do(200, "GET", "/api/sessions/"+child+"/messages")
	if a := w.do(409, "PUT", "/api/sessions/"+child+"/tools", `{"tools":["bash"]}`); a.code() != "SUBAGENT" {
		t.Errorf("tools: %s", a.body)
	}
}

// TestTellAChild: steer, stop, resume, and what is refused.
func TestTellAChild(t *testing.T) {
	w := delegating(t, `{"steps":[{"match":"wait for me","delayMs":60000,"text":"late"},{"match":"and this","text":"went on"},{"text":"ok","repeat":true}]}`)
	id := w.create(`["read"]`)
	w.say(id, "hello")
	w.idle(id)
	child := w.do(201, "POST", "/api/sessions/"+id+"/subagents", `{"task":"wait for me"}`).str("run", "sessionId")
	w.comesTo(child, "running")
	w.until("it asks its model", func() bool { // what is said before that is part of its first question
		last, ok := w.provider.Last()
		return ok && strings.Contains(string(last.Body), "wait for me")
	})
	w.do(200, "POST", "/api/subagents/"+child, `{"action":"steer","message":"and this"}`)
	for body, fields := range map[string]string{`{}`: "action", `{"action":"kill"}`: "action", `{"action":"steer"}`: "message", `{"action":"resume","message":" "}`: "message",
		`{"action":"abort","background":1}`: "background"} {
		if a := w.do(400, "POST", "/api/subagents/"+child, body); a.code() != "VALIDATION_FAILED" || !strings.Contains(string(a.body), `"`+fields+`"`) {
			t.Errorf("%s: %s", body, a.body)
		}
	}
	w.do(200, "POST", "/api/subagents/"+child, `{"action":"abort"}`)
	w.comesTo(child, "aborted")
	for _, body := range []string{`{"action":"abort"}`, `{"action":"steer","message":"x"}`} {
		if a := w.do(409, "POST", "/api/subagents/"+child, body); a.code() != "NOT_RUNNING" {
			t.Errorf("%s: %s", body, a.body)
		}
	}
	// What was said and not heard goes in with the resume.
	a := w.do(200, "POST", "/api/subagents/"+child, `{"action":"resume","message":"go on"}`)
	if a.str("run", "sessionId") != child {
		t.Errorf("resumed: %s", a.body)
	}
	if a := w.comesTo(child, "completed"); a.str("run", "result") != "went on" {
		t.Errorf("ended: %s", a.body)
	}
	// No oracle (RULINGS 34): a session that is no child is as unknown as none.
	for _, name := range []string{id, "nobody", "..%2f..%2fetc", strings.Repeat("x", 600)} {
		for _, method := range []string{"GET", "POST"} {
			var body []string
			if method == "POST" {
				body = []string{`{"action":"abort"}`}
			}
			if a := w.do(404, method, "/api/subagents/"+name, body...); a.code() != "SESSION_NOT_FOUND" {
				t.Errorf("%s %s: %s", method, name, a.body)
			}
		}
	}
}

// TestStartRefused: each refusal says what is wrong and leaves no file.
func TestStartRefused(t *testing.T) {
	w := delegating(t, `{"steps":[{"text":"ok","repeat":true}]}`)
	w.put("secret.txt", "outside")
	w.put("project/bytes.bin", "\xc3\x28")
	id := w.create(`["read"]`)
	at := "/api/sessions/" + id + "/subagents"
	for _, c := range []struct {
		body   string
		status int
		code   string
		field  string
	}{
		{`{}`, 400, "VALIDATION_FAILED", "task"},
		{`{"task":" "}`, 400, "VALIDATION_FAILED", "task"},
		{`{"task":"x","profile":"nobody"}`, 400, "VALIDATION_FAILED", "profile"},
		{`{"task":"x","inputFiles":["../secret.txt"]}`, 400, "VALIDATION_FAILED", "inputFiles"},
		{`{"task":"x","inputFiles":["bytes.bin"]}`, 400, "VALIDATION_FAILED", "inputFiles"},
		{`{"task":"x","inputFiles":["a","b","c","d","e","f","g","h","i"]}`, 400, "VALIDATION_FAILED", "inputFiles"},
		{`{"task":"x","inputFiles":[1]}`, 400, "VALIDATION_FAILED", "inputFiles.0"},
		{`{"task":"x","thinking":"extreme"}`, 400, "VALIDATION_FAILED", "thinking"},
		{`{"task":"x","maxTurns":-1}`, 400, "VALIDATION_FAILED", "maxTurns"},
		{`{"task":"x","maxTurns":"2"}`, 400, "VALIDATION_FAILED", "maxTurns"},
		{`{"task":"x","isolation":"container"}`, 400, "VALIDATION_FAILED", "isolation"},
		{`{"task":"x","background":null}`, 400, "VALIDATION_FAILED", "background"},
		{`{"task":"x","model":"nobody/has-it"}`, 400, "VALIDATION_FAILED", ""},
	} {
		a := w.do(c.status, "POST", at, c.body)
		if a.code() != c.code || !strings.Contains(string(a.body), `"`+c.field+`"`) && c.field != "" {
			t.Errorf("%s: %s", c.body, a.body)
		}
	}
	w.do(404, "POST", "/api/sessions/nobody/subagents", `{"task":"x"}`)
	w.do(200, "PUT", "/api/subagents/settings", `{"enabled":false}`)
	if a := w.do(409, "POST", at, `{"task":"x"}`); a.code() != "SUBAGENTS_OFF" {
		t.Errorf("switched off: %s", a.body)
	}
	if kids := w.kids(id); len(kids) != 0 {
		t.Errorf("children: %v", kids)
	}
}

// TestBudgetByHTTP: limits are recorded in the parent's file, hold at once, and
// only a person sets them.
func TestBudgetByHTTP(t *testing.T) {
	w := delegating(t, `{"steps":[{"text":"ok","repeat":true}]}`)
	id := w.create(`["read"]`)
	at := "/api/sessions/" + id + "/budget"
	a := w.do(200, "PUT", at, `{"total":1,"dollars":2.5}`)
	if l := a.json["limits"].(map[string]any); l["total"] != 1.0 || l["dollars"] != 2.5 || l["turns"] != float64(subagent.DefaultLimits().Turns) {
		t.Errorf("limits %s", a.body)
	}
	for body, field := range map[string]string{`{"total":-1}`: "total", `{"concurrent":33}`: "concurrent", `{"depth":9}`: "depth", `{"tokens":"x"}`: "tokens",
		`{"seconds":1.5}`: "seconds", `{"turns":null}`: "turns", `{"dollars":-0.01}`: "dollars"} {
		if a := w.do(400, "PUT", at, body); !strings.Contains(string(a.body), `"`+field+`"`) {
			t.Errorf("%s: %s", body, a.body)
		}
	}
	child := w.do(201, "POST", "/api/sessions/"+id+"/subagents", `{"task":"x"}`).str("run", "sessionId")
	if a := w.do(409, "POST", "/api/sessions/"+id+"/subagents", `{"task":"x"}`); a.code() != "BUDGET_USED_UP" {
		t.Errorf("the second: %s", a.body)
	}
	w.comesTo(child, "completed")
	if a := w.do(409, "PUT", "/api/sessions/"+child+"/budget", `{"total":50}`); a.code() != "LIMITS_REFUSED" {
		t.Errorf("a child sets limits: %s", a.body)
	}
	w.do(200, "PUT", at, `{"total":2}`)
	w.do(201, "POST", "/api/sessions/"+id+"/subagents", `{"task":"x"}`)
	w.until("both have ended", func() bool {
		return !slices.ContainsFunc(w.kids(id), func(k map[string]any) bool { return k["status"] != "completed" })
	})
	ls, _ := w.rt.Live(w.pathOf(id))
	entries := 0
	for e := range ls.Log().Entries() {
		if e.Type == session.TypeCustom && e.CustomType == subagent.BudgetType {
			entries++
		}
	}
	if entries != 2 {
		t.Errorf("%d entries of a budget", entries)
	}
	// As an answer has them.
	for body, field := range map[string]string{`{"limits":{"total":-1}}`: "total", `{"limits":{"tokens":"x"}}`: "limits.tokens", `{"limits":3}`: "limits", `{"limits":null}`: "limits"} {
		if a := w.do(400, "PUT", at, body); !strings.Contains(string(a.body), `"`+field+`"`) {
			t.Errorf("%s: %s", body, a.body)
		}
	}
	if l := w.do(200, "PUT", at, `{"limits":{"total":3,"dollars":2.5}}`).json["limits"].(map[string]any); l["total"] != 3.0 || l["dollars"] != 2.5 {
		t.Errorf("limits as they were answered became %v", l)
	}
}

func (w *world) pathOf(id string) string {
	w.t.Helper()
	for _, ls := range w.rt.LiveSessions() {
		if ls.ID() == id {
			return ls.Log().Path()
		}
	}
	w.t.Fatalf("%s is not live", id)
	return ""
}

// profiles by source and name.
func (w *world) profiles() map[string]map[string]any {
	w.t.Helper()
	out := map[string]map[string]any{}
	for _, p := range w.do(200, "GET", "/api/subagents/profiles?cwd="+url.QueryEscape(w.project)).json["profiles"].([]any) {
		m := p.(map[string]any)
		out[m["source"].(string)+" "+m["name"].(string)] = m
	}
	return out
}

func (w *world) profileBody(scope string, profile any) string {
	return asJSON(w.t, map[string]any{"cwd": w.project, "scope": scope, "profile": profile})
}

// TestRT1: create, list and delete a project's profile.
func TestRT1(t *testing.T) {
	w := delegating(t, `{"steps":[{"text":"ok","repeat":true}]}`)
	w.do(200, "PUT", "/api/subagents/profiles", w.profileBody("project", map[string]any{"name": "reader", "description": "Reads", "tools": []string{}, "systemPrompt": "BODY"}))
	file := filepath.Join(w.project, ".pi", "agents", "reader.md")
	data, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(data), "\ntools: none\n") || !strings.HasSuffix(string(data), "\nBODY\n") {
		t.Fatalf("the file: %q (%v)", data, err)
	}
	if p := w.profiles()["project reader"]; p["enabled"] != true || p["chatOnly"] != true || p["systemPrompt"] != "BODY" || p["file"] != file {
		t.Errorf("listed as %v", p)
	}
	for range 2 { // also where it is gone
		w.do(200, "DELETE", "/api/subagents/profiles", asJSON(t, map[string]any{"cwd": w.project, "scope": "project", "name": "READER"}))
	}
	if p := w.profiles()["project reader"]; p != nil {
		t.Errorf("deleted, and listed as %v", p)
	}
}

// TestRT2: the same name in two scopes; a switch changes nothing else (D19).
func TestRT2(t *testing.T) {
	w := delegating(t, `{"steps":[{"text":"ok","repeat":true}]}`)
	for _, scope := range []string{"global", "project"} {
		w.do(200, "PUT", "/api/subagents/profiles", w.profileBody(scope, map[string]any{"name": "Both", "systemPrompt": scope, "color": "red", "isolation": "worktree",
			"tools": []string{"read"}, "maxTurns": 4.9, "allowInputFiles": true}))
	}
	file := filepath.Join(w.project, ".pi", "agents", "Both.md")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	w.do(200, "PATCH", "/api/subagents/profiles", asJSON(t, map[string]any{"cwd": w.project, "scope": "project", "name": "both", "enabled": false}))
	after, err := os.ReadFile(file)
	if err != nil || string(after) != strings.Replace(string(before), "enabled: true", "enabled: false", 1) {
		t.Errorf("before\n%s\nafter\n%s(%v)", before, after, err)
	}
	all := w.profiles()
	if p := all["project Both"]; p["enabled"] != false || p["color"] != "red" || p["isolation"] != "worktree" || p["maxTurns"] != 4.0 || p["allowInputFiles"] != true {
		t.Errorf("the project's is %v", p)
	}
	if p := all["global Both"]; p["enabled"] != true || p["overridden"] != true || p["systemPrompt"] != "global" {
		t.Errorf("the user's is %v", p)
	}
}

// TestRT3: a built-in profile is switched in the settings only.
func TestRT3(t *testing.T) {
	w := delegating(t, `{"steps":[{"text":"ok","repeat":true}]}`)
	body := func(name string, on bool) string {
		return asJSON(t, map[string]any{"cwd": w.project, "scope": "builtin", "name": name, "enabled": on})
	}
	w.do(200, "PATCH", "/api/subagents/profiles", body("EXPLORE", false))
	data, err := os.ReadFile(filepath.Join(w.home, ".pi", "agent", "agents", "settings.json"))
	if err != nil || !strings.Contains(string(data), `"disabledBuiltIns": [`) || !strings.Contains(string(data), `"explore"`) {
		t.Errorf("the settings: %s (%v)", data, err)
	}
	if _, err := os.Stat(filepath.Join(w.project, ".pi", "agents")); err == nil {
		t.Error("a file was made")
	}
	if w.profiles()["builtin explore"]["enabled"] != false {
		t.Error("it is on")
	}
	if a := w.do(404, "PATCH", "/api/subagents/profiles", body("nobody", false)); a.code() != "PROFILE_NOT_FOUND" {
		t.Errorf("unknown: %s", a.body)
	}
}

// TestRT4 are the requests that are no good, and a page that cannot be read.
func TestRT4(t *testing.T) {
	w := delegating(t, `{"steps":[{"text":"ok","repeat":true}]}`)
	w.do(400, "GET", "/api/subagents/profiles")
	w.do(400, "GET", "/api/subagents/profiles?cwd=relative")
	w.do(400, "GET", "/api/subagents/profiles?cwd="+url.QueryEscape(filepath.Join(w.home, "nowhere")))
	ok := map[string]any{"name": "x"}
	for _, c := range []struct{ method, body, field string }{
		{"PUT", `{"scope":"project","profile":{"name":"x"}}`, "cwd"},
		{"PUT", asJSON(t, map[string]any{"cwd": w.project, "scope": "project"}), "profile"},
		{"PUT", w.profileBody("project", map[string]any{"name": "../escape"}), "profile.name"},
		{"PUT", w.profileBody("project", map[string]any{}), "profile.name"},
		{"PUT", w.profileBody("project", map[string]any{"name": "x", "thinking": "extreme"}), "profile.thinking"},
		{"PUT", w.profileBody("project", map[string]any{"name": "x", "maxTurns": -1}), "profile.maxTurns"},
		{"PUT", w.profileBody("project", map[string]any{"name": "x", "tools": "read"}), "profile.tools"},
		{"PUT", w.profileBody("workspace", ok), "scope"},
		{"PUT", w.profileBody("builtin", ok), "scope"},
		{"PATCH", asJSON(t, map[string]any{"cwd": w.project, "scope": "project", "enabled": true}), "name"},
		{"PATCH", asJSON(t, map[string]any{"cwd": w.project, "scope": "project", "name": "x"}), "enabled"},
		{"PATCH", asJSON(t, map[string]any{"cwd": w.project, "name": "x", "enabled": true}), "scope"},
		{"DELETE", asJSON(t, map[string]any{"cwd": w.project, "scope": "project"}), "name"},
		{"DELETE", asJSON(t, map[string]any{"cwd": w.project, "scope": "builtin", "name": "explore"}), "scope"},
	} {
		a := w.do(400, c.method, "/api/subagents/profiles", c.body)
		if a.code() != "VALIDATION_FAILED" || !strings.Contains(string(a.body), `"`+c.field+`"`) {
			t.Errorf("%s %s: %s", c.method, c.body, a.body)
		}
	}
	const broken = "---\nname: [\n---\nBODY"
	path := w.put("project/.pi/agents/broken.md", broken)
	if a := w.do(409, "PUT", "/api/subagents/profiles", w.profileBody("project", map[string]any{"name": "broken"})); a.code() != "PROFILE_MALFORMED" {
		t.Errorf("broken: %s", a.body)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != broken {
		t.Errorf("the file is %q (%v)", data, err)
	}
}

// TestSubagentSettings: what is not said stays; a broken file is left alone.
func TestSubagentSettings(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	if a := w.do(200, "GET", "/api/subagents/settings"); a.json["enabled"] != false || a.json["maxConcurrent"] != 10.0 {
		t.Errorf("at first: %s", a.body)
	}
	if a := w.do(200, "PUT", "/api/subagents/settings", `{"maxConcurrent":3}`); a.json["enabled"] != false || a.json["maxConcurrent"] != 3.0 {
		t.Errorf("then: %s", a.body)
	}
	if a := w.do(200, "PUT", "/api/subagents/settings", `{"enabled":true}`); a.json["enabled"] != true || a.json["maxConcurrent"] != 3.0 {
		t.Errorf("on: %s", a.body)
	}
	for _, body := range []string{`{}`, `{"enabled":"yes"}`, `{"maxConcurrent":0}`, `{"maxConcurrent":33}`, `{"maxConcurrent":1.5}`, `{"enabled":null}`} {
		if a := w.do(400, "PUT", "/api/subagents/settings", body); a.code() != "VALIDATION_FAILED" {
			t.Errorf("%s: %s", body, a.body)
		}
	}
	w.put(".pi/agent/agents/settings.json", "{broken")
	if a := w.do(409, "PUT", "/api/subagents/settings", `{"enabled":true}`); a.code() != "SETTINGS_UNREADABLE" {
		t.Errorf("broken: %s", a.body)
	}
}
