package tool

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// peer finds a program that answers the same questions. Where it is not installed
// the comparison is skipped; pi's own tools are these programs.
func peer(t *testing.T, names ...string) string {
	t.Helper()
	for _, n := range names {
		if path, err := exec.LookPath(n); err == nil {
			return path
		}
	}
	t.Skipf("none of %v is installed", names)
	return ""
}

// searched is a tree with what makes searches differ: nested rules, hidden files,
// negation, names with spaces and of other scripts, line ends, long lines, files
// that are no text.
func searched(t *testing.T) string {
	dir := t.TempDir()
	for name, text := range map[string]string{
		".git/HEAD": "needle in git\n", ".gitignore": "*.log\n!keep.log\n/build/\nnode_modules\n**/tmp-*\n",
		"a.txt": "needle\nno\nNeedle twice needle\n", "keep.log": "needle kept\n", "drop.log": "needle dropped\n",
		"build/out.txt": "needle built\n", "sub/build/in.txt": "needle in a deeper build\n", "node_modules/m/i.js": "needle of a module\n",
		"sub/.gitignore": "secret*\n!secret-not.txt\n", "sub/secret.txt": "needle secret\n", "sub/secret-not.txt": "needle not secret\n",
		".hidden": "needle hidden\n", ".config/x.txt": "needle in a hidden folder\n", "tmp-1/y.txt": "needle in tmp\n",
		"with space.txt": "needle spaced\n", "漢字.txt": "針 needle 針\n", "crlf.txt": "needle\r\nother\r\nneedle again\r\n",
		"no-end.txt": "x\nneedle at the end", "blob.bin": "needle\x00\x01binary needle\n", "empty.txt": "",
		"regex.txt": "a.b\naxb\nfoo(bar)\nfoo[0]\n\ttabs needle\n", "deep/er/and/deeper.go": "func needle() {}\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func lines(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out
}

// TestGrepAsRipgrep: the tool finds what ripgrep finds.
func TestGrepAsRipgrep(t *testing.T) {
	rg := peer(t, "rg")
	dir := searched(t)
	for _, c := range []struct{ args, flags string }{
		{`{"pattern":"needle"}`, ""}, {`{"pattern":"NEEDLE","ignoreCase":true}`, "-i"}, {`{"pattern":"a.b"}`, ""}, {`{"pattern":"a.b","literal":true}`, "-F"},
		{`{"pattern":"foo(bar)","literal":true}`, "-F"}, {`{"pattern":"^needle$"}`, ""}, {`{"pattern":"needle$"}`, ""}, {`{"pattern":"\\bnot\\b"}`, ""},
		{`{"pattern":"needle","glob":"*.txt"}`, "-g *.txt"}, {`{"pattern":"needle","glob":"sub/**"}`, "-g sub/**"}, {`{"pattern":"針"}`, ""},
		{`{"pattern":"[Nn]eedle.*needle"}`, ""}, {`{"pattern":"nothing like it"}`, ""},
	} {
		t.Run(c.args, func(t *testing.T) {
			r := grepIn(t, dir, c.args)
			pattern := strings.SplitN(strings.SplitN(c.args, `"pattern":"`, 2)[1], `"`, 2)[0]
			pattern = strings.ReplaceAll(pattern, `\\`, `\`)
			args := []string{"--no-config", "--color=never", "--no-heading", "--line-number", "--with-filename", "--hidden", "--crlf", "--glob", "!.git"} // a line ends before its CR, as the tool has it
			for f := range strings.FieldsSeq(c.flags) {
				args = append(args, f)
			}
			cmd := exec.Command(rg, append(args, "--", pattern, ".")...)
			cmd.Dir = dir
			out, _ := cmd.Output() // 1 says that nothing was found
			var want []string
			for _, l := range lines(string(out)) {
				file, rest, _ := strings.Cut(strings.TrimPrefix(l, "./"), ":")
				n, text, _ := strings.Cut(rest, ":")
				if strings.Contains(l, "binary file matches") {
					continue
				}
				want = append(want, fmt.Sprintf("%s:%s: %s", file, n, text))
			}
			got := lines(r.Content.PlainText())
			if len(want) == 0 && len(got) == 1 && !strings.Contains(got[0], ":") {
				return // it says that there is nothing
			}
			slices.Sort(want)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("ripgrep (-) and the tool (+):\n%s", d)
			}
		})
	}
}

// TestFindAsFd: the tool finds what fd finds.
func TestFindAsFd(t *testing.T) {
	fd := peer(t, "fd", "fdfind")
	dir := searched(t)
	for _, pattern := range []string{"*", "*.txt", "*.go", "secret*", "a.txt", "*漢*", "with space*", ".hidden", "build", "*.{log,go}", "[ab].txt", "none-of-them"} {
		t.Run(pattern, func(t *testing.T) {
			r := findIn(t, dir, fmt.Sprintf(`{"pattern":%q}`, pattern))
			cmd := exec.Command(fd, "--glob", "--hidden", "--color=never", "--exclude", ".git", "--", pattern)
			cmd.Dir = dir
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			want, got := lines(string(out)), lines(r.Content.PlainText())
			if len(want) == 0 && len(got) == 1 && strings.Contains(got[0], " ") {
				return // it says that there is nothing
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("fd (-) and the tool (+):\n%s", d)
			}
		})
	}
}
