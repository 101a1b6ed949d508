package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/piweb-go/piweb/media"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

// A provider that refuses one picture refuses the whole request, and every later
// one that repeats it. So the loop finds out which picture it is, and the session
// goes on without it.
//
// Suspects are the pictures of the refused request that no answered request has
// carried. They are left out one at a time, the newest first, until the provider
// answers; what was left out then is taken out of the context by an edit of its
// entry, for good and for other programs, too. The entry itself stays.

// maxSuspects is how many pictures are tried one by one. After that all suspects
// are left out together: a session that goes on is worth more than a picture.
const maxSuspects = 8

// smallRequest is a size of pictures below which a request is not too large
// because of them, in characters of base64.
const smallRequest = 64 << 10

// spared is what the loop has learned from refusals.
type spared struct {
	proven map[string]bool // pictures of requests that were answered
	held   []string        // pictures that are left out for the moment
	tried  []string        // suspects that were left out in vain
	all    bool            // all suspects are left out
	cuts   int             // how often the budget was cut
}

func (s *spared) withheld(key string) bool { return slices.Contains(s.held, key) }

// forget ends a search.
func (s *spared) forget() { s.held, s.tried, s.all = nil, nil, false }

// spare decides whether a refused request is sent again with other pictures, and
// settles what an answer has shown.
func (r *run) spare(ctx context.Context, t turned) (bool, error) {
	l := r.l
	if t.failure == nil {
		return false, l.settlePictures()
	}
	var refusal *RequestError
	if ctx.Err() != nil || !errors.As(t.failure, &refusal) {
		return false, nil
	}
	why := l.learn(media.FaultOf(refusal.Status, refusal.Message))
	if why == "" {
		l.spared.forget()
		return false, nil
	}
	r.attempt++
	yes := true
	l.cfg.Emit(Event{Type: AgentEnd, WillRetry: &yes})
	l.cfg.Emit(Event{Type: AutoRetryStart, Attempt: r.attempt, MaxAttempts: max(r.attempt, l.cfg.Retry.Max), ErrorMessage: fmt.Sprintf("%v; trying again %s", t.failure, why)})
	if err := l.drop(t); err != nil {
		return false, err
	}
	l.cfg.Emit(Event{Type: AgentStart})
	return true, nil
}

// learn changes what the next request carries. It says in words how, or "" where
// the pictures are not to blame, or nothing is left to try.
func (l *Loop) learn(f media.Fault) string {
	total := 0
	for _, p := range l.sent.Placed {
		total += p.Base64
	}
	switch {
	case total == 0 && len(l.spared.held) == 0:
		return ""
	case f == media.BadImage:
		return l.nextSuspect()
	case f == media.NotInTool && l.eyes.Delivery == media.Native:
		l.eyes.Delivery = media.Lift
		return "with the pictures behind the results"
	case f == media.BlindOnes && l.eyes.Sees:
		l.eyes.Sees = false
		return "without pictures, because the model takes none"
	case f == media.TooMuch && total > smallRequest && l.spared.cuts < maxSuspects:
		l.spared.cuts++
		l.eyes.Budget.Base64 = total / 2
		return "with fewer pictures"
	}
	return ""
}

// nextSuspect leaves out another picture than before.
func (l *Loop) nextSuspect() string {
	s := &l.spared
	if s.all {
		return "" // without all suspects it was refused as well
	}
	s.tried = append(s.tried, s.held...)
	var suspects []string
	for _, onlyNew := range []bool{true, false} {
		for _, p := range slices.Backward(l.sent.Placed) {
			if !slices.Contains(suspects, p.Key) && !(onlyNew && s.proven[p.Key]) {
				suspects = append(suspects, p.Key)
			}
		}
		if suspects = append(suspects, s.held...); len(suspects) > 0 {
			break
		}
	}
	if len(s.tried) < maxSuspects {
		for _, key := range suspects {
			if !slices.Contains(s.tried, key) {
				s.held = []string{key}
				return "without the picture that may be meant"
			}
		}
	}
	if len(suspects) < 2 {
		return "" // the only one was tried
	}
	s.held, s.all = suspects, true
	return "without the pictures that may be meant"
}

// settlePictures notes that an answer came: the pictures that went out are good,
// and those that were left out are not.
func (l *Loop) settlePictures() error {
	s := &l.spared
	for _, p := range l.sent.Placed {
		s.proven[p.Key] = true
	}
	held := s.held
	s.forget()
	if len(held) == 0 {
		return nil
	}
	c, err := l.cfg.Transcript.Context()
	if err != nil {
		return err
	}
	var edits []session.Payload
	for i, m := range c.Messages {
		content, changed := l.without(message.ContentOf(m), held)
		if !changed {
			continue
		}
		data, err := message.Marshal(content)
		if err != nil {
			return err
		}
		edits = append(edits, session.ContextEdit{TargetID: c.Sources[i], Replacement: &session.Replacement{Content: data}})
	}
	if _, err := l.cfg.Transcript.Append(edits...); err != nil {
		return fmt.Errorf("take a refused picture out of the context: %w", err)
	}
	return nil
}

// without replaces pictures by the note that they were refused.
func (l *Loop) without(content message.Content, keys []string) (message.Content, bool) {
	out, changed := slices.Clone(content), false
	for i, b := range out {
		if b.Type == message.TypeImage && slices.Contains(keys, l.pictures.Admitter.Key(b.Data)) {
			out[i], changed = message.Text(media.RefusedNote("a picture of this message")), true
		}
	}
	return out, changed
}
