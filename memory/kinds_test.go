package memory

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// kinds are the services besides EverOS, with what they are asked and answer.
var kinds = []struct {
	kind                Kind
	add, search, health string
	token               string
	added, found, no    string // answers: taken, hits, a refusal
}{
	{KindMem0, "/v3/memories/add/", "/v3/memories/search/", "/v1/ping/", "Token k",
		`{"message":"Memory processing has been queued","status":"PENDING","event_id":"0f"}`,
		`{"results":[
{"id":"m1","memory":"Likes the plan","user_id":"local","app_id":"default","run_id":"s1","metadata":{"project_id":"default","session_id":"s1","files":["plan.png"]},"categories":null,"created_at":"2026-01-02T03:04:05-08:00","updated_at":"2026-01-02T03:04:05-08:00","score":0.8,"later":1e400},
{"id":"m2","memory":"plan.png of another run","user_id":"local","run_id":"s2","metadata":null,"created_at":"2026-01-02T03:04:05Z"},
{"id":"m3","memory":"plan.png of bob","user_id":"bob","run_id":"s1","metadata":{}},
{"id":"m4","memory":"plan.png of another project","user_id":"local","run_id":"s1","metadata":{"project_id":"other"}},
{"id":"m5","memory":"plan.png of another app","user_id":"local","app_id":"other","run_id":"s1"}]}`,
		`{"detail":"words of the service"}`},
	{KindEverMemOS, "/api/v1/memories", "/api/v1/memories/search", "/health", "Bearer k",
		`{"status":"ok","message":"1 message","result":{"count":1,"status_info":"extracted"}}`,
		`{"status":"ok","result":{"memories":[
{"s1":[{"id":"m1","user_id":"local","summary":"sum","episode":"Likes the plan.png","timestamp":"2026-01-02T03:04:05Z","later":1e400}],"s2":[{"id":"m2","user_id":"local","episode":"plan.png of another run"}]},
{"id":"m3","user_id":"bob","session_id":"s1","episode":"plan.png of bob"}],
"scores":[{"s2":[0.2],"s1":[0.8]}],
"pending_messages":[{"id":"p1","session_id":"s1","content":"mine"},{"id":"p2","session_id":"of-bob","content":"a secret of bob"}]}}`,
		`{"detail":"words of the service"}`},
}

func kindOption(v *service, kind Kind) func(*Options) {
	return func(o *Options) {
		o.Upstream = &UpstreamConfig{Kind: kind, URL: v.url, Token: "k", Timeout: time.Minute, Backoff: time.Millisecond}
	}
}

