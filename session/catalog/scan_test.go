package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/piweb-go/piweb/internal/durable"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/toolselect"
)

// opened describes a file as an opened session tells it: slow, and the yardstick.
func opened(path string) Info {
	s, err := session.Open(path, session.Options{})
	if err != nil {
		return Info{Path: path, Problem: err.Error()}
	}
	defer s.Close()
	h := s.Header()
	i := Info{Path: path, ID: h.ID, CWD: h.CWD, Parent: h.ParentSession, Notes: lineNotes(s)}
	if h.Raw != nil {
		i.Created = h.Created().UTC()
	}
	i.Modified = i.Created
	st, err := os.Stat(path)
	if err != nil {
		return Info{Path: path, Problem: err.Error()}
	}
	i.Bytes = st.Size()
	i.Name, _ = s.Name()
	found, _ := toolselect.Find(s)
	i.Tools = found.Selection.String()
	for e := range s.Entries() {
		if e.Type != session.TypeMessage {
			continue
		}
		i.Messages++
		if e.Role != "user" && e.Role != "assistant" {
			continue
		}
		if t := e.Time().UTC(); t.After(i.Modified) {
			i.Modified = t
		}
		if i.First != "" || e.Role != "user" {
			continue
		}
		p, err := s.Decode(e)
		if err != nil {
			return Info{Path: path, Problem: err.Error()}
		}
		var parts []string
		for _, b := range message.ContentOf(p.(session.MessagePayload).Message) {
			if b.Type == message.TypeText {
				parts = append(parts, b.Text)
			}
		}
		i.First = clip(strings.Join(parts, " "))
	}
	if i.Modified.IsZero() {
		i.Modified = st.ModTime().UTC()
	}
	return i
}

