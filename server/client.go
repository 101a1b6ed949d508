package server

import (
	"net/http"
	"strings"

	"github.com/piweb-go/piweb/server/wire"
)

// What the existing client asks for besides what piweb has of its own. What has no
// meaning here is answered as that client's server answers it when the feature is
// off, and never as if the address did not exist.

// addClientRoutes lists the client's addresses that are no routes of ours.
func (s *Server) addClientRoutes() {
	rt := &s.routes
	rt.add("POST", "sessions/delete", s.managed(s.deleteSession))
	rt.is(personal)
	rt.add("GET", "sessions/favorites", s.getFavorites)
	rt.is(personal)
	rt.add("POST", "sessions/favorites", s.managed(s.setFavorites))
	rt.is(personal)
	rt.add("GET", "agent-sources", s.listSources)
	rt.is(personal)
	rt.add("GET", "agent-sources/favorites", s.getFavoriteSources)
	rt.is(personal)
	rt.add("PUT", "agent-sources/favorites", s.setFavoriteSources)
	rt.is(personal)
	rt.add("POST", "session-source", s.noteSource)
	rt.is(shared)
	rt.add("POST", "sessions/:id/model", s.movedModel)
	rt.add("POST", "sessions/:id/fork", s.forkSession)
	rt.add("GET", "sessions/:id/fork-messages", s.getForkMessages)
	rt.add("GET", "sessions/:id/commands", s.getCommands)
	rt.add("GET", "sessions/:id/logs", s.getLogs)
	rt.add("POST", "sessions/:id/state", s.setShared)
	rt.add("POST", "sessions/:id/ui-rpc", s.callUI)
	rt.add("POST", "sessions/:id/bash", s.off(http.StatusNotFound, "NOT_FOUND", "Shell commands of the page are switched off here. The model's bash tool runs commands where the session's tools include it."))
	rt.add("POST", "sessions/:id/attachment-catalog/:entryId/materialize", s.off(http.StatusNotFound, "ENTRY_NOT_FOUND", "There is no catalogue of attachments here."))
	rt.add("GET", "sessions/:id/agent-routes", s.getAgentRoutes)
	for _, method := range []string{"GET", "POST"} {
		rt.add(method, "sessions/:id/agent-routes/:name", s.off(http.StatusNotFound, "ROUTE_NOT_FOUND", "Sessions declare no routes here."))
	}
}

// addManageRoutes lists what piweb adds for whole sessions and their files.
func (s *Server) addManageRoutes() {
	rt := &s.routes
	rt.add("GET", "sessions/:id/tree", s.getTree)
	rt.add("PUT", "sessions/:id/labels/:entryId", s.labelEntry)
	rt.add("POST", "sessions/:id/forks", s.makeFork)
	rt.add("GET", "sessions/:id/export", s.exportSession)
	rt.add("GET", "sessions/:id/doctor", s.examineSession)
	rt.add("POST", "sessions/:id/repair", s.repairSession)
	rt.add("GET", "doctor", s.examineAll)
	rt.is(personal)
	rt.add("GET", "gc", s.lookAtUnused)
	rt.is(forAdmins)
	rt.add("POST", "gc", s.managed(s.collect))
	rt.is(forAdmins)
	rt.add("GET", "trash", s.listTrash)
	rt.is(personal)
	rt.add("POST", "trash/restore", s.managed(s.restoreSession))
	rt.is(personal)
}

// off answers what has no meaning here, of a session that exists.
func (s *Server) off(status int, code, text string) handler {
	return func(w http.ResponseWriter, r *http.Request, args map[string]string) error {
		if _, err := s.lookup(r.Context(), args["id"]); err != nil {
			return err
		}
		return refuse(status, code, text)
	}
}

// managed refuses where the management of sessions is switched off.
func (s *Server) managed(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request, args map[string]string) error {
		if s.cfg.NoManage {
			return refuse(http.StatusForbidden, "SESSIONS_MANAGE_DISABLED", "Deleting, renaming and marking sessions is switched off here.")
		}
		return h(w, r, args)
	}
}

// movedModel says where the model is chosen: the address is an old one.
func (s *Server) movedModel(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	return s.off(http.StatusGone, "ENDPOINT_MOVED", "The model is chosen at POST /api/sessions/{id}/models.")(w, r, args)
}

// getAgentRoutes lists the routes that a session declares: none.
func (s *Server) getAgentRoutes(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	if _, err := s.lookup(r.Context(), args["id"]); err != nil {
		return err
	}
	write(w, r, http.StatusOK, struct {
		Routes []struct{} `json:"routes"`
	}{[]struct{}{}})
	return nil
}

// commandItem is something that can be typed, in the client's words.
type commandItem struct {
	Name        string      `json:"name"`
	Description string      `json:"description,omitempty"`
	Source      string      `json:"source"` // extension, prompt, skill or builtin
	SourceInfo  *sourceInfo `json:"sourceInfo,omitempty"`
	Hint        string      `json:"argumentHint,omitempty"` // what its arguments are; our own
	WebVisible  bool        `json:"webVisible,omitempty"`
}

type sourceInfo struct {
	Path string `json:"path"` // a file, or the extension's name
}

// getCommands lists what can be typed at the start of a message. It starts nothing.
func (s *Server) getCommands(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	t, err := s.lookup(r.Context(), args["id"])
	if err != nil {
		return err
	}
	l, err := s.loadedOf(r, t)
	if err != nil {
		return err
	}
	list := []commandItem{}
	for _, c := range l.Commands {
		item := commandItem{Name: c.Name, Description: c.Description, Source: c.Kind, Hint: c.Hint, WebVisible: c.Kind == "extension"}
		if c.Kind == "template" {
			item.Source = "prompt"
		}
		if c.From != "" {
			item.SourceInfo = &sourceInfo{c.From}
		}
		list = append(list, item)
	}
	write(w, r, http.StatusOK, struct {
		Commands []commandItem `json:"commands"`
	}{list})
	return nil
}

// callUI answers a call of the page to the agent's own interface: sessions have
// none here, and the answer, which comes over the stream, says so.
func (s *Server) callUI(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	id := f.str("correlationId")
	if id == "" {
		f.bad("correlationId")
	}
	for _, field := range []string{"point", "action", "protocolVersion"} {
		f.str(field)
	}
	f.choice("point", "slash", "mention", "autocomplete", "inlineComplete", "command")
	f.choice("action", "list", "resolve", "execute", "complete")
	t, err := s.lookup(r.Context(), args["id"])
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	if len(id) > maxSharedKey {
		return invalid("correlationId has at most 256 bytes.", "correlationId")
	}
	if feed := s.feeds.peek(t.key); feed != nil {
		feed.tell(wire.RPCAnswer{ID: id, Code: "NOT_SUPPORTED", Text: "Sessions have no interface of their own here."})
	}
	write(w, r, http.StatusOK, okay{true})
	return nil
}

// noteSource is told by the client which source a session has. A session's source
// is its folder, which stands in its file, so there is nothing to note.
func (s *Server) noteSource(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	for _, field := range []string{"id", "source"} {
		if strings.TrimSpace(f.str(field)) == "" {
			f.bad(field)
		}
	}
	if err := f.check(); err != nil {
		return err
	}
	write(w, r, http.StatusOK, okay{true})
	return nil
}

// tell gives a frame to whoever listens now.
func (f *feed) tell(c wire.Control) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.dead && len(f.readers) > 0 {
		f.add([]wire.Frame{{Control: c}})
	}
}