// TestKinds: each service is told what was said in its own shape, and its answers
// become the same results, of which those of others are left out.
func TestKinds(t *testing.T) {
	for _, k := range kinds {
		t.Run(string(k.kind), func(t *testing.T) {
			v := startService(t, func(path string, _ int, w http.ResponseWriter) {
				switch path {
				case k.search:
					io.WriteString(w, k.found)
				default:
					io.WriteString(w, k.added)
				}
			})
			s := open(t, kindOption(v, k.kind))
			body := message("local", "s1", text("This is the plan"), image("plan.png", "", b64("PNG")))
			r, err := s.Add(ctx, "local", body)
			if err != nil || !r.OK() || !strings.Contains(string(r.Body), `"message_count":1`) {
				t.Fatalf("%s, %v", r.Body, err)
			}
			sent := v.asked(k.add)
			if len(sent) != 1 || v.header("Authorization") != k.token {
				t.Fatalf("%q, %s", sent, v.header("Authorization"))
			}
			var told map[string]json.RawMessage
			if err := json.Unmarshal([]byte(sent[0]), &told); err != nil || string(told["user_id"]) != `"local"` {
				t.Errorf("%s, %v", sent[0], err)
			}
			switch k.kind {
			case KindMem0:
				if strings.Contains(sent[0], "base64") || !strings.Contains(sent[0], `"run_id":"s1"`) || !strings.Contains(sent[0], `"files":["plan.png"]`) ||
					string(told["messages"]) != `[{"role":"user","content":"This is the plan\n[attached: plan.png]"}]` || string(told["timestamp"]) != "1750000000" {
					t.Errorf("%s", sent[0])
				}
			case KindEverMemOS:
				if !strings.Contains(string(body), string(told["messages"])) || string(told["session_id"]) != `"s1"` {
					t.Errorf("%s", sent[0])
				}
			}
			f := search(t, s, "local", obj{"query": "plan", "top_k": 7})
			var got []string
			for _, it := range f.Results {
				got = append(got, it.ID)
			}
			if !slices.Equal(got, []string{"m1", "m2"}) {
				t.Fatalf("%v", got)
			}
			first := f.Results[0]
			if *first.SessionID != "s1" || *first.Score != 0.8 || !strings.HasPrefix(first.Text, "Likes") || !strings.HasPrefix(first.Timestamp, "2026-01-02") || !strings.Contains(string(first.Raw), `"later":1e400`) {
				t.Errorf("%+v", first)
			}
			if len(first.Attachments) != 1 || first.Attachments[0].Name != "plan.png" || len(f.Results[1].Attachments) != 0 {
				t.Errorf("%+v", f.Results)
			}
			asked := strings.Join(append(v.asked(k.search), v.queries...), " ")
			for _, part := range map[Kind][]string{KindMem0: {`"top_k":7`, `{"user_id":"local"}`, `{"app_id":"default"}`}, KindEverMemOS: {"top_k=7", "user_id=local", "retrieve_method=hybrid"}}[k.kind] {
				if !strings.Contains(asked, part) {
					t.Errorf("asked %s, without %s", asked, part)
				}
			}
			f = search(t, s, "local", obj{"query": "plan", "filters": obj{"session_id": "s1", "timestamp": obj{"gte": 1_750_000_000, "lte": "2026-01-03T00:00:00Z"}}})
			for _, it := range f.Results {
				if it.Type == "message" && it.ID != "p1" {
					t.Errorf("a message of another: %+v", it)
				}
			}
			asked = strings.Join(append(v.asked(k.search), v.queries...), " ")
			for _, part := range map[Kind][]string{KindMem0: {`{"run_id":"s1"}`, `"gte":"2025-06-15`, `"lte":"2026-01-03`}, KindEverMemOS: {"session_id=s1", "start_time=1750000000000", "end_time=1767398400000"}}[k.kind] {
				if !strings.Contains(asked, part) {
					t.Errorf("asked %s, without %s", asked, part)
				}
			}
			for _, filters := range []obj{{"sender_id": "x"}, {"OR": []any{obj{"session_id": "s1"}}}, {"timestamp": obj{"gt": 1}}} {
				if _, err := s.Search(ctx, "local", obj{"query": "x", "filters": filters}.bytes()); !errors.Is(err, ErrInput) {
					t.Errorf("%v: %v", filters, err)
				}
			}
			if _, err := s.Flush(ctx, "local", []byte(`{"session_id":"s1"}`)); err != nil {
				t.Error(err)
			}
			if err := s.Health(ctx); err != nil || v.last() != k.health {
				t.Errorf("%v at %s", err, v.last())
			}
			if id, err := s.Remember(ctx, Scope{User: "local"}, Note{Session: "s1", Text: "a note"}); err != nil || id != "" {
				t.Errorf("%q %v", id, err)
			}
			if r, _ := upload(t, s, "local", "r.png", "x"); r.Status != "ready" {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestKindsFail in each way: no file and no row is left, and nothing is taken for a
// refusal of ours.
func TestKindsFail(t *testing.T) {
	for _, k := range kinds {
		for _, c := range []struct {
			name   string
			answer func(w http.ResponseWriter)
			status int
			tries  int
		}{
			{"400", func(w http.ResponseWriter) { http.Error(w, k.no, 400) }, 400, 1},
			{"401", func(w http.ResponseWriter) { http.Error(w, k.no, 401) }, 502, 1},
			{"404", func(w http.ResponseWriter) { http.Error(w, k.no, 404) }, 404, 1},
			{"429", func(w http.ResponseWriter) { http.Error(w, k.no, 429) }, 429, 1},
			{"500", func(w http.ResponseWriter) { http.Error(w, k.no, 500) }, 500, 1},
			{"503", func(w http.ResponseWriter) { http.Error(w, k.no, 503) }, 503, 1},
			{"503 for the moment", func(w http.ResponseWriter) { http.Error(w, failWith(503, "EXTERNAL_SERVICE_UNAVAILABLE"), 503) }, 503, 3},
			{"a redirect", func(w http.ResponseWriter) { w.Header().Set("Location", "/x"); w.WriteHeader(302) }, 502, 1},
			{"no JSON", func(w http.ResponseWriter) { io.WriteString(w, "<html>") }, 502, 1},
			{"broken off", func(w http.ResponseWriter) { panic(http.ErrAbortHandler) }, 502, 1},
			{"half an answer", func(w http.ResponseWriter) { w.Header().Set("Content-Length", "99"); io.WriteString(w, "{") }, 502, 1},
			{"too slow", func(http.ResponseWriter) { time.Sleep(1500 * time.Millisecond) }, 504, 1},
		} {
			t.Run(string(k.kind)+" "+c.name, func(t *testing.T) {
				t.Parallel()
				v := startService(t, func(_ string, _ int, w http.ResponseWriter) { c.answer(w) })
				s := open(t, kindOption(v, k.kind), func(o *Options) {
					if c.name == "too slow" {
						hasty(o)
					}
				})
				_, err := s.Add(ctx, "local", message("local", "s", text("x"), image("a.png", "", b64("x"))))
				var e *Error
				if !errors.As(err, &e) || e.Status != c.status || strings.Contains(e.Text, v.url) {
					t.Errorf("%v", err)
				}
				if strings.HasPrefix(c.name, "4") && !strings.Contains(e.Text, "words of the service") {
					t.Errorf("%v", err)
				}
				if n := len(v.asked(k.add)); n != c.tries {
					t.Errorf("%d tries", n)
				}
				if live, all := mapped(t, s); live+all != 0 || len(stored(t, s)) != 0 {
					t.Errorf("%d rows, %v", all, stored(t, s))
				}
				if _, err := s.Search(ctx, "local", []byte(`{"query":"x"}`)); !errors.As(err, &e) || e.Status != c.status {
					t.Errorf("search: %v", err)
				}
			})
		}
		t.Run(string(k.kind)+" taken back", func(t *testing.T) {
			v := startService(t, func(string, int, http.ResponseWriter) { time.Sleep(100 * time.Millisecond) })
			s := open(t, kindOption(v, k.kind))
			gone, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			defer cancel()
			if _, err := s.Add(gone, "local", message("local", "s", image("a.png", "", b64("x")))); err == nil {
				t.Error("it was kept")
			}
			if _, all := mapped(t, s); all != 0 || len(stored(t, s)) != 0 {
				t.Errorf("%d rows, %v", all, stored(t, s))
			}
		})
	}
	if _, err := NewUpstream(UpstreamConfig{Kind: "other", URL: "http://h"}); err == nil || !strings.Contains(err.Error(), "mem0") {
		t.Errorf("%v", err)
	}
}

// TestKindsOfScopes: where the service knows no apps and projects, none can be named.
func TestKindsOfScopes(t *testing.T) {
	v := startService(t, func(_ string, _ int, w http.ResponseWriter) {
		io.WriteString(w, `{"results":[],"result":{"memories":[]}}`)
	})
	s := open(t, kindOption(v, KindEverMemOS))
	body := obj{"session_id": "s", "project_id": "p", "messages": []any{obj{"role": "user", "content": "x"}}}.bytes()
	if _, err := s.Add(ctx, "local", body); !errors.Is(err, ErrInput) {
		t.Errorf("%v", err)
	}
	if _, err := s.Search(ctx, "local", []byte(`{"query":"x","app_id":"a"}`)); !errors.Is(err, ErrInput) {
		t.Errorf("%v", err)
	}
	s = open(t, kindOption(v, KindMem0))
	if _, err := s.Add(ctx, "local", body); err != nil {
		t.Errorf("%v", err)
	}
	search(t, s, "local", obj{"query": "x", "project_id": "p"})
	if got := v.asked("/v3/memories/search/"); len(got) != 1 || !strings.Contains(got[0], `{"metadata":{"project_id":"p"}}`) {
		t.Errorf("%q", got)
	}
	if _, err := s.Add(ctx, "local", message("local", "s", text(" "))); !errors.Is(err, ErrInput) {
		t.Errorf("nothing to keep: %v", err)
	}
}
