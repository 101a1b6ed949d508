package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/piweb-go/piweb/internal/durable"
)

// trashName is the folder for deleted sessions, beside the sessions: on the same
// file system, so that deleting is a rename, and where no system cleans it up
// unasked. Each deleted session has a folder of its own in it, which is too deep
// for any reader to take its file for a session.
const trashName = ".trash"

// Trashed is a session in the trash.
type Trashed struct {
	Place            // in the trash
	Origin string    // where the file was, and goes back to
	At     time.Time // of the deletion
}

// Trash deletes a session so that Restore brings it back: the file goes to a
// folder ".trash" beside it, byte for byte, and its companions follow. If
// anything fails, all is as it was. A session that another process holds is
// refused with ErrInUse. Of a session that is in the trash already, the answer is
// that; of one that is nowhere, ErrNoFile.
func Trash(path string, companions []Companion, opts Options) (Trashed, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return Trashed{}, fmt.Errorf("%s: delete: %w", path, err)
	}
	if _, err := os.Lstat(abs); errors.Is(err, os.ErrNotExist) {
		if t, ok := inTrash(abs); ok {
			return t, nil
		}
	}
	t, err := take(abs, opts)
	if err != nil {
		return Trashed{}, err
	}
	defer t.giveBack()
	out, err := t.trash(companions)
	if err != nil {
		return Trashed{}, fmt.Errorf("%s: delete: %w; the session is where it was", abs, err)
	}
	return out, nil
}

// inTrash finds the last deleted session that had the path.
func inTrash(origin string) (Trashed, bool) {
	list, err := ListTrash(filepath.Dir(origin))
	if err != nil {
		return Trashed{}, false
	}
	for _, t := range list { // the last deleted first
		if t.Origin == origin {
			return t, true
		}
	}
	return Trashed{}, false
}

func (t *taken) trash(companions []Companion) (Trashed, error) {
	fs := t.s.opts.fs()
	if err := t.unchanged(); err != nil {
		return Trashed{}, err
	}
	_ = t.s.Close() // Windows does not rename an open file
	var done steps
	dir, err := makeTrash(fs, t.Path, &done)
	if err != nil {
		return Trashed{}, done.rollBack(err)
	}
	to := Place{filepath.Join(dir, filepath.Base(t.Path)), t.ID}
	// The file goes first: where the process ends in between, its companions are
	// still where it comes back to.
	if err := fs.Rename(t.Path, to.Path); err != nil {
		return Trashed{}, done.rollBack(err)
	}
	done.did(func() error { return fs.Rename(to.Path, t.Path) })
	err = done.each(companions, func(c Companion) (Undo, error) { return c.Move(t.Place, to) })
	for _, d := range []string{dir, filepath.Dir(dir), filepath.Dir(t.Path)} {
		if err == nil {
			err = fs.SyncDir(d)
		}
	}
	if err != nil {
		return Trashed{}, done.rollBack(err)
	}
	return Trashed{to, t.Path, t.s.opts.now()}, nil
}

// makeTrash makes the folder that one deleted session gets.
func makeTrash(fs durable.FS, path string, done *steps) (string, error) {
	stem := strings.TrimSuffix(filepath.Base(path), ".jsonl")
	trash := filepath.Join(filepath.Dir(path), trashName)
	for n := range maxNames {
		dir := filepath.Join(trash, numbered(stem, n))
		if _, err := fs.Stat(dir); err == nil {
			continue
		} else if !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		_, err := makeFolder(fs, dir, done)
		return dir, err
	}
	return "", fmt.Errorf("%s: %w, and so have %d more", filepath.Join(trash, stem), ErrTaken, maxNames-1)
}

// maxNames bounds the search for a name that is free.
const maxNames = 1000

// numbered is the name for the n-th try: stem, stem-1, stem-2 …
func numbered(stem string, n int) string {
	if n == 0 {
		return stem
	}
	return stem + "-" + strconv.Itoa(n)
}

// ListTrash lists the deleted sessions of a folder, the last deleted first.
func ListTrash(dir string) ([]Trashed, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("list the trash of %s: %w", dir, err)
	}
	trash := filepath.Join(abs, trashName)
	entries, err := os.ReadDir(trash)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the trash of %s: %w", dir, err)
	}
	var list []Trashed
	for _, d := range entries {
		if t, ok := trashedIn(filepath.Join(trash, d.Name())); ok {
			list = append(list, t)
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].At.After(list[j].At) })
	return list, nil
}

