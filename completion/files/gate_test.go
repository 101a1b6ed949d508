package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/piweb-go/piweb/completion"
	"github.com/piweb-go/piweb/completion/hostile"
	"github.com/piweb-go/piweb/internal/confine"
	"github.com/piweb-go/piweb/internal/document"
)

// resolve is what a sent token becomes; ok is false where the text stays.
func resolve(t testing.TB, dir, id string) (string, bool) {
	t.Helper()
	res, ok, err := New(IndexOptions{}).Resolve(t.Context(), completion.Ref{Scope: completion.Scope{CWD: dir}, Kind: "file", ID: id})
	if ok != (err == nil) {
		t.Fatalf("%q: %v, %v", id, ok, err)
	}
	return res.Text, ok
}

func TestVectorResolve(t *testing.T) {
	dir := vectorTree(t)
	link(t, "app.ts", filepath.Join(dir, "link.ts"))
	put(t, dir, "../x", "outside")
	link(t, "/etc", filepath.Join(dir, "esc"))
	overruled := map[string]string{
		"<abs>/app.ts": "null", ".git/config": "null", "src/../app.ts": `"@app.ts"`, "src//app.ts": `"@src/app.ts"`,
		"./src/app.ts": `"@src/app.ts"`, // normalised like those
		"":             "null",          // no token has an empty id
	}
	data, err := os.ReadFile("../../fixtures/completion/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "resolve ")
		if !ok {
			continue
		}
		n++
		id, want, _ := strings.Cut(rest, " ")
		id = strings.Trim(id, `"`)
		if w, ok := overruled[id]; ok {
			want = w
		}
		got, ok := resolve(t, dir, strings.Replace(id, "<abs>", dir, 1))
		if said := map[bool]string{true: fmt.Sprintf("%q", got), false: "null"}[ok]; said != want {
			t.Errorf("%q: %s, want %s", id, said, want)
		}
	}
	if n != 16 {
		t.Errorf("%d lines", n)
	}
}

func TestGate(t *testing.T) {
	dir := folder(t, map[string]string{"a/b.txt": "", "a b.txt": "", "no\u00a0break.txt": "", "e\u0301.txt": "", "x#L3": "", "x": "", "sub/.git/config": "", "two\u00a0x": "", "two\u202fx": ""})
	put(t, dir, "../outside.txt", "")
	put(t, dir, "../work-sibling/x", "")
	link(t, "../outside.txt", filepath.Join(dir, "out"))
	link(t, "a", filepath.Join(dir, "in"))
	link(t, "sub/.git", filepath.Join(dir, "git"))
	link(t, filepath.Join(dir, "a", "b.txt"), filepath.Join(dir, "abs"))
	link(t, "loop", filepath.Join(dir, "loop"))
	for id, want := range map[string]string{
		"a/b.txt": "@a/b.txt", "in/b.txt": "@in/b.txt", "abs": "@abs", "a": "@a", "a/": "@a/", ".": "@.", "a/b.txt#L3": "@a/b.txt#L3", "a/b.txt#L3-L9": "@a/b.txt#L3-9",
		"x#L3": `@"x#L3"`, "x#L4": "@x#L4", "a b.txt": `@"a b.txt"`, "no break.txt": "@\"no\u00a0break.txt\"", "\u00e9.txt": "@e\u0301.txt",
	} {
		if got, ok := resolve(t, dir, id); !ok || got != want {
			t.Errorf("%q: %q, %v, want %q", id, got, ok, want)
		}
	}
	for _, id := range []string{
		"out", "../outside.txt", "..", "a/../../outside.txt", "../work-sibling/x", "../work/a/b.txt", dir, dir + "/a/b.txt", "/etc/passwd", "//etc/passwd", "/", "~", "~/x",
		"sub/.git", "sub/.git/config", ".git", "git/config", "git", "sub/.GIT/config", "loop", "nothing", "a/b.txt/", "a/b.txt/x", "a\x00b", "a#L3", "two x", strings.Repeat("x/", 5000), strings.Repeat("y", 300),
		"file:///etc/passwd", `C:\x`, `\\host\share`, "a/b.txt\n",
	} {
		if got, ok := resolve(t, dir, id); ok {
			t.Errorf("%q passes as %q", id, got)
		}
	}
}

// Names that attack pass at no time.
func TestHostileNames(t *testing.T) {
	dir := folder(t, nil)
	hostile.Make(t, dir)
	for _, id := range hostile.Names(dir) {
		if got, ok := resolve(t, dir, id); ok {
			t.Errorf("%q passes as %q", id, got)
		}
		if p, err := PreviewOf(dir, id); err == nil {
			t.Errorf("%q is shown: %+v", id, p)
		}
	}
}

