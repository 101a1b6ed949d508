//go:build unix

package mcp

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func (p *process) signal(kill bool) {
	sig := syscall.SIGTERM
	if kill {
		sig = syscall.SIGKILL
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, sig)
}

// guard starts a little program that waits for the end of this one and then ends
// the group of a server: a server that does not look at its input would go on for
// ever after a kill -9. It is nil where there is no shell; the server's input is
// closed by the system in any case.
func guard(pid int) io.Closer {
	r, w, err := os.Pipe()
	if err != nil {
		return nil
	}
	cmd := exec.Command("/bin/sh", "-c", `read -r _; kill -TERM "-$0" 2>/dev/null; sleep 1; kill -KILL "-$0" 2>/dev/null`, strconv.Itoa(pid))
	cmd.Stdin = r
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = r.Close()
	if err != nil {
		_ = w.Close()
		return nil
	}
	return &watchman{cmd, w}
}

type watchman struct {
	cmd  *exec.Cmd
	pipe *os.File
}

// Close sends the guard home without letting it act.
func (g *watchman) Close() error {
	_ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL)
	_ = g.cmd.Wait()
	return g.pipe.Close()
}
