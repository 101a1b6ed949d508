package piweb

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/piweb-go/piweb/artifact"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/wrapper"
)

// Move takes a session to another working folder: the header names it, and the
// file lies with that folder's sessions. A live session is closed first; a running
// one, and one that another process holds, is refused. It returns the new path.
func (r *Runtime) Move(ctx context.Context, path, cwd string) (string, error) {
	to, _, err := r.MoveNoted(ctx, path, cwd)
	return to, err
}

// MoveNoted is Move, and returns what a person should know of it: the outputs that
// had to stay, because the new place had others of their name or number. Whoever
// opens the session next in this program is told as well, by an event.
func (r *Runtime) MoveNoted(ctx context.Context, path, cwd string) (to string, notes []string, err error) {
	abs, dir, err := r.newFolder(cwd)
	if err != nil {
		return "", nil, err
	}
	var moved moveResult
	if done, err := r.handed(ctx, path, askMove, moveBody{abs}, &moved); done {
		return moved.Path, moved.Notes, err
	}
	if err := errors.Join(r.quiet(path, "the move"), exists(path)); err != nil {
		return "", nil, err
	}
	if err := r.letGo(path); err != nil {
		return "", nil, err
	}
	followers := r.following(false, func(text string) { notes = append(notes, text) })
	to, err = session.Move(path, session.MoveOptions{Dir: dir, CWD: abs, Companions: followers}, r.session)
	if err != nil {
		return "", nil, err
	}
	r.keepNotes(to, notes)
	return to, notes, r.gone(path)
}

// following are the companions of one operation, which tells what they leave, or
// with whole leaves nothing.
func (r *Runtime) following(whole bool, note func(text string)) []session.Companion {
	list := append([]session.Companion(nil), r.companions...)
	for i, c := range list {
		if a, ok := c.(artifact.Companion); ok {
			a.Warn, a.Whole = note, whole
			list[i] = a
		}
	}
	return list
}

// keepNotes remembers what is to be told when the session of a file is opened.
func (r *Runtime) keepNotes(path string, notes []string) {
	if len(notes) == 0 {
		return
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.notes == nil {
		r.notes = map[string][]string{}
	}
	r.notes[path] = append(r.notes[path], notes...)
}

// tellKept tells a live session what was remembered for it, once.
func (r *Runtime) tellKept(s *wrapper.Session) {
	path := s.Log().Path()
	r.mu.Lock()
	notes := r.notes[path]
	delete(r.notes, path)
	r.mu.Unlock()
	for _, n := range notes {
		s.Tell(n)
	}
}
