package doctor

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
	"github.com/tidwall/gjson"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the goldens")

// fixtures are all session files of the project, by their name below fixtures.
func fixtures(t interface{ Fatal(...any) }) map[string]string {
	found := map[string]string{}
	for _, pattern := range []string{"pi/*.jsonl", "cases/*/*.jsonl"} {
		files, err := filepath.Glob(filepath.Join("../../fixtures", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			rel, _ := filepath.Rel("../../fixtures", f)
			found[filepath.ToSlash(rel)] = f
		}
	}
	if len(found) < 50 {
		t.Fatal("fixtures are missing")
	}
	return found
}

func names(m map[string]string) []string {
	var out []string
	for name := range m {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// TestCheckGolden checks every fixture; the golden holds what is found.
func TestCheckGolden(t *testing.T) {
	files := fixtures(t)
	var b strings.Builder
	for _, name := range names(files) {
		before, err := os.ReadFile(files[name])
		if err != nil {
			t.Fatal(err)
		}
		r := Check(files[name])
		fmt.Fprintf(&b, "%s: %d entries, opens %v\n", name, r.Entries, r.Opens)
		for _, f := range r.Findings {
			if f.Kind == KindFolderGone {
				continue // depends on the machine
			}
			line := fmt.Sprintf("  %s [%s, %s] %s", f, f.Kind, f.Reader, f.Entry)
			b.WriteString(strings.ReplaceAll(strings.TrimRight(line, " "), files[name], name) + "\n")
		}
		if after, _ := os.ReadFile(files[name]); !bytes.Equal(before, after) {
			t.Errorf("%s was changed", name)
		}
	}
	golden(t, "testdata/check.golden", b.String())
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Error(d)
	}
}

const head = `{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}` + "\n"

func said(id, parent, text string) string {
	p := "null"
	if parent != "" {
		p = `"` + parent + `"`
	}
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%s,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":%q}}`+"\n", id, p, text)
}

func put(t interface{ Fatal(...any) }, dir, name string, text []byte) string {
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFindings: a small file for each thing that can be found.
func TestFindings(t *testing.T) {
	picture := func(side int) string {
		b := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x00\x00\x00\x00\x01\x08\x00\x00\x00\x00")
		b[18], b[19] = byte(side>>8), byte(side)
		return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[12:])))
	}
	img := func(data string) string {
		return `{"type":"message","id":"i","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":[{"type":"image","mimeType":"image/png","data":"` + data + `"}]}}` + "\n"
	}
	call := `{"type":"message","id":"c","parentId":null,"message":{"role":"assistant","content":[{"type":"toolCall","id":"t1","name":"x","arguments":{}}],"stopReason":"toolUse"}}` + "\n"
	result := func(id string) string {
		return `{"type":"message","id":"r","parentId":"c","message":{"role":"toolResult","toolCallId":"` + id + `","toolName":"x","content":[]}}` + "\n"
	}
	for _, c := range []struct {
		name, text, kind string
		severity         Severity
		line             int
	}{
		{"empty", "", "empty", Note, 1},
		{"text", "hello\n", KindNoSession, Loss, 1},
		{"byte order mark", "\xEF\xBB\xBF" + head + said("a", "", "x"), KindBOM, Loss, 1},
		{"header lost", said("a", "", "x"), KindHeaderLost, Loss, 1},
		{"header behind an entry", said("a", "", "x") + head, KindHeaderLost, Loss, 2},
		{"header without id", "\n" + strings.Replace(head, `"id":"s",`, "", 1) + said("a", "", "x"), KindHeaderID, Loss, 2},
		{"no ids at all", head + `{"type":"message","message":{"role":"user","content":"x"}}` + "\n", KindNoIDs, Loss, 1},
		{"title in front", `{"type":"title","title":"T"}` + "\n" + head, "preface", Loss, 1},
		{"scalar in the middle", head + "5\n" + said("a", "", "x"), "not-an-entry", Warning, 2},
		{"scalar at the end", head + said("a", "", "x") + "5\n", "not-an-entry", Loss, 3},
		{"no id at the end", head + said("a", "", "x") + `{"type":"message"}` + "\n", "no-id", Loss, 3},
		{"fused lines", head + strings.TrimSpace(said("a", "", "x")) + said("b", "a", "y"), "glued", Loss, 2},
		{"torn tail", head + said("a", "", "x") + `{"type":"mess`, "torn-tail", Warning, 3},
		{"torn before a record", head + `{"type":"mess` + said("a", "", "x"), "bad-line", Loss, 2},
		{"bad line", head + "garbage\n" + said("a", "", "x"), "bad-line", Warning, 2},
		{"duplicate", head + said("a", "", "x") + said("b", "a", "y") + said("b", "a", "z"), "duplicate-id", Warning, 4},
		{"ancestor again", head + said("a", "", "x") + said("b", "a", "y") + said("a", "b", "z"), "cycle", Loss, 4},
		{"own parent", head + said("a", "a", "x"), "cycle", Loss, 2},
		{"cycle on another branch", head + said("a", "b", "x") + said("b", "a", "y") + said("c", "", "z"), "cycle", Loss, 2},
		{"parent gone", head + said("b", "a", "y"), "missing-parent", Loss, 2},
		{"parent gone on another branch", head + said("b", "a", "y") + said("c", "", "z"), "missing-parent", Warning, 2},
		{"null content", head + strings.Replace(said("a", "", "x"), `"x"`, "null", 1), KindContent, Warning, 2},
		{"no message", head + `{"type":"message","id":"a","parentId":null,"message":null}` + "\n", KindNoMessage, Warning, 2},
		{"no thinking level", head + said("a", "", "x"), KindLevel, Note, 0},
		{"version 2", strings.Replace(head, `"version":3`, `"version":2`, 1) + said("a", "", "x"), KindOldVersion, Warning, 1},
		{"version 4", strings.Replace(head, `"version":3`, `"version":4`, 1), "newer-version", Note, 1},
		{"folder gone", strings.Replace(head, `"cwd":"/"`, `"cwd":"/gone/for/ever"`, 1), KindFolderGone, Note, 1},
		{"no folder", strings.Replace(head, `,"cwd":"/"`, ``, 1), KindNoFolder, Note, 1},
		{"open call", head + call, KindOpenCall, Note, 2},
		{"lone result", head + call + result("t2"), KindLoneResult, Note, 3},
		{"large picture", head + img(picture(2001)), KindImageSides, Warning, 2},
		{"heavy picture", head + img(strings.Repeat("A", maxBase64)), KindImageBytes, Warning, 2},
		{"late header", strings.Repeat("\n", headerLimit) + head + said("a", "", "x"), KindHeaderLate, Warning, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Check(put(t, t.TempDir(), "s.jsonl", []byte(c.text)))
			i := slices.IndexFunc(r.Findings, func(f Finding) bool { return f.Kind == c.kind })
			if i < 0 {
				t.Fatalf("not found; there is %v", r.Findings)
			}
			if f := r.Findings[i]; f.Severity != c.severity || f.Line != c.line || f.Text == "" {
				t.Errorf("%+v, want %s at line %d", f, c.severity, c.line)
			}
		})
	}
	for name, text := range map[string]string{
		"a sound file":    head + `{"type":"thinking_level_change","id":"t","parentId":null,"thinkingLevel":"low"}` + "\n" + said("a", "t", "x") + strings.Replace(call, `"parentId":null`, `"parentId":"a"`, 1) + result("t1"),
		"a small picture": head + `{"type":"thinking_level_change","id":"t","parentId":null,"thinkingLevel":"low"}` + "\n" + strings.Replace(img(picture(2000)), `"parentId":null`, `"parentId":"t"`, 1),
	} {
		if r := Check(put(t, t.TempDir(), "s.jsonl", []byte(text))); len(r.Findings) > 0 || r.Worst() != "" || r.Loses() {
			t.Errorf("%s: %v", name, r.Findings)
		}
	}
}

