package document

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/piweb-go/piweb/internal/confine"
	"pgregory.net/rapid"
)

func folder(t *testing.T, files map[string]string) (dir string, root *confine.Root) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "work")
	for name, text := range files {
		put(t, filepath.Join(dir, name), text)
	}
	root, err := confine.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return dir, root
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The rows of "subagent-input" of pi-web 0.9.3, and ours.
func TestRead(t *testing.T) {
	big := strings.Repeat("a", MaxBytes)
	dir, root := folder(t, map[string]string{"docs/article.md": "Text", "bad": "\xc3\x28", "big": big, "over": big + "a", "one": "1", "bom": "\uFEFFx\n", "nul": "a\x00b", "a b 文.txt": "x"})
	put(t, filepath.Join(dir, "..", "secret"), "SECRET")
	links := map[string]string{"out": filepath.Join("..", "secret"), "in": filepath.Join("docs", "article.md"), "dangling": "nowhere"}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			if runtime.GOOS == "windows" {
				t.Skipf("links need a privilege here: %v", err)
			}
			t.Fatal(err)
		}
	}
	nine := strings.Fields("one one one one one one one one one")
	article := []Document{{Path: "docs/article.md", Content: "Text"}}
	for _, c := range []struct {
		name  string
		names []string
		want  []Document
		err   error
		says  string
	}{
		{"SI1", []string{"docs/article.md"}, article, nil, ""},
		{"SI2 absolute outside", []string{filepath.Join(dir, "..", "secret")}, nil, ErrOutside, "outside the session cwd"},
		{"SI2 dots", []string{"../secret"}, nil, ErrOutside, "outside the session cwd"},
		{"SI2 link outside", []string{"out"}, nil, ErrOutside, "outside the session cwd: out"},
		{"SI3", []string{"bad"}, nil, ErrEncoding, "not valid UTF-8: bad"},
		{"SI4", []string{"over"}, nil, ErrTotal, "total limit"},
		{"SI5", nine, nil, ErrTooMany, "at most"},
		{"SI6 exactly the limit", []string{"big"}, []Document{{Path: "big", Content: big}}, nil, ""},
		{"SI7 sum one over", []string{"big", "one"}, nil, ErrTotal, "total limit"},
		{"SI8 directory", []string{"docs"}, nil, ErrNotFile, "not a file: docs"},
		{"SI9 blank", []string{" \t"}, nil, ErrEmpty, "must not be empty"},
		{"SI10 the same file four ways", []string{"docs/article.md", "./docs/../docs/article.md", filepath.Join(dir, "docs", "article.md"), "in"}, article, nil, ""},
		{"SI11 inner link", []string{"in"}, article, nil, ""},
		{"SI12 BOM", []string{"bom"}, []Document{{Path: "bom", Content: "x\n"}}, nil, ""},
		{"missing", []string{"no"}, nil, ErrMissing, "does not exist: no"},
		{"dangling link", []string{"dangling"}, nil, ErrMissing, "does not exist: dangling"},
		{"zero byte in a name", []string{"a\x00"}, nil, ErrMissing, "does not exist"},
		{"zero byte in a text", []string{"nul"}, []Document{{Path: "nul", Content: "a\x00b"}}, nil, ""},
		{"odd name", []string{"a b 文.txt"}, []Document{{Path: "a b 文.txt", Content: "x"}}, nil, ""},
		{"the first failure counts", []string{"one", "docs", "bad"}, nil, ErrNotFile, "docs"},
		{"none", nil, nil, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Read(root, c.names, Limits{})
			if !errors.Is(err, c.err) || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Fatalf("%v, want %v that says %q", err, c.err, c.says)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got)\n%.500s", diff)
			}
		})
	}
}

// An oversized file is not read as a whole before it is refused.
func TestLimitsOfTheCaller(t *testing.T) {
	_, root := folder(t, map[string]string{"a": "12345", "b": "123456"})
	if _, err := Read(root, []string{"a", "b"}, Limits{Bytes: 10}); !errors.Is(err, ErrTotal) {
		t.Errorf("%v", err)
	}
	if docs, err := Read(root, []string{"a", "b"}, Limits{Bytes: 11, Files: 2}); err != nil || len(docs) != 2 {
		t.Errorf("%v, %v", docs, err)
	}
	if _, err := Read(root, []string{"a", "b"}, Limits{Files: 1}); !errors.Is(err, ErrTooMany) {
		t.Errorf("%v", err)
	}
}

func TestAppend(t *testing.T) {
	for _, c := range []struct {
		name string
		docs []Document
		want string
	}{
		{"none", nil, "Do it"},
		{"one", []Document{{Path: "docs/article.md", Content: "Text\n"}}, "Do it\n\n<documents>\n<document path=\"docs/article.md\">\nText\n\n</document>\n</documents>"},
		{"two, odd names", []Document{{Path: "a \"<b>\" 文\u2028.md", Content: ""}, {Path: "c", Content: "<x>"}},
			"Do it\n\n<documents>\n<document path=\"a \\\"<b>\\\" 文\u2028.md\">\n\n</document>\n\n<document path=\"c\">\n<x>\n</document>\n</documents>"},
		{"lines", []Document{{Path: "c", Content: "x", From: 3, To: 9}}, "Do it\n\n<documents>\n<document path=\"c\" lines=\"3-9\">\nx\n</document>\n</documents>"},
	} {
		if diff := cmp.Diff(c.want, Append("Do it", c.docs)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", c.name, diff)
		}
	}
}

// A file cannot end its block early, whatever it holds.
func TestPropertyABlockEndsOnce(t *testing.T) {
	words := []string{"</document>", "</Document", "</documents>", "<document path=\"x\">", "</document-", "suffix=", "a", "\n", "-"}
	rapid.Check(t, func(t *rapid.T) {
		content := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 12).Draw(t, "content"), "")
		if rapid.Bool().Draw(t, "knows") { // it quotes the end of another block
			other := Document{Path: "p", Content: content}.block()
			content += other[strings.LastIndex(other, "\n"):]
		}
		block := Document{Path: "p", Content: content}.block()
		open, rest, _ := strings.Cut(block, ">\n")
		end := block[strings.LastIndex(block, "\n")+1:]
		if n := strings.Count(strings.ToLower(rest), end); n != 1 {
			t.Fatalf("%d times %q in %q", n, end, block)
		}
		if end != "</document>" {
			suffix := strings.TrimSuffix(strings.TrimPrefix(end, "</document-"), ">")
			if !strings.Contains(open, fmt.Sprintf(" suffix=%q", suffix)) {
				t.Fatalf("%q does not name %q", open, suffix)
			}
		} else if strings.Contains(strings.ToLower(content), "</document") {
			t.Fatalf("%q ends with the plain tag", block)
		}
	})
}

func TestLines(t *testing.T) {
	d := Document{Path: "p", Content: "1\n2\n3\n\n5"}
	for _, c := range []struct {
		from, to int
		want     string
	}{{0, 0, d.Content}, {1, 1, "1"}, {2, 3, "2\n3"}, {3, 5, "3\n\n5"}, {4, 4, ""}, {5, 99, "5"}, {6, 7, ""}, {1, 99, d.Content}} {
		if got := d.Lines(c.from, c.to); got.Content != c.want || got.From != c.from {
			t.Errorf("%d-%d: %q, want %q", c.from, c.to, got.Content, c.want)
		}
	}
}
