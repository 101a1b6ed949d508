//go:build unix

package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"
)

// soon is how long a test waits for what should happen at once, so that a
// loaded machine does not fail it.
const soon = 30 * time.Second

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(soon); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", soon, what)
		}
	}
}

// alive says whether a process runs. One that ended but that nobody waits for
// does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return runtime.GOOS != "linux"
	}
	_, after, _ := bytes.Cut(stat, []byte(") "))
	return len(after) > 0 && after[0] != 'Z'
}

// pids reads the numbers that a command printed.
func pids(t *testing.T, text string) []int {
	t.Helper()
	var list []int
	for word := range strings.FieldsSeq(text) {
		if pid, err := strconv.Atoi(word); err == nil {
			list = append(list, pid)
		}
	}
	return list
}

func bashCall(t *testing.T, dir, command string) *Call {
	t.Helper()
	return &Call{ID: "call_1", Name: "bash", CWD: dir, Arguments: toolArgs(t, map[string]any{"command": command})}
}

func runBash(t *testing.T, ctx context.Context, opts Options, call *Call) Result {
	t.Helper()
	r, err := NewBash(opts).Run(ctx, call)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestBashAbortKillsGrandchildren(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	call := bashCall(t, t.TempDir(), `sleep 300 & echo $!; (sleep 300 & echo $!; trap '' TERM; sh -c 'echo $$; sleep 300'); wait`)
	var found atomic.Value
	call.Update = func(r Result) {
		if list := pids(t, r.Content.PlainText()); len(list) == 3 {
			found.Store(list)
			cancel()
		}
	}
	r := runBash(t, ctx, Options{}, call)
	if !r.IsError || string(r.Details) != "{}" || !strings.HasSuffix(r.Content.PlainText(), "\n\nThe command was stopped because the run was aborted.") {
		t.Errorf("got %q, details %s", r.Content.PlainText(), r.Details)
	}
	for _, pid := range found.Load().([]int) {
		eventually(t, fmt.Sprintf("process %d ends", pid), func() bool { return !alive(pid) })
	}
}

func TestBashTimeoutKillsGrandchildren(t *testing.T) {
	call := bashCall(t, t.TempDir(), "")
	call.Arguments = toolArgs(t, map[string]any{"command": "(sleep 300 & echo $!); sleep 300", "timeout": 0.5})
	r := runBash(t, context.Background(), Options{}, call)
	for _, pid := range pids(t, r.Content.PlainText()) {
		eventually(t, fmt.Sprintf("process %d ends", pid), func() bool { return !alive(pid) })
	}
}

func TestBashBeforeItBegins(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	dir := t.TempDir()
	r := runBash(t, ctx, Options{}, bashCall(t, dir, "touch made"))
	if !r.IsError || exists(filepath.Join(dir, "made")) {
		t.Errorf("got %s", r.Content.PlainText())
	}
}

func TestBashDoesNotWaitForAQuietBackgroundChild(t *testing.T) {
	bash := NewBash(Options{})
	bash.drain = soon // else it would be waited for, and then said so
	r, err := bash.Run(context.Background(), bashCall(t, t.TempDir(), "sleep 300 & echo $!"))
	if err != nil {
		t.Fatal(err)
	}
	if r.IsError || strings.Contains(r.Content.PlainText(), "still writing") {
		t.Fatal(r.Content.PlainText())
	}
	for _, pid := range pids(t, r.Content.PlainText()) {
		if !alive(pid) {
			t.Errorf("the background child %d was killed", pid)
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func TestBashStopsListeningToANoisyBackgroundChild(t *testing.T) {
	bash := NewBash(Options{TempDir: t.TempDir()})
	// A child that waits for a processor is silent; only the drain may end this.
	bash.quiet, bash.drain = soon, 300*time.Millisecond
	r, err := bash.Run(context.Background(), bashCall(t, t.TempDir(), "echo $$; (while :; do echo x; sleep 0.01; done) &"))
	if err != nil {
		t.Fatal(err)
	}
	if r.IsError || !strings.Contains(r.Content.PlainText(), "still writing") {
		t.Errorf("got %s", r.Content.PlainText())
	}
	// The child was the last one of the group; its next echo finds no reader.
	group := pids(t, r.Content.PlainText())[0]
	eventually(t, "the child ends", func() bool { return syscall.Kill(-group, 0) != nil })
}

func TestBashTimeoutWhileABackgroundChildWrites(t *testing.T) {
	call := bashCall(t, t.TempDir(), "")
	call.Arguments = toolArgs(t, map[string]any{"command": "(while :; do echo x; sleep 0.01; done) & exit 4", "timeout": 4})
	bash := NewBash(Options{TempDir: t.TempDir()})
	bash.quiet, bash.drain = soon, soon // only the timeout may end this
	r, err := bash.Run(context.Background(), call)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"timeout of 4 s", "ended with exit code 4", "in the background"} {
		if !strings.Contains(r.Content.PlainText(), want) {
			t.Errorf("%q is missing in %s", want, r.Content.PlainText())
		}
	}
}

// What was written before the shell ended is read, however late the reader is.
func TestDrainReadsAllThatIsInThePipe(t *testing.T) {
	for range 5 {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		pipe := newOutputPipe(r, pipeQuiet)
		const text = "written before the end"
		if _, err := w.WriteString(text); err != nil {
			t.Fatal(err)
		}
		pipe.shellEnded()
		var got bytes.Buffer
		pipe.drain(func(b []byte) { got.Write(b) }) // returns though w is open
		if got.String() != text {
			t.Fatalf("got %q", got.String())
		}
		pipe.close()
		_ = w.Close()
	}
}

func TestReadNowTakesWhatADeadlineWouldMiss(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	pipe := newOutputPipe(r, pipeQuiet)
	_ = r.SetReadDeadline(time.Now().Add(-time.Second))
	buf := make([]byte, 10)
	if n, err := pipe.readNow(buf); n != 0 || err == nil {
		t.Errorf("an empty pipe gives %d bytes, error %v", n, err)
	}
	if _, err := w.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	_ = r.SetReadDeadline(time.Now().Add(-time.Second))
	if n, err := pipe.readNow(buf); n != 1 || err != nil {
		t.Errorf("got %d bytes, error %v", n, err)
	}
}

func spillFile(t *testing.T, r Result) string {
	t.Helper()
	var d struct{ FullOutputPath string }
	if err := json.Unmarshal(r.Details, &d); err != nil {
		t.Fatalf("details %s: %v", r.Details, err)
	}
	return d.FullOutputPath
}

func TestBashKeepsTheWholeOutputInAPrivateFile(t *testing.T) {
	dir := t.TempDir()
	r := runBash(t, context.Background(), Options{TempDir: dir}, bashCall(t, dir, "seq 1 3000; printf '\\377'"))
	path := spillFile(t, r)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o600 || filepath.Dir(path) != dir || !spillName.MatchString(filepath.Base(path)) {
		t.Errorf("%s has mode %v", path, info.Mode())
	}
	var want strings.Builder
	for i := range 3000 {
		fmt.Fprintln(&want, i+1)
	}
	if got := readTestFile(t, path); got != want.String()+"\xff" {
		t.Errorf("the file holds %d bytes, not the raw output", len(got))
	}
	if !strings.Contains(r.Content.PlainText(), "whole output: "+path) {
		t.Errorf("the note does not name %s", path)
	}
}

func TestBashMakesNoFileForAShortOutput(t *testing.T) {
	dir := t.TempDir()
	runBash(t, context.Background(), Options{TempDir: dir}, bashCall(t, t.TempDir(), "seq 1 2000"))
	onlyFiles(t, dir)
}

func TestBashWithoutAPlaceForTheWholeOutput(t *testing.T) {
	r := runBash(t, context.Background(), Options{TempDir: filepath.Join(t.TempDir(), "gone")},
		bashCall(t, t.TempDir(), "seq 1 3000"))
	if r.IsError || !strings.Contains(r.Content.PlainText(), "could not be kept: no such file or directory") || spillFile(t, r) != "" {
		t.Errorf("got %s", r.Content.PlainText()[len(r.Content.PlainText())-200:])
	}
}

func TestBashBoundsTheFile(t *testing.T) {
	bash := NewBash(Options{TempDir: t.TempDir()})
	bash.spillLimit = 60000
	r, err := bash.Run(context.Background(), bashCall(t, t.TempDir(), "seq 1 30000"))
	if err != nil {
		t.Fatal(err)
	}
	path := spillFile(t, r)
	if got := len(readTestFile(t, path)); got != 60000 {
		t.Errorf("the file holds %d bytes", got)
	}
	if !strings.Contains(r.Content.PlainText(), "first 58.6KB of the output: "+path) {
		t.Errorf("got %s", r.Content.PlainText()[len(r.Content.PlainText())-200:])
	}
}

// keeper is a sink that can tell where it keeps what it took.
type keeper struct {
	bytes.Buffer
	path, name string
	err        error
}

func (k *keeper) Write(p []byte) (int, error) {
	if k.err != nil {
		return 0, k.err
	}
	return k.Buffer.Write(p)
}

func (k *keeper) Location() (path, name string) { return k.path, k.name }

func TestBashSink(t *testing.T) {
	for _, c := range []struct {
		name       string
		sink       *keeper
		path, note string
	}{
		{"named", &keeper{path: "/store/3.bash.log", name: "artifact://3"}, "/store/3.bash.log", "whole output: artifact://3]"},
		{"with a path", &keeper{path: "/store/x"}, "/store/x", "whole output: /store/x]"},
		{"silent", &keeper{}, "", "the rest is not kept]"},
		{"broken", &keeper{path: "/store/x", err: errors.New("disk is gone")}, "", "could not be kept: disk is gone]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			call := bashCall(t, t.TempDir(), "seq 1 3000")
			call.Sink = c.sink
			r := runBash(t, context.Background(), Options{TempDir: dir}, call)
			onlyFiles(t, dir)
			if got := spillFile(t, r); got != c.path {
				t.Errorf("path %q", got)
			}
			if got := r.Content.PlainText(); !strings.HasSuffix(got, c.note) || r.IsError {
				t.Errorf("got %s", got[len(got)-200:])
			}
			if c.sink.err == nil && c.sink.Len() != 13893 {
				t.Errorf("the sink took %d bytes", c.sink.Len())
			}
		})
	}
	t.Run("short output goes there too", func(t *testing.T) {
		call := bashCall(t, t.TempDir(), "echo hi")
		sink := &bytes.Buffer{}
		call.Sink = sink
		runBash(t, context.Background(), Options{}, call)
		if sink.String() != "hi\n" {
			t.Errorf("the sink took %q", sink)
		}
	})
}

// TestBashTwoGigabytesInBoundedMemory: whatever a command prints, the memory stays
// below the stated 32 MiB and the file below its limit, and what is shown is text.
func TestBashTwoGigabytesInBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("prints 2 GB")
	}
	const size, bound, file = 2 << 30, 32 << 20, 64 << 20 // bytes
	dir := t.TempDir()
	bash := NewBash(Options{TempDir: dir})
	bash.spillLimit = file
	call := bashCall(t, dir, fmt.Sprintf("yes 'a line of some length, with 世界' | head -c %d", size))
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	before, peak, reports := stats.HeapInuse, uint64(0), 0
	call.Update = func(r Result) {
		reports++
		runtime.ReadMemStats(&stats)
		peak = max(peak, stats.HeapInuse)
		if n := len(r.Content.PlainText()); n > MaxBytes {
			t.Errorf("a partial result has %d bytes", n)
		}
	}
	r, err := bash.Run(context.Background(), call)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d reports; the heap grew from %.1f to %.1f MiB", reports, float64(before)/(1<<20), float64(peak)/(1<<20))
	if reports == 0 || peak > before+bound {
		t.Errorf("%d reports; the heap grew from %d to %d bytes, the bound is %d more", reports, before, peak, bound)
	}
	if info, err := os.Stat(spillFile(t, r)); err != nil || info.Size() != file {
		t.Errorf("%v, %v", info, err)
	}
	if text := r.Content.PlainText(); !utf8.ValidString(text) || !strings.Contains(text, "first 64.0MB of the output: ") {
		t.Errorf("a rune was cut, or the note does not tell what the file holds: %s", text[len(text)-200:])
	}
}

