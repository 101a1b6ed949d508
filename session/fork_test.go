package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/piweb-go/piweb/internal/structure"
)

// kinds are the kinds of what is odd about a file and a branch.
func kinds(diags ...[]Diagnostic) map[Kind]bool {
	out := map[Kind]bool{}
	for _, list := range diags {
		for _, d := range list {
			out[d.Kind] = true
		}
	}
	return out
}

// meaning is what a context says, without the ids of labels and other entries
// that say nothing.
func meaning(t *testing.T, c *Context) string {
	t.Helper()
	text, err := json.Marshal(struct {
		Messages, Sources, Model, Level, System any
	}{c.Messages, c.Sources, c.Model, c.ThinkingLevel, c.System})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// without takes the values of fields out of a record and leaves every other byte.
func without(t *testing.T, raw []byte, keys ...string) string {
	t.Helper()
	for _, key := range keys {
		var err error
		if raw, err = structure.Set(raw, key, []byte(`0`)); err != nil {
			t.Fatal(err)
		}
	}
	return string(raw)
}

// checkFork holds a fork against the source at an entry.
func checkFork(t *testing.T, src *Session, at ID, f Forked) {
	t.Helper()
	want, err := src.ContextAt(at)
	if err != nil {
		t.Fatal(err)
	}
	fork := open(t, f.Path)
	got, err := fork.Context()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(meaning(t, want), meaning(t, got)); d != "" {
		t.Errorf("at %s: the context differs (-source +fork):\n%s", at, d)
	}
	had := kinds(src.Diagnostics(), want.Diagnostics)
	for k := range kinds(fork.Diagnostics(), got.Diagnostics) {
		if !had[k] {
			t.Errorf("at %s: the fork has a diagnostic %s that the source has not", at, k)
		}
	}
	h := fork.Header()
	if h.Version != Version || h.ID == src.ID() || h.ID != f.ID || h.ParentSession != src.Path() || fork.Len() != f.Entries {
		t.Errorf("at %s: header %s, %d entries", at, h.Raw, fork.Len())
	}
	var keptIDs []ID
	for _, e := range mustBranch(t, src, at) {
		if e.Type == TypeLabel {
			continue
		}
		keptIDs = append(keptIDs, e.ID)
		theirs, err := src.Raw(e)
		if err != nil {
			t.Fatal(err)
		}
		ours, err := fork.Raw(fork.entries[len(keptIDs)-1])
		if err != nil {
			t.Fatal(err)
		}
		if a, b := without(t, theirs, "parentId", "firstKeptEntryId"), without(t, ours, "parentId", "firstKeptEntryId"); e.Type == TypeCompaction && a != b {
			t.Errorf("at %s: line %d:\n%s\n%s", at, e.Line, a, b)
		} else if a, b := without(t, theirs, "parentId"), without(t, ours, "parentId"); e.Type != TypeCompaction && a != b {
			t.Errorf("at %s: line %d:\n%s\n%s", at, e.Line, a, b)
		}
	}
	branch := mustBranch(t, fork, fork.Leaf())
	if len(branch) < len(keptIDs) || !slices.Equal(Branch{Entries: branch[:len(keptIDs)]}.IDs(), keptIDs) {
		t.Errorf("at %s: branch %v, want %v and labels", at, Branch{Entries: branch}.IDs(), keptIDs)
	}
}

func mustBranch(t *testing.T, s *Session, at ID) []Entry {
	t.Helper()
	b, err := s.Branch(at)
	if err != nil {
		t.Fatal(err)
	}
	return b.Entries
}

// TestForkOfEveryShape forks every file of every shape at every entry.
func TestForkOfEveryShape(t *testing.T) {
	files, err := filepath.Glob("../fixtures/pi/*.jsonl")
	more, _ := filepath.Glob("../fixtures/cases/*/*.jsonl")
	if err != nil || len(files) != 40 || len(more) == 0 {
		t.Fatalf("%d and %d files (%v)", len(files), len(more), err)
	}
	forks := 0
	for _, file := range append(files, more...) {
		t.Run(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), func(t *testing.T) {
			abs, _ := filepath.Abs(file)
			before := read(t, abs)
			src, err := Open(abs, Options{})
			if errors.Is(err, ErrNotSession) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			o := ForkOptions{Dir: t.TempDir(), CWD: "/work"}
			if src.Header().Raw == nil {
				if _, err := Clone(src, o); !errors.Is(err, ErrNotSession) {
					t.Errorf("fork of an empty file: %v", err)
				}
				return
			}
			seen := map[ID]bool{}
			every := 1 + src.Len()/60 // of a long file, some
			for e := range src.Entries() {
				if seen[e.ID] || e.pos%every != 0 {
					continue
				}
				seen[e.ID] = true
				forks++
				f, err := Fork(src, e.ID, o)
				if err != nil {
					t.Fatal(err)
				}
				checkFork(t, src, e.ID, f)
				o.Before = true
				if f, err = Fork(src, e.ID, o); err != nil {
					t.Fatal(err)
				}
				o.Before = false
				// Before needs no id of the parent: that may be lost, or used twice.
				path := mustBranch(t, src, e.ID)
				if n := open(t, f.Path).Len(); len(path) == 1 && n != 0 {
					t.Errorf("before the root %s: %d entries", e.ID, n)
				}
			}
			c, err := Clone(src, o)
			if err != nil {
				t.Fatal(err)
			}
			checkFork(t, src, src.Leaf(), c)
			checkForkAll(t, src, o)
			if !bytes.Equal(before, read(t, abs)) {
				t.Error("the source was changed")
			}
		})
	}
	t.Logf("%d forks", forks)
}

