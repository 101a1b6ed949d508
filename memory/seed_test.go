package memory

import (
	"database/sql"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestUploadCreatesMapping(t *testing.T) {
	s := open(t)
	r, again := upload(t, s, "local", "cat.png", "bytes")
	if again || r.URI != "resource://"+r.ID || r.Size != 5 || r.Status != "ready" {
		t.Errorf("%+v", r)
	}
	f := search(t, s, "local", obj{"query": "cat.png"})
	if len(f.Results) != 1 || len(f.Results[0].Attachments) != 1 {
		t.Fatalf("%+v", f)
	}
	a := f.Results[0].Attachments[0]
	if a.Type != "image" || a.Name != "cat.png" || read(t, a.URI, s) != "bytes" || *f.Results[0].SessionID != "resource:local:"+r.ID {
		t.Errorf("%+v", a)
	}
	list, total, err := s.Resources(ctx, Scope{User: "local"}, 10, 0)
	if err != nil || total != 1 || list[0].URI != r.URI || strings.Contains(list[0].URI, "file:") {
		t.Errorf("%+v %d %v", list, total, err)
	}
}

// TestNameMustBeMentioned: the real address comes back only if the result's own data
// has the whole name.
func TestNameMustBeMentioned(t *testing.T) {
	for _, c := range []struct {
		name, file, said string
		want             bool
	}{
		{"whole name", "plan.png", "look at plan.png please", true},
		{"not at all", "plan.png", "look at the picture please", false},
		{"a part of it", "plan.png", "look at plan please", false},
		{"another case", "Plan.PNG", "look at pLAN.png please", true},
		{"NFD and NFC", "re\u0301sume\u0301.png", "look at R\u00c9SUM\u00c9.png please", true},
		{"as an address spells it", "内存 图.png", "look at https://x/%E5%86%85%E5%AD%98%20%E5%9B%BE.png please", true},
		{"the end of another name", "a.png", "look at data.png please", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw := obj{"episode": c.said}.bytes()
			if textsOf(raw).names(c.file) != c.want {
				t.Errorf("%q in %q", c.file, c.said)
			}
		})
	}
	strict := textsOf(obj{"a": "look at data.png"}.bytes())
	strict.strict = true
	if strict.names("a.png") || !strict.names("data.png") {
		t.Error("strict names")
	}
}

