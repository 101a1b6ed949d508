package artifact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/piweb-go/piweb/session"
)

// merging is one move of a folder's entries into a folder that is there. Nothing in
// that one is ever replaced, whoever writes into it meanwhile: a file arrives by a
// second name or by an exclusive copy. What could not be done is taken back step by
// step, the last one first.
type merging struct {
	c        Companion
	src, dst string
	aside    string // beside src: what was copied to another file system; "" for nothing
	undos    []func() error
	left     []string
}

// merge moves the entries of one folder into another. Those whose name or id is
// taken there stay, unless they are the same: then a move that was interrupted is
// completed.
func (c Companion) merge(src, dst string) (session.Undo, error) {
	m := &merging{c: c, src: src, dst: dst}
	if err := m.run(); err != nil {
		return nil, errors.Join(err, m.undo())
	}
	switch {
	case c.Warn == nil:
	case len(m.left) > 0:
		c.Warn(fmt.Sprintf("%s had outputs already; these stay in %s because their name or id is taken: %s", dst, src, available(m.left)))
	case c.Whole:
		c.Warn(fmt.Sprintf("%s was there already; the outputs that the session had have been put into it, beside what it held", dst))
	}
	return m.undo, nil
}

func (m *merging) run() error {
	taken, err := names(m.dst)
	if err != nil {
		return err
	}
	list, err := os.ReadDir(m.src)
	if err != nil {
		return err
	}
	var free []fs.DirEntry
	var done, marks []string
	for _, e := range list {
		name := e.Name()
		id, ok := idOf(name)
		switch {
		case taken[name] && isMark(name):
			marks = append(marks, name)
		case taken[name] && same(filepath.Join(m.src, name), filepath.Join(m.dst, name)):
			done = append(done, name)
		case taken[name] || ok && taken[string(id)+"."]:
			m.left = append(m.left, name)
		default:
			free = append(free, e)
		}
	}
	for _, e := range free {
		if m.c.Whole && len(m.left) > 0 {
			break
		}
		if err := m.entry(e); err != nil {
			return err
		}
	}
	if m.c.Whole && len(m.left) > 0 {
		return fmt.Errorf("%s: %w: %s; move that folder away, then try again", m.dst, ErrTaken, available(m.left))
	}
	for _, name := range done {
		if err := m.putAside(name); err != nil {
			return err
		}
	}
	if err := m.sync(m.dst, m.src); err != nil || len(m.left) > 0 {
		return err
	}
	return m.clear(marks)
}

// entry moves one entry. One whose name was taken meanwhile stays.
func (m *merging) entry(e fs.DirEntry) error {
	from, to := filepath.Join(m.src, e.Name()), filepath.Join(m.dst, e.Name())
	if e.Type().IsRegular() {
		return m.file(e.Name(), from, to)
	}
	if _, err := os.Lstat(to); err == nil {
		m.left = append(m.left, e.Name())
		return nil
	}
	err := m.c.fs().Rename(from, to)
	switch {
	case err == nil:
		m.did(func() error { return m.c.fs().Rename(to, from) })
		return nil
	case errors.Is(err, syscall.EXDEV) && e.IsDir():
		if err := m.c.copyInto(from, to); err != nil {
			return err
		}
		m.did(func() error { return os.RemoveAll(to) })
		return m.putAside(e.Name())
	case errors.Is(err, syscall.EXDEV):
		m.left = append(m.left, e.Name()) // a link: nothing would follow it
		return nil
	}
	return err
}

func (m *merging) file(name, from, to string) error {
	err := m.c.fs().Link(from, to)
	switch {
	case err == nil:
		m.did(func() error {
			if _, err := os.Lstat(from); err == nil {
				return m.c.fs().Remove(to)
			}
			return m.c.fs().Rename(to, from)
		})
		return m.c.fs().Remove(from)
	case errors.Is(err, fs.ErrExist):
		m.left = append(m.left, name)
		return nil
	case errors.Is(err, syscall.EXDEV), errors.Is(err, syscall.EPERM), errors.Is(err, errors.ErrUnsupported), errors.Is(err, syscall.EMLINK):
	default:
		return err
	}
	if err := m.copy(from, to); errors.Is(err, fs.ErrExist) {
		m.left = append(m.left, name)
		return nil
	} else if err != nil {
		return err
	}
	return m.putAside(name)
}

