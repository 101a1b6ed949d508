package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// books is a service with memories that can be looked through, in the documented form
// of each kind. later says that EverMemOS answers as its second generation.
type books struct {
	kind  Kind
	later bool
	gone  atomic.Bool

	mu    sync.Mutex
	of    map[string][]string // ids by user, the latest first
	asked []string
	url   string
}

func startBooks(t *testing.T, kind Kind, of map[string][]string) *books {
	b := &books{kind: kind, of: of}
	h := httptest.NewServer(http.HandlerFunc(b.serve))
	t.Cleanup(h.Close)
	b.url = h.URL
	return b
}

func (b *books) open(t *testing.T, change ...func(*Options)) *Service {
	return open(t, append([]func(*Options){func(o *Options) {
		o.Upstream = &UpstreamConfig{Kind: b.kind, URL: b.url, Token: "k", Timeout: time.Minute, Backoff: time.Millisecond, Retries: -1, BreakAfter: -1}
	}}, change...)...)
}

func (b *books) row(user, id string) obj {
	return obj{"id": id, "user_id": user, "app_id": "default", "session_id": "s1", "run_id": "s1", "group_id": "s1", "timestamp": "2026-05-28T11:30:36Z", "created_at": "2026-05-28T04:30:36-07:00",
		"memory": "about plan.png, " + id, "episode": "about plan.png, " + id, "metadata": obj{"session_id": "s1", "project_id": "default"}}
}

func page(ids []string, n, size int) []string {
	from := min((n-1)*size, len(ids))
	return ids[from:min(from+size, len(ids))]
}

func (b *books) take(user, id string) (n int) {
	for u := range b.of {
		if user == "" || u == user {
			before := len(b.of[u])
			b.of[u] = slices.DeleteFunc(b.of[u], func(x string) bool { return x == id || id == "" })
			n += before - len(b.of[u])
		}
	}
	return n
}

func (b *books) serve(w http.ResponseWriter, r *http.Request) {
	data, _ := io.ReadAll(r.Body)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, r.Method+" "+r.URL.RequestURI()+" "+string(data))
	if b.gone.Load() {
		http.Error(w, failWith(503, "EXTERNAL_SERVICE_UNAVAILABLE"), 503)
		return
	}
	var body struct {
		User     string `json:"user_id"`
		Event    string `json:"event_id"`
		Memory   string `json:"memory_id"`
		Kind     string `json:"memory_type"`
		Page     int    `json:"page"`
		PageSize int    `json:"page_size"`
		Filters  struct {
			User      string           `json:"user_id"`
			AND       []map[string]any `json:"AND"`
			Timestamp map[string]int64 `json:"timestamp"`
		} `json:"filters"`
	}
	_ = json.Unmarshal(data, &body)
	q := r.URL.Query()
	num := func(name string) int { n, _ := strconv.Atoi(q.Get(name)); return n }
	say := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	rows := func(user string, ids []string) []obj {
		list := []obj{}
		for _, id := range ids {
			list = append(list, b.row(user, id))
		}
		return list
	}
	switch path := r.Method + " " + r.URL.Path; {
	case strings.HasSuffix(path, "/add"), strings.HasSuffix(path, "/add/"), path == "POST /api/v1/memories", strings.HasSuffix(path, "/flush"):
		io.WriteString(w, extracted)
	case b.kind == KindEverOS && path == "POST /api/v2/memory/search":
		say(obj{"request_id": "r", "data": obj{"episodes": rows(body.User, b.of[body.User])}})
	case b.kind == KindEverOS && path == "POST /api/v2/memory/get" && body.Kind == "episode" && body.PageSize <= 100 && body.Page > 0:
		ids := b.of[body.User]
		if from, ok := body.Filters.Timestamp["gte"]; ok { // all of them were on that day
			if day := time.Date(2026, 5, 28, 11, 30, 36, 0, time.UTC).UnixMilli(); day < from || day >= body.Filters.Timestamp["lt"] {
				ids = nil
			}
		}
		say(obj{"request_id": "r", "data": obj{"episodes": rows(body.User, page(ids, body.Page, body.PageSize)), "profiles": []any{}, "total_count": len(ids), "count": body.PageSize}})
	case b.kind == KindMem0 && path == "POST /v3/memories/":
		user, _ := body.Filters.AND[0]["user_id"].(string)
		say(obj{"count": len(b.of[user]), "next": nil, "previous": nil, "results": rows(user, page(b.of[user], num("page"), num("page_size")))})
	case b.kind == KindMem0 && path == "DELETE /v1/memories/":
		b.take(q.Get("user_id"), "")
		say(obj{"message": "Memories deleted successfully!"})
	case b.kind == KindMem0 && strings.HasPrefix(r.URL.Path, "/v1/memories/"):
		id := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/v1/memories/"), "/")
		if r.Method == http.MethodDelete {
			b.take("", id)
			w.WriteHeader(http.StatusNoContent)
			return
		}
		for user, ids := range b.of {
			if slices.Contains(ids, id) {
				say(b.row(user, id))
				return
			}
		}
		http.Error(w, `{"error":"Memory not found!"}`, 404)
	case b.kind == KindEverMemOS && !b.later && path == "GET /api/v1/memories":
		ids, from := b.of[q.Get("user_id")], num("offset")
		say(obj{"status": "ok", "result": obj{"memories": rows(q.Get("user_id"), page(ids, from/num("limit")+1, num("limit"))), "total_count": len(ids), "has_more": false}})
	case b.kind == KindEverMemOS && !b.later && path == "DELETE /api/v1/memories":
		say(obj{"status": "ok", "result": obj{"count": b.take(body.User, body.Event)}})
	case b.kind == KindEverMemOS && b.later && r.URL.Path == "/api/v1/memories":
		http.Error(w, `{"detail":"Method Not Allowed"}`, 405)
	case b.kind == KindEverMemOS && b.later && path == "POST /api/v1/memories/get":
		ids := b.of[body.Filters.User]
		say(obj{"data": obj{"episodes": rows(body.Filters.User, page(ids, body.Page, body.PageSize)), "total_count": len(ids)}})
	case b.kind == KindEverMemOS && b.later && path == "POST /api/v1/memories/delete" && (body.Memory == "") != (body.User == ""):
		b.take(body.User, body.Memory)
		w.WriteHeader(http.StatusNoContent)
	default:
		http.Error(w, `{"detail":"Not Found"}`, 404)
	}
}

