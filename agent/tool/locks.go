package tool

import (
	"context"
	"runtime"
	"strings"
	"sync"
)

// Locks lets one call at a time change a file. The zero value is ready; share
// one by pointer. It knows nothing of other processes.
type Locks struct {
	mu   sync.Mutex
	held map[string]*fileLock
}

// fileLock is a lock with the number of calls that hold it or wait for it; the
// last one takes it out of the table.
type fileLock struct {
	turn  chan struct{} // holds one token while the file is free
	users int
}

// Lock waits for the file at path, which need not exist. Links are followed, so
// that all names of a file share one lock. It fails only when ctx is done.
func (l *Locks) Lock(ctx context.Context, path string) (unlock func(), err error) {
	key := realPath(path)
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		key = strings.ToLower(key) // two spellings, one file
	}
	lock := l.join(key)
	select {
	case <-lock.turn:
		return func() {
			lock.turn <- struct{}{}
			l.leave(key, lock)
		}, nil
	case <-ctx.Done():
		l.leave(key, lock)
		return nil, ctx.Err()
	}
}

func (l *Locks) join(key string) *fileLock {
	l.mu.Lock()
	defer l.mu.Unlock()
	lock, ok := l.held[key]
	if !ok {
		lock = &fileLock{turn: make(chan struct{}, 1)}
		lock.turn <- struct{}{}
		if l.held == nil {
			l.held = map[string]*fileLock{}
		}
		l.held[key] = lock
	}
	lock.users++
	return lock
}

func (l *Locks) leave(key string, lock *fileLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lock.users--; lock.users == 0 {
		delete(l.held, key)
	}
}