func TestWhereNamesAreLookedFor(t *testing.T) {
	deep := any("x.png")
	for range 200 {
		deep = []any{deep}
	}
	for _, c := range []struct {
		name string
		raw  obj
		want bool
	}{
		{"nested", obj{"a": []any{obj{"b": []any{"", obj{"c": "see x.png"}}}}}, true},
		{"only below base64", obj{"content": []any{obj{"base64": "x.png"}}}, false},
		{"in an object below base64", obj{"base64": obj{"deep": []any{"x.png"}}}, false},
		{"beside base64", obj{"base64": "x.png", "text": "x.png"}, true},
		{"a key", obj{"x.png": 1}, false},
		{"a data address", obj{"u": "data:image/png;name=x.png;base64,AAAA"}, false},
		{"too deep", obj{"a": deep}, false},
	} {
		if got := textsOf(c.raw.bytes()).names("x.png"); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if textsOf(obj{"n": 42}.bytes()).names("42") {
		t.Error("a number was made a text")
	}
	for _, empty := range []string{"", " "} {
		if textsOf(obj{"a": "anything "}.bytes()).names(empty) {
			t.Error("an empty name was found")
		}
	}
	if textsOf([]byte(`{"a": broken`)).names("a") {
		t.Error("broken data has names")
	}
}

func TestAddMapsFiles(t *testing.T) {
	for _, c := range []struct {
		name        string
		part        obj
		file, uri   string // "" for a file of ours
		bytes       string
		contentType string
	}{
		{"uri", image("a.png", "https://h/x/a.png", ""), "a.png", "https://h/x/a.png", "", "image"},
		{"base64", image("a.png", "", b64("PNG")), "a.png", "", "PNG", "image"},
		{"both", image("a.png", "https://h/a.png", b64("PNG")), "a.png", "https://h/a.png", "", "image"},
		{"name of the address", obj{"type": "pdf", "uri": "https://h/d/%E5%86%85%E5%AD%98.pdf?q=1#f"}, "内存.pdf", "https://h/d/%E5%86%85%E5%AD%98.pdf?q=1#f", "", "pdf"},
		{"no name", obj{"type": "image", "base64": b64("x"), "ext": "webp"}, "attachment.webp", "", "x", "image"},
		{"a file of the server", image("passwd", "file:///etc/passwd", ""), "passwd", "file:///etc/passwd", "", "image"},
		{"line breaks and a prefix", image("a.png", "", "data:image/png;base64,"+b64("PNG")[:2]+"\r\n"+b64("PNG")[2:]), "a.png", "", "PNG", "image"},
		{"a name that leads elsewhere", image("../../evil.png", "", b64("x")), "evil.png", "", "x", "image"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			add(t, s, "local", message("local", "s1", text("see this"), c.part))
			f := search(t, s, "local", obj{"query": "see"})
			if len(f.Results) != 1 || len(f.Results[0].Attachments) != 1 {
				t.Fatalf("%+v", f.Results)
			}
			a := f.Results[0].Attachments[0]
			if a.Name != c.file || a.Type != c.contentType || c.uri != "" && a.URI != c.uri {
				t.Errorf("%+v", a)
			}
			if c.uri != "" && len(stored(t, s)) != 0 {
				t.Errorf("a file was written: %v", stored(t, s))
			}
			if c.uri == "" {
				if read(t, a.URI, s) != c.bytes {
					t.Error("other bytes")
				}
				list := stored(t, s)
				if parts := strings.Split(list[len(list)-1], "/"); len(parts) != 4 || parts[0] != "local" || parts[1] != "memory_attachments" || len(parts[2]) != 32 {
					t.Errorf("it lies at %v", list)
				}
			}
		})
	}
}

func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	s := open(t)
	add(t, s, "local", message("local", "s", image("a.png", "", b64("x"))))
	for _, p := range stored(t, s) {
		info, err := os.Stat(filepath.Join(s.o.Dir, "storage", strings.TrimSuffix(p, "/")))
		if err != nil {
			t.Fatal(err)
		}
		want := os.FileMode(0o600)
		if info.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s: %v", p, info.Mode())
		}
	}
}

func TestInvalidBase64IsLeftOut(t *testing.T) {
	s := open(t)
	add(t, s, "local", message("local", "s", text("see"), image("a.png", "", "%%%")))
	if live, _ := mapped(t, s); live != 0 || len(stored(t, s)) != 0 {
		t.Error("something was kept")
	}
}

func TestSameURIAgain(t *testing.T) {
	s := open(t)
	for range 3 {
		add(t, s, "local", message("local", "s", text("see"), image("a.png", "https://h/a.png", "")))
	}
	if _, all := mapped(t, s); all != 1 {
		t.Errorf("%d rows", all)
	}
	if f := search(t, s, "local", obj{"query": "see"}); len(f.Results) != 1 || strings.Count(f.Results[0].Text, "see") != 1 {
		t.Errorf("the same message twice: %+v", f.Results)
	}
}

func TestConcurrentAdds(t *testing.T) {
	s := open(t)
	other := openAt(t, s.o.Dir)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			add(t, []*Service{s, other}[i%2], "local", message("local", "s", text("see"), image("a.png", "https://h/a.png", "")))
		})
	}
	wg.Wait()
	if _, all := mapped(t, s); all != 1 {
		t.Errorf("%d rows", all)
	}
}

