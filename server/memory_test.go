package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// multipartFile is a body with a file behind other fields.
func multipartFile(t *testing.T, name, data string, fields map[string]string) (body, kind string) {
	t.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	for k, v := range fields {
		if err := m.WriteField(k, v); err != nil {
			t.Fatal(err)
		}
	}
	part, err := m.CreateFormFile("file", name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write([]byte(data)); err != nil {
		t.Fatal(err)
	}
	m.Close()
	return b.String(), m.FormDataContentType()
}

type searched struct {
	Results []struct {
		SessionID   string `json:"session_id"`
		Text        string `json:"text"`
		Raw         map[string]any
		Attachments []struct {
			Type, Name string
			URI        string `json:"internal_uri"`
		}
	}
}

func (w *world) memories(t *testing.T, root, query string) searched {
	t.Helper()
	got := w.send(w.ask("POST", root+"/memories/search", fmt.Sprintf(`{"query":%q}`, query)))
	var s searched
	if err := json.Unmarshal(got.body, &s); err != nil || got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	return s
}

// TestMemoryRoutes: add, search, list and forget, uploads: at the root and below /api
// alike.
func TestMemoryRoutes(t *testing.T) {
	for _, root := range []string{"", "/api"} {
		t.Run("at "+root+"/", func(t *testing.T) {
			w := newWorld(t, slowTalk(t))
			got := w.send(w.ask("POST", root+"/memories/add", `{"session_id":"s1","messages":[{"sender_id":"local","role":"user","timestamp":1750000000000,"content":[{"type":"text","text":"The 网关 is in plan.png"},{"type":"image","name":"plan.png","base64":"UE5H"},{"type":"image","name":"other.png","uri":"https://h/other.png"}]}]}`))
			if got.status != 200 || len(got.str("request_id")) != 32 || got.str("data", "status") != "accumulated" || got.json["protocolVersion"] != nil {
				t.Fatalf("%d %s", got.status, got.body)
			}
			if flushed := w.send(w.ask("POST", root+"/memories/flush", `{"session_id":"s1"}`)); flushed.status != 200 || flushed.str("data", "status") == "" {
				t.Errorf("flush: %d %s", flushed.status, flushed.body)
			}
			s := w.memories(t, root, "网关")
			if len(s.Results) != 1 || len(s.Results[0].Attachments) != 2 || s.Results[0].Raw["type"] != "Conversation" {
				t.Fatalf("%+v", s)
			}
			path := strings.TrimPrefix(s.Results[0].Attachments[0].URI, "file://")
			if data, err := os.ReadFile(path); err != nil || string(data) != "PNG" {
				t.Errorf("%s: %q, %v", path, data, err)
			}
			if rel, err := filepath.Rel(filepath.Join(w.rt.AgentDir(), "piweb-data", "memory", "storage", "local", "memory_attachments"), path); err != nil || !filepath.IsLocal(rel) {
				t.Errorf("stored at %s", path)
			}
			if got := w.send(w.ask("POST", root+"/memories/search?shape=upstream", `{"query":"网关"}`)); len(got.json["data"].(map[string]any)["episodes"].([]any)) != 1 || !strings.Contains(string(got.body), `"agent_skills":[]`) {
				t.Errorf("%s", got.body)
			}
			got = w.send(w.ask("GET", root+"/memories?limit=5"))
			list, _ := got.json["memories"].([]any)
			if len(list) != 1 || got.json["total"] != 1.0 {
				t.Fatalf("%s", got.body)
			}
			id := list[0].(map[string]any)["id"].(string)
			if got = w.send(w.ask("GET", root+"/memories/"+id)); got.str("session_id") != "s1" {
				t.Errorf("%s", got.body)
			}
			if got = w.send(w.ask("DELETE", root+"/memories/"+id)); got.status != 200 {
				t.Errorf("%s", got.body)
			}
			if got = w.send(w.ask("GET", root+"/memories/"+id)); got.status != 404 || got.code() != "NOT_FOUND" {
				t.Errorf("%s", got.body)
			}
			if s := w.memories(t, root, "网关"); len(s.Results) != 0 {
				t.Errorf("%+v", s)
			}
			if _, err := os.Stat(path); err == nil {
				t.Error("the file of a forgotten session is left")
			}

			body, kind := multipartFile(t, "re\u0301sume\u0301.png", "bytes", map[string]string{"description": "my life"})
			for i, again := range []bool{false, true} {
				got = w.send(w.ask("POST", root+"/resources", body).with("Content-Type", kind))
				if got.status != 200 || got.json["duplicate"] != again || !strings.HasPrefix(got.str("uri"), "resource://") || strings.Contains(string(got.body), "file:") {
					t.Fatalf("upload %d: %d %s", i, got.status, got.body)
				}
			}
			id = got.str("id")
			if s := w.memories(t, root, "life"); len(s.Results) != 1 || len(s.Results[0].Attachments) != 1 || s.Results[0].SessionID != "resource:local:"+id {
				t.Errorf("%+v", s)
			}
			if got = w.send(w.ask("GET", root+"/resources")); got.json["total"] != 1.0 || strings.Contains(string(got.body), "file:") {
				t.Errorf("%s", got.body)
			}
			if got = w.send(w.ask("GET", root+"/resources/"+id)); got.str("uri") != "resource://"+id {
				t.Errorf("%s", got.body)
			}
			if got = w.send(w.ask("DELETE", root+"/resources/"+id)); got.status != 200 {
				t.Errorf("%s", got.body)
			}
			if got = w.send(w.ask("GET", root+"/resources/"+id)); got.status != 404 {
				t.Errorf("%s", got.body)
			}
		})
	}
}

// TestMemoryRefusals: the same guard stands in front of the addresses at the root.
func TestMemoryRefusals(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	add := `{"session_id":"s","messages":[{"role":"user","content":"x"}]}`
	for _, c := range []struct {
		name   string
		ask    *ask
		status int
		code   string
	}{
		{"no token", w.ask("POST", "/memories/add", add).with("Authorization", ""), 401, "UNAUTHORIZED"},
		{"reading without a token", w.ask("GET", "/memories").with("Authorization", ""), 401, "UNAUTHORIZED"},
		{"another site", w.ask("POST", "/memories/add", add).with("Origin", "https://evil.example"), 403, "FORBIDDEN_ORIGIN"},
		{"another site reads", w.ask("GET", "/resources").with("Origin", "https://evil.example"), 403, "FORBIDDEN_ORIGIN"},
		{"a form", w.ask("POST", "/memories/add", add).with("Content-Type", "text/plain"), 415, "UNSUPPORTED_MEDIA_TYPE"},
		{"another user", w.ask("POST", "/memories/add", `{"user_id":"bob","session_id":"s","messages":[{"role":"user","content":"x"}]}`), 403, "FORBIDDEN"},
		{"another sender", w.ask("POST", "/memories/add", `{"session_id":"s","messages":[{"sender_id":"bob","role":"user","content":"x"}]}`), 403, "FORBIDDEN"},
		{"no JSON", w.ask("POST", "/memories/add", `{`), 422, "INVALID_INPUT"},
		{"no words", w.ask("POST", "/memories/search", `{"query":" "}`), 422, "INVALID_INPUT"},
		{"a bad page", w.ask("GET", "/memories?limit=-1"), 400, "VALIDATION_FAILED"},
		{"no file", w.ask("POST", "/resources", `{}`), 400, "NO_FILE"},
		{"another method", w.ask("PUT", "/memories/add", add), 405, "METHOD_NOT_ALLOWED"},
		{"nothing there", w.ask("GET", "/resources/a/b"), 404, "NOT_FOUND"},
		{"a path as an id", w.ask("GET", "/resources/..%2f..%2fx"), 404, "NOT_FOUND"},
	} {
		if got := w.send(c.ask); got.status != c.status || got.code() != c.code {
			t.Errorf("%s: %d %s", c.name, got.status, got.body)
		}
	}
	if s := w.memories(t, "", "x"); len(s.Results) != 0 {
		t.Errorf("something was kept: %+v", s)
	}
	w.put(".pi/agent/piweb.json", `{"memory":{"off":true}}`)
	off := newWorld(t, slowTalk(t))
	off.put(".pi/agent/piweb.json", `{"memory":{"off":true}}`)
	if got := off.send(off.ask("GET", "/memories")); got.status != 404 || got.code() != "MEMORY_OFF" {
		t.Errorf("%d %s", got.status, got.body)
	}
}
