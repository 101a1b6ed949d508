//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/subagent"
)

// What the parent is asked.
const (
	background = "please delegate"
	foreground = "delegate and wait"
)

const theAnswer = "THE ANSWER OF THE CHILD"

// TestKillsOfSubagents kills the real program at each state of a child, in the
// background and in the foreground. Its file says what became of it, nothing is lost
// or delivered twice, and what was interrupted can be resumed (D4, D6, RULINGS 38).
func TestKillsOfSubagents(t *testing.T) {
	bin := failpointBinary(t)
	for _, c := range []struct {
		point   string
		ask     string
		status  subagent.Status
		pending int
	}{
		{"subagent-queued", background, subagent.Interrupted, 0}, {"subagent-running", background, subagent.Interrupted, 0},
		{"subagent-answered", background, subagent.Interrupted, 0},
		{"subagent-recorded", background, subagent.Completed, 1}, {"subagent-delivered", background, subagent.Completed, -1},
		{"subagent-queued", foreground, subagent.Interrupted, 0}, {"subagent-running", foreground, subagent.Interrupted, 0},
		{"subagent-answered", foreground, subagent.Interrupted, 0}, {"subagent-recorded", foreground, subagent.Completed, 1},
	} {
		t.Run(c.point+", "+c.ask, func(t *testing.T) {
			t.Parallel()
			f := newFamily(t, bin)
			f.killed(c.point, c.ask)
			child := f.child(func(rt *piweb.Runtime) { f.pending(rt, c.pending) })
			if child.Status != c.status {
				t.Errorf("the child is %s, want %s", child.Status, c.status)
			}
			f.goesOn()
			want := 0
			if c.status == subagent.Completed {
				want = 1
			}
			f.delivered(want)
			if c.status != subagent.Interrupted {
				return
			}
			// What was interrupted is resumed, and its result comes once.
			again := f.child(func(rt *piweb.Runtime) {
				yes := true
				if _, err := rt.Subagents().Resume(t.Context(), f.parent, child.ID, "go on with it", &yes); err != nil {
					t.Fatal(err)
				}
				if _, err := rt.Subagents().Wait(t.Context(), f.parent, child.ID); err != nil {
					t.Fatal(err)
				}
			})
			if again.Status != subagent.Completed || again.ID != child.ID {
				t.Errorf("resumed, it is %+v", again)
			}
			f.goesOn()
			f.delivered(1)
		})
	}
}

// TestKillsOfResumes kills the program while a model resumes a child that had ended.
// The earlier answer stands, the later one comes once or the child is interrupted.
func TestKillsOfResumes(t *testing.T) {
	bin := failpointBinary(t)
	for _, c := range []struct {
		point      string
		background bool
		status     subagent.Status
	}{
		{"subagent-resumed", false, subagent.Interrupted}, {"subagent-running", false, subagent.Interrupted},
		{"subagent-answered", false, subagent.Interrupted}, {"subagent-recorded", false, subagent.Completed},
		{"subagent-resumed", true, subagent.Interrupted}, {"subagent-answered", true, subagent.Interrupted},
		{"subagent-recorded", true, subagent.Completed}, {"subagent-delivered", true, subagent.Completed},
	} {
		t.Run(fmt.Sprintf("%s, background %v", c.point, c.background), func(t *testing.T) {
			t.Parallel()
			f := newFamily(t, bin)
			if out, err := f.run("", "--session", f.parent, foreground); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			f.delivered(1)
			first := f.child(func(rt *piweb.Runtime) { f.pending(rt, 0) })
			f.script(fmt.Sprintf(`{"steps":[
				{"match":"resume it","toolCalls":[{"name":"Agent","arguments":{"prompt":"go on with it","description":"A task","resume":%q,"run_in_background":%v}}]},
				{"match":"go on with it","text":"%s","repeat":true},
				{"match":"resume it","text":"slow words ","textTimes":400,"delayMs":10},
				{"text":"well then","repeat":true}]}`, first.ID, c.background, theAnswer))
			f.killed(c.point, "resume it")
			again := f.child(func(*piweb.Runtime) {})
			if again.Status != c.status || again.ID != first.ID {
				t.Errorf("the child is %s (%s), want %s", again.Status, again.ID, c.status)
			}
			f.goesOn()
			want := 1
			if c.status == subagent.Completed {
				want = 2
			}
			f.delivered(want)
		})
	}
}