// heard is what a context says, without ids.
func heard(t interface{ Fatal(...any) }, s *session.Session) (out []string) {
	c, err := s.Context()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range c.Messages {
		raw, _ := message.Marshal(m)
		if content := gjson.GetBytes(raw, "content"); content.Raw == "null" {
			raw = bytes.Replace(raw, []byte(`"content":null`), []byte(`"content":[]`), 1)
		}
		out = append(out, string(raw))
	}
	return append(out, fmt.Sprint(c.Model, c.ThinkingLevel, c.System.Prompt(), c.System.ToolNames(), len(c.Branch)))
}

// repaired repairs a file and holds the copy against it: the same context, all
// entries, no loss for any reader, and copy and side file hold all bytes.
func repaired(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, path string) bool {
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	was := Check(path)
	to, did, err := Repair(path)
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Fatalf("%s was changed", path)
	}
	if errors.Is(err, ErrCannot) {
		if !was.Has(KindNoSession) {
			t.Fatalf("%v, found was %v", err, was.Findings)
		}
		return false
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if to == "" {
		if was.Loses() {
			t.Fatalf("%s: nothing was repaired, found was %v", path, was.Findings)
		}
		return false
	}
	now := Check(to)
	for _, f := range now.Findings {
		if f.Severity == Loss || f.Advice == "repair it" {
			t.Fatalf("%s: after the repair: %+v\nwas %s\n now %s", path, f, before, readFile(to))
		}
	}
	old, l, err := open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	s, err := session.Open(to, session.Options{})
	if err != nil {
		t.Fatalf("the copy does not open: %v\nwas %s\nnow %s", err, before, readFile(to))
	}
	defer s.Close()
	for _, d := range s.Diagnostics() {
		if d.Kind != session.KindLeaves && d.Kind != session.KindVersion {
			t.Fatalf("%s: after the repair: %+v", path, d)
		}
	}
	c, err := s.Context()
	if err != nil || len(c.Diagnostics) > 0 {
		t.Fatalf("%s: after the repair: %v, %v", path, err, c.Diagnostics)
	}
	want, got := heard(t, old), heard(t, s)
	if repeats := s.Len() - old.Len(); repeats > 0 { // repeated edits lengthen the branch
		want, got = want[:len(want)-1], got[:len(got)-1]
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("%s: the context changed: %s\nwas %s\nnow %s", path, d, before, readFile(to))
	}
	if s.ID() != old.ID() || did.Entries != s.Len() || s.Len() < old.Len() {
		t.Fatalf("%s: %d entries of %d", path, s.Len(), old.Len())
	}
	torn := ""
	if did.Torn != "" {
		torn = readFile(did.Torn)
	}
	nothingLost(t, before, old, l, torn)
	if again, _, err := Repair(path); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("a second repair answers %q, %v", again, err)
	}
	if again, _, err := Repair(to); err != nil || again != "" {
		t.Fatalf("%s: the copy is repaired again: %q, %v\n%s", path, again, err, readFile(to))
	}
	return true
}

