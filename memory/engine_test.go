package memory

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func says(at time.Time, role, text string) obj {
	m := obj{"sender_id": "local", "role": role, "timestamp": at.UnixMilli(), "content": text}
	if role != "user" {
		m["sender_id"] = "bot"
	}
	return m
}

func adds(session string, deferred bool, messages ...any) []byte {
	return obj{"session_id": session, "defer_extraction": deferred, "messages": messages}.bytes()
}

// TestWhereMemoriesEnd: messages join the open memory until nobody said anything for a
// while, it became long, or it was flushed.
func TestWhereMemoriesEnd(t *testing.T) {
	start := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	long := strings.Repeat("word ", 1200)
	for _, c := range []struct {
		name string
		do   func(s *Service)
		want int
	}{
		{"one talk", func(s *Service) {
			add(t, s, "local", adds("s", false, says(start, "user", "one")))
			add(t, s, "local", adds("s", false, says(start.Add(time.Minute), "assistant", "two")))
		}, 1},
		{"a pause", func(s *Service) {
			add(t, s, "local", adds("s", false, says(start, "user", "one"), says(start.Add(31*time.Minute), "user", "two")))
		}, 2},
		{"much said", func(s *Service) {
			add(t, s, "local", adds("s", false, says(start, "user", long), says(start.Add(time.Second), "user", long+".")))
		}, 2},
		{"flushed", func(s *Service) {
			add(t, s, "local", adds("s", false, says(start, "user", "one")))
			if r, err := s.Flush(ctx, "local", []byte(`{"session_id":"s"}`)); err != nil || !strings.Contains(string(r.Body), "extracted") {
				t.Errorf("%s %v", r.Body, err)
			}
			add(t, s, "local", adds("s", false, says(start.Add(time.Second), "user", "two")))
		}, 2},
		{"the same again", func(s *Service) {
			for range 2 {
				add(t, s, "local", adds("s", false, says(start, "user", "one")))
			}
		}, 1},
	} {
		s := open(t)
		c.do(s)
		list, n, err := listed(s, Scope{User: "local"}, 10, 0)
		if err != nil || n != c.want || len(list) != c.want {
			t.Errorf("%s: %d, %v", c.name, n, err)
		}
	}
}

// TestDeferred: what waits is in no memory, and shown for its session alone.
func TestDeferred(t *testing.T) {
	s := open(t)
	add(t, s, "local", adds("s", true, says(time.Now(), "user", "waiting words")))
	if f := search(t, s, "local", obj{"query": "waiting"}); len(f.Results) != 0 {
		t.Errorf("%+v", f)
	}
	if f := search(t, s, "local", obj{"query": "waiting", "filters": obj{"session_id": "s"}}); len(f.Results) != 1 || f.Results[0].Type != "message" {
		t.Errorf("%+v", f)
	}
	if f := search(t, s, "bob", obj{"query": "waiting", "filters": obj{"session_id": "s"}}); len(f.Results) != 0 {
		t.Errorf("somebody else sees %+v", f)
	}
	if _, err := s.Flush(ctx, "local", []byte(`{"session_id":"s"}`)); err != nil {
		t.Fatal(err)
	}
	if f := search(t, s, "local", obj{"query": "waiting"}); len(f.Results) != 1 || f.Method != "keyword" {
		t.Errorf("%+v", f)
	}
}

