package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/piweb-go/piweb/internal/durable"
)

// sideFolder keeps the folder beside a session's file that has its name, without
// the suffix.
type sideFolder struct{}

func (sideFolder) dir(p Place) string { return strings.TrimSuffix(p.Path, ".jsonl") }

func (c sideFolder) Copy(from, to Place) (Undo, error) {
	if _, err := os.Stat(c.dir(from)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err := os.CopyFS(c.dir(to), os.DirFS(c.dir(from))); err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.dir(to)))
	}
	return func() error { return os.RemoveAll(c.dir(to)) }, nil
}

func (c sideFolder) Move(from, to Place) (Undo, error) {
	if _, err := os.Stat(c.dir(from)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err := os.Rename(c.dir(from), c.dir(to)); err != nil {
		return nil, err
	}
	return func() error { return os.Rename(c.dir(to), c.dir(from)) }, nil
}

func (c sideFolder) Remove(at Place) (Undo, error) {
	aside := c.dir(at) + ".aside"
	if err := os.Rename(c.dir(at), aside); err != nil {
		return nil, err
	}
	return func() error { return os.Rename(aside, c.dir(at)) }, nil
}

var errCompanion = errors.New("the companion fails")

// failing does nothing but fail.
type failing struct{}

func (failing) Copy(Place, Place) (Undo, error) { return nil, errCompanion }
func (failing) Move(Place, Place) (Undo, error) { return nil, errCompanion }
func (failing) Remove(Place) (Undo, error)      { return nil, errCompanion }

// mortal is a side folder whose undo does not run after the process ended.
type mortal struct {
	sideFolder
	fs *stepping
}

func (c mortal) wrap(undo Undo, err error) (Undo, error) {
	if err != nil || undo == nil {
		return undo, err
	}
	return func() error {
		if c.fs.dead() {
			return nil
		}
		return undo()
	}, nil
}

func (c mortal) Copy(from, to Place) (Undo, error) { return c.wrap(c.sideFolder.Copy(from, to)) }
func (c mortal) Move(from, to Place) (Undo, error) { return c.wrap(c.sideFolder.Move(from, to)) }
func (c mortal) Remove(at Place) (Undo, error)     { return c.wrap(c.sideFolder.Remove(at)) }

var errStep = errors.New("the step fails")

// stepping is a file system that fails one of its calls that change something,
// once. An odd write arrives by half.
type stepping struct {
	durable.OS
	mu     sync.Mutex
	failAt int // which call, from 1; 0 for none
	n      int
	failed string
	noLink bool // a file system without hard links
	dies   bool // every later call fails too, as if the process had ended
}

func (s *stepping) dead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dies && s.failed != ""
}

func (s *stepping) step(what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n++; s.n == s.failAt || s.dies && s.failed != "" {
		s.failed = what
		return fmt.Errorf("%s: %w", what, errStep)
	}
	return nil
}

func (s *stepping) OpenFile(name string, flag int, perm os.FileMode) (durable.File, error) {
	if flag&(os.O_WRONLY|os.O_RDWR) == 0 {
		return s.OS.OpenFile(name, flag, perm)
	}
	if err := s.step("open"); err != nil {
		return nil, err
	}
	f, err := s.OS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &steppingFile{f, s}, nil
}

func (s *stepping) Stat(name string) (os.FileInfo, error) {
	if err := s.step("stat"); err != nil {
		return nil, err
	}
	return s.OS.Stat(name)
}

func (s *stepping) MkdirAll(name string, perm os.FileMode) error {
	if err := s.step("mkdir"); err != nil {
		return err
	}
	return s.OS.MkdirAll(name, perm)
}

func (s *stepping) Rename(from, to string) error {
	if err := s.step("rename"); err != nil {
		return err
	}
	return s.OS.Rename(from, to)
}

func (s *stepping) Link(from, to string) error {
	if s.noLink {
		return errors.ErrUnsupported
	}
	if err := s.step("link"); err != nil {
		return err
	}
	return s.OS.Link(from, to)
}

func (s *stepping) Remove(name string) error {
	if err := s.step("remove"); err != nil {
		return err
	}
	return s.OS.Remove(name)
}

func (s *stepping) SyncDir(name string) error {
	if err := s.step("syncdir"); err != nil {
		return err
	}
	return s.OS.SyncDir(name)
}

type steppingFile struct {
	durable.File
	s *stepping
}

func (f *steppingFile) Write(p []byte) (int, error) {
	if err := f.s.step("write"); err != nil {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, err
	}
	return f.File.Write(p)
}

func (f *steppingFile) Sync() error {
	if err := f.s.step("sync"); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *steppingFile) Close() error {
	err := f.s.step("close")
	return errors.Join(err, f.File.Close())
}

