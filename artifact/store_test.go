package artifact

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/piweb-go/piweb/internal/durable"
)

func save(t testing.TB, s *Store, tool, text string) ID {
	t.Helper()
	k, err := s.Save(tool, text)
	if err != nil {
		t.Fatal(err)
	}
	return k.ID
}

func TestToolNames(t *testing.T) {
	s := newStore(t, Options{})
	fill(t, s, map[string]string{"9.x.txt": "counts for us: it answers artifact://9", "08.y.log": "eight", "draft.txt": ""})
	// The names are those of oh-my-pi 18, the first id those of 13.
	for i, c := range [][2]string{{"mcp/a/b", "mcp_a_b"}, {"", "tool"}, {"___", "tool"}, {strings.Repeat("a", 100), strings.Repeat("a", 64)},
		{"é", "tool"}, {"x y", "x_y"}, {"A-b_c", "A-b_c"}, {"mcp__srv/../x", "mcp__srv_x"}, {"名前", "tool"}} {
		k, err := s.Save(c[0], "text")
		want := fmt.Sprintf("%d.%s.log", 10+i, c[1])
		if err != nil || filepath.Base(k.Path) != want || k.URL() != fmt.Sprintf("artifact://%d", 10+i) {
			t.Errorf("tool %q: %s, %v; want %s", c[0], k.Path, err, want)
		}
	}
}

func TestSaveListOpen(t *testing.T) {
	s := newStore(t, Options{})
	for i, text := range []string{"", "one\n", "zwei 😀"} {
		if id := save(t, s, "bash", text); id != ID(strconv.Itoa(i)) || kept(t, s, id) != text {
			t.Errorf("id %s holds %q", id, kept(t, s, id))
		}
	}
	list, err := s.List()
	if err != nil || len(list) != 3 || list[2].Tool != "bash" || list[2].Size != int64(len("zwei 😀")) {
		t.Errorf("%+v, %v", list, err)
	}
	if !s.Exists("2") || s.Exists("3") || s.Exists("02") {
		t.Error("Exists is wrong")
	}
	// Restart: another store of the same folder goes on.
	if id := save(t, New(s.session, Options{}), "read", "x"); id != "3" {
		t.Errorf("after a restart the id is %s", id)
	}
}

// TestIDsDoNotComeBack: a file that was deleted by hand keeps its id, also after a
// restart and in a fork.
func TestIDsDoNotComeBack(t *testing.T) {
	s := newStore(t, Options{})
	for range 3 {
		save(t, s, "bash", "x")
	}
	for _, name := range []string{"0.bash.log", "1.bash.log", "2.bash.log"} {
		if err := os.Remove(filepath.Join(s.Folder(), name)); err != nil {
			t.Fatal(err)
		}
	}
	if id := save(t, New(s.session, Options{}), "bash", "x"); id != "3" {
		t.Errorf("after all were deleted the id is %s", id)
	}
	// The mark of 2, whose file is gone, might be that of a save under way.
	if marks := count(t, s, artifacts.mark); marks != 2 {
		t.Errorf("%d marks are left", marks)
	}
}

// TestAMarkWithoutAFileIsNotUsed: what failed, or is still going on in another
// process, keeps its id; after an hour its mark goes, and the id is still not given.
func TestAMarkWithoutAFileIsNotUsed(t *testing.T) {
	s := newStore(t, Options{})
	fill(t, s, map[string]string{".id-4": ""})
	if id := save(t, s, "bash", "x"); id != "5" || count(t, s, ".id-") != 2 {
		t.Errorf("id %s, %d marks", id, count(t, s, ".id-"))
	}
	old := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(filepath.Join(s.Folder(), ".id-4"), old, old); err != nil {
		t.Fatal(err)
	}
	if id := save(t, New(s.session, Options{}), "bash", "x"); id != "6" || count(t, s, ".id-") != 1 {
		t.Errorf("id %s, %d marks", id, count(t, s, ".id-"))
	}
}

// TestAFileOfAnotherProgram: a program that knows no marks may write an id between
// our look and our mark; then both have their own.
func TestAFileOfAnotherProgram(t *testing.T) {
	s := newStore(t, Options{})
	save(t, s, "bash", "ours")
	fill(t, s, map[string]string{"1.other.log": "theirs"}) // the store believes that 1 is free
	if id := save(t, s, "bash", "ours too"); id != "2" {
		t.Errorf("id %s", id)
	}
	if got := kept(t, s, "1"); got != "theirs" {
		t.Errorf("1 holds %q", got)
	}
}

func count(t testing.TB, s *Store, prefix string) (n int) {
	t.Helper()
	list, err := os.ReadDir(s.Folder())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if strings.HasPrefix(e.Name(), prefix) {
			n++
		}
	}
	return n
}

const saverEnv = "PIWEB_TEST_SAVER"

