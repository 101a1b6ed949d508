package watch

import (
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// Set watches single folders, without what lies below them, through one watch of
// the system: a system gives few of those to a user. It is made at the first Add
// and given back by Close. A Set is safe for concurrent use; its zero value is
// ready.
type Set struct {
	// Tell is called from one goroutine for each event, with the path of what
	// changed, or "" where events were lost. It must be quick.
	Tell func(path string)

	mu      sync.Mutex
	fsn     *fsnotify.Watcher
	folders map[string]int // how often added
	running sync.WaitGroup
	closed  bool
}

// Add watches a folder, once more if it is watched already. It is an error where
// the folder is not there or the system has no more watches to give.
func (s *Set) Add(dir string) error {
	dir = filepath.Clean(dir)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fsnotify.ErrClosed
	}
	if s.folders[dir] > 0 {
		s.folders[dir]++
		return nil
	}
	if s.fsn == nil {
		fsn, err := fsnotify.NewWatcher()
		if err != nil {
			return err
		}
		s.fsn, s.folders = fsn, map[string]int{}
		s.running.Go(func() { s.run(fsn) })
	}
	if err := s.fsn.Add(dir); err != nil {
		return err
	}
	s.folders[dir] = 1
	return nil
}

// Remove takes one Add back.
func (s *Set) Remove(dir string) {
	dir = filepath.Clean(dir)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.folders[dir] == 0 {
		return
	}
	if s.folders[dir]--; s.folders[dir] == 0 {
		delete(s.folders, dir)
		_ = s.fsn.Remove(dir) // gone with the folder, perhaps
	}
}

func (s *Set) run(fsn *fsnotify.Watcher) {
	for {
		select {
		case e, ok := <-fsn.Events:
			if !ok {
				return
			}
			if e.Op != fsnotify.Chmod {
				s.Tell(e.Name)
			}
		case _, ok := <-fsn.Errors:
			if !ok {
				return
			}
			s.Tell("")
		}
	}
}

// Close ends the watching and waits until Tell is not called any more.
func (s *Set) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	fsn := s.fsn
	s.mu.Unlock()
	if fsn == nil {
		return nil
	}
	err := fsn.Close()
	s.running.Wait()
	return err
}
