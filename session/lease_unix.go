//go:build !windows

package session

import (
	"errors"
	"os"
	"syscall"
)

// private tells whether a file is a plain one of this user that nobody else may
// read or write.
func private(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().IsRegular() && info.Mode().Perm()&0o077 == 0 && int(st.Uid) == os.Geteuid()
}

// alive tells whether a process is there, whoever's it is.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}
