package memory

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// service is a stand-in for EverOS: it notes what it is asked and answers as it is
// told.
type service struct {
	mu      sync.Mutex
	bodies  map[string][]string
	queries []string
	paths   []string
	headers http.Header
	answer  func(path string, n int, w http.ResponseWriter)
	url     string
}

func (v *service) header(name string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.headers.Get(name)
}

func (v *service) last() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.paths[len(v.paths)-1]
}

func (v *service) asked(path string) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.bodies[path]
}

func startService(t *testing.T, answer func(path string, n int, w http.ResponseWriter)) *service {
	v := &service{bodies: map[string][]string{}, answer: answer}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		v.mu.Lock()
		v.bodies[r.URL.Path] = append(v.bodies[r.URL.Path], string(body))
		v.queries, v.paths, v.headers = append(v.queries, r.URL.RawQuery), append(v.paths, r.URL.Path), r.Header
		n := len(v.bodies[r.URL.Path])
		answer := v.answer
		v.mu.Unlock()
		answer(r.URL.Path, n, w)
	}))
	t.Cleanup(h.Close)
	v.url = h.URL
	return v
}

// hasty gives up early: for services that are too slow.
func hasty(o *Options) { o.Upstream.Timeout = 500 * time.Millisecond }

func (v *service) open(t *testing.T, change ...func(*Options)) *Service {
	return open(t, append([]func(*Options){func(o *Options) {
		o.Upstream = &UpstreamConfig{URL: v.url, Timeout: time.Minute, Backoff: time.Millisecond}
	}}, change...)...)
}

const extracted = `{"request_id":"0123456789abcdef0123456789abcdef","data":{"message_count":1,"status":"extracted"}}`

func failWith(status int, code string) string {
	data, _ := json.Marshal(map[string]any{"request_id": "r", "error": map[string]string{"code": code, "message": "words of the service", "path": "/x"}})
	return string(data)
}

// TestUpstreamAdd: the body arrives byte for byte, the answer comes back as it is, and
// files are mapped.
func TestUpstreamAdd(t *testing.T) {
	v := startService(t, func(_ string, _ int, w http.ResponseWriter) { io.WriteString(w, extracted) })
	s := v.open(t)
	body := ` { "messages":[ {"content":[{"type":"image","name":"a.png","base64":"eA==", "extras":{"z":1,"a":2}}, {"type":"text","text":"\u7f51"}],"role":"user","sender_id":"local","timestamp":1750000000000}],  "session_id":"s1", "unknown": 1e3 }` + "\n"
	r, err := s.Add(ctx, "local", []byte(body))
	if err != nil || string(r.Body) != extracted {
		t.Errorf("%s, %v", r.Body, err)
	}
	if got := v.asked("/api/v2/memory/add"); len(got) != 1 || got[0] != body {
		t.Errorf("forwarded %q", got)
	}
	if live, _ := mapped(t, s); live != 1 {
		t.Errorf("%d mapped", live)
	}
}

