package session

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/piweb-go/piweb/internal/durable"
	"github.com/piweb-go/piweb/message"
	"pgregory.net/rapid"
)

// sameOutline holds the outline of an entry against its context.
func sameOutline(t interface {
	Helper()
	Fatalf(string, ...any)
}, s *Session, leaf ID) {
	t.Helper()
	want, err := s.ContextAt(leaf)
	if err != nil {
		t.Fatalf("%s at %s: %v", s.Path(), leaf, err)
	}
	for range 2 { // the second one remembers
		got, err := s.outlineAt(leaf)
		if err != nil {
			t.Fatalf("%s at %s: %v", s.Path(), leaf, err)
		}
		if d := cmp.Diff(want, got, cmpopts.IgnoreFields(Context{}, "Messages", "System"), cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("%s at %s: (-context +outline)\n%s", s.Path(), leaf, d)
		}
		if len(got.Messages) != len(want.Messages) {
			t.Fatalf("%s at %s: %d messages, want %d", s.Path(), leaf, len(got.Messages), len(want.Messages))
		}
		for i := range got.Messages {
			if a, b := bare(t, want.Messages[i]), bare(t, got.Messages[i]); !reflect.DeepEqual(a, b) {
				d := cmp.Diff(a, b)
				t.Fatalf("%s at %s: message %d of %s (-context +outline)\n%s", s.Path(), leaf, i, want.Sources[i], d)
			}
		}
	}
}

func bare(t interface{ Fatalf(string, ...any) }, m message.Message) message.Message {
	if u, ok := m.(*message.Unknown); ok {
		return &message.Unknown{Kind: u.Kind}
	}
	data, err := message.Marshal(m)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return message.Bare(data)
}