func failpointBinary(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the program")
	}
	bin := filepath.Join(t.TempDir(), "piweb")
	if out, err := exec.Command("go", "build", "-tags", "failpoint", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// family is a session that delegates, on a machine of its own.
type family struct {
	*testing.T
	bin, home, agentDir, parent string
}

func newFamily(t *testing.T, bin string) *family {
	home := t.TempDir()
	f := &family{T: t, bin: bin, home: home, agentDir: filepath.Join(home, "agent")}
	f.write("p/a.txt", "hello\n")
	f.write("agent/agents/settings.json", `{"builtInEnabled":true}`)
	f.write("agent/settings.json", `{"defaultProvider":"rec","defaultModel":"m1"}`)
	call := `"toolCalls":[{"name":"Agent","arguments":{"prompt":"the task of the child","description":"A task","run_in_background":%v}}]`
	f.script(fmt.Sprintf(`{"steps":[
		{"match":%q,`+call+`},
		{"match":%q,`+call+`},
		{"match":"the task of the child","text":%q,"repeat":true},
		{"match":"go on with it","text":%[5]q,"repeat":true},
		{"match":%[1]q,"text":"done"},
		{"match":%[3]q,"text":"slow words ","textTimes":400,"delayMs":10},
		{"text":"well then","repeat":true}]}`, foreground, false, background, true, theAnswer))
	if out, err := f.run("", "--tools", "read,bash", "begin"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	found, err := filepath.Glob(filepath.Join(f.agentDir, "sessions/*/*.jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	f.parent = found[0]
	return f
}

func (f *family) write(name, text string) {
	f.Helper()
	path := filepath.Join(f.home, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		f.Fatal(err)
	}
}

// script lets another provider answer from now on.
func (f *family) script(steps string) {
	f.Helper()
	provider := modeltest.NewServer(f.T, modeltest.Parse(f.T, steps))
	f.write("agent/models.json", fmt.Sprintf(`{"providers":{"rec":{"baseUrl":%q,"api":"openai-completions","apiKey":"k","models":[{"id":"m1"}]}}}`, provider.URL))
}

func (f *family) run(point string, args ...string) (string, error) {
	cmd := exec.Command(f.bin, append([]string{"run"}, args...)...)
	cmd.Dir = filepath.Join(f.home, "p")
	cmd.Env = []string{"HOME=" + f.home, "PI_CODING_AGENT_DIR=" + f.agentDir, "PATH=" + os.Getenv("PATH"), "PIWEB_FAILPOINT=" + point}
	var both bytes.Buffer
	cmd.Stdout, cmd.Stderr = &both, &both
	err := cmd.Run()
	return both.String(), err
}

// killed asks the parent, in a program that dies at a point.
func (f *family) killed(point, ask string) {
	f.Helper()
	out, err := f.run(point, "--session", f.parent, ask)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !exit.Sys().(syscall.WaitStatus).Signaled() {
		f.Fatalf("the program was not killed: %v\n%s", err, out)
	}
}

// goesOn prompts the parent twice.
func (f *family) goesOn() {
	f.Helper()
	for range 2 {
		if out, err := f.run("", "--session", f.parent, "and now"); err != nil {
			f.Fatalf("the next prompt: %v\n%s", err, out)
		}
	}
}

// delivered counts the lines of the parent that bring an answer of the child.
func (f *family) delivered(want int) {
	f.Helper()
	data, err := os.ReadFile(f.parent)
	if err != nil {
		f.Fatal(err)
	}
	n := 0
	for line := range strings.SplitSeq(string(data), "\n") {
		if strings.Contains(line, theAnswer) && (strings.Contains(line, subagent.NoticeType) || strings.Contains(line, `"toolResult"`)) {
			n++
		}
	}
	if n != want {
		f.Errorf("delivered %d times, want %d", n, want)
	}
}

func (f *family) pending(rt *piweb.Runtime, want int) {
	f.Helper()
	if p, err := rt.Subagents().Pending(f.Context(), f.parent); err != nil || want >= 0 && len(p) != want {
		f.Errorf("pending: %v (%v)", p, err)
	}
}

// child is another process's view of the one child that there is.
func (f *family) child(do func(*piweb.Runtime)) subagent.Run {
	f.Helper()
	rt, err := piweb.New(piweb.Config{Home: f.home, AgentDir: f.agentDir, Providers: providers(), Lookup: func(string) (string, bool) { return "", false }})
	if err != nil {
		f.Fatal(err)
	}
	defer rt.Close()
	do(rt)
	runs, err := rt.Subagents().Children(f.Context(), f.parent)
	if err != nil || len(runs) != 1 {
		f.Fatalf("children: %v (%v)", runs, err)
	}
	return runs[0]
}