func readFile(path string) string {
	data, _ := os.ReadFile(path)
	return string(data)
}

// nothingLost takes the entries and the header out of a file; every piece that is
// left must stand in the side file.
func nothingLost(t interface{ Fatalf(string, ...any) }, data []byte, s *session.Session, l *lens, torn string) {
	rest := bytes.Clone(data)
	if s.Header().Version >= session.Version {
		for e := range s.Entries() {
			for i := range e.Len {
				rest[l.offset(e.Offset)+i] = '\n'
			}
		}
		rest = bytes.Replace(rest, s.Header().Raw, nil, 1)
		if l.skip > l.marks {
			rest = append(rest[:l.front:l.front], rest[l.skip:]...)
		}
		rest = rest[l.marks:]
		for _, piece := range bytes.Split(rest, []byte("\n")) {
			if piece = bytes.TrimLeft(piece, " \t\r"); len(piece) > 0 && !strings.Contains(torn, string(piece)) {
				t.Fatalf("%q is lost; the side file holds %q", piece, torn)
			}
		}
	}
}

// TestRepairEveryFixture, and the golden of what was done.
func TestRepairEveryFixture(t *testing.T) {
	files := fixtures(t)
	var b strings.Builder
	n := 0
	for _, name := range names(files) {
		data, err := os.ReadFile(files[name])
		if err != nil {
			t.Fatal(err)
		}
		path := put(t, t.TempDir(), "2026-01-02T03-04-05-678Z_id-1.jsonl", data)
		if repaired(t, path) {
			n++
		}
		look := put(t, t.TempDir(), "2026-01-02T03-04-05-678Z_id-1.jsonl", data)
		to, did, err := Repair(look)
		switch {
		case errors.Is(err, ErrCannot):
			fmt.Fprintf(&b, "%s: cannot be repaired\n", name)
		case to != "":
			fmt.Fprintf(&b, "%s: %d entries, %d bytes aside\n", name, did.Entries, did.Aside)
			for _, c := range did.Changes {
				fmt.Fprintf(&b, "  line %d %s: %s\n", c.Line, c.Entry, c.Text)
			}
		}
	}
	if n < 12 {
		t.Errorf("only %d files were repaired", n)
	}
	golden(t, "testdata/repair.golden", b.String())
}

