//go:build !windows

package durable

import (
	"os"
	"syscall"
)

// mine tells whether a file belongs to the user of this process.
func mine(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
