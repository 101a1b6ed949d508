// Command load runs a real `piweb serve` under many streams for a while, and says
// whether anything was lost or doubled and whether memory grew:
//
//	go run ./bench/load                        200 streams, 50 sessions, 10 minutes
//	go run ./bench/load -duration 20s
//
// Fifty sessions of the offline model answer without a pause. Four streams follow
// each of them; one of the four stays, the others hang up again and again in the
// middle of a turn and come back with the id that they had last. The chunks of every
// turn that a stream saw to its end are compared with those of the stream that
// stayed: the same ids in the same order with the same content, none missing, none
// twice. The text of a turn is compared with what the session's file says of it.
// Memory is what the server says of itself at /metrics.
//
// It ends with code 1 where something was lost, doubled or different.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

type options struct {
	binary   string
	streams  int
	sessions int
	duration time.Duration
	delay    time.Duration
	stay     time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.binary, "piweb", "", "the program to load; built from this tree where none is named")
	flag.IntVar(&o.streams, "streams", 200, "streams that are open at the same time")
	flag.IntVar(&o.sessions, "sessions", 50, "sessions that answer all the time")
	flag.DurationVar(&o.duration, "duration", 10*time.Minute, "how long")
	flag.DurationVar(&o.delay, "delay", 100*time.Millisecond, "time between two words of an answer")
	flag.DurationVar(&o.stay, "stay", 15*time.Second, "how long a stream stays before it comes anew, on average")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ok, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (ok bool, err error) {
	home, err := os.MkdirTemp("", "piweb-load-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(home)
	if o.binary == "" {
		o.binary = filepath.Join(home, "piweb")
		if out, err := exec.Command("go", "build", "-trimpath", "-o", o.binary, "github.com/piweb-go/piweb/cmd/piweb").CombinedOutput(); err != nil {
			return false, fmt.Errorf("build piweb: %w\n%s", err, out)
		}
	}
	srv, err := start(home, o)
	if err != nil {
		return false, err
	}
	defer srv.stop()
	conditions(o)
	ids := make([]string, o.sessions)
	for i := range ids {
		if ids[i], err = srv.create(ctx); err != nil {
			return false, err
		}
	}
	t := &tally{begun: time.Now()}
	ctx, cancel := context.WithTimeout(ctx, o.duration)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for i, id := range ids {
		streams := o.streams / o.sessions
		if i < o.streams%o.sessions {
			streams++
		}
		c := newCheck(t)
		w := &worker{srv: srv, id: id, check: c, tally: t, stay: o.stay}
		ready := make(chan struct{})
		all.Go(func() { w.drive(ctx, ready) })
		<-ready
		for n := 1; n < streams; n++ {
			all.Go(func() { w.comeAndGo(ctx) })
		}
	}
	m := watchMemory(ctx, srv, t, o.duration)
	cancel()
	all.Wait()
	return t.report(os.Stdout) && m.report(os.Stdout), nil
}

// conditions are printed with every figure.
func conditions(o options) {
	load := "unknown"
	if data, err := os.ReadFile("/proc/loadavg"); err == nil {
		load = string(data[:min(len(data), 14)])
	}
	fmt.Printf("%s/%s, %d processors, %s, load of the machine at the start %s\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), load)
	fmt.Printf("%d streams over %d running sessions of the offline model, a word every %s, for %s; a stream stays %s on average\n\n", o.streams, o.sessions, o.delay, o.duration, o.stay)
}

// server is the program under load.
type server struct {
	cmd   *exec.Cmd
	base  string
	token string
	cwd   string
}

// start runs `piweb serve` in a home of its own.
func start(home string, o options) (*server, error) {
	agent := filepath.Join(home, ".pi", "agent")
	project := filepath.Join(home, "project")
	for _, dir := range []string{agent, project} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	models := fmt.Sprintf(`{"providers":{"load":{"baseUrl":"http://none.invalid","api":"offline","apiKey":"none","models":[{"id":"slow","compat":{"delayMs":%d}}]}}}`, o.delay.Milliseconds())
	for name, text := range map[string]string{"models.json": models, "settings.json": `{"defaultProvider":"load","defaultModel":"slow"}`} {
		if err := os.WriteFile(filepath.Join(agent, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(o.binary, "serve", "--json", "--port", "0")
	cmd.Dir, cmd.Stderr = project, os.Stderr
	cmd.Env = append(os.Environ(), "HOME="+home, "PI_CODING_AGENT_DIR="+agent)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{cmd: cmd, cwd: project}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	var said struct {
		URL string `json:"url"`
	}
	if err == nil {
		err = json.Unmarshal(line, &said)
	}
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("the server does not say where it is: %w", err)
	}
	u, err := url.Parse(said.URL)
	if err != nil {
		s.stop()
		return nil, err
	}
	s.token = u.Query().Get("token")
	s.base = u.Scheme + "://" + u.Host
	return s, nil
}

func (s *server) stop() {
	_ = s.cmd.Process.Signal(os.Interrupt)
	_ = s.cmd.Wait()
}
