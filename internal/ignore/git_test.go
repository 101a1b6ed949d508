package ignore

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestCases holds the rules against answers of git that were recorded.
func TestCases(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "fixtures", "gitignore", "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name    string
		Rules   map[string]string // the text of .gitignore, by folder
		Ignored map[string]bool   // a folder ends in a slash
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			dir := tree(t, map[string]string{".git/": ""})
			for folder, text := range c.Rules {
				write(t, filepath.Join(dir, folder, ".gitignore"), text)
			}
			rules := open(t, dir, Options{})
			for path, want := range c.Ignored {
				if got := rules.Match(path, strings.HasSuffix(path, "/")); got != want {
					t.Errorf("%s: ignored is %v, want %v", path, got, want)
				}
			}
		})
	}
}

// The words of random names and patterns: all that git treats specially, and
// letters that meet often.
var (
	nameWords    = []string{"a", "b", "ab", "A", "foo", ".", "-", "!", "#", "]", "[", "^", "é", "e\u0301", "文", "\xff", " ", "+", "(", "$", "{", "*", "?", `\`, "\n", "1"}
	patternWords = []string{"a", "b", "ab", "A", "foo", ".", "-", "!", "#", "]", "^", "é", "文", "\xff", " ", "+", "(", "$", "{", "1",
		"*", "*", "**", "***", "/", "/", "/", "?", "**/", "/**", "/**/", `\`, `\a`, `\*`, `\ `, `\/`, "\t", "\r",
		"[ab]", "[!a]", "[^a]", "[a-f]", "[A-F]", "[]a]", "[a", "[a-]", "[-a]", "[!-a]", "[[:alpha:]]", "[[:upper:]]", "[![:space:]]", "[[:bad:]]", "[[:]", "[[:a]", `[\]]`, `[\\-a]`, "[/]", "[a/]", "[é]", "[文]", "[\x80-\xff]", "[f-a]", "[]-a]"}
)

func drawPattern(t *rapid.T) string {
	words := rapid.SliceOfN(rapid.SampledFrom(patternWords), 1, 6).Draw(t, "words")
	p := strings.Join(words, "")
	if rapid.IntRange(0, 3).Draw(t, "negate") == 0 {
		p = "!" + p
	}
	return p
}

func drawFile(t *rapid.T) string {
	lines := rapid.SliceOfN(rapid.Custom(drawPattern), 0, 8).Draw(t, "lines")
	return strings.Join(lines, rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end"))
}

// oracleTree makes a work tree with many odd names and returns its paths,
// folders with a slash.
func oracleTree(t testing.TB, dir string) []string {
	var paths []string
	var below func(at string, depth int)
	below = func(at string, depth int) {
		for i, word := range nameWords {
			for _, name := range []string{word, "a" + word} {
				if name == "." || name == "aa" || name == "ab" && word == "b" {
					continue
				}
				// Not all everywhere: the trees differ from folder to folder.
				if depth > 0 && (i+len(at))%4 != 0 && word != "a" && word != "b" {
					continue
				}
				path := at + name
				if depth < 3 && (word == "a" || word == "b" || word == "foo" || word == "é") && len(name) == len(word) {
					if err := os.MkdirAll(filepath.Join(dir, path), 0o755); err != nil {
						t.Fatal(err)
					}
					paths = append(paths, path+"/")
					below(path+"/", depth+1)
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, path), nil, 0o644); err != nil {
					t.Fatal(err)
				}
				paths = append(paths, path)
			}
		}
	}
	below("", 0)
	return paths
}

// TestAgainstGit asks git and the rules the same questions, about every path of
// a tree, under random rules in several files: 100 000 decisions at least, but for
// -short. -rapid.checks asks for more.
func TestAgainstGit(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the names are those of Linux")
	}
	decisions := 0
	for _, fold := range []bool{false, true} {
		t.Run(fmt.Sprintf("ignorecase=%v", fold), func(t *testing.T) {
			dir := t.TempDir()
			git(t, dir, "", "init", "-q")
			git(t, dir, "", "config", "core.ignorecase", fmt.Sprint(fold))
			git(t, dir, "", "config", "core.excludesFile", filepath.Join(dir, ".git", "mine"))
			paths := oracleTree(t, dir)
			// Git takes the part behind a last slash for the name.
			question := strings.ReplaceAll(strings.Join(paths, "\x00")+"\x00", "/\x00", "\x00")
			rapid.Check(t, func(rt *rapid.T) {
				files := []string{".gitignore", "a/.gitignore", "a/b/.gitignore", "foo/.gitignore", ".git/info/exclude", ".git/mine"}
				for i, file := range files {
					path := filepath.Join(dir, file)
					text := ""
					if i == 0 || rapid.Bool().Draw(rt, file) {
						text = drawFile(rt)
					}
					if text == "" {
						os.Remove(path)
						continue
					}
					write(t, path, text)
				}
				compareWithGit(t, rt, dir, paths, question)
				decisions += len(paths)
			})
		})
	}
	t.Logf("%d decisions were compared", decisions)
	if decisions < 100_000 && !testing.Short() && !t.Failed() && flag.Lookup("rapid.checks").Value.String() == flag.Lookup("rapid.checks").DefValue {
		t.Errorf("%d decisions are too few to say much", decisions)
	}
}

func compareWithGit(t *testing.T, rt *rapid.T, dir string, paths []string, question string) {
	ignored := map[string]bool{}
	for path := range strings.SplitSeq(git(t, dir, question, "check-ignore", "--no-index", "--stdin", "-z"), "\x00") {
		ignored[path] = true
		ignored[path+"/"] = true
	}
	rules := open(t, dir, Options{})
	var kept []string
	for _, path := range paths {
		if got := rules.Match(path, strings.HasSuffix(path, "/")); got != ignored[path] {
			rt.Errorf("%q: ignored is %v, git says %v", path, got, ignored[path])
		}
		if !ignored[path] {
			kept = append(kept, path)
		}
	}
	slices.Sort(kept)
	met := slices.DeleteFunc(walked(t, dir, WalkOptions{}), func(p string) bool {
		return strings.HasSuffix(p, ".gitignore")
	})
	for i := range min(len(met), len(kept)) {
		if met[i] != kept[i] {
			rt.Fatalf("entry %d of the walk is %q, git keeps %q", i, met[i], kept[i])
		}
	}
	if len(met) != len(kept) {
		rt.Errorf("the walk met %d entries, git keeps %d", len(met), len(kept))
	}
}

// The short cuts of a glob say what the long way says.
func TestShortCutsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fold := rapid.Bool().Draw(t, "fold")
		pattern := cleanLine(drawPattern(t))
		if pattern == "" {
			return
		}
		r, ok := parseRule(pattern, fold)
		if !ok || r.kind != ruleGlob {
			return
		}
		words := rapid.SliceOfN(rapid.SampledFrom(nameWords), 1, 6).Draw(t, "name")
		name := lowerIf(fold, strings.Join(words, rapid.SampledFrom([]string{"", "/"}).Draw(t, "between")))
		if r.byName {
			name = strings.ReplaceAll(name, "/", "")
		}
		if fast, slow := r.glob.match(name), r.glob.matchSlow(name, isASCII(name)); fast != slow {
			t.Errorf("%q on %q: %v, the long way %v (%s)", pattern, name, fast, slow, r.glob.line)
		}
	})
}

// The index by name finds what looking at every rule finds.
func TestIndexAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, _ := parse([]byte(drawFile(t)), false)
		words := rapid.SliceOfN(rapid.SampledFrom(nameWords), 1, 4).Draw(t, "name")
		path := strings.Join(words, "/")
		e := &entry{path: path, name: strings.LastIndexByte(path, '/') + 1, isDir: rapid.Bool().Draw(t, "dir")}
		want := -1
		for i := range l.rules {
			r := &l.rules[i]
			subject := path
			if r.byName {
				subject = path[e.name:]
			}
			if (e.isDir || !r.dirOnly) && r.match(subject) {
				want = i
			}
		}
		if got := l.find(e, 0); got != want {
			t.Errorf("%q: rule %d, want %d", path, got, want)
		}
	})
}
