package server

import (
	"net/http"
	"strconv"

	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

const (
	treeNodes    = 1000
	maxTreeNodes = 5000
	maxNodeText  = 200 // characters
)

// treeNode is an entry of a session's file, as a map of its branches shows it.
type treeNode struct {
	ID        session.ID `json:"id"`
	ParentID  session.ID `json:"parentId,omitempty"`
	Type      string     `json:"type"`
	Role      string     `json:"role,omitempty"`       // of a message
	Custom    string     `json:"customType,omitempty"` // of a custom entry
	Timestamp string     `json:"timestamp,omitempty"`
	Line      int        `json:"line"`
	Text      string     `json:"text,omitempty"` // the beginning of what it says
	Label     string     `json:"label,omitempty"`
	OnBranch  bool       `json:"onBranch,omitempty"` // it is on the branch that the session goes on from
}

// getTree lists the entries of all branches in the order of the file: the newest
// page of them, or the one that ends with the before-th.
func (s *Server) getTree(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	q := r.URL.Query()
	limit, err := positive(q.Get("limit"), q.Has("limit"), treeNodes, maxTreeNodes, "limit")
	if err != nil {
		return err
	}
	before, err := positive(q.Get("before"), q.Has("before"), 0, 0, "before")
	if err != nil {
		return err
	}
	return s.reading(r, args["id"], func(t *target, log *session.Session) error {
		labels, err := log.Labels()
		if err != nil {
			return err
		}
		branch, err := log.Branch(log.Leaf())
		if err != nil {
			return err
		}
		on := make(map[session.ID]bool, len(branch.Entries))
		for _, e := range branch.Entries {
			on[e.ID] = true
		}
		all := make([]session.Entry, 0, log.Len())
		for e := range log.Entries() {
			all = append(all, e)
		}
		end := len(all)
		if before > 0 {
			end = min(end, before)
		}
		first := max(0, end-limit)
		nodes := make([]treeNode, 0, end-first)
		for _, e := range all[first:end] {
			n := treeNode{ID: e.ID, ParentID: e.Parent, Type: e.Type, Role: e.Role, Custom: e.CustomType, Timestamp: stamp(e.Time()), Line: e.Line, Label: labels[e.ID], OnBranch: on[e.ID]}
			n.Text = nodeText(log, e)
			nodes = append(nodes, n)
		}
		write(w, r, http.StatusOK, struct {
			SessionID string       `json:"sessionId"`
			Leaf      session.ID   `json:"leafId"`
			Leaves    []session.ID `json:"leaves"` // entries that nothing follows, in the order of the file
			Total     int          `json:"total"`
			Entries   []treeNode   `json:"entries"`
			Before    int          `json:"before,omitempty"` // for the page in front of this one: how many entries it and those before it have
		}{t.wireID, log.Leaf(), append([]session.ID{}, log.Leaves()...), len(all), nodes, first})
		return nil
	})
}

// nodeText is the beginning of what an entry says; "" where it says nothing to
// people, or cannot be read.
func nodeText(log *session.Session, e session.Entry) string {
	p, err := log.Decode(e)
	if err != nil {
		return ""
	}
	text := ""
	switch p := p.(type) {
	case session.MessagePayload:
		text = messageText(p.Message)
	case session.Compaction:
		text = p.Summary
	case session.BranchSummary:
		text = p.Summary
	case session.CustomMessage:
		text = p.Content.PlainText()
	case session.Label:
		text = p.Label
	case session.SessionInfo:
		text = p.Name
	case session.ModelChange:
		text = p.Provider + "/" + p.ModelID
	case session.ThinkingLevelChange:
		text = p.ThinkingLevel
	}
	if runes := []rune(text); len(runes) > maxNodeText {
		return string(runes[:maxNodeText]) + "…"
	}
	return text
}

// messageText is what a message says; a call of tools says their names.
func messageText(m message.Message) string {
	if r, ok := m.(*message.ToolResult); ok {
		return r.ToolName
	}
	if m.Role() == message.RoleSystem {
		return ""
	}
	content := message.ContentOf(m)
	if text := content.PlainText(); text != "" {
		return text
	}
	names := ""
	for _, b := range content {
		if b.Type == message.TypeToolCall {
			if names != "" {
				names += ", "
			}
			names += b.Name
		}
	}
	return names
}

// positive reads a whole number above 0 of a query, at most most where that is
// above 0.
func positive(text string, there bool, otherwise, most int, field string) (int, error) {
	if !there {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		return 0, badQuery(field, field+" must be a whole number above 0.")
	}
	if most > 0 {
		n = min(n, most)
	}
	return n, nil
}

// labelEntry names an entry for people.
func (s *Server) labelEntry(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	label := f.str("label")
	t, err := s.lookup(r.Context(), args["id"])
	if err != nil {
		return err
	}
	if len([]rune(session.CleanName(label))) > maxName {
		f.bad("label")
	}
	if err := f.check(); err != nil {
		return err
	}
	ctx, cancel := sending(r)
	defer cancel()
	if err := s.rt.SetLabel(ctx, t.pathOf(), session.ID(args["entryId"]), label); err != nil {
		return err
	}
	write(w, r, http.StatusOK, struct {
		EntryID string `json:"entryId"`
		Label   string `json:"label"`
	}{args["entryId"], session.CleanName(label)})
	return nil
}
