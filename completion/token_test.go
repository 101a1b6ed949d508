package completion

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// vectors are the lines of the fixture that begin with a word.
func vectors(t *testing.T, word string) []string {
	t.Helper()
	data, err := os.ReadFile("../fixtures/completion/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), word+" "); ok {
			lines = append(lines, rest)
		}
	}
	if len(lines) == 0 {
		t.Fatalf("the fixture has no line that begins with %q", word)
	}
	return lines
}

// named is a token of the vectors.
type named struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Raw  string `json:"raw"`
}

func TestVectorTokens(t *testing.T) {
	// An address is no token: it begins in the middle of a word.
	overruled := map[string]bool{"a@file:x": true, "http://h/a:b": true}
	for _, line := range vectors(t, "tokens") {
		dec := json.NewDecoder(strings.NewReader(line))
		var text string
		want := []named{}
		if err := dec.Decode(&text); err != nil {
			t.Fatal(err)
		}
		if err := dec.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if overruled[text] {
			want = []named{}
		}
		got := []named{}
		for _, tok := range Parse(text) {
			if tok.Kind != "" {
				got = append(got, named{tok.Kind, tok.ID, text[tok.Start:tok.End]})
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: (-want +got)\n%s", text, diff)
		}
	}
}

func TestTokens(t *testing.T) {
	for text, want := range map[string][]Token{
		`see @file:"a b.go".`:           {{Trigger: "@", Kind: "file", ID: "a b.go", Quoted: true, Start: 4, End: 18}},
		`@file:"say \"x\" \\ \n"`:       {{Trigger: "@", Kind: "file", ID: `say "x" \ \n`, Quoted: true, End: 23}},
		`@"a b"#L3-9 x`:                 {{Trigger: "@", ID: "a b", Quoted: true, Lines: Lines{3, 9}, End: 11}},
		`@"a b"#L3-L9`:                  {{Trigger: "@", ID: "a b", Quoted: true, Lines: Lines{3, 9}, End: 12}},
		`@"a b"#L7`:                     {{Trigger: "@", ID: "a b", Quoted: true, Lines: Lines{7, 7}, End: 9}},
		`@"a b"#L9-3`:                   {{Trigger: "@", ID: "a b", Quoted: true, Lines: Lines{9, 9}, End: 9}},
		`@"a b"#L0`:                     {{Trigger: "@", ID: "a b", Quoted: true, End: 6}},
		`@'it is'`:                      {{Trigger: "@", ID: "it is", Quoted: true, End: 8}},
		`@"never ends`:                  {{Trigger: "@", ID: `"never`, End: 7}},
		"@\"two\nlines\"":               {{Trigger: "@", ID: `"two`, End: 5}},
		"@file:\"two\nlines\"":          {{Trigger: "@", Kind: "file", ID: "two\nlines", Quoted: true, End: 17}},
		"看@a.go":                        {{Trigger: "@", ID: "a.go", Start: 3, End: 8}},
		"(@a.go)":                       {{Trigger: "@", ID: "a.go)", Start: 1, End: 7}},
		"me@a.go":                       nil,
		"me.@a.go x/@a.go `@a.go`":      nil,
		"@@types/a":                     {{Trigger: "@", ID: "@types/a", End: 9}},
		"@ @":                           nil,
		"#a $b /c":                      nil,
		"@a\u00a0b @c\u202fd @e\ufefff": {{Trigger: "@", ID: "a", End: 2}, {Trigger: "@", ID: "c", Start: 6, End: 8}, {Trigger: "@", ID: "e", Start: 13, End: 15}},
	} {
		if diff := cmp.Diff(want, Parse(text)); diff != "" {
			t.Errorf("%q: (-want +got)\n%s", text, diff)
		}
	}
}

func TestVectorTriggers(t *testing.T) {
	for _, line := range vectors(t, "trigger") {
		verdict, quoted, _ := strings.Cut(line, " ")
		var trigger string
		if err := json.Unmarshal([]byte(quoted), &trigger); err != nil {
			t.Fatal(err)
		}
		err := NewRegistry(nil).Add(&fake{trigger: trigger})
		if ok := err == nil; ok != (verdict == "ok") {
			t.Errorf("%q: %v, want %s", trigger, err, verdict)
		}
	}
}

// Whatever an id holds, what was written is read again, with any text around it.
func TestPropertyFormatRoundTrips(t *testing.T) {
	words := []string{"a", "b c", "\"", "\\", "'", "@", ":", "#L3", "#L3-9", ".", ",", ")", "\n", "\u00a0", "文", "é", "e\u0301", "👩‍💻", "%20", "/", "`", "]", "！"}
	rapid.Check(t, func(t *rapid.T) {
		id := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 8).Draw(t, "id"), "")
		if rapid.Bool().Draw(t, "any") {
			id = rapid.StringN(1, 40, 200).Draw(t, "letters")
		}
		if !utf8.ValidString(id) || id == "" {
			return
		}
		token := Format("@", "file", id)
		before := rapid.SampledFrom([]string{"", "see ", "(", "看", "\n"}).Draw(t, "before")
		after := rapid.SampledFrom([]string{"", " and", "\n", "\t@x"}).Draw(t, "after")
		tok, ok := Next(before+token+after, 0)
		if !ok || tok.ID != id || tok.Kind != "file" || tok.Start != len(before) || tok.End != len(before+token) || tok.Lines != (Lines{}) {
			t.Fatalf("%q reads as %+v, want the id %q", token, tok, id)
		}
		if strings.ContainsRune(id, '\n') {
			return // a bare path does not go over lines
		}
		lines := rapid.SampledFrom([]Lines{{}, {3, 3}, {3, 9}}).Draw(t, "lines")
		mention := Mention(id, lines)
		tok, ok = Next(before+mention+after, 0)
		path, l := tok.ID, tok.Lines
		if !tok.Quoted {
			path, l = SplitLines(tok.ID)
		}
		if !ok || path != id || l != lines || tok.Kind != "" {
			t.Fatalf("%q reads as %+v, want the path %q and %v", mention, tok, id, lines)
		}
	})
}

func FuzzNext(f *testing.F) {
	for _, s := range []string{`@file:"a b" @x#L3 ~~~`, "@\"\\", "$$$a:b", "\xff@a", strings.Repeat("@file:\"", 50)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at := 0
		for _, tok := range Parse(text) {
			if tok.Start < at || tok.End <= tok.Start || tok.End > len(text) || tok.ID == "" {
				t.Fatalf("%q: %+v behind %d", text, tok, at)
			}
			at = tok.End
		}
		for _, f := range fences(text) {
			if f.from >= f.to || f.to > len(text) {
				t.Fatalf("%q: block %+v", text, f)
			}
		}
	})
}
