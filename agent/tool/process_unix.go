//go:build unix

package tool

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"sync/atomic"
	"syscall"
	"time"
)

// processGroup is the group of a command and of all that it starts. It is a
// session too, without a terminal, so that no program can ask the person at
// piweb's terminal for a password and wait.
type processGroup struct {
	cmd    *exec.Cmd
	mark   string // in the environment of all of them
	warden *warden
}

func newProcessGroup(cmd *exec.Cmd) *processGroup {
	g := &processGroup{cmd: cmd, mark: markName + "=" + randomHex(16)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Env = append(slices.Clip(cmd.Env), g.mark)
	return g
}

func (g *processGroup) started() { g.warden = newWarden(g.cmd.Process.Pid, g.mark) }

func (g *processGroup) release() { g.warden.dismiss() }

// kill ends the whole group at once, also when the shell itself has ended: its
// background processes are still in the group. What left the group is found by
// its mark.
func (g *processGroup) kill() {
	_ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL)
	killMarked(g.mark)
}

// exitStatus is the exit code of a shell as shells count, and the signal that
// killed it or 0.
func exitStatus(state *os.ProcessState) (code, signal int) {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), int(status.Signal())
	}
	return state.ExitCode(), 0
}

// outputPipe is the reading end of a command's output.
type outputPipe struct {
	r     *os.File
	quiet time.Duration // see pipeQuiet
	ended atomic.Bool   // the shell has
}

func newOutputPipe(r *os.File, quiet time.Duration) *outputPipe {
	return &outputPipe{r: r, quiet: quiet}
}

// drain hands on what arrives, until all writers are gone, or the shell has
// ended and nothing has come for the quiet time, or the pipe is closed.
//
// Before it takes the pipe for silent it looks into it once more, so that the
// answer depends on what was written and not on how late this goroutine got to
// run.
func (p *outputPipe) drain(emit func([]byte)) {
	buf := make([]byte, readChunk)
	for {
		if p.ended.Load() {
			_ = p.r.SetReadDeadline(time.Now().Add(p.quiet))
		}
		n, err := p.r.Read(buf)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			n, err = p.readNow(buf)
		}
		if n > 0 {
			emit(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// readNow reads what is in the pipe at this moment. It fails if there is
// nothing.
func (p *outputPipe) readNow(buf []byte) (n int, err error) {
	if err := p.r.SetReadDeadline(time.Time{}); err != nil {
		return 0, err
	}
	raw, err := p.r.SyscallConn()
	if err != nil {
		return 0, err
	}
	var readErr error
	err = raw.Read(func(fd uintptr) bool {
		for {
			n, readErr = syscall.Read(int(fd), buf)
			if readErr != syscall.EINTR {
				return true // never wait
			}
		}
	})
	if err == nil {
		err = readErr
	}
	if err == nil && n <= 0 {
		err = os.ErrClosed
	}
	return max(n, 0), err
}

// shellEnded lets drain end at the first silence.
func (p *outputPipe) shellEnded() {
	p.ended.Store(true)
	_ = p.r.SetReadDeadline(time.Now().Add(p.quiet)) // wakes a waiting Read
}

// close makes drain return.
func (p *outputPipe) close() { _ = p.r.Close() }
