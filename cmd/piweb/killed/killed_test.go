//go:build !windows

package killed

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/piweb-go/piweb/session"
)

// The real program is killed, as by kill -9, before each call that changes
// something below the sessions, and in the middle of each write. After each kill the
// sessions are opened, compared, and gone on with.
//
// The binary is built for this with the tag "failpoint"; what ships has none.

const killedSession = `{"type":"session","version":3,"id":"killed","timestamp":"2026-01-01T00:00:00.000Z","cwd":%q}
{"type":"message","id":"u1","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"first 漢字","timestamp":1}}
{"type":"message","id":"a1","parentId":"u1","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"answer"}],"api":"x","provider":"p","model":"m","usage":{},"stopReason":"stop","timestamp":1}}
`

// killable is a home with one session, for one run of the program.
type killable struct {
	t       *testing.T
	bin     string
	home    string
	project string
	file    string
	in      string // part of the paths that count; "" for those of sessions
}

func newKillable(t *testing.T, bin string, old bool) *killable {
	t.Helper()
	dir := t.TempDir()
	k := &killable{t: t, bin: bin, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project")}
	k.file = filepath.Join(k.home, ".pi", "agent", "sessions", "--p--", "2026-01-01T00-00-00-000Z_killed.jsonl")
	text := fmt.Sprintf(killedSession, k.project)
	if old {
		text = strings.Replace(text, `"version":3`, `"version":2`, 1)
	}
	err := errors.Join(os.MkdirAll(k.project, 0o755), os.MkdirAll(filepath.Join(dir, "other"), 0o755),
		os.MkdirAll(filepath.Dir(k.file), 0o755), os.WriteFile(k.file, []byte(text), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// run runs the program; point is "" or a failpoint. died says that it was killed
// there, and at which call.
func (k *killable) run(point string, args ...string) (died bool, call string, err error) {
	k.t.Helper()
	log := filepath.Join(k.home, "failpoint")
	cmd := exec.Command(k.bin, args...)
	cmd.Dir = k.project
	cmd.Env = []string{"HOME=" + k.home, "PATH=" + os.Getenv("PATH"), "PIWEB_FAILPOINT=" + point, "PIWEB_FAILPOINT_IN=" + cmp.Or(k.in, "/sessions/"), "PIWEB_FAILPOINT_LOG=" + log}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	what, _ := os.ReadFile(log)
	_ = os.Remove(log)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if st, ok := exit.Sys().(syscall.WaitStatus); ok && st.Signaled() && st.Signal() == syscall.SIGKILL && len(what) > 0 {
			return true, string(what), nil
		}
		err = fmt.Errorf("%w: %s", err, out.String())
	}
	return false, "", err
}

// check opens every session that a reader can see, and one is the one that was
// there, with all that it had.
func (k *killable) check(when string) {
	k.t.Helper()
	found := 0
	err := filepath.WalkDir(filepath.Join(k.home, ".pi", "agent", "sessions"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".jsonl" {
			return err
		}
		s, err := session.Open(path, session.Options{Strict: true})
		if err != nil {
			return err
		}
		defer s.Close()
		_, question := s.Entry("u1")
		_, answer := s.Entry("a1")
		if question && answer && s.ID() == "killed" {
			found++
		}
		torn := 0
		for _, d := range s.Diagnostics() {
			switch d.Kind {
			case session.KindTornTail, session.KindBadLine: // the one write that nobody was told of
				torn++
			case session.KindLeaves: // the leaf was moved
			default:
				k.t.Errorf("%s: %s: %s", when, path, d.Text)
			}
		}
		if torn > 1 || s.Len() == 0 {
			k.t.Errorf("%s: %s has %d torn lines, %d entries", when, path, torn, s.Len())
		}
		return nil
	})
	if err != nil {
		k.t.Fatalf("%s: %v", when, err)
	}
	if found == 0 {
		k.t.Fatalf("%s: the session is nowhere", when)
	}
}

// buildWithFailpoints is once for all tests.
var buildWithFailpoints = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "piweb-killed-")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "piweb")
	if out, err := exec.Command("go", "build", "-tags", "failpoint", "-o", bin, "..").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build with failpoints: %w\n%s", err, out)
	}
	return bin, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if bin, err := buildWithFailpoints(); err == nil && bin != "" {
		_ = os.RemoveAll(filepath.Dir(bin))
	}
	os.Exit(code)
}

// binary is the program with failpoints.
func binary(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and starts the program many times")
	}
	bin, err := buildWithFailpoints()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

