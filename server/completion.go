package server

import (
	"net/http"

	"github.com/piweb-go/piweb/completion"
	"github.com/piweb-go/piweb/completion/files"
)

// scope says whose question it is. It comes from the session, never from a client.
func (s *Server) scope(r *http.Request, name string) (completion.Scope, error) {
	t, err := s.lookup(r.Context(), name)
	if err != nil {
		return completion.Scope{}, err
	}
	return s.rt.CompletionScope(t.path, t.live)
}

// getTriggers tells which characters begin a completion. Somebody who asks will
// type soon: providers get ready.
func (s *Server) getTriggers(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	scope, err := s.scope(r, args["id"])
	if err != nil {
		return err
	}
	s.rt.Completion().Warm(scope)
	write(w, r, http.StatusOK, struct {
		Triggers []completion.TriggerRule `json:"triggers"`
	}{s.rt.Completion().Triggers()})
	return nil
}

// complete offers what a person may mean. A request that is given up stops the
// search.
func (s *Server) complete(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	scope, err := s.scope(r, args["id"])
	if err != nil {
		return err
	}
	q := r.URL.Query()
	a := s.rt.Completion().Complete(r.Context(), completion.Query{Scope: scope, Trigger: q.Get("trigger"), Text: q.Get("q")})
	if err := r.Context().Err(); err != nil {
		return err
	}
	write(w, r, http.StatusOK, a)
	return nil
}

// previewFile shows the beginning of a file that a message may name.
func (s *Server) previewFile(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	scope, err := s.scope(r, args["id"])
	if err != nil {
		return err
	}
	p, err := s.rt.Preview(scope, r.URL.Query().Get("path"))
	switch {
	case err == nil:
		write(w, r, http.StatusOK, p)
		return nil
	case files.Nothing(err):
		// One answer for all: what lies outside is not told from what is not there.
		return &problem{status: http.StatusNotFound, code: "FILE_NOT_FOUND", text: "There is no such file in the session's folder.", cause: err}
	}
	return err
}