func TestBashShowsWholeRunesOfALongLine(t *testing.T) {
	r := runBash(t, context.Background(), Options{TempDir: t.TempDir()}, bashCall(t, t.TempDir(),
		`printf x; for i in $(seq 1 30000); do printf '世'; done`))
	text, _, _ := strings.Cut(r.Content.PlainText(), "\n\n[")
	if strings.Trim(text, "世") != "" || len(text) != MaxBytes-MaxBytes%3 {
		t.Errorf("%d bytes, begins with %q", len(text), text[:12])
	}
}

func TestBashReports(t *testing.T) {
	call := bashCall(t, t.TempDir(), "for i in 1 2 3 4 5 6; do echo $i; sleep 0.06; done")
	var mu sync.Mutex
	var times []time.Time
	var texts []string
	call.Update = func(r Result) {
		mu.Lock()
		defer mu.Unlock()
		times, texts = append(times, time.Now()), append(texts, r.Content.PlainText())
	}
	r := runBash(t, context.Background(), Options{}, call)
	if len(times) == 0 {
		t.Fatal("no partial result")
	}
	for i := range times {
		if !strings.HasPrefix(r.Content.PlainText(), texts[i]) {
			t.Errorf("partial %q is no beginning of %q", texts[i], r.Content.PlainText())
		}
		if i > 0 && times[i].Sub(times[i-1]) < reportInterval {
			t.Errorf("reports %v apart", times[i].Sub(times[i-1]))
		}
		if i > 0 && texts[i] == texts[i-1] {
			t.Errorf("%q was reported twice", texts[i])
		}
	}
}

