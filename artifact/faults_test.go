package artifact

import (
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/piweb-go/piweb/internal/durable"
)

func TestMain(m *testing.M) {
	if file := os.Getenv(saverEnv); file != "" {
		os.Exit(saver(file))
	}
	goleak.VerifyTestMain(m)
}

// faults is a file system that fails one kind of call, after some that succeed. A
// write that fails arrives by half.
type faults struct {
	durable.FS
	mu    sync.Mutex
	call  string
	err   error
	after int
	n     int // calls that change something
	all   bool
}

type faultyFile struct {
	durable.File
	f *faults
}

func (f *faults) wrap(fs durable.FS) durable.FS {
	f.FS = fs
	return f
}

func (f *faults) arm(call string, err error, after int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.call, f.err, f.after = call, err, after
}

func (f *faults) fail(call string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
	if f.all && f.n == f.after || !f.all && f.call == call {
		if !f.all && f.after > 0 {
			f.after--
			return nil
		}
		return f.err
	}
	return nil
}

func (f *faults) OpenFile(name string, flag int, perm os.FileMode) (durable.File, error) {
	if err := f.fail("open"); err != nil {
		return nil, err
	}
	file, err := f.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &faultyFile{file, f}, nil
}

func (f *faults) Rename(from, to string) error {
	if err := f.fail("rename"); err != nil {
		return err
	}
	return f.FS.Rename(from, to)
}

func (f *faults) Link(from, to string) error {
	if err := f.fail("link"); err != nil {
		return err
	}
	return f.FS.Link(from, to)
}

func (f *faults) Remove(name string) error {
	if err := f.fail("remove"); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

func (f *faults) SyncDir(name string) error {
	if err := f.fail("syncdir"); err != nil {
		return err
	}
	return f.FS.SyncDir(name)
}

func (f *faultyFile) Write(p []byte) (int, error) {
	if err := f.f.fail("write"); err != nil {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, err
	}
	return f.File.Write(p)
}

func (f *faultyFile) Sync() error {
	if err := f.f.fail("sync"); err != nil {
		return err
	}
	return f.File.Sync()
}

// files are the names and contents in the folder of a store, without marks.
func files(t testing.TB, s *Store) map[string]string {
	t.Helper()
	out := map[string]string{}
	list, err := os.ReadDir(s.Folder())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if _, mark := artifacts.marked(e.Name()); mark {
			continue
		}
		data, err := os.ReadFile(s.Folder() + "/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(data)
	}
	return out
}