// TestOutlineAgainstContext looks at every leaf of every session under fixtures, and
// under the folders of $PIWEB_CORPUS.
func TestOutlineAgainstContext(t *testing.T) {
	leaves, messages := 0, 0
	for _, root := range corpusRoots() {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !looksLikeSession(path) {
				return err
			}
			s, err := Open(path, Options{})
			if err != nil {
				return nil
			}
			defer s.Close()
			for i, leaf := range append(s.Leaves(), s.Leaf()) {
				if i > 50 {
					break
				}
				sameOutline(t, s, leaf)
				c, _ := s.outlineAt(leaf)
				leaves, messages = leaves+1, messages+len(c.Messages)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if leaves < 40 || messages < 200 {
		t.Errorf("only %d leaves with %d messages", leaves, messages)
	}
	t.Logf("%d leaves, %d messages", leaves, messages)
}

func TestOutlineOfOddSessions(t *testing.T) {
	msg := func(id, parent, body string) string {
		return fmt.Sprintf(`{"type":"message","id":"%s","parentId":%s,"timestamp":"2026-01-01T00:00:00.000Z","message":%s}`+"\n", id, parent, body)
	}
	for name, text := range map[string]string{
		"damaged, not text, no message, an edit that removes, one that replaces": head3 +
			msg("a", "null", `{"role":"user","content":"one"}`) +
			msg("b", `"a"`, `{"role":"assistant","content":[{"type":"text","text":"x\q"},{"type":"toolCall","id":"c1","name":"ls"}],"provider":"p","model":"m"}`) +
			msg("c", `"b"`, "{\"role\":\"user\",\"content\":\"\xff\"}") +
			msg("d", `"c"`, `"no message"`) +
			msg("e", `"d"`, `{"role":"assistant","content":[{"type":"thinking","thinking":"t"},{"type":"text","text":""}],"provider":"p","model":"m","stopReason":"aborted"}`) +
			msg("f", `"e"`, `{"role":"toolResult","toolCallId":"c1","content":[{"type":"text","text":"r"},{"type":"image","data":"eA==","mimeType":"image/png"}]}`) +
			msg("g", `"f"`, `{"role":"bashExecution","command":"ls","output":"x","excludeFromContext":true}`) +
			`{"type":"context_edit","id":"h","parentId":"g","targetId":"a","replacement":null}` + "\n" +
			`{"type":"context_edit","id":"i","parentId":"h","targetId":"f","replacement":{"content":"other"}}` + "\n" +
			`{"type":"custom_message","id":"j","parentId":"i","customType":"x","content":[],"display":true}` + "\n" +
			`{"type":"branch_summary","id":"k","parentId":"j","fromId":"a","summary":""}` + "\n" +
			msg("l", `"k"`, `{"role":"stranger","content":5}`),
		"a compaction": head3 +
			msg("a", "null", `{"role":"user","content":"one"}`) + msg("b", `"a"`, `{"role":"user","content":"two"}`) +
			`{"type":"compaction","id":"c","parentId":"b","summary":"s","firstKeptEntryId":"b","tokensBefore":5,"systemMessage":{"role":"system","content":"x"}}` + "\n" +
			msg("d", `"c"`, `{"role":"user","content":"three"}`),
		"version 1": head1 + "\n" + said1("q") + "\n" + `{"type":"message","message":{"role":"hookMessage","content":"h"}}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, putFile(t, text))
			sameOutline(t, s, s.Leaf())
		})
	}
}

// counting counts the bytes that are read.
type counting struct {
	durable.OS
	read *int64
}

type countingFile struct {
	durable.File
	read *int64
}

func (c counting) OpenFile(name string, flag int, perm os.FileMode) (durable.File, error) {
	f, err := c.OS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return countingFile{f, c.read}, nil
}

func (f countingFile) ReadAt(p []byte, at int64) (int, error) {
	n, err := f.File.ReadAt(p, at)
	*f.read += int64(n)
	return n, err
}

// TestRecentReadsNothingTwice: the second open of a file reads its end, and the second
// outline reads nothing; what was appended is all that is read of a file that grew.
func TestRecentReadsNothingTwice(t *testing.T) {
	var text strings.Builder
	text.WriteString(head3)
	for i := range 2000 {
		fmt.Fprintf(&text, `{"type":"message","id":"%08x","parentId":"%08x","message":{"role":"user","content":"%s"}}`+"\n", i+1, i, strings.Repeat("word ", 40))
	}
	path := putFile(t, text.String())
	var read int64
	opts := Options{FS: counting{read: &read}, Recent: NewRecent(10_000)}
	look := func() (bytes int64) {
		t.Helper()
		read = 0
		s, err := Open(path, opts)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		c, err := s.Outline()
		if err != nil || len(c.Messages) != s.Len() {
			t.Fatal(err)
		}
		return read
	}
	if n := look(); n < int64(text.Len()) {
		t.Errorf("the first look read %d bytes of %d", n, text.Len())
	}
	if n := look(); n > 2*knownTail {
		t.Errorf("the second look read %d bytes", n)
	}
	addTo(t, path, `{"type":"message","id":"new","parentId":"000007d0","message":{"role":"user","content":"more"}}`+"\n")
	if n := look(); n > int64(text.Len())/3 {
		t.Errorf("the look after an append read %d bytes", n)
	}
}

// TestRecentIsNeverWrong does to a file what programs do to files. An open that
// remembers finds what one finds that does not.
func TestRecentIsNeverWrong(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		path := filepath.Join(t.TempDir(), "s.jsonl")
		opts := Options{Recent: NewRecent(200), indexMin: 1}
		n, when := 0, time.Unix(1_767_225_600, 0)
		line := func(rt *rapid.T) string {
			n++
			parent := rapid.IntRange(0, n).Draw(rt, "parent")
			return rapid.SampledFrom([]string{
				fmt.Sprintf(`{"type":"message","id":"e%d","parentId":"e%d","message":{"role":"user","content":"%s"}}`+"\n", n, parent, strings.Repeat("x", n%7)),
				fmt.Sprintf(`{"type":"message","id":"e%d","parentId":"e%d","message":{"role":"assistant","content":[{"type":"toolCall","id":"c%d"}],"model":"m%d"}}`+"\n", n, parent, n, n%3),
				fmt.Sprintf(`{"type":"message","id":"e%d","parentId":"e%d","message":{"role":"user","content":"\q"}}`+"\n", n, n-1),
				fmt.Sprintf(`{"type":"context_edit","id":"e%d","parentId":"e%d","targetId":"e%d","replacement":null}`+"\n", n, n-1, parent),
				"{\"torn\":", "\n", "\x00\x00\n",
			}).Draw(rt, "line")
		}
		write := func(data string) {
			when = when.Add(time.Second)
			if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
				rt.Fatal(err)
			}
			if err := os.Chtimes(path, when, when); err != nil {
				rt.Fatal(err)
			}
		}
		text := head3
		write(text)
		rt.Repeat(map[string]func(*rapid.T){
			"": func(rt *rapid.T) {
				want, werr := Open(path, Options{})
				got, gerr := Open(path, opts)
				if (werr == nil) != (gerr == nil) {
					rt.Fatalf("%v, with memory %v", werr, gerr)
				}
				if werr != nil {
					return
				}
				defer want.Close()
				defer got.Close()
				if !slices.EqualFunc(want.entries, got.entries, func(a, b Entry) bool { return reflect.DeepEqual(a, b) }) {
					rt.Fatalf("(-fresh +remembered)\n%s", cmp.Diff(want.entries, got.entries, cmp.AllowUnexported(Entry{}), cmpopts.EquateEmpty()))
				}
				if d := cmp.Diff(want.Diagnostics(), got.Diagnostics(), cmpopts.EquateEmpty()); d != "" {
					rt.Fatalf("(-fresh +remembered)\n%s", d)
				}
				for i := range want.entries {
					id := want.entries[i].ID
					if a, b := mustPlace(want, id), mustPlace(got, id); a != b {
						rt.Fatalf("%s stands at %d, remembered at %d", id, a, b)
					}
				}
				sameOutline(rt, got, got.Leaf())
			},
			"append": func(rt *rapid.T) {
				text += line(rt)
				write(text)
			},
			"write with piweb": func(rt *rapid.T) {
				s, err := Open(path, opts)
				if err != nil {
					return
				}
				defer s.Close()
				if _, err := s.Append(user("ours")); err != nil {
					rt.Fatal(err)
				}
				data, err := os.ReadFile(path)
				if err != nil {
					rt.Fatal(err)
				}
				text = string(data)
				sameOutline(rt, s, s.Leaf())
			},
			"cut": func(rt *rapid.T) {
				text = text[:rapid.IntRange(min(len(head3), len(text)), len(text)).Draw(rt, "at")]
				write(text)
			},
			"replace": func(rt *rapid.T) {
				text = head3 + line(rt) + line(rt)
				if err := os.Remove(path); err != nil {
					rt.Fatal(err)
				}
				write(text)
			},
		})
	})
}

func mustPlace(s *Session, id ID) int {
	i, _ := s.place(id)
	return i
}

// TestRecentIsBounded: no more entries are remembered than were allowed.
func TestRecentIsBounded(t *testing.T) {
	r := NewRecent(25)
	for i := range 5 {
		text := head3
		for k := range 10 {
			text += fmt.Sprintf(`{"type":"custom","customType":"x","id":"e%d","parentId":null}`+"\n", k)
		}
		if i == 4 {
			text += strings.Repeat(`{"type":"custom","customType":"x","id":"f","parentId":null}`+"\n", 20)
		}
		s, err := Open(putFile(t, text), Options{Recent: r, indexMin: 1})
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	n := 0
	for _, f := range r.files {
		n += len(f.entries)
	}
	if n != 20 || len(r.files) != 2 || len(r.turns) != 0 {
		t.Errorf("%d entries of %d files, %d turns", n, len(r.files), len(r.turns))
	}
}