// mutate breaks a file as writers, disks and people do.
func mutate(t *rapid.T, data []byte) []byte {
	lines := bytes.SplitAfter(data, []byte("\n"))
	pick := func(what string) int { return rapid.IntRange(0, len(lines)-1).Draw(t, what) }
	for range rapid.IntRange(1, 4).Draw(t, "mutations") {
		i := pick("line")
		switch rapid.IntRange(0, 12).Draw(t, "kind") {
		case 0: // the line feed is lost
			lines[i] = bytes.TrimSuffix(lines[i], []byte("\n"))
		case 1: // the end of a line is lost, and its line feed
			lines[i] = lines[i][:rapid.IntRange(0, len(lines[i])).Draw(t, "cut")]
		case 2: // the end of a line is lost
			lines[i] = append(bytes.Clone(lines[i][:rapid.IntRange(0, len(lines[i])).Draw(t, "cut")]), '\n')
		case 3: // the line is there twice
			lines = slices.Insert(lines, i, lines[i])
		case 4: // the line is gone
			lines[i] = nil
		case 5: // two lines changed places
			j := pick("other")
			lines[i], lines[j] = lines[j], lines[i]
		case 6: // a scalar
			lines = slices.Insert(lines, i, []byte(rapid.SampledFrom([]string{"5\n", "\"x\"\n", "[1]\n", "null\n", "{}\n", "\x00\x00\x00\n", "\r\n", "{\"type\":\"title\",\"title\":\"T\"}\n"}).Draw(t, "scalar")))
		case 7: // a byte changes
			if len(lines[i]) > 0 {
				lines[i] = bytes.Clone(lines[i])
				lines[i][rapid.IntRange(0, len(lines[i])-1).Draw(t, "at")] = rapid.SampledFrom([]byte("\x00x\"{}\n,")).Draw(t, "byte")
			}
		case 8: // a mark in front
			lines[0] = append(bytes.Clone(bom), lines[0]...)
		case 9, 10: // an id, or a parent, becomes another's
			key := rapid.SampledFrom([]string{"id", "parentId", "targetId", "firstKeptEntryId"}).Draw(t, "key")
			was, is := gjson.GetBytes(lines[i], key), gjson.GetBytes(lines[pick("other")], "id")
			if was.Type == gjson.String && is.Type == gjson.String {
				lines[i] = bytes.Replace(lines[i], []byte(`"`+key+`":`+was.Raw), []byte(`"`+key+`":`+is.Raw), 1)
			}
		case 11: // the id is lost
			if id := gjson.GetBytes(lines[i], "id"); id.Exists() {
				lines[i] = bytes.Replace(lines[i], []byte(`"id":`+id.Raw+`,`), nil, 1)
			}
		case 12: // the content is lost
			lines[i] = bytes.Replace(lines[i], []byte(`"content":[`), []byte(`"content":null,"was":[`), 1)
		}
	}
	return bytes.Join(lines, nil)
}

