package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// naive searches by decoding everything: session id → the entries that hold a
// word, where all words are somewhere.
func naive(t interface{ Fatal(...any) }, root string, words []string) map[string][]session.ID {
	files, err := Files(root)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]session.ID{}
	for _, path := range files {
		s, err := session.Open(path, session.Options{})
		if err != nil {
			continue
		}
		seen := map[int]bool{}
		var hits []session.ID
		for e := range s.Entries() {
			p, err := s.Decode(e)
			if err != nil {
				t.Fatal(err)
			}
			hit := false
			for _, text := range payloadTexts(p) {
				plain := naiveFold(text)
				for i, w := range words {
					if strings.Contains(plain, naiveFold(w)) {
						seen[i], hit = true, true
					}
				}
			}
			if hit {
				hits = append([]session.ID{e.ID}, hits...)
			}
		}
		if len(seen) == len(words) {
			all[s.ID()] = hits
		}
		_ = s.Close()
	}
	return all
}

// naiveFold is the definition: composed, without case, composed again.
func naiveFold(s string) string {
	var out []rune
	for _, r := range norm.NFC.String(s) {
		switch {
		case unicode.IsSpace(r):
			r = ' '
		case r != combiningIota:
			r = unicode.ToLower(unicode.ToUpper(r))
		}
		out = append(out, r)
	}
	return norm.NFC.String(string(out))
}

func payloadTexts(p session.Payload) (texts []string) {
	content := func(c message.Content) {
		for _, b := range c {
			if b.Type == message.TypeText {
				texts = append(texts, b.Text)
			}
		}
	}
	switch p := p.(type) {
	case session.MessagePayload:
		switch m := p.Message.(type) {
		case *message.System:
		case *message.BashExecution:
			texts = append(texts, m.Command, m.Output)
		default:
			content(message.ContentOf(m))
		}
	case session.CustomMessage:
		content(p.Content)
	case session.Compaction:
		texts = append(texts, p.Summary)
	case session.BranchSummary:
		texts = append(texts, p.Summary)
	case session.SessionInfo:
		texts = append(texts, p.Name)
	case session.Label:
		texts = append(texts, p.Label)
	}
	return texts
}

