package wrapper

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/resource"
)

// skillPrefix begins the name of the command that stands for a skill.
const skillPrefix = "skill:"

// expand turns what a user typed into what is sent, once: a command of an
// extension is run, a skill or a template is put in its place. What comes out is
// never looked at again. send is false where nothing is left to send. It is called
// under mu, with an engine.
//
// Where names clash, pi's order decides: extensions, skills, templates.
func (s *Session) expand(ctx context.Context, text string) (out string, send bool, err error) {
	name, args, ok := resource.Slash(text)
	if !ok {
		return text, true, nil
	}
	if name == reloadCommand && strings.TrimSpace(args) == "" {
		return "", false, s.reload(ctx)
	}
	l := s.engine.loadout
	if c, by, ok := l.x.command(name); ok {
		return s.run(ctx, c, by, strings.TrimSpace(args))
	}
	if name, ok := strings.CutPrefix(name, skillPrefix); ok {
		if i := slices.IndexFunc(l.Resources.Skills, func(k resource.Skill) bool { return resource.SameSpelling(k.Name, name) }); i >= 0 {
			return l.Resources.Skills[i].Expand(args), true, nil
		}
	}
	if i := slices.IndexFunc(l.Resources.Templates, func(t resource.Template) bool { return resource.SameSpelling(t.Name, name) }); i >= 0 {
		out = l.Resources.Templates[i].Expand(args)
		if strings.TrimSpace(out) == "" {
			return "", false, fmt.Errorf("%w: the template /%s comes to nothing with these arguments", ErrEmpty, name)
		}
		return out, true, nil
	}
	return text, true, nil
}

// run runs a command of an extension.
func (s *Session) run(ctx context.Context, c agent.Command, by, args string) (out string, send bool, err error) {
	var r agent.CommandResult
	err = guarded(func() (err error) {
		r, err = c.Run(ctx, args)
		return err
	})
	if err != nil {
		return "", false, fmt.Errorf("/%s of %s: %w", c.Name, by, err)
	}
	if r.Notice != "" {
		s.hub.publish(agent.Event{Type: Notice, Reason: r.Notice})
	}
	return r.Prompt, strings.TrimSpace(r.Prompt) != "", nil
}

// answered is the turn of a command that led to no prompt: it is over.
func (s *Session) answered() *Turn {
	t := &Turn{done: make(chan struct{}), Seq: s.hub.upcoming()}
	close(t.done)
	s.hub.publish(agent.Event{Type: PromptDone})
	return t
}

// CommandInfo is something that can be typed at the start of a prompt.
type CommandInfo struct {
	Name        string // without "/"
	Description string
	Hint        string // what its arguments are, or ""
	Kind        string // "builtin", "extension", "skill" or "template"
	From        string // the extension's name, or the file
}

// Commands lists what can be typed now, sorted by name. Where two have one name,
// the one that would run is listed.
func (s *Session) Commands(ctx context.Context) ([]CommandInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state, _ := s.State(); state == Closed {
		return nil, ErrClosed
	} else if state != Running { // a running session has an engine
		if err := s.ready(ctx); err != nil {
			return nil, err
		}
	}
	return s.engine.loadout.Commands(), nil
}

// Commands lists what can be typed in a session of this loadout.
func (l Loadout) Commands() []CommandInfo {
	out := []CommandInfo{{Name: reloadCommand, Description: "Read files, skills, templates and extensions anew", Kind: "builtin"},
		{Name: compactName, Description: "Sum up earlier messages to make room", Hint: "[what matters]", Kind: "builtin"}}
	add := func(c CommandInfo) {
		if !slices.ContainsFunc(out, func(o CommandInfo) bool { return o.Name == c.Name }) {
			out = append(out, c)
		}
	}
	if l.x != nil {
		for _, x := range l.x.list {
			for _, c := range x.Commands {
				if agent.ValidCommandName(c.Name) {
					add(CommandInfo{c.Name, c.Description, c.Hint, "extension", x.name})
				}
			}
		}
	}
	for _, k := range l.Resources.Skills {
		add(CommandInfo{Name: skillPrefix + k.Name, Description: k.Description, Kind: "skill", From: k.Path})
	}
	for _, t := range l.Resources.Templates {
		add(CommandInfo{t.Name, t.Description, t.Hint, "template", t.Path})
	}
	slices.SortFunc(out, func(a, b CommandInfo) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
