package artifact

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// An id is reserved by the exclusive creation of an empty file that is named by
// the id alone, a mark:
//
//	.id-<n>               the artifact n
//	.id-agent-<n>         the output n of a subagent
//	.id-agent-<parent>.<n> the same below another one
//
// After its mark, a process lists the folder and backs off if a file has the id
// already: another process may have written it after this one had looked, or a
// program that knows nothing of marks. So a file with an id is only made by the
// one process that holds the mark of the id and saw no other file with it.
//
// The highest mark stays for ever: it is what keeps ids from coming back after a
// file was deleted. A lower one is taken away once its file is there, or an hour
// later, when whoever made it has failed.

// scope is a series of ids.
type scope struct {
	mark   string                          // what the names of its marks begin with
	number func(name string) (int64, bool) // the number of a file that uses an id of it
}

// artifacts is the series of artifact://.
var artifacts = scope{".id-", func(name string) (int64, bool) {
	id, ok := idOf(name)
	if !ok {
		return 0, false
	}
	return id.number()
}}

// marked is the number of a mark.
func (sc scope) marked(name string) (int64, bool) {
	digits, ok := strings.CutPrefix(name, sc.mark)
	if !ok {
		return 0, false
	}
	return ID(digits).parsed()
}

// parsed is number for text that need not be digits.
func (id ID) parsed() (int64, bool) {
	if _, err := ParseID(string(id)); err != nil {
		return 0, false
	}
	return id.number()
}

const (
	maxTries = 100_000   // reservations that may collide, before something is wrong
	markAge  = time.Hour // how long a mark without a file stands for work that goes on
)

// reserve gives an id of a scope that was never given before, from least on.
func (s *Store) reserve(f *folder, sc scope, least int64) (string, error) {
	s.mu.Lock()
	next, known := s.next[sc.mark]
	s.mu.Unlock()
	if !known {
		seen, err := f.look(sc)
		if err != nil {
			return "", err
		}
		next = seen.next
	}
	next = max(next, least)
	for range maxTries {
		mark := sc.mark + strconv.FormatInt(next, 10)
		file, err := f.fs.OpenFile(mark, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			next++
			continue
		}
		if err != nil {
			return "", fmt.Errorf("reserve an id in %s: %w", f.path, reason(err))
		}
		if err := file.Close(); err != nil {
			return "", fmt.Errorf("reserve an id in %s: %w", f.path, err)
		}
		seen, err := f.look(sc)
		if err != nil {
			return "", err
		}
		if seen.files[next] {
			// The mark of a lower id says nothing. It goes, unless it is the highest.
			if seen.next > next+1 {
				_ = f.fs.Remove(mark)
			}
			next = max(next+1, seen.next)
			continue
		}
		f.clean(sc, seen, next, s.opts.Now())
		s.mu.Lock()
		s.next[sc.mark] = max(s.next[sc.mark], next+1)
		s.mu.Unlock()
		return strconv.FormatInt(next, 10), nil
	}
	return "", fmt.Errorf("reserve an id in %s: %d are taken in a row; look what fills the folder", f.path, maxTries)
}

// claim takes one id of a scope, if it was never given here. Otherwise next is the
// first that was not.
func (s *Store) claim(f *folder, sc scope, n int64) (ok bool, next int64, err error) {
	seen, err := f.look(sc)
	if err != nil || seen.next > n {
		return false, seen.next, err
	}
	mark := sc.mark + strconv.FormatInt(n, 10)
	file, err := f.fs.OpenFile(mark, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return false, n + 1, nil
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		return false, n, fmt.Errorf("reserve an id in %s: %w", f.path, reason(err))
	}
	if seen, err = f.look(sc); err != nil || seen.files[n] {
		return false, max(n+1, seen.next), err
	}
	f.clean(sc, seen, n, s.opts.Now())
	return true, n + 1, nil
}

// look is what a folder says about the ids of a scope.
type look struct {
	next  int64          // no id from here on was ever given
	files map[int64]bool // ids that have a file
	marks []int64
}

func (f *folder) look(sc scope) (look, error) {
	list, err := f.entries()
	if err != nil {
		return look{}, err
	}
	l := look{files: map[int64]bool{}}
	for _, e := range list {
		n, ok := sc.number(e.Name())
		if ok {
			l.files[n] = true
		} else if n, ok = sc.marked(e.Name()); ok {
			l.marks = append(l.marks, n)
		}
		if ok {
			l.next = max(l.next, n+1)
		}
	}
	return l, nil
}

// clean takes marks away that are not needed any more, below a mark that stands.
func (f *folder) clean(sc scope, seen look, below int64, now time.Time) {
	for _, n := range seen.marks {
		if n >= below {
			continue
		}
		mark := sc.mark + strconv.FormatInt(n, 10)
		if !seen.files[n] {
			info, err := f.root.Lstat(mark)
			if err != nil || now.Sub(info.ModTime()) < markAge {
				continue
			}
		}
		_ = f.fs.Remove(mark)
	}
}