// spell writes a text as a JSON string, with escapes by choice.
func spell(t *rapid.T, text string) string {
	var b strings.Builder
	b.WriteByte('"')
	style := rapid.IntRange(0, 3).Draw(t, "style")
	for _, r := range text {
		escape := style == 1 && r >= utf8.RuneSelf || style == 2 && rapid.IntRange(0, 3).Draw(t, "escape") == 0
		switch {
		case escape && r > 0xFFFF:
			x := r - 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04X`, 0xD800+x>>10, 0xDC00+x&0x3FF)
		case escape:
			fmt.Fprintf(&b, `\u%04X`, r)
		case r == '/' && style > 0:
			b.WriteString(`\/`)
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < ' ':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// alphabet is small, so that needles are found, and full of traps.
var alphabet = []string{"a", "A", "k", "K", "\u212a", "s", "S", "ſ", "i", "İ", "ı", "é", "É", "e\u0301", "E\u0301", "e", "ü", "u\u0308", "ß", "ẞ",
	"漢", "\ufa47", "字", "語", "が", "か\u3099", "한", "\u1112\u1161\u11ab", "각", "가\u11a8", "п", "П", "р", "Р", "σ", "ς", "Σ", "ế", "ê\u0301", "e\u0302\u0301", "ệ", "ẹ\u0302",
	"😀", "👩‍💻", "\"", "\\", "/", "\\u0041", "<", ">", "&", ";", "\u037e", "`", "\u1fef", " ", "\n", "\t", "\u00a0", "\u2028", "\x1b", "0", "-", "{", "}", "Å", "\u212b", "ᾳ", "ᾼ", "\u0301", "ǰ", "J\u030c", "\u0958", "\u0915"}

// TestSearchIsTheNaiveOne: the fast search finds exactly what a search finds that
// decodes every line.
func TestSearchIsTheNaiveOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root, err := os.MkdirTemp("", "search")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(root)
		draw := func(n int) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(alphabet), 1, n).Draw(t, "text"), "")
		}
		var texts []string
		for i := range rapid.IntRange(1, 4).Draw(t, "files") {
			var b strings.Builder
			version := rapid.SampledFrom([]int{1, 2, 3, 3, 3}).Draw(t, "version")
			fmt.Fprintf(&b, `{"type":"session","version":%d,"id":"s%d","cwd":"/w"}`+"\n", version, i)
			for j := range rapid.IntRange(1, 8).Draw(t, "lines") {
				text := draw(12)
				texts = append(texts, text)
				q := spell(t, text)
				format := rapid.SampledFrom([]string{
					`{"type":"message","id":"%s","parentId":null,"message":{"role":"user","content":%s}}`,
					`{"type":"message","id":"%s","parentId":null,"message":{"role":"user","content":[{"type":"image","data":"abc"},{"type":"text","text":%s}]}}`,
					`{"type":"message","id":"%s","parentId":null,"message":{"role":"assistant","content":[{"type":"thinking","thinking":"é"},{"type":"text","text":%s}]}}`,
					`{"type":"message","id":"%s","parentId":null,"message":{"role":"system","content":%s}}`,
					`{"type":"message","id":"%s","parentId":null,"message":{"role":"toolResult","content":[{"type":"text","text":%s}]}}`,
					`{"type":"message","id":"%s","parentId":null,"message":{"role":"bashExecution","command":"ls","output":%s}}`,
					`{"type":"message","id":"%s","parentId":null,"message":{"role":"hookMessage","content":%s}}`,
					`{"message":{"content":[{"text":%[2]s,"type":"text"}],"role":"user"},"type":"message","parentId":null,"id":"%[1]s"}`,
					`{"type":"custom_message","id":"%s","parentId":null,"customType":"x","content":%s,"display":true}`,
					`{"type":"custom","id":"%s","parentId":null,"customType":"x","data":%s}`,
					`{"type":"session_info","id":"%s","parentId":null,"name":%s}`,
					`{"type":"label","id":"%s","parentId":null,"targetId":"x","label":%s}`,
					`{"type":"compaction","id":"%s","parentId":null,"summary":%s}`,
					`{"type":"message","id":"%s","parentId":null,"message":{"role":"user","content":%s`,
					"\x00\x00" + `{"type":"message","id":"%s","parentId":null,"message":{"role":"user","content":%s}}`,
				}).Draw(t, "entry")
				fmt.Fprintf(&b, format, fmt.Sprintf("e%d", j), q)
				if rapid.IntRange(0, 9).Draw(t, "line feed") > 0 {
					b.WriteByte('\n')
				}
			}
			if err := os.WriteFile(filepath.Join(root, fmt.Sprintf("t_s%d.jsonl", i)), []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		var words []string
		for range rapid.IntRange(1, 3).Draw(t, "words") {
			var w string
			if r := []rune(rapid.SampledFrom(texts).Draw(t, "source")); rapid.Bool().Draw(t, "from text") {
				from := rapid.IntRange(0, len(r)-1).Draw(t, "from")
				w = string(r[from:rapid.IntRange(from+1, len(r)).Draw(t, "to")])
				switch rapid.IntRange(0, 3).Draw(t, "change") {
				case 1:
					w = strings.ToUpper(w)
				case 2:
					w = norm.NFD.String(w)
				case 3:
					w = norm.NFC.String(strings.ToLower(w))
				}
			} else {
				w = draw(2)
			}
			if strings.TrimSpace(w) != "" {
				words = append(words, w)
			}
		}
		if len(words) == 0 {
			return
		}
		want := naive(t, root, words)
		got := map[string][]session.ID{}
		for h, err := range Open(root, "", Options{}).Search(t.Context(), Query{Words: words, PerSession: 1000}) {
			if err != nil {
				t.Fatal(err)
			}
			got[h.Session.ID] = append(got[h.Session.ID], h.Entry)
			for _, s := range h.Spans {
				if s[0] < 0 || s[1] <= s[0] || s[1] > len(h.Snippet) {
					t.Fatalf("span %v of %q", s, h.Snippet)
				}
			}
			if len(h.Spans) == 0 {
				t.Fatalf("no span: %+v", h)
			}
			if len(h.Spans) == 1 { // else two words may overlap
				part := naiveFold(h.Snippet[h.Spans[0][0]:h.Spans[0][1]])
				fits := false
				for _, w := range words {
					fits = fits || strings.Contains(part, naiveFold(w))
				}
				if !fits && len(h.Snippet) < snippetAfter {
					t.Fatalf("%q is marked for %q in %q", part, words, h.Snippet)
				}
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%q: %s", words, d)
		}
	})
}

