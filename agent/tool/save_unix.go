//go:build unix

package tool

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// hasOtherNames says whether a file has hard links, which a rename would part.
func hasOtherNames(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && uint64(st.Nlink) > 1
}

// keepOwner gives f the owner and group of old. It fails where they differ and
// we have no right to, and the caller then writes in place.
func keepOwner(f *os.File, old fs.FileInfo) error {
	want, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	have, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.New("tool: the file system does not tell the owner of a new file")
	}
	if have.Uid == want.Uid && have.Gid == want.Gid {
		return nil
	}
	return f.Chown(int(want.Uid), int(want.Gid))
}
