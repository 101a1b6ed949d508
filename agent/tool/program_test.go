package tool

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// programsIn is options of a hermetic home with a PATH.
func programsIn(t *testing.T, path string) Options {
	o := hermetic(Options{TempDir: t.TempDir(), Home: t.TempDir()})
	environ := o.Environ
	o.Environ = func() []string { return append(environ(), "PATH="+path, "RIPGREP_CONFIG_PATH=/nowhere") }
	return o
}

// sameEitherWay runs a call through a program and without one. The whole result is
// one: text, details, order, notes. Only the file of a whole output differs in name.
func sameEitherWay(t *testing.T, build func(Options) Tool, dir, args, path string) {
	t.Helper()
	with, without := programsIn(t, path), programsIn(t, "")
	a, b := callTool(t, build(with), dir, args), callTool(t, build(without), dir, args)
	if d := cmp.Diff(b, a); d != "" {
		t.Errorf("%s in %s: without a program (-), with it (+):\n%s", args, dir, d)
	}
}

func grepTool(o Options) Tool { return NewGrep(o) }
func findTool(o Options) Tool { return NewFind(o) }

var grepCalls = []string{
	`{"pattern":"needle"}`, `{"pattern":"NEEDLE","ignoreCase":true}`, `{"pattern":"needle","literal":true}`, `{"pattern":"needle","context":2}`,
	`{"pattern":"needle","limit":1}`, `{"pattern":"needle","limit":3,"context":1}`, `{"pattern":"^needle$"}`, `{"pattern":"needle|foo"}`, `{"pattern":"[Nn]eedle"}`,
	`{"pattern":"foo(bar)","literal":true}`, `{"pattern":"-needle"}`, `{"pattern":"針"}`, `{"pattern":"none of it"}`, `{"pattern":"needle","path":"sub"}`,
	`{"pattern":"needle","path":"sub/build"}`, `{"pattern":"needle","glob":"*.txt"}`, `{"pattern":"needle","path":"build"}`, `{"pattern":"k","ignoreCase":true}`,
}

var findCalls = []string{
	`{"pattern":"*"}`, `{"pattern":"*.txt"}`, `{"pattern":"**/*.txt"}`, `{"pattern":"*","limit":3}`, `{"pattern":"*","limit":1}`, `{"pattern":"sub/**"}`, `{"pattern":"none"}`,
	`{"pattern":"BUILD"}`, `{"pattern":"build"}`, `{"pattern":"*","path":"sub"}`, `{"pattern":"*","path":"build"}`, `{"pattern":"*.{log,go}"}`, `{"pattern":".hidden"}`,
}

// TestProgramsAnswerAsWeDo: a result does not tell whether ripgrep and fd were there.
func TestProgramsAnswerAsWeDo(t *testing.T) {
	rg, fd := peer(t, "rg"), peer(t, "fd", "fdfind")
	path := filepath.Dir(rg) + string(filepath.ListSeparator) + filepath.Dir(fd)
	check := func(t *testing.T, dir string) {
		t.Helper()
		for _, args := range grepCalls {
			sameEitherWay(t, grepTool, dir, args, path)
		}
		for _, args := range findCalls {
			sameEitherWay(t, findTool, dir, args, path)
		}
	}
	t.Run("tree", func(t *testing.T) {
		dir := searched(t)
		_ = os.Symlink("a.txt", filepath.Join(dir, "link.txt"))
		_ = os.Symlink("sub", filepath.Join(dir, "link-to-folder"))
		check(t, dir)
	})
	t.Run("case of the repository", func(t *testing.T) {
		dir := searched(t)
		writeTestFile(t, filepath.Join(dir, ".git", "config"), "[core]\n\tignorecase = true\n")
		writeTestFile(t, filepath.Join(dir, "LOUD.LOG"), "needle\n")
		writeTestFile(t, filepath.Join(dir, ".gitignore"), "*.log\n!KEEP.LOG\n")
		check(t, dir)
	})
	t.Run("rules above", func(t *testing.T) {
		top := searched(t)
		writeTestFile(t, filepath.Join(top, ".ignore"), "!secret.txt\nin.txt\n")
		check(t, filepath.Join(top, "sub"))
	})
	t.Run("unreadable", func(t *testing.T) {
		dir := searched(t)
		if err := os.Chmod(filepath.Join(dir, "sub"), 0); err != nil || os.Geteuid() == 0 {
			t.Skip("nothing is unreadable to this user")
		}
		defer os.Chmod(filepath.Join(dir, "sub"), 0o755)
		check(t, dir)
	})
	t.Run("random", func(t *testing.T) {
		random := rand.New(rand.NewPCG(5, 6))
		for range 12 {
			check(t, randomTree(t, random))
		}
	})
}

