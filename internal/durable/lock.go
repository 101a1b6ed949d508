package durable

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"github.com/gofrs/flock"
)

// ErrLocked says that another process, or another handle of this one, holds the
// lock. Any other failure to lock is not ErrLocked.
var ErrLocked = errors.New("another process holds the lock")

// Lock is a held lock.
type Lock struct{ f *flock.Flock }

// TryLock takes the lock of path without waiting. The lock is on the file
// itself, which must exist; on Windows, where such a lock would keep other
// programs from reading, it is on a file beside it with the suffix ".lock". It
// ends with Unlock or with the process.
func TryLock(path string) (*Lock, error) {
	l := flock.New(path, flock.SetFlag(os.O_RDWR))
	if runtime.GOOS == "windows" {
		l = flock.New(path + ".lock")
	}
	ok, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	if !ok {
		return nil, fmt.Errorf("lock %s: %w", path, ErrLocked)
	}
	return &Lock{l}, nil
}

// Unlock gives the lock back. A nil Lock is nothing to give.
func (l *Lock) Unlock() error {
	if l == nil {
		return nil
	}
	return l.f.Unlock()
}