// ids are n memories of a user, the latest first.
func ids(user string, n int) (list []string) {
	for i := n; i > 0; i-- {
		list = append(list, fmt.Sprintf("%s_ep_20260528_%08d", user, i))
	}
	return list
}

var shelves = []struct {
	name  string
	kind  Kind
	later bool
	keeps bool // it offers no way to forget
}{
	{"everos", KindEverOS, false, true},
	{"mem0", KindMem0, false, false},
	{"evermemos", KindEverMemOS, false, false},
	{"evermemos, the later one", KindEverMemOS, true, false},
}

// TestOutside: what a service keeps is listed, looked at, forgotten and exported, with
// its files and for its user alone, in the documented form of each kind.
func TestOutside(t *testing.T) {
	for _, k := range shelves {
		t.Run(k.name, func(t *testing.T) {
			b := startBooks(t, k.kind, map[string][]string{"ann": ids("ann", 250), "bob": ids("bob", 3)})
			b.later = k.later
			s := b.open(t)
			ann := Scope{User: "ann"}
			add(t, s, "ann", message("ann", "s1", text("the plan"), image("plan.png", "", b64("P"))))

			for _, c := range []struct{ limit, offset int }{{20, 0}, {20, 20}, {7, 3}, {100, 200}, {250, 0}, {130, 90}, {20, 250}} {
				list, total, err := listed(s, ann, c.limit, c.offset)
				want := ids("ann", 250)[c.offset:min(250, c.offset+c.limit)]
				if err != nil || total != 250 || !slices.Equal(named(list), want) {
					t.Fatalf("%+v: %d of %d, %v; want %d from %v", c, len(list), total, err, len(want), want[:min(1, len(want))])
				}
			}
			list, _, _ := listed(s, ann, 1, 0)
			if m := list[0]; m.SessionID != "s1" || m.At.Format(time.RFC3339) != "2026-05-28T11:30:36Z" || len(m.Attachments) != 1 || m.Attachments[0].Name != "plan.png" || m.App != "default" {
				t.Errorf("%+v", m)
			}
			id := "ann_ep_20260528_00000040"
			if m, err := s.Get(ctx, ann, id); err != nil || m.ID != id || len(m.Attachments) != 1 || m.Text != "about plan.png, "+id {
				t.Errorf("%+v, %v", m, err)
			}

			// Nobody else's, and nothing that is no id.
			for _, strange := range []string{"bob_ep_20260528_00000001", "ann_ep_20260528_00009999", "ann_ep_20251231_00000001", "x", "..", ".", "", "../../v1/memories", strings.Repeat("x", 600)} {
				if _, err := s.Get(ctx, ann, strange); !errors.Is(err, ErrNotFound) {
					t.Errorf("get %q: %v", strange, err)
				}
				if _, err := s.Forget(ctx, ann, strange); !errors.Is(err, ErrNotFound) {
					t.Errorf("forget %q: %v", strange, err)
				}
			}
			if n := len(b.of["bob"]) + len(b.of["ann"]); n != 253 {
				t.Fatalf("%d are left", n)
			}

			done, err := s.Forget(ctx, ann, id)
			if err != nil || done.Kept != k.keeps {
				t.Fatalf("%+v, %v", done, err)
			}
			if _, err := s.Get(ctx, ann, id); !errors.Is(err, ErrNotFound) {
				t.Errorf("%v", err)
			}
			if _, err := s.Forget(ctx, ann, id); !errors.Is(err, ErrNotFound) {
				t.Errorf("%v", err)
			}
			want := slices.DeleteFunc(ids("ann", 250), func(x string) bool { return x == id })
			for _, c := range []struct{ limit, offset int }{{100, 0}, {20, 200}, {20, 240}, {249, 0}} {
				list, total, err := listed(s, ann, c.limit, c.offset)
				if err != nil || total != 249 || !slices.Equal(named(list), want[c.offset:min(249, c.offset+c.limit)]) {
					t.Errorf("%+v after it: %d of %d, %v", c, len(list), total, err)
				}
			}
			var all []string
			for m, err := range s.All(ctx, "ann") {
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, m.ID)
			}
			if !slices.Equal(all, want) {
				t.Errorf("%d exported", len(all))
			}
			if list, total, err := listed(s, Scope{User: "bob"}, 10, 0); err != nil || total != 3 || len(list) != 3 {
				t.Errorf("bob: %d, %v", total, err)
			}
			if list, total, err := listed(s, Scope{User: "eve"}, 10, 0); err != nil || total != 0 || list == nil {
				t.Errorf("eve: %d, %v", total, err)
			}
			if k.kind == KindEverOS {
				if f := search(t, s, "ann", obj{"query": "plan"}); slices.ContainsFunc(f.Results, func(it Item) bool { return it.ID == id }) || len(f.Results) != 249 {
					t.Errorf("%d found", len(f.Results))
				}
			}
		})
	}
}

