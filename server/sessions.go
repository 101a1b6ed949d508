package server

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/toolselect"
	"github.com/piweb-go/piweb/wrapper"
)

// sendTime is how long a send may take until the session has taken it. It reads
// texts, opens a model and syncs a file; it does not wait for an answer.
const sendTime = 2 * time.Minute

func sending(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.Context(), sendTime)
}

type created struct {
	SessionID string `json:"sessionId"`
}

// createSession starts a session in a folder, or one that exists.
func (s *Server) createSession(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	source, cwd, resume := f.str("source"), f.optional("cwd"), f.optional("resumeId")
	o := piweb.OpenOptions{Model: f.optional("model"), Tools: f.list("tools")}
	f.flag("trust") // how far a project is trusted is said by the user's settings
	if err := f.check(); err != nil {
		return err
	}
	if o.Tools != nil {
		if _, err := toolselect.Pin(*o.Tools...); err != nil {
			return err
		}
	}
	ctx, cancel := sending(r)
	defer cancel()
	if resume != "" {
		return s.resume(ctx, w, r, resume, cwd, o)
	}
	folder, field := source, "source"
	if cwd != "" {
		folder, field = cwd, "cwd"
	}
	if folder, err = s.folder(folder, field); err != nil {
		return err
	}
	ls, err := s.rt.Create(ctx, folder, o)
	if err != nil {
		return err
	}
	if err := s.own(ctx, ls.Log().Path()); err != nil {
		return errors.Join(err, s.rt.Release(ls))
	}
	s.feeds.follow(keyOf(ls.Log().Path()), live{ls}, false)
	write(w, r, http.StatusCreated, created{ls.ID()})
	return nil
}

// folder checks a folder that a client names; "" is the server's own.
func (s *Server) folder(name, field string) (string, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.cfg.DefaultCWD, name)
	}
	if strings.ContainsRune(name, 0) {
		return "", invalid("The folder's name has a zero byte.", field)
	}
	if st, err := os.Stat(name); err != nil || !st.IsDir() {
		return "", invalid("There is no folder "+name+". Name one that exists.", field)
	}
	return name, nil
}

// resume starts a session that exists. One that is live stays as it is.
func (s *Server) resume(ctx context.Context, w http.ResponseWriter, r *http.Request, name, cwd string, o piweb.OpenOptions) error {
	t, err := s.lookup(ctx, name)
	if err != nil {
		return err
	}
	if t.live != nil && o.Tools != nil {
		if p, _ := t.live.Policy(); !slices.Equal(p.Tools, *o.Tools) || len(p.Tools) == 0 && p.Kind != policy.ChatOnly {
			return refuse(http.StatusConflict, "TOOLS_OVERRULED", "The session runs already and has other tools. Change them with PUT …/tools.")
		}
	}
	if t.live == nil {
		if cwd != "" {
			if o.CWD, err = s.folder(cwd, "cwd"); err != nil {
				return err
			}
		}
		ls, err := s.rt.Open(ctx, t.path, o)
		if err != nil {
			return err
		}
		s.feeds.follow(t.key, live{ls}, false)
	}
	write(w, r, http.StatusCreated, created{t.wireID})
	return nil
}

// stopSession ends a live session; its history stays. One that has no file yet
// is gone then.
func (s *Server) stopSession(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	t, err := s.lookup(r.Context(), args["id"])
	if err != nil {
		return err
	}
	if t.live == nil {
		return refuse(http.StatusNotFound, "SESSION_NOT_FOUND", "The session is not live, so there is nothing to stop. Its history stays.")
	}
	if err := s.stop(t, "stopped", "The session was stopped."); err != nil {
		return err
	}
	write(w, r, http.StatusOK, okay{true})
	return nil
}

// stop ends a live session and tells its readers why.
func (s *Server) stop(t *target, code, text string) error {
	f := s.feeds.peek(t.key)
	if f != nil {
		f.ending(code, text)
	}
	if err := s.rt.Release(t.live); err != nil {
		return err
	}
	if f != nil {
		f.settle()
		s.feeds.forget(t.key, f)
	}
	return nil
}

