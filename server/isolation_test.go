package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/agent/model/modeltest"
)

// canary stands in everything that alice has. Nobody else may ever read it.
const canary = "CANARY-OF-ALICE"

// bodies are what is sent to routes that want one. A route that changes something
// and is not here is sent an empty object.
var bodies = map[string]string{
	"POST sessions":                        `{"source":"","tools":[]}`,
	"POST sessions/rename":                 `{"sessionId":"{id}","name":"renamed by a stranger"}`,
	"POST sessions/delete":                 `{"sessionId":"{id}"}`,
	"POST sessions/favorites":              `{"sessionIds":["x"]}`,
	"PUT agent-sources/favorites":          `{"sources":["/x"]}`,
	"POST session-source":                  `{"id":"{id}","source":"x"}`,
	"POST trash/restore":                   `{"sessionId":"{trashed}"}`,
	"POST sessions/:id/messages":           `{"message":"hello"}`,
	"POST sessions/:id/steer":              `{"message":"hello"}`,
	"POST sessions/:id/follow_up":          `{"message":"hello"}`,
	"POST sessions/:id/ui-response":        `{"type":"extension_ui_response","id":"x","confirmed":true}`,
	"POST sessions/:id/navigate":           `{"entryId":"{entry}"}`,
	"POST sessions/:id/models":             `{"provider":"rec","modelId":"m2"}`,
	"POST sessions/:id/thinking":           `{"level":"low"}`,
	"PUT sessions/:id/tools":               `{"tools":[]}`,
	"POST sessions/:id/trust":              `{"trusted":true}`,
	"POST sessions/:id/subagents":          `{"profile":"general-purpose","task":"look"}`,
	"POST subagents/:id":                   `{"action":"steer","message":"hello"}`,
	"POST sessions/:id/fork":               `{"entryId":"{entry}"}`,
	"POST sessions/:id/forks":              `{"entryId":"{entry}"}`,
	"PUT sessions/:id/labels/:entryId":     `{"label":"mine now"}`,
	"POST sessions/:id/state":              `{"key":"k","value":1}`,
	"POST sessions/:id/ui-rpc":             `{"correlationId":"c","point":"slash","action":"list","protocolVersion":"0.1.0"}`,
	"POST memories/add":                    `{"session_id":"s","messages":[{"sender_id":"{me}","role":"user","timestamp":1767225600000,"content":"{mark} of somebody"}]}`,
	"POST memories/search":                 `{"query":"` + canary + `","user_id":"{me}"}`,
	"POST memories/flush":                  `{"session_id":"s"}`,
	"PUT subagents/settings":               `{"enabled":true}`,
	"PUT subagents/profiles":               `{"scope":"global","cwd":"/","profile":{"name":"x","systemPrompt":"x"}}`,
	"PATCH subagents/profiles":             `{"scope":"global","cwd":"/","name":"x","enabled":true}`,
	"DELETE subagents/profiles":            `{"scope":"global","cwd":"/","name":"x"}`,
	"POST sessions/:id/agent-routes/:name": `{}`,
	"POST sessions/:id/attachments":        "multipart",
	"POST resources":                       "multipart",
}

// queries are what is asked besides a route's path, so that a list that searches
// searches for what must not be found.
var queries = map[string]string{
	"GET sessions":                        "?q=CANARY",
	"GET search":                          "?q=" + canary,
	"GET bootstrap":                       "?sessionId={id}",
	"GET memories":                        "?user_id=alice&limit=100",
	"GET resources":                       "?user_id=alice&limit=100",
	"GET subagents/profiles":              "?cwd={cwd}",
	"GET sessions/:id/completion":         "?trigger=%23&q=CANARY",
	"GET sessions/:id/completion/preview": "?path=AGENTS.md",
	"GET sessions/:id/artifacts/page":     "?id=0",
	"GET sessions/:id/artifacts/search":   "?id=0&q=x",
	"GET sessions/:id/artifacts/raw":      "?id=0",
}

