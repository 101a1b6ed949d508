//go:build unix

package catalog

import (
	"os"
	"syscall"
)

// inode tells files of one name apart; 0 where the system does not say.
func inode(info os.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Ino)
	}
	return 0
}
