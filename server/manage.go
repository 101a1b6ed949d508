package server

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/wrapper"
)

// What is done with whole sessions: to the trash and back, and what a user marked.

// deleteSession moves a session to the trash, and its subagents with it. What is
// gone already is gone. One that was never saved is only stopped.
func (s *Server) deleteSession(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	id := f.str("sessionId")
	if id == "" || slices.Contains(f.wrong, "sessionId") {
		return badQuery("sessionId", "sessionId must say which session is meant.")
	}
	gone := []trashedItem{}
	t, err := s.lookup(r.Context(), id)
	var p *problem
	switch {
	case errors.As(err, &p) && p.code == "SESSION_NOT_FOUND":
	case err != nil:
		return err
	default:
		if gone, err = s.trash(r, t); err != nil {
			return err
		}
	}
	write(w, r, http.StatusOK, struct {
		OK      bool          `json:"ok"`
		Trashed []trashedItem `json:"trashed"`
	}{true, gone})
	return nil
}

// trash deletes a session whose readers are told why it ends.
func (s *Server) trash(r *http.Request, t *target) ([]trashedItem, error) {
	ctx, cancel := sending(r)
	defer cancel()
	if t.live != nil {
		if state, _ := t.live.State(); state == wrapper.Running {
			return nil, wrapper.ErrRunning
		}
		if !t.live.Log().Persisted() {
			return []trashedItem{}, s.stop(t, "stopped", "The session was deleted.")
		}
	}
	// The subagents' readers, too, lose what they follow.
	list, err := s.rt.Delete(ctx, t.pathOf())
	if err != nil {
		return nil, err
	}
	gone := []trashedItem{}
	for _, tr := range list {
		gone = append(gone, trashedOf(tr))
		if f := s.feeds.peek(keyOf(tr.Origin)); f != nil {
			f.ending("stopped", "The session was deleted.")
			f.settle()
			s.feeds.forget(keyOf(tr.Origin), f)
		}
	}
	return gone, nil
}

// trashedItem is a session in the trash.
type trashedItem struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"` // in the trash
	Origin    string `json:"origin"`
	DeletedAt string `json:"deletedAt,omitempty"`
}

func trashedOf(t session.Trashed) trashedItem {
	return trashedItem{t.ID, t.Path, t.Origin, stamp(t.At)}
}

// trashed lists what who asks may see in the trash: an owner follows a session there.
func (s *Server) trashed(ctx context.Context) ([]session.Trashed, error) {
	all, err := s.rt.Trashed(s.cfg.DefaultCWD)
	p := whoOf(ctx)
	if err != nil || p.admin() {
		return all, err
	}
	owners, err := s.rt.Owners().All()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(t session.Trashed) bool { return !p.sees(owners[keyOf(t.Path)]) }), nil
}

func (s *Server) listTrash(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	all, err := s.trashed(r.Context())
	if err != nil {
		return err
	}
	items := []trashedItem{}
	for _, t := range all {
		items = append(items, trashedOf(t))
	}
	write(w, r, http.StatusOK, struct {
		Sessions []trashedItem `json:"sessions"`
	}{items})
	return nil
}

// restoreSession brings a session back, and those of its subagents that are in the
// trash. It is named by its id, or by its path in the trash where several share
// the id; a path is only compared with what the trash lists.
func (s *Server) restoreSession(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	id, path := f.optional("sessionId"), f.optional("path")
	if (id == "") == (path == "") {
		f.bad("sessionId")
	}
	if err := f.check(); err != nil {
		return err
	}
	all, err := s.trashed(r.Context())
	if err != nil {
		return err
	}
	hits := slices.DeleteFunc(all, func(t session.Trashed) bool { return path != "" && t.Path != path || path == "" && t.ID != id })
	switch {
	case len(hits) == 0:
		return refuse(http.StatusNotFound, "SESSION_NOT_FOUND", "There is no such session in the trash. GET /api/trash lists what is there.")
	case len(hits) > 1:
		p := refuse(http.StatusConflict, "AMBIGUOUS_ID", "Several deleted sessions have this id. Name one by its path in the trash.")
		for _, t := range hits {
			p.fields = append(p.fields, t.Path)
		}
		return p
	}
	ctx, cancel := sending(r)
	defer cancel()
	back, err := s.rt.Restore(ctx, s.cfg.DefaultCWD, hits[0].Path)
	if errors.Is(err, session.ErrTaken) {
		return &problem{status: http.StatusConflict, code: "EXISTS", text: "Another session has this place now. Nothing was restored.", cause: err}
	}
	if err != nil {
		return err
	}
	items := []created{}
	for _, t := range back {
		id, err := s.idOf(ctx, t.Origin, t.ID)
		if err != nil {
			return err
		}
		items = append(items, created{id})
	}
	write(w, r, http.StatusOK, struct {
		Sessions []created `json:"sessions"`
	}{items})
	return nil
}

func (s *Server) getFavorites(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	ids, err := s.favorites(r).Sessions()
	if err != nil {
		return err
	}
	write(w, r, http.StatusOK, favorites{ids})
	return nil
}

// favorites are the marks of who asks.
func (s *Server) favorites(r *http.Request) *piweb.Favorites {
	return s.rt.Favorites().Of(whoOf(r.Context()).name)
}

type favorites struct {
	SessionIDs []string `json:"sessionIds"`
}

// setFavorites replaces the whole list.
func (s *Server) setFavorites(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	list := f.list("sessionIds")
	if list == nil || len(f.wrong) > 0 {
		return badQuery("sessionIds", "sessionIds must be a list of ids.")
	}
	ids, err := s.favorites(r).SetSessions(*list)
	if err != nil {
		return err
	}
	write(w, r, http.StatusOK, favorites{ids})
	return nil
}
