package server

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

// completed asks for a completion until it is final.
func (w *world) completed(id, trigger, q string) (a struct {
	Items []struct {
		ProviderID, Kind, ID, Label, InsertText, Detail string
		Score                                           float64
		Folder                                          bool
		Matches                                         [][2]int
	}
	Groups  []struct{ Kind string }
	Partial bool
}) {
	w.t.Helper()
	w.until("the completion is final", func() bool {
		a.Partial = false
		body := w.do(200, "GET", "/api/sessions/"+id+"/completion?trigger="+url.QueryEscape(trigger)+"&q="+url.QueryEscape(q)).body
		a.Items = nil
		if err := json.Unmarshal(body, &a); err != nil {
			w.t.Fatal(err)
		}
		return !a.Partial
	})
	return a
}

func TestCompletionOverHTTP(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	w.put("project/src/app.ts", "one\ntwo\nthree\n")
	w.put("project/a \"b\" 文.txt", "x")
	w.put("project/.gitignore", "*.log\n")
	w.put("project/x.log", "x")
	w.put("project/.git/config", "[secret]")
	w.put("outside.txt", "OUTSIDE")
	w.put(".pi/agent/prompts/fix.md", "Fix $1")
	live := w.create("")
	w.sessionFile("one", "11111111-0000-7000-8000-000000000001", "2026-01-02T00:00:00.000Z", "the first words")

	for _, id := range []string{live, "11111111-0000-7000-8000-000000000001"} {
		body := string(w.do(200, "GET", "/api/sessions/"+id+"/completion/triggers").body)
		for _, want := range []string{`{"trigger":"@","extract":"wordTail"}`, `{"trigger":"/","extract":"lineStart"}`, `{"trigger":"#","extract":"wordTail"}`} {
			if !strings.Contains(body, want) {
				t.Errorf("triggers: %s has no %s", body, want)
			}
		}
		a := w.completed(id, "＠", "app")
		if len(a.Items) == 0 || a.Items[0].ID != "src/app.ts" || a.Items[0].Label != "src/app.ts" || a.Items[0].InsertText != "@file:src/app.ts" || a.Items[0].Score < 1 || a.Items[0].ProviderID != "file" || len(a.Items[0].Matches) != 1 || a.Groups[0].Kind != "file" {
			t.Errorf("app: %+v", a)
		}
		if a := w.completed(id, "@", "文"); len(a.Items) != 1 || a.Items[0].InsertText != `@file:"a \"b\" 文.txt"` {
			t.Errorf("文: %+v", a.Items)
		}
		if a := w.completed(id, "@", "log"); len(a.Items) != 0 {
			t.Errorf("an ignored file is offered: %+v", a.Items)
		}
		if a := w.completed(id, "@", "!x.log"); len(a.Items) != 1 {
			t.Errorf("an ignored file is not offered where it is asked for: %+v", a.Items)
		}
		if a := w.completed(id, "/", "fi"); len(a.Items) != 1 || a.Items[0].Kind != "template" || a.Items[0].InsertText != "/fix" {
			t.Errorf("/fi: %+v", a.Items)
		}
	}
	if a := w.completed(live, "#", "first"); len(a.Items) != 1 || a.Items[0].InsertText != "#session:11111111-0000-7000-8000-000000000001" || a.Items[0].Label != "the first words" {
		t.Errorf("#first: %+v", a.Items)
	}
	for _, q := range []string{"", "?trigger=&q=a", "?trigger=%25&q=a", "?trigger=@@"} {
		if body := string(w.do(200, "GET", "/api/sessions/"+live+"/completion"+q).body); body != `{"items":[],"groups":[],"protocolVersion":"0.1.0"}` {
			t.Errorf("%s: %s", q, body)
		}
	}
	for _, path := range []string{"completion", "completion/triggers", "completion/preview"} {
		if a := w.send(w.ask("GET", "/api/sessions/nobody/"+path)); a.status != 404 || a.code() != "SESSION_NOT_FOUND" {
			t.Errorf("%s of an unknown session: %d %s", path, a.status, a.body)
		}
		if a := w.send(w.ask("GET", "/api/sessions/"+live+"/"+path).with("Authorization", "")); a.status != 401 {
			t.Errorf("%s without a token: %d", path, a.status)
		}
	}

	if a := w.do(200, "GET", "/api/sessions/"+live+"/completion/preview?path="+url.QueryEscape("src/app.ts#L2")); a.str("text") != "two\nthree\n" || a.str("path") != "src/app.ts" {
		t.Errorf("preview: %s", a.body)
	}
	// What lies outside, in git's folder or nowhere is one answer.
	for _, path := range []string{"../outside.txt", w.home + "/outside.txt", ".git/config", "nothing", "", "a\x00b"} {
		if a := w.send(w.ask("GET", "/api/sessions/"+live+"/completion/preview?path="+url.QueryEscape(path))); a.status != 404 || a.code() != "FILE_NOT_FOUND" {
			t.Errorf("preview of %q: %d %s", path, a.status, a.body)
		}
	}
}
