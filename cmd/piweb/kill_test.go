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

	"github.com/piweb-go/piweb/agent/model/modeltest"
	"github.com/piweb-go/piweb/agent/model/offline"
	"github.com/piweb-go/piweb/session"
)

// TestKillsBetweenRecords kills the real program between every two records of a
// tool turn, a retry and a summary. Whatever was recorded is read back, and the
// next prompt works on the same file.
func TestKillsBetweenRecords(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	bin := filepath.Join(t.TempDir(), "piweb")
	if out, err := exec.Command("go", "build", "-tags", "failpoint", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	script := func() *offline.Script {
		return modeltest.Parse(t, `{"steps":[
			{"match":"<conversation>","text":"A SUMMARY","repeat":true},
			{"match":"busy","error":{"status":503,"message":"overloaded"}},
			{"match":"busy","text":"well","repeat":true},
			{"match":"use the tool","toolCalls":[{"name":"read","arguments":{"path":"a.txt"}},{"name":"ls","arguments":{}}]},
			{"match":"use the tool","text":"it says hello","repeat":true},
			{"text":"an answer that is long enough to be more than what is kept ","textTimes":9,"repeat":true}]}`)
	}
	for _, c := range []struct {
		point, prompt string
		users         int // messages of the user that must have survived
	}{
		{"before-prompt", "use the tool", 1}, {"after-prompt", "use the tool", 2}, {"before-receipt", "use the tool", 2}, {"before-answer", "use the tool", 2},
		{"after-answer", "use the tool", 2}, {"before-results", "use the tool", 2}, {"after-results", "use the tool", 2}, {"after-sync", "use the tool", 2},
		{"before-receipt:2", "use the tool", 2}, {"before-answer:2", "use the tool", 2}, {"after-answer:2", "use the tool", 2}, {"after-sync:2", "use the tool", 2},
		{"before-edit", "busy", 2}, {"after-edit", "busy", 2}, {"before-compaction", "/compact", 1}, {"after-compaction", "/compact", 1},
	} {
		t.Run(c.point, func(t *testing.T) {
			t.Parallel()
			provider := modeltest.NewServer(t, script())
			home := t.TempDir()
			put := func(name, text string) {
				path := filepath.Join(home, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			put("p/a.txt", "hello\n")
			put("agent/models.json", fmt.Sprintf(`{"providers":{"rec":{"baseUrl":%q,"api":"openai-completions","apiKey":"k","models":[{"id":"m1"}]}}}`, provider.URL))
			put("agent/settings.json", `{"defaultProvider":"rec","defaultModel":"m1","retry":{"baseDelayMs":1},"compaction":{"keepRecentTokens":5}}`)
			run := func(point string, args ...string) (string, error) {
				cmd := exec.Command(bin, append([]string{"run"}, args...)...)
				cmd.Dir = filepath.Join(home, "p")
				cmd.Env = []string{"HOME=" + home, "PI_CODING_AGENT_DIR=" + filepath.Join(home, "agent"), "PATH=" + os.Getenv("PATH"), "PIWEB_FAILPOINT=" + point}
				var both bytes.Buffer
				cmd.Stdout, cmd.Stderr = &both, &both
				err := cmd.Run()
				return both.String(), err
			}
			if out, err := run("", "--tools", "read,ls", "begin"); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			found, err := filepath.Glob(filepath.Join(home, "agent/sessions/*/*.jsonl"))
			if err != nil || len(found) != 1 {
				t.Fatal(found, err)
			}
			out, err := run(c.point, "--session", found[0], c.prompt)
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !exit.Sys().(syscall.WaitStatus).Signaled() {
				t.Fatalf("the program was not killed: %v\n%s", err, out)
			}
			if users, bad := usersOf(t, found[0]); users != c.users || bad != "" {
				t.Errorf("%d messages of the user are there, want %d; %s", users, c.users, bad)
			}
			if out, err := run("", "--session", found[0], "and now"); err != nil || !strings.Contains(out, "an answer") {
				t.Fatalf("the next prompt: %v\n%s", err, out)
			}
			if users, bad := usersOf(t, found[0]); users != c.users+1 || bad != "" {
				t.Errorf("after the next prompt %d messages of the user are there; %s", users, bad)
			}
		})
	}
}

// usersOf counts the messages of the user on the branch, and tells what is wrong
// with the file.
func usersOf(t *testing.T, path string) (n int, bad string) {
	t.Helper()
	s, err := session.Open(path, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	branch, err := s.Branch(s.Leaf())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range branch.Entries {
		if e.Role == "user" {
			n++
		}
	}
	for _, d := range s.Diagnostics() {
		bad += d.Text + "; "
	}
	return n, bad
}