// trashedIn reads the folder of one deleted session.
func trashedIn(dir string) (Trashed, bool) {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return Trashed{}, false
	}
	inner, err := os.ReadDir(dir)
	if err != nil {
		return Trashed{}, false
	}
	for _, f := range inner {
		if !f.Type().IsRegular() || filepath.Ext(f.Name()) != ".jsonl" {
			continue
		}
		t := Trashed{Place{Path: filepath.Join(dir, f.Name())}, filepath.Join(filepath.Dir(filepath.Dir(dir)), f.Name()), info.ModTime()}
		if h, err := ReadHeader(t.Path); err == nil {
			t.ID = h.ID
		}
		return t, true
	}
	return Trashed{}, false
}

// TrashedAt is the deleted session whose file in the trash has this path.
func TrashedAt(path string) (Trashed, bool) {
	abs, err := filepath.Abs(path)
	if err != nil || filepath.Base(filepath.Dir(filepath.Dir(abs))) != trashName {
		return Trashed{}, false
	}
	t, ok := trashedIn(filepath.Dir(abs))
	return t, ok && t.Path == abs
}

// Restore brings a deleted session back to where it was, with its companions. A
// file that has its name by now is ErrTaken, and stays. If anything fails, the
// session is in the trash as before.
func Restore(t Trashed, companions []Companion, opts Options) error {
	fs := opts.fs()
	if err := regular(fs, t.Path); err != nil {
		return err
	}
	if _, err := fs.Stat(t.Origin); err == nil {
		return fmt.Errorf("%s: restore: %w; move it away first", t.Origin, ErrTaken)
	}
	var done steps
	back := Place{t.Origin, t.ID}
	// The file goes last: where the process ends in between, it is still in the
	// trash and can be restored again.
	err := done.each(companions, func(c Companion) (Undo, error) { return c.Move(t.Place, back) })
	if err == nil {
		err = comeBack(fs, t, &done)
	}
	if err != nil {
		return done.rollBack(fmt.Errorf("%s: restore: %w; it is still in the trash", t.Origin, err))
	}
	// If this fails, a power cut may leave the session in the trash, too.
	_ = fs.SyncDir(filepath.Dir(t.Path))
	emptied(fs, filepath.Dir(t.Path))
	return nil
}

// comeBack gives a file its old name, never over one that came meanwhile.
func comeBack(fs durable.FS, t Trashed, done *steps) error {
	folder := filepath.Dir(t.Origin)
	err := fs.Link(t.Path, t.Origin)
	switch {
	case errors.Is(err, os.ErrExist):
		return fmt.Errorf("%s: %w", t.Origin, ErrTaken)
	case err != nil: // a file system without links
		if err := fs.Rename(t.Path, t.Origin); err != nil {
			return err
		}
		done.did(func() error { return fs.Rename(t.Origin, t.Path) })
		return fs.SyncDir(folder)
	}
	done.did(func() error { return fs.Remove(t.Origin) })
	if err := fs.SyncDir(folder); err != nil {
		return err
	}
	return fs.Remove(t.Path)
}

// ErrMayReturn says that a session was taken away for good, but that its folder could
// not be synced: a power cut may bring it back to the trash.
var ErrMayReturn = errors.New("it is removed, but a power cut may bring it back to the trash")

// Purge takes a deleted session away for good, with what its companions keep; no power
// cut brings it back. If a companion fails, the session is in the trash as before. If
// only the sync fails that is ErrMayReturn, and the session is gone.
func Purge(t Trashed, companions []Companion, opts Options) error {
	fs := opts.fs()
	if err := regular(fs, t.Path); err != nil {
		return err
	}
	var done steps
	err := done.each(companions, func(c Companion) (Undo, error) { return c.Remove(t.Place) })
	if err == nil {
		err = fs.Remove(t.Path)
	}
	if err != nil {
		return done.rollBack(fmt.Errorf("%s: remove for good: %w; it is still in the trash", t.Path, err))
	}
	dir := filepath.Dir(t.Path)
	if err := fs.SyncDir(dir); err != nil {
		return fmt.Errorf("%s: %w: %w", t.Path, ErrMayReturn, err)
	}
	emptied(fs, dir)
	return nil
}

// emptied removes the folder of a session that left the trash, and the trash, if
// nothing else is in them.
func emptied(fs durable.FS, dir string) {
	if fs.Remove(dir) == nil {
		_ = fs.Remove(filepath.Dir(dir))
	}
}