func named(list []Memory) []string {
	out := []string{}
	for _, m := range list {
		out = append(out, m.ID)
	}
	return out
}

// TestOutsideFails: a service that fails leaves nothing forgotten.
func TestOutsideFails(t *testing.T) {
	for _, k := range shelves {
		t.Run(k.name, func(t *testing.T) {
			b := startBooks(t, k.kind, map[string][]string{"ann": ids("ann", 2)})
			b.later = k.later
			s := b.open(t)
			ann, id := Scope{User: "ann"}, ids("ann", 2)[0]
			b.gone.Store(true)
			if _, err := s.List(ctx, ann, 10, 0); !errors.Is(err, ErrUnavailable) {
				t.Errorf("list: %v", err)
			}
			if _, err := s.Get(ctx, ann, id); !errors.Is(err, ErrUnavailable) {
				t.Errorf("get: %v", err)
			}
			if _, err := s.Forget(ctx, ann, id); !errors.Is(err, ErrUnavailable) {
				t.Errorf("forget: %v", err)
			}
			for _, err := range s.All(ctx, "ann") {
				if !errors.Is(err, ErrUnavailable) {
					t.Errorf("all: %v", err)
				}
			}
			b.gone.Store(false)
			if list, total, err := listed(s, ann, 10, 0); err != nil || total != 2 || len(list) != 2 {
				t.Errorf("%d, %v", total, err)
			}
		})
	}
	for _, k := range shelves[:3] { // another shape than the documented one
		v := startService(t, func(_ string, _ int, w http.ResponseWriter) { io.WriteString(w, `{"data":{},"result":{}}`) })
		s := open(t, kindOption(v, k.kind))
		var e *Error
		if _, err := s.List(ctx, Scope{User: "ann"}, 1, 0); !errors.As(err, &e) || e.Code != "BAD_UPSTREAM" {
			t.Errorf("%s: %v", k.name, err)
		}
	}
}

