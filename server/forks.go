package server

import (
	"context"
	"errors"
	"net/http"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/wrapper"
)

// forked is a session that was made of another.
type forked struct {
	SessionID string      `json:"sessionId"`
	CWD       string      `json:"cwd"`
	Entries   int         `json:"entries"`
	Text      string      `json:"text,omitempty"` // of the message that it leaves out, to be written anew
	Kind      policy.Kind `json:"kind"`
	Tools     []string    `json:"tools"`
}

// makeFork makes a new session of one: the branch that it is on, the path to an
// entry, or everything. The fork may do what the session may, and never more.
func (s *Server) makeFork(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	o := piweb.ForkOptions{At: session.ID(f.optional("entryId")), Before: f.flag("before")}
	all, cwd := f.flag("all"), f.optional("cwd")
	if all && o.At != "" {
		f.bad("all")
	}
	if o.Before && o.At == "" {
		f.bad("before")
	}
	t, err := s.lookup(r.Context(), args["id"])
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	if cwd != "" {
		if o.CWD, err = s.folder(cwd, "cwd"); err != nil {
			return err
		}
	}
	ctx, cancel := sending(r)
	defer cancel()
	fork := s.rt.Fork
	if o.At == "" && !all {
		fork = s.rt.Clone
	}
	made, err := fork(ctx, t.pathOf(), o)
	if errors.Is(err, session.ErrNoFile) {
		return refuse(http.StatusConflict, "NOTHING_TO_FORK", "The session has no message yet, so there is nothing to fork. Start a new one instead.")
	}
	if err != nil {
		return err
	}
	id, err := s.idOf(ctx, made.Path, made.ID)
	if err != nil {
		return err
	}
	write(w, r, http.StatusCreated, forked{id, made.CWD, made.Entries, made.Text, made.Policy.Kind, append([]string{}, made.Policy.Tools...)})
	return nil
}

// idOf is a file's id as clients know it: a copy shares its own with its source.
func (s *Server) idOf(ctx context.Context, path, id string) (string, error) {
	all, err := s.targets(ctx)
	if err != nil {
		return "", err
	}
	for _, t := range all {
		if t.key == keyOf(path) {
			return t.wireID, nil
		}
	}
	return id, nil // it lies outside the folder that is listed
}

// forkSession is the client's way to write a message anew: the conversation goes
// on in front of it, in the same session, whose id stays. What came after it stays
// in the file, on its own branch.
func (s *Server) forkSession(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	at := f.str("entryId")
	if at == "" {
		f.bad("entryId")
	}
	t, err := s.lookup(r.Context(), args["id"])
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	return s.use(r.Context(), t.wireID, func(st *started) error {
		n, err := st.s.Navigate(context.WithoutCancel(r.Context()), session.ID(at), wrapper.NavigateOptions{})
		if err != nil {
			return err
		}
		write(w, r, http.StatusOK, struct {
			Text      string     `json:"text,omitempty"`
			Cancelled bool       `json:"cancelled"`
			SessionID string     `json:"sessionId"`
			Leaf      session.ID `json:"leafId"`
		}{n.Text, false, t.wireID, n.Leaf})
		return nil
	})
}

// forkMessage is a message that can be written anew.
type forkMessage struct {
	EntryID session.ID `json:"entryId"`
	Text    string     `json:"text"`
}

// getForkMessages lists what the user said on the branch that the session is on.
func (s *Server) getForkMessages(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	return s.reading(r, args["id"], func(_ *target, log *session.Session) error {
		branch, err := log.Branch(log.Leaf())
		if err != nil {
			return err
		}
		list := []forkMessage{}
		for _, e := range branch.Entries {
			if e.Role != string(message.RoleUser) {
				continue
			}
			p, err := log.Decode(e)
			if err != nil {
				continue // damaged: it cannot be written anew
			}
			m, _ := p.(session.MessagePayload)
			if text := message.ContentOf(m.Message).PlainText(); text != "" {
				list = append(list, forkMessage{e.ID, text})
			}
		}
		write(w, r, http.StatusOK, struct {
			Messages []forkMessage `json:"messages"`
		}{list})
		return nil
	})
}
