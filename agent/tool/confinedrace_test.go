package tool

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/piweb-go/piweb/completion/hostile"
)

// raced is a folder in which a racer exchanges a folder and a file for links that
// lead out, all the time. What lies outside holds hostile.Secret, in texts and names.
func raced(t *testing.T) (dir string, swaps func() int64) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "project")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	hostile.Make(t, dir)
	// The folder of git lies inside: a tool may show it.
	if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".git/f.txt", ".git/sub/f.txt"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		writeTestFile(t, path, "inside")
	}
	return dir, hostile.Race(t, dir)
}

// outsideOf is all that lies outside of a raced folder, with its content.
func outsideOf(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(filepath.Join(filepath.Dir(dir), "out"), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fmt.Fprintln(&all, path)
		if !d.IsDir() {
			all.WriteString(readTestFile(t, path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

func confinedTool(t *testing.T, name string) Tool {
	t.Helper()
	build, ok := Lookup(name)
	if !ok {
		t.Fatal(name)
	}
	c, ok := Confined(build(Options{Home: filepath.Join(t.TempDir(), "nobody")}))
	if !ok {
		t.Fatalf("%s cannot be confined", name)
	}
	return c
}

// TestConfinedRace: while folders and files are exchanged for links that lead out, no
// confined tool brings out a text or a name from there, or changes anything there. It
// is 12 000 calls, or as many as fit into a minute.
func TestConfinedRace(t *testing.T) {
	dir, swaps := raced(t)
	before := outsideOf(t, dir)
	doors := []struct {
		tool, args string
		share      int64 // of the calls, in percent; what writes waits for the disk
	}{
		{"read", `{"path":"d/f.txt"}`, 20}, {"read", `{"path":"file.txt"}`, 15}, {"read", `{"path":"d/sub/f.txt"}`, 10},
		{"ls", `{"path":"d"}`, 10}, {"ls", `{"path":"d/sub"}`, 10}, {"ls", `{}`, 5},
		{"grep", `{"pattern":"SECRE[T]|inside"}`, 8}, {"grep", `{"pattern":"SECRET","path":"d","literal":true}`, 5}, {"grep", `{"pattern":"inside","path":"file.txt"}`, 5},
		{"find", `{"pattern":"*"}`, 4}, {"find", `{"pattern":"*","path":"d"}`, 4},
		{"write", `{"path":"d/f.txt","content":"inside"}`, 1}, {"write", `{"path":"file.txt","content":"inside"}`, 1}, {"write", `{"path":"d/new/made.txt","content":"inside"}`, 1},
		{"edit", `{"path":"d/f.txt","edits":[{"oldText":"SECRET","newText":"changed"}]}`, 1},
	}
	const calls = 12_000
	end := time.Now().Add(time.Minute)
	var done, shown, refused, leaks atomic.Int64
	var group sync.WaitGroup
	for _, d := range doors {
		tool := confinedTool(t, d.tool)
		group.Go(func() {
			for n := int64(0); n < calls*d.share/100 && time.Now().Before(end); n++ {
				text := callTool(t, tool, dir, d.args).Content.PlainText()
				done.Add(1)
				switch {
				case strings.Contains(text, hostile.Secret) && d.tool != "edit": // which repeats what it looked for
					if leaks.Add(1) < 10 {
						t.Errorf("%s %s: %s", d.tool, d.args, text)
					}
				case strings.Contains(text, "confined"):
					refused.Add(1)
				case strings.Contains(text, "inside") || strings.Contains(text, "f.txt"):
					shown.Add(1)
				}
			}
		})
	}
	group.Wait()
	t.Logf("%d calls, %d swaps, shown %d times, refused %d times, %d leaks", done.Load(), swaps(), shown.Load(), refused.Load(), leaks.Load())
	if shown.Load() == 0 || swaps() < done.Load()/100 {
		t.Error("the race was none")
	}
	if after := outsideOf(t, dir); after != before {
		t.Errorf("what lies outside was\n%s\nand is\n%s", before, after)
	}
}

// TestWithoutConfinement: the same calls bring out what lies outside where nothing
// confines them, so the race looks at the right thing.
func TestWithoutConfinement(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "project")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	hostile.Make(t, dir)
	for name, args := range map[string]string{"read": `{"path":"link-out/f.txt"}`, "ls": `{"path":"link-out"}`, "grep": `{"pattern":"SECRET","path":"link-out"}`, "find": `{"pattern":"*","path":"link-out"}`} {
		build, _ := Lookup(name)
		if text := callTool(t, build(Options{}), dir, args).Content.PlainText(); !strings.Contains(text, hostile.Secret) {
			t.Errorf("%s: %s", name, text)
		}
		if text := callTool(t, confinedTool(t, name), dir, args).Content.PlainText(); strings.Contains(text, "NAME") || !strings.Contains(text, "confined") {
			t.Errorf("%s, confined: %s", name, text)
		}
	}
}

// TestConfinedFiles: inside of the folder a confined tool does what the tool does.
func TestConfinedFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.txt": "one\n", "sub/b.txt": "two\n", "sub/.gitignore": "*.log\n", "sub/c.log": "three\n", "Caf\u00e9.txt": "four\n"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		writeTestFile(t, path, text)
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "hard.txt")
	writeTestFile(t, outside, "hard\n")
	for link, to := range map[string]string{"to": "sub", "again": filepath.Join(dir, "sub"), "later": "sub/later.txt", "away": "../away.txt", "round": "round"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	if err := os.Link(outside, filepath.Join(dir, "hard.txt")); err != nil {
		t.Skip(err)
	}
	alias := filepath.Join(t.TempDir(), "alias") // the folder by another way
	if err := os.Symlink(dir, alias); err != nil {
		t.Skip(err)
	}
	for tool, args := range map[string]string{"read": `{"path":"Cafe\u0301.txt"}`, "grep": `{"pattern":"four"}`, "find": `{"pattern":"*"}`, "ls": `{}`} {
		if text := callTool(t, confinedTool(t, tool), alias, args).Content.PlainText(); !strings.Contains(text, "four") && !strings.Contains(text, "a.txt") {
			t.Errorf("%s in a folder behind a link: %s", tool, text)
		}
	}
	alias = strings.ReplaceAll(filepath.ToSlash(alias), `"`, `\"`)
	for _, c := range []struct {
		tool, args, want string
		failed           bool
	}{
		{"read", `{"path":"` + alias + `/to/b.txt"}`, "two", false},
		{"read", `{"path":"` + alias + `/Cafe\u0301.txt"}`, "four", false},
		{"ls", `{"path":"` + alias + `"}`, "a.txt", false},
		{"grep", `{"pattern":"two","path":"` + alias + `/sub"}`, "b.txt:1: two", false},
		{"find", `{"pattern":"b*","path":"` + alias + `/sub"}`, "b.txt", false},
		{"write", `{"path":"` + alias + `/by-alias.md","content":"x"}`, "a new file", false},
		{"read", `{"path":"to/b.txt"}`, "two", false},
		{"read", `{"path":"again/b.txt"}`, "two", false},
		{"read", `{"path":"Cafe\u0301.txt"}`, "four", false}, // another normal form
		{"read", `{"path":"sub"}`, "it is a folder", true},
		{"read", `{"path":"none"}`, "there is no file", true},
		{"read", `{"path":"round"}`, "too many links", true},
		{"ls", `{"path":"again"}`, "b.txt", false},
		{"ls", `{"path":"a.txt"}`, "it is a file", true},
		{"find", `{"pattern":"*.{txt,log}"}`, "Caf\u00e9.txt\na.txt\nhard.txt\nsub/b.txt", false},
		{"find", `{"pattern":"*.txt","path":"to"}`, "b.txt", false},
		{"grep", `{"pattern":"t[wh]"}`, "sub/b.txt:1: two", false},
		{"grep", `{"pattern":"two","path":"again"}`, "b.txt:1: two", false},
		{"write", `{"path":"new/er/x.txt","content":"x"}`, "a new file", false},
		{"write", `{"path":"later","content":"through a link to nothing"}`, "a new file", false},
		{"write", `{"path":"again/deep/y.txt","content":"y"}`, "a new file", false},
		{"write", `{"path":"away","content":"x"}`, "confined", true},
		{"write", `{"path":"round","content":"x"}`, "too many links", true},
		{"write", `{"path":"sub","content":"x"}`, "it is a folder", true},
		{"write", `{"path":"a.txt/x","content":"x"}`, "not a directory", true},
		{"write", `{"path":"hard.txt","content":"soft"}`, "Wrote 4 bytes", false},
		{"edit", `{"path":"to/b.txt","edits":[{"oldText":"two","newText":"2"}]}`, "Made 1 replacement", false},
		{"edit", `{"path":"none","edits":[{"oldText":"two","newText":"2"}]}`, "there is no file", true},
	} {
		t.Run(c.tool+" "+c.args, func(t *testing.T) {
			r := callTool(t, confinedTool(t, c.tool), dir, c.args)
			if text := r.Content.PlainText(); !strings.Contains(text, c.want) || r.IsError != c.failed {
				t.Errorf("failed %v, want %q in %s", r.IsError, c.want, text)
			}
		})
	}
	for name, want := range map[string]string{"sub/later.txt": "through a link to nothing", "sub/deep/y.txt": "y", "sub/b.txt": "2\n", "hard.txt": "soft", "new/er/x.txt": "x"} {
		if got := readTestFile(t, filepath.Join(dir, filepath.FromSlash(name))); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := readTestFile(t, outside); got != "hard\n" {
		t.Errorf("another name of a file was written through: %q", got)
	}
}
