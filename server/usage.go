package server

import (
	"net/http"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent/compact"
	"github.com/piweb-go/piweb/session"
)

// getUsage tells what a session has used, entry by entry unless entries=false, and the
// subagents below it, from their files.
func (s *Server) getUsage(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	return s.reading(r, args["id"], func(t *target, log *session.Session) error {
		u, err := log.Usage()
		if err != nil {
			return err
		}
		if r.URL.Query().Get("entries") == "false" {
			u.Lines = []session.UsageLine{}
		}
		tree, err := s.rt.TreeUsage(r.Context(), t.pathOf())
		if err != nil {
			return err
		}
		write(w, r, http.StatusOK, struct {
			SessionID string `json:"sessionId"`
			session.Usage
			Tree    piweb.TreeUsage `json:"tree"`
			Context *contextUsage   `json:"contextUsage,omitempty"`
		}{t.wireID, u, tree, s.contextUsage(t, log)})
		return nil
	})
}

// contextUsage is how full the model's window is, estimated.
type contextUsage struct {
	Tokens  int64   `json:"tokens"`
	Window  int     `json:"contextWindow"`
	Percent float64 `json:"percent"`
}

// contextUsage is nil where the session's model or its window is not known.
func (s *Server) contextUsage(t *target, log *session.Session) *contextUsage {
	c, err := log.Context()
	if err != nil || c.Model == nil {
		return nil
	}
	m, err := s.rt.Config(folderOf(t, log)).Models.Find(c.Model.Provider + "/" + c.Model.ModelID)
	if err != nil || m.ContextWindow <= 0 {
		return nil
	}
	tokens := (&compact.Compactor{}).Tokens(c)
	return &contextUsage{tokens, m.ContextWindow, 100 * float64(tokens) / float64(m.ContextWindow)}
}

// getStats is the same for the client, in its own words.
func (s *Server) getStats(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	return s.reading(r, args["id"], func(t *target, log *session.Session) error {
		u, err := log.Usage()
		if err != nil {
			return err
		}
		type tokens struct {
			Input      int64 `json:"input"`
			Output     int64 `json:"output"`
			CacheRead  int64 `json:"cacheRead"`
			CacheWrite int64 `json:"cacheWrite"`
			Total      int64 `json:"total"`
		}
		type stats struct {
			SessionFile string `json:"sessionFile"`
			SessionID   string `json:"sessionId"`
			session.Counts
			Tokens  tokens        `json:"tokens"`
			Cost    float64       `json:"cost"`
			Context *contextUsage `json:"contextUsage,omitempty"`
		}
		n := u.Total
		write(w, r, http.StatusOK, struct {
			Stats stats `json:"stats"`
		}{stats{log.Path(), t.wireID, u.Counts, tokens{n.Input, n.Output, n.CacheRead, n.CacheWrite, n.TotalTokens}, n.Cost.Total, s.contextUsage(t, log)}})
		return nil
	})
}