// tree is what a folder holds: paths and bytes.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			out[rel] = "a folder"
			return nil
		}
		data, err := os.ReadFile(path)
		out[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// home is a folder with a session that has a side folder, and an empty folder
// for another project.
func home(t *testing.T) (root, path, other string) {
	t.Helper()
	root = t.TempDir()
	path, other = filepath.Join(root, "a", "2026_s.jsonl"), filepath.Join(root, "b")
	side := filepath.Join(root, "a", "2026_s")
	for _, dir := range []string{side, other} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	text := head3 + said("aaaaaaaa", "", "one") + said("bbbbbbbb", "aaaaaaaa", "two 漢")
	for name, data := range map[string]string{path: text, filepath.Join(side, "0.bash.log"): "whole output"} {
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root, path, other
}

// operations are all that must be whole or nothing. done tells from a tree
// whether it took place.
func operations(path, other string) map[string]func(c []Companion, o Options) error {
	cwd := filepath.Dir(filepath.Dir(path))
	with := func(o Options, do func(*Session) error) error {
		s, err := Open(path, Options{Now: o.Now})
		if err != nil {
			return err
		}
		defer s.Close()
		s.opts = o
		return do(s)
	}
	return map[string]func(c []Companion, o Options) error{
		"fork": func(c []Companion, o Options) error {
			return with(o, func(s *Session) error {
				_, err := Fork(s, "aaaaaaaa", ForkOptions{Companions: c, Carry: []Payload{SessionInfo{"carried"}}})
				return err
			})
		},
		"fork into a new folder": func(c []Companion, o Options) error {
			return with(o, func(s *Session) error {
				_, err := Fork(s, "bbbbbbbb", ForkOptions{Companions: c, CWD: cwd, Dir: filepath.Join(other, "new", "deep")})
				return err
			})
		},
		"fork all": func(c []Companion, o Options) error {
			return with(o, func(s *Session) error {
				_, err := ForkAll(s, ForkOptions{Companions: c, Dir: other})
				return err
			})
		},
		"import": func(c []Companion, o Options) error {
			_, err := Import(path, ImportOptions{Dir: other, Companions: c}, o)
			return err
		},
		"move": func(c []Companion, o Options) error {
			_, err := Move(path, MoveOptions{Dir: other, CWD: cwd, Companions: c}, o)
			return err
		},
		"move within the folder": func(_ []Companion, o Options) error {
			_, err := Move(path, MoveOptions{Dir: filepath.Dir(path), CWD: cwd}, o)
			return err
		},
		"trash": func(c []Companion, o Options) error {
			_, err := Trash(path, c, o)
			return err
		},
		"restore": func(c []Companion, o Options) error {
			t, ok := inTrash(path)
			if !ok {
				return errors.New("it is not in the trash")
			}
			return Restore(t, c, o)
		},
		"purge": func(c []Companion, o Options) error {
			t, ok := inTrash(path)
			if !ok {
				return errors.New("it is not in the trash")
			}
			return Purge(t, c, o)
		},
	}
}

// prepared makes a home for an operation.
func prepared(t *testing.T, name string) (root, path, other string) {
	t.Helper()
	root, path, other = home(t)
	if name == "restore" || name == "purge" {
		if _, err := Trash(path, []Companion{sideFolder{}}, Options{}); err != nil {
			t.Fatal(err)
		}
	}
	return root, path, other
}

// TestFaultAtEveryStep: whichever call to the file system fails, the operation
// either took place or left everything as it was, side folder included.
func TestFaultAtEveryStep(t *testing.T) {
	_, path, other := home(t)
	for name := range operations(path, other) {
		for _, noLink := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, links %v", name, !noLink), func(t *testing.T) {
				faults := 0
				for at := 1; ; at++ {
					root, path, other := prepared(t, name)
					before := tree(t, root)
					fs := &stepping{failAt: at, noLink: noLink}
					err := operations(path, other)[name]([]Companion{sideFolder{}}, Options{FS: fs})
					after := tree(t, root)
					if errors.Is(err, ErrMayReturn) { // it took place, and says what it could not
						faults++
						err = nil
					}
					if err != nil {
						faults++
						if !errors.Is(err, errStep) {
							t.Fatalf("call %d: error %v", at, err)
						}
						if d := cmp.Diff(before, after); d != "" {
							t.Fatalf("call %d, %s: %v\nleft behind:\n%s", at, fs.failed, err, d)
						}
					} else if d := cmp.Diff(before, after); d == "" {
						t.Fatalf("call %d, %s: it says that it is done, and nothing is", at, fs.failed)
					}
					if fs.failed == "" {
						if err != nil || faults < 2 {
							t.Fatalf("without a fault: %v, after %d faults", err, faults)
						}
						return
					}
				}
			})
		}
	}
}

