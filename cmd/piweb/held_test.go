package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/piweb-go/piweb/session"
	"github.com/rogpeppe/go-internal/testscript"
)

// program finds a command as the script's own commands are found.
func program(ts *testscript.TestScript, name string, args ...string) *exec.Cmd {
	path := name
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		for _, file := range []string{name, name + ".exe"} {
			if _, err := os.Stat(filepath.Join(dir, file)); err == nil && path == name {
				path = filepath.Join(dir, file)
			}
		}
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"HOME", "USERPROFILE", "PATH", "GORACE", "SYSTEMROOT", "TMPDIR"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	return cmd
}

// hold starts `piweb serve` and sends it a prompt for a session, so that it holds
// the session: hold NAME FILE PROMPT. letgo NAME ends it as Ctrl-C does.
func hold(ts *testscript.TestScript, _ bool, args []string) {
	cmd := program(ts, "piweb", "serve", "--port", "0", "--json")
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() { _ = cmd.Process.Kill() })
	ts.Value("held").(map[string]*exec.Cmd)[args[0]] = cmd
	line, err := bufio.NewReader(out).ReadString('\n')
	ts.Check(err)
	_, link, _ := strings.Cut(line, `"url":"`)
	link, _, _ = strings.Cut(link, `"`)
	at, err := url.Parse(link)
	ts.Check(err)
	go func() { _, _ = io.Copy(io.Discard, out) }()

	h, err := session.ReadHeader(ts.MkAbs(args[1]))
	ts.Check(err)
	req, err := http.NewRequest("POST", fmt.Sprintf("http://%s/api/sessions/%s/messages", at.Host, h.ID), strings.NewReader(fmt.Sprintf(`{"message":%q}`, args[2])))
	ts.Check(err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+at.Query().Get("token"))
	client := http.Client{Timeout: time.Minute}
	res, err := client.Do(req)
	ts.Check(err)
	body, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	client.CloseIdleConnections()
	if res.StatusCode >= 300 {
		ts.Fatalf("the prompt was not taken: %s: %s", res.Status, body)
	}
}

func letGo(ts *testscript.TestScript, _ bool, args []string) {
	cmd := ts.Value("held").(map[string]*exec.Cmd)[args[0]]
	ts.Check(cmd.Process.Signal(os.Interrupt))
	ts.Check(cmd.Wait())
}
