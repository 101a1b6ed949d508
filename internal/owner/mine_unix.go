//go:build !windows

package owner

import (
	"errors"
	"os"
	"syscall"
)

var errNotMine = errors.New("it is not the user's alone")

func mine(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// onlyMine wants a folder of this user that nobody else can enter.
func onlyMine(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && (!mine(info) || info.Mode().Perm()&0o077 != 0) {
		err = errNotMine
	}
	return err
}

// socketIsMine wants a socket of this user: the key is told to nobody else.
func socketIsMine(path string) error {
	info, err := os.Lstat(path)
	if err == nil && (info.Mode()&os.ModeSocket == 0 || !mine(info)) {
		err = errNotMine
	}
	return err
}