// TestReadIsWhatAnOpenedSessionTells: on every session file of the fixtures, whole
// and cut at many places.
func TestReadIsWhatAnOpenedSessionTells(t *testing.T) {
	var files []string
	for _, pattern := range []string{"pi/*.jsonl", "cases/*/*.jsonl", "web/*.jsonl"} {
		found, err := filepath.Glob(filepath.Join("../../fixtures", pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) < 20 {
		t.Fatalf("%d fixtures", len(files))
	}
	for _, f := range files {
		if d := cmp.Diff(opened(f), Read(f)); d != "" {
			t.Errorf("%s: %s", f, d)
		}
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		short := filepath.Join(t.TempDir(), "s.jsonl")
		for n := 0; n < len(data); n += 1 + len(data)/40 {
			if err := os.WriteFile(short, data[:n], 0o644); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(opened(short), Read(short)); d != "" {
				t.Fatalf("%s, the first %d bytes: %s", f, n, d)
			}
		}
	}
}

func TestReadOddFiles(t *testing.T) {
	head := `{"type":"session","version":3,"id":"i","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}` + "\n"
	user := func(text string) string { return msg("a", "user", text, "2026-01-02T00:00:00.000Z") }
	big := strings.Repeat("x", 3*scanBlock)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"empty":          "",
		"blank":          "\n\n",
		"torn":           head + user(`"q"`) + `{"type":"message","id":"b","parentId":"a","mess`,
		"torn and glued": head + `{"type":"message","id":"b","parentId":"a","message":{"role":"user","content":"ab` + user(`"q"`),
		"two on a line":  head + strings.TrimSuffix(user(`"q"`), "\n") + user(`"r"`),
		"NULs":           head + strings.Repeat("\x00", 5000) + "\n" + user(`"q"`),
		"many NULs":      head + strings.Repeat("\x00", 3*scanBlock+17) + "\n" + user(`"q"`),
		"NULs in front":  head + strings.Repeat("\x00", 9*scanBlock) + user(`"q"`),
		"scalars":        head + "1\ntrue\n[1,2]\nnull\n" + user(`"q"`),
		"no id":          head + `{"type":"message","message":{"role":"user","content":"x"}}` + "\n",
		"repeated keys": head + strings.Replace(user(`"no"`), `"content":"no"`, `"content":"no","content":[{"type":"text","text":"q","text":"yes","TEXT":"no"}],"CONTENT":"no"`, 1) +
			`{"type":"custom","type":"session_info","id":"n","parentId":"a","name":"no","name":"yes","NAME":"no"}` + "\n" +
			`{"type":"custom","id":"p","parentId":"n","customType":"x","customType":"pi-web:tool-selection","data":{"version":1,"tools":["bash"]},"data":{"version":1,"tools":["read"]}}` + "\n",
		"no JSON, by its shape one": head + `{"type":"custom","id":"a","parentId":null,"customType":"pi-web:tool-selection","data":{"version":1,"tools":[],}}` + "\n" + user(`"q"`),
		"second header":             head + head + user(`"q"`),
		"title":                     `{"type":"title","title":"t"}` + "\n" + head + user(`"q"`),
		"keys in other order":       head + `{"message":{"content":"` + big + `","role":"user"},"timestamp":"2026-02-01T00:00:00.000Z","parentId":null,"id":"z","type":"message"}` + "\n",
		"a long line":               head + user(`"`+big+`"`) + user(`"q"`),
		"a long last line":          head + user(`"q"`) + strings.TrimSuffix(user(`"`+big+`"`), "\n"),
		"a long torn line":          head + user(`"q"`) + strings.TrimSuffix(user(`"`+big+`"`), "\"}}\n"),
		"a long name":               head + `{"type":"session_info","id":"n","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","name":"` + big + `"}` + "\n",
		"a long odd line":           head + big + "\n" + user(`"q"`),
		"version 1":                 `{"type":"session","id":"old","timestamp":"2026-01-01T00:00:00.000Z"}` + "\n" + `{"type":"message","timestamp":"2026-01-02T00:00:00.000Z","message":{"role":"user","content":"q"}}` + "\n",
		"version in words":          `{"type":"session","version":"x","id":"old"}` + "\n" + user(`"q"`),
		"no header":                 user(`"q"`) + head,
		"header without id":         `{"type":"session","version":3}` + "\n" + user(`"q"`),
		"CRLF":                      strings.ReplaceAll(head+user(`"q"`), "\n", "\r\n"),
		"byte order mark":           "\xEF\xBB\xBF" + head,
		"deep":                      head + `{"type":"x","id":"d","v":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + "}\n" + user(`"q"`),
		"escapes":                   head + user(`"\"\\\\\" é \ud83d\ude00 \u0000"`),
		"name taken away":           head + `{"type":"session_info","id":"n","name":"x"}` + "\n" + `{"type":"session_info","id":"m"}` + "\n",
		"selections":                head + `{"type":"custom","customType":"pi-web:tool-selection","data":{"version":1,"tools":["read"]},"id":"c","parentId":null}` + "\n" + `{"type":"custom","customType":"pi-web:tool-selection","data":{"version":9},"id":"d","parentId":null}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, "s.jsonl")
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(opened(path), Read(path)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestShapeInPieces: a line has one shape, however it is fed.
func TestShapeInPieces(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: true, ` {"a":[1,"}"]} `: true, `{"a":"\\"}`: true, `{"a":"\""}`: true, `{"a":"\\\""}`: true,
		``: false, `{`: false, `{"a":"\"}`: false, `{}{}`: false, `{} x`: false, `[]`: false, `"a"`: false, `}{`: false, "\x00{}": false, `{"a":1}]`: false,
	} {
		for n := 1; n <= len(text)+1; n++ {
			var s outline
			for rest := []byte(text); len(rest) > 0; {
				m := min(n, len(rest))
				s.feed(rest[:m])
				rest = rest[m:]
			}
			if s.ok() != want {
				t.Errorf("%q in pieces of %d: %v", text, n, s.ok())
			}
		}
	}
}

// TestOnlyTheTailIsRead: of a file that grew, nothing before the old end is scanned
// again.
func TestOnlyTheTailIsRead(t *testing.T) {
	root := t.TempDir()
	line := msg("a", "user", `"q"`, "2026-01-02T00:00:00.000Z")
	path := put(t, root, "", "grow", strings.Repeat(line, 20_000))
	old, err := scan(path, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(line); err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	rd, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer rd.Close()
	counted := &counter{r: rd}
	r := &record{key: keyOf(info)}
	if !old.grown(r.key, counted) {
		t.Fatal("not seen as grown")
	}
	s := scanner{f: counted, r: r, end: info.Size(), at: old.resume, headed: true}
	r.info, r.version = old.info, old.version
	if err := s.run(make([]byte, scanBlock)); err != nil {
		t.Fatal(err)
	}
	if r.info.Messages != 20_001 || counted.n > 32<<10 {
		t.Errorf("%d messages, %d bytes read of %d", r.info.Messages, counted.n, info.Size())
	}
}

type counter struct {
	r interface {
		ReadAt([]byte, int64) (int, error)
	}
	n int
}

func (c *counter) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(p, off)
	c.n += n
	return n, err
}

func TestSideFilesAreNoSessions(t *testing.T) {
	root := t.TempDir()
	want := put(t, root, "--w--", "real", "")
	own := put(t, root, "--w--", "my.bak", "") // an id that only looks like it
	data, err := os.ReadFile(want)
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(root, "--w--", "x_real")
	for _, end := range []string{".jsonl.bak", ".jsonl.bak.1", ".jsonl.reset", ".jsonl.reset.2026", ".jsonl.deleted.1", ".jsonl.torn", ".jsonl.tmp",
		".checkpoint.1234.jsonl", ".bak.jsonl", ".deleted.jsonl"} {
		if err := os.WriteFile(base+end, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "--w--", ".x.jsonl"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := Files(root)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{own, want}, got); d != "" {
		t.Error(d)
	}
}

// TestOneFolderTwoProjects: the folder's name is the same, the headers differ.
func TestOneFolderTwoProjects(t *testing.T) {
	root := t.TempDir()
	a, b := "/w/a-b/c", "/w/a/b-c"
	if session.DirName(a) != session.DirName(b) {
		t.Fatal("these do not collide")
	}
	for i, cwd := range []string{a, b} {
		path := put(t, root, session.DirName(cwd), fmt.Sprint("s", i), "")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		data = bytes.Replace(data, []byte(`"cwd":"/w"`), fmt.Appendf(nil, `"cwd":%q`, cwd), 1)
		at := time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC)
		if err := errors.Join(os.WriteFile(path, data, 0o644), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	c := Open(root, "", Options{})
	for i, cwd := range []string{a, b + "/"} {
		id := fmt.Sprint("s", i)
		page, err := c.List(t.Context(), Filter{CWD: cwd})
		if err != nil || page.Total != 1 || page.Infos[0].ID != id {
			t.Errorf("list in %s: %+v, %v", cwd, page, err)
		}
		if last, err := c.MostRecent(t.Context(), cwd); err != nil || last.ID != id {
			t.Errorf("last in %s: %+v, %v", cwd, last, err)
		}
		if path, err := c.Find(t.Context(), cwd, "s"); err != nil || !strings.HasSuffix(path, id+".jsonl") {
			t.Errorf("find in %s: %s, %v", cwd, path, err)
		}
	}
	if _, err := c.Find(t.Context(), "", "s"); !errors.Is(err, ErrAmbiguous) {
		t.Errorf("find anywhere: %v", err)
	}
	if path, err := c.Find(t.Context(), "/elsewhere", "s1"); err != nil || path == "" {
		t.Errorf("find from elsewhere: %v", err)
	}
	if _, err := c.MostRecent(t.Context(), "/elsewhere"); !errors.Is(err, ErrNone) {
		t.Errorf("last of another folder: %v", err)
	}
}

// TestSparseFile: a hole of 40 GB is neither read by a list nor by a search, and
// hides nothing.
func TestSparseFile(t *testing.T) {
	const hole = 40 << 30
	root := t.TempDir()
	path := put(t, root, "--w--", "s", msg("a", "user", `"before"`, "2026-01-02T00:00:00.000Z"))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	end := info.Size() + hole
	if err := f.Truncate(end); err != nil {
		t.Skip("this file system has no files of that size: ", err)
	}
	if durable.NextData(f, info.Size()+1<<20, end) < end {
		t.Skip("this system or file system does not say where holes are")
	}
	if _, err := f.WriteAt([]byte("\n"+msg("b", "user", `"behind"`, "2026-01-03T00:00:00.000Z")), end); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(opened(path), Read(path)); d != "" {
		t.Error(d)
	}
	c := Open(root, "", Options{})
	for _, word := range []string{"before", "behind"} {
		if hits := collect(t, c, Query{Words: []string{word}}); len(hits) != 1 || hits[0].Session.Messages != 2 {
			t.Errorf("%s: %+v", word, hits)
		}
	}
}
