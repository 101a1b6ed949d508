package export

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
	"github.com/tidwall/gjson"
	"pgregory.net/rapid"
)

const head = `{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"}` + "\n"

func said(id, parent, text string) string {
	p := "null"
	if parent != "" {
		p = `"` + parent + `"`
	}
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":%q}}`+"\n", id, p, text)
}

func put(t interface{ Fatal(...any) }, dir, text string) string {
	f, err := os.CreateTemp(dir, "s*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	f.Close()
	return f.Name()
}

func open(t *testing.T, path string) *session.Session {
	t.Helper()
	s, err := session.Open(path, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func fixed() time.Time { return time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC) }

func said2(r Report) (out []string) {
	for _, f := range r.Findings {
		out = append(out, f.String())
	}
	return out
}

type format struct {
	ext   string
	write func(io.Writer, *session.Session, Options) (Report, error)
}

var formats = []format{{"jsonl", JSONL}, {"md", Markdown}, {"html", HTML}}

// TestGoldens exports a session with every kind of entry, with hostile text and
// with secrets.
func TestGoldens(t *testing.T) {
	s := open(t, "testdata/session/all.jsonl")
	for _, c := range []struct {
		name string
		f    format
		o    Options
	}{
		{"plain.jsonl", formats[0], Options{}},
		{"redacted.jsonl", formats[0], Options{Redact: RedactOn}},
		{"all-branches.jsonl", formats[0], Options{All: true}},
		{"other-branch.jsonl", formats[0], Options{Entry: "b0000001"}},
		{"redacted.md", formats[1], Options{}},
		{"plain.md", formats[1], Options{Redact: RedactOff}},
		{"redacted.html", formats[2], Options{}},
		{"forced.html", formats[2], Options{Redact: RedactOff, Force: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.o.Now = fixed
			var b bytes.Buffer
			r, err := c.f.write(&b, s, c.o)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "testdata/session/all-"+c.name, b.String())
			golden(t, "testdata/session/all-"+c.name+".report", fmt.Sprintf("entries %d, redacted %v, homes %d, pictures %d\n%s\n", r.Entries, r.Redacted, r.Homes, r.Pictures, strings.Join(said2(r), "\n")))
			for _, secret := range []string{"hunter2", "x9Zk2Lq8Wv4Bn7Tr", "alice"} {
				if r.Redacted && strings.Contains(b.String(), secret) {
					t.Errorf("%s went out", secret)
				}
				if strings.Contains(fmt.Sprint(said2(r)), secret) {
					t.Errorf("the report tells %s", secret)
				}
			}
		})
	}
}

// TestPageAsksForNothing: no script, no address, no handler; the policy names the
// style that is there.
func TestPageAsksForNothing(t *testing.T) {
	var b bytes.Buffer
	if _, err := HTML(&b, open(t, "testdata/session/all.jsonl"), Options{Now: fixed}); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, tag := range regexp.MustCompile(`<[^>]*>`).FindAllString(page, -1) {
		if m := regexp.MustCompile(`(?i)^<(script|link|a|iframe|object|embed|form|base|svg|video|audio)\b|\son\w+=|\bhref=|url\(|\b(src|style)="(data:image/(png|jpeg|gif|webp);base64,)?`).FindStringSubmatch(tag); m != nil && m[3] == "" {
			t.Errorf("the page holds %.80s", tag)
		}
	}
	_, rest, _ := strings.Cut(page, "<style>")
	css, _, _ := strings.Cut(rest, "</style>")
	sum := sha256.Sum256([]byte(css))
	if hash := base64.StdEncoding.EncodeToString(sum[:]); !strings.Contains(strings.ReplaceAll(page, "&#43;", "+"), "style-src &#39;sha256-"+hash+"&#39;") {
		t.Errorf("the policy does not allow the style %s", hash)
	}
	if strings.Contains(css, "url(") || strings.Contains(css, "@import") || strings.Contains(page, "image/svg") && strings.Contains(page, "data:image/svg") {
		t.Error("the page asks for something")
	}
}

// TestDoubtsStopThePage: the error says where, never what; force and strict go on.
func TestDoubtsStopThePage(t *testing.T) {
	random := "Zx8Kq2Lm5Np7Rt1Vw4Yb6Cd9"
	s := open(t, put(t, t.TempDir(), head+said("a", "", "plain")+said("b", "a", "one\n"+random+" is it")))
	var b bytes.Buffer
	_, err := HTML(&b, s, Options{})
	var doubt *DoubtError
	if !errors.As(err, &doubt) || !errors.Is(err, ErrDoubt) || b.Len() != 0 {
		t.Fatalf("%v, %d bytes", err, b.Len())
	}
	if len(doubt.Findings) != 1 || doubt.Findings[0].Entry != "b" || doubt.Findings[0].Line != 3 || doubt.Findings[0].TextLine != 2 || strings.Contains(err.Error(), random[:6]) {
		t.Errorf("%v", err)
	}
	if _, err := HTML(&b, s, Options{Force: true}); err != nil || !strings.Contains(b.String(), random) {
		t.Errorf("forced: %v", err)
	}
	b.Reset()
	if _, err := HTML(&b, s, Options{Redactor: Redactor{Strict: true}}); err != nil || strings.Contains(b.String(), random) || !strings.Contains(b.String(), "[redacted:doubt]") {
		t.Errorf("strict: %v", err)
	}
	secret := open(t, put(t, t.TempDir(), head+said("a", "", "DB_PASSWORD=hunter2")))
	if _, err := HTML(io.Discard, secret, Options{Redact: RedactOff}); !errors.Is(err, ErrDoubt) {
		t.Errorf("a known secret goes out unforced: %v", err)
	}
	if r, err := Markdown(io.Discard, s, Options{}); err != nil || len(r.Findings) != 1 || !r.Findings[0].Doubt {
		t.Errorf("Markdown: %v, %+v", err, r)
	}
}

// said3 is what a context says, without ids.
func said3(t interface{ Fatal(...any) }, path string, leaf session.ID) (out []string, s *session.Session) {
	s, err := session.Open(path, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if leaf == "" {
		leaf = s.Leaf()
	}
	c, err := s.ContextAt(leaf)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range c.Messages {
		raw, _ := message.Marshal(m)
		out = append(out, string(raw))
	}
	return append(out, fmt.Sprint(c.Model, c.ThinkingLevel, c.System.Prompt(), c.System.ToolNames())), s
}

// fixtures are all session files that open and have a header.
func fixtures(t *testing.T) (files []string) {
	for _, pattern := range []string{"../../fixtures/pi/*.jsonl", "../../fixtures/cases/*/*.jsonl", "testdata/session/all.jsonl"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			s, err := session.Open(f, session.Options{})
			if err != nil {
				continue
			}
			if s.Header().Raw != nil {
				files = append(files, f)
			}
			s.Close()
		}
	}
	if len(files) < 40 {
		t.Fatalf("only %d fixtures", len(files))
	}
	return files
}

// TestJSONLGivesTheSameContext: for every fixture, branch and all.
func TestJSONLGivesTheSameContext(t *testing.T) {
	for _, file := range fixtures(t) {
		for _, all := range []bool{false, true} {
			want, s := said3(t, file, "")
			var b bytes.Buffer
			r, err := JSONL(&b, s, Options{All: all, Now: fixed})
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			got, back := said3(t, put(t, t.TempDir(), b.String()), "")
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s, all %v: %s", file, all, d)
			}
			if back.ID() != s.ID() || back.Header().Timestamp != "2026-02-03T04:05:06.000Z" || back.Header().Version < 3 || back.Header().CWD != s.Header().CWD {
				t.Errorf("%s: header %s", file, back.Header().Raw)
			}
			for _, d := range back.Diagnostics() {
				if d.Kind != session.KindLeaves && d.Kind != session.KindVersion {
					t.Errorf("%s, all %v: %+v", file, all, d)
				}
			}
			if all && r.Entries != s.Len() {
				t.Errorf("%s: %d entries of %d", file, r.Entries, s.Len())
			}
			s.Close()
			back.Close()
		}
	}
}

