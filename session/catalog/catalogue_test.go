package catalog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

// childRoot makes the test binary a second process: see TestTwoProcesses.
const childRoot = "PIWEB_CATALOG_CHILD_ROOT"

func TestMain(m *testing.M) {
	if root := os.Getenv(childRoot); root != "" {
		for range 20 {
			if _, err := Open(root, filepath.Join(root, "cache"), Options{}).List(context.Background(), Filter{}); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func mustList(t interface {
	Fatal(...any)
}, c *Catalogue) []Info {
	page, err := c.List(context.Background(), Filter{})
	if err != nil {
		t.Fatal(err)
	}
	return page.Infos
}

// TestCachedIsUncached: whatever happens to the files, a catalogue that remembers
// lists what one lists that reads everything, and so does a new process with the
// same cache.
func TestCachedIsUncached(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root, err := os.MkdirTemp("", "catalog")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(root)
		cache := filepath.Join(root, "x", "cache")
		live := Open(root, cache, Options{})
		files := map[string]bool{}
		n := 0
		line := func() string {
			n++
			id := fmt.Sprint("e", n)
			switch rapid.IntRange(0, 7).Draw(t, "line") {
			case 0:
				return `{"type":"session_info","id":"` + id + `","parentId":null,"name":"name ` + id + `"}` + "\n"
			case 1:
				return `{"type":"custom","customType":"pi-web:tool-selection","data":{"version":1,"tools":["read"]},"id":"` + id + `","parentId":null}` + "\n"
			case 2:
				return `{"type":"message","id":"torn` // the next line is glued to it
			case 3:
				return "not JSON\n"
			}
			return msg(id, "user", fmt.Sprintf(`"text %d"`, n), fmt.Sprintf("2026-01-02T00:00:%02d.000Z", n%60))
		}
		pick := func() string {
			all := make([]string, 0, len(files))
			for f := range files {
				all = append(all, f)
			}
			if len(all) == 0 {
				return ""
			}
			slices.Sort(all)
			return rapid.SampledFrom(all).Draw(t, "file")
		}
		check := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		for range rapid.IntRange(5, 30).Draw(t, "steps") {
			f := pick()
			op := rapid.SampledFrom([]string{"add", "add", "append", "append", "append", "same size", "truncate", "delete", "rename", "replace", "touch", "restart", "lose", "list"}).Draw(t, "op")
			if f == "" && op != "restart" && op != "lose" && op != "list" {
				op = "add"
			}
			switch op {
			case "add":
				n++
				f = filepath.Join(root, fmt.Sprintf("--p%d--", n%3), fmt.Sprintf("t_s%d.jsonl", n))
				check(os.MkdirAll(filepath.Dir(f), 0o755))
				check(os.WriteFile(f, []byte(fmt.Sprintf(`{"type":"session","version":3,"id":"s%d","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}`+"\n", n)+line()), 0o644))
				files[f] = true
			case "append":
				h, err := os.OpenFile(f, os.O_APPEND|os.O_WRONLY, 0)
				check(err)
				_, err = h.WriteString(line())
				check(errors.Join(err, h.Close()))
			case "same size":
				data, err := os.ReadFile(f)
				check(err)
				check(os.WriteFile(f, []byte(strings.Replace(string(data), "text", "TEXT", 1)), 0o644))
			case "truncate":
				info, err := os.Stat(f)
				check(err)
				check(os.Truncate(f, int64(rapid.IntRange(0, int(info.Size())).Draw(t, "size"))))
			case "delete":
				check(os.Remove(f))
				delete(files, f)
			case "rename":
				n++
				to := filepath.Join(filepath.Dir(f), fmt.Sprintf("t_r%d.jsonl", n))
				check(os.Rename(f, to))
				delete(files, f)
				files[to] = true
			case "replace": // by another file of the same name
				data, err := os.ReadFile(f)
				check(err)
				check(os.WriteFile(f+".new", append(data, line()...), 0o644))
				check(os.Rename(f+".new", f))
			case "touch":
				at := time.Unix(int64(rapid.IntRange(1e9, 2e9).Draw(t, "time")), 0)
				check(os.Chtimes(f, at, at))
			case "restart":
				live = Open(root, cache, Options{})
			case "lose":
				_ = os.RemoveAll(cache)
			}
			if d := cmp.Diff(mustList(t, Open(root, "", Options{})), mustList(t, live)); d != "" {
				t.Fatalf("after %s of %s: %s", op, f, d)
			}
		}
		if d := cmp.Diff(mustList(t, Open(root, "", Options{})), mustList(t, Open(root, cache, Options{}))); d != "" {
			t.Fatal(d)
		}
	})
}

// settle makes files old enough for their records to hold.
func settle(t testing.TB, root string) {
	files, err := Files(root)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)
	for _, f := range files {
		if err := os.Chtimes(f, at, at); err != nil {
			t.Fatal(err)
		}
	}
}