func TestBashReportsTheRecordOfACutOutput(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	call := bashCall(t, t.TempDir(), "seq 1 3000; sleep 300")
	var last Result
	call.Update = func(r Result) {
		if strings.HasSuffix(r.Content.PlainText(), "\n3000") {
			last = r
			cancel()
		}
	}
	runBash(t, ctx, Options{TempDir: t.TempDir()}, call)
	if spillFile(t, last) == "" || !strings.Contains(string(last.Details), `"totalLines":3000`) {
		t.Errorf("details %.300s", last.Details)
	}
}

func TestBashEnvironment(t *testing.T) {
	call := bashCall(t, t.TempDir(), `echo "[$KEPT][$PI_SESSION_ID][$PI_MODEL][$PI_WEB_ATTACHMENT_SECRET][$PI_WEB_ATTACHMENT_DIR][$PI_WEB_PASSWORD]"`)
	call.Env = []string{"PI_SESSION_ID=mine"}
	opts := Options{Environ: func() []string {
		return []string{"PATH=" + os.Getenv("PATH"), "KEPT=kept", "PI_SESSION_ID=outer", "PI_MODEL=outer",
			"PI_WEB_ATTACHMENT_SECRET=s", "PI_WEB_ATTACHMENT_DIR=d", "PI_WEB_PASSWORD=p"}
	}}
	if got := runBash(t, context.Background(), opts, call).Content.PlainText(); got != "[kept][mine][][][][]\n" {
		t.Errorf("got %s", got)
	}
}

