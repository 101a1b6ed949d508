package session

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/piweb-go/piweb/internal/durable"
)

// MoveOptions say where a session goes.
type MoveOptions struct {
	Dir        string // the folder of the file
	CWD        string // the working directory, absolute
	Companions []Companion
}

// Move takes a session to another working directory: the file, with the new
// directory in its header and every other byte as it was, goes to another folder
// under its own name, and its companions follow. The new file is there, whole and
// synced, before the companions move, and the old one goes last; if anything
// fails, all is as it was. A session that another process holds is refused with
// ErrInUse, a name that is taken with ErrTaken. Move returns the new path.
func Move(path string, o MoveOptions, opts Options) (string, error) {
	if !filepath.IsAbs(o.CWD) {
		return "", fmt.Errorf("%s: move: the working directory %q is not absolute", path, o.CWD)
	}
	t, err := take(path, opts)
	if err != nil {
		return "", err
	}
	defer t.giveBack()
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return "", fmt.Errorf("%s: move: %w", path, err)
	}
	target := filepath.Join(dir, filepath.Base(t.Path))
	if sameFolder(dir, filepath.Dir(t.Path)) {
		return t.Path, t.rewrite(o.CWD)
	}
	if err := t.moveTo(target, o); err != nil {
		return "", fmt.Errorf("%s: move to %s: %w; the session is where it was", path, target, err)
	}
	return target, nil
}

func sameFolder(a, b string) bool {
	ia, errA := os.Stat(a)
	ib, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(ia, ib)
}

// taken is a session that an operation is about to take away from its place. Its
// lock is held, so that no other piweb writes to it meanwhile.
type taken struct {
	Place
	s    *Session
	lock *durable.Lock
}

// take opens a session and its lock. A link is refused: taking it away, or what
// it leads to, would leave the other behind.
func take(path string, opts Options) (*taken, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if to, err := os.Readlink(abs); err == nil {
		return nil, fmt.Errorf("%s: it is a link to %s; name that file", path, to)
	}
	if err := regular(opts.fs(), abs); err != nil {
		return nil, err
	}
	if filepath.Ext(abs) != ".jsonl" {
		return nil, &FormatError{abs, 1, "its name does not end in .jsonl", "name a session file"}
	}
	lock, err := opts.lockFile(abs)
	if errors.Is(err, ErrInUse) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", abs, err)
	}
	s, err := Open(abs, opts)
	if err != nil {
		_ = lock.Unlock()
		return nil, err
	}
	return &taken{Place{abs, s.header.ID}, s, lock}, nil
}

func (t *taken) giveBack() {
	_ = t.s.Close()
	_ = t.lock.Unlock()
}

// unchanged refuses to go on where a program without locks wrote to the file
// after it was read.
func (t *taken) unchanged() error {
	info, err := t.s.opts.fs().Stat(t.Path)
	if err != nil {
		return err
	}
	if !os.SameFile(info, t.s.info) || info.Size() != t.s.end || !info.ModTime().Equal(t.s.info.ModTime()) {
		return fmt.Errorf("another program wrote to it meanwhile: %w", ErrReplaced)
	}
	return nil
}

func (t *taken) moveTo(target string, o MoveOptions) error {
	fs := t.s.opts.fs()
	fill := func(w io.Writer) error { return nil } // an empty file names no directory
	if t.s.header.Raw != nil {
		head, err := t.s.withCWD(o.CWD)
		if err != nil {
			return err
		}
		fill = t.s.opts.counted("moving the session", t.s.end, func(w io.Writer) error { return t.s.copyWith(w, head) })
	}
	var done steps
	dirs, err := makeFolder(fs, filepath.Dir(target), &done)
	if err == nil {
		err = newFile(fs, target, dirs, t.s.info.Mode().Perm(), &done, fill)
	}
	to := Place{target, t.ID}
	if err == nil {
		err = done.each(o.Companions, func(c Companion) (Undo, error) { return c.Move(t.Place, to) })
	}
	if err == nil {
		err = t.unchanged()
	}
	_ = t.s.Close() // Windows does not remove an open file
	if err == nil {
		err = fs.Remove(t.Path)
	}
	if err != nil {
		return done.rollBack(err)
	}
	// The session is at its new place, and durable there. If this fails, a power
	// cut may bring the old name back, and nothing more.
	_ = fs.SyncDir(filepath.Dir(t.Path))
	for _, dir := range []string{filepath.Dir(t.Path), filepath.Dir(target)} {
		durable.Sweep(fs, dir, t.s.opts.now())
	}
	return nil
}

// rewrite changes the working directory of a session that stays in its folder.
func (t *taken) rewrite(cwd string) error {
	if t.s.header.CWD == cwd || t.s.header.Raw == nil {
		return nil
	}
	head, err := t.s.withCWD(cwd)
	var old, changed bytes.Buffer
	if err == nil {
		err = errors.Join(t.s.copyBytes(&old, 0, t.s.end), t.s.copyWith(&changed, head), t.unchanged())
	}
	_ = t.s.Close()
	if err != nil {
		return fmt.Errorf("%s: move: %w; nothing was changed", t.Path, err)
	}
	fs, perm := t.s.opts.fs(), t.s.info.Mode().Perm()
	if err := durable.Save(fs, t.Path, changed.Bytes(), perm); err != nil {
		if info, serr := fs.Stat(t.Path); serr == nil && !os.SameFile(info, t.s.info) {
			err = errors.Join(err, durable.Save(fs, t.Path, old.Bytes(), perm))
		}
		return fmt.Errorf("%s: move: %w; the session is as it was", t.Path, err)
	}
	durable.Sweep(fs, filepath.Dir(t.Path), t.s.opts.now())
	return nil
}
