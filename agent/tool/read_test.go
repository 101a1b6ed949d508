package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestReadLongFirstLine(t *testing.T) {
	dir := t.TempDir()
	writeTestFile(t, filepath.Join(dir, "it's long.txt"), "first\n"+strings.Repeat("世", 20000)+"\nlast")
	r := callTool(t, NewRead(Options{}), dir, `{"path":"it's long.txt","offset":2}`)
	const want = `[Line 2 alone has 58.6KB, more than the 50.0KB that fit. See a part of it with bash: sed -n '2p' 'it'\''s long.txt' | head -c 51200]`
	if got := r.Content.PlainText(); got != want || r.IsError {
		t.Errorf("got %s", got)
	}
	var d struct{ Truncation Truncation }
	if err := json.Unmarshal(r.Details, &d); err != nil {
		t.Fatal(err)
	}
	if !d.Truncation.FirstLineExceedsLimit || d.Truncation.Content != "" || d.Truncation.TotalLines != 2 {
		t.Errorf("record %+v", d.Truncation)
	}
}

func TestReadSparseFileInBoundedMemory(t *testing.T) {
	const fileSize = 256 << 20 // bytes, one line of NULs
	dir := t.TempDir()
	path := filepath.Join(dir, "sparse")
	writeTestFile(t, path, "")
	if err := os.Truncate(path, fileSize); err != nil {
		t.Skip(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := callTool(t, NewRead(Options{}), dir, `{"path":"sparse"}`)
	runtime.ReadMemStats(&after)
	if want := "[Line 1 alone has 256.0MB"; !strings.HasPrefix(r.Content.PlainText(), want) {
		t.Errorf("got %.200s", r.Content.PlainText())
	}
	const bound = 8 << 20 // bytes allocated in all, garbage included
	if got := after.TotalAlloc - before.TotalAlloc; got > bound {
		t.Errorf("allocated %d bytes for a file of %d", got, fileSize)
	}
}

func TestReadDeniedFile(t *testing.T) {
	skipAsRoot(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "secret")
	writeTestFile(t, path, "x")
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	r := callTool(t, NewRead(Options{}), dir, `{"path":"secret"}`)
	if !r.IsError || !strings.Contains(r.Content.PlainText(), "permission denied") {
		t.Errorf("got %s", r.Content.PlainText())
	}
}

func TestReadDevice(t *testing.T) {
	skipOnWindows(t, "no such devices")
	// Reading it would not end.
	r := callTool(t, NewRead(Options{}), t.TempDir(), `{"path":"/dev/zero"}`)
	if !r.IsError || !strings.Contains(r.Content.PlainText(), "device") {
		t.Errorf("got %s", r.Content.PlainText())
	}
}

func TestReadEndsWithTheCall(t *testing.T) {
	dir := t.TempDir()
	writeTestFile(t, filepath.Join(dir, "a"), "x")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := NewRead(Options{}).Run(ctx, &Call{CWD: dir, Arguments: json.RawMessage(`{"path":"a"}`)})
	if err != nil || !r.IsError || !strings.Contains(r.Content.PlainText(), "stopped") {
		t.Errorf("%v %s", err, r.Content.PlainText())
	}
}

func TestLsLinksAndOddNames(t *testing.T) {
	skipOnWindows(t, "no such names")
	dir := t.TempDir()
	writeTestFile(t, filepath.Join(dir, "two\nlines"), "")
	writeTestFile(t, filepath.Join(dir, "d", "x"), "")
	writeTestFile(t, filepath.Join(dir, "文件 \U0001F642"), "")
	for link, dest := range map[string]string{"to-dir": "d", "to-file": "d/x", "to-nowhere": "gone"} {
		if err := os.Symlink(dest, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	r := callTool(t, NewLs(Options{}), dir, `{}`)
	want := "d/\nto-dir/\nto-file\nto-nowhere\n\"two\\nlines\"\n文件 \U0001F642"
	if got := r.Content.PlainText(); got != want || r.Details != nil {
		t.Errorf("got %q, details %s", got, r.Details)
	}
}

func TestLsOfManyNames(t *testing.T) {
	dir := t.TempDir()
	const count = lsBatch + 900 // more than one batch
	var all []string
	for i := range count {
		name := fmt.Sprintf("%05d-%s", i, strings.Repeat("n", 60))
		all = append(all, name)
		writeTestFile(t, filepath.Join(dir, name), "")
	}
	type details struct {
		EntryLimitReached int
		Truncation        *Truncation
	}
	for _, c := range []struct {
		args  string
		shown int
		want  details
		note  string
	}{
		{`{}`, 500, details{EntryLimitReached: 500}, "[500 of 4996 entries. More with limit=1000]"},
		{`{"limit":1000000}`, 764, details{}, "[Cut after 764 names: 50.0KB is the most at once]"},
		{`{"limit":2000}`, 764, details{EntryLimitReached: 2000}, "[2000 of 4996 entries. More with limit=4000. Cut after 764 names: 50.0KB is the most at once]"},
	} {
		t.Run(c.args, func(t *testing.T) {
			r := callTool(t, NewLs(Options{}), dir, c.args)
			want := strings.Join(all[:c.shown], "\n") + "\n\n" + c.note
			if got := r.Content.PlainText(); got != want {
				t.Errorf("got … %s", got[len(got)-200:])
			}
			var d details
			if err := json.Unmarshal(r.Details, &d); err != nil {
				t.Fatal(err)
			}
			if d.EntryLimitReached != c.want.EntryLimitReached {
				t.Errorf("details %+v", d)
			}
			if cut := c.shown != 500; cut != (d.Truncation != nil) || cut && (d.Truncation.OutputLines != c.shown || d.Truncation.MaxLines != 9007199254740991) {
				t.Errorf("record %+v", d.Truncation)
			}
		})
	}
}

func TestLsDeniedFolder(t *testing.T) {
	skipAsRoot(t)
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o300); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	r := callTool(t, NewLs(Options{}), dir, `{}`)
	if !r.IsError || !strings.Contains(r.Content.PlainText(), "permission denied") {
		t.Errorf("got %s", r.Content.PlainText())
	}
}
