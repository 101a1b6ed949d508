package ignore

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestWalkMeets: what a walk meets, by where it begins and which rules it asks
// for. ROOT/.gitignore and so on are the files of each case.
func TestWalkMeets(t *testing.T) {
	env := func(values map[string]string) func(string) string {
		return func(name string) string { return values[name] }
	}
	for _, c := range []struct {
		name  string
		files map[string]string
		root  string
		opts  Options
		home  bool // the folder home of the case is the user's
		want  []string
	}{
		{
			name:  "repository",
			files: map[string]string{".git/x": "", ".gitignore": "*.log\nout/\n", "a.log": "", "b.txt": "", "out/c": "", ".hidden/d": ""},
			want:  []string{".gitignore", ".hidden/", ".hidden/d", "b.txt"},
		},
		{
			name:  "no repository, its files do not count",
			files: map[string]string{".gitignore": "*.log\n", "a.log": ""},
			want:  []string{".gitignore", "a.log"},
		},
		{
			name:  "no repository, everywhere",
			files: map[string]string{".gitignore": "*.log\n", "a.log": "", "d/.gitignore": "!b.log\n", "d/a.log": "", "d/b.log": ""},
			opts:  Options{Git: GitEverywhere},
			want:  []string{".gitignore", "d/", "d/.gitignore", "d/b.log"},
		},
		{
			name:  "nowhere",
			files: map[string]string{".git/x": "", ".gitignore": "*.log\n", "a.log": ""},
			opts:  Options{Git: GitNowhere},
			want:  []string{".gitignore", "a.log"},
		},
		{
			name:  "rules of the folders above the root",
			files: map[string]string{".git/x": "", ".gitignore": "/s/t/a\n*.log\n", "s/.gitignore": "t/b\n", "s/t/a": "", "s/t/b": "", "s/t/c.log": "", "s/t/d": ""},
			root:  "s/t",
			want:  []string{"d"},
		},
		{
			name:  "ignored root",
			files: map[string]string{".git/x": "", ".gitignore": "s/\n*.log\n", "s/a.log": "", "s/b": "", "s/.gitignore": "c\n", "s/c": ""},
			root:  "s",
			want:  []string{".gitignore", "b"},
		},
		{
			name:  "root that all rules ignore",
			files: map[string]string{".git/x": "", ".gitignore": "*\ns\n!b\ns/**\n", ".ignore": "[s-t]\n*.log\n", "s/t/a": "", "s/t/b": "", "s/t/c.log": ""},
			opts:  Options{Files: []string{".ignore"}}, root: "s/t",
			want: []string{"a", "b"},
		},
		{
			name:  "root that very many rules ignore",
			files: map[string]string{".git/x": "", ".gitignore": "b\n" + strings.Repeat("s\n", 2*maxForgiven), "s/a": "", "s/b": ""},
			root:  "s",
			want:  []string{"a", "b"},
		},
		{
			name:  "root in an ignored folder",
			files: map[string]string{".git/x": "", ".gitignore": "/s/*\n", "s/t/a": "", "s/t/u/b": ""},
			root:  "s/t",
			want:  []string{"a", "u/", "u/b"},
		},
		{
			name:  "nested repository",
			files: map[string]string{".git/x": "", ".gitignore": "*.log\n", "n/.git/info/exclude": "y\n", "n/.gitignore": "x\n", "n/a.log": "", "n/x": "", "n/y": ""},
			want:  []string{".gitignore", "n/", "n/.gitignore", "n/a.log"},
		},
		{
			name:  "repository inside an ignored folder, as root",
			files: map[string]string{".git/x": "", ".gitignore": "vendor/\n", "vendor/n/.git/x": "", "vendor/n/.gitignore": "x\n", "vendor/n/s/x": "", "vendor/n/s/y": ""},
			root:  "vendor/n/s",
			want:  []string{"y"},
		},
		{
			name: "linked work tree and submodule",
			files: map[string]string{
				"main/.git/info/exclude": "x\n", "main/.git/config": "", "main/.git/worktrees/w/commondir": "../..\n",
				"w/.git": "gitdir: ../main/.git/worktrees/w\n", "w/x": "", "w/y": "",
			},
			root: "w",
			want: []string{"y"},
		},
		{
			name:  "order of the lists",
			files: map[string]string{".git/info/exclude": "!a\nb\nc\n", "home/.config/git/ignore": "a\nd\n", ".gitignore": "home\n!b\n", "a": "", "b": "", "c": "", "d": ""},
			home:  true,
			want:  []string{".gitignore", "a", "b"},
		},
		{
			name:  "the user's own list, outside of repositories",
			files: map[string]string{"home/.config/git/ignore": "a\n", "w/a": "", "w/b": ""},
			home:  true, root: "w",
			want: []string{"a", "b"},
		},
		{
			name: "core.excludesFile and includes",
			files: map[string]string{
				"home/.gitconfig": "[core]\n\teditor = x\n[include]\n\tpath = \"more\" ; here\n", "home/more": "[ Core ]\nexcludesFile = ~/my\\\n list # x\n",
				"home/my list": "a\n", "w/.git/x": "", "w/a": "", "w/b": "",
			},
			home: true, root: "w",
			want: []string{"b"},
		},
		{
			name:  "core.excludesFile of the repository, relative",
			files: map[string]string{"w/.git/config": "[core]\nexcludesfile = l/ist\n", "w/l/ist": "a\n", "w/a": "", "w/s/a": "", "w/s/b": ""},
			root:  "w/s",
			want:  []string{"b"},
		},
		{
			name:  "core.ignorecase",
			files: map[string]string{".git/config": "[core]\n\tIgnoreCase\n", ".gitignore": "A\n*.LOG\nx/Y*\n", "a": "", "b.Log": "", "X/yz": ""},
			want:  []string{".gitignore", "X/"},
		},
		{
			name:  "case matters whatever the repository says",
			files: map[string]string{".git/config": "[core]\nignorecase = true\n", ".gitignore": "A\n", "a": ""},
			opts:  Options{Case: CaseMatters},
			want:  []string{".gitignore", "a"},
		},
		{
			name:  "files of other names are stronger, the last the strongest",
			files: map[string]string{".git/x": "", "s/.gitignore": "!a\nb\nc\n", ".ignore": "a\n!b\n!c\n", ".fdignore": "c\n", "s/a": "", "s/b": "", "s/c": ""},
			opts:  Options{Files: []string{".ignore", ".fdignore"}},
			want:  []string{".fdignore", ".ignore", "s/", "s/.gitignore", "s/b"},
		},
		{
			name:  "files of other names above the root",
			files: map[string]string{".ignore": "a\n", "s/a": "", "s/b": ""},
			opts:  Options{Files: []string{".ignore"}}, root: "s",
			want: []string{"b"},
		},
		{
			name: "odd names",
			files: map[string]string{
				".git/x": "", ".gitignore": "a b\nno\u00a0break\n日*\n*.😀\ncafe\u0301\n",
				"a b": "", "no\u00a0break": "", "no break": "", "日本": "", "本日": "", "x.😀": "", "cafe\u0301": "", "caf\u00e9!": "",
			},
			want: []string{".gitignore", "caf\u00e9!", "no break", "本日"},
		},
		{
			name:  "a file named like a folder's beginning",
			files: map[string]string{"a/x": "", "a.b": "", "a-": "", "a0": ""},
			want:  []string{"a-", "a.b", "a/", "a/x", "a0"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := tree(t, c.files)
			opts := c.opts
			if c.home {
				opts.Home = filepath.Join(dir, "home")
				opts.Getenv = env(map[string]string{"GIT_CONFIG_NOSYSTEM": "1"})
			}
			root := filepath.Join(dir, filepath.FromSlash(c.root))
			got := walked(t, root, WalkOptions{Options: opts})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			var mu sync.Mutex
			var unsorted []string
			err := Walk(t.Context(), root, WalkOptions{Options: opts, Workers: 3}, func(e Entry) error {
				mu.Lock()
				defer mu.Unlock()
				unsorted = append(unsorted, listed(e))
				return nil
			})
			slices.Sort(unsorted)
			if err != nil || !slices.Equal(unsorted, got) {
				t.Errorf("without order %q, %v", unsorted, err)
			}
			rules := open(t, root, opts)
			for _, name := range got {
				if rules.Match(name, false) {
					t.Errorf("Match says that %s is ignored", name)
				}
			}
		})
	}
}