// TestMain's other role: a process that saves.
func saver(dir string) int {
	const each = 100
	s := New(dir, Options{})
	for i := range each {
		k, err := s.Save("bash", fmt.Sprintf("%d of %d", i, os.Getpid()))
		if err == nil {
			var id AgentID
			if id, err = s.NewAgent("", "anna"); err == nil {
				_, err = s.SaveAgent(id, AgentOutput{Text: string(id)})
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Printf("%s %d of %d\n", k.ID, i, os.Getpid())
	}
	return 0
}

// TestW1EightProcesses: 8 processes save 100 outputs each into one folder, and as
// many answers of subagents: 800 artifacts under 800 ids, each holding its own text.
func TestW1EightProcesses(t *testing.T) {
	const processes, each = 8, 100
	s := newStore(t, Options{})
	outs := make([]bytes.Buffer, processes)
	var wg sync.WaitGroup
	for i := range processes {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), saverEnv+"="+s.session)
		cmd.Stdout, cmd.Stderr = &outs[i], os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			if err := cmd.Wait(); err != nil {
				t.Errorf("process %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	seen := map[ID]bool{}
	for i := range outs {
		for line := range strings.Lines(outs[i].String()) {
			id, text, _ := strings.Cut(strings.TrimSpace(line), " ")
			if seen[ID(id)] {
				t.Errorf("id %s was given twice", id)
			}
			seen[ID(id)] = true
			if got := kept(t, s, ID(id)); got != text {
				t.Errorf("id %s holds %q, want %q", id, got, text)
			}
		}
	}
	list, err := s.List()
	if err != nil || len(list) != processes*each || len(seen) != processes*each {
		t.Errorf("%d artifacts, %d ids, %v; want %d", len(list), len(seen), err, processes*each)
	}
	agents, err := s.Agents()
	indexes := map[string]bool{}
	for _, a := range agents {
		index, _, _ := strings.Cut(string(a.ID), "-")
		indexes[index] = true
	}
	if len(agents) != processes*each || len(indexes) != processes*each || err != nil {
		t.Errorf("%d answers, %d indexes, %v", len(agents), len(indexes), err)
	}
	highest, _ := list[len(list)-1].ID.number()
	t.Logf("%d processes × %d saves: %d artifacts, %d ids, the highest is %d; %d marks left", processes, each, len(list), len(seen), highest, count(t, s, ".id-"))
}

// TestW1ConcurrentFirstUse: many goroutines and several stores begin at once.
func TestW1ConcurrentFirstUse(t *testing.T) {
	first := newStore(t, Options{})
	stores := []*Store{first, New(first.session, Options{}), New(first.session, Options{})}
	var mu sync.Mutex
	var ids []ID
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			s := stores[i%len(stores)]
			k := s.Sink("bash", SinkOptions{Threshold: 1})
			_, _ = k.Write([]byte("text"))
			sum := k.Summary("")
			mu.Lock()
			defer mu.Unlock()
			ids = append(ids, sum.ArtifactID)
		})
	}
	wg.Wait()
	if n := len(slices.Compact(sortIDs(ids))); n != 60 {
		t.Errorf("%d ids for 60 outputs", n)
	}
}

// TestW6LinksAreNotFollowed: not as an artifact, not as the target of a save, not as
// the folder itself.
func TestW6LinksAreNotFollowed(t *testing.T) {
	s := newStore(t, Options{})
	victim := filepath.Join(filepath.Dir(s.Folder()), "victim")
	if err := os.WriteFile(victim, []byte("untouched"), 0o600); err != nil {
		t.Fatal(err)
	}
	fill(t, s, map[string]string{"5.bash.log": "->../victim", "0-a.md": "->../victim", "0-a.json": "->../victim"})
	if _, err := s.Open("5"); !errors.Is(err, ErrLinked) {
		t.Errorf("open: %v", err)
	}
	if _, err := s.SaveAgent("0-a", AgentOutput{Text: "over it"}); !errors.Is(err, ErrLinked) {
		t.Errorf("save an answer over a link: %v", err)
	}
	if id := save(t, s, "bash", "new"); id != "6" {
		t.Errorf("a link does not use its id: %s", id)
	}

	other := t.TempDir()
	linked := newStore(t, Options{})
	if err := os.Symlink(other, linked.Folder()); err != nil {
		t.Fatal(err)
	}
	if _, err := linked.Save("bash", "x"); !errors.Is(err, ErrLinked) {
		t.Errorf("save through a linked folder: %v", err)
	}
	if _, err := linked.Open("0"); !errors.Is(err, ErrLinked) {
		t.Errorf("open through a linked folder: %v", err)
	}
	if list, _ := os.ReadDir(other); len(list) != 0 {
		t.Errorf("written through the link: %v", list)
	}
	if data, _ := os.ReadFile(victim); string(data) != "untouched" {
		t.Errorf("the target holds %q", data)
	}
}

// TestW22SyncedBeforeItCounts: file and folder are synced before a save returns.
func TestW22SyncedBeforeItCounts(t *testing.T) {
	var calls []string
	s := newStore(t, Options{Wrap: func(fs durable.FS) durable.FS { return &recorder{FS: fs, calls: &calls} }})
	save(t, s, "bash", "text")
	k := s.Sink("bash", SinkOptions{Threshold: 1})
	_, _ = k.Write([]byte("long"))
	_ = k.Close()
	want := []string{"sync", "syncdir", "sync", "syncdir"}
	if d := cmp.Diff(want, calls); d != "" {
		t.Error(d)
	}
}

