package blob_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/piweb-go/piweb/blob"
	"github.com/piweb-go/piweb/blob/blobtest"
)

const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func TestParseRef(t *testing.T) {
	hash := strings.Repeat("0123456789abcdef", 4)
	for _, test := range []struct {
		name, in      string
		strict, loose bool
	}{
		{"as written", blob.RefPrefix + hash, true, true},
		{"upper case", blob.RefPrefix + strings.ToUpper(hash), false, true},
		{"upper-case prefix", "BLOB:SHA256:" + hash, false, true},
		{"blanks", " " + blob.RefPrefix + hash + "\n", false, true},
		{"only the hash", hash, false, true},
		{"a sidecar", hash + ".png", false, true},
		{"a reference with an extension", blob.RefPrefix + hash + ".tar.gz", false, true},
		{"nothing", "", false, false},
		{"empty suffix", blob.RefPrefix, false, false},
		{"traversal", blob.RefPrefix + "../x", false, false},
		{"traversal of the right length", blob.RefPrefix + "../" + hash[3:], false, false},
		{"one digit less", blob.RefPrefix + hash[1:], false, false},
		{"one digit more", blob.RefPrefix + hash + "0", false, false},
		{"no digit", blob.RefPrefix + hash[1:] + "g", false, false},
		{"full-width digit", blob.RefPrefix + hash[3:] + "０", false, false},
		{"NUL", blob.RefPrefix + hash[1:] + "\x00", false, false},
		{"an extension with a slash", hash + ".a/b", false, false},
		{"another hash", "blob:sha512:" + hash, false, false},
		{"long", blob.RefPrefix + strings.Repeat("a", 1<<20), false, false},
	} {
		ref, err := blob.ParseRef(test.in)
		if (err == nil) != test.strict {
			t.Errorf("%s: strict: %v", test.name, err)
		}
		if err == nil && (ref.String() != test.in || ref.Hash() != hash || ref.IsZero()) {
			t.Errorf("%s: comes back as %q", test.name, ref)
		}
		if err != nil && len(err.Error()) > 300 {
			t.Errorf("%s: an error of %d bytes", test.name, len(err.Error()))
		}
		loose, err := blob.ParseRefLoose(test.in)
		if (err == nil) != test.loose {
			t.Errorf("%s: loose: %v", test.name, err)
		}
		if err == nil && loose.Hash() != hash {
			t.Errorf("%s: loose: %q", test.name, loose)
		}
	}
	if ref := blob.RefOf(nil); ref.Hash() != emptyHash {
		t.Errorf("nothing has the hash %s", ref)
	}
}

func TestRefText(t *testing.T) {
	ref := blob.RefOf([]byte("x"))
	for _, want := range []blob.Ref{ref, {}} {
		text, err := want.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		got := blob.RefOf([]byte("another"))
		if err := got.UnmarshalText(text); err != nil || got != want {
			t.Errorf("%q comes back as %q: %v", want, got, err)
		}
	}
	if err := ref.UnmarshalText([]byte("blob:sha256:x")); err == nil {
		t.Error("a bad reference was taken")
	}
	if !blob.IsRef("blob:sha256:x") || blob.IsRef("Blob:sha256:x") {
		t.Error("IsRef is not a test of the prefix")
	}
}

func TestExtOf(t *testing.T) {
	for in, want := range map[string]string{
		"image/png": "png", "image/jpeg": "jpg", "image/jpg": "jpg", "IMAGE/GIF": "gif", "image/webp": "webp",
		"image/svg+xml": "svg", "image/x-thing;q=1": "x-thing", "text/plain": "", "": "", "image/": "", "image/../x": "",
	} {
		if got := blob.ExtOf(in); got != want {
			t.Errorf("%q: %q, not %q", in, got, want)
		}
	}
}

