package mcp

import (
	"io"
	"os/exec"
)

func ownGroup(*exec.Cmd) {}

// signal can only kill here, and only the program itself.
func (p *process) signal(kill bool) {
	if kill {
		_ = p.cmd.Process.Kill()
	}
}

// guard: the system closes the input of a server whose parent has ended; more is
// not done here.
func guard(int) io.Closer { return nil }
