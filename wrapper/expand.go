package wrapper

import (
	"context"
	"fmt"
	"strings"

	"github.com/piweb-go/piweb/agent"
)

// expand turns what a user typed into what is sent, once: a command of an
// extension is run. What comes out is never looked at again. send is false where
// nothing is left to send. It is called under mu, with an engine.
func (s *Session) expand(ctx context.Context, text string) (out string, send bool, err error) {
	name, args, ok := slash(text)
	if !ok {
		return text, true, nil
	}
	if c, by, ok := s.engine.loadout.x.command(name); ok {
		var r agent.CommandResult
		err := guarded(func() (err error) {
			r, err = c.Run(ctx, args)
			return err
		})
		if err != nil {
			return "", false, fmt.Errorf("/%s of %s: %w", name, by, err)
		}
		if r.Notice != "" {
			s.hub.publish(agent.Event{Type: Notice, Reason: r.Notice})
		}
		return r.Prompt, strings.TrimSpace(r.Prompt) != "", nil
	}
	return text, true, nil
}

// slash splits "/name arguments".
func slash(text string) (name, args string, ok bool) {
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return "", "", false
	}
	name, args = rest, ""
	if i := strings.IndexFunc(rest, isSpace); i >= 0 {
		name, args = rest[:i], strings.TrimSpace(rest[i:])
	}
	return name, args, name != ""
}

func isSpace(r rune) bool { return strings.ContainsRune(" \t\r\n", r) }

// answered is the turn of a command that led to no prompt: it is over.
func (s *Session) answered() *Turn {
	t := &Turn{done: make(chan struct{}), Seq: s.hub.upcoming()}
	close(t.done)
	s.hub.publish(agent.Event{Type: PromptDone})
	return t
}
