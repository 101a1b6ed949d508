package artifact

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/piweb-go/piweb/internal/durable"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

// home makes a root with a session of two messages that has kept two outputs, and
// a second folder of sessions.
func home(t testing.TB) (root, path, other string) {
	t.Helper()
	root = t.TempDir()
	dir := filepath.Join(root, "sessions", "--p 名前--")
	s, err := session.Create(session.NewSession{Dir: dir, CWD: root}, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Commit(session.Message(&message.User{Content: message.Content{message.Text("q")}, Timestamp: 1})); err != nil {
		t.Fatal(err)
	}
	st := New(s.Path(), Options{})
	save(t, st, "bash", "zero")
	save(t, st, "read", "one")
	fill(t, st, map[string]string{"0-a.md": "answer", "0-a.jsonl": "{}\n", "draft.txt": "theirs"})
	if err := os.MkdirAll(filepath.Join(st.Folder(), "0-a"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(st.Folder(), "0-a", "0.bash.log"), []byte("deep"), 0o600); err != nil {
		t.Fatal(err)
	}
	return root, s.Path(), filepath.Join(root, "sessions", "--other--")
}

// tree is all files below a folder with their contents.
func tree(t testing.TB, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			out[rel] = "/"
			return nil
		}
		if d.Type()&fs.ModeSymlink != 0 {
			to, err := os.Readlink(path)
			out[rel] = "->" + to
			return err
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

func open(t testing.TB, path string) *session.Session {
	t.Helper()
	s, err := session.Open(path, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestW10ForkTakesTheOutputsAlong: W10, a fork has what its source has, under the same
// ids, and gives new ones; W18, both are apart from then on.
func TestW10ForkTakesTheOutputsAlong(t *testing.T) {
	_, path, _ := home(t)
	src := open(t, path)
	f, err := session.Fork(src, src.Leaf(), session.ForkOptions{Companions: []session.Companion{Companion{}}})
	if err != nil {
		t.Fatal(err)
	}
	a, b := New(path, Options{}), New(f.Path, Options{})
	if d := cmp.Diff(tree(t, a.Folder()), tree(t, b.Folder())); d != "" {
		t.Errorf("(-source +fork):\n%s", d)
	}
	if x, y := save(t, a, "bash", "in the source"), save(t, b, "bash", "in the fork"); x != "2" || y != "2" {
		t.Errorf("ids %s and %s", x, y)
	}
	if kept(t, a, "2") != "in the source" || kept(t, b, "2") != "in the fork" {
		t.Error("the outputs are not apart")
	}
	// A log that is appended to must not be shared, an output that is replaced neither.
	if err := os.WriteFile(filepath.Join(a.Folder(), "0-a.jsonl"), []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := a.SaveAgent("0-a", AgentOutput{Text: "again"}); err != nil {
		t.Fatal(err)
	}
	after := tree(t, b.Folder())
	if after["0-a.jsonl"] != "{}\n" || after["0-a.md"] != "answer" {
		t.Errorf("a change of the source shows in the fork: %q", after)
	}
}

// TestForkLeavesLinksOut: what would lead elsewhere is neither followed nor copied.
func TestForkLeavesLinksOut(t *testing.T) {
	root, path, _ := home(t)
	st := New(path, Options{})
	secret := filepath.Join(root, "secret")
	if err := os.WriteFile(secret, []byte("SECRET"), 0o600); err != nil {
		t.Fatal(err)
	}
	fill(t, st, map[string]string{"7.x.log": "->" + secret, "sub.md": "->" + secret, "d": "->" + root})
	src := open(t, path)
	f, err := session.Fork(src, src.Leaf(), session.ForkOptions{Companions: []session.Companion{Companion{}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range tree(t, Folder(f.Path)) {
		if text == "SECRET" || name == "7.x.log" || name == "d" {
			t.Errorf("%s was copied", name)
		}
	}
}

// TestW18AForkThatCannotCopyIsNoFork: W18, outputs that cannot be copied roll the fork
// back, and the error says why. TestFaultModel has the other ways to fail.
func TestW18AForkThatCannotCopyIsNoFork(t *testing.T) {
	root, path, _ := home(t)
	st := New(path, Options{})
	if err := os.Rename(st.Folder(), st.Folder()+".real"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(st.Folder()+".real", st.Folder()); err != nil {
		t.Fatal(err)
	}
	before := len(tree(t, filepath.Join(root, "sessions")))
	src := open(t, path)
	_, err := session.Fork(src, src.Leaf(), session.ForkOptions{Companions: []session.Companion{Companion{}}})
	if !errors.Is(err, ErrLinked) || !strings.Contains(err.Error(), "no fork was made") {
		t.Errorf("error %v", err)
	}
	if after := len(tree(t, filepath.Join(root, "sessions"))); after != before {
		t.Errorf("%d files before, %d after", before, after)
	}
}

var errStep = errors.New("the step fails")

// stepping fails one of its calls that change something.
type stepping struct {
	durable.OS
	mu     sync.Mutex
	failAt int
	n      int
	failed string
	noLink bool
	exdev  bool // renames and links from folder to folder cross file systems
}

func (s *stepping) step(what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n++; s.n == s.failAt {
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
	if s.exdev && filepath.Base(from) == filepath.Base(to) && !IsAside(filepath.Base(filepath.Dir(from))) && !IsAside(filepath.Base(filepath.Dir(to))) {
		if info, err := os.Stat(from); err == nil && info.IsDir() {
			return &os.LinkError{Op: "rename", Old: from, New: to, Err: syscall.EXDEV}
		}
	}
	return s.OS.Rename(from, to)
}

func (s *stepping) Link(from, to string) error {
	if err := s.step("link"); err != nil {
		return err
	}
	if s.noLink {
		return syscall.EPERM
	}
	if session := strings.HasPrefix(filepath.Base(from), "20"); s.exdev && !session && filepath.Dir(from) != filepath.Dir(to) {
		return &os.LinkError{Op: "link", Old: from, New: to, Err: syscall.EXDEV}
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

// operations are what moves sessions. Each takes place, or leaves everything as it
// was.
func operations(path, other string) map[string]func(c []session.Companion, o session.Options) error {
	return map[string]func(c []session.Companion, o session.Options) error{
		"fork": func(c []session.Companion, o session.Options) error {
			s, err := session.Open(path, session.Options{FS: o.FS})
			if err != nil {
				return err
			}
			defer s.Close()
			_, err = session.Fork(s, s.Leaf(), session.ForkOptions{Companions: c})
			return err
		},
		"move": func(c []session.Companion, o session.Options) error {
			_, err := session.Move(path, session.MoveOptions{Dir: other, CWD: filepath.Dir(other), Companions: c}, o)
			return err
		},
		"trash": func(c []session.Companion, o session.Options) error {
			_, err := session.Trash(path, c, o)
			return err
		},
		"restore": func(c []session.Companion, o session.Options) error {
			list, err := session.ListTrash(filepath.Dir(path))
			if err != nil || len(list) != 1 {
				return fmt.Errorf("%v in the trash, %w", list, err)
			}
			return session.Restore(list[0], c, o)
		},
		"purge": func(c []session.Companion, o session.Options) error {
			list, err := session.ListTrash(filepath.Dir(path))
			if err != nil || len(list) != 1 {
				return fmt.Errorf("%v in the trash, %w", list, err)
			}
			err = session.Purge(list[0], c, o)
			if err != nil && !errors.Is(err, session.ErrMayReturn) {
				return err
			}
			return errors.Join(err, Purged(list[0].Place))
		},
	}
}

// TestFaultModel: whichever call to the file system fails in a fork, a move, a trip
// to the trash or out of it, the session and its outputs are as before, or the
// operation took place with both.
func TestFaultModel(t *testing.T) {
	for _, name := range []string{"fork", "move", "trash", "restore", "purge"} {
		for _, variant := range []string{"", "no links", "other file system", "merge", "merge, no links", "merge, other file system", "merge after a merge"} {
			merge, across := strings.HasPrefix(variant, "merge"), strings.HasSuffix(variant, "other file system")
			if across && name != "move" && name != "trash" && name != "restore" || merge && name != "move" && name != "restore" {
				continue
			}
			t.Run(strings.TrimSpace(name+" "+variant), func(t *testing.T) {
				faults := 0
				for at := 1; ; at++ {
					root, path, other := home(t)
					if name == "restore" || name == "purge" {
						if _, err := session.Trash(path, []session.Companion{Companion{}}, session.Options{}); err != nil {
							t.Fatal(err)
						}
					}
					target := New(filepath.Join(other, filepath.Base(path)), Options{})
					if name == "restore" {
						target = New(path, Options{})
					}
					switch {
					case variant == "merge after a merge": // it was killed in the middle
						fill(t, target, map[string]string{"0.bash.log": "zero", "0-a.md": "answer"})
						if err := os.MkdirAll(filepath.Join(target.Folder(), "0-a"), 0o700); err != nil {
							t.Fatal(err)
						}
						if err := os.WriteFile(filepath.Join(target.Folder(), "0-a", "0.bash.log"), []byte("deep"), 0o600); err != nil {
							t.Fatal(err)
						}
					case merge && name == "restore":
						fill(t, target, map[string]string{"7.theirs.log": "theirs"})
					case merge:
						fill(t, target, map[string]string{"1.theirs.log": "theirs", "draft.txt": "theirs too"})
					}
					before := tree(t, root)
					fs := &stepping{failAt: at, noLink: strings.HasSuffix(variant, "no links"), exdev: across}
					err := operations(path, other)[name]([]session.Companion{Companion{OS: fs, Whole: name == "restore"}}, session.Options{FS: fs})
					after := tree(t, root)
					if errors.Is(err, session.ErrMayReturn) {
						faults++
						for name := range after {
							if strings.Contains(name, ".trash/") {
								t.Errorf("call %d, %s: %v\nleft behind: %s", at, fs.failed, err, name)
							}
						}
					} else if err != nil {
						faults++
						if !errors.Is(err, errStep) {
							t.Fatalf("call %d, %s: %v", at, fs.failed, err)
						}
						if d := cmp.Diff(before, after); d != "" {
							t.Fatalf("call %d, %s: %v\nleft behind:\n%s", at, fs.failed, err, d)
						}
					} else if cmp.Equal(before, after) {
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

// TestMoveMerges: into a folder that is there, everything goes that is not taken by
// name or id; the rest stays and is told.
func TestMoveMerges(t *testing.T) {
	_, path, other := home(t)
	target := filepath.Join(other, filepath.Base(path))
	fill(t, New(target, Options{}), map[string]string{"1.theirs.log": "theirs", "draft.txt": "kept"})
	var warned string
	to, err := session.Move(path, session.MoveOptions{Dir: other, CWD: filepath.Dir(other), Companions: []session.Companion{Companion{Warn: func(s string) { warned = s }}}}, session.Options{})
	if err != nil || to != target {
		t.Fatal(to, err)
	}
	got := tree(t, Folder(target))
	if got["0.bash.log"] != "zero" || got["1.theirs.log"] != "theirs" || got["1.read.log"] != "" || got["draft.txt"] != "kept" || got["0-a.md"] != "answer" {
		t.Errorf("%v", got)
	}
	if left := tree(t, Folder(path)); left["1.read.log"] != "one" || !strings.Contains(warned, "1.read.log") {
		t.Errorf("left %v, warned %q", left, warned)
	}
	if id := save(t, New(target, Options{}), "bash", "x"); id != "2" {
		t.Errorf("the next id is %s", id)
	}
	// A link on either side moves nothing.
	_, path, other = home(t)
	target = filepath.Join(other, filepath.Base(path))
	if err := os.MkdirAll(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), Folder(target)); err != nil {
		t.Fatal(err)
	}
	if _, err := session.Move(path, session.MoveOptions{Dir: other, CWD: filepath.Dir(other), Companions: []session.Companion{Companion{}}}, session.Options{}); !errors.Is(err, ErrLinked) {
		t.Errorf("move onto a link: %v", err)
	}
	if got := kept(t, New(path, Options{}), "0"); got != "zero" {
		t.Errorf("after a refused move: %q", got)
	}
}

// TestPurgeLeavesNothing: what is removed for good is gone, and only that.
func TestPurgeLeavesNothing(t *testing.T) {
	root, path, other := home(t)
	if _, err := session.Trash(path, []session.Companion{Companion{}}, session.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := operations(path, other)["purge"]([]session.Companion{Companion{}}, session.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, filepath.Join(root, "sessions")); len(got) != 2 {
		t.Errorf("left: %v", got)
	}
}

// TestNothingToFollow: a session without a folder, and a file that can have none,
// are no errors and leave nothing.
func TestNothingToFollow(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) session.Place { return session.Place{Path: filepath.Join(dir, name), ID: "x"} }
	for _, from := range []session.Place{at("none.jsonl"), at("extensionless"), {}} {
		for what, do := range map[string]func() (session.Undo, error){
			"copy":   func() (session.Undo, error) { return Companion{}.Copy(from, at("to.jsonl")) },
			"move":   func() (session.Undo, error) { return Companion{}.Move(from, at("to.jsonl")) },
			"remove": func() (session.Undo, error) { return Companion{}.Remove(from) },
		} {
			if undo, err := do(); undo != nil || err != nil {
				t.Errorf("%s of %q: %v", what, from.Path, err)
			}
		}
	}
	if list, _ := os.ReadDir(dir); len(list) != 0 {
		t.Errorf("left: %v", list)
	}
}
