package account

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/piweb-go/piweb/internal/durable"
	"github.com/piweb-go/piweb/session"
)

// note is a line of the owners file.
type note struct {
	// File is the session's file: its path without links.
	File string `json:"file"`
	// Owner is a user's name; "" takes the owner away.
	Owner string    `json:"owner"`
	At    time.Time `json:"at"`
}

// Owners knows whose session a file is. It is safe for concurrent use, also with
// other programs: lines are only added, and what others added is read before every
// answer.
type Owners struct {
	path string
	fs   durable.FS
	now  func() time.Time

	mu   sync.Mutex
	of   map[string]string // owner by file; never changed, only replaced
	read int64             // bytes of whole lines that were read
	file os.FileInfo
}

// OpenOwners knows the owners of an agent directory. The file is made by the first
// owner.
func OpenOwners(agentDir string) *Owners {
	return &Owners{path: filepath.Join(agentDir, "piweb-data", "owners.jsonl"), fs: durable.OS{}, now: time.Now}
}

// Path is the file.
func (o *Owners) Path() string { return o.path }

// Of is the owner of the session of a file, "" where it has none. file is the path
// without links. An error says that nobody knows; then the session is nobody's.
func (o *Owners) Of(file string) (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.catchUp(); err != nil {
		return "", err
	}
	return o.of[file], nil
}

// All is what is known now, by file. It is shared: only to be read.
func (o *Owners) All() (map[string]string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.catchUp(); err != nil {
		return nil, err
	}
	return o.of, nil
}

// Set gives the session of a file to a user; "" takes it from its owner. It is
// durable when it returns.
func (o *Owners) Set(file, owner string) error {
	if owner != "" && !ValidName(owner) {
		return ErrName
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.catchUp(); err != nil {
		return err
	}
	if o.of[file] == owner {
		return nil
	}
	return o.add(note{file, owner, o.now().UTC()})
}

// Inherit gives what was made of a session to whom the session belongs.
func (o *Owners) Inherit(from, to string) error {
	owner, err := o.Of(from)
	if err != nil || owner == "" {
		return err
	}
	return o.Set(to, owner)
}

// catchUp reads the lines that are new. It is called under mu.
func (o *Owners) catchUp() error {
	st, err := o.fs.Stat(o.path)
	if errors.Is(err, fs.ErrNotExist) {
		o.of, o.read, o.file = map[string]string{}, 0, nil
		return nil
	}
	if err != nil {
		return fmt.Errorf("whose sessions are whose: %w", err)
	}
	if o.file != nil && (!os.SameFile(o.file, st) || st.Size() < o.read) {
		o.of, o.read = nil, 0 // it was put back from somewhere: all anew
	}
	if o.of == nil {
		o.of, o.read = map[string]string{}, 0
	}
	if o.file = st; st.Size() == o.read {
		return nil
	}
	f, err := os.Open(o.path)
	if err != nil {
		return fmt.Errorf("whose sessions are whose: %w", err)
	}
	defer f.Close()
	if _, err := f.Seek(o.read, io.SeekStart); err != nil {
		return err
	}
	fresh := maps.Clone(o.of)
	defer func() { o.of = fresh }()
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			return nil // half a line, if any, is read when it is whole
		}
		if err != nil {
			return fmt.Errorf("whose sessions are whose: %w", err)
		}
		o.read += int64(len(line))
		var n note
		if json.Unmarshal(bytes.TrimSpace(line), &n) == nil && n.File != "" { // a torn line is nobody's
			if n.Owner == "" {
				delete(fresh, n.File)
			} else {
				fresh[n.File] = n.Owner
			}
		}
	}
}

// add appends a line under a lock, behind a line feed where somebody's line was cut
// off.
func (o *Owners) add(n note) error {
	if err := o.fs.MkdirAll(filepath.Dir(o.path), 0o700); err != nil {
		return err
	}
	lock, err := waitLock(o.path + ".lock")
	if err != nil {
		return fmt.Errorf("note whose session this is: %w", err)
	}
	defer lock.Unlock()
	_, before := o.fs.Stat(o.path)
	f, err := o.fs.OpenFile(o.path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("note whose session this is: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	line, err := json.Marshal(n)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if end := st.Size(); end > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, end-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	if err := durable.Append(f, st.Size(), line); err != nil {
		return fmt.Errorf("note whose session this is: %w", err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("note whose session this is: %w", err)
	}
	if before != nil {
		if err := o.fs.SyncDir(filepath.Dir(o.path)); err != nil {
			return err
		}
	}
	return o.catchUp()
}

// Companion lets owners follow their sessions: a fork, a clone or an import of a
// session belongs to its owner, one that moves keeps it, and one that is gone for
// good has none. real makes a path one without links.
func (o *Owners) Companion(real func(path string) (string, error)) session.Companion {
	return follower{o, real}
}

type follower struct {
	o    *Owners
	real func(string) (string, error)
}

func (f follower) change(from, to session.Place, keep bool) (session.Undo, error) {
	src, err := f.real(from.Path)
	if err != nil {
		return nil, err
	}
	owner, err := f.o.Of(src)
	if err != nil || owner == "" {
		return nil, err
	}
	dst, err := f.real(to.Path)
	if err != nil {
		return nil, err
	}
	if err := f.o.Set(dst, owner); err != nil {
		return nil, err
	}
	if keep {
		return func() error { return f.o.Set(dst, "") }, nil
	}
	if err := f.o.Set(src, ""); err != nil {
		return nil, errors.Join(err, f.o.Set(dst, ""))
	}
	return func() error { return errors.Join(f.o.Set(src, owner), f.o.Set(dst, "")) }, nil
}

// Copy is session.Companion.Copy.
func (f follower) Copy(from, to session.Place) (session.Undo, error) { return f.change(from, to, true) }

// Move is session.Companion.Move.
func (f follower) Move(from, to session.Place) (session.Undo, error) {
	return f.change(from, to, false)
}

// Remove is session.Companion.Remove.
func (f follower) Remove(at session.Place) (session.Undo, error) {
	path, err := f.real(at.Path)
	if err != nil {
		return nil, err
	}
	owner, err := f.o.Of(path)
	if err != nil || owner == "" {
		return nil, err
	}
	if err := f.o.Set(path, ""); err != nil {
		return nil, err
	}
	return func() error { return f.o.Set(path, owner) }, nil
}
