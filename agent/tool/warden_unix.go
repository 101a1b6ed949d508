//go:build unix

package tool

import (
	_ "embed"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// markName is the variable by which the processes of one call are known, however
// far they went from the shell. They may take it off; few programs do.
const markName = "PIWEB_CALL"

// warden outlives piweb for a moment: it waits at a pipe whose other end only
// piweb holds. Where piweb is killed the pipe ends, and the warden kills the
// processes of the call. It is a shell, because whoever embeds this package has no
// program of ours to start.
type warden struct {
	cmd *exec.Cmd
	end *os.File // of the pipe, ours
}

//go:embed warden.sh
var wardenScript string

// newWarden watches over a process group. It is nil where none can be started: the
// command runs all the same.
func newWarden(group int, mark string) *warden {
	r, w, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", wardenScript, "piweb-warden", strconv.Itoa(group), mark)
	cmd.Dir, cmd.Env, cmd.Stdin = "/", []string{"PATH=/usr/local/bin:/usr/bin:/bin"}, r
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if cmd.Start() != nil {
		_ = w.Close()
		return nil
	}
	return &warden{cmd, w}
}

// dismiss ends the watch: what is left of the group may stay.
func (w *warden) dismiss() {
	if w == nil {
		return
	}
	_, _ = w.end.WriteString("done\n")
	_ = w.end.Close()
	_ = w.cmd.Wait()
}

// killMarked kills the processes that carry a mark and left the group, such as
// daemons. A process may start another while we look, so it looks until there is
// nothing, for a moment at most. Only Linux tells the environment of others.
func killMarked(mark string) {
	const rounds = 20
	for range rounds {
		if !killMarkedOnce(mark) {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func killMarkedOnce(mark string) (found bool) {
	procs, err := os.ReadDir("/proc")
	if err != nil {
		return false
	}
	for _, p := range procs {
		pid, err := strconv.Atoi(p.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile("/proc/" + p.Name() + "/environ")
		if err == nil && strings.Contains("\x00"+string(env), "\x00"+mark+"\x00") {
			found = syscall.Kill(pid, syscall.SIGKILL) == nil || found
		}
	}
	return found
}
