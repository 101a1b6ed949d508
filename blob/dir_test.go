package blob_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/piweb-go/piweb/blob"
	"github.com/piweb-go/piweb/blob/blobtest"
	"github.com/piweb-go/piweb/internal/durable"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newDir(t testing.TB, fs durable.FS) *blob.Dir {
	t.Helper()
	d, err := blob.NewDir(filepath.Join(t.TempDir(), "a b", "日本"), blob.DirOptions{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDir(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) blob.Store { return newDir(t, nil) })
}

// noLinks is a file system without hard links, as on Android or FAT.
type noLinks struct{ durable.OS }

func (noLinks) Link(string, string) error { return syscall.EPERM }

func TestDirWithoutHardLinks(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) blob.Store { return newDir(t, noLinks{}) })
}

// TestDirFaults lets every call of a put fail in turn, and cuts writes short:
// afterwards the old object is there or the new one, whole, and nothing else.
func TestDirFaults(t *testing.T) {
	old, fresh := bytes.Repeat([]byte("old"), 100_000), bytes.Repeat([]byte("fresh"), 200_000)
	for _, first := range []bool{true, false} {
		for at := 1; ; at++ {
			fs := &faulty{}
			d := newDir(t, fs)
			if !first {
				if _, err := d.Put(t.Context(), "k", bytes.NewReader(old), blob.PutOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			fs.left = at
			_, err := d.Put(t.Context(), "k", bytes.NewReader(fresh), blob.PutOptions{IfAbsent: first})
			if fs.left > 0 {
				if err != nil {
					t.Fatalf("no call failed, but the put did: %v", err)
				}
				if at < 5 {
					t.Fatalf("only %d calls were tried", at)
				}
				break
			}
			// Where only cleaning up failed, the put may have succeeded.
			got, rerr := os.ReadFile(filepath.Join(d.Root(), "k"))
			switch {
			case err == nil && bytes.Equal(got, fresh):
			case err != nil && errors.Is(err, syscall.ENOSPC) && (bytes.Equal(got, fresh) || !first && bytes.Equal(got, old) || first && rerr != nil):
			default:
				t.Fatalf("call %d failed: put says %v, the file holds %d bytes (%v)", at, err, len(got), rerr)
			}
			for info, err := range d.List(t.Context(), "") {
				if err != nil || info.Key != "k" {
					t.Fatalf("call %d failed: the store holds %q (%v)", at, info.Key, err)
				}
			}
		}
	}
}

// faulty fails one call, the left-th from now, with a full disk.
type faulty struct {
	durable.OS
	left int
}

func (f *faulty) fail() error {
	if f.left > 0 {
		if f.left--; f.left == 0 {
			return syscall.ENOSPC
		}
	}
	return nil
}

func (f *faulty) OpenFile(name string, flag int, perm os.FileMode) (durable.File, error) {
	if err := f.fail(); err != nil {
		return nil, err
	}
	file, err := f.OS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &faultyFile{file, f}, nil
}

func (f *faulty) MkdirAll(name string, perm os.FileMode) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.OS.MkdirAll(name, perm)
}

func (f *faulty) Rename(from, to string) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.OS.Rename(from, to)
}

func (f *faulty) Link(from, to string) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.OS.Link(from, to)
}

func (f *faulty) Remove(name string) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.OS.Remove(name)
}

func (f *faulty) SyncDir(name string) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.OS.SyncDir(name)
}

type faultyFile struct {
	durable.File
	f *faulty
}

func (f *faultyFile) Write(p []byte) (int, error) {
	if err := f.f.fail(); err != nil {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, err
	}
	return f.File.Write(p)
}

func (f *faultyFile) Sync() error {
	if err := f.f.fail(); err != nil {
		return err
	}
	return f.File.Sync()
}

// TestDirLinks: pi-web's W2, a link under a key that leads out of the store.
func TestDirLinks(t *testing.T) {
	d := newDir(t, nil)
	if _, err := d.Put(t.Context(), "own", strings.NewReader("own"), blob.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(d.Root(), "link")); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	if err := os.Mkdir(filepath.Join(d.Root(), "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"link", "folder"} {
		if _, err := d.Get(t.Context(), key); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("get %s: %v", key, err)
		}
		if _, err := d.Stat(t.Context(), key); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("stat %s: %v", key, err)
		}
		if _, err := d.Path(t.Context(), key); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("path %s: %v", key, err)
		}
	}
	for info := range d.List(t.Context(), "") {
		if info.Key != "own" {
			t.Errorf("listed %q", info.Key)
		}
	}
	// A put takes the place of the link and does not write through it.
	if _, err := d.Put(t.Context(), "link", strings.NewReader("new"), blob.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(secret); err != nil || string(data) != "secret" {
		t.Fatalf("the file behind the link holds %q: %v", data, err)
	}
}

// TestSweep: pi-web's W5, what a killed process left.
func TestSweep(t *testing.T) {
	d := newDir(t, nil)
	if n, err := d.Sweep(t.Context(), 0); n != 0 || err != nil {
		t.Fatalf("no folder yet: %d, %v", n, err)
	}
	if _, err := d.Put(t.Context(), "k", strings.NewReader("x"), blob.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(d.Root(), ".piweb-0123.tmp")
	foreign := filepath.Join(d.Root(), ".other")
	for _, name := range []string{left, foreign} {
		if err := os.WriteFile(name, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := d.Sweep(t.Context(), time.Hour); n != 0 || err != nil {
		t.Fatalf("a put that may still run was swept: %d, %v", n, err)
	}
	if n, err := d.Sweep(t.Context(), 0); n != 1 || err != nil {
		t.Fatalf("swept %d: %v", n, err)
	}
	for _, name := range []string{foreign, filepath.Join(d.Root(), "k")} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}

func BenchmarkPut(b *testing.B) {
	const size = 25 << 20
	data := blobtest.Random(b, size)
	floor := func(b *testing.B, dir string) time.Duration {
		start := time.Now()
		sum := sha256.New()
		sum.Write(data)
		f, err := os.Create(filepath.Join(dir, "floor"))
		if err != nil {
			b.Fatal(err)
		}
		_, err = f.Write(data)
		if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
			b.Fatal(err)
		}
		return time.Since(start)
	}
	dir := newDir(b, nil)
	contents := blob.NewContents(dir)
	var puts, floors time.Duration
	b.SetBytes(size)
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		if err := os.MkdirAll(dir.Root(), 0o700); err != nil {
			b.Fatal(err)
		}
		floors += floor(b, dir.Root())
		data[0], data[1] = byte(i), byte(i>>8)
		b.StartTimer()
		start := time.Now()
		ref, err := contents.Put(b.Context(), data, "")
		if err != nil {
			b.Fatal(err)
		}
		puts += time.Since(start)
		b.StopTimer()
		if err := contents.Delete(b.Context(), ref); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(100*float64(floors)/float64(puts), "%of-sha256+write+sync")
}
