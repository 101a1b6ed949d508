package attachment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piweb-go/piweb/blob"
	"github.com/piweb-go/piweb/internal/durable"
)

// Ids that are none, for every door.
var badIDs = []string{
	"", "att_", "att_short", "att_AAAAAAAAAAAAAAAAAAAAA", "att_AAAAAAAAAAAAAAAAAAAAAAA", "ATT_AAAAAAAAAAAAAAAAAAAAAA",
	"att_AAAAAAAAAAAAAAAAAAAAA/", "att_../../../etc/passwd00", "../outside/x", "/etc/passwd", `att_..\..\x`, "att_AAAAAAAAAAAAAAAAAAAAA\x00",
	"att_AAAAAAAAAAAAAAAAAAAAA\n", " att_AAAAAAAAAAAAAAAAAAAAAA", "att_ＡAAAAAAAAAAAAAAAAAAAA", "att_AAAAAAAAAAAAAAAAAAAAAA.att.json",
	"att_AAAAAAAAAAAAAAAAAAAAA=", "att_AAAAAAAAAAAAAAAAAAAAAB", // the last: bits that no 16 bytes have
}

func TestIDs(t *testing.T) {
	seen := map[ID]bool{}
	for range 10_000 {
		id := newID()
		if seen[id] {
			t.Fatal("an id came twice")
		}
		seen[id] = true
		if back, err := ParseID(id.String()); err != nil || back != id || len(id.String()) != 26 {
			t.Fatalf("%q does not come back: %v", id, err)
		}
	}
	for _, s := range badIDs {
		if id, err := ParseID(s); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q is taken as %v", s, id)
		}
	}
	var d Descriptor
	if err := json.Unmarshal([]byte(`{"id":"../x"}`), &d); err == nil {
		t.Error("a bad id was decoded")
	}
}

func TestRoundTrip(t *testing.T) {
	w := newWorld(t)
	d := w.put("s1", "../Bild [1]\n.png", "Image/PNG; Charset=x", "bytes")
	want := Descriptor{ID: d.ID, Name: "../Bild [1]\n.png", MimeType: "image/png; charset=x", Size: 5, Origin: Upload, SessionID: "s1",
		CreatedAt: d.CreatedAt, SHA256: "277089d91c0bdf4f2e6862ba7e4a07605119431f5d13f726dd352b06f1b206a9"}
	if d.SHA256 != want.SHA256 { // computed here, so that the test needs no other program
		want.SHA256 = sha(t, "bytes")
	}
	if diff := cmp.Diff(want, d, cmp.Comparer(func(a, b ID) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	if at, err := time.Parse(timeLayout, d.CreatedAt); err != nil || time.Since(at).Abs() > time.Hour {
		t.Errorf("created at %q", d.CreatedAt)
	}
	// A second store on the same folder sees the same.
	again := worldIn(t, w.dir.Root())
	got, err := again.Head(t.Context(), d.ID)
	if err != nil || got != d {
		t.Errorf("%+v, %v", got, err)
	}
	if again.bytes(d) != "bytes" || !slices.Equal(again.list("s1"), []ID{d.ID}) {
		t.Error("the second store has something else")
	}
}

func sha(t *testing.T, text string) string {
	t.Helper()
	return blob.RefOf([]byte(text)).Hash()
}

// TestLayout holds the files against pi-web's: names, order of keys, and what it
// writes can be read.
func TestLayout(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Now = func() time.Time { return time.UnixMilli(1_700_000_000_123) } })
	d := w.put("s1", "cat.png", "image/png", "x")
	id := d.ID.String()
	files := w.files()
	slices.Sort(files)
	if !slices.Equal(files, []string{id, id + ".att.json", id + ".meta.json"}) {
		t.Fatalf("the folder holds %q", files)
	}
	for name, want := range map[string]string{
		id:                "x",
		id + ".meta.json": `{"mimeType":"image/png","size":1}`,
		id + ".att.json": `{"id":"` + id + `","name":"cat.png","mimeType":"image/png","size":1,"origin":"upload","sessionId":"s1",` +
			`"createdAt":"2023-11-14T22:13:20.123Z","sha256":"` + sha(t, "x") + `"}`,
	} {
		got, err := os.ReadFile(filepath.Join(w.dir.Root(), name))
		if err != nil || string(got) != want {
			t.Errorf("%s holds %s (%v)", name, got, err)
		}
	}
	// Theirs, with what we do not know.
	const theirs = "att_AbCdEfGhIjKlMnOpQrStUg"
	w.write(theirs, "theirs")
	w.write(theirs+".meta.json", `{"mimeType":"text/plain","size":6}`)
	w.write(theirs+".att.json", `{"id":"`+theirs+`","name":"n","mimeType":"text/plain","size":6,"origin":"tool-output","sessionId":"s1","createdAt":"2023-11-14T22:13:20.000Z","ext":{"a":1},"future":[1]}`)
	tid, err := ParseID(theirs)
	if err != nil {
		t.Fatal(err)
	}
	h, err := w.Check(t.Context(), "s1", tid)
	if err != nil || h.Origin != ToolOutput || w.bytes(h) != "theirs" {
		t.Fatalf("%+v, %v", h, err)
	}
	if err := w.For("s1").SetMeta(t.Context(), theirs, json.RawMessage(`{"b":2}`)); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(filepath.Join(w.dir.Root(), theirs+".att.json"))
	if err != nil || !strings.HasSuffix(string(after), `,"ext":{"b":2},"future":[1]}`) || !strings.Contains(string(after), `"origin":"tool-output"`) {
		t.Errorf("%s (%v)", after, err)
	}
}

