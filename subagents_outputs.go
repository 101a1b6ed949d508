package piweb

import (
	"errors"
	"strings"

	"github.com/piweb-go/piweb/artifact"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/subagent"
)

// The answer of a child lies beside its parent, and where the parent is a child
// itself, beside those over it too: each session reads what lies beside it and
// nothing else, and a fork or a move of it takes the answer along. The address says
// who has it: agent://0-lead.1-scout is kept by the session that started 0-lead, and
// by 0-lead (oh-my-pi 13 wrote it in one place and looked in another,
// can1357/oh-my-pi#4650).

// keepers are the stores that keep the answers of a session's children, its own
// first, and the id that theirs begin with, "" for a session that is no child.
func (n *nursery) keepers(parent string) (own *artifact.Store, above []*artifact.Store, id artifact.AgentID) {
	own = artifact.New(parent, artifact.Options{})
	owner, err := n.rt.OwnerOf(parent)
	if err != nil {
		return own, nil, ""
	}
	levels, seen := 0, map[string]bool{}
	for path := parent; ; {
		seen[path] = true
		run, ok := n.childAt(path)
		if !ok {
			return own, above, id
		}
		if levels == 0 {
			name, _ := strings.CutPrefix(run.Address, "agent://")
			if id = artifact.AgentID(name); id == "" {
				return own, nil, "" // it was made before children had addresses
			}
			levels = id.Levels()
		}
		if len(above) == levels {
			return own, above, id
		}
		path = run.ParentPath
		if h, err := session.ReadHeader(path); err != nil || h.ID != run.ParentID || seen[path] {
			return own, above, id // the parent is gone; what is left is complete in itself
		}
		if whose, err := n.rt.OwnerOf(path); err != nil || whose != owner {
			return own, above, id // a file can say what it likes of its parent
		}
		above = append(above, artifact.New(path, artifact.Options{}))
	}
}

// childAt is the child of a file. Only a file whose header names a parent is read
// further.
func (n *nursery) childAt(path string) (run subagent.Run, ok bool) {
	if h, err := session.ReadHeader(path); err != nil || h.ParentSession == "" {
		return run, false
	}
	err := n.Look(path, func(v subagent.View) (err error) {
		run, ok, err = subagent.ReadRun(v)
		return err
	})
	return run, ok && err == nil
}

func (n *nursery) NameOutput(parent, name string) (string, error) {
	own, above, id := n.keepers(parent)
	given, err := own.NewAgent(id, name, above...)
	if err != nil {
		return "", err
	}
	return given.URL(), nil
}

func (n *nursery) KeepOutput(parent, url, text string) error {
	name, _ := strings.CutPrefix(url, "agent://")
	out := artifact.AgentOutput{Text: text, Result: artifact.Structured(text)}
	own, above, _ := n.keepers(parent)
	_, err := own.SaveAgent(artifact.AgentID(name), out)
	if err != nil {
		return err
	}
	// The parent has it. Whoever is over the parent asks for it rarely, and finds a
	// list of what there is; a full disk there must not lose what is here.
	var errs []error
	for _, s := range above {
		_, err := s.SaveAgent(artifact.AgentID(name), out)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		if s, live := n.rt.registry.Live(parent); live {
			s.Tell("An answer of a subagent is kept here, and not by the sessions above: " + err.Error())
		}
	}
	return nil
}
