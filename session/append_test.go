package session

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/piweb-go/piweb/internal/durable"
	"github.com/piweb-go/piweb/message"
)

// faulty is a file system whose next writes and syncs fail on demand.
type faulty struct {
	durable.OS
	allow   int   // bytes that may still be written, -1 for no limit
	err     error // the error of a write over the limit
	syncErr error
	onFail  func(path string) // runs before a failing write returns
	noSync  bool              // syncs cost nothing, for tests that are not about them
}

type faultyFile struct {
	durable.File
	fs   *faulty
	name string
}

func (f *faulty) OpenFile(name string, flag int, perm os.FileMode) (durable.File, error) {
	file, err := f.OS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &faultyFile{file, f, name}, nil
}

func (f *faultyFile) Write(p []byte) (int, error) {
	if f.fs.allow < 0 || f.fs.allow >= len(p) {
		return f.File.Write(p)
	}
	n, err := f.File.Write(p[:f.fs.allow])
	f.fs.allow = -1 // one failure
	if f.fs.onFail != nil {
		f.fs.onFail(f.name)
	}
	if err == nil {
		err = f.fs.err
	}
	return n, err
}

func (f *faultyFile) Sync() error {
	if f.fs.syncErr != nil {
		return f.fs.syncErr
	}
	if f.fs.noSync {
		return nil
	}
	return f.File.Sync()
}

func (f *faulty) SyncDir(dir string) error {
	if f.noSync {
		return nil
	}
	return f.OS.SyncDir(dir)
}