// TestUpstreamFails in each way: no file and no row is left, and what the service said
// is passed on.
func TestUpstreamFails(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	for _, c := range []struct {
		name   string
		answer func(path string, n int, w http.ResponseWriter)
		status int // of the answer that is passed on; 0 for an error of ours
		tries  int
	}{
		{"400", func(_ string, _ int, w http.ResponseWriter) { http.Error(w, failWith(400, "BAD_REQUEST"), 400) }, 400, 1},
		{"415", func(_ string, _ int, w http.ResponseWriter) { http.Error(w, failWith(415, "UNSUPPORTED_FORMAT"), 415) }, 415, 1},
		{"422", func(_ string, _ int, w http.ResponseWriter) { http.Error(w, failWith(422, "INVALID_INPUT"), 422) }, 422, 1},
		{"500", func(_ string, _ int, w http.ResponseWriter) { http.Error(w, failWith(500, "INTERNAL_ERROR"), 500) }, 500, 1},
		{"503 for ever", func(_ string, _ int, w http.ResponseWriter) {
			http.Error(w, failWith(503, "EXTERNAL_SERVICE_UNAVAILABLE"), 503)
		}, 503, 3},
		{"503 not to be tried again", func(_ string, _ int, w http.ResponseWriter) {
			http.Error(w, failWith(503, "CAPABILITY_UNAVAILABLE"), 503)
		}, 503, 1},
		{"a redirect", func(_ string, _ int, w http.ResponseWriter) { w.Header().Set("Location", "/other"); w.WriteHeader(302) }, 302, 1},
		{"too slow", func(_ string, _ int, w http.ResponseWriter) { <-hang }, 0, 1},
		{"broken off", func(_ string, _ int, w http.ResponseWriter) { panic(http.ErrAbortHandler) }, 0, 1},
		{"half an answer", func(_ string, _ int, w http.ResponseWriter) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, "{")
		}, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := startService(t, func(path string, n int, w http.ResponseWriter) {
				if c.name == "too slow" {
					select {
					case <-hang:
					case <-time.After(1500 * time.Millisecond):
					}
					return
				}
				c.answer(path, n, w)
			})
			s := v.open(t, func(o *Options) {
				if c.name == "too slow" {
					hasty(o)
				}
			})
			r, err := s.Add(ctx, "local", message("local", "s", text("x"), image("a.png", "", b64("x")), image("b.png", "https://h/b.png", "")))
			if c.status == 0 && !errors.Is(err, ErrUnavailable) || c.status != 0 && (err != nil || r.Status != c.status) {
				t.Errorf("%d %s, %v", r.Status, r.Body, err)
			}
			if err != nil && strings.Contains(err.Error(), v.url) {
				t.Errorf("the address is told: %v", err)
			}
			if n := len(v.asked("/api/v2/memory/add")); n != c.tries {
				t.Errorf("%d tries", n)
			}
			if live, all := mapped(t, s); live+all != 0 || len(stored(t, s)) != 0 {
				t.Errorf("%d rows, %v", all, stored(t, s))
			}
		})
	}
	t.Run("taken back", func(t *testing.T) {
		v := startService(t, func(string, int, http.ResponseWriter) { time.Sleep(100 * time.Millisecond) })
		s := v.open(t)
		gone, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		defer cancel()
		if _, err := s.Add(gone, "local", message("local", "s", image("a.png", "", b64("x")))); err == nil {
			t.Error("it was kept")
		}
		if _, all := mapped(t, s); all != 0 || len(stored(t, s)) != 0 {
			t.Errorf("%d rows, %v", all, stored(t, s))
		}
	})
	t.Run("nobody there", func(t *testing.T) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr := ln.Addr().String()
		ln.Close()
		s := (&service{url: "http://" + addr}).open(t)
		if _, err := s.Add(ctx, "local", message("local", "s", image("a.png", "", b64("x")))); !errors.Is(err, ErrUnavailable) {
			t.Errorf("%v", err)
		}
		if len(stored(t, s)) != 0 {
			t.Error("a file is left")
		}
		if err := s.Health(ctx); !errors.Is(err, ErrUnavailable) {
			t.Errorf("health: %v", err)
		}
	})
	t.Run("back again", func(t *testing.T) {
		v := startService(t, func(_ string, n int, w http.ResponseWriter) {
			if n < 3 {
				http.Error(w, failWith(503, "EXTERNAL_SERVICE_UNAVAILABLE"), 503)
				return
			}
			io.WriteString(w, extracted)
		})
		s := v.open(t)
		add(t, s, "local", message("local", "s", image("a.png", "", b64("x"))))
		if live, _ := mapped(t, s); live != 1 {
			t.Errorf("%d mapped", live)
		}
	})
}

// documented is an answer to a search with an item of each kind.
const documented = `{"request_id":"0123456789abcdef0123456789abcdef","data":{
"episodes":[{"id":"local_ep_20260101_00000001","user_id":"local","app_id":"default","project_id":"default","session_id":"s1","timestamp":"2026-01-01T00:00:00+00:00","sender_ids":["local"],"summary":"sum","subject":"sub","episode":"we saw a.png","type":"Conversation","score":0.9,"atomic_facts":[{"id":"f","content":"c","score":0.1}],"later":1e400},
 {"id":"bob_ep_1","user_id":"bob","session_id":"s1","episode":"a.png of bob"},
 {"id":"other_project","user_id":"local","app_id":"default","project_id":"other","session_id":"s1","episode":"a.png elsewhere"}],
"profiles":[{"id":"p1","user_id":"local","profile_data":{"likes":"a.png"},"score":null}],
"agent_cases":[{"id":"c1","agent_id":"g","session_id":"s1","task_intent":"open a.png","approach":"x","quality_score":1,"timestamp":"2026-01-01T00:00:00+00:00","score":0.5}],
"agent_skills":[{"id":"k1","agent_id":"g","name":"a.png","description":"d","content":"c","confidence":1,"maturity_score":1,"source_case_ids":[],"score":0.4}],
"unprocessed_messages":[{"id":"m1","session_id":"s1","sender_id":"local","role":"user","content":[{"type":"image","base64":"a.png"},{"type":"text","text":"mine"}],"timestamp":"2026-01-01T00:00:00+00:00"},
 {"id":"m2","session_id":"of-bob","sender_id":"bob","role":"user","content":"a secret of bob","timestamp":"2026-01-01T00:00:00+00:00"}]}}`

