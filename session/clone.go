package session

import (
	"fmt"
	"io"

	"github.com/piweb-go/piweb/internal/structure"
)

// Clone is Fork of the whole branch: the path from the root to the leaf.
func Clone(src *Session, o ForkOptions) (Forked, error) {
	o.Before = false
	return Fork(src, src.Leaf(), o)
}

// ForkAll makes a fork with all entries of all branches: every byte of the file
// but the header, which is new. A source of version 1 or 2 is migrated on the
// way. Before has no meaning here.
func ForkAll(src *Session, o ForkOptions) (Forked, error) {
	src.mu.Lock()
	defer src.mu.Unlock()
	fork, from, err := src.offspring(o)
	if err != nil {
		return Forked{}, err
	}
	carried, err := src.encodeAll(o.Carry)
	if err != nil {
		return Forked{}, err
	}
	fill := func(w io.Writer) error { return src.copyWith(w, fork.header.Raw) }
	closed := !src.openTail
	if src.migrate {
		m := migration{s: src, moved: append([]Entry(nil), src.entries...), head: fork.header.Raw}
		if err := m.build(); err != nil {
			return Forked{}, fmt.Errorf("%s: fork: migrate: %w; no fork was made", src.path, err)
		}
		fill = func(w io.Writer) error { _, err := m.out.WriteTo(w); return err }
		closed = true
	}
	return writeFork(fork, from, src.info.Mode().Perm(), o.Companions, "", len(src.entries)+len(carried), src.end, func(w io.Writer) error {
		if err := fill(w); err != nil {
			return err
		}
		if len(carried) > 0 && !closed {
			if _, err := w.Write([]byte{'\n'}); err != nil { // a fragment stays as a line of its own
				return err
			}
		}
		for _, e := range carried {
			if err := putLine(w, e.mem); err != nil {
				return err
			}
		}
		return nil
	})
}

// copyWith copies the file, as far as it is known, with another header in the
// place of its own. Every other byte stays.
func (s *Session) copyWith(w io.Writer, head []byte) error {
	at, length, err := s.headerPlace()
	if err != nil {
		return err
	}
	if err := s.copyBytes(w, 0, at); err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	return s.copyBytes(w, at+length, s.end)
}

func (s *Session) copyBytes(w io.Writer, from, to int64) error {
	n, err := io.Copy(w, io.NewSectionReader(s.file, from, to-from))
	if err == nil && n != to-from {
		err = ErrReplaced
	}
	return err
}

// headerPlace finds the header again. The record that counts is the first one of
// its type.
func (s *Session) headerPlace() (at, length int64, err error) {
	found := false
	err = lines(section{s, s.end}, 0, 1, func(l line) error {
		for _, seg := range segments(nil, l, structure.Shape) {
			if !seg.damage && seg.head.typ == typeHeader {
				at, length, found = seg.offset, int64(len(seg.data)), true
				return io.EOF
			}
		}
		return nil
	})
	if err != nil && err != io.EOF {
		return 0, 0, err
	}
	if !found {
		return 0, 0, ErrReplaced
	}
	return at, length, nil
}

// withCWD is the header of the file with another working directory; whatever
// else is in it stays.
func (s *Session) withCWD(cwd string) ([]byte, error) {
	head, err := structure.SetText(s.header.Raw, "cwd", cwd)
	if err != nil {
		return nil, err
	}
	if got := field(head, "cwd").String(); got != cwd {
		return nil, fmt.Errorf("the header cannot be changed: its working directory would read as %q", got)
	}
	return head, nil
}