// TestSameBytesAgain: an add that is sent again, because its answer did not arrive, keeps
// its files once; other bytes, another name and another session are another file.
func TestSameBytesAgain(t *testing.T) {
	s := open(t)
	other := openAt(t, s.o.Dir)
	send := func(s *Service, session, name, data string) {
		add(t, s, "local", message("local", session, text("see a.png and b.png"), image(name, "", b64(data))))
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() { send([]*Service{s, other}[i%2], "s", "a.png", "PNG") })
	}
	wg.Wait()
	count := func(rows int) {
		t.Helper()
		files := 0
		for _, f := range stored(t, s) {
			if !strings.HasSuffix(f, "/") {
				files++
			}
		}
		if _, all := mapped(t, s); all != rows || files != rows {
			t.Errorf("%d rows and %d files, want %d of each", all, files, rows)
		}
	}
	count(1)
	if f := search(t, s, "local", obj{"query": "see"}); len(f.Results) != 1 || len(f.Results[0].Attachments) != 1 || read(t, f.Results[0].Attachments[0].URI, s) != "PNG" {
		t.Errorf("%+v", f.Results)
	}
	send(s, "s", "a.png", "other")
	send(s, "s", "b.png", "PNG")
	send(s, "s2", "a.png", "PNG")
	count(4)
	// One that somebody took away is written anew.
	for _, f := range stored(t, s) {
		if !strings.HasSuffix(f, "/") {
			if err := os.Remove(filepath.Join(s.o.Dir, "storage", f)); err != nil {
				t.Fatal(err)
			}
		}
	}
	send(s, "s2", "a.png", "PNG")
	if list := stored(t, s); !slices.ContainsFunc(list, func(f string) bool { return strings.HasSuffix(f, "/a.png") }) {
		t.Errorf("it is not there: %v", list)
	}
}

// TestFailedAddsTogether: what one failed add takes away with its file is not what
// another one is about to write into.
func TestFailedAddsTogether(t *testing.T) {
	refused := errors.New("refused here")
	s := open(t, func(o *Options) {
		o.fail = func(step string) error {
			if step == "engine" {
				return refused
			}
			return nil
		}
	})
	body := message("local", "s", text("see"), image("a.png", "", b64("PNG")))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if _, err := s.Add(ctx, "local", body); !errors.Is(err, refused) {
					t.Errorf("%v", err)
				}
			}
		})
	}
	wg.Wait()
	if _, all := mapped(t, s); all != 0 || len(stored(t, s)) != 0 {
		t.Errorf("%d rows, %v", all, stored(t, s))
	}
	for range 4 { // the folders alone, often enough for them to meet
		wg.Go(func() {
			for range 1000 {
				folder := s.folder("local", attachmentsDir, newID())
				if err := makeFolder(folder); err != nil {
					t.Error(err)
					return
				}
				s.discard(folder)
			}
		})
	}
	wg.Wait()
}

func TestReviveAfterDelete(t *testing.T) {
	s := open(t)
	r, _ := upload(t, s, "local", "cat.png", "bytes")
	if err := s.DeleteResource(ctx, "someone", r.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("somebody else: %v", err)
	}
	if err := s.DeleteResource(ctx, "local", r.ID); err != nil {
		t.Fatal(err)
	}
	if live, all := mapped(t, s); live != 0 || all != 1 {
		t.Errorf("%d of %d", live, all)
	}
	if f := search(t, s, "local", obj{"query": "cat.png"}); len(f.Results) != 0 {
		t.Errorf("%+v", f)
	}
	if err := s.backfill(ctx); err != nil {
		t.Fatal(err)
	}
	if live, _ := mapped(t, s); live != 0 {
		t.Error("backfill revived what a person deleted")
	}
	back, again := upload(t, s, "local", "cat.png", "bytes")
	if !again || back.ID != r.ID || back.Status != "ready" {
		t.Errorf("%+v", back)
	}
	if live, all := mapped(t, s); live != 1 || all != 1 {
		t.Errorf("%d of %d", live, all)
	}
	if got := files(search(t, s, "local", obj{"query": "cat.png"})); !slices.Equal(got, []string{"cat.png"}) {
		t.Errorf("%v", got)
	}
}