// TestKilledAtEveryStep: wherever the process ends, every session that a reader
// can see is whole, the source is somewhere, and what was begun can be ended by
// doing it again.
func TestKilledAtEveryStep(t *testing.T) {
	_, path, other := home(t)
	for name := range operations(path, other) {
		t.Run(name, func(t *testing.T) {
			for at := 1; ; at++ {
				root, path, other := prepared(t, name)
				fs := &stepping{failAt: at, dies: true}
				err := operations(path, other)[name]([]Companion{mortal{fs: fs}}, Options{FS: fs})
				if fs.failed == "" {
					if err != nil {
						t.Fatal(err)
					}
					return
				}
				found := 0
				for file, text := range tree(t, root) {
					if filepath.Ext(file) != ".jsonl" {
						continue
					}
					s := open(t, filepath.Join(root, file))
					if !strings.HasSuffix(text, "\n") || len(s.Diagnostics()) > 0 {
						t.Fatalf("call %d, %s: %s is not whole:\n%s", at, fs.failed, file, text)
					}
					if n, err := s.Name(); s.ID() != "s" && name == "fork" && (n != "carried" || err != nil) {
						t.Fatalf("call %d, %s: %s lacks what it must carry", at, fs.failed, file)
					}
					if s.ID() == "s" && s.Len() == 2 {
						found++
					}
				}
				if found == 0 && name != "purge" {
					t.Fatalf("call %d, %s: the session is nowhere", at, fs.failed)
				}
				again(t, name, root, path, other)
			}
		})
	}
}

// again does what was begun once more, and back, where that is possible.
func again(t *testing.T, name, root, path, other string) {
	t.Helper()
	companions := []Companion{sideFolder{}}
	err := operations(path, other)[name](companions, Options{})
	switch name {
	case "move":
		if err != nil && !errors.Is(err, ErrTaken) && !errors.Is(err, ErrNoFile) {
			t.Errorf("moved again: %v", err)
		}
		return
	case "restore":
		if _, serr := os.Stat(path); err != nil && serr != nil {
			t.Errorf("restored again: %v", err)
		}
	case "trash":
		if err != nil {
			t.Fatalf("deleted again: %v", err)
		}
		if err := operations(path, other)["restore"](companions, Options{}); err != nil {
			t.Errorf("restored: %v", err)
		}
	default:
		return
	}
	if _, err := os.Stat(filepath.Join(root, "a", "2026_s", "0.bash.log")); err != nil {
		t.Errorf("%s again: the side folder is lost: %v", name, err)
	}
}

// TestFailingCompanion: a companion that fails before or behind another takes
// the whole operation back.
func TestFailingCompanion(t *testing.T) {
	_, path, other := home(t)
	for name := range operations(path, other) {
		if name == "move within the folder" {
			continue // nothing of a companion's moves
		}
		for _, companions := range [][]Companion{{failing{}, sideFolder{}}, {sideFolder{}, failing{}}} {
			root, path, other := prepared(t, name)
			before := tree(t, root)
			err := operations(path, other)[name](companions, Options{})
			if !errors.Is(err, errCompanion) || !strings.Contains(err.Error(), path) && !strings.Contains(err.Error(), trashName) {
				t.Errorf("%s: error %v", name, err)
			}
			if d := cmp.Diff(before, tree(t, root)); d != "" {
				t.Errorf("%s: left behind:\n%s", name, d)
			}
		}
	}
}

// TestCompanionsFollow: where the session goes its side folder goes.
func TestCompanionsFollow(t *testing.T) {
	for name, want := range map[string]string{
		"fork": "a/*_*/0.bash.log", "fork into a new folder": "b/new/deep/*/0.bash.log", "fork all": "b/*/0.bash.log",
		"import": "b/2026_s/0.bash.log", "move": "b/2026_s/0.bash.log", "trash": "a/.trash/2026_s/2026_s/0.bash.log", "restore": "a/2026_s/0.bash.log",
	} {
		root, path, other := prepared(t, name)
		if err := operations(path, other)[name]([]Companion{sideFolder{}}, Options{}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if found, _ := filepath.Glob(filepath.Join(root, want)); len(found) == 0 {
			t.Errorf("%s: no %s", name, want)
		}
	}
}

// TestUndoThatFails: what could not be taken back is part of the error.
func TestUndoThatFails(t *testing.T) {
	stuck := errors.New("stuck")
	s := steps{func() error { return nil }, func() error { return stuck }}
	if err := s.rollBack(errStep); !errors.Is(err, errStep) || !errors.Is(err, stuck) {
		t.Errorf("error %v", err)
	}
}
