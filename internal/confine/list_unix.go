//go:build unix

package confine

import (
	"os"
	"syscall"
)

// plainFile is the same open folder as a file that os does not know to be of a
// root: of those it looks at every entry when names are read, which costs three
// times as much as the names. It takes f over.
func plainFile(f *os.File, path string) (*os.File, error) {
	defer f.Close()
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	var fd int
	var dupErr error
	err = raw.Control(func(old uintptr) {
		syscall.ForkLock.RLock() // no program that starts now may get it
		defer syscall.ForkLock.RUnlock()
		if fd, dupErr = syscall.Dup(int(old)); dupErr == nil {
			syscall.CloseOnExec(fd)
		}
	})
	if err == nil {
		err = dupErr
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}