// randomTree is folders, files and rules of few names, so that rules often match.
func randomTree(t *testing.T, r *rand.Rand) string {
	dir := t.TempDir()
	names := []string{"a", "b.txt", "build", "sub", "c.log", "needle", ".h", "é x"}
	rules := []string{"*.log", "!c.log", "/build", "sub/", "a/b.txt", "**/needle", "!/a", "a*", "# no", "sub/*", "!sub/b.txt", `\!x`}
	pick := func(from []string) string { return from[r.IntN(len(from))] }
	put := func(name, text string) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if os.MkdirAll(filepath.Dir(path), 0o755) == nil {
			_ = os.WriteFile(path, []byte(text), 0o644) // a name may be a folder already
		}
	}
	if r.IntN(3) > 0 {
		put(".git/HEAD", "needle\n")
	}
	for range 30 {
		parts := make([]string, 1+r.IntN(3))
		for i := range parts {
			parts[i] = pick(names)
		}
		put(strings.Join(parts, "/"), strings.Repeat("no\n", r.IntN(3))+"needle foo\n")
	}
	for _, at := range []string{"", "sub/", "a/", "build/"} {
		if r.IntN(2) == 0 {
			file := pick([]string{".gitignore", ".gitignore", ".ignore"})
			put(at+file, pick(rules)+"\n"+pick(rules)+"\n")
		}
	}
	return dir
}

// TestProgramsThatFail: a program that fails, lies or prints without end changes no
// result, and one that the project brings along is not started.
func TestProgramsThatFail(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("scripts are no programs there")
	}
	dir := searched(t)
	started := filepath.Join(t.TempDir(), "started")
	program := func(dir, script string) string {
		for _, name := range []string{"rg", "fd"} {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("#!/bin/sh\n: >"+started+"\n"+script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	for name, script := range map[string]string{
		"status": "exit 2", "names and a failure": `printf 'a.txt\0'; exit 2`, "killed": "kill -9 $$", "endless": "exec yes",
		"ignored names": `printf 'drop.log\0'; exit 3`,
	} {
		t.Run(name, func(t *testing.T) {
			_ = os.Remove(started)
			at := program(t.TempDir(), script)
			sameEitherWay(t, grepTool, dir, `{"pattern":"needle"}`, at)
			sameEitherWay(t, findTool, dir, `{"pattern":"*.txt"}`, at)
			if !exists(started) {
				t.Error("the program was not asked")
			}
		})
	}
	inside := program(filepath.Join(dir, "bin"), "exit 0")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(inside, link); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for _, path := range []string{inside, "bin", ".", link, fmt.Sprintf("bin%c%s", filepath.ListSeparator, inside)} {
		_ = os.Remove(started)
		sameEitherWay(t, grepTool, dir, `{"pattern":"needle"}`, path)
		sameEitherWay(t, findTool, dir, `{"pattern":"*.txt"}`, path)
		if exists(started) {
			t.Errorf("PATH=%s: a program of the project was started", path)
		}
	}
}