// TestOutsideCopy: while the service is away the copy is listed, under ids that cannot
// be taken for the service's; it cannot be forgotten, and forgetting at the service takes
// the session out of the copy.
func TestOutsideCopy(t *testing.T) {
	b := startBooks(t, KindEverOS, map[string][]string{"ann": {"ann_ep_20260528_00000001"}})
	s := b.open(t, func(o *Options) { o.Fallback = true })
	ann := Scope{User: "ann"}
	add(t, s, "ann", message("ann", "s1", text("the plan")))
	add(t, s, "ann", message("ann", "s2", text("another plan")))
	b.gone.Store(true)
	l, err := s.List(ctx, ann, 10, 0)
	if err != nil || !l.Degraded || l.Total != 2 || !strings.HasPrefix(l.Memories[0].ID, copied) {
		t.Fatalf("%+v, %v", l, err)
	}
	id := l.Memories[0].ID
	if m, err := s.Get(ctx, ann, id); err != nil || m.ID != id || !strings.Contains(m.Text, "plan") {
		t.Errorf("%+v, %v", m, err)
	}
	if f := search(t, s, "ann", obj{"query": "plan"}); !f.Degraded || len(f.Results) != 2 || !strings.HasPrefix(f.Results[0].ID, copied) {
		t.Errorf("%+v", f)
	}
	var e *Error
	if _, err := s.Forget(ctx, ann, id); !errors.As(err, &e) || e.Status != http.StatusConflict {
		t.Errorf("%v", err)
	}
	if _, err := s.Get(ctx, Scope{User: "bob"}, id); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
	b.gone.Store(false)
	if done, err := s.Forget(ctx, ann, "ann_ep_20260528_00000001"); err != nil || !done.Kept {
		t.Fatalf("%+v, %v", done, err)
	}
	b.gone.Store(true)
	if l, err := s.List(ctx, ann, 10, 0); err != nil || l.Total != 1 || l.Memories[0].SessionID != "s2" {
		t.Errorf("%+v, %v", l, err)
	}
}

// TestOutsidePurge: a user's memories go at the service as well, and nobody else's; where
// it offers no such thing they are hidden, and it is said. What is kept here goes while the
// service is away, too, and asked again the rest goes.
func TestOutsidePurge(t *testing.T) {
	for _, k := range shelves {
		t.Run(k.name, func(t *testing.T) {
			b := startBooks(t, k.kind, map[string][]string{"ann": ids("ann", 120), "bob": ids("bob", 3)})
			b.later = k.later
			s := b.open(t)
			add(t, s, "ann", message("ann", "s1", text("the plan"), image("plan.png", "", b64("P"))))
			add(t, s, "bob", message("bob", "s2", text("the plan"), image("plan.png", "", b64("P"))))
			b.gone.Store(true)
			if _, err := s.PurgeUser(ctx, "ann"); !errors.Is(err, ErrUnavailable) {
				t.Errorf("%v", err)
			}
			if h, err := s.Held(ctx, "ann"); err != nil || h != (Held{Outside: true}) {
				t.Errorf("%+v, %v", h, err)
			}
			b.gone.Store(false)
			done, err := s.PurgeUser(ctx, "ann")
			if err != nil || done.Kept != k.keeps {
				t.Fatalf("%+v, %v", done, err)
			}
			if h, err := s.Held(ctx, "ann"); err != nil || h != (Held{Outside: true}) {
				t.Errorf("%+v, %v", h, err)
			}
			if list, total, err := listed(s, Scope{User: "ann"}, 10, 0); err != nil || total != 0 || len(list) != 0 {
				t.Errorf("%d of %d, %v", len(list), total, err)
			}
			if list, _, err := listed(s, Scope{User: "bob"}, 10, 0); err != nil || len(list) != 3 || len(list[0].Attachments) != 0 && list[0].SessionID != "s1" {
				t.Errorf("bob: %+v, %v", list, err)
			}
			if got := stored(t, s); slices.ContainsFunc(got, func(p string) bool { return strings.HasPrefix(p, "ann/") && !strings.HasSuffix(p, "/") }) || !slices.ContainsFunc(got, func(p string) bool { return strings.HasPrefix(p, "bob/") && strings.HasSuffix(p, "plan.png") }) {
				t.Errorf("stored: %v", got)
			}
		})
	}
}