// TestSpellingsAreComplete: no character of Unicode folds to another one without
// being listed.
func TestSpellingsAreComplete(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r >= 0xD800 && r <= 0xDFFF {
			continue
		}
		for _, k := range fold(string(r)).text {
			if k == r || k == ' ' {
				continue
			}
			found := false
			for _, o := range spellings()[k] {
				found = found || o == r
			}
			if !found && !mark(k) {
				t.Errorf("%U gives %U", r, k)
			}
		}
	}
}

func TestLower(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		dst := make([]byte, len(src))
		lower(dst, src)
		for i, c := range src {
			if dst[i] != lowerASCII(c) {
				t.Fatalf("%x became %x", c, dst[i])
			}
		}
	})
}

func TestParseWords(t *testing.T) {
	for line, want := range map[string][]string{
		`one two`:          {"one", "two"},
		`"one two" three`:  {"one two", "three"},
		`a "b`:             {"a", "b"},
		` "" `:             nil,
		`ab"c d"e`:         {"ab", "c d", "e"},
		"漢字\u3000\"x  y\"": {"漢字", "x  y"},
	} {
		if d := cmp.Diff(want, ParseWords(line)); d != "" {
			t.Errorf("%s: %s", line, d)
		}
	}
}

func collect(t *testing.T, c *Catalogue, q Query) []Hit {
	t.Helper()
	var hits []Hit
	for h, err := range c.Search(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		hits = append(hits, h)
	}
	return hits
}

