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

// TestKillsOfSubagents kills the real program at each state of a background child.
// Its file says what became of it, nothing is lost or delivered twice, and what was
// interrupted can be resumed (D4, D6, RULINGS 38).
func TestKillsOfSubagents(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	bin := filepath.Join(t.TempDir(), "piweb")
	if out, err := exec.Command("go", "build", "-tags", "failpoint", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range []struct {
		point   string
		status  subagent.Status
		pending int
	}{
		{"subagent-queued", subagent.Interrupted, 0}, {"subagent-running", subagent.Interrupted, 0}, {"subagent-answered", subagent.Interrupted, 0},
		{"subagent-recorded", subagent.Completed, 1}, {"subagent-delivered", subagent.Completed, -1},
	} {
		t.Run(c.point, func(t *testing.T) {
			t.Parallel()
			provider := modeltest.NewServer(t, modeltest.Parse(t, `{"steps":[
				{"match":"please delegate","toolCalls":[{"name":"Agent","arguments":{"prompt":"the task of the child","description":"A task","run_in_background":true}}]},
				{"match":"the task of the child","text":"THE ANSWER OF THE CHILD","repeat":true},
				{"match":"go on with it","text":"THE ANSWER OF THE CHILD","repeat":true},
				{"match":"please delegate","text":"slow words ","textTimes":400,"delayMs":10},
				{"text":"well then","repeat":true}]}`))
			home := t.TempDir()
			agentDir := filepath.Join(home, "agent")
			for name, text := range map[string]string{"p/a.txt": "hello\n", "agent/agents/settings.json": `{"builtInEnabled":true}`,
				"agent/models.json":   fmt.Sprintf(`{"providers":{"rec":{"baseUrl":%q,"api":"openai-completions","apiKey":"k","models":[{"id":"m1"}]}}}`, provider.URL),
				"agent/settings.json": `{"defaultProvider":"rec","defaultModel":"m1"}`} {
				path := filepath.Join(home, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			run := func(point string, args ...string) (string, error) {
				cmd := exec.Command(bin, append([]string{"run"}, args...)...)
				cmd.Dir = filepath.Join(home, "p")
				cmd.Env = []string{"HOME=" + home, "PI_CODING_AGENT_DIR=" + agentDir, "PATH=" + os.Getenv("PATH"), "PIWEB_FAILPOINT=" + point}
				var both bytes.Buffer
				cmd.Stdout, cmd.Stderr = &both, &both
				err := cmd.Run()
				return both.String(), err
			}
			if out, err := run("", "--tools", "read,bash", "begin"); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			found, err := filepath.Glob(filepath.Join(agentDir, "sessions/*/*.jsonl"))
			if err != nil || len(found) != 1 {
				t.Fatal(found, err)
			}
			parent := found[0]
			out, err := run(c.point, "--session", parent, "please delegate")
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !exit.Sys().(syscall.WaitStatus).Signaled() {
				t.Fatalf("the program was not killed: %v\n%s", err, out)
			}
			delivered := func() int {
				data, err := os.ReadFile(parent)
				if err != nil {
					t.Fatal(err)
				}
				n := 0
				for line := range strings.SplitSeq(string(data), "\n") {
					if strings.Contains(line, subagent.NoticeType) && strings.Contains(line, "THE ANSWER OF THE CHILD") {
						n++
					}
				}
				return n
			}
			child := theChild(t, home, agentDir, parent, func(rt *piweb.Runtime) {
				p, err := rt.Subagents().Pending(t.Context(), parent)
				if err != nil || c.pending >= 0 && len(p) != c.pending {
					t.Errorf("pending: %v (%v)", p, err)
				}
			})
			if child.Status != c.status {
				t.Errorf("the child is %s, want %s", child.Status, c.status)
			}
			for range 2 {
				if out, err := run("", "--session", parent, "and now"); err != nil {
					t.Fatalf("the next prompt: %v\n%s", err, out)
				}
			}
			want := 0
			if c.status == subagent.Completed {
				want = 1
			}
			if n := delivered(); n != want {
				t.Errorf("delivered %d times, want %d", n, want)
			}
			if c.status != subagent.Interrupted {
				return
			}
			// What was interrupted is resumed, and its result comes once.
			again := theChild(t, home, agentDir, parent, func(rt *piweb.Runtime) {
				yes := true
				if _, err := rt.Subagents().Resume(t.Context(), parent, child.ID, "go on with it", &yes); err != nil {
					t.Fatal(err)
				}
				if _, err := rt.Subagents().Wait(t.Context(), parent, child.ID); err != nil {
					t.Fatal(err)
				}
			})
			if again.Status != subagent.Completed || again.ID != child.ID {
				t.Errorf("resumed, it is %+v", again)
			}
			for range 2 {
				if out, err := run("", "--session", parent, "and now"); err != nil {
					t.Fatalf("after the resume: %v\n%s", err, out)
				}
			}
			if n := delivered(); n != 1 {
				t.Errorf("after the resume it was delivered %d times", n)
			}
		})
	}
}

// theChild is another process's view of the one child that there is.
func theChild(t *testing.T, home, agentDir, parent string, do func(*piweb.Runtime)) subagent.Run {
	t.Helper()
	rt, err := piweb.New(piweb.Config{Home: home, AgentDir: agentDir, Providers: providers(), Lookup: func(string) (string, bool) { return "", false }})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	do(rt)
	runs, err := rt.Subagents().Children(t.Context(), parent)
	if err != nil || len(runs) != 1 {
		t.Fatalf("children: %v (%v)", runs, err)
	}
	return runs[0]
}