func exec(t testing.TB, s *Service, statement string) {
	t.Helper()
	if err := s.db.Write(ctx, func(tx *sql.Tx) error { _, err := tx.Exec(statement); return err }); err != nil {
		t.Fatal(err)
	}
}

// TestBackfill: resources from before mappings get theirs when memories are opened,
// once; an upload heals one, too.
func TestBackfill(t *testing.T) {
	s := open(t)
	upload(t, s, "local", "a.png", "1")
	upload(t, s, "other", "b.png", "2")
	exec(t, s, "DELETE FROM memory_attachments")
	for range 2 {
		s = openAt(t, s.o.Dir)
		if live, all := mapped(t, s); live != 2 || all != 2 {
			t.Errorf("%d of %d", live, all)
		}
	}
	exec(t, s, "DELETE FROM memory_attachments")
	if _, again := upload(t, s, "local", "a.png", "1"); !again {
		t.Error("it was taken for another file")
	}
	if live, _ := mapped(t, s); live != 1 {
		t.Error("the upload did not heal the mapping")
	}
}

func TestLongUserNames(t *testing.T) {
	s := open(t)
	user := strings.Repeat("长", 100)
	upload(t, s, user, "a.png", "1")
	f := search(t, s, user, obj{"query": "a.png"})
	if len(f.Results) != 1 || len([]rune(*f.Results[0].SessionID)) > 128 || len(f.Results[0].Attachments) != 1 {
		t.Errorf("%+v", f)
	}
	if _, err := s.Add(ctx, "local", message("local", strings.Repeat("s", 129), text("x"))); !errors.Is(err, ErrInput) {
		t.Errorf("a session id of 129 letters: %v", err)
	}
	add(t, s, "local", message("local", strings.Repeat("s", 128), text("x")))
}

func TestHostileNames(t *testing.T) {
	for _, name := range []string{"", ".", "..", "../..", "/", `..\..\x`, "\x00", "a\x00b", "CON", "nul.txt", "com1", ".hidden", strings.Repeat("网", 300) + ".png", "a/b", "x. ", "\xff\xfe", "a\u202egnp.exe"} {
		got := safeName(name)
		if got == "" || got == "." || got == ".." || len(got) > maxName || strings.ContainsAny(got, "/\\\x00:") || strings.HasPrefix(got, ".") || deviceName(got) {
			t.Errorf("%q became %q", name, got)
		}
	}
	if got := safeName("内存 网关.png"); got != "内存 网关.png" {
		t.Errorf("%q", got)
	}
	s := open(t)
	for _, user := range []string{".", "..", "", "a\x00"} {
		if _, err := s.Add(ctx, user, message(user, "s", image("x", "", b64("x")))); !errors.Is(err, ErrForbidden) {
			t.Errorf("user %q: %v", user, err)
		}
	}
	for _, user := range []string{"../../up", "a/b", `a\b`, "NUL", "...", "网", strings.Repeat("u", 300)} {
		add(t, s, user, message(user, "s", text("hello"), image("x.png", "", b64("x"))))
		if got := files(search(t, s, user, obj{"query": "hello"})); len(got) != 1 {
			t.Errorf("user %q: %v", user, got)
		}
	}
	for _, p := range stored(t, s) {
		if strings.Contains(p, "..") && !strings.HasSuffix(p, ".png") {
			t.Errorf("stored at %q", p)
		}
	}
}

func FuzzSafeName(f *testing.F) {
	for _, s := range []string{"a.png", "../x", "CON", "\x00", "网.png"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := safeName(name)
		if !filepath.IsLocal(got) || filepath.Base(got) != got || len(got) > maxName {
			t.Errorf("%q became %q", name, got)
		}
	})
}