// A pipe is no file, and nobody waits for its writer.
func TestSpecialFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are none")
	}
	dir := folder(t, nil)
	makePipe(t, filepath.Join(dir, "pipe"))
	if got, ok := resolve(t, dir, "pipe"); ok {
		t.Errorf("%q", got)
	}
	if _, err := PreviewOf(dir, "pipe"); !errors.Is(err, ErrKind) {
		t.Errorf("%v", err)
	}
	if got := open(t, dir, IndexOptions{}).ready(t).paths(t, ""); len(got) != 0 {
		t.Errorf("%q is offered", got)
	}
}

func TestPreview(t *testing.T) {
	dir := folder(t, map[string]string{"a.txt": strings.Repeat("line\n", 100), "long": strings.Repeat("文", 5000), "bin": "a\x00b", "latin": "\xe9", "small": "x"})
	for id, check := range map[string]func(p Preview) bool{
		"small":     func(p Preview) bool { return p.Text == "x" && !p.More && p.Size == 1 },
		"a.txt":     func(p Preview) bool { return strings.Count(p.Text, "\n") == previewLines && p.More },
		"a.txt#L99": func(p Preview) bool { return strings.Count(p.Text, "line") == 2 && p.Path == "a.txt" },
		"long":      func(p Preview) bool { return p.More && len(p.Text) > 8000 && !strings.Contains(p.Text, "\uFFFD") },
		"bin":       func(p Preview) bool { return p.Binary && p.Text == "" },
		"latin":     func(p Preview) bool { return p.Binary },
		".":         func(p Preview) bool { return p.Folder },
	} {
		if p, err := PreviewOf(dir, id); err != nil || !check(p) {
			t.Errorf("%s: %+.200v, %v", id, p, err)
		}
	}
}

// A racer swaps files and folders for links to the outside and to git's own folder,
// all the time, while every door is tried. What lies there never comes out: no text
// of it in previews and documents, no name of it in what is offered. Run with
// -rapid.checks or not, it is 100 000 tries.
func TestRacingRenamer(t *testing.T) {
	tries := int64(100_000)
	if testing.Short() {
		tries = 10_000
	}
	dir := folder(t, nil)
	hostile.Make(t, dir)
	swaps := hostile.Race(t, dir)
	root, err := confine.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	ids := append(slices.Clone(hostile.Racing), "link-out/f.txt", "link-git/f.txt", "flink-out", "flink-git", "d/SECRETNAME")
	var done, inside, leaks atomic.Int64
	leak := func(door, what string) {
		if leaks.Add(1) < 10 {
			t.Errorf("%s: %s", door, what)
		}
	}
	look := func(door, text string, err error) {
		switch {
		case err == nil && strings.Contains(text, hostile.Secret):
			leak(door, text)
		case err == nil && strings.Contains(text, "inside"):
			inside.Add(1)
		}
	}
	doors := []func(id string){
		func(id string) {
			p, err := PreviewOf(dir, id)
			look("preview", p.Text, err)
		},
		func(id string) {
			docs, err := document.Read(root, []string{id}, document.Limits{})
			if err == nil && InGit(docs[0].Path) {
				return // the caller's rule; see mention.go
			}
			text := ""
			if err == nil {
				text = docs[0].Content
			}
			look("document", text, err)
		},
		func(id string) { // what is sent is judged: where it passes, it was inside then
			n, err := Gate(root, id, completion.Lines{})
			if err == nil && (InGit(n.Real) || strings.Contains(n.Real, "..") || filepath.IsAbs(n.Real)) {
				leak("gate", n.Real)
			}
		},
		func(string) { // a walk
			w := &walk{root: root, dir: dir, all: true, tracked: &tracked{dirs: map[string]*dirType{}}, emit: func(d *dirType) {
				for i := range d.files {
					if p := d.pathOf(i); strings.Contains(p, hostile.Secret) {
						leak("walk", p)
					}
				}
			}}
			_ = w.run(t.Context(), step{})
		},
	}
	var group sync.WaitGroup
	for n := range 2 * len(doors) {
		group.Go(func() {
			for k := 0; done.Add(1) <= tries; k++ {
				door := doors[n%len(doors)]
				if n%len(doors) == 3 && k%20 != 0 { // a walk is many tries
					door = doors[k%3]
				}
				door(ids[k%len(ids)])
			}
		})
	}
	group.Wait()
	t.Logf("%d tries, %d swaps, %d times the file was read, %d leaks", tries, swaps(), inside.Load(), leaks.Load())
	if inside.Load() == 0 || swaps() < tries/100 {
		t.Error("the race was none")
	}
}

// dirType is dir, where a variable has its name.
type dirType = dir