// TestIsolation goes through the whole table of routes: for nobody, for a user whose
// things they are not, for one who may only read figures, for the owner, for an
// administrator. A route that is added is in it by being added; if it is not clear
// for whom it is, the test says so.
func TestIsolation(t *testing.T) {
	p := newPeopleOn(t, modeltest.Parse(t, `{"steps":[{"text":"`+canary+` said the model","repeat":true}]}`), func(c *Config) { c.Limits.FailedRate = -1 })
	her := p.furnish("alice")
	his := p.createAs("bob")
	for _, trigger := range []string{"%23", "@", "/"} { // in a session of one's own, too
		if a := p.send(p.as("bob", "GET", "/api/sessions/"+his+"/completion?trigger="+trigger+"&q=CANARY")); a.status != 200 || bytes.Contains(a.body, []byte(canary)) || bytes.Contains(a.body, []byte(her["id"])) {
			t.Errorf("another's session is offered: %d %s", a.status, a.body)
		}
	}
	if a := p.send(p.as("alice", "GET", "/api/sessions/"+p.createAs("alice")+"/completion?trigger=%23&q=CANARY")); !bytes.Contains(a.body, []byte(canary)) {
		t.Errorf("the test looks for what is not offered to anybody: %s", a.body)
	}
	routes := p.server.routes.routes
	for _, r := range routes {
		if r.access == ofSession && !strings.HasPrefix(r.pattern(), "sessions/:id") && !strings.HasPrefix(r.pattern(), "subagents/:id") {
			t.Errorf("%s %s names no session, so it must say for whom it is: rt.is(personal), shared or forAdmins", r.method, r.pattern())
		}
	}
	before, err := os.ReadFile(her["path"])
	if err != nil {
		t.Fatal(err)
	}
	lists := p.everythingOf("alice")
	for _, r := range routes {
		name := r.method + " " + r.pattern()
		t.Run("strangers "+name, func(t *testing.T) {
			p.strangers(t, r, name, her)
		})
	}
	if a := p.send(p.as("bob", "POST", "/api/sessions", `{"source":"","resumeId":"`+her["id"]+`"}`)); a.status != 404 {
		t.Errorf("another's session is gone on with: %d %s", a.status, a.body)
	}
	if a := p.send(p.as("bob", "POST", "/api/sessions/"+his+"/messages", `{"message":"look","attachmentIds":["`+her["attachmentId"]+`"]}`)); a.status != 400 {
		t.Errorf("another's attachment is sent: %d %s", a.status, a.body)
	}
	if a := p.send(p.as("bob", "POST", "/api/memories/search", `{"query":"`+canary+`","user_id":"alice"}`)); a.status != 403 {
		t.Errorf("a search in another's memories: %d %s", a.status, a.body)
	}
	if after, _ := os.ReadFile(her["path"]); !bytes.Equal(before, after) {
		t.Errorf("strangers changed the session's file:\n%s", after[len(before):])
	}
	if after := p.everythingOf("alice"); after != lists {
		t.Errorf("strangers changed what alice sees, from\n%s\nto\n%s", lists, after)
	}
	// What ends the session comes last.
	ends := func(r route) int {
		return slices.Index([]string{"DELETE sessions/:id", "POST sessions/delete"}, r.method+" "+r.pattern())
	}
	sorted := slices.Clone(routes)
	sort.SliceStable(sorted, func(i, k int) bool { return ends(sorted[i]) < ends(sorted[k]) })
	for _, r := range sorted {
		name := r.method + " " + r.pattern()
		t.Run("owner "+name, func(t *testing.T) {
			for _, user := range []string{"root", "alice"} {
				if user == "alice" && r.access == forAdmins {
					continue
				}
				a := p.call(t, user, r, name, her)
				if a.status == 401 || a.status == 403 || a.status >= 500 || r.access == ofSession && a.code() == "SESSION_NOT_FOUND" && ends(r) < 0 {
					t.Errorf("%s gets %d %s: the test does not reach what it must not reach for others", user, a.status, a.body)
				}
			}
		})
	}
	p.rest()
	ctx := context.WithValue(t.Context(), whoKey{}, machine)
	all, err := p.server.everything(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if owner, err := p.rt.Owners().Of(s.key); owner == "" || err != nil {
			t.Errorf("the session %s was made by a route and belongs to nobody (%v): s.own", s.key, err)
		}
	}
}