func TestFileURIs(t *testing.T) {
	s := open(t)
	for _, name := range []string{"a b#c%20d.png", "内存?.png"} {
		path := filepath.Join(s.folder("local", attachmentsDir, "x"), name)
		back, ok := s.ownPath(fileURI(path))
		if !ok || back != path {
			t.Errorf("%q became %q", path, back)
		}
	}
	for _, uri := range []string{"file:///etc/passwd", "https://h/x", fileURI(s.o.Dir), fileURI(s.o.Dir) + "/storage/../memory.db", "%"} {
		if p, ok := s.ownPath(uri); ok {
			t.Errorf("%s is %s of ours", uri, p)
		}
	}
	if _, err := url.Parse(fileURI("/a b")); err != nil {
		t.Error(err)
	}
}

// TestCrash: what was written before a crash and has no row goes an hour later, and
// nothing else does.
func TestCrash(t *testing.T) {
	now := time.Now()
	s := open(t)
	add(t, s, "local", message("local", "s", text("hello"), image("keep.png", "", b64("x"))))
	upload(t, s, "local", "r.png", "2")
	for _, kind := range []string{attachmentsDir, resourcesDir} {
		if _, err := s.save(s.folder("local", kind, newID()), "left.png", []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	left := func(s *Service) int {
		return strings.Count(strings.Join(stored(t, s), "\n"), "left.png")
	}
	if s = openAt(t, s.o.Dir, at(now.Add(30*time.Minute))); left(s) != 2 {
		t.Error("it went too early: it may be being written")
	}
	s = openAt(t, s.o.Dir, at(now.Add(2*time.Hour)))
	if all := strings.Join(stored(t, s), "\n"); left(s) != 0 || !strings.Contains(all, "keep.png") || !strings.Contains(all, "r.png") {
		t.Errorf("%s", all)
	}
}

// TestDeletedIsGoneAfterAWhile with its file.
func TestDeletedIsGoneAfterAWhile(t *testing.T) {
	s := open(t)
	r, _ := upload(t, s, "local", "r.png", "2")
	if err := s.DeleteResource(ctx, "local", r.ID); err != nil {
		t.Fatal(err)
	}
	s = openAt(t, s.o.Dir, at(time.Now().Add(29*24*time.Hour)))
	if _, all := mapped(t, s); all != 1 {
		t.Error("too early")
	}
	s = openAt(t, s.o.Dir, at(time.Now().Add(31*24*time.Hour)))
	if _, all := mapped(t, s); all != 0 || len(stored(t, s)) != 0 {
		t.Errorf("%d, %v", all, stored(t, s))
	}
}

// TestFaultsOfAnAdd: whichever step fails, no file and no row is left, and where the
// engine has the memory already the answer says what happened.
func TestFaultsOfAnAdd(t *testing.T) {
	broken := errors.New("broken")
	for _, step := range []string{"folder", "file", "engine", "rows", "commit"} {
		t.Run(step, func(t *testing.T) {
			s := open(t, func(o *Options) {
				n := 0
				o.fail = func(at string) error {
					if at == "file" {
						n++
					}
					if at == step && (step != "file" || n == 2) { // the second file of the two
						return broken
					}
					return nil
				}
			})
			r, err := s.Add(ctx, "local", message("local", "s", text("hello"), image("a.png", "", b64("a")), image("b.png", "", b64("b"))))
			if kept := step == "rows" || step == "commit"; kept {
				if err != nil || !r.OK() || !strings.Contains(string(r.Body), `"warning"`) {
					t.Errorf("%s, %v", r.Body, err)
				}
				if f := search(t, s, "local", obj{"query": "hello"}); len(f.Results) != 1 || len(f.Results[0].Attachments) != 0 {
					t.Errorf("%+v", f)
				}
			} else if !errors.Is(err, broken) {
				t.Errorf("%s, %v", r.Body, err)
			} else if f := search(t, s, "local", obj{"query": "hello"}); len(f.Results) != 0 {
				t.Errorf("%+v", f)
			}
			if live, all := mapped(t, s); live+all != 0 || len(stored(t, s)) != 0 {
				t.Errorf("%d rows, %v", all, stored(t, s))
			}
		})
	}
	for _, step := range []string{"file", "rows"} {
		t.Run("upload "+step, func(t *testing.T) {
			s := open(t, func(o *Options) {
				o.fail = func(at string) error {
					if at == step {
						return broken
					}
					return nil
				}
			})
			if _, _, err := s.PutResource(ctx, Upload{Scope: Scope{User: "local"}, Name: "a", Body: strings.NewReader("x")}); !errors.Is(err, broken) {
				t.Errorf("%v", err)
			}
			_, n, _ := s.Resources(ctx, Scope{User: "local"}, 10, 0)
			if live, all := mapped(t, s); live+all+n != 0 || len(stored(t, s)) != 0 {
				t.Errorf("%d rows, %v", all, stored(t, s))
			}
		})
	}
}

// TestIsolation: users × sessions × apps × projects: everybody finds what is theirs,
// with their own files, and nothing else, though all names are the same.
func TestIsolation(t *testing.T) {
	s := open(t)
	type place struct{ user, session, app, project string }
	var all []place
	for _, u := range []string{"ann", "bob"} {
		for _, ses := range []string{"s1", "s2"} {
			for _, app := range []string{"default", "app2"} {
				for _, p := range []string{"default", "proj2"} {
					all = append(all, place{u, ses, app, p})
				}
			}
		}
	}
	for _, p := range all {
		key := strings.Join([]string{p.user, p.session, p.app, p.project}, "-")
		add(t, s, p.user, obj{"session_id": p.session, "app_id": p.app, "project_id": p.project, "messages": []any{obj{"sender_id": p.user, "role": "user", "timestamp": 1_750_000_000_000,
			"content": []any{text("hello of " + key), image("same.png", "https://h/same.png", ""), image("same.png", "", b64(key))}}}}.bytes())
	}
	for _, p := range all {
		key := strings.Join([]string{p.user, p.session, p.app, p.project}, "-")
		f := search(t, s, p.user, obj{"query": "hello same.png", "app_id": p.app, "project_id": p.project, "filters": obj{"session_id": p.session}})
		if len(f.Results) != 1 || !strings.Contains(f.Results[0].Text, "hello of "+key) || len(f.Results[0].Attachments) != 2 {
			t.Fatalf("%s found %+v", key, f.Results)
		}
		for _, a := range f.Results[0].Attachments {
			if strings.HasPrefix(a.URI, "file:") && read(t, a.URI, s) != key {
				t.Errorf("%s got the file of another", key)
			}
		}
		if f := search(t, s, p.user, obj{"query": "hello", "app_id": p.app, "project_id": p.project}); len(f.Results) != 2 {
			t.Errorf("%s finds %d in all its sessions", key, len(f.Results))
		}
		list, n, err := listed(s, Scope{p.user, p.app, p.project}, 10, 0)
		if err != nil || n != 2 {
			t.Errorf("list: %d, %v", n, err)
		}
		for _, m := range list {
			for _, o := range all {
				if o.user == p.user {
					continue
				}
				if _, err := s.Get(ctx, Scope{User: o.user}, m.ID); !errors.Is(err, ErrNotFound) {
					t.Errorf("%s reads %s: %v", o.user, m.ID, err)
				}
				if _, err := s.Forget(ctx, Scope{User: o.user}, m.ID); !errors.Is(err, ErrNotFound) {
					t.Errorf("%s forgets %s: %v", o.user, m.ID, err)
				}
			}
		}
	}
	if _, err := s.PurgeUser(ctx, "ann"); err != nil {
		t.Fatal(err)
	}
	for _, p := range stored(t, s) {
		if strings.HasPrefix(p, "ann") {
			t.Errorf("%s is left of a user who is gone", p)
		}
	}
	if f := search(t, s, "bob", obj{"query": "hello"}); len(files(f)) != 4 {
		t.Errorf("bob lost something: %v", files(f))
	}
}

func TestWhoSpeaks(t *testing.T) {
	s := open(t, func(o *Options) { o.Aliases = map[string][]string{"local": {"me@home"}} })
	with := func(more obj, body []byte) []byte {
		for k, v := range more {
			body = []byte(strings.Replace(string(body), "{", `{"`+k+`":"`+v.(string)+`",`, 1))
		}
		return body
	}
	for _, c := range []struct {
		name string
		body []byte
		ok   bool
	}{
		{"own", message("local", "s", text("x")), true},
		{"an alias", message("me@home", "s", text("x")), true},
		{"nobody", message("", "s", text("x")), true},
		{"another sender", message("bob", "s", text("x")), false},
		{"another user", with(obj{"user_id": "bob"}, message("local", "s", text("x"))), false},
		{"the same user", with(obj{"user_id": "local"}, message("local", "s", text("x"))), true},
	} {
		if _, err := s.Add(ctx, "local", c.body); (err == nil) != c.ok || err != nil && !errors.Is(err, ErrForbidden) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := s.Add(ctx, "bob", message("me@home", "s", text("x"))); !errors.Is(err, ErrForbidden) {
		t.Errorf("the alias of another: %v", err)
	}
	group := open(t, func(o *Options) { o.OpenSenders = true })
	add(t, group, "local", message("bob", "s", text("x")))
	for _, more := range []obj{{"user_id": "bob"}, {"agent_id": "a"}} {
		more["query"] = "x"
		if _, err := s.Search(ctx, "local", more.bytes()); !errors.Is(err, ErrForbidden) {
			t.Errorf("%v: %v", more, err)
		}
	}
}

func TestInput(t *testing.T) {
	s := open(t)
	for _, body := range []string{``, `[]`, `{`, `{"session_id":"s"}`, `{"session_id":"s","messages":[]}`, `{"session_id":"","messages":[{"role":"user","content":"x"}]}`,
		`{"session_id":"s","app_id":"..","messages":[{"role":"user","content":"x"}]}`, `{"session_id":"s","app_id":"a b","messages":[{"role":"user","content":"x"}]}`,
		`{"session_id":"s","messages":[{"role":"boss","content":"x"}]}`, `{"session_id":"s","messages":[{"role":"tool","content":"x"}]}`,
		`{"session_id":"s","messages":[{"role":"user","content":5}]}`, `{"session_id":"s","messages":[{"role":"user","content":"x","timestamp":-1}]}`} {
		if _, err := s.Add(ctx, "local", []byte(body)); !errors.Is(err, ErrInput) {
			t.Errorf("%s: %v", body, err)
		}
	}
	for _, body := range []string{`{"query":""}`, `{"query":"x","top_k":0}`, `{"query":"x","top_k":101}`, `{"query":"x","method":"magic"}`, `{"query":"x","filters":[]}`,
		`{"query":"x","filters":{"owner_id":"bob"}}`, `{"query":"x","filters":{"AND":[{"user_id":"bob"}]}}`, `{"query":"x","filters":{"colour":"red"}}`, `{"query":"x","filters":{"session_id":{"like":"a"}}}`,
		`{"query":"x","filters":{"timestamp":"yesterday"}}`, `{"query":"x","filters":` + strings.Repeat(`{"AND":[`, 20) + `{}` + strings.Repeat(`]}`, 20) + `}`} {
		if _, err := s.Search(ctx, "local", []byte(body)); !errors.Is(err, ErrInput) {
			t.Errorf("%s: %v", body, err)
		}
	}
}
