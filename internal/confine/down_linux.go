package confine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// openPlainFolder opens a folder from the root down. The system itself refuses
// links, so no look is needed before or behind.
func (r *Root) openPlainFolder(rel string) (*os.File, error) {
	parts := components(rel)
	if len(parts) == 0 {
		return nil, ErrName
	}
	top, err := r.dir.Open(".")
	if err != nil {
		return nil, cause(err)
	}
	defer top.Close()
	raw, err := top.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd := -1
	var openErr error
	err = raw.Control(func(topFD uintptr) {
		for i, name := range parts {
			if name == ".." || name == "." && i > 0 {
				openErr = ErrName
				break
			}
			in := fd
			if i == 0 {
				in = int(topFD)
			}
			fd, openErr = openFolderAt(in, name)
			if i > 0 {
				_ = syscall.Close(in)
			}
			if openErr != nil {
				break
			}
		}
	})
	if err != nil || openErr != nil {
		if fd >= 0 {
			_ = syscall.Close(fd)
		}
		return nil, errors.Join(err, r.why(parts, openErr))
	}
	return os.NewFile(uintptr(fd), filepath.Join(r.real, rel)), nil
}

// openFolderAt opens a folder in another one; fd is -1 with an error.
func openFolderAt(in int, name string) (fd int, err error) {
	for {
		fd, err = syscall.Openat(in, name, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		fd = -1
	}
	return fd, err
}

// why tells a link from a file, which the system does not.
func (r *Root) why(parts []string, err error) error {
	if !errors.Is(err, syscall.ENOTDIR) && !errors.Is(err, syscall.ELOOP) {
		return err
	}
	for i := range parts {
		info, statErr := r.dir.Lstat(filepath.Join(parts[:i+1]...))
		switch {
		case statErr != nil:
			return ErrOutside // it changes while we look
		case info.Mode()&fs.ModeSymlink != 0:
			return ErrOutside
		case !info.IsDir():
			return fs.ErrInvalid
		}
	}
	return ErrOutside
}