// TestJSONLIsOneChain: in a branch each entry hangs on the one before it, and
// nothing of an entry changes but that.
func TestJSONLIsOneChain(t *testing.T) {
	for _, file := range fixtures(t) {
		s := open(t, file)
		var b bytes.Buffer
		if _, err := JSONL(&b, s, Options{}); err != nil {
			t.Fatal(err)
		}
		branch, err := s.Branch(s.Leaf())
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")[1:]
		last, seen := "", map[string]bool{}
		for i, line := range lines {
			v := gjson.Parse(line)
			if v.Get("parentId").String() != last || seen[v.Get("id").String()] {
				t.Errorf("%s: entry %d hangs on %s", file, i, v.Get("parentId"))
			}
			last = v.Get("id").String()
			seen[last] = true
			if len(lines) == len(branch.Entries) && string(branch.Entries[i].ID) == last && string(branch.Entries[i].Parent) == v.Get("parentId").String() && v.Get("type").String() != "compaction" {
				if raw, _ := s.Raw(branch.Entries[i]); string(raw) != line {
					t.Errorf("%s: entry %d was changed to %s", file, i, line)
				}
			}
		}
	}
}

// TestTreeOfAnyShape: whatever the ids and parents are, an export of all branches
// keeps every entry and the context, with ids that are there once, and without a
// cycle.
func TestTreeOfAnyShape(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
		var b strings.Builder
		b.WriteString(head)
		n := rapid.IntRange(1, 12).Draw(t, "n")
		for i := range n {
			id, parent := ids.Draw(t, "id"), rapid.OneOf(rapid.Just(""), ids).Draw(t, "parent")
			switch rapid.IntRange(0, 9).Draw(t, "kind") {
			case 0:
				fmt.Fprintf(&b, `{"type":"context_edit","id":%q,"parentId":%q,"targetId":%q,"replacement":{"content":"edit %d"}}`+"\n", id, parent, ids.Draw(t, "target"), i)
			case 1:
				fmt.Fprintf(&b, `{"type":"compaction","id":%q,"parentId":%q,"summary":"sum %d","firstKeptEntryId":%q,"tokensBefore":1}`+"\n", id, parent, i, ids.Draw(t, "kept"))
			default:
				b.WriteString(said(id, parent, fmt.Sprint(i)))
			}
		}
		path := put(t, dir, b.String())
		want, s := said3(t, path, "")
		defer s.Close()
		for _, all := range []bool{true, false} {
			var out bytes.Buffer
			if _, err := JSONL(&out, s, Options{All: all}); err != nil {
				t.Fatal(err)
			}
			got, back := said3(t, put(t, dir, out.String()), "")
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("all %v: %s\n%s\nbecame\n%s", all, d, b.String(), out.String())
			}
			seen := map[session.ID]bool{}
			for e := range back.Entries() {
				if seen[e.ID] {
					t.Fatalf("the id %s is there twice", e.ID)
				}
				seen[e.ID] = true
				if br, _ := back.Branch(e.ID); len(br.Diagnostics) > 0 {
					t.Fatalf("%v", br.Diagnostics)
				}
			}
			back.Close()
		}
	})
}

