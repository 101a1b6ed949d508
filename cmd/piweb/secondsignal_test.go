//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/piweb-go/piweb/agent/model/modeltest"
)

// TestSecondSignal: a signal lets a turn go on within the grace, and a second one, of
// whichever kind, ends the program at once. What was acknowledged is in the file, as whole
// lines, and the next start goes on with it.
func TestSecondSignal(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ first, second os.Signal }{{os.Interrupt, os.Interrupt}, {syscall.SIGTERM, syscall.SIGTERM}, {syscall.SIGTERM, os.Interrupt}, {syscall.SIGHUP, syscall.SIGTERM}} {
		t.Run(fmt.Sprint(c.first, " then ", c.second), func(t *testing.T) {
			t.Parallel()
			provider := modeltest.NewServer(t, modeltest.Parse(t, `{"steps":[{"text":"so slow","delayMs":60000},{"text":"an answer","repeat":true}]}`))
			home := t.TempDir()
			for name, text := range map[string]string{
				"agent/models.json":   fmt.Sprintf(`{"providers":{"rec":{"baseUrl":%q,"api":"openai-completions","apiKey":"k","models":[{"id":"m1"}]}}}`, provider.URL),
				"agent/settings.json": `{"defaultProvider":"rec","defaultModel":"m1"}`, "p/x": "",
			} {
				path := filepath.Join(home, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			bin := filepath.Join(home, "piweb") // under this name the test's program is the program
			if err := os.Symlink(self, bin); err != nil {
				t.Fatal(err)
			}
			program := func(args ...string) *exec.Cmd {
				cmd := exec.Command(bin, args...)
				cmd.Dir = filepath.Join(home, "p")
				cmd.Env = []string{"HOME=" + home, "PI_CODING_AGENT_DIR=" + filepath.Join(home, "agent"), "PATH=" + os.Getenv("PATH")}
				return cmd
			}
			cmd := program("serve", "--port", "0", "--json", "--grace", "10m")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			defer func() { _ = cmd.Process.Kill() }()
			line, err := bufio.NewReader(out).ReadBytes('\n')
			if err != nil {
				t.Fatal(err)
			}
			go func() { _, _ = io.Copy(io.Discard, out); ended <- cmd.Wait() }()
			var serving struct {
				URL string `json:"url"`
			}
			if err := json.Unmarshal(line, &serving); err != nil {
				t.Fatal(err)
			}
			base, token, _ := strings.Cut(serving.URL, "?token=")
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
			ask := func(method, path, body string) (int, string) {
				r, err := http.NewRequest(method, base+path, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Authorization", "Bearer "+token)
				if body != "" {
					r.Header.Set("Content-Type", "application/json")
				}
				res, err := client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				data, _ := io.ReadAll(res.Body)
				return res.StatusCode, string(data)
			}
			_, made := ask("POST", "api/sessions", fmt.Sprintf(`{"source":%q,"tools":[]}`, filepath.Join(home, "p")))
			var session struct {
				ID string `json:"sessionId"`
			}
			if err := json.Unmarshal([]byte(made), &session); err != nil || session.ID == "" {
				t.Fatal(made, err)
			}
			if status, said := ask("POST", "api/sessions/"+session.ID+"/messages", `{"message":"acknowledged"}`); status != 200 {
				t.Fatalf("%d %s", status, said)
			}
			if err := provider.Wait(t.Context(), 1); err != nil {
				t.Fatal(err)
			}

			if err := cmd.Process.Signal(c.first); err != nil {
				t.Fatal(err)
			}
			limit := time.Now().Add(30 * time.Second)
			for status := 0; status != http.StatusServiceUnavailable; time.Sleep(5 * time.Millisecond) {
				if status, _ = ask("GET", "healthz", ""); time.Now().After(limit) {
					t.Fatalf("after a signal health is %d", status)
				}
			}
			if _, said := ask("GET", "api/sessions/"+session.ID+"/state", ""); !strings.Contains(said, `"isStreaming":true`) {
				t.Errorf("the turn does not go on: %s", said)
			}
			if err := cmd.Process.Signal(c.second); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-ended:
				exit, ok := err.(*exec.ExitError)
				if !ok || !exit.Sys().(syscall.WaitStatus).Signaled() || exit.Sys().(syscall.WaitStatus).Signal() != c.second {
					t.Errorf("it ended with %v", err)
				}
			case <-time.After(30 * time.Second):
				t.Fatal("it does not end")
			}

			files, err := filepath.Glob(filepath.Join(home, "agent/sessions/*/*.jsonl"))
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			data, err := os.ReadFile(files[0])
			if err != nil || !strings.HasSuffix(string(data), "\n") || strings.Count(string(data), `"acknowledged"`) != 1 {
				t.Errorf("the file: %v\n%s", err, data)
			}
			for line := range strings.Lines(string(data)) {
				if !json.Valid([]byte(line)) {
					t.Errorf("a line is no JSON: %s", line)
				}
			}
			if said, err := program("run", "--session", files[0], "go on").CombinedOutput(); err != nil || !strings.Contains(string(said), "an answer") {
				t.Errorf("it does not go on: %v\n%s", err, said)
			}
		})
	}
}