func TestConfigValues(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain", "[core]\n a = b\n", "core.a=b"},
		{"blanks and comments", "# x\n[core] ; y\n a =  b c  # d\n;e\n", "core.a=b c"},
		{"quotes", "[core]\na = \" b # c\" d\n", "core.a= b # c d"},
		{"escapes", "[core]\na = b\\tc\\\\d\\\"e\n", "core.a=b\tc\\d\"e"},
		{"next line", "[core]\na = b\\\nc\n", "core.a=bc"},
		{"no value", "[core]\na\nb=\n", "core.a core.b="},
		{"subsection", "[core \"x\"]\na = b\n", `core "x".a=b`},
		{"on the section's line", "[core] a = b", "core.a=b"},
		{"carriage returns", "[core]\r\na = b\r\n", "core.a=b"},
		{"torn section", "[core\na = b\n[x]\nc = d", ".a=b x.c=d"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, v := range configValues(c.text) {
				word := v.key
				if !v.bare {
					word += "=" + v.value
				}
				got = append(got, word)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %q, want %q", strings.Join(got, " "), c.want)
			}
		})
	}
}

func TestMatchOutside(t *testing.T) {
	dir := tree(t, map[string]string{".git/x": "", ".gitignore": "*\n"})
	rules := open(t, dir, Options{})
	for _, rel := range []string{"", ".", "..", "../a", "/a", "./a"} {
		if rules.Match(rel, false) {
			t.Errorf("%q is ignored", rel)
		}
	}
	if !rules.Match("a", false) || !rules.Match("a/../b", false) {
		t.Error("a is not ignored")
	}
	if _, err := Open("relative", Options{}); err == nil {
		t.Error("a relative root is taken")
	}
	if _, err := Open(filepath.Join(dir, "nope"), Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing root: %v", err)
	}
}

