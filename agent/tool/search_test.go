package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/piweb-go/piweb/internal/ignore"
)

func grepIn(t *testing.T, dir, args string) Result {
	t.Helper()
	return callTool(t, NewGrep(hermetic(Options{TempDir: t.TempDir()})), dir, args)
}

func findIn(t *testing.T, dir, args string) Result {
	t.Helper()
	return callTool(t, NewFind(hermetic(Options{TempDir: t.TempDir()})), dir, args)
}

func wantText(t *testing.T, r Result, want string) {
	t.Helper()
	if got := r.Content.PlainText(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Names that hold a line feed, or bytes that are no text, stay on their line.
func TestSearchUnprintableNames(t *testing.T) {
	skipOnWindows(t, "there are no such names")
	dir := t.TempDir()
	for _, name := range []string{"a\nb", "c\td/e", "z\xff"} {
		path := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte("one\xff\n"), 0o644); err != nil {
			t.Skip(err) // not every file system takes them
		}
	}
	wantText(t, grepIn(t, dir, `{"pattern":"one"}`), `"a\nb":1: one�`+"\n"+`"c\td/e":1: one�`+"\n"+`"z\xff":1: one�`)
	wantText(t, findIn(t, dir, `{"pattern":"*"}`), `"a\nb"`+"\n"+`"c\td"/`+"\n"+`"c\td/e"`+"\n"+`"z\xff"`)
}

func TestSearchLinks(t *testing.T) {
	skipOnWindows(t, "links need rights")
	dir, outside := t.TempDir(), t.TempDir()
	writeTestFile(t, filepath.Join(outside, "secret"), "one\n")
	writeTestFile(t, filepath.Join(dir, "d", "a"), "one\n")
	for name, target := range map[string]string{
		"d/loop": "..", "self": "self", "nowhere": "gone", "file": "d/a", "folder": "d", "out": outside, "secret": filepath.Join(outside, "secret"),
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	wantText(t, grepIn(t, dir, `{"pattern":"one"}`), "d/a:1: one")
	wantText(t, grepIn(t, dir, `{"pattern":"one","path":"folder"}`), "a:1: one")
	wantText(t, grepIn(t, dir, `{"pattern":"one","path":"file"}`), "file:1: one")
	wantText(t, findIn(t, dir, `{"pattern":"*"}`), "d/\nd/a\nd/loop\nfile\nfolder\nnowhere\nout\nsecret\nself")
}

func TestSearchUnreadable(t *testing.T) {
	skipAsRoot(t)
	dir := t.TempDir()
	for _, name := range []string{"closed1/a", "closed2/a", "closed3/a", "closed4/a", "file", "open"} {
		writeTestFile(t, filepath.Join(dir, name), "one\n")
	}
	for _, name := range []string{"closed1", "closed2", "closed3", "closed4", "file"} {
		path := filepath.Join(dir, name)
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(path, 0o755)
	}
	r := grepIn(t, dir, `{"pattern":"one"}`)
	wantText(t, r, "open:1: one\n\n[Left out, because this process may not or cannot read it: closed1, closed2, closed3 and 2 more]")
	if r.IsError || r.Details != nil {
		t.Errorf("error %v, details %s", r.IsError, r.Details)
	}
	wantText(t, findIn(t, dir, `{"pattern":"a"}`), "(nothing found)\n\n[Left out, because this process may not or cannot read it: closed1, closed2, closed3 and 1 more]")
	if r := grepIn(t, dir, `{"pattern":"one","path":"file"}`); !r.IsError {
		t.Errorf("got %s", r.Content.PlainText())
	}
}

// The note of what could not be read, also where the test runs as root.
func TestUnreadableNote(t *testing.T) {
	var u unreadable
	if u.notes() != nil {
		t.Error("a note without a reason")
	}
	for i := range 5 {
		u.add(fmt.Sprintf("a\n%d", i))
	}
	want := `Left out, because this process may not or cannot read it: "a\n0", "a\n1", "a\n2" and 2 more`
	if got := u.notes(); len(got) != 1 || got[0] != want {
		t.Errorf("got %q", got)
	}
}

func TestGrepLineOfAMegabyte(t *testing.T) {
	dir := t.TempDir()
	line := strings.Repeat("é", 500_000) // 1 MB
	writeTestFile(t, filepath.Join(dir, "a.js"), "first\r\n"+line+" needle\r\nlast needle\n")
	shown := strings.Repeat("é", shownUnits) + "... [cut]"
	for _, c := range []struct{ args, want string }{
		{`{"pattern":"needle"}`, "a.js:2: " + shown + "\na.js:3: last needle"},
		{`{"pattern":"needle","literal":true}`, "a.js:2: " + shown + "\na.js:3: last needle"},
		{`{"pattern":"^é+ needle$"}`, "a.js:2: " + shown},
		{`{"pattern":"NEEDLE$","ignoreCase":true}`, "a.js:2: " + shown + "\na.js:3: last needle"},
		{`{"pattern":"last","context":1}`, "a.js-2- " + shown + "\na.js:3: last needle"},
	} {
		r := grepIn(t, dir, c.args)
		text, note, _ := strings.Cut(r.Content.PlainText(), "\n\n[")
		if text != c.want || !strings.HasPrefix(note, "Of lines longer than 500") || string(r.Details) != `{"linesTruncated":true}` {
			t.Errorf("%s: %.60s… %q %s", c.args, text, note, r.Details)
		}
	}
}

// The user's own list of ignored files counts, in a repository for grep.
func TestSearchUsersExcludes(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	writeTestFile(t, filepath.Join(home, ".gitconfig"), "[core]\n\texcludesFile = ~/mine\n")
	writeTestFile(t, filepath.Join(home, "mine"), "*.swp\n")
	writeTestFile(t, filepath.Join(home, "cfg", "git", "ignore"), "*.bak\n")
	for _, name := range []string{".git/HEAD", "a.swp", "a.bak", "a"} {
		writeTestFile(t, filepath.Join(dir, name), "one\n")
	}
	env := []string{"GIT_CONFIG_NOSYSTEM=1"}
	opts := Options{Home: home, Environ: func() []string { return env }}
	wantText(t, callTool(t, NewGrep(opts), dir, `{"pattern":"one"}`), "a:1: one\na.bak:1: one")
	wantText(t, callTool(t, NewFind(opts), dir, `{"pattern":"a*"}`), "a\na.bak")
	// Without a file of that name set, git looks in its folder of configuration.
	env = append(env, "XDG_CONFIG_HOME="+filepath.Join(home, "cfg"), "GIT_CONFIG_GLOBAL="+filepath.Join(home, "none"))
	wantText(t, callTool(t, NewGrep(opts), dir, `{"pattern":"one"}`), "a:1: one\na.swp:1: one")
}

func TestFindAbsolutePattern(t *testing.T) {
	dir := t.TempDir()
	writeTestFile(t, filepath.Join(dir, "s", "a.go"), "")
	writeTestFile(t, filepath.Join(dir, "a.go"), "")
	pattern, err := json.Marshal(filepath.Join(dir, "s", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, findIn(t, dir, fmt.Sprintf(`{"pattern":%s}`, pattern)), "s/a.go")
}

func TestFindLimitInBytes(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("n", 200)
	for i := range 400 {
		writeTestFile(t, filepath.Join(dir, fmt.Sprintf("%s%03d", long, i)), "")
	}
	r := findIn(t, dir, `{"pattern":"*","limit":300}`)
	var details findDetails
	if err := json.Unmarshal(r.Details, &details); err != nil {
		t.Fatal(err)
	}
	tr := details.Truncation
	if details.ResultLimitReached != 300 || tr == nil || tr.TotalLines != 300 || tr.TotalBytes != 300*204-1 ||
		tr.OutputLines != 250 || tr.OutputBytes != 250*204-1 || tr.MaxLines != noLineLimit {
		t.Errorf("details %.300s", r.Details)
	}
	if text := r.Content.PlainText(); !strings.HasSuffix(text, "[Only the first 300 results are shown. See more with limit=600, or narrow the pattern. Cut after 250 results: 50.0KB is the most at once]") {
		t.Errorf("got …%s", text[len(text)-200:])
	}
}

// The truncation of grep counts what is no longer kept.
func TestGrepLimitInBytes(t *testing.T) {
	dir := t.TempDir()
	line := strings.Repeat("x", 190)
	for i := range 4 {
		writeTestFile(t, filepath.Join(dir, fmt.Sprintf("f%d", i)), strings.Repeat(line+"\n", 200))
	}
	r := grepIn(t, dir, `{"pattern":"x","limit":700}`)
	var details grepDetails
	if err := json.Unmarshal(r.Details, &details); err != nil {
		t.Fatal(err)
	}
	total := len(r.Content.PlainText())
	bytes := 0
	for i := range 700 {
		bytes += len(fmt.Sprintf("f0:%d: %s\n", i%200+1, line))
	}
	tr := details.Truncation
	if details.MatchLimitReached != 700 || tr == nil || tr.TotalLines != 700 || tr.TotalBytes != bytes-1 || tr.TruncatedBy != CutBytes ||
		tr.OutputBytes > MaxBytes || tr.OutputBytes < MaxBytes-200 || total < tr.OutputBytes {
		t.Errorf("details …%s", r.Details[len(r.Details)-250:])
	}
}

// A call that is stopped ends at once and says so.
func TestSearchStops(t *testing.T) {
	dir := t.TempDir()
	for i := range 300 {
		writeTestFile(t, filepath.Join(dir, fmt.Sprintf("d%d", i%10), fmt.Sprint(i)), strings.Repeat("some text\n", 20_000))
	}
	writeTestFile(t, filepath.Join(dir, "long"), strings.Repeat("ab", 8<<20))
	for _, c := range []struct {
		tool Tool
		args string
	}{
		{NewGrep(hermetic(Options{TempDir: dir})), `{"pattern":"(a|b|ab)*z$"}`},
		{NewGrep(hermetic(Options{TempDir: dir})), `{"pattern":"(a|b|ab)*z$","path":"long"}`},
		{NewFind(hermetic(Options{TempDir: dir})), `{"pattern":"nothing"}`},
	} {
		for _, wait := range []time.Duration{0, 5 * time.Millisecond} {
			ctx, cancel := context.WithCancel(t.Context())
			stopped := make(chan time.Time, 1)
			stop := func() { stopped <- time.Now(); cancel() }
			timer := time.AfterFunc(time.Hour, stop)
			if wait == 0 {
				stop()
			} else {
				timer.Reset(wait)
			}
			r, err := c.tool.Run(ctx, &Call{CWD: dir, Arguments: json.RawMessage(c.args)})
			end := time.Now()
			if timer.Stop() && wait > 0 || wait > 0 && !r.IsError { // it was faster
				cancel()
				continue
			}
			if err != nil || !r.IsError || !strings.Contains(r.Content.PlainText(), "stopped before it was done") {
				t.Errorf("%s: %v, %v %s", c.args, err, r.IsError, r.Content.PlainText())
			}
			took := end.Sub(<-stopped)
			t.Logf("%s, stopped after %v: %v until it ended", c.args, wait, took)
			if took > 2*time.Second { // milliseconds, but machines are busy
				t.Error("that is too long")
			}
		}
	}
}

func TestNameGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"*.go", "a/b.go", true}, {"*.go", "a.go/b", false}, {"a/*.go", "a/b.go", true}, {"a/*.go", "a/b/c.go", false},
		{"a/**", "a", false}, {"a/**", "a/b", true}, {"**/a/**", "x/a/b/c", true}, {"**", "a/b", true},
		{"**/*.go", "a.go", true}, {"**/*.go", "x/y/a.go", true}, {"a?c", "a/c", false}, {"a?c", "aéc", true},
		{"[!a]", "b", true}, {"[^a]", "a", false}, {`\*`, "*", true}, {`\*`, "x", false}, {"*", ".hidden", true},
		{"{a,b/c}", "b/c", true}, {"{a,b/c}", "x/a", false}, {"{,x}a", "a", true}, {"a{b{c,d},e}", "abd", true},
		{"*.{go,md}", "x/A.MD", true}, {"É*", "éa", false}, {"é*", "Éa", true},
	} {
		if os.PathSeparator == '\\' && strings.Contains(c.pattern, `\`) {
			continue
		}
		g, err := newNameGlob(c.pattern, "/root")
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		if got := g.smartCase().match(entryOf(t, c.path)); got != c.want {
			t.Errorf("%s on %s: %v", c.pattern, c.path, got)
		}
	}
}

// entryOf is the entry that a walk would meet for a path.
func entryOf(t *testing.T, path string) ignore.Entry {
	t.Helper()
	dir := t.TempDir()
	writeTestFile(t, filepath.Join(dir, filepath.FromSlash(path)), "")
	var found ignore.Entry
	err := ignore.Walk(t.Context(), dir, ignore.WalkOptions{Sorted: true}, func(e ignore.Entry) error {
		if e.Path == path {
			found = e
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
