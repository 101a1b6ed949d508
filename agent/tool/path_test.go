package tool

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestNamesForReading(t *testing.T) {
	const (
		composed   = "caf\u00e9.txt"
		decomposed = "cafe\u0301.txt"
	)
	for _, c := range []struct {
		name  string
		files []string
		asked string
		want  string // one of files, or "" for none
	}{
		{"plain", []string{"a.txt"}, "a.txt", "a.txt"},
		{"literal no-break space before a plain one", []string{"a\u00a0b.txt", "a b.txt"}, "a\u00a0b.txt", "a\u00a0b.txt"},
		{"literal plain space before a no-break one", []string{"a\u00a0b.txt", "a b.txt"}, "a b.txt", "a b.txt"},
		{"no-break space asked, plain there", []string{"a b.txt"}, "a\u00a0b.txt", "a b.txt"},
		{"plain asked, no-break space there", []string{"a\u00a0b.txt"}, "a b.txt", "a\u00a0b.txt"},
		{"narrow space before PM", []string{"Shot 3.04.05\u202fPM.png"}, "Shot 3.04.05 PM.png", "Shot 3.04.05\u202fPM.png"},
		{"ideographic space", []string{"文件\u3000二.md"}, "文件 二.md", "文件\u3000二.md"},
		{"curly quote", []string{"Capture d\u2019e\u0301cran.png"}, "Capture d'\u00e9cran.png", "Capture d\u2019e\u0301cran.png"},
		{"composed asked, decomposed there", []string{decomposed}, composed, decomposed},
		{"decomposed asked, composed there", []string{composed}, decomposed, composed},
		{"look-alike folder", []string{"dos\u00a0sier/e\u0301/a.txt"}, "dos sier/\u00e9/a.txt", "dos\u00a0sier/e\u0301/a.txt"},
		{"two look-alikes are none", []string{"a\u00a0b.txt", "a\u202fb.txt"}, "a b.txt", ""},
		{"mention", []string{"d/a.txt"}, "@d/a.txt", "d/a.txt"},
		{"mention of a name with an at sign", []string{"@a.txt"}, "@@a.txt", "@a.txt"},
		{"at sign in the name comes first", []string{"@a.txt", "a.txt"}, "@a.txt", "@a.txt"},
		{"mention of a look-alike", []string{"a\u00a0b.txt"}, "@a b.txt", "a\u00a0b.txt"},
		{"case counts", []string{"A b.txt"}, "a b.txt", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if runtime.GOOS != "linux" && (strings.Contains(c.name, "decomposed") || strings.Contains(c.name, "case") || strings.Contains(c.name, "curly")) {
				t.Skip("the file system folds names itself")
			}
			dir := t.TempDir()
			for _, f := range c.files {
				writeTestFile(t, filepath.Join(dir, filepath.FromSlash(f)), "x")
			}
			got := places{cwd: dir, reach: machine{}}.forReading(c.asked)
			if c.want == "" {
				if exists(got) {
					t.Errorf("found %q", got)
				}
				return
			}
			if want := filepath.Join(dir, filepath.FromSlash(c.want)); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestNamesForWriting(t *testing.T) {
	dir := t.TempDir()
	writeTestFile(t, filepath.Join(dir, "a b.txt"), "")
	writeTestFile(t, filepath.Join(dir, "@types", "a.d.ts"), "")
	writeTestFile(t, filepath.Join(dir, "@literal.txt"), "")
	p := places{cwd: dir, home: filepath.Join(dir, "home"), reach: machine{}}
	for _, c := range []struct{ name, asked, want string }{
		{"spaces stay", "a\u00a0b.txt", "a\u00a0b.txt"},
		{"decomposed stays", "cafe\u0301", "cafe\u0301"},
		{"mention", "@new/x.txt", "new/x.txt"},
		{"folder with an at sign", "@types/b.d.ts", "@types/b.d.ts"},
		{"file with an at sign", "@literal.txt", "@literal.txt"},
		{"only an at sign", "@", "@"},
		{"home", "~", "home"},
		{"in the home", "~/x/y.txt", "home/x/y.txt"},
		{"mention in the home", "@~/x.txt", "home/x.txt"},
		{"another user's home is a name", "~other/x", "~other/x"},
		{"dots", "./x/../y.txt", "y.txt"},
		{"absolute", filepath.Join(dir, "z.txt"), "z.txt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _ := p.forWriting(c.asked)
			if want := filepath.Join(dir, filepath.FromSlash(c.want)); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestRealPath(t *testing.T) {
	skipOnWindows(t, "links need a privilege")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	writeTestFile(t, filepath.Join(dir, "d", "f.txt"), "")
	for link, dest := range map[string]string{
		"to-file": "d/f.txt", "to-dir": "d", "to-nowhere": "d/new.txt", "chain": "to-nowhere", "loop": "loop",
	} {
		if err := os.Symlink(dest, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"d/f.txt": "d/f.txt", "to-file": "d/f.txt", "to-dir/f.txt": "d/f.txt",
		"to-nowhere": "d/new.txt", "chain": "d/new.txt", "to-dir/x/y": "d/x/y", "loop": "loop",
	} {
		if got := realPath(filepath.Join(dir, path)); got != filepath.Join(dir, want) {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}
