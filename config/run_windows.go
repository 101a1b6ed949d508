package config

import (
	"context"
	"os/exec"
	"syscall"
)

// shell hands the line to cmd as it is; Go's quoting is not cmd's.
func shell(ctx context.Context, command string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "cmd")
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd /S /C "` + command + `"`, HideWindow: true}
	return cmd
}