func TestMatchManyFolders(t *testing.T) {
	dir := tree(t, map[string]string{".git/x": "", ".gitignore": "x\n"})
	rules := open(t, dir, Options{})
	for i := range 3 * maxKnown {
		if name := strings.Repeat("d", i%7+1) + string(rune('a'+i%26)) + time.Duration(i).String(); !rules.Match(name+"/x", false) {
			t.Fatal(name)
		}
	}
	if n := len(rules.known); n > maxKnown {
		t.Errorf("%d folders are remembered", n)
	}
}

// Bounds of an ignore file: what is left out is told.
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       error
		in, out    string // a name that is ignored, and one that no longer is
	}{
		{"size", "a\n" + strings.Repeat("#"+strings.Repeat("x", 1000)+"\n", 1100) + "b\n", ErrFileTooLarge, "a", "b"},
		{"rules", "a\n" + strings.Repeat("x\n", MaxRules) + "b\n", ErrTooManyRules, "a", "b"},
		{"length", "a\n" + strings.Repeat("*x", MaxRuleBytes) + "\nc\n", ErrRuleTooLong, "c", "xx"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := tree(t, map[string]string{".git/x": "", ".gitignore": c.text})
			var got error
			rules := open(t, dir, Options{Report: func(_ string, err error) { got = err }})
			if !errors.Is(got, c.want) {
				t.Errorf("reported %v, want %v", got, c.want)
			}
			if !rules.Match(c.in, false) || rules.Match(c.out, false) {
				t.Error("the wrong rules count")
			}
		})
	}
}

// Patterns that make a backtracking matcher run for ages.
func TestNoBlowUp(t *testing.T) {
	long := strings.Repeat("a", 200)
	for _, pattern := range []string{
		strings.Repeat("*a", 100) + "b", strings.Repeat("**/", 100) + "*b", "/" + strings.Repeat("**/a*", 60) + "b",
		strings.Repeat("[ab]*", 100) + "c", strings.Repeat("?*", 100) + "é", strings.Repeat("*", 4000) + "b",
	} {
		dir := tree(t, map[string]string{".git/x": "", ".gitignore": pattern + "\n"})
		rules := open(t, dir, Options{})
		start := time.Now()
		rules.Match(strings.Repeat("a/", 60)+long, false)
		rules.Match(long+"é", false)
		if d := time.Since(start); d > 5*time.Second { // milliseconds, unless it explodes
			t.Errorf("%.40s…: %v", pattern, d)
		}
	}
}

func TestLinkedIgnoreFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("windows: links need rights")
	}
	dir := tree(t, map[string]string{".git/x": "", "rules": "a\n", "a": "", "s/b": ""})
	for _, name := range []string{".gitignore", "s/.ignore"} {
		if err := os.Symlink(filepath.Join(dir, "rules"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "s", "a"), "")
	got := walked(t, dir, WalkOptions{Options: Options{Files: []string{".ignore"}}})
	want := []string{".gitignore", "a", "rules", "s/", "s/.ignore", "s/b"} // git does not follow its own
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