// TestFileNeverOverwrites unless asked to, and leaves nothing behind on error.
func TestFileNeverOverwrites(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.html")
	give := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	broken := func(w io.Writer) error { _, _ = io.WriteString(w, "half"); return errors.New("broken") }
	if err := File(path, false, broken); err == nil {
		t.Fatal("no error")
	}
	if err := File(path, false, give("one")); err != nil {
		t.Fatal(err)
	}
	if err := File(path, false, give("two")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("error %v", err)
	}
	if err := File(path, true, broken); err == nil {
		t.Error("no error")
	}
	if data, _ := os.ReadFile(path); string(data) != "one" {
		t.Errorf("the file holds %q", data)
	}
	if err := File(path, true, give("two")); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(path); string(data) != "two" {
		t.Errorf("the file holds %q", data)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

// peak is a writer that looks at the heap.
type peak struct{ max uint64 }

func (p *peak) Write(b []byte) (int, error) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	p.max = max(p.max, m.HeapAlloc)
	return len(b), nil
}

// TestMemoryDoesNotFollowTheSize: 20 MB of session in entries of 100 KB, in less
// than half of it.
func TestMemoryDoesNotFollowTheSize(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 20 MB")
	}
	var b strings.Builder
	b.WriteString(head)
	parent := ""
	for i := range 200 {
		id := fmt.Sprintf("e%07d", i)
		b.WriteString(said(id, parent, strings.Repeat("some words of a person ", 4500)))
		parent = id
	}
	s := open(t, put(t, t.TempDir(), b.String()))
	b.Reset()
	for _, f := range formats {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		var p peak
		if _, err := f.write(&p, s, Options{Force: true}); err != nil {
			t.Fatal(err)
		}
		if grown := int64(p.max) - int64(m.HeapAlloc); grown > 10<<20 {
			t.Errorf("%s: the heap grew by %d KB", f.ext, grown>>10)
		}
	}
}