func TestContents(t *testing.T) {
	c := blob.NewContents(newDir(t, nil))
	for _, data := range [][]byte{nil, []byte("x"), blobtest.Random(t, 3<<20)} {
		ref, err := c.Put(t.Context(), data, ".PNG")
		if err != nil {
			t.Fatal(err)
		}
		streamed, n, err := c.PutFrom(t.Context(), bytes.NewReader(data), int64(max(1, len(data))), "")
		if err != nil || streamed != ref || n != int64(len(data)) {
			t.Fatalf("streamed: %v with %d bytes: %v", streamed, n, err)
		}
		got, err := c.Read(t.Context(), ref, 0)
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("read %d bytes: %v", len(got), err)
		}
		r, size, err := c.Open(t.Context(), ref)
		if err != nil || size != int64(len(data)) {
			t.Fatalf("open: %d bytes: %v", size, err)
		}
		got, err = io.ReadAll(r)
		r.Close()
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("streamed %d bytes: %v", len(got), err)
		}
		if side, err := os.ReadFile(filepath.Join(c.Root(), ref.Hash()+".png")); err != nil || !bytes.Equal(side, data) {
			t.Fatalf("the sidecar holds %d bytes: %v", len(side), err)
		}
		n2 := 0
		for content, err := range c.List(t.Context()) {
			if n2++; err != nil || content.Ref != ref {
				t.Fatalf("listed %v: %v", content, err)
			}
		}
		if n2 != 1 {
			t.Fatalf("listed %d", n2)
		}
		if err := c.Delete(t.Context(), ref); err != nil {
			t.Fatal(err)
		}
		if left, _ := os.ReadDir(c.Root()); len(left) != 0 {
			t.Fatalf("%d files are left", len(left))
		}
		if _, err := c.Read(t.Context(), ref, 0); !errors.Is(err, blob.ErrNotFound) {
			t.Fatal(err)
		}
	}
	data := []byte("12345")
	ref, err := c.Put(t.Context(), data, "a/b")
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(c.Root()); len(left) != 1 {
		t.Fatalf("a bad extension made a file")
	}
	if _, err := c.Read(t.Context(), ref, 4); !errors.Is(err, blob.ErrTooBig) {
		t.Fatal(err)
	}
	if _, _, err := c.PutFrom(t.Context(), bytes.NewReader(data), 4, ""); !errors.Is(err, blob.ErrTooBig) {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Put(ctx, []byte("new"), ""); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(c.Root()); len(left) != 1 {
		t.Fatal("something half is left")
	}
}

