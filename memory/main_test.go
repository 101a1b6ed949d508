package memory

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ctx = context.Background()

// openAt opens memories in a folder; change may change the options first.
func openAt(t testing.TB, dir string, change ...func(*Options)) *Service {
	t.Helper()
	o := Options{Dir: dir}
	for _, c := range change {
		c(&o)
	}
	s, err := Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func open(t testing.TB, change ...func(*Options)) *Service {
	return openAt(t, filepath.Join(t.TempDir(), "memory"), change...)
}

// obj is JSON under construction.
type obj map[string]any

func (o obj) bytes() []byte {
	data, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return data
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// message is an add of one message of a user with these parts.
func message(user, session string, parts ...any) []byte {
	return obj{"session_id": session, "messages": []any{obj{"sender_id": user, "role": "user", "timestamp": 1_750_000_000_000, "content": parts}}}.bytes()
}

func text(s string) obj { return obj{"type": "text", "text": s} }

func image(name, uri, data string) obj {
	o := obj{"type": "image", "name": name}
	if uri != "" {
		o["uri"] = uri
	}
	if data != "" {
		o["base64"] = data
	}
	return o
}

func add(t testing.TB, s *Service, user string, body []byte) {
	t.Helper()
	r, err := s.Add(ctx, user, body)
	if err != nil || !r.OK() {
		t.Fatalf("add: %d %s, %v", r.Status, r.Body, err)
	}
}

func search(t testing.TB, s *Service, user string, more obj) Found {
	t.Helper()
	f, err := s.Search(ctx, user, more.bytes())
	if err != nil {
		t.Fatalf("search %v: %v", more, err)
	}
	for _, it := range f.Results {
		if it.Attachments == nil {
			t.Errorf("%s: attachments are null", it.ID)
		}
	}
	return f
}

// listed is a page of memories.
func listed(s *Service, scope Scope, limit, offset int) ([]Memory, int, error) {
	l, err := s.List(ctx, scope, limit, offset)
	return l.Memories, l.Total, err
}

// files are the names of all attachments of all results, with their results' texts.
func files(f Found) (names []string) {
	for _, it := range f.Results {
		for _, a := range it.Attachments {
			names = append(names, a.Name)
		}
	}
	return names
}

// stored are the files below the storage.
func stored(t testing.TB, s *Service) (list []string) {
	t.Helper()
	root := filepath.Join(s.o.Dir, "storage")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && path != root {
			rel, _ := filepath.Rel(root, path)
			if d.IsDir() {
				rel += "/"
			}
			list = append(list, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// mapped counts the rows of memory_attachments, live and deleted ones.
func mapped(t testing.TB, s *Service) (live, all int) {
	t.Helper()
	if err := s.db.Read().QueryRow(`SELECT count(*) FILTER (WHERE deleted_at IS NULL), count(*) FROM memory_attachments`).Scan(&live, &all); err != nil {
		t.Fatal(err)
	}
	return live, all
}

func upload(t testing.TB, s *Service, user, name, data string) (Resource, bool) {
	t.Helper()
	r, again, err := s.PutResource(ctx, Upload{Scope: Scope{User: user}, Name: name, ContentType: "image/png", Body: strings.NewReader(data)})
	if err != nil {
		t.Fatal(err)
	}
	return r, again
}

func at(when time.Time) func(*Options) {
	return func(o *Options) { o.Now = func() time.Time { return when } }
}

func read(t testing.TB, uri string, s *Service) string {
	t.Helper()
	path, ok := s.ownPath(uri)
	if !ok {
		t.Fatalf("%s is not in the storage", uri)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// zeros is a reader of so many bytes.
type zeros int

func (z *zeros) Read(p []byte) (int, error) {
	if *z == 0 {
		return 0, io.EOF
	}
	n := min(len(p), int(*z))
	clear(p[:n])
	*z -= zeros(n)
	return n, nil
}
