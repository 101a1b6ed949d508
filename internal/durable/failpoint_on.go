//go:build failpoint

package durable

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
)

// Failpoints exist only in binaries that tests build with the tag "failpoint". The
// variable PIWEB_FAILPOINT holds "NUMBER" or "NUMBER half", and PIWEB_FAILPOINT_IN a
// part of a path: before the call of that number, of those that change something at
// such a path, the process is killed as by kill -9; with "half", a write arrives by
// half before.
//
// The calls are named open, write, sync, truncate, rename, link, remove, mkdir,
// syncdir. The one that was met is written to the file that PIWEB_FAILPOINT_LOG
// names.

var met atomic.Int64

func failpoint(call, path string) {
	if due(path) {
		die(call + " " + path)
	}
}

// due tells whether this call is the one.
func due(path string) bool {
	number, _, _ := strings.Cut(os.Getenv("PIWEB_FAILPOINT"), " ")
	n, err := strconv.ParseInt(number, 10, 64)
	return err == nil && strings.Contains(path, os.Getenv("PIWEB_FAILPOINT_IN")) && met.Add(1) == n
}

func die(what string) {
	if log := os.Getenv("PIWEB_FAILPOINT_LOG"); log != "" {
		_ = os.WriteFile(log, []byte(what), 0o600)
	}
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
	select {} // the signal is on its way
}

func watched(f *os.File) File { return &watchedFile{f} }

type watchedFile struct{ *os.File }

func (f *watchedFile) Write(p []byte) (int, error) {
	if due(f.Name()) {
		if strings.HasSuffix(os.Getenv("PIWEB_FAILPOINT"), " half") {
			_, _ = f.File.Write(p[:len(p)/2])
		}
		die("write " + f.Name())
	}
	return f.File.Write(p)
}

func (f *watchedFile) Sync() error {
	failpoint("sync", f.Name())
	return f.File.Sync()
}

func (f *watchedFile) Truncate(size int64) error {
	failpoint("truncate", f.Name())
	return f.File.Truncate(size)
}