// TestOwners is the matrix: who asks × every way to read × whose id it is.
func TestOwners(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	own, other := w.put("s1", "own", "image/png", "own"), w.put("s2", "other", "image/png", "other")
	shared := w.put("s2", "shared", "text/plain", "shared")
	if err := w.Grant(ctx, "s2", "child", shared.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := NewCompanion(w.Store, nil).Copy(place("s1"), place("fork")); err != nil {
		t.Fatal(err)
	}
	damaged := newID()
	w.write(damaged.String()+".att.json", `{"id":"`+damaged.String()+`","sessionId":"s1","size":`)
	renamed := newID() // a descriptor under another's name
	w.write(renamed.String()+".att.json", `{"id":"`+other.ID.String()+`","name":"x","mimeType":"a/b","size":1,"origin":"upload","sessionId":"s1","createdAt":""}`)
	unknown := newID()
	type who struct {
		session string
		may     []Descriptor
	}
	for _, asks := range []who{{"s1", []Descriptor{own}}, {"fork", []Descriptor{own}}, {"s2", []Descriptor{other, shared}}, {"child", []Descriptor{shared}}, {"stranger", nil}, {"", nil}} {
		scope := w.For(asks.session)
		refs := slices.Clone(badIDs)
		for _, id := range []ID{own.ID, other.ID, shared.ID, damaged, renamed, unknown} {
			refs = append(refs, id.String(), strings.ToLower(id.String())+"x")
		}
		for _, ref := range refs {
			may := slices.ContainsFunc(asks.may, func(d Descriptor) bool { return d.ID.String() == ref })
			name := fmt.Sprintf("%s asks for %q", asks.session, ref)
			_, err := scope.Resolve(ctx, ref)
			if (err == nil) != may {
				t.Errorf("%s: resolve: %v", name, err)
			}
			if _, err := scope.Meta(ctx, ref); (err == nil) != may {
				t.Errorf("%s: meta: %v", name, err)
			}
			if err := scope.SetMeta(ctx, ref, json.RawMessage(`{}`)); (err == nil) != may {
				t.Errorf("%s: set meta: %v", name, err)
			}
			args, _ := json.Marshal(map[string]any{"a": []any{ref}})
			why := scope.Judge(ctx, args)
			if looksLikeID(strings.TrimSpace(ref)) && (why == "") != (may || mayTrimmed(asks.may, ref)) {
				t.Errorf("%s: the gate says %q", name, why)
			}
			if id, err := ParseID(ref); err == nil {
				if _, err := w.Check(ctx, asks.session, id); (err == nil) != may {
					t.Errorf("%s: check: %v", name, err)
				}
				if err := w.Grant(ctx, asks.session, "accomplice", id); (err == nil) != may {
					t.Errorf("%s: hand over: %v", name, err)
				}
				_ = w.Revoke(ctx, "accomplice", id)
			}
		}
		list, err := w.List(ctx, asks.session)
		if err != nil {
			t.Fatal(err)
		}
		var got, may []string
		for _, d := range list {
			got = append(got, d.ID.String())
		}
		for _, d := range asks.may {
			may = append(may, d.ID.String())
		}
		slices.Sort(got)
		slices.Sort(may)
		if !slices.Equal(got, may) {
			t.Errorf("%s lists %q, not %q", asks.session, got, may)
		}
	}
}

func mayTrimmed(may []Descriptor, ref string) bool {
	return slices.ContainsFunc(may, func(d Descriptor) bool { return d.ID.String() == strings.TrimSpace(ref) })
}

// W2: ids are joined into paths unvalidated, and the byte path may be a link.
func TestW2Traversal(t *testing.T) {
	w := newWorld(t)
	outside := filepath.Join(filepath.Dir(w.dir.Root()), "outside")
	if err := os.MkdirAll(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"x": "secret", "x.meta.json": `{"mimeType":"image/png","size":6}`,
		"x.att.json": `{"id":"../outside/x","name":"n","mimeType":"image/png","size":6,"origin":"upload","sessionId":"s1","createdAt":""}`} {
		if err := os.WriteFile(filepath.Join(outside, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, err := w.For("s1").Resolve(t.Context(), "../outside/x")
	want(t, err, ErrUnknown)
	// A proper id whose bytes are a link that leads out.
	d := w.put("s1", "n", "image/png", "inside")
	file := filepath.Join(w.dir.Root(), d.ID.String())
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "x"), file); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	_, err = w.Open(t.Context(), d)
	want(t, err, ErrUnknown)
	a, err := w.For("s1").Resolve(t.Context(), d.ID.String())
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = a.LocalPath(t.Context())
	want(t, err, ErrUnknown)
	_, err = a.Bytes(t.Context(), 0)
	want(t, err, ErrUnknown)
	// And a descriptor that is one.
	e := w.put("s1", "n", "image/png", "inside")
	desc := filepath.Join(w.dir.Root(), e.ID.String()+".att.json")
	if err := os.Rename(desc, filepath.Join(outside, "desc")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "desc"), desc); err != nil {
		t.Fatal(err)
	}
	_, err = w.Head(t.Context(), e.ID)
	want(t, err, ErrUnknown)
}

// W4: one damaged descriptor hides all others.
func TestW4DamagedDescriptor(t *testing.T) {
	w := newWorld(t)
	a := w.put("s1", "a", "text/plain", "a")
	for i, text := range []string{"", "{", "null", "[]", `"x"`, `{"id":7}`, strings.Repeat("x", maxDescriptor+1), `{"id":"%s","sessionId":7}`, `{"id":"%s","sessionId":"s1","size":-1}`, `{"id":"%s","size":1}`} {
		id := newID()
		w.write(id.String()+".att.json", strings.ReplaceAll(text, "%s", id.String()))
		if _, err := w.Check(t.Context(), "s1", id); !errors.Is(err, ErrUnknown) {
			t.Errorf("text %d: %v", i, err)
		}
		if why := w.For("s1").Judge(t.Context(), json.RawMessage(`"`+id.String()+`"`)); why == "" {
			t.Errorf("text %d passes the gate", i)
		}
	}
	b := w.put("s1", "b", "text/plain", "b")
	if got := w.list("s1"); len(got) != 2 || !slices.Contains(got, a.ID) || !slices.Contains(got, b.ID) {
		t.Errorf("listed %v", got)
	}
}

// failing lets the n-th call that changes something fail.
type failing struct {
	durable.OS
	left int
}

func (f *failing) fail() error {
	if f.left > 0 {
		if f.left--; f.left == 0 {
			return syscall.ENOSPC
		}
	}
	return nil
}

func (f *failing) OpenFile(name string, flag int, perm os.FileMode) (durable.File, error) {
	if err := f.fail(); err != nil {
		return nil, err
	}
	return f.OS.OpenFile(name, flag, perm)
}

func (f *failing) Rename(a, b string) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.OS.Rename(a, b)
}

