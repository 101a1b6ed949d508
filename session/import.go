package session

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/piweb-go/piweb/internal/durable"
)

// ImportOptions say where a copy goes.
type ImportOptions struct {
	Dir        string // the folder of the copy
	CWD        string // a working directory for the copy, absolute; "" keeps the header as it is
	Companions []Companion
}

// Import copies a session file into a folder of sessions, byte for byte, the id
// included; with CWD the working directory in the header is another one. The
// copy has the name of the file; where that is taken, -1, -2 … is added, and
// nothing is ever overwritten. What is no session, or an empty file, is refused.
// Import returns the path of the copy, which is whole and synced.
func Import(file string, o ImportOptions, opts Options) (string, error) {
	if o.CWD != "" && !filepath.IsAbs(o.CWD) {
		return "", fmt.Errorf("%s: import: the working directory %q is not absolute", file, o.CWD)
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return "", fmt.Errorf("%s: import: %w", file, err)
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", fmt.Errorf("%s: import: %w", file, err)
	}
	s, err := Open(abs, opts)
	if err != nil {
		return "", err
	}
	defer s.Close()
	if s.header.Raw == nil {
		return "", &FormatError{file, 1, "the file is empty", "there is nothing to import"}
	}
	head := s.header.Raw
	if o.CWD != "" {
		if head, err = s.withCWD(o.CWD); err != nil {
			return "", fmt.Errorf("%s: import: %w", file, err)
		}
	}
	stem, err := s.importName(abs)
	if err != nil {
		return "", err
	}
	path, err := s.importTo(dir, stem, head, o.Companions)
	if err != nil {
		return "", fmt.Errorf("%s: import: %w; nothing was imported", file, err)
	}
	return path, nil
}

// importTo makes the copy under the first name that is free.
func (s *Session) importTo(dir, stem string, head []byte, companions []Companion) (string, error) {
	from := Place{s.path, s.header.ID}
	for n := range maxNames {
		to := Place{filepath.Join(dir, numbered(stem, n)+".jsonl"), s.header.ID}
		if nameTaken(s.opts.fs(), to.Path) {
			continue
		}
		var done steps
		dirs, err := makeFolder(s.opts.fs(), dir, &done)
		if err == nil {
			err = done.each(companions, func(c Companion) (Undo, error) { return c.Copy(from, to) })
		}
		if err == nil {
			err = newFile(s.opts.fs(), to.Path, dirs, s.info.Mode().Perm(), &done,
				s.opts.counted("copying the session", s.end, func(w io.Writer) error { return s.copyWith(w, head) }))
		}
		if err == nil {
			durable.Sweep(s.opts.fs(), dir, s.opts.now())
			return to.Path, nil
		}
		if err = done.rollBack(err); !errors.Is(err, ErrTaken) { // somebody was faster
			return "", err
		}
	}
	return "", fmt.Errorf("%s: %w, and so have %d more", filepath.Join(dir, stem), ErrTaken, maxNames-1)
}

func nameTaken(fs durable.FS, path string) bool {
	_, err := fs.Stat(path)
	return err == nil || !errors.Is(err, os.ErrNotExist)
}

// importName is the name of a copy without its suffix. A name that would hide the
// copy from lists, or that is not fit for every file system, gives way to a new
// one; the header's own id is somebody else's text and is no name.
func (s *Session) importName(path string) (string, error) {
	stem := strings.TrimSuffix(filepath.Base(path), ".jsonl")
	unfit := func(r rune) bool { return unicode.IsControl(r) || strings.ContainsRune(`\/:*?"<>|`, r) }
	if stem != "" && stem[0] != '.' && len(stem) <= maxIDLen && utf8.ValidString(stem) && !strings.ContainsFunc(stem, unfit) {
		return stem, nil
	}
	id, err := newSessionID(&s.opts)
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(FileName(s.opts.now().UTC().Format(TimeLayout), id), ".jsonl"), nil
}
