package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

// The transcript is what was said on the branch that a session is on, in pages and
// from the end: what a summary replaced for the model stays readable, and what a
// person looks at first comes first. The messages of the client's own address are
// the model's context instead.

const (
	transcriptLimit    = 400
	maxTranscriptLimit = 2000
	// transcriptBytes ends a page, so that a browser never reads more at once. One
	// message is sent whatever its size.
	transcriptBytes = 4 << 20
)

// transcript is a page of what was said.
type transcript struct {
	Messages []json.RawMessage `json:"messages"`
	From     int               `json:"from"`  // number of messages before the first one
	Total    int               `json:"total"` // messages of the branch
	LeafID   session.ID        `json:"leafId"`
	// Moved says that the entry that was named is not on the branch any more; the
	// page is then that of the end.
	Moved bool `json:"moved,omitempty"`
	// Labels are the names of entries, of the whole file.
	Labels map[session.ID]string `json:"labels,omitempty"`
}

// getTranscript gives the last messages, those before an entry, or those after it.
// A page begins with no result whose call stands before it.
func (s *Server) getTranscript(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	q := r.URL.Query()
	limit, err := positive(q.Get("limit"), q.Has("limit"), transcriptLimit, maxTranscriptLimit, "limit")
	if err != nil {
		return err
	}
	before, after := session.ID(q.Get("before")), session.ID(q.Get("after"))
	if before != "" && after != "" {
		return badQuery("after", "Name before or after, not both.")
	}
	return s.reading(r, args["id"], func(t *target, log *session.Session) error {
		branch, err := log.Branch(log.Leaf())
		if err != nil {
			return err
		}
		said, edits := saidOn(log, branch.Entries)
		page := transcript{Messages: []json.RawMessage{}, Total: len(said), LeafID: log.Leaf()}
		if page.Labels, err = log.Labels(); err != nil {
			return err
		}
		lo, hi := max(0, len(said)-limit), len(said)
		if name := before + after; name != "" {
			at := slices.IndexFunc(said, func(e session.Entry) bool { return e.ID == name })
			switch {
			case at < 0:
				page.Moved = true
			case before != "":
				lo, hi = max(0, at-limit), at
			default:
				lo, hi = at+1, min(len(said), at+1+limit)
			}
		}
		for after == "" && lo > 0 && said[lo].Role == string(message.RoleToolResult) {
			lo--
		}
		show := s.newShower(r.Context(), log.ID())
		one := func(e session.Entry) (json.RawMessage, error) {
			m, err := saidBy(log, e)
			if m == nil || err != nil {
				return nil, err
			}
			data, err := withEntry(show.message(s.gallery.pictured(t.wireID, e.ID, m)), e.ID)
			if err != nil {
				return nil, err
			}
			if how := edits[e.ID]; how != "" {
				data = append(slices.Clip(data[:len(data)-1]), `,"edited":"`+how+`"}`...)
			}
			return show.refresh(data), nil
		}
		page.From = lo
		size := 0
		put := func(i int, prepend bool) (full bool, err error) {
			data, err := one(said[i])
			if err != nil || data == nil {
				return false, err
			}
			// Newest first, a page may end anywhere but between a call and its results.
			if size += len(data); size > transcriptBytes && len(page.Messages) > 0 && !(prepend && i+1 < len(said) && said[i+1].Role == string(message.RoleToolResult)) {
				return true, nil
			}
			page.Messages = append(page.Messages, data)
			return false, nil
		}
		if after != "" && !page.Moved {
			for i := lo; i < hi; i++ {
				if full, err := put(i, false); err != nil {
					return err
				} else if full {
					break
				}
			}
		} else {
			for i := hi - 1; i >= lo; i-- {
				full, err := put(i, true)
				if err != nil {
					return err
				}
				if full {
					page.From = i + 1
					break
				}
			}
			slices.Reverse(page.Messages)
		}
		write(w, r, http.StatusOK, page)
		return nil
	})
}

// saidOn picks the entries of a branch that people read, and says which of them
// the model is shown otherwise: removed or replaced.
func saidOn(log *session.Session, branch []session.Entry) (said []session.Entry, edits map[session.ID]string) {
	edits = map[session.ID]string{}
	for _, e := range branch {
		switch e.Type {
		case session.TypeMessage:
			if e.Role != string(message.RoleSystem) {
				said = append(said, e)
			}
		case session.TypeCustomMessage, session.TypeBranchSummary, session.TypeCompaction:
			said = append(said, e)
		case session.TypeContextEdit:
			p, err := log.Decode(e)
			if edit, ok := p.(session.ContextEdit); ok && err == nil {
				edits[edit.TargetID] = "removed"
				if edit.Replacement != nil {
					edits[edit.TargetID] = "replaced"
				}
			}
		}
	}
	return said, edits
}

// saidBy is the message of an entry; nil where it has none that can be read.
func saidBy(log *session.Session, e session.Entry) (message.Message, error) {
	p, err := log.Decode(e)
	if errors.Is(err, session.ErrDamaged) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var at int64
	if t := e.Time(); !t.IsZero() {
		at = t.UnixMilli()
	}
	switch p := p.(type) {
	case session.MessagePayload:
		return p.Message, nil
	case session.CustomMessage:
		return &message.Custom{CustomType: p.CustomType, Content: p.Content, Display: p.Display, Details: p.Details, Timestamp: at}, nil
	case session.BranchSummary:
		return &message.BranchSummary{Summary: p.Summary, FromID: string(p.FromID), Timestamp: at}, nil
	case session.Compaction:
		return &message.CompactionSummary{Summary: p.Summary, TokensBefore: p.TokensBefore, Timestamp: at}, nil
	}
	return nil, nil
}
