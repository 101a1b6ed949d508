package offline

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// asked renders asks as "tool arguments" for comparison.
func asked(asks []ask) []string {
	var out []string
	for _, a := range asks {
		out = append(out, a.tool+" "+string(a.arguments))
	}
	return out
}

func TestParseAsks(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"read", "read go.mod", []string{`read {"path":"go.mod"}`}},
		{"any case, small words and an end of sentence", "Please, read the file go.mod.", []string{`read {"path":"go.mod"}`}},
		{"please behind", "read go.mod please!", []string{`read {"path":"go.mod"}`}},
		{"blanks in backticks", "read `My Folder/a b.txt`", []string{`read {"path":"My Folder/a b.txt"}`}},
		{"blanks in quotes", `read "My Folder/a b.txt".`, []string{`read {"path":"My Folder/a b.txt"}`}},
		{"typographic quotes", "read “My Folder/a b.txt”", []string{`read {"path":"My Folder/a b.txt"}`}},
		{"CJK", "read 文件.md", []string{`read {"path":"文件.md"}`}},
		{"CJK with quotes and punctuation", "read 「文件 二.md」。", []string{`read {"path":"文件 二.md"}`}},
		{"CJK punctuation behind a bare word", "read 文件.md。", []string{`read {"path":"文件.md"}`}},
		{"emoji", "read 🌍/👩‍👩‍👧.txt", []string{`read {"path":"🌍/👩‍👩‍👧.txt"}`}},
		{"signs that JSON escapes", `read 'a"b\c<d>&.txt'`, []string{`read {"path":"a\"b\\c<d>&.txt"}`}},
		{"hidden and upward paths", "read .gitignore\nlist ..\nls ../..\nls ./", []string{`read {"path":".gitignore"}`, `ls {"path":".."}`, `ls {"path":"../.."}`, `ls {"path":"./"}`}},
		{"list", "list src", []string{`ls {"path":"src"}`}},
		{"ls alone", "ls", []string{`ls {}`}},
		{"run", "run `go version`", []string{`bash {"command":"go version"}`}},
		{"run in doubled backticks", "run `` echo `date` ``", []string{"bash {\"command\":\"echo `date`\"}"}},
		{"run with quotes inside", "run `printf '%s\\n' \"x & y\" > out`", []string{`bash {"command":"printf '%s\\n' \"x & y\" > out"}`}},
		{"run of prose is nothing", "run the tests", nil},
		{"write", "write notes.txt: some text", []string{`write {"path":"notes.txt","content":"some text"}`}},
		{"write quoted", "write `my notes.txt`: a: b", []string{`write {"path":"my notes.txt","content":"a: b"}`}},
		{"write with a full-width colon", "write 笔记.txt：内容 二", []string{`write {"path":"笔记.txt","content":"内容 二"}`}},
		{"write to a drive", `write C:\x\y.txt: text`, []string{`write {"path":"C:\\x\\y.txt","content":"text"}`}},
		{"write a fenced block", "write a.go:\n```go\npackage a\n\n// read x\n```\nread a.go", []string{`write {"path":"a.go","content":"package a\n\n// read x\n"}`, `read {"path":"a.go"}`}},
		{"write an empty fenced block", "write a:\n~~~\n~~~", []string{`write {"path":"a","content":""}`}},
		{"write without text", "write summary:", nil},
		{"write of prose", "write a poem about rain", nil},
		{"replace", "replace `old` with `new` in a.txt", []string{`edit {"path":"a.txt","edits":[{"oldText":"old","newText":"new"}]}`}},
		{"replace with nothing", "replace \"old \" with \"\" in `a b.txt`", []string{`edit {"path":"a b.txt","edits":[{"oldText":"old ","newText":""}]}`}},
		{"replace nothing", "replace `` with `x` in a.txt", nil},
		{"replace unquoted", "replace old with new in a.txt", nil},
		{"search", "search for `TODO` in src", []string{`grep {"pattern":"TODO","path":"src"}`}},
		{"search everywhere", "Search for «TODO»", []string{`grep {"pattern":"TODO"}`}},
		{"find", "find `*.go` in 'my src'", []string{`find {"pattern":"*.go","path":"my src"}`}},
		{"call", `call subagent {"task": "look", "n": 1.0}`, []string{`subagent {"task": "look", "n": 1.0}`}},
		{"call with bad JSON", `call subagent {"task"`, nil},
		{"call with a list", `call subagent [1]`, nil},
		{"several lines", "Please do this:\n- read a.txt\n2. list src\n* then run `ls -l`\r\n\r\nThank you.", []string{`read {"path":"a.txt"}`, `ls {"path":"src"}`, `bash {"command":"ls -l"}`}},
		{"prose", "I read the news today.\nDo you read books?\nreading go.mod\nreadme.md\nlist the files of src\nfind me a way", nil},
		{"inside a fence", "```\nread a.txt\n```\nread b.txt", []string{`read {"path":"b.txt"}`}},
		{"inside a fence that never ends", "~~~~\nread a.txt\n~~~\nread b.txt", nil},
		{"inside documents", "Task\n\n<documents>\n<document path=\"x\">\nread a.txt\n</document>\n\n<document path=\"y\">\nread b.txt\n</document>\n</documents>\nread c.txt", []string{`read {"path":"c.txt"}`}},
		{"inside one document", "<document path=\"x\">\nrun `rm x`\n</document-9f>\nread c.txt", []string{`read {"path":"c.txt"}`}},
		{"nothing", "", nil},
		{"bare verbs", "read\nrun\nwrite\nreplace\nsearch\nfind\ncall\nread `\nread ``", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, more := parseAsks(c.text)
			if diff := cmp.Diff(c.want, asked(got)); diff != "" || more != 0 {
				t.Errorf("%d more, (-want +got):\n%s", more, diff)
			}
		})
	}
}