// recorder notes syncs.
type recorder struct {
	durable.FS
	calls *[]string
}

type recordedFile struct {
	durable.File
	r *recorder
}

func (r *recorder) OpenFile(name string, flag int, perm os.FileMode) (durable.File, error) {
	f, err := r.FS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &recordedFile{f, r}, nil
}

func (r *recorder) SyncDir(name string) error {
	*r.calls = append(*r.calls, "syncdir")
	return r.FS.SyncDir(name)
}

func (f *recordedFile) Sync() error {
	*f.r.calls = append(*f.r.calls, "sync")
	return f.File.Sync()
}

// TestFaultsInSave: whichever call fails, an output is there whole or not at all,
// nothing else is left, and the next one has another id.
func TestFaultsInSave(t *testing.T) {
	for what, do := range map[string]func(s *Store) error{
		"save": func(s *Store) error { _, err := s.Save("bash", "second"); return err },
		"stream": func(s *Store) error {
			k := s.Sink("bash", SinkOptions{Threshold: 1})
			_, _ = k.Write([]byte("second"))
			return k.Close()
		},
		"answer": func(s *Store) error {
			_, err := s.SaveAgent("0-a", AgentOutput{Text: "second", Result: []byte(`{"n":2}`)})
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			for at := 1; ; at++ {
				f := &faults{all: true, err: syscall.ENOSPC}
				s := newStore(t, Options{})
				save(t, s, "bash", "first")
				if _, err := s.SaveAgent("0-a", AgentOutput{Text: "first", Result: []byte(`{"n":1}`)}); err != nil {
					t.Fatal(err)
				}
				before := files(t, s)
				s = New(s.session, Options{Wrap: f.wrap})
				f.after = at
				err := do(s)
				if f.n < at {
					if err != nil {
						t.Fatal(err)
					}
					if at < 5 {
						t.Fatalf("only %d calls could fail", at)
					}
					return
				}
				after := files(t, s)
				whole := cmp.Equal(before, after) || after["1.bash.log"] == "second" || after["0-a.md"] == "second" && after["0-a.json"] == `{"n":2}`
				if err != nil && !errors.Is(err, syscall.ENOSPC) || !whole || len(after) > 4 {
					t.Fatalf("call %d: %v\nbefore %v\nafter  %v", at, err, before, after)
				}
				f.all = false
				if id := save(t, s, "bash", "third"); kept(t, s, id) != "third" || id == "0" {
					t.Fatalf("call %d: the next id is %s", at, id)
				}
			}
		})
	}
}

func TestAgentIDs(t *testing.T) {
	s := newStore(t, Options{})
	give := func(parent AgentID, name string) AgentID {
		t.Helper()
		id, err := s.NewAgent(parent, name)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	// fresh, as in the reference
	for _, c := range [][2]string{{"Anna", "0-Anna"}, {"Anna", "1-Anna"}, {"Bob", "2-Bob"}, {"../../evil", "3-evil"}, {"a/b", "4-a_b"}, {"", "5-agent"}} {
		if got := give("", c[0]); string(got) != c[1] {
			t.Errorf("%q: %s, want %s", c[0], got, c[1])
		}
	}
	// nested, and resumed from files: answers and transcripts count
	fill(t, s, map[string]string{"0-Anna.3-Sub.md": "", "0-Anna.4-Run.jsonl": "", "7-Kid.md": "", "7.bash.log": ""})
	s = New(s.session, Options{})
	if got := give("0-Anna", "Sub"); got != "0-Anna.5-Sub" {
		t.Errorf("nested: %s", got)
	}
	if got := give("", "New"); got != "8-New" {
		t.Errorf("resumed: %s", got)
	}
	if _, err := s.NewAgent("../x", "n"); !errors.Is(err, ErrURL) {
		t.Errorf("a parent that is no id: %v", err)
	}
	// asked again, it answers again; a result that is not given any more goes
	for i, out := range []AgentOutput{{Text: "one", Result: []byte(`{"a":1}`)}, {Text: "two"}} {
		if _, err := s.SaveAgent("8-New", out); err != nil {
			t.Fatal(err)
		}
		f, err := s.OpenAgent("8-New")
		if err != nil || f.Info.Size != 3 {
			t.Fatal(i, err)
		}
		f.Close()
	}
	if _, err := os.Stat(filepath.Join(s.Folder(), "8-New.json")); err == nil {
		t.Error("the old structured result stands beside a new text")
	}
	if _, err := s.SaveAgent("8-New", AgentOutput{Text: "x", Result: []byte("{")}); err == nil {
		t.Error("a structured result that is no JSON was written")
	}
}

func TestFolder(t *testing.T) {
	for file, want := range map[string]string{"/s/a.jsonl": "/s/a", "/s/a.b.jsonl": "/s/a.b", "/s/a": "", "": "", "/s/.jsonl": "", "/s/a.jsonl.gz": ""} {
		if got := Folder(filepath.FromSlash(file)); got != filepath.FromSlash(want) {
			t.Errorf("%q: %q, want %q", file, got, want)
		}
	}
}