// TestSidecarOfAnother: a sidecar that is there stays, and without hard links it
// is a copy.
func TestSidecarOfAnother(t *testing.T) {
	c := blob.NewContents(newDir(t, noLinks{}))
	ref, err := c.Put(t.Context(), []byte("x"), "png")
	if err != nil {
		t.Fatal(err)
	}
	side := filepath.Join(c.Root(), ref.Hash()+".png")
	if data, err := os.ReadFile(side); err != nil || string(data) != "x" {
		t.Fatalf("%q: %v", data, err)
	}
	if err := os.WriteFile(side, []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Put(t.Context(), []byte("x"), "png"); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(side); string(data) != "theirs" {
		t.Fatalf("the sidecar was rewritten: %q", data)
	}
}

// TestNeverRewrites: oh-my-pi's W2 and W4, every put writes the file again.
func TestNeverRewrites(t *testing.T) {
	c := blob.NewContents(newDir(t, nil))
	data := blobtest.Random(t, 100_000)
	ref, err := c.Put(t.Context(), data, "")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(c.Root(), ref.Hash())
	before, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Put(t.Context(), data, ""); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.PutFrom(t.Context(), bytes.NewReader(data), 0, ""); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	// It is touched, so that a collection knows of the use, and stays the same file.
	if !os.SameFile(before, after) || after.ModTime().Before(before.ModTime()) {
		t.Error("the blob was written again")
	}
	if files, _ := os.ReadDir(c.Root()); len(files) != 1 {
		t.Errorf("%d files", len(files))
	}
}

// TestDamagedBlob: oh-my-pi's W3, a damaged blob is handed out as if it were whole.
func TestDamagedBlob(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"cut":     func(b []byte) []byte { return b[:100] },
		"flipped": func(b []byte) []byte { b[1000] ^= 1; return b },
		"empty":   func([]byte) []byte { return nil },
		"longer":  func(b []byte) []byte { return append(b, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			c := blob.NewContents(newDir(t, nil))
			data := blobtest.Random(t, 100_000)
			ref, err := c.Put(t.Context(), data, "")
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(c.Root(), ref.Hash())
			if err := os.WriteFile(file, damage(bytes.Clone(data)), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Read(t.Context(), ref, 0); !errors.Is(err, blob.ErrCorrupt) {
				t.Fatalf("read: %v", err)
			}
			r, _, err := c.Open(t.Context(), ref)
			if err != nil {
				t.Fatal(err)
			}
			_, err = io.ReadAll(r)
			r.Close()
			if !errors.Is(err, blob.ErrCorrupt) {
				t.Fatalf("stream: %v", err)
			}
			if _, err := c.Put(t.Context(), data, ""); err != nil {
				t.Fatal(err)
			}
			if got, err := c.Read(t.Context(), ref, 0); err != nil || !bytes.Equal(got, data) {
				t.Fatalf("not healed: %v", err)
			}
		})
	}
}

// TestWritersAndReaders: sixteen writers put one blob again and again while
// others read it; nobody ever sees a part.
func TestWritersAndReaders(t *testing.T) {
	c := blob.NewContents(newDir(t, nil))
	data := blobtest.Random(t, 1<<20)
	ref := blob.RefOf(data)
	done := make(chan struct{})
	var writers, readers sync.WaitGroup
	reads := make([]int, 4)
	for i := range reads {
		readers.Go(func() {
			for {
				got, err := c.Read(t.Context(), ref, 0)
				switch {
				case err == nil && bytes.Equal(got, data):
					reads[i]++
				case !errors.Is(err, blob.ErrNotFound):
					t.Errorf("a torn read: %d bytes, %v", len(got), err)
					return
				}
				select {
				case <-done:
					if reads[i] > 0 {
						return
					}
				default:
				}
			}
		})
	}
	for w := range 16 {
		writers.Go(func() {
			for i := range 6 {
				var err error
				if (w+i)%2 == 0 {
					_, err = c.Put(t.Context(), data, "png")
				} else {
					_, _, err = c.PutFrom(t.Context(), bytes.NewReader(data), 0, "png")
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
	if files, _ := os.ReadDir(c.Root()); len(files) != 2 {
		t.Errorf("%d files, not the blob and its sidecar", len(files))
	}
}

// TestContentFaults lets each call of a put of content fail in turn.
func TestContentFaults(t *testing.T) {
	data := blobtest.Random(t, 200_000)
	for at := 1; ; at++ {
		fs := &faulty{left: at}
		c := blob.NewContents(newDir(t, fs))
		ref, err := c.Put(t.Context(), data, "png")
		if fs.left > 0 {
			if at < 6 {
				t.Fatalf("only %d calls were tried", at)
			}
			break
		}
		fs.left = 0
		got, rerr := c.Read(t.Context(), blob.RefOf(data), 0)
		switch {
		case rerr == nil && bytes.Equal(got, data):
		case err != nil && errors.Is(rerr, blob.ErrNotFound):
		default:
			t.Fatalf("call %d failed: put says %v, read says %v", at, err, rerr)
		}
		if err == nil && ref != blob.RefOf(data) {
			t.Fatalf("call %d: reference %v", at, ref)
		}
		if _, err := c.Put(t.Context(), data, "png"); err != nil {
			t.Fatalf("call %d: not healed: %v", at, err)
		}
	}
}

func FuzzParseRef(f *testing.F) {
	f.Add(blob.RefPrefix + emptyHash)
	f.Add(strings.ToUpper(blob.RefPrefix + emptyHash + ".png"))
	f.Fuzz(func(t *testing.T, s string) {
		ref, err := blob.ParseRef(s)
		if (err == nil) != (err == nil && ref.String() == s) {
			t.Errorf("%q is taken as %q", s, ref)
		}
		if loose, lerr := blob.ParseRefLoose(s); err == nil && (lerr != nil || loose != ref) {
			t.Errorf("%q: strict and loose differ", s)
		}
		blob.ParseSidecar(s)
		blob.ExtOf(s)
	})
}