func cacheFile(t testing.TB, dir string) string {
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != 1 {
		t.Fatalf("the cache is not one file: %v, %v", names, err)
	}
	return names[0]
}

// TestTheCacheIsUsed: a file whose record holds is not read.
func TestTheCacheIsUsed(t *testing.T) {
	root, cache := t.TempDir(), t.TempDir()
	path := put(t, root, "", "a", msg("m", "user", `"q"`, "2026-01-02T00:00:00.000Z"))
	settle(t, root)
	want := mustList(t, Open(root, cache, Options{}))
	// The same size, time and inode, and other bytes: nobody can see that.
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt([]byte("X"), 0)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	settle(t, root)
	if d := cmp.Diff(want, mustList(t, Open(root, cache, Options{}))); d != "" {
		t.Errorf("the file was read again: %s", d)
	}
}

// TestBrokenCache: whatever the cache holds, the list is right, and the next
// process has a whole cache again.
func TestBrokenCache(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	for i := range 3 {
		put(t, root, "--w--", fmt.Sprint("s", i), msg("m", "user", fmt.Sprintf(`"q%d"`, i), "2026-01-02T00:00:00.000Z"))
	}
	settle(t, root)
	want := mustList(t, Open(root, dir, Options{}))
	file := cacheFile(t, dir)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	try := func(what string, data []byte) {
		t.Helper()
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, mustList(t, Open(root, dir, Options{}))); d != "" {
			t.Fatalf("%s: %s", what, d)
		}
		s := newStore(Open(root, dir, Options{}).opts.FS, dir, root)
		if all := s.load(); len(all) != 3 || s.stale {
			t.Fatalf("%s: afterwards the cache has %d records, stale %v", what, len(all), s.stale)
		}
	}
	for i := range whole {
		bad := slices.Clone(whole)
		bad[i] ^= 0x41
		try(fmt.Sprintf("byte %d changed", i), bad)
	}
	for i := 0; i < len(whole); i += 3 {
		try(fmt.Sprintf("cut at %d", i), whole[:i])
	}
	try("something behind", append(slices.Clone(whole), "\xff\xff\xff\xff12345678"...))
	try("another version", append([]byte("piweb session catalogue 9\n"), whole[len(magic):]...))
	other := newStore(Open(root, dir, Options{}).opts.FS, dir, "/another/root")
	try("another root", append(other.head(), whole[len(Open(root, dir, Options{}).store.head()):]...))
}