// copy makes a whole, synced copy under a name that is free, or none.
func (m *merging) copy(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if opened, err := in.Stat(); err != nil || !os.SameFile(info, opened) {
		return fmt.Errorf("%s: %w", from, ErrLinked)
	}
	if err := m.c.pour(in, to, info.Mode().Perm()|0o600); err != nil {
		return err
	}
	m.did(func() error { return os.Remove(to) })
	return nil
}

// putAside takes an entry that is at the new place out of the old one. It goes for
// good with the next [Purged] or collection.
func (m *merging) putAside(name string) error {
	if m.aside == "" {
		dir, err := aside(m.src)
		if err == nil {
			err = m.c.fs().MkdirAll(dir, 0o700)
		}
		if err != nil {
			return err
		}
		m.aside = dir
		m.did(func() error { return os.Remove(dir) })
	}
	from, to := filepath.Join(m.src, name), filepath.Join(m.aside, name)
	if err := m.c.fs().Rename(from, to); err != nil {
		return err
	}
	m.did(func() error { return m.c.fs().Rename(to, from) })
	return nil
}

// clear takes the old folder away, which holds nothing but marks that the new one
// has as well.
func (m *merging) clear(marks []string) error {
	for _, name := range marks {
		path := filepath.Join(m.src, name)
		if err := m.c.fs().Remove(path); err != nil {
			return err
		}
		m.did(func() error { return os.WriteFile(path, nil, 0o600) })
	}
	if m.c.fs().Remove(m.src) != nil {
		return nil // somebody has put something there
	}
	m.did(func() error { return os.Mkdir(m.src, 0o700) })
	return m.sync(filepath.Dir(m.src))
}

func (m *merging) sync(dirs ...string) error {
	for _, dir := range dirs {
		if err := m.c.fs().SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

func (m *merging) did(undo func() error) { m.undos = append(m.undos, undo) }

func (m *merging) undo() error {
	var errs []error
	for _, undo := range slices.Backward(m.undos) {
		errs = append(errs, undo())
	}
	return errors.Join(errs...)
}

// same tells whether two entries hold the same: regular files of the same bytes, or
// folders of such.
func same(a, b string) bool {
	x, errA := os.Lstat(a)
	y, errB := os.Lstat(b)
	switch {
	case errA != nil || errB != nil || x.Mode().Type() != y.Mode().Type():
		return false
	case x.IsDir():
		in, errA := os.ReadDir(a)
		out, errB := os.ReadDir(b)
		if errA != nil || errB != nil || len(in) != len(out) {
			return false
		}
		for i := range in {
			if in[i].Name() != out[i].Name() || !same(filepath.Join(a, in[i].Name()), filepath.Join(b, in[i].Name())) {
				return false
			}
		}
		return true
	case !x.Mode().IsRegular() || x.Size() != y.Size():
		return false
	}
	return os.SameFile(x, y) || sameBytes(a, b)
}

// sameBytes compares files of one size in bounded memory.
func sameBytes(a, b string) bool {
	f, err := os.Open(a)
	if err != nil {
		return false
	}
	defer f.Close()
	g, err := os.Open(b)
	if err != nil {
		return false
	}
	defer g.Close()
	x, y := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, errA := io.ReadFull(f, x)
		m, errB := io.ReadFull(g, y)
		if !bytes.Equal(x[:n], y[:m]) {
			return false
		}
		if errA != nil || errB != nil {
			end := func(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
			return end(errA) && end(errB)
		}
	}
}

// names are the entries of a folder, and the ids that they use, each with a dot.
func names(dir string) (map[string]bool, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for _, e := range list {
		taken[e.Name()] = true
		if id, ok := idOf(e.Name()); ok {
			taken[string(id)+"."] = true
		}
	}
	return taken, nil
}
