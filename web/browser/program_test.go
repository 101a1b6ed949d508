package browser

import (
	"bufio"
	"encoding/json"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// program is piweb as a process of its own, in a home. It is stopped after every tab
// that was opened since it was first started: a page without its server complains.
type program struct {
	t         *testing.T
	bin, home string
	link      string // the link that it printed

	cmd   *exec.Cmd // nil where it does not run
	ended chan error
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

// startProgram starts piweb in a home, on a free port. It is one that the system gives
// to nobody who asks for any: it must still be free when piweb is started again.
func startProgram(t *testing.T, bin, home string) *program {
	t.Helper()
	p := &program{t: t, bin: bin, home: home}
	t.Cleanup(p.stop)
	p.start(quietPort(t))
	return p
}

func quietPort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 20_000 + rand.IntN(12_000)
		if ln, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))); err == nil {
			ln.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

// start starts it on a port.
func (p *program) start(port int) {
	t := p.t
	t.Helper()
	cmd := exec.Command(p.bin, "serve", "--port", strconv.Itoa(port), "--json")
	cmd.Dir = p.home
	for _, v := range os.Environ() { // what a person may have set must not count
		if name, _, _ := strings.Cut(v, "="); !strings.HasPrefix(name, "PI_") && !strings.HasSuffix(name, "_API_KEY") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "HOME="+p.home, "USERPROFILE="+p.home)
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	p.cmd, p.ended = cmd, ended
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	go func() {
		_, _ = lines.WriteTo(t.Output())
		ended <- cmd.Wait()
	}()
	var said struct{ URL string }
	if err != nil || json.Unmarshal([]byte(first), &said) != nil || said.URL == "" {
		t.Fatalf("piweb said %q first, and no link: %v", first, err)
	}
	p.link = said.URL
}

// origin is where its page is.
func (p *program) origin() string {
	origin, _, _ := strings.Cut(p.link, "/?token=")
	return origin
}

// kill ends it as a crash or the system would: nothing in it can act on it.
func (p *program) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	<-p.ended
	p.cmd = nil
}

// stop ends it as Ctrl-C does.
func (p *program) stop() {
	if p.cmd == nil {
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
