package piweb

import (
	"github.com/piweb-go/piweb/account"
	"github.com/piweb-go/piweb/wrapper"
)

// Owners knows which session is whose, where a program serves several users. What
// a session makes belongs to whom the session belongs: subagents, forks, memories.
func (r *Runtime) Owners() *account.Owners { return r.owners }

// OwnerOf is the owner of the session of a file, "" for nobody's.
func (r *Runtime) OwnerOf(path string) (string, error) { return r.host.ownerOf(path) }

func (h *host) ownerOf(path string) (string, error) {
	key, err := wrapper.RealPath(path)
	if err != nil {
		return "", err
	}
	return h.owners.Of(key)
}

// inherit gives a session that another one made to the other one's owner.
func (r *Runtime) inherit(from, to string) error {
	owner, err := r.OwnerOf(from)
	if err != nil || owner == "" {
		return err
	}
	key, err := wrapper.RealPath(to)
	if err != nil {
		return err
	}
	return r.owners.Set(key, owner)
}

// real is a path without links, or the path where that cannot be said.
func real(path string) string {
	if key, err := wrapper.RealPath(path); err == nil {
		return key
	}
	return path
}
