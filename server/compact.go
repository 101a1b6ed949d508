package server

import (
	"context"
	"net/http"

	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/wrapper"
)

// compactSession sums up the beginning of the conversation and answers when it is
// done. The client may go away: the summary goes on, and the stream tells of it.
func (s *Server) compactSession(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	instructions := f.optional("customInstructions")
	if err := f.check(); err != nil {
		return err
	}
	ctx, cancel := sending(r)
	defer cancel()
	return s.use(ctx, args["id"], func(st *started) error {
		c, err := st.s.Compact(ctx, instructions)
		if err != nil {
			return err
		}
		done, err := c.Result(r.Context())
		if err != nil {
			return err
		}
		write(w, r, http.StatusOK, done)
		return nil
	})
}

// navigateSession goes to another entry of the session's tree.
func (s *Server) navigateSession(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	target, summarize, instructions := f.str("entryId"), f.flag("summarize"), f.optional("customInstructions")
	t, err := s.lookup(r.Context(), args["id"])
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	return s.use(r.Context(), t.wireID, func(st *started) error {
		n, err := st.s.Navigate(context.WithoutCancel(r.Context()), session.ID(target), wrapper.NavigateOptions{Summarize: summarize, Instructions: instructions})
		if err != nil {
			return err
		}
		write(w, r, http.StatusOK, n)
		return nil
	})
}