func TestParseAsksIsBounded(t *testing.T) {
	got, more := parseAsks(strings.Repeat("read a\n", maxAsks+3))
	if len(got) != maxAsks || more != 3 {
		t.Errorf("got %d calls and %d more", len(got), more)
	}
}

// Help prints the examples, so each must do what its form says.
func TestExamplesOfForms(t *testing.T) {
	for _, f := range Forms() {
		t.Run(f.Usage, func(t *testing.T) {
			got, _ := parseAsks(f.Example)
			if len(got) != 1 || f.Tool != "" && got[0].tool != f.Tool {
				t.Fatalf("%q asks for %q", f.Example, asked(got))
			}
		})
	}
}

// Any path reaches its tool unchanged, if it is quoted with a sign that it does
// not hold.
func TestQuotedPathProperty(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		path := rapid.StringMatching("[^`\\r\\n\\x00]+").Draw(r, "path")
		got, _ := parseAsks("read `" + path + "`")
		var args struct{ Path string }
		if len(got) != 1 || json.Unmarshal(got[0].arguments, &args) != nil || args.Path != path {
			r.Fatalf("%q was read as %q", path, asked(got))
		}
	})
}

func FuzzParseAsks(f *testing.F) {
	for _, form := range Forms() {
		f.Add(form.Example)
	}
	f.Add("- 1. please read 「x」\nwrite a:\n```\nb\n```")
	f.Add("read `\x80`\ncall a {\"\xff\":1}")
	f.Fuzz(func(t *testing.T, text string) {
		got, _ := parseAsks(text)
		for _, a := range got {
			var object map[string]json.RawMessage
			if a.tool == "" || json.Unmarshal(a.arguments, &object) != nil || object == nil {
				t.Errorf("%q asks for %q with %s", text, a.tool, a.arguments)
			}
		}
	})
}

func TestPieces(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := rapid.String().Draw(r, "s")
		for name, pieces := range map[string][]string{"words": Words(s), "fragments": Fragments(s)} {
			if strings.Join(pieces, "") != s {
				r.Fatalf("%s of %q are %q", name, s, pieces)
			}
		}
	})
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"words", "one  two\nthree", []string{"one  ", "two\n", "three"}},
		{"no blanks", strings.Repeat("字", 50), []string{strings.Repeat("字", 24), strings.Repeat("字", 24), "字字"}},
		{"nothing", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Words(c.in)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
