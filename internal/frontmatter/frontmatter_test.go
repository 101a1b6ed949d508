package frontmatter

import (
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       map[string]any
		body       string
		problem    string // part of it
	}{
		{"none", "text\n", nil, "text\n", ""},
		{"empty file", "", nil, "", ""},
		{"plain", "---\nname: a\ndescription: b c\n---\n\nbody\n\n", map[string]any{"name": "a", "description": "b c"}, "body", ""},
		{"BOM and CRLF", "\ufeff---\r\nname: a\r\n---\r\nb\r\nc\r\n", map[string]any{"name": "a"}, "b\nc", ""},
		{"old Mac line ends", "---\rname: a\r---\rb", map[string]any{"name": "a"}, "b", ""},
		{"nothing between", "---\n---\nb", map[string]any{}, "b", ""},
		{"no end", "---\nname: a\n", nil, "---\nname: a\n", ""},
		{"no body", "---\nname: a\n---", map[string]any{"name": "a"}, "", ""},
		{"a rule of dashes", "-----\ntext\n-----\n", nil, "-----\ntext\n-----\n", ""},
		{"text behind the dashes", "--- hello\n---\nb", nil, "--- hello\n---\nb", ""},
		{"blank behind the dashes", "---  \na: b\n---\nb", map[string]any{"a": "b"}, "b", ""},
		{"types", "---\na: true\nb: 3\nc: 1.5\nd: null\ne:\nf: ~\ng: yes\nh: 2024-01-01\ni: 012\nj: '7'\nk: \"true\"\nl: -2\nm: .\n---\n",
			map[string]any{"a": true, "b": 3.0, "c": 1.5, "d": nil, "e": nil, "f": nil, "g": "yes", "h": "2024-01-01", "i": 12.0, "j": "7", "k": "true", "l": -2.0, "m": "."}, "", ""},
		{"lists", "---\na: [x, 'y', 1]\nb:\n  - x\n  - y\nc: []\n---\n", map[string]any{"a": []any{"x", "y", 1.0}, "b": []any{"x", "y"}, "c": []any{}}, "", ""},
		{"folded and literal", "---\na: >\n  one\n  two\nb: |\n  one\n  two\n---\n", map[string]any{"a": "one two\n", "b": "one\ntwo\n"}, "", ""},
		{"CJK and emoji", "---\nname: 日本 🙂\n---\né", map[string]any{"name": "日本 🙂"}, "é", ""},
		{"an alias", "---\na: &x [1]\nb: *x\n---\n", map[string]any{"a": []any{1.0}, "b": []any{1.0}}, "", ""},
		{"comment", "---\n# c\na: b # d\n---\n", map[string]any{"a": "b"}, "", ""},
		{"only a comment", "---\n# c\n---\nb", map[string]any{}, "b", ""},

		{"a colon in the value", "---\ndescription: Use when: asked\nname: a\n---\nb", map[string]any{"description": "Use when: asked", "name": "a"}, "b", "not valid YAML"},
		{"twice", "---\na: 1\na: 2\n---\n", map[string]any{"a": 2.0}, "", "twice"},
		{"a tab", "---\na:\tb: c\nd: [x, y]\n---\n", map[string]any{"a": "b: c", "d": []any{"x", "y"}}, "", "not valid YAML"},
		{"open bracket", "---\na: [x\nb: c\n---\nt", map[string]any{"a": "[x", "b": "c"}, "t", "not valid YAML"},
		{"at the start of a value", "---\nname: @handle\ntools:\n- read\n- ls\n---\n", map[string]any{"name": "@handle", "tools": []any{"read", "ls"}}, "", "not valid YAML"},
		{"goes on in the next line", "---\na: b: c\n  d\n---\n", map[string]any{"a": "b: c d"}, "", "not valid YAML"},
		{"a list instead", "---\n- a\n- b\n---\nt", map[string]any{}, "t", "no list of"},
		{"a word instead", "---\nhello\n---\nt", map[string]any{}, "t", "no list of"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := Parse(c.text)
			want := c.want
			if want == nil {
				want = map[string]any{}
			}
			if !reflect.DeepEqual(d.Fields, want) || d.Body != c.body || d.Present != (c.want != nil) {
				t.Errorf("%#v\nbody %q present %v\nwant %#v %q", d.Fields, d.Body, d.Present, want, c.body)
			}
			said := ""
			if d.Problem != nil {
				said = d.Problem.Error()
			}
			if c.problem == "" && said != "" || !strings.Contains(said, c.problem) {
				t.Errorf("problem %q, want %q", said, c.problem)
			}
		})
	}
}

// A few bytes that mean gigabytes must not be believed.
func TestParseIsBounded(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 'b'; i < 'k'; i++ {
		prev := string(i - 1)
		bomb += string(i) + ": &" + string(i) + " [" + strings.TrimSuffix(strings.Repeat("*"+prev+",", 10), ",") + "]\n"
	}
	for name, text := range map[string]string{
		"aliases": bomb,
		"depth":   "a: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "\n",
		"size":    "a: " + strings.Repeat("x", MaxBytes) + "\n",
	} {
		if d := Parse("---\n" + text + "---\nbody"); d.Problem == nil || d.Body != "body" {
			t.Errorf("%s: %v, body %.20q", name, d.Problem, d.Body)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"---\na: b\n---\nc", "---\n&a [*a]\n---", "---\n? x\n: y\n---", "---\n!!binary x\n---", "\ufeff---\n\t\n---\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := Parse(text)
		if d.Fields == nil {
			t.Error("no fields at all")
		}
		if !d.Present && (len(d.Fields) > 0 || d.Problem != nil) {
			t.Errorf("fields without front matter: %v %v", d.Fields, d.Problem)
		}
		if again := Parse(text); !reflect.DeepEqual(again.Body, d.Body) {
			t.Error("two answers")
		}
	})
}