// start makes a session with two messages in a fresh folder.
func start(t *testing.T, opts Options) *Session {
	t.Helper()
	dir := t.TempDir()
	s, err := Create(NewSession{Dir: filepath.Join(dir, "sessions"), CWD: dir}, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	mustAppend(t, s, ModelChange{"p", "m"}, ThinkingLevelChange{"off"})
	mustAppend(t, s, user("q"), answer("a"))
	return s
}

var wantStart = [][2]string{{"user", "q"}, {"assistant", "a"}}

func TestCreateWritesAtTheFirstUserMessage(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 11, 29, 17, 47, 22, 347e6, time.UTC)
	s, err := Create(NewSession{Dir: filepath.Join(dir, DirName("/a b/ü")), CWD: "/a b/ü"}, Options{Now: func() time.Time { return at }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	mustAppend(t, s, ModelChange{"p", "m"}, SessionInfo{"name"}, Message(&message.System{}))
	if s.Persisted() {
		t.Fatal("a file before the first user message")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Fatal("a folder before the first user message")
	}
	mustAppend(t, s, user("hello"))
	want := filepath.Join(dir, "--a b-ü--", "2026-11-29T17-47-22-347Z_"+s.ID()+".jsonl")
	if s.Path() != want {
		t.Errorf("path %s, want %s", s.Path(), want)
	}
	data := string(read(t, want))
	head := `{"type":"session","version":3,"id":"` + s.ID() + `","timestamp":"2026-11-29T17:47:22.347Z","cwd":"/a b/ü"}` + "\n"
	if !strings.HasPrefix(data, head) || strings.Count(data, "\n") != 5 {
		t.Errorf("file:\n%s", data)
	}
	again := open(t, want)
	if again.Len() != 4 || len(again.Diagnostics()) != 0 || again.Leaf() != s.Leaf() {
		t.Errorf("reopened: %d entries, %v", again.Len(), again.Diagnostics())
	}
	first, _ := again.Entry(s.entries[0].ID)
	raw, _ := again.Raw(first)
	if want := `{"type":"model_change","id":"` + string(first.ID) + `","parentId":null,"timestamp":"2026-11-29T17:47:22.347Z","provider":"p","modelId":"m"}`; string(raw) != want {
		t.Errorf("got %s\nwant %s", raw, want)
	}
}

func TestCreateNeverOverwrites(t *testing.T) {
	s, err := Create(NewSession{Dir: t.TempDir(), CWD: "/x"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := os.WriteFile(s.Path(), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(user("x")); !errors.Is(err, os.ErrExist) {
		t.Errorf("error %v, want ErrExist", err)
	}
	if s.Len() != 0 || string(read(t, s.Path())) != "mine" {
		t.Error("a refused create left something behind")
	}
}

// TestAppendFailsAtEveryOffset: a write that stops anywhere loses nothing that
// was there, is not half there itself, and the next append is whole.
func TestAppendFailsAtEveryOffset(t *testing.T) {
	for _, cause := range []error{syscall.ENOSPC, syscall.EFBIG} {
		for at := 0; ; at++ {
			fs := &faulty{allow: -1, err: cause}
			s := start(t, Options{FS: fs})
			before := read(t, s.Path())
			fs.allow = at
			_, err := s.Append(user("lost 漢字 😀"), answer("lost too"))
			if err == nil {
				break // the whole write fitted
			}
			if !errors.Is(err, cause) || !strings.Contains(err.Error(), "nothing was recorded") {
				t.Fatalf("at %d: error %v", at, err)
			}
			if !bytes.Equal(before, read(t, s.Path())) {
				t.Fatalf("at %d: the file is not as it was", at)
			}
			if d := cmp.Diff(wantStart, pairs(t, s)); d != "" {
				t.Fatalf("at %d: in memory: %s", at, d)
			}
			mustAppend(t, s, user("next"))
			s.Close()
			again := open(t, s.Path())
			if d := cmp.Diff(append(wantStart[:2:2], [2]string{"user", "next"}), pairs(t, again)); d != "" || len(again.Diagnostics()) > 0 {
				t.Fatalf("at %d: reopened: %s %v", at, d, again.Diagnostics())
			}
			again.Close()
			if at > 2000 {
				t.Fatal("the append never succeeds")
			}
		}
	}
}

// TestAppendFailsWhileAnotherWrites: our half line must not swallow theirs.
func TestAppendFailsWhileAnotherWrites(t *testing.T) {
	foreign := `{"type":"message","id":"ffffffff","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"theirs"}}` + "\n"
	for at := range 40 {
		fs := &faulty{allow: -1, err: syscall.ENOSPC}
		s := start(t, Options{FS: fs})
		fs.allow = at
		fs.onFail = func(path string) {
			// pi begins a line of its own where the file does not end with one.
			if f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0); err == nil {
				fmt.Fprint(f, "\n"+foreign)
				f.Close()
			}
		}
		_, err := s.Append(user("lost"))
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("at %d: error %v", at, err)
		}
		s.Close()
		again := open(t, s.Path())
		if _, ok := again.Entry("ffffffff"); !ok {
			t.Fatalf("at %d: the other writer's entry is lost", at)
		}
		mustAppend(t, again, user("next"))
		again.Close()
		last := open(t, s.Path())
		if last.Len() != 6 || last.entries[5].Parent != "ffffffff" {
			t.Fatalf("at %d: %d entries", at, last.Len())
		}
	}
}

func TestTornTailInsideEveryRune(t *testing.T) {
	s := start(t, Options{})
	mustAppend(t, s, user("漢字 é 😀"))
	s.Close()
	whole := read(t, s.Path())
	keep := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	for cut := keep + 1; cut < len(whole)-1; cut++ {
		path := filepath.Join(t.TempDir(), "cut.jsonl")
		if err := os.WriteFile(path, whole[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		c := open(t, path)
		if !hasKind(c.Diagnostics(), KindTornTail) {
			t.Fatalf("cut at %d: not reported", cut)
		}
		mustAppend(t, c, user("next"))
		c.Close()
		if d := cmp.Diff(append(wantStart[:2:2], [2]string{"user", "next"}), pairs(t, open(t, path))); d != "" {
			t.Fatalf("cut at %d: %s", cut, d)
		}
	}
}

func TestFailedSyncPoisons(t *testing.T) {
	fs := &faulty{allow: -1}
	s := start(t, Options{FS: fs})
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	fs.syncErr = syscall.EIO
	if err := s.Sync(); !errors.Is(err, syscall.EIO) {
		t.Fatalf("sync: %v", err)
	}
	fs.syncErr = nil
	if _, err := s.Append(user("x")); !errors.Is(err, ErrPoisoned) {
		t.Errorf("append after a failed sync: %v", err)
	}
	if err := s.Sync(); !errors.Is(err, ErrPoisoned) {
		t.Errorf("sync after a failed sync: %v", err)
	}
}

// TestRefusedCommitNeverTakesEffect: what a failed commit wrote is gone again.
func TestRefusedCommitNeverTakesEffect(t *testing.T) {
	fs := &faulty{allow: -1}
	s := start(t, Options{FS: fs})
	before, leaf := read(t, s.Path()), s.Leaf()
	fs.syncErr = syscall.EIO
	if _, err := s.Commit(user("refused")); !errors.Is(err, syscall.EIO) {
		t.Fatalf("error %v", err)
	}
	if !bytes.Equal(before, read(t, s.Path())) {
		t.Error("the refused entry is in the file")
	}
	if d := cmp.Diff(wantStart, pairs(t, s)); d != "" || s.Leaf() != leaf {
		t.Errorf("the refused entry is in memory: %s", d)
	}
	if _, err := s.Append(user("x")); !errors.Is(err, ErrPoisoned) {
		t.Errorf("append after it: %v", err)
	}
}

func TestForeignEntriesAreAdopted(t *testing.T) {
	s := start(t, Options{})
	write := func(id, parent string) {
		f, err := os.OpenFile(s.Path(), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		fmt.Fprintf(f, `{"type":"message","id":%q,"parentId":%q,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"theirs"}}`+"\n", id, parent)
	}
	own := s.Leaf()
	write("f0000001", string(own))
	ids := mustAppend(t, s, user("mine"))
	if e, _ := s.Entry(ids[0]); e.Parent != "f0000001" {
		t.Errorf("idle: parent %s, want the foreign entry", e.Parent)
	}
	s.Hold()
	own = s.Leaf()
	write("f0000002", string(own))
	ids = mustAppend(t, s, user("mine, in a run"))
	if e, _ := s.Entry(ids[0]); e.Parent != own {
		t.Errorf("in a run: parent %s, want our own chain %s", e.Parent, own)
	}
	s.Release()
	if !hasKind(s.Diagnostics(), KindOtherWriter) {
		t.Error("the other writer is not reported")
	}
	again := open(t, s.Path())
	if again.Len() != s.Len() || again.Leaf() != s.Leaf() {
		t.Errorf("reopened: %d entries, leaf %s; in memory %d, %s", again.Len(), again.Leaf(), s.Len(), s.Leaf())
	}
}

func TestSecondWriterIsRefused(t *testing.T) {
	s := start(t, Options{})
	second := open(t, s.Path()) // looking is free
	if _, err := second.Append(user("x")); !errors.Is(err, ErrInUse) {
		t.Errorf("error %v, want ErrInUse", err)
	}
	s.Close()
	mustAppend(t, second, user("x"))
}

// TestLockEndsWithItsProcess: a dead owner never keeps a session.
func TestLockEndsWithItsProcess(t *testing.T) {
	if path := os.Getenv("SESSION_TEST_HOLD"); path != "" {
		s, err := Open(path, Options{})
		if err == nil {
			_, err = s.Append(user("from the child"))
		}
		fmt.Println("held", err)
		time.Sleep(time.Minute)
		return
	}
	s := start(t, Options{})
	s.Close()
	cmd := exec.Command(os.Args[0], "-test.run=^TestLockEndsWithItsProcess$")
	cmd.Env = append(os.Environ(), "SESSION_TEST_HOLD="+s.Path())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var line [64]byte
	n, _ := out.Read(line[:])
	if got := string(line[:n]); !strings.HasPrefix(got, "held <nil>") {
		t.Fatalf("child says %q", got)
	}
	second := open(t, s.Path())
	if _, err := second.Append(user("x")); !errors.Is(err, ErrInUse) {
		t.Errorf("while the child lives: %v", err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	mustAppend(t, second, user("after"))
}

func TestReplacedFileIsRefused(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"another file under the name": func(path string) error {
			return durable.Save(durable.OS{}, path, []byte("other"), 0o644)
		},
		"cut": func(path string) error { return os.Truncate(path, 10) },
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, Options{})
			if err := change(s.Path()); err != nil {
				t.Fatal(err)
			}
			now := read(t, s.Path())
			if _, err := s.Append(user("x")); !errors.Is(err, ErrReplaced) {
				t.Errorf("error %v, want ErrReplaced", err)
			}
			if !bytes.Equal(now, read(t, s.Path())) {
				t.Error("something was written")
			}
		})
	}
}

func TestEmptyFileTakesItsHeaderWithTheFirstMessage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "empty.jsonl")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	if _, err := s.Append(user("x")); err == nil || !strings.Contains(err.Error(), "working directory") {
		t.Errorf("append without a directory: %v", err)
	}
	if err := s.Adopt("/proj"); err != nil {
		t.Fatal(err)
	}
	if len(read(t, path)) != 0 {
		t.Fatal("written before the first message")
	}
	mustAppend(t, s, user("x"))
	again := open(t, path)
	if again.Header().CWD != "/proj" || again.ID() != s.ID() || again.Len() != 1 {
		t.Errorf("reopened: %+v", again.Header())
	}
}

func TestConcurrentAppendsStayOneBranch(t *testing.T) {
	s := start(t, Options{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 25 {
				if _, err := s.Append(user(fmt.Sprint(i, j)), answer("x")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	again := open(t, s.Path())
	b, err := again.Branch(again.Leaf())
	if err != nil || len(b.Entries) != again.Len() || again.Len() != 4+8*25*2 {
		t.Errorf("%d entries on the branch of %d (%v)", len(b.Entries), again.Len(), err)
	}
}

func TestNULRunsAndLongLines(t *testing.T) {
	for _, n := range []int{1, 4096, 1 << 20, 3<<20 + 7} {
		var file bytes.Buffer
		file.WriteString(`{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"}` + "\n")
		file.WriteString(`{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"` + strings.Repeat("\u2028é", n/5+1) + `"}}` + "\n")
		file.Write(make([]byte, n))
		file.WriteString("\n" + `{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"after"}}` + "\n")
		path := filepath.Join(t.TempDir(), "nul.jsonl")
		if err := os.WriteFile(path, file.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		s := open(t, path)
		if got := pairs(t, s); len(got) != 2 || got[1][1] != "after" || len(got[0][1]) != 5*(n/5+1) {
			t.Errorf("%d NULs: %d messages", n, len(got))
		}
		if !hasKind(s.Diagnostics(), KindBadLine) {
			t.Errorf("%d NULs are not reported", n)
		}
	}
}

func TestDeepNestingIsDamageNotACrash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep.jsonl")
	deep := strings.Repeat("[", 5_000_000)
	lines := `{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"}` + "\n" +
		`{"type":"message","id":"a","parentId":null,"x":` + deep + "\n" +
		`{"type":"message","id":"b","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"after"}}` + "\n"
	if err := os.WriteFile(path, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	if s.Len() != 1 || !hasKind(s.Diagnostics(), KindBadLine) {
		t.Errorf("%d entries, %v", s.Len(), s.Diagnostics())
	}
}

func TestNamesOfFoldersAndFiles(t *testing.T) {
	for cwd, want := range map[string]string{
		"/": "----", "/a/b:c": "--a-b-c--", "/a b/ü": "--a b-ü--", "/a/../b//c/": "--b-c--", `/x/back\slash`: "--x-back-slash--",
	} {
		if got := DirName(cwd); got != want {
			t.Errorf("DirName(%q) = %q, want %q", cwd, got, want)
		}
	}
	for id, ok := range map[string]bool{"a": true, "A.b_c-1": true, "": false, "-a": false, "a-": false, "../x": false, "a/b": false, "ü": false, strings.Repeat("a", 300): false} {
		if _, err := ParseSessionID(id); (err == nil) != ok {
			t.Errorf("ParseSessionID(%q): %v", id, err)
		}
	}
}

// rude is a file system in which another program writes right before, or right
// after, each write of ours.
type rude struct {
	durable.OS
	text  string
	after bool
}

type rudeFile struct {
	durable.File
	fs   *rude
	name string
}

func (r *rude) OpenFile(name string, flag int, perm os.FileMode) (durable.File, error) {
	f, err := r.OS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &rudeFile{f, r, name}, nil
}

func (f *rudeFile) Write(p []byte) (int, error) {
	theirs := func() {
		other, err := os.OpenFile(f.name, os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = other.WriteString(f.fs.text)
			err = errors.Join(err, other.Close())
		}
		if err != nil {
			panic(err)
		}
	}
	if !f.fs.after {
		theirs()
	}
	n, err := f.File.Write(p)
	if f.fs.after {
		theirs()
	}
	return n, err
}

// TestAnotherWritesAtTheSameTime: between our look at the end of the file and the
// write, or right after. Nothing of either is lost or misread, and the next append
// is whole.
func TestAnotherWritesAtTheSameTime(t *testing.T) {
	theirs := said("cccccccc", "bbbbbbbb", "theirs 漢")
	for _, after := range []bool{false, true} {
		for _, held := range []bool{false, true} {
			t.Run(fmt.Sprintf("after %v, held %v", after, held), func(t *testing.T) {
				_, path, _ := home(t)
				fs := &rude{text: theirs, after: after}
				s := mustOpen(t, path, Options{FS: fs})
				if held {
					s.Hold()
				}
				ids := mustAppend(t, s, SessionInfo{"one"}, SessionInfo{"two"})
				fs.text = ""
				if _, err := s.Raw(entry(t, s, ids[0])); err != nil {
					t.Fatal(err)
				}
				want := ids[1]
				if after && !held {
					want = "cccccccc"
				}
				if s.Leaf() != want || s.Adopted() != 1 || s.Len() != 5 {
					t.Errorf("leaf %s, want %s; %d adopted, %d entries", s.Leaf(), want, s.Adopted(), s.Len())
				}
				next := mustAppend(t, s, SessionInfo{"three"})
				again := mustOpen(t, path, Options{Strict: true})
				if e := entry(t, again, next[0]); e.Parent != want || again.Len() != 6 {
					t.Errorf("the next entry hangs on %s, of %d entries", e.Parent, again.Len())
				}
				for e := range s.Entries() {
					raw, err := s.Raw(e)
					if twin := entry(t, again, e.ID); err != nil || twin.Offset != e.Offset || twin.Line != e.Line || twin.Len != int64(len(raw)) {
						t.Errorf("%s: %v; at byte %d of line %d, reopened %d of %d", e.ID, err, e.Offset, e.Line, twin.Offset, twin.Line)
					}
				}
			})
		}
	}
}

func entry(t *testing.T, s *Session, id ID) Entry {
	t.Helper()
	e, ok := s.Entry(id)
	if !ok {
		t.Fatalf("the entry %s is not there", id)
	}
	return e
}