func FuzzCache(f *testing.F) {
	f.Add(encode(nil, "p", &record{info: Info{ID: "i", Name: "n"}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		path, r, err := decode(string(data))
		if err != nil {
			return
		}
		again, r2, err := decode(string(encode(nil, path, r)))
		if err != nil || again != path || !cmp.Equal(r, r2, cmp.AllowUnexported(record{}, key{})) {
			t.Errorf("%v: %+v and %+v", err, r, r2)
		}
	})
}

// TestCacheThatCannotBeWritten: the list does not depend on it, and says so.
func TestCacheThatCannotBeWritten(t *testing.T) {
	root := t.TempDir()
	put(t, root, "", "a", "")
	notDir := filepath.Join(root, "file")
	if err := os.WriteFile(notDir, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var told error
	c := Open(root, filepath.Join(notDir, "cache"), Options{Problem: func(err error) { told = err }})
	if list := mustList(t, c); len(list) != 1 || told == nil {
		t.Errorf("%d sessions, told %v", len(list), told)
	}
}

// TestTwoProcesses: several processes list and write one cache while files change.
func TestTwoProcesses(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	root := t.TempDir()
	var paths []string
	for i := range 20 {
		paths = append(paths, put(t, root, "--w--", fmt.Sprint("s", i), ""))
	}
	var children []*exec.Cmd
	for range 2 {
		cmd := exec.Command(exe, "-test.run=^$")
		cmd.Env = append(os.Environ(), childRoot+"="+root)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, cmd)
	}
	ours := Open(root, filepath.Join(root, "cache"), Options{})
	for i := range 60 {
		f, err := os.OpenFile(paths[i%len(paths)], os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteString(msg(fmt.Sprint("m", i), "user", `"q"`, "2026-01-02T00:00:00.000Z"))
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		mustList(t, ours)
	}
	for _, cmd := range children {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	want := mustList(t, Open(root, "", Options{}))
	for _, c := range []*Catalogue{ours, Open(root, filepath.Join(root, "cache"), Options{})} {
		if d := cmp.Diff(want, mustList(t, c)); d != "" {
			t.Error(d)
		}
	}
}

func TestPages(t *testing.T) {
	root := t.TempDir()
	for i := range 10 {
		put(t, root, "", fmt.Sprint("s", i), msg("m", "user", fmt.Sprintf(`"q%d"`, i), fmt.Sprintf("2026-01-02T00:00:%02d.000Z", i/2)))
	}
	for i := range 3 {
		if err := os.WriteFile(filepath.Join(root, fmt.Sprint("bad", i, ".jsonl")), []byte("x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := Open(root, "", Options{})
	want := mustList(t, c)
	var got []Info
	at := Cursor{}
	for {
		page, err := c.List(t.Context(), Filter{Limit: 4, After: at})
		if err != nil || page.Total != 13 {
			t.Fatalf("%d, %v", page.Total, err)
		}
		got = append(got, page.Infos...)
		if at = page.Next; at == (Cursor{}) {
			break
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if page, err := c.List(t.Context(), Filter{Text: "Q7"}); err != nil || page.Total != 1 || page.Infos[0].ID != "s7" {
		t.Errorf("by text: %+v, %v", page, err)
	}
}

// TestCancelledList: it ends with the error, and the next list is whole.
func TestCancelledList(t *testing.T) {
	root := t.TempDir()
	for i := range 200 {
		put(t, root, "", fmt.Sprint("s", i), "")
	}
	c := Open(root, t.TempDir(), Options{Workers: 1})
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	c.opts.Now = func() time.Time { // called for each file that is looked at
		if n++; n == 50 {
			cancel()
		}
		return time.Now()
	}
	if _, err := c.List(ctx, Filter{}); !errors.Is(err, context.Canceled) || n > 51 {
		t.Errorf("%v after %d files", err, n)
	}
	if list := mustList(t, c); len(list) != 200 {
		t.Errorf("%d sessions", len(list))
	}
}

// TestUnreadableFile: it is listed with the reason, hides none, and is not kept in
// the cache as if that were its nature.
func TestUnreadableFile(t *testing.T) {
	root, cache := t.TempDir(), t.TempDir()
	put(t, root, "", "a", "")
	closed := put(t, root, "", "b", "")
	if err := os.Chmod(closed, 0); err != nil {
		t.Fatal(err)
	}
	if f, err := os.Open(closed); err == nil {
		_ = f.Close()
		t.Skip("this user may read everything")
	}
	c := Open(root, cache, Options{})
	if list := mustList(t, c); len(list) != 2 || list[1].Problem == "" {
		t.Errorf("%+v", list)
	}
	if err := os.Chmod(closed, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Catalogue{c, Open(root, cache, Options{})} {
		if list := mustList(t, c); len(list) != 2 || list[1].Problem != "" {
			t.Errorf("%+v", list)
		}
	}
}