// strangers asks as everybody who may not.
func (p *people) strangers(t *testing.T, r route, name string, her map[string]string) {
	nobody := p.build("", r, name, her).with("Authorization", "")
	if a := p.send(nobody); a.status != http.StatusUnauthorized {
		t.Errorf("without a token: %d %s", a.status, a.body)
	}
	if a := p.call(t, "ops", r, name, her); a.status != http.StatusForbidden {
		t.Errorf("for figures only: %d %s", a.status, a.body)
	}
	a := p.call(t, "bob", r, name, her)
	if r.access == forAdmins {
		if a.status != http.StatusForbidden {
			t.Errorf("it is for administrators, and a user gets %d %s", a.status, a.body)
		}
		return
	}
	if a.status >= 500 {
		t.Errorf("%d %s", a.status, a.body)
	}
	for what, secret := range map[string]string{"the canary": canary, "the file": her["path"], "the session": her["id"], "an attachment": her["attachmentId"], "the subagent": her["child"]} {
		asked := p.build("bob", r, name, her)
		if bytes.Contains(a.body, []byte(secret)) && !strings.Contains(asked.path+asked.body, secret) {
			t.Errorf("a user is told %s of another: %s", what, a.body)
		}
	}
	if r.access != ofSession {
		return
	}
	// Somebody else's is as if it were not there: the very answer of what does not exist.
	none := map[string]string{}
	for k, v := range her {
		none[k] = v
	}
	none["id"], none["child"] = "01900000-0000-7000-8000-000000000000", "01900000-0000-7000-8000-000000000000"
	missing := p.call(t, "bob", r, name, none)
	if a.status != http.StatusNotFound || missing.status != a.status || !bytes.Equal(a.body, missing.body) {
		t.Errorf("another's is %d %s\nand one that does not exist %d %s", a.status, a.body, missing.status, missing.body)
	}
}

// build is a request for a route, with everything filled in.
func (p *people) build(user string, r route, name string, fill map[string]string) *ask {
	segs := slices.Clone(r.segments)
	for i, s := range segs {
		if !strings.HasPrefix(s, ":") {
			continue
		}
		key := s[1:]
		if key == "id" && segs[0] == "subagents" {
			key = "child"
		}
		v, ok := fill[key]
		if !ok {
			v = "none"
		}
		segs[i] = v
	}
	path := "/api/" + strings.Join(segs, "/")
	text := func(s string) string {
		for k, v := range fill {
			s = strings.ReplaceAll(s, "{"+k+"}", v)
		}
		return personalised(s, user)
	}
	path += text(queries[name])
	method := r.method
	if r.pattern() == streamRoute {
		method = http.MethodHead // a stream does not end by itself
	}
	body, ok := bodies[name]
	switch {
	case !changes(&http.Request{Method: r.method}):
		return p.as(user, method, path)
	case body == "multipart":
		a := p.as(user, method, path)
		a.body = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{mark}.txt\"\r\nContent-Type: text/plain\r\n\r\n{mark} bytes\r\n--b--\r\n"
		a.body = personalised(a.body, user)
		return a.with("Content-Type", "multipart/form-data; boundary=b")
	case !ok:
		body = `{}`
	}
	return p.as(user, method, path, text(body))
}

// personalised is a text with the user's name, and with the mark that only alice's
// things have.
func personalised(text, user string) string {
	mark := "nothing of hers"
	if user == "alice" {
		mark = canary
	}
	return strings.NewReplacer("{me}", user, "{mark}", mark).Replace(text)
}

