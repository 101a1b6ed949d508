package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestMemoryOutside: where a service keeps the memories, they are listed, looked at and
// forgotten by the same addresses, and what the service cannot do is said.
func TestMemoryOutside(t *testing.T) {
	const id = "local_ep_20260528_00000001"
	episode := `{"id":"` + id + `","user_id":"local","app_id":"default","project_id":"default","session_id":"s1","timestamp":"2026-05-28T11:30:36Z","subject":"Plans","episode":"We deploy on Thursdays"}`
	everos := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v2/memory/get":
			var body struct {
				Page int    `json:"page"`
				User string `json:"user_id"`
				App  string `json:"app_id"`
			}
			_ = json.NewDecoder(r.Body).Decode(&body)
			list := ""
			if body.Page == 1 && body.User == "local" && body.App == "default" {
				list = episode
			}
			fmt.Fprintf(w, `{"request_id":"r","data":{"episodes":[%s],"profiles":[],"agent_cases":[],"agent_skills":[],"total_count":1,"count":1}}`, list)
		case "/api/v2/memory/search":
			fmt.Fprintf(w, `{"request_id":"r","data":{"episodes":[%s],"profiles":[],"agent_cases":[],"agent_skills":[],"unprocessed_messages":[]}}`, episode)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(everos.Close)
	w := newWorld(t, slowTalk(t))
	w.put(".pi/agent/piweb.json", fmt.Sprintf(`{"memory":{"upstream":%q}}`, everos.URL))

	got := w.send(w.ask("GET", "/api/memories?limit=5"))
	list, _ := got.json["memories"].([]any)
	if got.status != 200 || len(list) != 1 || got.json["total"] != 1.0 || list[0].(map[string]any)["id"] != id {
		t.Fatalf("%d %s", got.status, got.body)
	}
	if got := w.send(w.ask("GET", "/memories/"+id)); got.str("text") != "We deploy on Thursdays" || got.str("subject") != "Plans" || got.str("timestamp") != "2026-05-28T11:30:36Z" {
		t.Errorf("%d %s", got.status, got.body)
	}
	for _, path := range []string{"/memories/bob_ep_20260528_00000001", "/memories/" + id + "?app_id=other"} {
		if got := w.send(w.ask("GET", path)); got.status != 404 || got.code() != "NOT_FOUND" {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	if got := w.send(w.ask("DELETE", "/api/memories/"+id)); got.status != 200 || got.json["ok"] != true || got.json["kept_by_service"] != true {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := w.send(w.ask("DELETE", "/api/memories/"+id)); got.status != 404 {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := w.send(w.ask("GET", "/api/memories")); strings.Contains(string(got.body), id) || got.json["total"] != 0.0 {
		t.Errorf("%d %s", got.status, got.body)
	}
	if s := w.memories(t, "", "deploy"); len(s.Results) != 0 {
		t.Errorf("%+v", s)
	}
}