func TestKilledAtFailpoints(t *testing.T) {
	bin := binary(t)
	const id = "killed"
	for name, c := range map[string]struct {
		before [][]string
		do     []string
		old    bool
	}{
		"a prompt":        {nil, []string{"run", "--session", id, "hello"}, false},
		"a new session":   {nil, []string{"run", "hello"}, false},
		"tools":           {nil, []string{"tools", id, "--chat-only"}, false},
		"a migration":     {nil, []string{"sessions", "rename", id, "named"}, true},
		"a fork":          {nil, []string{"sessions", "clone", id}, false},
		"a move":          {nil, []string{"sessions", "move", id, "../other"}, false},
		"to the trash":    {nil, []string{"sessions", "delete", "--yes", id}, false},
		"from the trash":  {[][]string{{"sessions", "delete", "--yes", id}}, []string{"sessions", "restore", id}, false},
		"another leaf":    {nil, []string{"sessions", "goto", id, "u1"}, false},
		"an import again": {nil, []string{"sessions", "import", "../home/.pi/agent/sessions/--p--/2026-01-01T00-00-00-000Z_killed.jsonl"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kills := 0
			for _, how := range []string{"", " half"} {
				for n := 1; ; n++ {
					k := newKillable(t, bin, c.old)
					for _, args := range c.before {
						if _, _, err := k.run("", args...); err != nil {
							t.Fatal(err)
						}
					}
					died, call, err := k.run(fmt.Sprint(n)+how, c.do...)
					if err != nil {
						t.Fatal(err)
					}
					if !died {
						break
					}
					if how != "" && !strings.HasPrefix(call, "write") {
						continue // seen without
					}
					kills++
					when := fmt.Sprintf("killed at call %d%s, %s", n, how, call)
					k.check(when)
					// Gone on with: where the session is now, the next write is whole.
					if _, _, err := k.run("", "sessions", "restore", id); err != nil && !strings.Contains(err.Error(), "in the trash") && !strings.Contains(err.Error(), "already") {
						t.Fatalf("%s: %v", when, err)
					}
					if _, _, err := k.run("", "sessions", "rename", k.newest(), "after"); err != nil {
						t.Fatalf("%s: gone on: %v", when, err)
					}
					k.check(when + ", gone on with")
				}
			}
			if kills < 2 {
				t.Errorf("only %d kills", kills)
			}
			t.Logf("%d kills", kills)
		})
	}
}

// TestKilledInIndexWrites: the index of a large file, and the list of all sessions,
// are derived. Whatever a kill leaves of them, the session opens as without, from the
// next run on as well, which writes them anew.
func TestKilledInIndexWrites(t *testing.T) {
	t.Parallel()
	bin := binary(t)
	large := func() *killable {
		k := newKillable(t, bin, false)
		f, err := os.OpenFile(k.file, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		parent, text := "a1", strings.Repeat("a long output ", 6000)
		for i := range 16 {
			id := fmt.Sprintf("0000%04x", i)
			if _, err := fmt.Fprintf(f, `{"type":"message","id":%q,"parentId":%q,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":%q,"timestamp":1}}`+"\n", id, parent, text); err != nil {
				t.Fatal(err)
			}
			parent = id
		}
		return k
	}
	indexes := func(k *killable) (all []string) {
		all, err := filepath.Glob(filepath.Join(k.home, ".pi", "agent", "piweb", "index", "*.idx"))
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	for name, c := range map[string]struct {
		in string
		do []string
	}{
		"the index":        {"/piweb/index", []string{"explain", "killed"}},
		"the list":         {"/agent/piweb/", []string{"sessions", "list"}},
		"at an append":     {"/piweb/index", []string{"sessions", "rename", "killed", "named"}},
		"a first big turn": {"/piweb/index", []string{"run", "--session", "killed", "hello"}},
	} {
		t.Run(name, func(t *testing.T) {
			kills := 0
			for _, how := range []string{"", " half"} {
				for n := 1; ; n++ {
					k := large()
					k.t, k.in = t, c.in
					died, call, err := k.run(fmt.Sprint(n)+how, c.do...)
					if err != nil {
						t.Fatal(err)
					}
					if !died {
						break
					}
					if how != "" && !strings.HasPrefix(call, "write") {
						continue
					}
					kills++
					when := fmt.Sprintf("killed at call %d%s, %s", n, how, call)
					k.check(when)
					for _, args := range [][]string{{"explain", "killed"}, {"sessions", "list"}, {"sessions", "rename", "killed", "after"}, {"explain", "killed", "--verify"}} {
						if _, _, err := k.run("", args...); err != nil {
							t.Fatalf("%s: then %v: %v", when, args, err)
						}
					}
					if len(indexes(k)) != 1 {
						t.Fatalf("%s: then there are %d indexes", when, len(indexes(k)))
					}
					k.check(when + ", gone on with")
				}
			}
			if kills < 2 {
				t.Errorf("only %d kills", kills)
			}
			t.Logf("%d kills", kills)
		})
	}
}

// newest is a file of the session; after a kill in a move there may be two.
func (k *killable) newest() string {
	k.t.Helper()
	found, err := filepath.Glob(filepath.Join(k.home, ".pi", "agent", "sessions", "*", "*_killed*.jsonl"))
	if err != nil || len(found) == 0 {
		k.t.Fatalf("the session is nowhere: %v", err)
	}
	return found[len(found)-1]
}
