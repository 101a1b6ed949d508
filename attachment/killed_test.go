package attachment

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/blob"
	"github.com/piweb-go/piweb/internal/durable"
	"github.com/piweb-go/piweb/internal/signed"
)

// killing ends its process, as kill -9 does, at the n-th call that changes a file
// system.
type killing struct {
	durable.OS
	left int
}

func (k *killing) step() {
	if k.left--; k.left != 0 {
		return
	}
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill()
	}
	select {} // until the signal arrives
}

func (k *killing) OpenFile(name string, flag int, perm os.FileMode) (durable.File, error) {
	k.step()
	f, err := k.OS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &killingFile{f, k}, nil
}

func (k *killing) MkdirAll(name string, perm os.FileMode) error {
	k.step()
	return k.OS.MkdirAll(name, perm)
}

func (k *killing) Rename(from, to string) error {
	k.step()
	return k.OS.Rename(from, to)
}

func (k *killing) Link(from, to string) error {
	k.step()
	return k.OS.Link(from, to)
}

func (k *killing) Remove(name string) error {
	k.step()
	return k.OS.Remove(name)
}

func (k *killing) SyncDir(name string) error {
	k.step()
	return k.OS.SyncDir(name)
}

type killingFile struct {
	durable.File
	k *killing
}

func (f *killingFile) Write(p []byte) (int, error) {
	f.k.step()
	return f.File.Write(p)
}

func (f *killingFile) Sync() error {
	f.k.step()
	return f.File.Sync()
}

// killedProgram is what TestKilled starts: it stores one attachment and deletes it.
func killedProgram(dir string) {
	n, _ := strconv.Atoi(os.Getenv("PIWEB_TEST_KILLED_AT"))
	d, err := blob.NewDir(dir, blob.DirOptions{FS: &killing{left: n}})
	if err != nil {
		panic(err)
	}
	keys, err := signed.NewKeys("secret")
	if err != nil {
		panic(err)
	}
	s, err := Open(Options{Registry: d, Links: NewLinks(keys, "/api", 0, nil)})
	if err != nil {
		panic(err)
	}
	got, err := s.Put(context.Background(), New{SessionID: "s1", Name: "n", MimeType: "a/b"}, bytes.NewReader(bytes.Repeat([]byte("x"), 600<<10)))
	if err != nil {
		panic(err)
	}
	if err := s.Delete(context.Background(), got.ID); err != nil {
		panic(err)
	}
}

// TestKilled kills a process at every step of storing and deleting an attachment:
// what is left is a whole attachment or none, and collecting leaves nothing else.
func TestKilled(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Skip("the test's own program is not known:", err)
	}
	whole, none := 0, 0
	for at := 1; ; at++ {
		dir := filepath.Join(t.TempDir(), "a")
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), "PIWEB_TEST_KILLED="+dir, "PIWEB_TEST_KILLED_AT="+strconv.Itoa(at))
		out, err := cmd.CombinedOutput()
		if err == nil { // it came to its end
			if at < 20 {
				t.Fatalf("only %d steps", at)
			}
			break
		}
		if bytes.Contains(out, []byte("panic")) {
			t.Fatalf("step %d: %s", at, out)
		}
		w := worldIn(t, dir)
		list, err := w.List(t.Context(), "s1")
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range list {
			// During a deletion the descriptor goes first: one that is there has its bytes.
			if got := w.bytes(d); got != strings.Repeat("x", 600<<10) {
				t.Fatalf("step %d: %d bytes", at, len(got))
			}
			whole++
		}
		if len(list) == 0 {
			none++
		}
		if _, err := w.Collect(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if files := w.files(); len(files) != 3*len(list) {
			t.Fatalf("step %d: with %d attachments the folder holds %q", at, len(list), files)
		}
	}
	t.Logf("killed at %d steps: %d left a whole attachment, %d none", whole+none, whole, none)
	if whole == 0 || none == 0 {
		t.Error("the kills did not meet both sides")
	}
}
