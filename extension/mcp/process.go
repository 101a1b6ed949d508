package mcp

import (
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// The times that a server is given to end: after its input is closed, and after
// it was asked to.
const (
	endGrace  = 2 * time.Second
	termGrace = 2 * time.Second
)

// process is a server that runs as a program of this machine, with all that it
// starts.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   io.ReadCloser
	errs  *tail
	guard io.Closer     // ends the group if this program is killed
	done  chan struct{} // closed when the program has ended
}

// start runs a server in its own process group.
func start(r resolved, dir string, environ []string) (*process, error) {
	cmd := exec.Command(r.command, r.args...)
	cmd.Dir = dir
	cmd.Env = environment(environ, r.env)
	p := &process{cmd: cmd, errs: &tail{}, done: make(chan struct{})}
	cmd.Stderr = p.errs
	cmd.WaitDelay = endGrace
	var err error
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	// A pipe of our own: the one of exec is closed under its reader when the
	// program ends, and loses the last answer.
	out, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.out, cmd.Stdout = out, w
	ownGroup(cmd)
	err = cmd.Start()
	_ = w.Close()
	if err != nil {
		_ = out.Close()
		return nil, err
	}
	p.guard = guard(cmd.Process.Pid)
	go func() {
		_ = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// stop ends the server and everything it started: its input is closed, then it is
// asked, then it is killed. It returns when the program has ended.
func (p *process) stop() {
	_ = p.in.Close()
	if !p.waits(endGrace) {
		p.signal(false)
		p.waits(termGrace)
	}
	p.signal(true) // also what it left behind
	<-p.done
	_ = p.out.Close()
	if p.guard != nil {
		_ = p.guard.Close()
	}
}

func (p *process) waits(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.done:
		return true
	case <-t.C:
		return false
	}
}

// environment is that of this program without the secrets that are piweb's own,
// and with what the configuration adds.
func environment(environ []string, more map[string]string) []string {
	out := slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		name = strings.ToUpper(name)
		return strings.HasPrefix(name, "PIWEB_") || strings.HasPrefix(name, "PI_WEB_")
	})
	for name, value := range more {
		out = append(out, name+"="+value)
	}
	return out
}

// tail keeps the end of what a server writes to its error output.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const maxTail = 8 << 10

func (t *tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, data[max(0, len(data)-maxTail):]...)
	if over := len(t.text) - maxTail; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(data), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
