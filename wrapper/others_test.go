package wrapper

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/toolselect"
)

// Tests of what other processes, and the file system, do to a live session.

func opened(t *testing.T, r *Registry, path string, o OpenOptions) *Session {
	t.Helper()
	s, err := r.Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func say(t *testing.T, s *Session, text string) {
	t.Helper()
	turn, err := s.Prompt(t.Context(), Input{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	if err := turn.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// elsewhere appends a choice as another process does.
func elsewhere(t *testing.T, path string, sel toolselect.Selection) {
	t.Helper()
	log, err := session.Open(path, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	entry, err := sel.Payload()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(entry); err != nil {
		t.Fatal(err)
	}
}

func TestSameChoiceOfAnotherProcess(t *testing.T) {
	path := file(t, t.TempDir())
	r := registry(t, &stage{}, Options{})
	s := opened(t, r, path, OpenOptions{})
	pin, _ := toolselect.Pin("read")
	elsewhere(t, path, pin)
	c, err := s.SetTools(t.Context(), pin)
	if p, _ := s.Policy(); err != nil || c.Appended || c.Policy.Kind != policy.Pinned || p.Kind != policy.Pinned {
		t.Errorf("answer %s, live %s, %v", c.Policy, p, err)
	}
}

// TestRequestForALiveSession: asking for tools is answered for a session that is
// live already as for one that is not.
func TestRequestForALiveSession(t *testing.T) {
	r := registry(t, &stage{}, Options{})
	path := file(t, t.TempDir())
	s := opened(t, r, path, OpenOptions{})
	if again := opened(t, r, path, OpenOptions{Tools: &[]string{}}); again != s {
		t.Fatal("another session")
	}
	if p, _ := s.Policy(); p.Kind != policy.ChatOnly {
		t.Errorf("nothing was chosen, and the request gives %s", p)
	}
	if _, err := r.Open(t.Context(), path, OpenOptions{Tools: &[]string{"bash"}}); !errors.Is(err, policy.ErrOverruled) {
		t.Errorf("a request against the choice: %v", err)
	}
	if _, err := r.Open(t.Context(), path, OpenOptions{Tools: &[]string{}}); err != nil {
		t.Errorf("the same again: %v", err)
	}
}

// TestRefusedStartRecordsNothing: a request that comes with something that cannot
// be had leaves the file as it was.
func TestRefusedStartRecordsNothing(t *testing.T) {
	boom := errors.New("no such model")
	r := registry(t, noModel{boom}, Options{})
	path := file(t, t.TempDir())
	before, _ := os.ReadFile(path)
	if _, err := r.Open(t.Context(), path, OpenOptions{Tools: &[]string{"read"}, Model: "x"}); !errors.Is(err, boom) {
		t.Errorf("error %v", err)
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Error("the file changed")
	}
}

type noModel struct{ err error }

func (h noModel) Model(context.Context, ModelWish) (Chosen, error) { return Chosen{}, h.err }
func (noModel) Settings(string) (policy.Setting, error)            { return policy.Setting{}, nil }
func (noModel) Resources(context.Context, string, policy.Loads) (Resources, error) {
	return Resources{}, nil
}
func (noModel) Tools(string, []string) ([]agent.Tool, error)    { return nil, nil }
func (noModel) Extensions(string, policy.Loads) []agent.Factory { return nil }

// TestReplacedFileIsOpenedAnew: the session says so, and opening it again helps.
func TestReplacedFileIsOpenedAnew(t *testing.T) {
	path := file(t, t.TempDir())
	r := registry(t, &stage{}, Options{})
	s := opened(t, r, path, OpenOptions{})
	data, _ := os.ReadFile(path)
	if err := os.WriteFile(path+"2", data, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+"2", path); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prompt(t.Context(), Input{Text: "x"}); !errors.Is(err, session.ErrReplaced) {
		t.Fatalf("error %v", err)
	}
	again := opened(t, r, path, OpenOptions{})
	if again == s {
		t.Fatal("the dead session is handed out again")
	}
	say(t, again, "x")
}

func TestMovedFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	path := file(t, dir)
	r := registry(t, &stage{}, Options{})
	s := opened(t, r, path, OpenOptions{})
	moved := dir + "2"
	if err := errors.Join(os.Rename(dir, moved), os.Symlink(moved, dir)); err != nil {
		t.Skip(err)
	}
	if err := r.Release(s); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(dir), os.Rename(moved, dir)); err != nil {
		t.Fatal(err)
	}
	say(t, opened(t, r, path, OpenOptions{}), "still here")
}

// TestAnotherProcessWentOn: what it appended is told, its entries are the
// history, and its receipt is not repeated.
func TestAnotherProcessWentOn(t *testing.T) {
	path := file(t, t.TempDir())
	r := registry(t, &stage{}, Options{})
	s := opened(t, r, path, OpenOptions{})
	if _, err := s.Request(t.Context()); err != nil { // the engine is built
		t.Fatal(err)
	}
	sub := s.Subscribe(0)
	defer sub.Close()
	other := registry(t, &stage{}, Options{})
	theirs := opened(t, other, path, OpenOptions{})
	say(t, theirs, "theirs")
	if err := other.Release(theirs); err != nil {
		t.Fatal(err)
	}
	say(t, s, "mine")
	receipts, told := 0, false
	for e := range s.Log().Entries() {
		if e.CustomType == policy.ReceiptType {
			receipts++
		}
	}
	for {
		e, err := sub.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		told = told || e.Type == Notice && strings.Contains(e.Reason, "another program appended")
		if e.Type == PromptDone {
			break
		}
	}
	if receipts != 1 || !told || len(s.Log().Leaves()) != 1 {
		t.Errorf("%d receipts, told %v, %d branches", receipts, told, len(s.Log().Leaves()))
	}
}

// TestCancelledCallerBreaksNothing: a caller who goes away while the session
// loads does not make it fail for the others.
func TestCancelledCallerBreaksNothing(t *testing.T) {
	r := registry(t, ctxHost{&stage{}}, Options{})
	s := opened(t, r, file(t, t.TempDir()), OpenOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Prompt(ctx, Input{Text: "x"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if state, cause := s.State(); state != Ready {
		t.Errorf("state %s, %v", state, cause)
	}
	say(t, s, "x")
}

// ctxHost reads its texts only for callers who are still there.
type ctxHost struct{ *stage }

func (h ctxHost) Resources(ctx context.Context, cwd string, l policy.Loads) (Resources, error) {
	if err := ctx.Err(); err != nil {
		return Resources{}, err
	}
	return h.stage.Resources(ctx, cwd, l)
}

// TestCrossingBehindAnotherProcess: what is loaded decides whether everything has to
// be loaded anew, not what the file said last: another process may have led the
// session out of Chat Only meanwhile.
func TestCrossingBehindAnotherProcess(t *testing.T) {
	h := &stage{}
	r := registry(t, h, Options{})
	path := file(t, t.TempDir())
	elsewhere(t, path, toolselect.ChatOnly())
	s := opened(t, r, path, OpenOptions{})
	if _, err := s.Request(t.Context()); err != nil { // loaded for Chat Only
		t.Fatal(err)
	}
	read, _ := toolselect.Pin("read")
	bash, _ := toolselect.Pin("bash")
	elsewhere(t, path, read)
	if c, err := s.SetTools(t.Context(), read); err != nil || c.Appended {
		t.Fatalf("the same choice: %+v, %v", c, err)
	}
	loaded := h.loaded.Load()
	c, err := s.SetTools(t.Context(), bash)
	if err != nil || !c.Recreated || h.loaded.Load() != loaded+1 {
		t.Errorf("recreated %v, loaded %d times, %v", c.Recreated, h.loaded.Load()-loaded, err)
	}
}