// checkForkAll: all entries of all branches, and nothing but the header differs.
func checkForkAll(t *testing.T, src *Session, o ForkOptions) {
	t.Helper()
	f, err := ForkAll(src, o)
	if err != nil {
		t.Fatal(err)
	}
	fork := open(t, f.Path)
	if fork.Len() != src.Len() || f.Entries != src.Len() || fork.Leaf() != src.Leaf() || fork.Header().Version != Version {
		t.Errorf("%d entries of %d, leaf %s of %s", fork.Len(), src.Len(), fork.Leaf(), src.Leaf())
	}
	had := kinds(src.Diagnostics())
	for k := range kinds(fork.Diagnostics()) {
		if !had[k] {
			t.Errorf("fork of all: a diagnostic %s that the source has not", k)
		}
	}
	want, err := src.Context()
	if err != nil {
		t.Fatal(err)
	}
	got, err := fork.Context()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(meaning(t, want), meaning(t, got)); d != "" {
		t.Errorf("fork of all: the context differs:\n%s", d)
	}
	if src.migrate {
		return
	}
	old, now := read(t, src.Path()), read(t, f.Path)
	if !bytes.Equal(bytes.Replace(old, src.Header().Raw, fork.Header().Raw, 1), now) {
		t.Error("fork of all: more than the header differs")
	}
	// With something to carry, a fragment at the end stays a line of its own.
	o.Carry = []Payload{SessionInfo{"carried"}}
	if f, err = ForkAll(src, o); err != nil {
		t.Fatal(err)
	}
	fork = open(t, f.Path)
	last := fork.entries[fork.Len()-1]
	if name, err := fork.Name(); err != nil || name != "carried" || last.Parent != src.Leaf() || fork.Len() != src.Len()+1 {
		t.Errorf("carried: name %q, parent %s (%v)", name, last.Parent, err)
	}
}

func line3(typ, id, parent, fields string) string {
	p := "null"
	if parent != "" {
		p = `"` + parent + `"`
	}
	return fmt.Sprintf(`{"type":%q,"id":%q,"parentId":%s,"timestamp":"2026-01-01T00:00:0%d.000Z"%s}`+"\n", typ, id, p, len(id)%10, fields)
}

