package config

import (
	"encoding/json"
	"errors"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

func TestBlankComments(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"none", `{"a":1}`, `{"a":1}`},
		{"line", "{ // x\n\"a\":1}", `{"a":1}`},
		{"whole line", "// x\n{}", `{}`},
		{"at the end", "{} // x", `{}`},
		{"in a string", `{"u":"http://h//x"}`, `{"u":"http://h//x"}`},
		{"behind an escaped quote", `{"u":"\"// no"} // yes`, `{"u":"\"// no"}`},
		{"behind an escaped backslash", `{"u":"\\"} // yes`, `{"u":"\\"}`},
		{"quote in a comment", "{ // it's \"odd\n}", `{}`},
		{"CRLF", "{ // x\r\n}", `{}`},
		{"comma before a bracket", `{"a":[1,2,],}`, `{"a":[1,2]}`},
		{"comma, comment, bracket", "{\"a\":1, // last\n}", `{"a":1}`},
		{"comma in a string", `{"a":",}"}`, `{"a":",}"}`},
		{"two commas stay wrong", `[1,,]`, ``},
		{"block comments are not allowed", `{/* x */}`, ``},
		{"open string", `{"a // x`, ``},
		{"one slash", `{}/`, ``},
		{"string ends in a backslash", `{"a\`, ``},
		{"emoji and CJK in a comment", "{\"鍵\":\"🙂\"// 注釈 🙂\n}", `{"鍵":"🙂"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := blankComments([]byte(c.in))
			if len(out) != len(c.in) {
				t.Fatalf("length changed: %q", out)
			}
			if c.want == "" {
				if json.Valid(out) {
					t.Errorf("became valid: %s", out)
				}
				return
			}
			if got := string(compact(out)); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestPropertyBlankCommentsLeavesJSONAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := rapid.MapOf(rapid.String(), rapid.SliceOf(rapid.String())).Draw(t, "doc")
		data, err := json.MarshalIndent(doc, "", " ")
		if err != nil {
			t.Skip(err)
		}
		if got := blankComments(data); string(got) != string(data) {
			t.Fatalf("%s became %s", data, got)
		}
		// A comment behind every line, and nothing else, comes off again.
		lines := strings.Split(string(data), "\n")
		commented := strings.Join(lines, " // , } \" ]\n") + "//"
		if got := compact(blankComments([]byte(commented))); string(got) != string(compact(data)) {
			t.Fatalf("%s became %s", data, got)
		}
	})
}

func TestPropertyBlankCommentsNeverPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOf(rapid.SampledFrom([]byte("\"\\/{}[],:\n 1a"))).Draw(t, "text")
		if len(blankComments(text)) != len(text) {
			t.Fatal("length changed")
		}
	})
}

func TestFilesThatCannotBeRead(t *testing.T) {
	for _, name := range []string{"settings.json", "models.json", "auth.json", "trust.json"} {
		for _, kind := range []string{"folder", "fifo", "too big"} {
			t.Run(name+" "+kind, func(t *testing.T) {
				h := newHome(t)
				switch kind {
				case "folder":
					h.write(name+"/x", "")
				case "fifo":
					if err := mkfifo(h.agent() + "/" + name); err != nil {
						t.Skipf("no FIFO here: %v", err)
					}
				case "too big":
					h.write(name, strings.Repeat(" ", maxFile+1))
				}
				c := Load(h.env(), Options{})
				if len(c.Problems) != 1 || !errors.Is(c.Problems[0], ErrUnreadable) || c.Problems[0].Warning {
					t.Fatalf("problems: %v", c.Problems)
				}
				if errors.Is(c.Problems[0], syscall.ENOENT) {
					t.Errorf("%v", c.Problems[0])
				}
			})
		}
	}
}
