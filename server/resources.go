package server

import (
	"encoding/json"
	"net/http"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/session"
)

// loaded is what a session has loaded, with its id as clients know it.
type loaded struct {
	SessionID string `json:"sessionId"`
	Live      bool   `json:"live"` // false: what it would load; nothing was started
	piweb.Loaded
}

// getResources says what a session has loaded and from where, what was left out
// and why, and whether its folder is trusted. It starts nothing.
func (s *Server) getResources(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	t, err := s.lookup(r.Context(), args["id"])
	if err != nil {
		return err
	}
	l, err := s.loadedOf(r, t)
	if err != nil {
		return err
	}
	write(w, r, http.StatusOK, l)
	return nil
}

func (s *Server) loadedOf(r *http.Request, t *target) (loaded, error) {
	out := loaded{SessionID: t.wireID, Live: t.live != nil}
	var err error
	if t.live != nil {
		out.Loaded, err = s.rt.Loaded(r.Context(), t.live)
	} else {
		out.Loaded, err = s.rt.LookAtSession(r.Context(), t.path)
	}
	out.Trust.Ask = out.Trust.Ask && whoOf(r.Context()).admin() // others are not asked what they may not answer
	return out, err
}

// reloadSession reads everything anew that the session's policy lets in.
func (s *Server) reloadSession(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	if _, err := readForm(w, r); err != nil {
		return err
	}
	ctx, cancel := sending(r)
	defer cancel()
	return s.use(ctx, args["id"], func(st *started) error {
		if err := st.s.Reload(ctx); err != nil {
			return err
		}
		l, err := s.rt.Loaded(ctx, st.s)
		if err != nil {
			return err
		}
		write(w, r, http.StatusOK, loaded{st.wireID, true, l})
		return nil
	})
}

// trustFolder records a person's decision about the folder of a session:
// true, false, or null to take it back. A live session keeps what it has until it
// is reloaded.
func (s *Server) trustFolder(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	return s.reading(r, args["id"], func(t *target, log *session.Session) error {
		f, err := readForm(w, r)
		if err != nil {
			return err
		}
		var decision *bool
		raw, ok := f.fields["trusted"]
		if !ok || json.Unmarshal(raw, &decision) != nil {
			return invalid("Say whether the folder is trusted: true, false, or null to take the decision back.", "trusted")
		}
		folder := folderOf(t, log)
		if folder == "" {
			return refuse(http.StatusConflict, "FOLDER_GONE", "The session's folder is not there, so there is nothing to trust.")
		}
		if _, err := s.rt.SetTrust(folder, decision); err != nil {
			return err
		}
		l, err := s.loadedOf(r, t)
		if err != nil {
			return err
		}
		write(w, r, http.StatusOK, l)
		return nil
	})
}
