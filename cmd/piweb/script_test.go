package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write what the scripts compare with")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"piweb": main})
}

// TestScripts runs the binary as a user would, in a home of its own.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", home)
			env.Setenv("USERPROFILE", home)
			env.Setenv("GORACE", "atexit_sleep_ms=0") // else each run under -race ends with a second of sleep
			fixtures, err := filepath.Abs("../../fixtures")
			env.Setenv("FIXTURES", fixtures)
			env.Values["snapshots"] = map[string]snapshot{}
			env.Values["held"] = map[string]*exec.Cmd{}
			return errors.Join(err, os.MkdirAll(home, 0o755))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "snap": snap, "same": same, "waitfor": waitFor, "copycase": copyCase, "jsonhas": jsonHas, "session": findSession, "sed": replace, "serve": serve,
			"hold": hold, "letgo": letGo, "large": large,
		},
	})
}

// exits runs a command and checks its exit code: exits 3 piweb …
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND …")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

type snapshot struct {
	data []byte
	at   time.Time
}

func look(ts *testscript.TestScript, name string) snapshot {
	path := ts.MkAbs(name)
	data, err := os.ReadFile(path)
	ts.Check(err)
	info, err := os.Stat(path)
	ts.Check(err)
	return snapshot{data, info.ModTime()}
}

// snap remembers files; same checks that they are as they were, to the byte and
// the time.
func snap(ts *testscript.TestScript, _ bool, args []string) {
	for _, a := range args {
		ts.Value("snapshots").(map[string]snapshot)[a] = look(ts, a)
	}
}

func same(ts *testscript.TestScript, neg bool, args []string) {
	for _, a := range args {
		old, now := ts.Value("snapshots").(map[string]snapshot)[a], look(ts, a)
		if equal := bytes.Equal(old.data, now.data) && old.at.Equal(now.at); equal == neg {
			ts.Fatalf("%s: unchanged is %v", a, equal)
		}
	}
}

// waitFor waits until a file holds a text.
func waitFor(ts *testscript.TestScript, _ bool, args []string) {
	for range 2000 {
		names, _ := filepath.Glob(ts.MkAbs(args[0]))
		for _, n := range names {
			if data, _ := os.ReadFile(n); strings.Contains(string(data), args[1]) {
				return
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	ts.Fatalf("%s never held %q", args[0], args[1])
}

// copyCase copies a fixture: copycase cases/002-*/session.jsonl to.jsonl
func copyCase(ts *testscript.TestScript, _ bool, args []string) {
	found, err := filepath.Glob(filepath.Join(ts.Getenv("FIXTURES"), filepath.FromSlash(args[0])))
	ts.Check(err)
	if len(found) != 1 {
		ts.Fatalf("%s fits %d files", args[0], len(found))
	}
	data, err := os.ReadFile(found[0])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), data, 0o644))
}

// jsonHas checks a value of the JSON on standard output: jsonhas error.code USAGE
func jsonHas(ts *testscript.TestScript, neg bool, args []string) {
	var v any
	if err := json.Unmarshal([]byte(ts.ReadFile("stdout")), &v); err != nil {
		ts.Fatalf("standard output is no JSON value: %v", err)
	}
	for _, key := range strings.Split(args[0], ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[key]
		case []any:
			var i int
			fmt.Sscan(key, &i)
			v = x[i]
		default:
			v = nil
		}
	}
	got, _ := json.Marshal(v)
	if text, ok := v.(string); ok {
		got = []byte(text)
	}
	if (string(got) == args[1]) == neg {
		ts.Fatalf("%s is %s", args[0], got)
	}
}

// findSession puts the path of the only session below the home into a variable:
// session VAR [PATTERN]
func findSession(ts *testscript.TestScript, _ bool, args []string) {
	found, err := filepath.Glob(filepath.Join(ts.Getenv("HOME"), ".pi", "agent", "sessions", "*", "*.jsonl"))
	ts.Check(err)
	var hits []string
	for _, f := range found {
		data, _ := os.ReadFile(f)
		if len(args) < 2 || strings.Contains(string(data), args[1]) {
			hits = append(hits, f)
		}
	}
	if len(hits) != 1 {
		ts.Fatalf("%d sessions fit, want one", len(hits))
	}
	ts.Setenv(args[0], hits[0])
}

// replace changes a text in a file: sed FILE OLD NEW
func replace(ts *testscript.TestScript, _ bool, args []string) {
	data := ts.ReadFile(args[0])
	if !strings.Contains(data, args[1]) {
		ts.Fatalf("%s does not hold %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.ReplaceAll(data, args[1], args[2])), 0o644))
}

// serve starts a command that serves, opens the link that it prints as a browser
// would, asks for the list of sessions, and ends it by Ctrl-C: serve NAME COMMAND …
// The output is left in NAME.out, the list in NAME.json.
func serve(ts *testscript.TestScript, _ bool, args []string) {
	cmd := program(ts, args[1], args[2:]...)
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	var text strings.Builder
	link := ""
	for lines := bufio.NewScanner(out); link == "" && lines.Scan(); {
		fmt.Fprintln(&text, lines.Text())
		if i := strings.Index(lines.Text(), "http://127.0.0.1:"); i >= 0 {
			link, _, _ = strings.Cut(lines.Text()[i:], `"`)
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".out"), []byte(text.String()), 0o644))
	if link == "" {
		_ = cmd.Wait()
		ts.Fatalf("no link was printed:\n%s", text.String())
	}
	jar, err := cookiejar.New(nil)
	ts.Check(err)
	browser := http.Client{Jar: jar, Timeout: time.Minute}
	page := get(ts, &browser, link)
	if !strings.Contains(page, "<html") {
		ts.Fatalf("the link leads to no page: %.200s", page)
	}
	base, _, _ := strings.Cut(link, "?")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".json"), []byte(get(ts, &browser, base+"api/sessions")), 0o644))
	browser.CloseIdleConnections()
	if runtime.GOOS == "windows" {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return
	}
	ts.Check(cmd.Process.Signal(os.Interrupt))
	_, _ = io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil {
		ts.Fatalf("it did not end well: %v", err)
	}
}

func get(ts *testscript.TestScript, c *http.Client, url string) string {
	res, err := c.Get(url)
	ts.Check(err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	ts.Check(err)
	if res.StatusCode != 200 {
		ts.Fatalf("GET %s: %s: %s", url, res.Status, body)
	}
	return string(body)
}