func TestSearchOrderAndSnippet(t *testing.T) {
	root := t.TempDir()
	long := strings.Repeat("läng ", 100)
	for i := range 3 {
		path := put(t, root, "--w--", fmt.Sprint("s", i), msg("a", "user", `"Needle one"`, "2026-01-02T00:00:00.000Z")+
			msg("b", "assistant", `"`+long+`nee\u0064le\n`+long+`"`, "2026-01-02T00:00:00.000Z"))
		at := time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	c := Open(root, t.TempDir(), Options{})
	hits := collect(t, c, Query{Words: []string{"NEEDLE"}})
	var got []string
	for _, h := range hits {
		got = append(got, fmt.Sprintf("%s %s %d %s", h.Session.ID, h.Entry, h.Line, h.Where))
		if s := h.Spans[0]; !strings.EqualFold(h.Snippet[s[0]:s[1]], "needle") || len(h.Snippet) > 260 || !utf8.ValidString(h.Snippet) {
			t.Errorf("%q %v", h.Snippet, h.Spans)
		}
	}
	if d := cmp.Diff([]string{"s2 b 3 assistant", "s2 a 2 user", "s1 b 3 assistant", "s1 a 2 user", "s0 b 3 assistant", "s0 a 2 user"}, got); d != "" {
		t.Error(d)
	}
	if n := len(collect(t, c, Query{Words: []string{"needle"}, Limit: 3, PerSession: 1})); n != 3 {
		t.Errorf("%d hits", n)
	}
	if n := len(collect(t, c, Query{Words: []string{"needle"}, CWD: "/elsewhere"})); n != 0 {
		t.Errorf("%d hits elsewhere", n)
	}
	if n := len(collect(t, c, Query{Words: []string{"needle", "absent"}})); n != 0 {
		t.Errorf("%d hits without one word", n)
	}
	for _, q := range []Query{{}, {Words: []string{" "}}, {Words: make([]string, 0)}} {
		for _, err := range c.Search(t.Context(), q) {
			if !errors.Is(err, ErrNoWords) {
				t.Error(err)
			}
		}
	}
}

// TestSearchLongLines: over the ends of blocks, and in a line longer than one.
func TestSearchLongLines(t *testing.T) {
	root := t.TempDir()
	big := strings.Repeat("x", slice-200)
	put(t, root, "", "big", msg("a", "user", `"`+big+` needle1"`, "2026-01-02T00:00:00.000Z")+
		msg("b", "user", `"`+big+big+big+` needle2"`, "2026-01-02T00:00:00.000Z")+msg("c", "user", `"needle3"`, "2026-01-02T00:00:00.000Z"))
	c := Open(root, "", Options{})
	for i, id := range []session.ID{"a", "b", "c"} {
		hits := collect(t, c, Query{Words: []string{fmt.Sprint("needle", i+1)}})
		if len(hits) != 1 || hits[0].Entry != id || hits[0].Line != i+2 {
			t.Errorf("%s: %+v", id, hits)
		}
	}
}

func TestSearchCancelled(t *testing.T) {
	root := t.TempDir()
	line := msg("a", "user", `"needle"`, "2026-01-02T00:00:00.000Z")
	for i := range 50 {
		put(t, root, "", fmt.Sprint("s", i), strings.Repeat(line, 100))
	}
	c := Open(root, "", Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	var last error
	for _, err := range c.Search(ctx, Query{Words: []string{"needle"}}) {
		if n++; n == 2 {
			cancel()
		}
		last = err
	}
	if !errors.Is(last, context.Canceled) || n > 5 {
		t.Errorf("%d hits, then %v", n, last)
	}
	for range c.Search(t.Context(), Query{Words: []string{"needle"}}) {
		break
	}
}

// TestCancelIsSeenWithinASlice: a reader in the middle of a large file stops after
// the slice at hand.
func TestCancelIsSeenWithinASlice(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	line := []byte(msg("a", "user", `"nothing"`, "2026-01-02T00:00:00.000Z"))
	data := bytes.Repeat(line, 20*slice/len(line))
	r := &cancelling{r: bytes.NewReader(data), at: 5 * slice, cancel: cancel}
	needles, err := (&Query{Words: []string{"needle"}}).needles()
	if err != nil {
		t.Fatal(err)
	}
	s := &searcher{c: Open(t.TempDir(), "", Options{}), ctx: ctx, needles: needles, keep: 3, f: r}
	if err := s.blocks(candidate{}); !errors.Is(err, context.Canceled) || r.read > r.at+2*slice {
		t.Errorf("%v, %d bytes read", err, r.read)
	}
}

type cancelling struct {
	r        *bytes.Reader
	read, at int
	cancel   func()
}

func (c *cancelling) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(p, off)
	if c.read += n; c.read >= c.at {
		c.cancel()
	}
	return n, err
}

func TestSearchSkipsWhatIsNoSession(t *testing.T) {
	root := t.TempDir()
	text, _ := json.Marshal("needle")
	if err := os.WriteFile(filepath.Join(root, "x.jsonl"), []byte(msg("a", "user", string(text), "")), 0o644); err != nil {
		t.Fatal(err)
	}
	put(t, root, "", "good", msg("a", "user", string(text), ""))
	if hits := collect(t, Open(root, "", Options{}), Query{Words: []string{"needle"}}); len(hits) != 1 {
		t.Errorf("%+v", hits)
	}
}

// TestSieveStillSieves: the common needles of each script have a fragment, so that
// not every line is decoded.
func TestSieveStillSieves(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 4096)
	for i := range noise {
		noise[i] = byte(' ' + rnd.IntN(90))
	}
	noise = bytes.ReplaceAll(bytes.ReplaceAll(noise, []byte(`\u`), nil), []byte(`\`), nil)
	for _, word := range []string{"error", "session", "漢字", "日本語", "한국", "привет", "Ελλάδα", "café", "über", `C:\dir`, "😀"} {
		s := newSieve(fold(word).text)
		if s.always || s.find(noise, 0) >= 0 {
			t.Errorf("%s lets everything through", word)
		}
	}
}