func (f *failing) Link(a, b string) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.OS.Link(a, b)
}

func (f *failing) SyncDir(name string) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.OS.SyncDir(name)
}

// W5: a fault between the steps leaves something half. Every call of a put fails
// in turn; afterwards the attachment is there as a whole or not at all, and what
// lies around is collected.
func TestW5Faults(t *testing.T) {
	for at := 1; ; at++ {
		f := &failing{}
		dir, err := blob.NewDir(filepath.Join(t.TempDir(), "a"), blob.DirOptions{FS: f})
		if err != nil {
			t.Fatal(err)
		}
		s, err := Open(Options{Registry: dir, Links: testLinks(t, nil)})
		if err != nil {
			t.Fatal(err)
		}
		w := &world{s, dir, t}
		w.put("s0", "old", "text/plain", "old")
		f.left = at
		d, err := w.Put(t.Context(), New{SessionID: "s1", Name: "n", MimeType: "text/plain"}, strings.NewReader("fresh"))
		if f.left > 0 {
			if err != nil {
				t.Fatal(err)
			}
			if at < 9 {
				t.Fatalf("only %d calls were tried", at)
			}
			break
		}
		f.left = 0
		list := w.list("s1")
		switch {
		case err == nil && len(list) == 1 && w.bytes(d) == "fresh":
		case errors.Is(err, syscall.ENOSPC) && len(list) == 0:
		default:
			t.Fatalf("call %d: %v, %d in the list", at, err, len(list))
		}
		if _, err := w.Collect(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if got, want := len(w.files()), 3+3*len(list); got != want {
			t.Fatalf("call %d: %d files are left: %q", at, got, w.files())
		}
	}
}

// W6: descriptor and meta are there, the bytes are not.
func TestW6MissingBytes(t *testing.T) {
	w := newWorld(t)
	d := w.put("s1", "n", "text/plain", "bytes")
	file := filepath.Join(w.dir.Root(), d.ID.String())
	if err := os.WriteFile(file, []byte("byt"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := w.Open(t.Context(), d)
	want(t, err, ErrUnknown)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	_, err = w.Open(t.Context(), d)
	want(t, err, ErrUnknown)
}

// W7: notes of tools are lost or torn when they are set at the same time.
func TestW7Notes(t *testing.T) {
	w, second := newWorld(t), (*world)(nil)
	d := w.put("s1", "n", "text/plain", "x")
	second = worldIn(t, w.dir.Root()) // as another process would
	done := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := second.For("s1").Meta(t.Context(), d.ID.String()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 100 {
		writers.Go(func() {
			from := []*world{w, second}[i%2]
			note := fmt.Sprintf(`{"n":%d,"pad":%q}`, i, strings.Repeat("x", i*10))
			if err := from.For("s1").SetMeta(t.Context(), d.ID.String(), json.RawMessage(note)); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	if err := w.For("s1").SetMeta(t.Context(), d.ID.String(), json.RawMessage(`{"last":true}`)); err != nil {
		t.Fatal(err)
	}
	got, err := second.For("s1").Meta(t.Context(), d.ID.String())
	if err != nil || string(got) != `{"last":true}` {
		t.Errorf("%s, %v", got, err)
	}
	for _, bad := range []string{"", "7", "[]", "{", "null", `{"x":"` + strings.Repeat("x", maxMeta) + `"}`} {
		if err := w.For("s1").SetMeta(t.Context(), d.ID.String(), json.RawMessage(bad)); err == nil {
			t.Errorf("%.20q was taken as a note", bad)
		}
	}
}

// W9: a delete leaves the descriptor.
func TestW9Delete(t *testing.T) {
	w := newWorld(t)
	d := w.put("s1", "n", "text/plain", "x")
	if err := w.Grant(t.Context(), "s1", "s2", d.ID); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.Delete(t.Context(), d.ID); err != nil {
			t.Fatal(err)
		}
		if files := w.files(); len(files) != 0 {
			t.Fatalf("the folder holds %q", files)
		}
	}
	_, err := w.Head(t.Context(), d.ID)
	want(t, err, ErrUnknown)
	if len(w.list("s1")) != 0 || len(w.list("s2")) != 0 {
		t.Error("it is listed")
	}
}

func TestLimitAndQuota(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Limit, o.Quota = 100, 250 })
	put := func(n int) error {
		_, err := w.Put(t.Context(), New{SessionID: "s1", Name: "n", MimeType: "a/b"}, strings.NewReader(strings.Repeat("x", n)))
		return err
	}
	want(t, put(101), ErrTooLarge)
	want(t, put(100), nil)
	want(t, put(100), nil)
	want(t, put(51), ErrQuota)
	want(t, put(50), nil)
	want(t, put(1), ErrQuota)
	if _, err := w.Put(t.Context(), New{SessionID: "s2", Size: 101}, strings.NewReader("")); !errors.Is(err, ErrTooLarge) {
		t.Errorf("an announced size: %v", err)
	}
	// Side by side they cannot pass it together either.
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			_, _ = w.Put(t.Context(), New{SessionID: "s3", Name: "n", MimeType: "a/b"}, &slow{strings.NewReader(strings.Repeat("x", 90))})
		})
	}
	wg.Wait()
	sum := int64(0)
	list, err := w.List(t.Context(), "s3")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		sum += d.Size
	}
	if sum > 250 || len(w.uploads) != 0 {
		t.Errorf("the session has %d bytes, and %d accounts are still open", sum, len(w.uploads))
	}
	if files := w.files(); len(files)%3 != 0 {
		t.Errorf("something half: %q", files)
	}
}