func TestBashPrefix(t *testing.T) {
	r := runBash(t, context.Background(), Options{ShellCommandPrefix: "x=5"}, bashCall(t, t.TempDir(), "echo $x"))
	if got := r.Content.PlainText(); got != "5\n" {
		t.Errorf("got %s", got)
	}
}

func TestBashShell(t *testing.T) {
	dir := t.TempDir()
	shell := filepath.Join(dir, "my shell")
	if err := os.WriteFile(shell, []byte("#!/bin/sh\necho \"$1 $2\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, shell, want string
		isError           bool
	}{
		{"of the settings", shell, "-c do it\n", false},
		{"missing", filepath.Join(dir, "gone"), "the shell of the setting shellPath cannot be used", true},
		{"not a program", filepath.Join(dir, "text"), "could not be started: permission denied", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			writeTestFile(t, filepath.Join(dir, "text"), "x")
			r := runBash(t, context.Background(), Options{ShellPath: c.shell}, bashCall(t, dir, "do it"))
			if got := r.Content.PlainText(); !strings.Contains(got, c.want) || r.IsError != c.isError {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestBashWithoutItsFolder(t *testing.T) {
	r := runBash(t, context.Background(), Options{}, bashCall(t, filepath.Join(t.TempDir(), "gone"), "true"))
	if !r.IsError || !strings.Contains(r.Content.PlainText(), "working directory") {
		t.Errorf("got %s", r.Content.PlainText())
	}
}

func TestBashHasNoTerminal(t *testing.T) {
	r := runBash(t, context.Background(), Options{}, bashCall(t, t.TempDir(), "(: </dev/tty) 2>/dev/null && echo terminal || echo none"))
	if got := r.Content.PlainText(); got != "none\n" {
		t.Errorf("got %s", got)
	}
}

func TestBashManyAtOnce(t *testing.T) {
	bash := NewBash(Options{TempDir: t.TempDir()})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			r, err := bash.Run(context.Background(), &Call{CWD: os.TempDir(),
				Arguments: json.RawMessage(fmt.Sprintf(`{"command":"for i in 1 2 3; do echo %d; done"}`, i))})
			if want := strings.Repeat(fmt.Sprintf("%d\n", i), 3); err != nil || r.Content.PlainText() != want {
				t.Errorf("%v %q, want %q", err, r.Content.PlainText(), want)
			}
		})
	}
	wg.Wait()
}
