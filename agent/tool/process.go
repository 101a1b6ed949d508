package tool

import (
	"context"
	"os"
	"os/exec"
	"time"
)

// The times that a command is given beyond its own.
const (
	// pipeQuiet is how long the pipe must be silent, once the shell has ended,
	// until the output counts as complete. A process that was left in the
	// background may hold the pipe open for ever.
	pipeQuiet = 100 * time.Millisecond

	// drainLimit is how long a process in the background may go on writing
	// after the shell has ended before we stop listening.
	drainLimit = 10 * time.Second

	// killGrace is how long we wait after a kill for the processes to be gone.
	// A process may have left the group, or hang in the system.
	killGrace = 2 * time.Second
)

// command is one run of the shell.
type command struct {
	shell   string
	script  string
	dir     string
	env     []string
	timeout time.Duration // 0 for none
	quiet   time.Duration // pipeQuiet, but in tests
	drain   time.Duration // drainLimit, but in tests
}

// endCause says why a run is over.
type endCause int

const (
	endedItself endCause = iota
	endedByTimeout
	endedByAbort
)

// ending is how a run ended.
type ending struct {
	cause     endCause
	exited    bool          // the shell ended, by itself or killed
	code      int           // of the shell, if exited; 128+n for signal n
	signal    int           // that killed the shell, or 0
	exitedAt  time.Duration // after the start
	afterExit bool          // the cause came when the shell had ended already
	cutOff    bool          // a background process was still writing
}

// run starts the shell in a process group of its own and hands its output,
// both streams in the order of writing, to emit until the shell has ended and
// the pipe is done. emit is called from one goroutine, and not after run has
// returned. When ctx is done or the timeout is over the whole group is killed.
// tick is called at most every interval, from another goroutine than emit.
//
// An error means that nothing was started.
func (c command) run(ctx context.Context, emit func([]byte), interval time.Duration, tick func()) (ending, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return ending{}, err
	}
	cmd := exec.Command(c.shell, "-c", c.script)
	cmd.Dir = c.dir
	cmd.Env = c.env
	cmd.Stdout, cmd.Stderr = w, w // one pipe keeps the order
	group := newProcessGroup(cmd)
	started := time.Now()
	err = cmd.Start()
	_ = w.Close() // the child has its own
	if err != nil {
		_ = r.Close()
		return ending{}, err
	}
	group.started()
	defer group.release()

	pipe := newOutputPipe(r, c.quiet)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		pipe.drain(emit)
	}()
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the state says all
		close(exited)
	}()

	var end ending
	var timeout <-chan time.Time
	if c.timeout > 0 {
		timer := time.NewTimer(c.timeout)
		defer timer.Stop()
		timeout = timer.C
	}
	next := time.NewTimer(interval) // not a ticker, which makes up for lost time
	defer next.Stop()
	giveUp := time.NewTimer(time.Hour)
	giveUp.Stop()
	defer giveUp.Stop()

	aborted := ctx.Done()
	kill := func(cause endCause) {
		end.cause, end.afterExit = cause, end.exited
		aborted, timeout = nil, nil
		group.kill()
		giveUp.Reset(killGrace)
	}
	// Channels are set to nil once they have told what they had to tell.
	waitExit, waitDrain := exited, drained
	for waitExit != nil || waitDrain != nil {
		select {
		case <-aborted:
			kill(endedByAbort)
		case <-timeout:
			kill(endedByTimeout)
		case <-next.C:
			tick()
			next.Reset(interval)
		case <-waitExit:
			waitExit = nil
			end.exited = true
			end.exitedAt = time.Since(started)
			end.code, end.signal = exitStatus(cmd.ProcessState)
			pipe.shellEnded()
			if end.cause == endedItself {
				giveUp.Reset(c.drain)
			}
		case <-waitDrain:
			waitDrain = nil
		case <-giveUp.C:
			end.cutOff = waitDrain != nil && end.exited
			waitExit, waitDrain = nil, nil
		}
	}
	pipe.close()
	<-drained
	return end, nil
}