func TestFilters(t *testing.T) {
	s := open(t)
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	for i := range 4 {
		add(t, s, "local", adds(fmt.Sprintf("s%d", i), false, says(day(i+1), []string{"user", "assistant"}[i%2], "hello")))
	}
	for _, c := range []struct {
		filters obj
		want    int
	}{
		{obj{}, 4},
		{obj{"session_id": "s1"}, 1},
		{obj{"session_id": obj{"in": []string{"s1", "s2", "x"}}}, 2},
		{obj{"session_id": obj{"ne": "s1"}}, 3},
		{obj{"sender_id": "bot"}, 2},
		{obj{"sender_id": obj{"ne": "bot"}}, 2},
		{obj{"timestamp": obj{"gte": day(2).UnixMilli(), "lt": day(4).Unix()}}, 2},
		{obj{"timestamp": obj{"gt": "2026-01-03T00:00:00Z"}}, 1},
		{obj{"OR": []any{obj{"session_id": "s0"}, obj{"AND": []any{obj{"session_id": "s1"}, obj{"sender_id": "bot"}}}}}, 2},
		{obj{"AND": []any{obj{"session_id": "s0"}, obj{"session_id": "s1"}}}, 0},
		{obj{"parent_id": "x"}, 0},
		{obj{"session_id": "' OR 1=1 --"}, 0},
	} {
		if f := search(t, s, "local", obj{"query": "hello", "filters": c.filters}); len(f.Results) != c.want {
			t.Errorf("%v: %d", c.filters, len(f.Results))
		}
	}
}

// TestRecency decides between what is otherwise alike, and the order is the same each
// time.
func TestRecency(t *testing.T) {
	s := open(t)
	for i, days := range []int{300, 1, 30} {
		if _, err := s.Remember(ctx, Scope{User: "local"}, Note{Session: fmt.Sprint(i), Text: "deploy on Thursdays", At: time.Now().Add(-time.Duration(days) * 24 * time.Hour)}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		f, err := s.Find(ctx, Scope{User: "local"}, "deploy", 5)
		if err != nil || len(f.Results) != 3 || *f.Results[0].SessionID != "1" {
			t.Fatalf("%+v, %v", f, err)
		}
		for _, r := range f.Results {
			if *r.Score <= 0 || *r.Score > 1 {
				t.Errorf("score %v", *r.Score)
			}
		}
	}
}

func TestForget(t *testing.T) {
	s := open(t)
	add(t, s, "local", message("local", "s", text("secret plan"), image("a.png", "", b64("x"))))
	list, _, err := listed(s, Scope{User: "local"}, 10, 0)
	if err != nil || len(list) != 1 {
		t.Fatalf("%v %v", list, err)
	}
	if _, err := s.Forget(ctx, Scope{User: "local"}, list[0].ID); err != nil {
		t.Fatal(err)
	}
	if _, all := mapped(t, s); all != 0 || len(stored(t, s)) != 0 {
		t.Errorf("%d rows, %v", all, stored(t, s))
	}
	for _, table := range []string{"messages", "memories", "memory_sessions"} {
		var n int
		if err := s.db.Read().QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil || n != 0 {
			t.Errorf("%d left in %s, %v", n, table, err)
		}
	}
	if f := search(t, s, "local", obj{"query": "secret"}); len(f.Results) != 0 {
		t.Errorf("%+v", f)
	}
	if _, err := s.Forget(ctx, Scope{User: "local"}, list[0].ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
	if err := s.Rebuild(ctx); err != nil {
		t.Error(err)
	}
	if err := s.Health(ctx); err != nil {
		t.Error(err)
	}
	if _, err := s.Remember(ctx, Scope{User: "local"}, Note{Session: "s", Text: "another plan"}); err != nil {
		t.Fatal(err)
	}
	if f := search(t, s, "local", obj{"query": "plan"}); len(f.Results) != 1 {
		t.Errorf("after the index was written anew: %+v", f)
	}
}

// TestAnotherTreatment: where texts are treated in another way now, they are indexed
// anew when memories are opened.
func TestAnotherTreatment(t *testing.T) {
	s := open(t)
	if _, err := s.Remember(ctx, Scope{User: "local"}, Note{Session: "s", Text: "内存网关"}); err != nil {
		t.Fatal(err)
	}
	exec(t, s, "UPDATE memories SET words = '', plain = ''")
	if f, _ := s.Find(ctx, Scope{User: "local"}, "网关", 5); len(f.Results) != 0 {
		t.Fatal("the index was not emptied")
	}
	exec(t, s, "UPDATE notes SET value = 0")
	s = openAt(t, s.o.Dir)
	if f, _ := s.Find(ctx, Scope{User: "local"}, "网关", 5); len(f.Results) != 1 {
		t.Error("it was not indexed anew")
	}
}
