package gc

import (
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/piweb-go/piweb/blob"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func marksOf(t *testing.T, f Folder) (marks, error) {
	t.Helper()
	m := marks{}
	err := f.Mark(context.Background(), func(k Key) { m[k] = struct{}{} })
	return m, err
}

// TestEveryMentionCounts: whatever file a reference stands in, at whatever place.
func TestEveryMentionCounts(t *testing.T) {
	root := t.TempDir()
	ref := func(s string) (string, Key) {
		r := blob.RefOf([]byte(s))
		return r.String(), blobKey(r.Hash())
	}
	want := map[Key]string{}
	place := func(name, text string) {
		r, k := ref(name)
		want[k] = name
		write(t, filepath.Join(root, filepath.FromSlash(name)), strings.ReplaceAll(text, "REF", r))
	}
	head := `{"type":"session","version":3,"id":"sid","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}` + "\n"
	place("--p--/2026-01-01T00-00-00-000Z_a.jsonl", head+`{"content":[{"type":"image","data":"REF"}]}`+"\n")
	place("--p--/torn.jsonl", head+`{"half a line REF`)
	place("--p--/no-session.jsonl", "not json REF")
	place("--p--/2026-01-01T00-00-00-000Z_a/0.bash.log", "a kept output says REF.")
	place("--p--/2026-01-01T00-00-00-000Z_a/0-x/0-x.1-y.jsonl", "nested REF")
	place("--p--/.trash/2026-01-01T00-00-00-000Z_b/2026-01-01T00-00-00-000Z_b.jsonl", head+"REF")
	place("--p--/old.jsonl.123.bak", "REF")
	place("flat 名前.txt", strings.Repeat("x", scanBlock+overlap-30)+"REF and more")
	r, k := ref("zipped")
	want[k] = "zipped"
	f, err := os.Create(filepath.Join(root, "2026-01-01T00-00-00-000Z_z.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(f)
	_, err = z.Write([]byte(head + r))
	if err = errors.Join(err, z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	upper := strings.ToUpper(blob.RefOf([]byte("upper")).Hash())
	write(t, filepath.Join(root, "upper"), blobPrefix+upper)
	want[blobKey(upper)] = "upper case digits"
	write(t, filepath.Join(root, "att"), "[attachment id=att_0123456789abcdefABCDEF type=x]")
	want[attachmentKey("att_0123456789abcdefABCDEF")] = "marker"
	want[sessionKey("sid")], want[sessionKey("b")], want[sessionKey("z")] = "header", "name", "name of an archive"
	want[outputsKey(filepath.Join(root, "--p--", "2026-01-01T00-00-00-000Z_b"))] = "the outputs of a session on its way to the trash"
	want[outputsKey(filepath.Join(root, "2026-01-01T00-00-00-000Z_z"))] = "the outputs of an archive"

	got, err := marksOf(t, Folder{Path: root})
	if err != nil {
		t.Fatal(err)
	}
	for k, where := range want {
		if _, ok := got[k]; !ok {
			t.Errorf("%s: %s is not marked", where, k)
		}
	}
	// What only looks similar is not one.
	write(t, filepath.Join(t.TempDir(), "x"), "")
	none := t.TempDir()
	write(t, filepath.Join(none, "x.txt"), "blob:sha256:abc att_short blob:sha256:"+strings.Repeat("g", 64))
	if got, err := marksOf(t, Folder{Path: none}); err != nil || len(got) != 0 {
		t.Errorf("marked %v, %v", got, err)
	}
}

// TestWhatCannotBeReadStopsIt: nothing is removed where it is not known what is in
// use.
func TestWhatCannotBeReadStopsIt(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "s", "broken.jsonl.gz"), "no archive")
	dir, err := blob.NewDir(filepath.Join(root, "blobs"), blob.DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	contents := blob.NewContents(dir)
	ref, err := contents.Put(context.Background(), []byte("x"), "")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().Add(1000 * time.Hour)
	c := &Collector{Stores: []Store{Contents{contents}}, Dir: filepath.Join(root, "notes"), Now: func() time.Time { return now }}
	for _, r := range []Root{Folder{Path: filepath.Join(root, "s")}, Folder{Path: filepath.Join(root, "missing")}, Folder{Path: filepath.Join(root, "s", "broken.jsonl.gz")}} {
		c.Roots = []Root{r}
		for range 3 {
			if _, err := c.Collect(context.Background()); err == nil || !strings.Contains(err.Error(), "nothing was removed") {
				t.Errorf("%v: %v", r, err)
			}
			now = now.Add(100 * time.Hour)
		}
	}
	// A folder that may be missing names nothing; then the blob goes at second sight,
	// unless it was touched.
	c.Roots = []Root{Folder{Path: filepath.Join(root, "missing"), Optional: true}}
	run := func() Unused {
		t.Helper()
		r, err := c.Collect(context.Background())
		if err != nil || len(r.Unused) != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		now = now.Add(25 * time.Hour)
		return r.Unused[0]
	}
	if u := run(); u.Due || u.Gone {
		t.Errorf("at first sight: %+v", u)
	}
	if _, err := contents.Put(context.Background(), []byte("x"), ""); err != nil { // somebody is about to name it
		t.Fatal(err)
	}
	if u := run(); u.Due || u.Gone {
		t.Errorf("after it was touched: %+v", u)
	}
	if u := run(); !u.Due || !u.Gone {
		t.Errorf("a grace period later: %+v", u)
	}
	if _, err := contents.Stat(context.Background(), ref); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("it is still there: %v", err)
	}
}

// TestTouchedInTheLastMoment: what is used between the look and the removal is put
// back.
func TestTouchedInTheLastMoment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	write(t, path, "text")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Now(), time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if gone, err := removeUntouched(path, info.ModTime()); gone || err != nil {
		t.Errorf("%v, %v", gone, err)
	}
	if data, _ := os.ReadFile(path); string(data) != "text" {
		t.Errorf("it holds %q", data)
	}
	info, _ = os.Stat(path)
	if gone, err := removeUntouched(path, info.ModTime()); !gone || err != nil {
		t.Errorf("%v, %v", gone, err)
	}
	if list, _ := os.ReadDir(filepath.Dir(path)); len(list) != 0 {
		t.Errorf("left: %v", list)
	}
}

// TestFoldersOfOtherNamesStay: without its session file nothing tells a folder of
// outputs from a folder of the user, unless it has the name that a session file of
// ours gets. So one of another name stays, whatever is in it.
func TestFoldersOfOtherNamesStay(t *testing.T) {
	root := t.TempDir()
	sessions := filepath.Join(root, "sessions")
	const ours = "2026-01-01T00-00-00-000Z_gone"
	for _, name := range []string{ours, "notes", "--p--/my own 名前"} {
		write(t, filepath.Join(sessions, name, "0.bash.log"), "an output")
		write(t, filepath.Join(sessions, name, ".id-0"), "")
	}
	now := time.Now().Add(1000 * time.Hour)
	c := &Collector{Roots: []Root{Folder{Path: sessions}}, Stores: []Store{Outputs{sessions}}, Dir: filepath.Join(root, "notes"), Now: func() time.Time { return now }}
	for range 3 {
		if _, err := c.Collect(context.Background()); err != nil {
			t.Fatal(err)
		}
		now = now.Add(100 * time.Hour)
	}
	for name, stays := range map[string]bool{ours: false, "notes": true, "--p--/my own 名前": true} {
		if _, err := os.Stat(filepath.Join(sessions, name, "0.bash.log")); (err == nil) != stays {
			t.Errorf("%s stays: %v, want %v", name, err == nil, stays)
		}
	}
}
