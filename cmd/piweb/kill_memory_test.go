//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// remembering is a home in which the real program serves memories.
type remembering struct {
	t         *testing.T
	bin, home string
}

func (k *remembering) command(point string, args ...string) *exec.Cmd {
	cmd := exec.Command(k.bin, args...)
	cmd.Dir = k.home
	cmd.Env = []string{"HOME=" + k.home, "PI_CODING_AGENT_DIR=" + filepath.Join(k.home, "agent"), "PATH=" + os.Getenv("PATH"), "PIWEB_FAILPOINT=" + point}
	return cmd
}

// post serves, sends one request, and says what came back: a status, or that the
// program was killed.
func (k *remembering) post(point, path, contentType, body string) (status int, killed bool) {
	k.t.Helper()
	cmd := k.command(point, "serve", "--port", "0", "--json")
	out, err := cmd.StdoutPipe()
	if err != nil {
		k.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		k.t.Fatal(err)
	}
	var said struct{ URL string }
	if err := json.Unmarshal([]byte(line), &said); err != nil {
		k.t.Fatalf("%q: %v", line, err)
	}
	at, err := url.Parse(said.URL)
	if err != nil {
		k.t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	req, err := http.NewRequest("POST", "http://"+at.Host+path, strings.NewReader(body))
	if err != nil {
		k.t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Authorization", "Bearer "+at.Query().Get("token"))
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err == nil {
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		return res.StatusCode, false
	}
	var exit *exec.ExitError
	if !errors.As(cmd.Wait(), &exit) {
		k.t.Fatalf("no answer, and the program was not killed: %v", err)
	}
	st, ok := exit.Sys().(syscall.WaitStatus)
	return 0, ok && st.Signaled() && st.Signal() == syscall.SIGKILL
}

// files are those below the storage, which is made to look older by so much first.
func (k *remembering) files(older time.Duration) (list []string) {
	k.t.Helper()
	err := filepath.WalkDir(filepath.Join(k.home, "agent", "piweb-data", "memory", "storage"), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if !d.IsDir() {
			list = append(list, filepath.Base(path))
		}
		when := time.Now().Add(-older)
		return os.Chtimes(path, when, when)
	})
	if err != nil {
		k.t.Fatal(err)
	}
	return list
}

// found opens the memories in a new process and searches them.
func (k *remembering) found(words string) (texts int, files []string) {
	k.t.Helper()
	out, err := k.command("", "memory", "search", words, "--json").Output()
	if err != nil {
		k.t.Fatalf("%v\n%s", err, out)
	}
	var said struct {
		Results []struct {
			Text        string
			Attachments []struct{ Name string }
		}
	}
	if err := json.Unmarshal(out, &said); err != nil {
		k.t.Fatalf("%s: %v", out, err)
	}
	for _, r := range said.Results {
		texts += strings.Count(r.Text, "hello")
		for _, a := range r.Attachments {
			files = append(files, a.Name)
		}
	}
	return texts, files
}

// TestKillsInAnAdd kills the real program, as kill -9 does, at each step of an add and
// of an upload. What was written and has no row is there while it might still be being
// written, and is gone when the program starts an hour later; the same request again
// is kept once, with its files.
func TestKillsInAnAdd(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	bin := filepath.Join(t.TempDir(), "piweb")
	if out, err := exec.Command("go", "build", "-tags", "failpoint", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const (
		add    = `{"session_id":"s","messages":[{"sender_id":"local","role":"user","timestamp":1750000000000,"content":[{"type":"text","text":"hello"},{"type":"image","name":"a.png","base64":"QQ=="},{"type":"image","name":"b.png","base64":"Qg=="}]}]}`
		upload = "--b\r\nContent-Disposition: form-data; name=\"description\"\r\n\r\nhello\r\n--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"r.png\"\r\nContent-Type: image/png\r\n\r\nbytes\r\n--b--\r\n"
	)
	for _, c := range []struct {
		point, path, contentType, body string
		left                           int  // files without a row
		engine                         bool // whether the engine has it already
		all                            []string
	}{
		{"memory-folder", "/memories/add", "application/json", add, 0, false, []string{"a.png", "b.png"}},
		{"memory-file", "/memories/add", "application/json", add, 0, false, []string{"a.png", "b.png"}},
		{"memory-file:2", "/memories/add", "application/json", add, 1, false, []string{"a.png", "b.png"}},
		{"memory-engine", "/memories/add", "application/json", add, 2, false, []string{"a.png", "b.png"}},
		{"memory-rows", "/memories/add", "application/json", add, 2, true, []string{"a.png", "b.png"}},
		{"memory-commit", "/memories/add", "application/json", add, 2, true, []string{"a.png", "b.png"}},
		{"memory-file", "/resources", "multipart/form-data; boundary=b", upload, 1, false, []string{"r.png"}},
		{"memory-rows", "/resources", "multipart/form-data; boundary=b", upload, 1, false, []string{"r.png"}},
	} {
		t.Run(strings.TrimPrefix(c.path, "/")+" "+c.point, func(t *testing.T) {
			k := &remembering{t, bin, t.TempDir()}
			status, killed := k.post(c.point, c.path, c.contentType, c.body)
			if !killed {
				t.Fatalf("the program was not killed, it said %d", status)
			}
			texts, files := k.found("hello")
			if (texts > 0) != c.engine || len(files) != 0 {
				t.Errorf("%d texts and %v are found", texts, files)
			}
			if left := k.files(0); len(left) != c.left {
				t.Errorf("left: %v", left)
			}
			k.found("hello")
			if left := k.files(2 * time.Hour); len(left) != c.left {
				t.Errorf("it went at once: %v", left)
			}
			k.found("hello") // an hour later
			if left := k.files(0); len(left) != 0 {
				t.Errorf("left for ever: %v", left)
			}
			if status, _ := k.post("", c.path, c.contentType, c.body); status != 200 {
				t.Fatalf("once more: %d", status)
			}
			if texts, files := k.found("hello"); texts != 1 || fmt.Sprint(files) != fmt.Sprint(c.all) {
				t.Errorf("once more: %d texts, %v", texts, files)
			}
			k.files(2 * time.Hour)
			k.found("hello")
			if left := k.files(0); len(left) != len(c.all) {
				t.Errorf("what has a row went: %v", left)
			}
		})
	}
}
