package wrapper

import (
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/toolselect"
)

// at looks at a session from another leaf.
type at struct {
	*session.Session
	leaf session.ID
}

func (a at) Leaf() session.ID { return a.leaf }

// KeepRights is the pin without which going to an entry of a session would allow more
// than is allowed now, because what a branch declares decides; nil where it would not.
// Whoever moves the leaf of a session appends it in the same write.
func KeepRights(log *session.Session, target session.ID, settings policy.Setting) (session.Payload, error) {
	resolve := func(v policy.View) (policy.Policy, error) {
		facts, err := policy.Gather(v)
		facts.Settings = settings
		p, _ := policy.Resolve(facts)
		return p, err
	}
	now, err := resolve(log)
	if err != nil {
		return nil, err
	}
	then, err := resolve(at{log, target})
	if err != nil || policy.Within(then, now) {
		return nil, err
	}
	sel, err := toolselect.Pin(now.Tools...)
	if err != nil {
		return nil, err
	}
	return sel.Payload()
}

// keepRights is KeepRights with the settings of the session's folder.
func (s *Session) keepRights(target session.ID) (session.Payload, error) {
	settings, err := s.host.Settings(s.Folder().Path)
	if err != nil {
		return nil, err
	}
	return KeepRights(s.log, target, settings)
}
