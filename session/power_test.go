package session

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/piweb-go/piweb/internal/durable"
)

// disk is a file system that knows what would be left after a power cut: of a file
// the bytes of its last sync, of a folder the names of its last sync, and nothing
// that was not synced. A real disk may keep more.
type disk struct {
	stepping
	root  string
	files map[string]*node            // by path, as a running program sees them
	names map[string]map[string]*node // by folder, as they are on the disk; nil is a folder
}

// node is one file, whatever its names.
type node struct{ synced []byte }

// newDisk takes everything below root for safe.
func newDisk(t *testing.T, root string) *disk {
	d := &disk{root: root, files: map[string]*node{}, names: map[string]map[string]*node{}}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var n *node
		if e.IsDir() {
			d.names[path] = map[string]*node{}
		} else {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			n = &node{data}
			d.files[path] = n
		}
		if path != root {
			d.names[filepath.Dir(path)][e.Name()] = n
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *disk) OpenFile(name string, flag int, perm os.FileMode) (durable.File, error) {
	f, err := d.stepping.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	n, ok := d.files[name]
	if !ok {
		n = &node{}
		d.files[name] = n
	}
	return &diskFile{f, n, name}, nil
}

type diskFile struct {
	durable.File
	n    *node
	name string // when it was opened; files are renamed after their last sync
}

func (f *diskFile) Sync() error {
	if err := f.File.Sync(); err != nil {
		return err
	}
	data, err := os.ReadFile(f.name)
	if err == nil {
		f.n.synced = data
	}
	return err
}

func (d *disk) Rename(from, to string) error {
	err := d.stepping.Rename(from, to)
	if err == nil {
		d.files[to] = d.files[from]
		delete(d.files, from)
	}
	return err
}

func (d *disk) Link(from, to string) error {
	err := d.stepping.Link(from, to)
	if err == nil {
		d.files[to] = d.files[from]
	}
	return err
}

func (d *disk) Remove(name string) error {
	err := d.stepping.Remove(name)
	if err == nil {
		delete(d.files, name)
	}
	return err
}

func (d *disk) SyncDir(dir string) error {
	if err := d.stepping.SyncDir(dir); err != nil {
		return err
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	d.names[dir] = map[string]*node{}
	for _, e := range list {
		d.names[dir][e.Name()] = d.files[filepath.Join(dir, e.Name())]
	}
	return nil
}

// cut writes what is left into a fresh folder.
func (d *disk) cut(t *testing.T) string {
	t.Helper()
	left := t.TempDir()
	var lay func(dir, to string)
	lay = func(dir, to string) {
		if err := os.MkdirAll(to, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, n := range d.names[dir] {
			if n == nil {
				lay(filepath.Join(dir, name), filepath.Join(to, name))
			} else if err := os.WriteFile(filepath.Join(to, name), n.synced, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	lay(d.root, left)
	return left
}

// sessionsIn are the session files below a folder.
func sessionsIn(t *testing.T, root string) map[string]string {
	t.Helper()
	out := tree(t, root)
	maps.DeleteFunc(out, func(name, text string) bool { return filepath.Ext(name) != ".jsonl" || text == "a folder" })
	return out
}

// powered are the operations that end with what they did on the disk.
func powered(path, other string) map[string]func(o Options) error {
	all := map[string]func(o Options) error{}
	for name, do := range operations(path, other) {
		all[name] = func(o Options) error { return do(nil, o) }
	}
	commit := func(p ...Payload) func(o Options) error {
		return func(o Options) error {
			s, err := Open(path, o)
			if err != nil {
				return err
			}
			defer s.Close()
			_, err = s.Commit(p...)
			return err
		}
	}
	all["commit"] = commit(SessionInfo{"committed"}, user("and more"))
	all["migrate"] = commit(SessionInfo{"migrated"})
	all["move the leaf"] = func(o Options) error {
		s, err := Open(path, o)
		if err != nil {
			return err
		}
		defer s.Close()
		_, err = s.MoveLeaf("aaaaaaaa")
		return err
	}
	all["create"] = func(o Options) error {
		s, err := Create(NewSession{Dir: filepath.Join(other, "made", "for it"), CWD: "/w", ID: "fresh"}, o)
		if err != nil {
			return err
		}
		defer s.Close()
		_, err = s.Append(user("first"))
		return errors.Join(err, s.Sync())
	}
	return all
}

func powerHome(t *testing.T, name string) (root, path, other string) {
	t.Helper()
	root, path, other = home(t)
	switch name {
	case "restore", "purge":
		if name == "purge" { // another session, which is none of its business
			if err := os.WriteFile(filepath.Join(other, "2026_s.jsonl"), read(t, path), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Trash(path, nil, Options{}); err != nil {
			t.Fatal(err)
		}
	case "migrate":
		data := string(read(t, path))
		if err := os.WriteFile(path, []byte(strings.Replace(data, `"version":3`, `"version":2`, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root, path, other
}

// TestPowerCut: what an operation said is done is done after a power cut in the
// same moment, to the byte, and what it took away stays away. Wherever the power fails before, every session that is
// left is whole, the source is one of them, and the next append to it is whole too.
func TestPowerCut(t *testing.T) {
	_, path, other := home(t)
	for name := range powered(path, other) {
		t.Run(name, func(t *testing.T) {
			for at := 1; ; at++ {
				root, path, other := powerHome(t, name)
				d := newDisk(t, root)
				d.failAt, d.dies = at, true
				err := powered(path, other)[name](Options{FS: d})
				if d.failed == "" {
					if err != nil || at < 3 {
						t.Fatalf("without a fault: %v, after %d calls", err, at)
					}
					left, is := sessionsIn(t, d.cut(t)), sessionsIn(t, root)
					for file, text := range is {
						if left[file] != text {
							t.Errorf("%s: it said that it is done, and left is\n%q\nof\n%q", file, left[file], text)
						}
					}
					for file := range left {
						if _, ok := is[file]; !ok {
							t.Errorf("%s: it said that it is done, and the file is there again", file)
						}
					}
					return
				}
				checkLeft(t, fmt.Sprintf("call %d, %s", at, d.failed), d.cut(t), name)
			}
		})
	}
}

// checkLeft holds what a power cut left against what must be there.
func checkLeft(t *testing.T, when, left, name string) {
	t.Helper()
	source := 0
	for file, text := range sessionsIn(t, left) {
		path := filepath.Join(left, file)
		s := mustOpen(t, path, Options{Strict: true})
		if d := oddLines(s); len(d) > 0 || !strings.HasSuffix(text, "\n") {
			t.Fatalf("%s: %s is not whole: %v\n%q", when, file, d, text)
		}
		if s.ID() == "s" && s.Len() >= 2 && slices.Contains(branchOf(t, s), "bbbbbbbb") || name == "move the leaf" && s.Len() == 3 {
			source++
		}
		before := s.Leaf()
		ids, err := s.Append(SessionInfo{"after the cut"})
		if err != nil {
			t.Fatalf("%s: append to %s: %v", when, file, err)
		}
		again := mustOpen(t, path, Options{Strict: true})
		if e, ok := again.Entry(ids[0]); !ok || e.Parent != before || len(oddLines(again)) > 0 {
			t.Fatalf("%s: the append to %s is not whole", when, file)
		}
	}
	if source == 0 {
		t.Fatalf("%s: the session is nowhere: %v", when, slices.Collect(maps.Keys(tree(t, left))))
	}
}

// oddLines are the diagnostics but for that of a leaf which was moved back.
func oddLines(s *Session) []Diagnostic {
	return slices.DeleteFunc(s.Diagnostics(), func(d Diagnostic) bool { return d.Kind == KindLeaves })
}

func branchOf(t *testing.T, s *Session) []ID {
	t.Helper()
	b, err := s.Branch(s.Leaf())
	if err != nil {
		t.Fatal(err)
	}
	return b.IDs()
}

// TestTornByPowerCut: of appends that were not synced any number of bytes may be
// left. What was synced is there, at most what was not is lost, and the next append
// is whole.
func TestTornByPowerCut(t *testing.T) {
	_, path, _ := home(t)
	s := mustOpen(t, path, Options{})
	if _, err := s.Commit(SessionInfo{"durable 漢"}); err != nil {
		t.Fatal(err)
	}
	synced := read(t, path)
	if _, err := s.Append(SessionInfo{"accepted 字"}, user("with \" and \\ and 😀")); err != nil {
		t.Fatal(err)
	}
	all := read(t, path)
	for keep := len(synced); keep <= len(all); keep++ {
		file := filepath.Join(t.TempDir(), "s.jsonl")
		if err := os.WriteFile(file, all[:keep], 0o600); err != nil {
			t.Fatal(err)
		}
		lost := mustOpen(t, file, Options{})
		if name, err := lost.Name(); err != nil || name != "durable 漢" && name != "accepted 字" {
			t.Fatalf("%d bytes: name %q, %v", keep, name, err)
		}
		was := lost.Len()
		if whole := 3 + bytes.Count(all[len(synced):keep], []byte("\n")); was < whole || was > whole+1 {
			t.Fatalf("%d bytes: %d entries, %d whole lines", keep, was, whole)
		}
		before := lost.Leaf()
		ids, err := lost.Commit(SessionInfo{"again"})
		if err != nil {
			t.Fatal(err)
		}
		again := mustOpen(t, file, Options{Strict: true})
		if e, ok := again.Entry(ids[0]); !ok || e.Parent != before || again.Len() != was+1 {
			t.Fatalf("%d bytes: the next append is not whole", keep)
		}
		// A file that was prolonged and never written holds NULs instead.
		nuls := append(bytes.Clone(all[:keep]), make([]byte, len(all)-keep)...)
		if err := os.WriteFile(file+"2.jsonl", nuls, 0o600); err != nil {
			t.Fatal(err)
		}
		zeroed := mustOpen(t, file+"2.jsonl", Options{})
		if zeroed.Len() != was {
			t.Fatalf("%d bytes and NULs: %d entries, want %d", keep, zeroed.Len(), was)
		}
		if _, err := zeroed.Commit(SessionInfo{"again"}); err != nil {
			t.Fatal(err)
		}
		if again := mustOpen(t, file+"2.jsonl", Options{Strict: true}); again.Len() != was+1 {
			t.Fatalf("%d bytes and NULs: the next append is not whole", keep)
		}
	}
}

// TestFullDisk: a disk that is full, or a file that may not grow, at every byte of what
// an operation writes: it either took place or left everything as it was, and works
// when there is room.
func TestFullDisk(t *testing.T) {
	_, path, other := home(t)
	for name := range powered(path, other) {
		if name == "trash" || name == "restore" || name == "purge" {
			continue // they write nothing
		}
		t.Run(name, func(t *testing.T) {
			var before map[string]string // the same each time
			step := 1
			if testing.Short() {
				step = 13
			}
			for room := 0; ; room += step {
				cause := []error{syscall.ENOSPC, syscall.EFBIG}[room%2]
				root, path, other := powerHome(t, name)
				if before == nil {
					before = tree(t, root)
				}
				fs := &faulty{allow: room, err: cause, noSync: true}
				err := powered(path, other)[name](Options{FS: fs})
				if fs.allow >= 0 {
					if err != nil || room == 0 {
						t.Fatalf("with room for it: %v", err)
					}
					return
				}
				after := tree(t, root)
				if !errors.Is(err, cause) {
					t.Fatalf("%d bytes of room: %v", room, err)
				}
				for file, text := range before {
					if after[file] != text && name != "migrate" {
						t.Fatalf("%d bytes of room: %s changed", room, file)
					}
				}
				for file := range after {
					if _, was := before[file]; !was && (filepath.Ext(file) == ".jsonl" || strings.Contains(file, ".tmp")) {
						t.Fatalf("%d bytes of room: %s is left behind", room, file)
					}
				}
				if err := powered(path, other)[name](Options{FS: &faulty{allow: -1, noSync: true}}); err != nil {
					t.Fatalf("%d bytes of room, then enough: %v", room, err)
				}
			}
		})
	}
}

// TestBrokenIndex: whatever happens to an index when it is written, and wherever it
// is cut, a session opens as without it.
func TestBrokenIndex(t *testing.T) {
	_, path, _ := home(t)
	dir := t.TempDir()
	o := Options{IndexDir: filepath.Join(dir, "index"), indexMin: 1}
	check := func(what string, o Options) {
		t.Helper()
		s, err := Open(path, o)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		defer s.Close()
		if s.Len() != 2 || s.Leaf() != "bbbbbbbb" || len(s.Diagnostics()) > 0 {
			t.Fatalf("%s: %d entries, leaf %s, %v", what, s.Len(), s.Leaf(), s.Diagnostics())
		}
		if _, err := s.Context(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	for at := 1; ; at++ {
		fs := &stepping{failAt: at, dies: true}
		faultyIndex := o
		faultyIndex.FS = fs
		s, err := Open(path, faultyIndex)
		if err == nil {
			err = s.Close()
		}
		if fs.failed == "" {
			if err != nil || at < 4 {
				t.Fatalf("without a fault: %v, after %d calls", err, at)
			}
			break
		}
		check(fmt.Sprintf("call %d, %s", at, fs.failed), o)
		if err := os.RemoveAll(o.IndexDir); err != nil {
			t.Fatal(err)
		}
	}
	for room := 0; ; room++ { // a full disk, at every byte
		if err := os.RemoveAll(o.IndexDir); err != nil {
			t.Fatal(err)
		}
		fs := &faulty{allow: room, err: syscall.ENOSPC, noSync: true}
		full := o
		full.FS = fs
		check(fmt.Sprintf("%d bytes of room", room), full) // the close tries again
		check(fmt.Sprintf("%d bytes of room, and again", room), o)
		left := tree(t, dir)
		if fs.allow >= 0 {
			if room < 100 {
				t.Fatalf("%d bytes of room: no index was written", room)
			}
			break
		}
		for file := range left {
			if durable.IsTemp(filepath.Base(file)) {
				t.Fatalf("%d bytes of room: %s is left behind", room, file)
			}
		}
	}
	check("made", o)
	files, err := filepath.Glob(filepath.Join(o.IndexDir, "*.idx"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	whole := read(t, files[0])
	for n := range whole {
		if err := os.WriteFile(files[0], whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		check(fmt.Sprintf("cut to %d bytes", n), o)
	}
}

// TestLeftoversAreSwept: what a killed operation left in a folder of sessions goes with
// the next one that writes a whole file there, once it is old; a young one may be
// another process at work.
func TestLeftoversAreSwept(t *testing.T) {
	for name := range powered("", "") {
		if slices.Contains([]string{"trash", "restore", "purge", "commit", "move the leaf", "create"}, name) {
			continue // they write no whole file into a folder of sessions
		}
		root, path, other := powerHome(t, name)
		dirs := map[string]string{"fork": filepath.Dir(path), "migrate": filepath.Dir(path), "move within the folder": filepath.Dir(path), "fork into a new folder": filepath.Join(other, "new", "deep")}
		dir, ok := dirs[name]
		if !ok {
			dir = other
		}
		young, old := filepath.Join(dir, ".piweb-0123456789abcdef.tmp"), filepath.Join(dir, ".piweb-fedcba9876543210.tmp")
		long := time.Now().Add(-2 * durable.LeftoverAge)
		err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(young, nil, 0o600), os.WriteFile(old, nil, 0o600), os.Chtimes(old, long, long))
		if err != nil {
			t.Fatal(err)
		}
		if err := powered(path, other)[name](Options{}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := os.Stat(old); err == nil {
			t.Errorf("%s: the old file is there: %v", name, slices.Sorted(maps.Keys(tree(t, root))))
		}
		if _, err := os.Stat(young); err != nil {
			t.Errorf("%s: the young file is gone: %v", name, err)
		}
	}
}
