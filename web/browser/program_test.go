package browser

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// program is piweb as a process of its own.
type program struct {
	t     *testing.T
	cmd   *exec.Cmd
	ended chan error
	link  string // the link that it printed
	// killed is set where the process is not expected to end well.
	killed bool
}

// buildProgram builds piweb once.
func buildProgram(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "piweb.exe")
	build := exec.Command("go", "build", "-o", bin, "./cmd/piweb")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build piweb: %v\n%s", err, out)
	}
	return bin
}

// startProgram starts piweb in a home, on a port; 0 takes a free one.
func startProgram(t *testing.T, bin, home string, port int) *program {
	t.Helper()
	p := &program{t: t, cmd: exec.Command(bin, "serve", "--port", strconv.Itoa(port), "--json"), ended: make(chan error, 1)}
	p.cmd.Dir = home
	for _, v := range os.Environ() { // what a person may have set must not count
		if name, _, _ := strings.Cut(v, "="); !strings.HasPrefix(name, "PI_") && !strings.HasSuffix(name, "_API_KEY") {
			p.cmd.Env = append(p.cmd.Env, v)
		}
	}
	p.cmd.Env = append(p.cmd.Env, "HOME="+home, "USERPROFILE="+home)
	p.cmd.Stderr = t.Output()
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	go func() {
		_, _ = lines.WriteTo(t.Output())
		p.ended <- p.cmd.Wait()
	}()
	var said struct{ URL string }
	if err != nil || json.Unmarshal([]byte(first), &said) != nil || said.URL == "" {
		t.Fatalf("piweb said %q first, and no link: %v", first, err)
	}
	p.link = said.URL
	return p
}

// origin is where its page is.
func (p *program) origin() string {
	origin, _, _ := strings.Cut(p.link, "/?token=")
	return origin
}

// kill ends it as a crash or the system would: nothing in it can act on it.
func (p *program) kill() {
	p.t.Helper()
	p.killed = true
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	<-p.ended
}

// stop ends it as Ctrl-C does.
func (p *program) stop() {
	if p.killed {
		return
	}
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		_ = p.cmd.Process.Kill() // a system without signals
	}
	select {
	case err := <-p.ended:
		if err != nil {
			p.t.Errorf("piweb ended with: %v", err)
		}
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		p.t.Errorf("piweb did not stop when it was told to: %v", <-p.ended)
	}
}