// TestUpstreamSearch: the documented shapes become results; what is not the user's is
// left out, though the service gave it.
func TestUpstreamSearch(t *testing.T) {
	v := startService(t, func(path string, _ int, w http.ResponseWriter) {
		if strings.HasSuffix(path, "/search") {
			io.WriteString(w, documented)
			return
		}
		io.WriteString(w, extracted)
	})
	s := v.open(t)
	add(t, s, "local", message("local", "s1", text("x"), image("a.png", "https://h/a.png", "")))
	add(t, s, "bob", message("bob", "of-bob", text("x"), image("a.png", "https://h/b.png", "")))
	f := search(t, s, "local", obj{"query": "x", "radius": 0.5, "filters": obj{"session_id": "of-bob"}})
	want := map[string]int{"local_ep_20260101_00000001": 1, "p1": 0, "c1": 1, "k1": 0, "m1": 0}
	if len(f.Results) != len(want) {
		t.Errorf("%d results", len(f.Results))
	}
	for _, it := range f.Results {
		n, ok := want[it.ID]
		if !ok || len(it.Attachments) != n || it.Text == "" {
			t.Errorf("%s (%s) has %v", it.ID, it.Text, it.Attachments)
		}
	}
	if !strings.Contains(string(f.Results[0].Raw), `"later":1e400`) {
		t.Error("the item was changed")
	}
	sent := v.asked("/api/v2/memory/search")
	if len(sent) != 1 || !strings.Contains(sent[0], `"user_id":"local"`) || !strings.Contains(sent[0], `"radius":0.5`) {
		t.Errorf("asked %q", sent)
	}
	shaped, err := f.UpstreamShape()
	if err != nil {
		t.Fatal(err)
	}
	var back struct {
		Data map[string][]map[string]any `json:"data"`
	}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(shaped), "1e400", "1")), &back); err != nil || len(back.Data) != 5 || len(back.Data["episodes"]) != 1 || len(back.Data["episodes"][0]["attachments"].([]any)) != 1 {
		t.Errorf("%s, %v", shaped, err)
	}
	if _, err := s.Flush(ctx, "local", []byte(`{"session_id":"of-bob"}`)); !errors.Is(err, ErrNotFound) {
		t.Errorf("flush of another's session: %v", err)
	}
}

func TestUpstreamSearchFails(t *testing.T) {
	for _, c := range []struct {
		name, body string
		status     int
		want       int
	}{
		{"refused", failWith(422, "INVALID_INPUT"), 422, 422},
		{"no rights", failWith(401, "X"), 401, 502},
		{"no JSON", "<html>", 200, 502},
		{"another shape", `{"data":[]}`, 200, 502},
	} {
		v := startService(t, func(_ string, _ int, w http.ResponseWriter) { w.WriteHeader(c.status); io.WriteString(w, c.body) })
		_, err := v.open(t).Search(ctx, "local", []byte(`{"query":"x"}`))
		var e *Error
		if !errors.As(err, &e) || e.Status != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for _, bad := range []string{"", "x", "ftp://h", "http://u:p@h", "http://h?x=1"} {
		if _, err := NewUpstream(UpstreamConfig{URL: bad}); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// TestUpstreamResource: a file is told to the service by its address and in words, and
// one that it did not take is told again with the next upload.
func TestUpstreamResource(t *testing.T) {
	v := startService(t, func(path string, n int, w http.ResponseWriter) {
		if strings.HasSuffix(path, "/add") && n == 1 {
			http.Error(w, failWith(500, "INTERNAL_ERROR"), 500)
			return
		}
		io.WriteString(w, extracted)
	})
	s := v.open(t)
	if r, _ := upload(t, s, "local", "a.png", "x"); r.Status != "unindexed" {
		t.Errorf("%+v", r)
	}
	if r, again := upload(t, s, "local", "a.png", "x"); r.Status != "ready" || !again {
		t.Errorf("%+v", r)
	}
	if sent := v.asked("/api/v2/memory/add"); len(sent) != 2 || !strings.Contains(sent[1], "Uploaded file a.png.") || !strings.Contains(sent[1], `"uri":"file:///`) {
		t.Errorf("%q", sent)
	}
	if n := len(v.asked("/api/v2/memory/flush")); n != 1 {
		t.Errorf("%d flushes", n)
	}
}