// TestForkCutsLabels: labels leave the chain, their children and the compaction
// that kept from one hang on what stays, and labels of what stays are set again.
func TestForkCutsLabels(t *testing.T) {
	path := putFile(t, head3+
		line3("label", "l0", "", `,"targetId":"u1","label":"first"`)+
		said("u1", "l0", "one")+
		line3("label", "l1", "u1", `,"targetId":"u1","label":"renamed","x":1.50`)+
		line3("label", "l2", "l1", `,"targetId":"gone","label":"of nothing"`)+
		said("u2", "l2", "two")+
		line3("compaction", "c1", "u2", `,"summary":"s","firstKeptEntryId":"l1","tokensBefore":1.0`)+
		said("side", "u1", "another branch")+
		line3("label", "l3", "side", `,"targetId":"u2","label":"from elsewhere"`)+
		line3("label", "l4", "l3", `,"targetId":"c1","label":"taken back"`)+
		line3("label", "l5", "l4", `,"targetId":"c1"`)+
		said("u3", "c1", "three"))
	src := open(t, path)
	f, err := Fork(src, "u3", ForkOptions{Carry: []Payload{SessionInfo{"n"}}})
	if err != nil {
		t.Fatal(err)
	}
	checkFork(t, src, "u3", f)
	fork := open(t, f.Path)
	var got []string
	for _, e := range fork.entries {
		raw, _ := fork.Raw(e)
		got = append(got, strings.NewReplacer(string(fork.entries[4].ID), "L1", string(fork.entries[5].ID), "L2", string(fork.entries[6].ID), "N").Replace(string(raw)))
	}
	got[6] = got[6][:strings.Index(got[6], `,"timestamp"`)]
	want := []string{
		strings.TrimSpace(said("u1", "", "one")),
		strings.TrimSpace(said("u2", "u1", "two")),
		`{"type":"compaction","id":"c1","parentId":"u2","timestamp":"2026-01-01T00:00:02.000Z","summary":"s","firstKeptEntryId":"u2","tokensBefore":1.0}`,
		strings.TrimSpace(said("u3", "c1", "three")),
		`{"type":"label","id":"L1","parentId":"u3","timestamp":"2026-01-01T00:00:02.000Z","targetId":"u1","label":"renamed","x":1.50}`,
		`{"type":"label","id":"L2","parentId":"L1","timestamp":"2026-01-01T00:00:02.000Z","targetId":"u2","label":"from elsewhere"}`,
		`{"type":"session_info","id":"N","parentId":"L2"`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	labels, err := fork.Labels()
	if d := cmp.Diff(map[ID]string{"u1": "renamed", "u2": "from elsewhere"}, labels); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestForkBefore(t *testing.T) {
	path := putFile(t, head3+said("u1", "", "one")+
		line3("custom_message", "m1", "u1", `,"customType":"x","content":"an extension's","display":true`)+
		line3("model_change", "mc", "m1", `,"provider":"p","modelId":"m"`)+
		`{"type":"message","id":"u2","parentId":"mc","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":[{"type":"text","text":"two"},{"type":"image","data":"aGk=","mimeType":"image/png"}]}}`+"\n")
	src := open(t, path)
	for _, c := range []struct {
		at      ID
		text    string
		entries int
	}{{"u1", "one", 0}, {"m1", "an extension's", 1}, {"mc", "", 2}, {"u2", "two", 3}} {
		f, err := Fork(src, c.at, ForkOptions{Before: true})
		if err != nil || f.Text != c.text || f.Entries != c.entries {
			t.Errorf("before %s: %q, %d entries (%v)", c.at, f.Text, f.Entries, err)
		}
		if f.CWD != "/x" || filepath.Dir(f.Path) != filepath.Dir(path) {
			t.Errorf("cwd %s, path %s", f.CWD, f.Path)
		}
	}
}

// TestForkOfHostileEntries: fields that stand twice, ids and types that are no
// words, and parents of another kind than a string.
func TestForkOfHostileEntries(t *testing.T) {
	path := putFile(t, head3+
		`{"parentId":"zz","type":"message","id":"a\"\\\u00e9","timestamp":1,"message":{"role":"user","content":"x","parentId":"inner"},"parentId":"zz","n":1e400,"n":-0.0}`+"\n"+
		`{ "type" : "../../x" , "id" : "b" , "parentId" : "a\"\\é" , "deep":{"parentId":"no"} }`+"\r\n"+
		`{"id":"c","parentId":7,"type":"custom","customType":"x","data":{"id":"c","parentId":null}}`+"\n"+
		`{"type":"label","id":"l","parentId":"c","targetId":"c","label":"\u001b[31m"}`+"\n"+
		`{"type":"custom","customType":"y","id":"d","parentId":"l"}`+"\n"+
		`{"type":"message","id":"e","message":{"role":"user","content":"no parent at all"}}`+"\n"+
		`{"type":"custom","customType":"z","id":"f","parentId":"d","parentId":"e"}`+"\n")
	src := open(t, path)
	for e := range src.Entries() {
		f, err := Fork(src, e.ID, ForkOptions{})
		if err != nil {
			t.Fatalf("%s: %v", e.ID, err)
		}
		checkFork(t, src, e.ID, f)
	}
	f, _ := Fork(src, "b", ForkOptions{})
	lines := strings.Split(string(read(t, f.Path)), "\n")
	want := []string{
		`{"parentId":null,"type":"message","id":"a\"\\\u00e9","timestamp":1,"message":{"role":"user","content":"x","parentId":"inner"},"parentId":null,"n":1e400,"n":-0.0}`,
		`{ "type" : "../../x" , "id" : "b" , "parentId" : "a\"\\é" , "deep":{"parentId":"no"} }`, "",
	}
	if d := cmp.Diff(want, lines[1:]); d != "" {
		t.Error(d)
	}
}

func TestForkRefuses(t *testing.T) {
	dir := t.TempDir()
	fresh, err := Create(NewSession{Dir: dir, CWD: dir}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	nameless := open(t, putFile(t, `{"type":"session","version":3,"id":"s"}`+"\n"+said("a", "", "x")))
	src := open(t, putFile(t, head3+said("a", "", "x")))
	closed, _ := Open(src.Path(), Options{})
	closed.Close()
	for name, c := range map[string]struct {
		s    *Session
		at   ID
		o    ForkOptions
		want error
		text string
	}{
		"no file yet":       {s: fresh, want: ErrNoFile, text: "first prompt"},
		"no such entry":     {s: src, at: "nope", want: ErrNoEntry, text: "nope"},
		"no directory":      {s: nameless, at: "a", text: "names no working directory"},
		"relative":          {s: src, at: "a", o: ForkOptions{CWD: "x"}, text: "not absolute"},
		"closed":            {s: closed, at: "a", want: ErrClosed},
		"cannot be written": {s: src, at: "a", o: ForkOptions{Carry: []Payload{Unknown{Type: "x"}}}, text: "not ours to write"},
	} {
		if _, err := Fork(c.s, c.at, c.o); err == nil || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if names, _ := os.ReadDir(dir); len(names) != 0 {
		t.Errorf("%d files are left", len(names))
	}
}

// TestForkKeepsTheMode: what only the owner may read stays so.
func TestForkKeepsTheMode(t *testing.T) {
	path := putFile(t, head3+said("a", "", "x"))
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Clone(open(t, path), ForkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(f.Path); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

// TestDraftIsWhatIsWritten: whoever decides by a draft decides by the file.
func TestDraftIsWhatIsWritten(t *testing.T) {
	src := open(t, "../fixtures/pi/compacted.jsonl")
	d, err := NewDraft(src, src.Leaf(), ForkOptions{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Carry(SessionInfo{"n"}); err != nil {
		t.Fatal(err)
	}
	before, err := d.View().Context()
	if err != nil {
		t.Fatal(err)
	}
	f, err := d.Write()
	if err != nil {
		t.Fatal(err)
	}
	after, err := open(t, f.Path).Context()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before.Branch, after.Branch, cmpopts.EquateEmpty()); d != "" || meaning(t, before) != meaning(t, after) {
		t.Error(d)
	}
	if _, err := d.Write(); !errors.Is(err, ErrTaken) {
		t.Errorf("written twice: %v", err)
	}
}
