package tool

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// processGroup is a job object, which holds a command and all that it starts.
// What the command starts before it is put into the job, in its first moment,
// escapes; then the command itself can still be killed.
type processGroup struct {
	cmd *exec.Cmd
	job windows.Handle // 0 if there is none
}

func newProcessGroup(cmd *exec.Cmd) *processGroup {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		HideWindow:    true,
		CreationFlags: windows.CREATE_NEW_PROCESS_GROUP,
	}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		job = 0
	}
	return &processGroup{cmd: cmd, job: job}
}

// started puts the command into the job. Background processes outlive the job's
// handle, because the job does not kill on close.
func (g *processGroup) started() {
	if g.job == 0 {
		return
	}
	const access = windows.PROCESS_SET_QUOTA | windows.PROCESS_TERMINATE
	process, err := windows.OpenProcess(access, false, uint32(g.cmd.Process.Pid))
	if err != nil {
		g.release()
		return
	}
	defer windows.CloseHandle(process)
	if windows.AssignProcessToJobObject(g.job, process) != nil {
		g.release()
	}
}

func (g *processGroup) release() {
	if g.job != 0 {
		_ = windows.CloseHandle(g.job)
		g.job = 0
	}
}

// kill ends all processes of the job.
func (g *processGroup) kill() {
	const exitCode = 1 // what taskkill gives
	if g.job == 0 || windows.TerminateJobObject(g.job, exitCode) != nil {
		_ = g.cmd.Process.Kill()
	}
}

// exitStatus is the exit code of a shell. There are no signals.
func exitStatus(state *os.ProcessState) (code, signal int) { return state.ExitCode(), 0 }

// outputPipe is the reading end of a command's output. Reads of such a pipe
// know no deadline here, so one goroutine reads and another one waits; the
// reader ends with the last process that holds the pipe.
type outputPipe struct {
	quiet  time.Duration // see pipeQuiet
	r      *os.File
	ended  chan struct{} // the shell has
	closed chan struct{}
	once   sync.Once
}

func newOutputPipe(r *os.File, quiet time.Duration) *outputPipe {
	return &outputPipe{r: r, quiet: quiet, ended: make(chan struct{}), closed: make(chan struct{})}
}

// drain hands on what arrives, until all writers are gone, or the shell has
// ended and nothing has come for pipeQuiet, or the pipe is closed.
func (p *outputPipe) drain(emit func([]byte)) {
	pieces := make(chan []byte)
	go func() {
		defer close(pieces)
		for {
			buf := make([]byte, readChunk)
			n, err := p.r.Read(buf)
			if n > 0 {
				select {
				case pieces <- buf[:n]:
				case <-p.closed:
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	ended := p.ended
	silence := time.NewTimer(time.Hour)
	silence.Stop()
	defer silence.Stop()
	for {
		select {
		case piece, ok := <-pieces:
			if !ok {
				return
			}
			emit(piece)
			if ended == nil {
				silence.Reset(p.quiet)
			}
		case <-ended:
			ended = nil
			silence.Reset(p.quiet)
		case <-silence.C:
			if !p.hasMore() {
				return
			}
			silence.Reset(p.quiet)
		case <-p.closed:
			return
		}
	}
}

var peekNamedPipe = windows.NewLazySystemDLL("kernel32.dll").NewProc("PeekNamedPipe")

// hasMore says whether something lies in the pipe that the reader has not got
// to yet.
func (p *outputPipe) hasMore() bool {
	var available uint32
	ok, _, _ := peekNamedPipe.Call(p.r.Fd(), 0, 0, 0, uintptr(unsafe.Pointer(&available)), 0)
	return ok != 0 && available > 0
}

// shellEnded lets drain end at the first silence.
func (p *outputPipe) shellEnded() { close(p.ended) }

// close makes drain return.
func (p *outputPipe) close() {
	p.once.Do(func() {
		close(p.closed)
		_ = p.r.Close()
	})
}