// TestRepairWhateverHappened: fixtures that were broken in many ways come back
// with the context that piweb reads in them, and hang no reader.
func TestRepairWhateverHappened(t *testing.T) {
	files := fixtures(t)
	list := names(files)
	content := map[string][]byte{}
	for _, name := range list {
		if data, err := os.ReadFile(files[name]); err == nil && len(data) > 0 && len(data) < 50<<10 {
			content[name] = data
		}
	}
	list = slices.DeleteFunc(list, func(n string) bool { return content[n] == nil })
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "doctor")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		name := rapid.SampledFrom(list).Draw(t, "fixture")
		repaired(t, put(t, dir, "s.jsonl", mutate(t, content[name])))
	})
}

// TestRepairLeavesNothingOnError: a side file that is taken takes the copy along.
func TestRepairLeavesNothingOnError(t *testing.T) {
	dir := t.TempDir()
	path := put(t, dir, "s.jsonl", []byte(head+said("a", "", "x")+"garbage\n"))
	put(t, dir, "s.repaired.torn", []byte("mine"))
	if _, _, err := Repair(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("error %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 || readFile(filepath.Join(dir, "s.repaired.torn")) != "mine" {
		t.Errorf("left: %v", left)
	}
}

// TestTitleGoesIntoTheHeader: the name that oh-my-pi put in front is not lost.
func TestTitleGoesIntoTheHeader(t *testing.T) {
	path := put(t, t.TempDir(), "s.jsonl", []byte(`{"type":"title","v":1,"title":"The \"name\"","pad":"  "}`+"\n"+head+said("a", "", "x")))
	to, _, err := Repair(path)
	if err != nil {
		t.Fatal(err)
	}
	if title := gjson.Get(readFile(to), "title").String(); title != `The "name"` {
		t.Errorf("title %q", title)
	}
}

// TestForkOfVersion1: pi writes a header of version 3 over records without ids;
// the copy has the conversation back.
func TestForkOfVersion1(t *testing.T) {
	line := func(text string) string {
		return `{"type":"message","message":{"role":"user","content":"` + text + `"}}` + "\n"
	}
	path := put(t, t.TempDir(), "s.jsonl", []byte("\n"+head+line("one")+"garbage\n"+line("two")))
	to, did, err := Repair(path)
	if err != nil || did.Entries != 2 || readFile(did.Torn) != "garbage\n" {
		t.Fatalf("%+v, %v", did, err)
	}
	s, err := session.Open(to, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := heard(t, s); len(got) != 3 || !strings.Contains(got[0], "one") || !strings.Contains(got[1], "two") {
		t.Errorf("%v", got)
	}
	if s.Header().Version != 3 || s.ID() != "s" {
		t.Errorf("header %s", s.Header().Raw)
	}
}

// TestHugeFileIsNotRead: a hole of many GB costs nothing.
func TestHugeFileIsNotRead(t *testing.T) {
	path := put(t, t.TempDir(), "s.jsonl", []byte(head))
	if err := os.Truncate(path, MaxFile+1); err != nil {
		t.Skip(err)
	}
	if r := Check(path); !r.Has(KindTooLarge) {
		t.Errorf("%v", r.Findings)
	}
	if _, _, err := Repair(path); !errors.Is(err, ErrCannot) {
		t.Errorf("error %v", err)
	}
}

// TestCorpus checks, and repairs in a copy, every file of the folders in
// $PIWEB_CORPUS.
func TestCorpus(t *testing.T) {
	roots := filepath.SplitList(os.Getenv("PIWEB_CORPUS"))
	if len(roots) == 0 {
		t.Skip("no $PIWEB_CORPUS")
	}
	kinds := map[string]int{}
	n, done := 0, 0
	for _, root := range roots {
		files, err := Files(root)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			n++
			for _, found := range Check(f).Findings {
				kinds[string(found.Severity)+" "+found.Kind]++
			}
			dir, err := os.MkdirTemp("", "doctor")
			if err != nil {
				t.Fatal(err)
			}
			t.Run(f, func(t *testing.T) {
				data, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				if repaired(t, put(t, dir, "s.jsonl", data)) {
					done++
				}
			})
			_ = os.RemoveAll(dir)
		}
	}
	t.Logf("%d files, %d repaired, %v", n, done, kinds)
}
