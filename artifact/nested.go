package artifact

import (
	"fmt"
	"strconv"
)

// NewAgent reserves the id of a subagent's output. The name is what somebody asked
// for and is cleaned; parent is the id of the subagent that starts this one, or "".
// The index is used once, whatever becomes of the subagent, also by other
// processes, after a restart and in a fork.
//
// The output of a subagent's subagent belongs to more than one session: above are
// the stores of the sessions over this one, and the index is free in each of them.
func (s *Store) NewAgent(parent AgentID, name string, above ...*Store) (AgentID, error) {
	prefix := ""
	if parent != "" {
		if err := parent.check(); err != nil {
			return "", err
		}
		prefix = string(parent) + "."
	}
	n, err := s.index(agents(prefix), above)
	if err != nil {
		return "", err
	}
	// A third of what is left, so that those below it have names too.
	room := min(maxAgentName, (maxAgentID-len(prefix)-len(n)-1)/3)
	if room < 1 {
		return "", fmt.Errorf("%w: %s is so long that nothing below it can have an id", ErrURL, parent)
	}
	name = cleanName(name, room, "agent")
	return AgentID(prefix + n + "-" + name[:min(len(name), room)]), nil
}

// index reserves one that is free here and in the stores above.
func (s *Store) index(sc scope, above []*Store) (string, error) {
	folders := make([]*folder, 0, 1+len(above))
	defer func() {
		for _, f := range folders {
			f.close()
		}
	}()
	for _, one := range append([]*Store{s}, above...) {
		f, err := one.make()
		if err != nil {
			return "", err
		}
		folders = append(folders, f)
	}
	var least int64
	for range maxTries {
		n, err := s.reserve(folders[0], sc, least)
		if err != nil {
			return "", err
		}
		number, _ := ID(n).number()
		free := true
		for i, a := range above {
			if free, least, err = a.claim(folders[1+i], sc, number); err != nil {
				return "", err
			}
			if !free {
				break
			}
		}
		if free {
			return n, nil
		}
	}
	return "", fmt.Errorf("reserve an id in %s: %s are taken in a row above it; look what fills the folders", s.path, strconv.Itoa(maxTries))
}