// One put measures what there is, another lands after that, and the first reads
// on: it has to count what has landed meanwhile.
func TestQuotaCountsWhatLandedMeanwhile(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Limit, o.Quota = 100, 150 })
	meta := New{SessionID: "s1", Name: "n", MimeType: "a/b"}
	bytes := strings.NewReader(strings.Repeat("x", 90))
	landed := false
	_, err := w.Put(t.Context(), meta, readerFunc(func(p []byte) (int, error) {
		if !landed {
			landed = true
			if _, err := w.Put(t.Context(), meta, strings.NewReader(strings.Repeat("y", 90))); err != nil {
				t.Error(err)
			}
		}
		return bytes.Read(p)
	}))
	want(t, err, ErrQuota)
	// What was deleted meanwhile makes room again.
	bytes.Reset(strings.Repeat("x", 90))
	_, err = w.Put(t.Context(), meta, readerFunc(func(p []byte) (int, error) {
		for _, d := range w.list("s1") {
			want(t, w.Delete(t.Context(), d), nil)
		}
		return bytes.Read(p)
	}))
	want(t, err, nil)
	if len(w.uploads) != 0 {
		t.Error("an account is still open")
	}
}

type slow struct{ r io.Reader }

func (s *slow) Read(p []byte) (int, error) { return s.r.Read(p[:min(len(p), 10)]) }

