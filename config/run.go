package config

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// maxOutput bounds what a key command may print. A key is far shorter.
const maxOutput = 64 << 10

// runShell runs a command in the system's shell with the process's environment,
// without input, and drops what it prints to standard error. Its children are
// ended with it where the system can do that.
func runShell(ctx context.Context, command string) (string, error) {
	cmd := shell(ctx, command)
	cmd.WaitDelay = time.Second // a grandchild may hold the pipe
	var out strings.Builder
	w := &boundedWriter{w: &out, left: maxOutput}
	cmd.Stdout = w
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case w.left < 0:
		return "", fmt.Errorf("it printed more than %d bytes", maxOutput)
	case errors.As(err, &exit):
		return "", errors.New(exit.ProcessState.String())
	case err != nil:
		return "", errors.New("it could not be run")
	}
	return out.String(), nil
}

type boundedWriter struct {
	w    io.Writer
	left int
}

func (b *boundedWriter) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, io.ErrShortWrite
	}
	return b.w.Write(p)
}
