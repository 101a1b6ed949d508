package server

import (
	"context"
	"math"
	"net/http"
	"slices"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/server/wire"
	"github.com/piweb-go/piweb/wrapper"
)

// What is said while a session runs, and the questions of running calls.

// say hands a message to a session. Without a behaviour a running session
// refuses; with one the message waits for its place in the run.
func say(ctx context.Context, s *piweb.Session, behaviour string, in piweb.Input) (*wrapper.Turn, error) {
	switch behaviour {
	case "steer":
		return s.Steer(ctx, in)
	case "followUp":
		return s.FollowUp(ctx, in)
	}
	return s.Prompt(ctx, in)
}

// answered is called for a command that led to no prompt, with the number of its
// first event. The pages that sent it opened a stream for a turn, and where none
// begins they get a lone end.
func (f *feed) answered(seq uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch f.catchUp(); {
	case f.dead:
	case f.idleEnd == seq:
		f.finish()
	case f.pos <= seq:
		f.awaited = append(f.awaited, seq)
	}
}

// noteEnd looks for ends of prompts that were no turns. It is called under mu,
// before the event is translated.
func (f *feed) noteEnd(e wrapper.Event) {
	if e.Type != wrapper.PromptDone || f.tr.Running() {
		return
	}
	f.idleEnd = e.Seq
	if slices.Contains(f.awaited, e.Seq) {
		f.finish()
	}
	f.awaited = slices.DeleteFunc(f.awaited, func(seq uint64) bool { return seq <= e.Seq })
}

func (f *feed) finish() { f.add([]wire.Frame{{Chunk: &wire.Chunk{Type: wire.Finish}}}) }

func (s *Server) steer(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	return s.queueMessage(w, r, args["id"], "steer")
}

func (s *Server) followUp(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	return s.queueMessage(w, r, args["id"], "followUp")
}

func (s *Server) queueMessage(w http.ResponseWriter, r *http.Request, id, behaviour string) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	text := f.str("message")
	images := f.objects("images")
	attached := f.list("attachmentIds")
	entry := f.entry("entryId")
	if err := f.check(); err != nil {
		return err
	}
	in := piweb.Input{Text: text, ID: entry}
	if attached != nil {
		in.Attachments = *attached
	}
	if len(images) > 0 && len(images) > len(in.Attachments) {
		return invalid("Pictures cannot wait for a run. Send them when the session is idle.", "images")
	}
	ctx, cancel := sending(r)
	defer cancel()
	err = s.use(ctx, id, func(st *started) error {
		_, err := say(ctx, st.s, behaviour, in)
		return err
	})
	if err != nil {
		return err
	}
	write(w, r, http.StatusOK, okay{true})
	return nil
}

// clearQueue takes back what waits, or one message of it, and answers with what was
// taken back. A session that is not live has nothing that waits.
func (s *Server) clearQueue(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	line := f.choice("line", "steering", "followUp")
	at, text := f.number("index"), f.optional("text")
	if f.has("line") != (at != nil) || at != nil && (*at < 0 || *at != math.Trunc(*at) || *at > 1<<20) {
		f.bad("index")
	}
	t, err := s.lookup(r.Context(), args["id"])
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	waiting := agent.Waiting{Steering: []string{}, FollowUp: []string{}}
	switch {
	case at == nil && t.live != nil:
		waiting = t.live.ClearQueue()
	case at != nil && t.live == nil:
		return wrapper.ErrTakenIn
	case at != nil:
		if err := t.live.TakeBack(line == "followUp", int(*at), text); err != nil {
			return err
		}
		if line == "followUp" {
			waiting.FollowUp = []string{text}
		} else {
			waiting.Steering = []string{text}
		}
	}
	write(w, r, http.StatusOK, waiting)
	return nil
}

// answerAsk takes a person's answer to a call that waits. The client knows three
// forms: confirmed, cancelled, and a value, which is a yes if it says so.
func (s *Server) answerAsk(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	f.choice("type", "extension_ui_response")
	id := f.str("id")
	confirmed, cancelled, value := f.flag("confirmed"), f.flag("cancelled"), f.optional("value")
	if id == "" {
		f.bad("id")
	}
	t, err := s.lookup(r.Context(), args["id"])
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	allow := !cancelled && (confirmed || value == "yes" || value == "true")
	if t.live == nil {
		return wrapper.ErrNoAsk
	}
	if err := t.live.Answer(id, allow); err != nil {
		return err
	}
	write(w, r, http.StatusOK, okay{true})
	return nil
}

// present tells the session whether somebody is there who could answer. It is
// called under the feed's mu.
func (f *feed) present() {
	there := len(f.readers) > 0 && f.src != nil && !f.dead
	switch {
	case there && f.leave == nil:
		f.leave = f.src.attend()
	case !there && f.leave != nil:
		f.leave()
		f.leave = nil
	}
}

func (l live) attend() func() { return l.s.Attend() }

// awaitsInput tells whether a live session waits for an answer.
func awaitsInput(s *piweb.Session) bool { return s != nil && len(s.Asks()) > 0 }