// started is a session that a send may use, and its feed, which follows it until
// done is called.
type started struct {
	*target
	s    *piweb.Session
	feed *feed
}

func (st *started) done() { st.feed.unhold() }

// start finds a session and starts it where it is not live.
func (s *Server) start(ctx context.Context, name string) (*started, error) {
	t, err := s.lookup(ctx, name)
	if err != nil {
		return nil, err
	}
	ls := t.live
	if ls == nil {
		if ls, err = s.rt.Open(ctx, t.path, piweb.OpenOptions{}); err != nil {
			return nil, err
		}
	}
	f := s.feeds.follow(t.key, live{ls}, true)
	if f == nil {
		return nil, wrapper.ErrShutdown
	}
	return &started{t, ls, f}, nil
}

// use does something with a started session. A session that was closed in the
// same moment, for being idle, is started once more.
func (s *Server) use(ctx context.Context, name string, do func(st *started) error) error {
	for again := false; ; again = true {
		st, err := s.start(ctx, name)
		if err != nil {
			return err
		}
		err = do(st)
		st.done()
		if !errors.Is(err, wrapper.ErrClosed) || again {
			return err
		}
	}
}

// sendMessage hands a prompt to a session. It answers when the prompt is durable
// and runs.
func (s *Server) sendMessage(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	text := f.str("message")
	behaviour := f.choice("streamingBehavior", "steer", "followUp")
	images := f.objects("images")
	for i, o := range images {
		o.choice("type", "image")
		o.str("type")
		o.str("data")
		o.str("mimeType")
		f.adopt("images", i, o)
	}
	attached := f.list("attachmentIds")
	entry := f.entry("entryId")
	if err := f.check(); err != nil {
		return err
	}
	in := piweb.Input{Text: text, ID: entry}
	if attached != nil {
		in.Attachments = *attached
	}
	ctx, cancel := sending(r)
	defer cancel()
	err = s.use(ctx, args["id"], func(st *started) error {
		var err error
		if in.Images, err = admitPictures(ctx, st.s, images); err != nil {
			return err
		}
		turn, err := say(ctx, st.s, behaviour, in)
		if err == nil && behaviour == "" && turn.Entry == "" {
			st.feed.answered(turn.Seq)
		}
		return err
	})
	if err != nil {
		return err
	}
	write(w, r, http.StatusOK, okay{true})
	return nil
}

// abortSession stops the running turn, if there is one.
func (s *Server) abortSession(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	if _, err := readForm(w, r); err != nil {
		return err
	}
	t, err := s.lookup(r.Context(), args["id"])
	if err != nil {
		return err
	}
	if t.live != nil {
		t.live.Abort()
	}
	write(w, r, http.StatusOK, okay{true})
	return nil
}

// maxName is how long a name may be, in characters.
const maxName = 200

func (s *Server) renameSession(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	id, name := f.str("sessionId"), strings.TrimSpace(f.str("name"))
	switch {
	case id == "" || slices.Contains(f.wrong, "sessionId"):
		return badQuery("sessionId", "sessionId must say which session is meant.")
	case name == "" || len([]rune(name)) > maxName:
		return badQuery("name", "name must have between 1 and 200 characters.")
	}
	ctx, cancel := sending(r)
	defer cancel()
	return s.use(ctx, id, func(st *started) error {
		if err := st.s.SetName(ctx, name); err != nil {
			return err
		}
		write(w, r, http.StatusOK, struct {
			SessionID string `json:"sessionId"`
			Name      string `json:"name"`
		}{st.wireID, name})
		return nil
	})
}

func (s *Server) makeDemo(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	if _, err := readForm(w, r); err != nil {
		return err
	}
	d, err := s.cfg.Demo(r.Context())
	if err != nil {
		return err
	}
	d.Sessions = append([]string{}, d.Sessions...)
	write(w, r, http.StatusCreated, d)
	return nil
}