func (p *people) call(t *testing.T, user string, r route, name string, fill map[string]string) answer {
	t.Helper()
	a := p.send(p.build(user, r, name, fill))
	if a.status == http.StatusTooManyRequests {
		t.Fatalf("the test asks too much: %s", a.body)
	}
	return a
}

// furnish gives a user a session with a turn, an attachment and a subagent, a deleted
// session, a memory, a resource and a favourite. Each holds the canary.
func (p *people) furnish(user string) map[string]string {
	p.t.Helper()
	must := func(status int, a *ask) answer {
		p.t.Helper()
		got := p.send(a)
		if got.status != status {
			p.t.Fatalf("%s %s: %d %s", a.method, a.path, got.status, got.body)
		}
		return got
	}
	must(200, p.as("root", "PUT", "/api/subagents/settings", `{"enabled":true}`))
	turn := func() string {
		id := must(201, p.as(user, "POST", "/api/sessions", `{"source":""}`)).str("sessionId")
		must(200, p.as(user, "POST", "/api/sessions/"+id+"/messages", `{"message":"`+canary+` asked"}`))
		p.idle(id)
		return id
	}
	gone := turn()
	must(200, p.as(user, "POST", "/api/sessions/delete", `{"sessionId":"`+gone+`"}`))
	id := turn()
	must(200, p.as(user, "POST", "/api/sessions/rename", `{"sessionId":"`+id+`","name":"`+canary+`"}`))
	fill := map[string]string{"id": id, "trashed": gone, "cwd": p.project, "path": p.path(id), "name": "x", "sha256": strings.Repeat("0", 64)}
	up := p.build(user, route{method: "POST", segments: segments("sessions/:id/attachments")}, "POST sessions/:id/attachments", fill)
	fill["attachmentId"] = must(200, up).str("attachment", "id")
	child := must(201, p.as(user, "POST", "/api/sessions/"+id+"/subagents", `{"profile":"general-purpose","task":"`+canary+`"}`))
	fill["child"] = child.str("run", "sessionId")
	res := must(200, p.build(user, route{method: "POST", segments: segments("resources")}, "POST resources", fill))
	fill["resourceId"] = res.str("id")
	must(200, p.as(user, "POST", "/api/memories/add", personalised(bodies["POST memories/add"], user)))
	must(200, p.as(user, "POST", "/api/memories/flush", bodies["POST memories/flush"]))
	fill["memoryId"] = firstID(must(200, p.as(user, "GET", "/api/memories")))
	must(200, p.as(user, "POST", "/api/sessions/favorites", `{"sessionIds":["`+id+`"]}`))
	p.rest()
	var messages struct {
		Messages []struct {
			EntryID string `json:"entryId"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(must(200, p.as(user, "GET", "/api/sessions/"+id+"/messages")).body, &messages); err != nil || len(messages.Messages) == 0 {
		p.t.Fatalf("no messages: %v", err)
	}
	fill["entryId"], fill["entry"] = messages.Messages[0].EntryID, messages.Messages[0].EntryID
	return fill
}

// firstID is the id of the first thing of a list.
func firstID(a answer) string {
	for _, v := range a.json {
		if list, ok := v.([]any); ok && len(list) > 0 {
			m, _ := list[0].(map[string]any)
			id, _ := m["id"].(string)
			return id
		}
	}
	return ""
}

// rest waits until nothing runs.
func (p *people) rest() {
	p.t.Helper()
	p.until("nothing runs", func() bool {
		ctx, cancel := context.WithCancel(p.t.Context())
		cancel()
		return p.server.quiet(ctx)
	})
}

// everythingOf is what somebody's lists show.
func (p *people) everythingOf(user string) string {
	p.t.Helper()
	var all []string
	for _, path := range []string{"sessions", "trash", "memories", "resources", "sessions/favorites", "agent-sources/favorites"} {
		a := p.send(p.as(user, "GET", "/api/"+path))
		all = append(all, fmt.Sprintf("%s: %d %s", path, a.status, a.body))
	}
	return strings.Join(all, "\n")
}
