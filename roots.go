package piweb

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/piweb-go/piweb/internal/durable"
)

// roots remembers the folders that hold sessions outside the agent directory, such
// as those of --session-dir: their sessions name blobs and attachments of the agent
// directory, and a collection must read them too. It is primary data, in
// <agent directory>/piweb-data/roots.json.
type roots struct {
	path     string
	sessions string // the agent directory's own folder, which needs no remembering

	mu    sync.Mutex
	known map[string]bool
}

type rootsFile struct {
	Version int      `json:"version"`
	Folders []string `json:"folders"`
}

func newRoots(agentDir string) *roots {
	return &roots{path: filepath.Join(agentDir, "piweb-data", "roots.json"), sessions: filepath.Join(agentDir, "sessions"), known: map[string]bool{}}
}

// list reads the folders.
func (r *roots) list() ([]string, error) {
	data, err := os.ReadFile(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var f rootsFile
	if err := json.Unmarshal(data, &f); err != nil || f.Version != 1 {
		return nil, fmt.Errorf("%s: it cannot be read (%v); it lists the folders of sessions outside the agent directory, without which nothing is collected", r.path, err)
	}
	return f.Folders, nil
}

// remember adds a folder. It does nothing for one that is known, and fails
// silently where the agent directory cannot be written: then no blob and no
// attachment can be there either.
func (r *roots) remember(dir string) {
	abs, err := filepath.Abs(dir)
	if err != nil || inFolder(abs, r.sessions) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known[abs] {
		return
	}
	if r.change(func(list []string) []string {
		if slices.Contains(list, abs) {
			return list
		}
		return append(list, abs)
	}) == nil {
		r.known[abs] = true
	}
}

// change rewrites the list under a lock, so that two processes lose nothing.
func (r *roots) change(with func([]string) []string) error {
	if err := os.MkdirAll(filepath.Dir(r.path), 0o700); err != nil {
		return err
	}
	lockPath := r.path + ".lock"
	f, err := os.OpenFile(lockPath, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_ = f.Close()
	lock, err := waitLock(lockPath)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	old, err := r.list()
	if err != nil {
		return err
	}
	list := with(slices.Clone(old))
	if slices.Equal(list, old) {
		return nil
	}
	slices.Sort(list)
	data, err := json.MarshalIndent(rootsFile{1, list}, "", "  ")
	if err != nil {
		return err
	}
	return durable.Save(durable.OS{}, r.path, append(data, '\n'), 0o600)
}

// ErrRoot says that a folder is not one of those that are remembered.
var ErrRoot = errors.New("this folder is not remembered as one of sessions")

// ForgetFolder lets a collection go on without a folder of sessions that is gone for
// good. What its sessions named is unused from then on.
func (r *Runtime) ForgetFolder(dir string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	found := false
	err = r.roots.change(func(list []string) []string {
		return slices.DeleteFunc(list, func(d string) bool {
			found = found || d == abs
			return d == abs
		})
	})
	if err == nil && !found {
		err = fmt.Errorf("%s: %w", abs, ErrRoot)
	}
	return err
}

// waitLock takes a lock that others hold for moments only.
func waitLock(path string) (*durable.Lock, error) {
	const tries, pause = 200, 10 * time.Millisecond
	for i := 0; ; i++ {
		lock, err := durable.TryLock(path)
		if err == nil || !errors.Is(err, durable.ErrLocked) || i == tries {
			return lock, err
		}
		time.Sleep(pause)
	}
}
