package server

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestResourcesTrustAndReload: what a session would load and has loaded, and a
// person's decision about its folder.
func TestResourcesTrustAndReload(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	rel, err := filepath.Rel(w.home, w.project)
	if err != nil {
		t.Fatal(err)
	}
	w.put(rel+"/.pi/skills/ps/SKILL.md", "---\nname: ps\ndescription: d\n---\nx")
	w.put(".pi/agent/prompts/ut.md", "template")
	id := w.sessionFile("a", "stored", "2026-01-01T00:00:00.000Z", "x")
	_ = id
	at := "/api/sessions/stored/"
	show := func(a answer) string {
		tr, _ := a.json["trust"].(map[string]any)
		n := func(key string) int { l, _ := a.json[key].([]any); return len(l) }
		return fmt.Sprintf("live %v trusted %v ask %v skills %d templates %d", a.json["live"], tr["trusted"], tr["ask"], n("skills"), n("templates"))
	}
	if got := show(w.do(200, "GET", at+"resources")); got != "live false trusted false ask true skills 0 templates 1" {
		t.Error(got)
	}
	for _, body := range []string{`{}`, `{"trusted":"yes"}`, `{"trusted":1}`} {
		if a := w.send(w.ask("POST", at+"trust", body)); a.status != 400 || a.code() != "VALIDATION_FAILED" {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
	if a := w.send(w.ask("POST", at+"trust", `{"trusted":true}`)); a.status != 200 || show(a) != "live false trusted true ask false skills 1 templates 1" {
		t.Errorf("trusted: %d %s", a.status, a.body)
	}
	if a := w.send(w.ask("POST", at+"reload", `{}`)); a.status != 200 || show(a) != "live true trusted true ask false skills 1 templates 1" {
		t.Errorf("reload: %d %s", a.status, a.body)
	}
	// The live session keeps what it has until it is reloaded.
	if a := w.send(w.ask("POST", at+"trust", `{"trusted":false}`)); a.status != 200 || show(a) != "live true trusted false ask false skills 1 templates 1" {
		t.Errorf("no trust: %d %s", a.status, a.body)
	}
	if a := w.send(w.ask("POST", at+"reload", `{}`)); show(a) != "live true trusted false ask false skills 0 templates 1" || !strings.Contains(string(a.body), "not trusted") {
		t.Errorf("reload without trust: %d %s", a.status, a.body)
	}
	if a := w.send(w.ask("POST", at+"trust", `{"trusted":null}`)); show(a) != "live true trusted false ask true skills 0 templates 1" {
		t.Errorf("taken back: %d %s", a.status, a.body)
	}
	for _, path := range []string{"resources", "reload", "trust"} {
		method, body := "POST", `{"trusted":true}`
		if path == "resources" {
			method, body = "GET", ""
		}
		if a := w.send(w.ask(method, "/api/sessions/nobody/"+path, body)); a.status != 404 {
			t.Errorf("%s of an unknown session: %d", path, a.status)
		}
	}
}