func TestCancelLeavesNothing(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	_, err := w.Put(ctx, New{SessionID: "s1"}, readerFunc(func(p []byte) (int, error) {
		if n++; n == 10 {
			cancel()
		}
		return len(p), nil
	}))
	want(t, err, context.Canceled)
	if files := w.files(); len(files) != 0 {
		t.Errorf("the folder holds %q", files)
	}
}

func TestLocalPathIsTheFile(t *testing.T) {
	w := newWorld(t)
	d := w.put("s1", "n", "text/plain", "x")
	a, err := w.For("s1").Resolve(t.Context(), Marker(d))
	if err != nil {
		t.Fatal(err)
	}
	path, release, err := a.LocalPath(t.Context())
	if err != nil || path != filepath.Join(w.dir.Root(), d.ID.String()) {
		t.Fatalf("%q, %v", path, err)
	}
	release()
	if data, err := os.ReadFile(path); err != nil || string(data) != "x" {
		t.Errorf("%q, %v", data, err)
	}
	address, err := a.URL(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checkURL(t, w.Links(), address, d.ID)
	if b, err := w.For("s1").Resolve(t.Context(), address); err != nil || b.Info() != a.Info() {
		t.Errorf("the address does not lead back: %v", err)
	}
	_, err = a.Bytes(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	big := w.put("s1", "n", "text/plain", "12345")
	b, _ := w.For("s1").Resolve(t.Context(), big.ID.String())
	_, err = b.Bytes(t.Context(), 4)
	want(t, err, ErrTooLarge)
}

// TestRemoteLocalPath: a store that has no files here gives a private copy.
func TestRemoteLocalPath(t *testing.T) {
	far := &remoteStore{newWorld(t).dir}
	s, err := Open(Options{Registry: far, Links: testLinks(t, nil)})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{s, nil, t}
	d := w.put("s1", "n", "text/plain", "far")
	if got := w.list("s1"); len(got) != 1 {
		t.Fatalf("listed %v", got)
	}
	a, err := w.For("s1").Resolve(t.Context(), d.ID.String())
	if err != nil {
		t.Fatal(err)
	}
	path, release, err := a.LocalPath(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Fatalf("the copy: %v, %v", info, err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "far" {
		t.Errorf("%q, %v", data, err)
	}
	release()
	if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the copy is still there: %v", err)
	}
}

// remoteStore hides what only a folder can do.
type remoteStore struct{ blob.Store }

func TestBackends(t *testing.T) {
	a, b := newWorld(t), newWorld(t)
	open := func(write string, list ...Backend) (*world, error) {
		s, err := Open(Options{Registry: a.dir, Backends: list, Write: write, Links: testLinks(t, nil)})
		return &world{s, a.dir, t}, err
	}
	one, two := Backend{"one", a.dir}, Backend{"two", b.dir}
	w, err := open("two", one, two)
	if err != nil {
		t.Fatal(err)
	}
	legacy := a.put("s1", "old", "text/plain", "legacy") // from before there were backends
	d := w.put("s1", "n", "text/plain", "x")
	if d.Backend != "two" || w.bytes(d) != "x" || w.bytes(legacy) != "legacy" {
		t.Errorf("%+v", d)
	}
	if only, err := open("", one); err != nil {
		t.Fatal(err)
	} else if _, err := only.Open(t.Context(), d); err == nil || !strings.Contains(err.Error(), "not configured") {
		t.Errorf("an unknown backend: %v", err)
	}
	if err := w.Delete(t.Context(), d.ID); err != nil || len(b.files()) != 0 {
		t.Errorf("%v: the backend still holds %q", err, b.files())
	}
	for name, list := range map[string][]Backend{"twice": {one, one}, "no name": {{"", a.dir}}, "no store": {{"x", nil}}} {
		if _, err := open("", list...); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if _, err := open("three", one, two); err == nil {
		t.Error("an unknown backend to write to was taken")
	}
}

// TestOthersChanges: what another process adds or takes away is seen.
func TestOthersChanges(t *testing.T) {
	w := newWorld(t)
	if got := w.list("s1"); len(got) != 0 {
		t.Fatalf("listed %v", got)
	}
	other := worldIn(t, w.dir.Root())
	d := other.put("s1", "n", "text/plain", "x")
	if got := w.list("s1"); !slices.Equal(got, []ID{d.ID}) {
		t.Errorf("listed %v", got)
	}
	if err := other.Delete(t.Context(), d.ID); err != nil {
		t.Fatal(err)
	}
	if got := w.list("s1"); len(got) != 0 {
		t.Errorf("listed %v", got)
	}
}

func TestEntry(t *testing.T) {
	w := newWorld(t)
	d := w.put("s1", "n", "text/plain", "x")
	e, err := Entry(d)
	if err != nil {
		t.Fatal(err)
	}
	back, ok := ParseEntry(e)
	if !ok || back != d {
		t.Errorf("%+v", back)
	}
	if !bytes.HasPrefix(e.Data, []byte(`{"version":1,"attachment":{"id":"att_`)) {
		t.Errorf("the entry is %s", e.Data)
	}
	for _, data := range []string{"", "{}", `{"version":2,"attachment":{"id":"` + d.ID.String() + `"}}`, `{"version":1,"attachment":{"id":"../x"}}`} {
		e.Data = json.RawMessage(data)
		if _, ok := ParseEntry(e); ok {
			t.Errorf("%q was taken", data)
		}
	}
	e.CustomType = "other"
	if _, ok := ParseEntry(e); ok {
		t.Error("another entry was taken")
	}
}

// BenchmarkPut stores 25 MiB as an attachment, and in turn does what nobody can do
// without: hash them, write them to a file, sync it.
func BenchmarkPut(b *testing.B) {
	w := newWorld(b)
	data := make([]byte, 25<<20)
	for i := range data {
		data[i] = byte(i * 7 >> 3)
	}
	w.put("s", "first", "a/b", "x") // the folder is there
	var ours, floor time.Duration
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		start := time.Now()
		d, err := w.Put(b.Context(), New{SessionID: "s", Name: "n", MimeType: "a/b", Size: int64(len(data))}, bytes.NewReader(data))
		if err != nil {
			b.Fatal(err)
		}
		ours += time.Since(start)
		b.StopTimer()
		if err := w.Delete(b.Context(), d.ID); err != nil {
			b.Fatal(err)
		}
		start = time.Now()
		_ = blob.RefOf(data)
		f, err := os.Create(filepath.Join(w.dir.Root(), "floor"))
		if err != nil {
			b.Fatal(err)
		}
		_, err = f.Write(data)
		if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
			b.Fatal(err)
		}
		floor += time.Since(start)
		b.StartTimer()
	}
	b.ReportMetric(100*float64(floor)/float64(ours), "%of-sha256+write+sync")
	b.ReportMetric((ours-floor).Seconds()*1000/float64(b.N), "ms-over-the-floor")
}

// BenchmarkList lists the attachments of one session among 20 000 of others: with
// nothing changed, and right after a put.
func BenchmarkList(b *testing.B) {
	w := newWorld(b)
	for i := range 20_000 {
		id := newID().String()
		w.write(id+".att.json", fmt.Sprintf(`{"id":"%s","name":"n","mimeType":"a/b","size":1,"origin":"upload","sessionId":"f%d","createdAt":"2023-11-14T22:13:20.000Z"}`, id, i%500))
		w.write(id+".meta.json", `{"mimeType":"a/b","size":1}`)
	}
	for range 20 {
		w.put("mine", "n", "a/b", "x")
	}
	start := time.Now()
	w.list("mine")
	b.Logf("20 000 foreign descriptors, first look with nothing known: %v", time.Since(start))
	time.Sleep(settling + 100*time.Millisecond)
	w.list("mine")
	b.Run("unchanged", func(b *testing.B) {
		for b.Loop() {
			if len(w.list("mine")) < 20 {
				b.Fatal("too few")
			}
		}
	})
	b.Run("after a put", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			d := w.put("mine", "n", "a/b", "x")
			b.StartTimer()
			w.list("mine")
			b.StopTimer()
			if err := w.Delete(b.Context(), d.ID); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	})
}
