package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/piweb-go/piweb/internal/durable"
	"github.com/piweb-go/piweb/message"
)

// NewSession says what a new session is to be.
type NewSession struct {
	// Dir is the folder of the file. It is created together with the file.
	Dir string
	// CWD is the working directory of the session, absolute.
	CWD string
	// ID is a chosen session id, checked by ParseSessionID; empty for a fresh
	// UUIDv7.
	ID string
	// ParentSession is the path of the session that this one comes from, or
	// empty.
	ParentSession string
}

// Create makes a session without a file. Entries are held in memory until the
// first user or assistant message is appended; then the file is created, and
// never over an existing one.
func Create(n NewSession, opts Options) (*Session, error) {
	if !filepath.IsAbs(n.CWD) {
		return nil, fmt.Errorf("session: create: the working directory %q is not absolute", n.CWD)
	}
	id := n.ID
	var err error
	if id == "" {
		id, err = newSessionID(&opts)
	} else {
		id, err = ParseSessionID(id)
	}
	if err != nil {
		return nil, err
	}
	s := &Session{opts: opts, twins: map[ID][]int{}, leaf: -1, nextLine: 1}
	if err := s.setHeader(id, n.CWD, n.ParentSession); err != nil {
		return nil, err
	}
	s.path = filepath.Join(n.Dir, FileName(s.header.Timestamp, id))
	return s, nil
}

func (s *Session) setHeader(id, cwd, parent string) error {
	h := headerJSON{typeHeader, Version, id, s.opts.now().UTC().Format(TimeLayout), cwd, parent}
	raw, err := message.Marshal(h)
	if err != nil {
		return err
	}
	s.header = Header{Version, id, h.Timestamp, cwd, parent, raw}
	return nil
}

// Adopt gives an empty file (0 bytes) the header that its first append will
// write. It is an error for any other session.
func (s *Session) Adopt(cwd string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.noHeader || s.header.Raw != nil {
		return fmt.Errorf("%s: only an empty file takes a new header", s.path)
	}
	if !filepath.IsAbs(cwd) {
		return fmt.Errorf("%s: the working directory %q is not absolute", s.path, cwd)
	}
	id, err := newSessionID(&s.opts)
	if err != nil {
		return err
	}
	return s.setHeader(id, cwd, "")
}

// createFile writes the header and entries into a new file and takes its lock.
// Nothing of s changes on error.
func (s *Session) createFile(entries []Entry) error {
	if s.closed {
		return fmt.Errorf("%s: create: %w", s.path, ErrClosed)
	}
	fs := s.opts.fs()
	dirty := newNames(fs, s.path)
	if err := fs.MkdirAll(filepath.Dir(s.path), 0o755); err != nil {
		return fmt.Errorf("create the session folder: %w", err)
	}
	data := append(json.RawMessage(nil), s.header.Raw...)
	data = append(data, '\n')
	offsets := make([]int64, len(entries))
	for i, e := range entries {
		offsets[i] = int64(len(data))
		data = append(append(data, e.mem...), '\n')
	}
	f, err := s.appear(data)
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("%s: create session: its folder cannot be written; check the folder's owner and mode, or name another with --session-dir: %w", s.path, os.ErrPermission)
	}
	if err != nil {
		return fmt.Errorf("create session: %w", err)
	}
	info, err := f.Stat()
	if err == nil {
		s.lock, err = s.opts.lockFile(s.path)
	}
	if err != nil {
		_ = f.Close()
		_ = fs.Remove(s.path)
		return fmt.Errorf("create session: %w", err)
	}
	s.opts.Lease.claim(s.path, s.opts.now())
	for i := range entries {
		entries[i].Offset, entries[i].Line, entries[i].mem = offsets[i], i+2, nil
	}
	s.file, s.info, s.end = f, info, int64(len(data))
	s.nextLine, s.writable, s.dirty = len(entries)+2, true, dirty
	s.remember()
	return nil
}

// appear makes the file in one step: a process that ends in the middle leaves no
// half a session in the list.
func (s *Session) appear(data []byte) (durable.File, error) {
	const perm = 0o644
	fs := s.opts.fs()
	tmp, err := durable.Draft(fs, s.path, perm, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", s.path, err)
	}
	var done steps
	err = giveName(fs, tmp, s.path, perm, &done)
	var f durable.File
	if err == nil {
		f, err = fs.OpenFile(s.path, os.O_RDWR|os.O_APPEND, 0)
	}
	if err == nil {
		return f, nil
	}
	err = done.rollBack(err)
	_ = fs.Remove(tmp)
	if errors.Is(err, ErrTaken) {
		err = fmt.Errorf("%w (%w)", err, os.ErrExist)
	}
	return nil, err
}

// newNames lists the folders in which creating path makes a new name: its own,
// and the one above each folder that has to be made.
func newNames(fs durable.FS, path string) []string {
	var dirs []string
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
		if _, err := fs.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dirs
		}
	}
}
