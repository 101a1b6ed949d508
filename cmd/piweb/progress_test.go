package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/piweb-go/piweb/session"
	"github.com/rogpeppe/go-internal/testscript"
)

// large writes a session file of so many megabytes: large FILE MB [VERSION]
func large(ts *testscript.TestScript, _ bool, args []string) {
	mb, version := 0, 3
	fmt.Sscan(args[1], &mb)
	if len(args) > 2 {
		fmt.Sscan(args[2], &version)
	}
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	w := bufio.NewWriter(f)
	n, _ := fmt.Fprintf(w, `{"type":"session","version":%d,"id":"large","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/nope"}`+"\n", version)
	k, _ := fmt.Fprintln(w, `{"type":"thinking_level_change","id":"t","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","thinkingLevel":"off"}`)
	text, parent := strings.Repeat("a long line ", 10_000), "t"
	for n, i := n+k, 0; n < mb<<20-len(text); i++ {
		k, _ := fmt.Fprintf(w, `{"type":"message","id":"%08x","parentId":%q,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":%q}}`+"\n", i, parent, text)
		n, parent = n+k, fmt.Sprintf("%08x", i)
	}
	ts.Check(w.Flush())
	ts.Check(f.Close())
}

// TestEveryCommandSpeaksJSON: a command on sessions that json.txtar does not run with
// --json is one that nobody tried.
func TestEveryCommandSpeaksJSON(t *testing.T) {
	script, err := os.ReadFile("testdata/script/json.txtar")
	if err != nil {
		t.Fatal(err)
	}
	a := &app{out: &watched{}}
	cmds := append(a.sessionsCommand().Commands(), a.doctorCommand())
	if len(cmds) < 15 {
		t.Fatalf("only %d commands", len(cmds))
	}
	for _, cmd := range cmds {
		tried := false
		for line := range strings.Lines(string(script)) {
			tried = tried || strings.Contains(line, "piweb "+cmd.CommandPath()+" ") && strings.Contains(line, "--json")
		}
		if !tried {
			t.Errorf("%s --json is not tried", cmd.CommandPath())
		}
	}
}

// TestProgress: on a terminal one line that waits for somebody who waits and goes
// away again; elsewhere lines, the last of them always.
func TestProgress(t *testing.T) {
	at := func(work string, done int64) session.Progress {
		return session.Progress{Work: work, Done: done, Total: 40 << 20, Unit: session.UnitBytes}
	}
	files := func(done int64) session.Progress {
		return session.Progress{Work: "searching", Done: done, Total: 3, Unit: "files"}
	}
	type step struct {
		after time.Duration
		tell  session.Progress
	}
	for name, c := range map[string]struct {
		tty   bool
		steps []step
		want  string
	}{
		"quick work on a terminal":   {true, []step{{0, files(1)}, {time.Millisecond, files(2)}, {time.Millisecond, files(3)}}, ""},
		"long work on a terminal":    {true, []step{{0, at("copying", 0)}, {time.Second, at("copying", 10<<20)}, {time.Millisecond, at("copying", 11<<20)}, {time.Second, at("copying", 12<<20+1)}, {0, at("copying", 40<<20)}}, "\r\x1b[Kcopying: 10 of 40 MB\r\x1b[Kcopying: 13 of 40 MB\r\x1b[K"},
		"two works":                  {true, []step{{0, at("reading", 1)}, {time.Second, at("reading", 10<<20)}, {time.Second, at("copying", 1<<20)}, {400 * time.Millisecond, at("copying", 2<<20)}, {time.Second, at("copying", 3<<20)}}, "\r\x1b[Kreading: 10 of 40 MB\r\x1b[Kcopying: 3 of 40 MB"},
		"quick work elsewhere":       {false, []step{{0, files(1)}, {0, files(2)}, {0, files(3)}}, "searching: 3 of 3 files\n"},
		"long work elsewhere":        {false, []step{{0, files(1)}, {10 * time.Second, files(2)}, {0, files(3)}}, "searching: 2 of 3 files\nsearching: 3 of 3 files\n"},
		"the same work again":        {false, []step{{0, files(3)}, {0, files(3)}}, "searching: 3 of 3 files\nsearching: 3 of 3 files\n"},
		"work that is done at once":  {true, []step{{time.Hour, files(3)}}, ""},
		"a total that was too small": {false, []step{{0, at("copying", 50<<20)}}, "copying: 50 of 40 MB\n"},
	} {
		var out bytes.Buffer
		now := time.Unix(1e9, 0)
		p := &progress{w: &out, tty: c.tty, now: func() time.Time { return now }}
		for _, s := range c.steps {
			now = now.Add(s.after)
			p.tell(s.tell)
		}
		if out.String() != c.want {
			t.Errorf("%s: %q, want %q", name, out.String(), c.want)
		}
		out.Reset()
		shown := p.shown
		p.hide()
		p.hide()
		if (out.String() == "\r\x1b[K") != shown {
			t.Errorf("%s: hidden by %q", name, out.String())
		}
	}
	var nobody *progress
	nobody.tell(files(1)) // and nothing happens
	nobody.hide()
	if nobody.teller() != nil {
		t.Error("nobody wants to know, and is told")
	}
}
