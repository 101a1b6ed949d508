package memory

import (
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// lock keeps the database locked, as another program would, until release is called.
func lock(t *testing.T, s *Service) (release func()) {
	t.Helper()
	other, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(s.o.Dir, "memory.db")), RawQuery: "_txlock=immediate"}).String())
	if err != nil {
		t.Fatal(err)
	}
	tx, err := other.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := errors.Join(tx.Rollback(), other.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestLocked: a database that another program keeps locked for longer than anybody
// waits is an error that says so, and leaves nothing; searches go on meanwhile, and all
// works again behind it.
func TestLocked(t *testing.T) {
	short := func(o *Options) { o.patience = 20 * time.Millisecond }
	s := open(t, short)
	add(t, s, "local", message("local", "s", text("before")))
	r, _ := upload(t, s, "local", "r.png", "x")
	before := strings.Join(stored(t, s), "\n")
	list, _, err := listed(s, Scope{User: "local"}, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	release := lock(t, s)
	body := message("local", "s2", text("hello"), image("a.png", "", b64("x")))
	for name, do := range map[string]func() error{
		"add": func() error { _, err := s.Add(ctx, "local", body); return err },
		"remember": func() error {
			_, err := s.Remember(ctx, Scope{User: "local"}, Note{Session: "s", Text: "x"})
			return err
		},
		"upload": func() error {
			_, _, err := s.PutResource(ctx, Upload{Scope: Scope{User: "local"}, Name: "b.png", Body: strings.NewReader("y")})
			return err
		},
		"delete": func() error { return s.DeleteResource(ctx, "local", r.ID) },
		"forget": func() error { _, err := s.Forget(ctx, Scope{User: "local"}, list[0].ID); return err },
		"purge":  func() error { _, err := s.PurgeUser(ctx, "local"); return err },
		"open":   func() error { _, err := Open(ctx, Options{Dir: s.o.Dir, patience: 20 * time.Millisecond}); return err },
	} {
		if err := do(); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "another program keeps the database locked") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if f := search(t, s, "local", obj{"query": "before"}); len(f.Results) != 1 {
		t.Errorf("a search has to wait: %+v", f)
	}
	release()
	if after := strings.Join(stored(t, s), "\n"); after != before {
		t.Errorf("left: %s", after)
	}
	if f := search(t, s, "local", obj{"query": "hello"}); len(f.Results) != 0 {
		t.Errorf("%+v", f)
	}
	add(t, s, "local", body)
	if got := files(search(t, s, "local", obj{"query": "hello"})); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

// TestLockedForAWhile: whoever waits long enough does not notice.
func TestLockedForAWhile(t *testing.T) {
	s := open(t)
	release := lock(t, s)
	done := make(chan error, 1)
	go func() {
		_, err := s.Add(ctx, "local", message("local", "s", text("hello"), image("a.png", "", b64("x"))))
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := files(search(t, s, "local", obj{"query": "hello"})); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

// TestLockedBehindTheEngine: the service has the memory already, so the answer is its
// own, with a warning, and no file is left.
func TestLockedBehindTheEngine(t *testing.T) {
	a := startAbsent(t)
	s := a.service.open(t, func(o *Options) { o.patience = 20 * time.Millisecond })
	release := lock(t, s)
	defer release()
	r, err := s.Add(ctx, "local", message("local", "s", text("hello"), image("a.png", "", b64("x"))))
	if err != nil || !r.OK() || !strings.Contains(string(r.Body), `"warning"`) || len(stored(t, s)) != 0 {
		t.Errorf("%s, %v, %v", r.Body, err, stored(t, s))
	}
}

// TestTooLarge: the limits hold before anything is written.
func TestTooLarge(t *testing.T) {
	s := open(t)
	item := strings.Repeat("A", MaxItem/3*4+8)
	for name, body := range map[string][]byte{
		"a file":    message("local", "s", text("x"), image("first.png", "", b64("x")), image("a.png", "", item)),
		"a request": []byte(`{"session_id":"s","messages":[{"role":"user","content":"` + strings.Repeat("x", MaxBody) + `"}]}`),
		"parts":     []byte(`{"session_id":"s","messages":[{"role":"user","content":[` + strings.Repeat(`{},`, maxItems) + `{}]}]}`),
	} {
		_, err := s.Add(ctx, "local", body)
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, ErrTooLarge) || e.Status != 413 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, all := mapped(t, s); all != 0 || len(stored(t, s)) != 0 {
		t.Errorf("%d rows, %v", all, stored(t, s))
	}
	if _, err := s.Search(ctx, "local", []byte(`{"query":"`+strings.Repeat("x", 1<<20)+`"}`)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v", err)
	}
	endless := zeros(MaxResource + 1)
	if _, _, err := s.PutResource(ctx, Upload{Scope: Scope{User: "local"}, Name: "big", Body: &endless}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v", err)
	}
	if len(stored(t, s)) != 0 {
		t.Errorf("%v", stored(t, s))
	}
	// The limit itself is allowed.
	just := zeros(MaxResource)
	if r, _, err := s.PutResource(ctx, Upload{Scope: Scope{User: "local"}, Name: "just", Body: &just}); err != nil || r.Size != MaxResource {
		t.Errorf("%d, %v", r.Size, err)
	}
}
