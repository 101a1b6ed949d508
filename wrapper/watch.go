package wrapper

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/resource"
)

// NewerText is told when files read differently than what the session has.
const NewerText agent.EventType = "newer_text"

// Watching is what a Host may do besides: notice changes of what Resources reads.
type Watching interface {
	// Watch calls changed, from any goroutine and never twice at a time, when
	// something may read differently. stop ends that; changed may still be running
	// when it returns.
	Watch(cwd string, loads policy.Loads, changed func()) (stop func())
}

// watch notices edits for as long as the engine stands. The session keeps what it
// has: a prompt in the middle of an edit must not get half of it.
func (s *Session) watch(p policy.Policy, cwd string) {
	s.tellNewer(nil)
	w, ok := s.host.(Watching)
	if !ok {
		return
	}
	has := fingerprints(s.engine.loadout.Resources)
	ctx, cancel := context.WithCancel(s.life)
	stop := w.Watch(cwd, p.Loads, func() {
		res, err := s.host.Resources(ctx, cwd, p.Loads)
		if err == nil && ctx.Err() == nil {
			s.tellNewer(differences(has, fingerprints(res)))
		}
	})
	s.unwatch = func() {
		cancel()
		stop()
	}
}

// tellNewer notes what reads differently, and tells it once.
func (s *Session) tellNewer(newer []string) {
	s.st.Lock()
	same := slices.Equal(s.newer, newer)
	s.newer = newer
	closed := s.state == Closed
	s.st.Unlock()
	if same || closed || len(newer) == 0 {
		return
	}
	s.hub.publish(agent.Event{Type: NewerText, Reason: "There is newer text on disk: " + strings.Join(newer, ", ") + ". Type /reload to use it."})
}

// fingerprints are the files that resources were read from, with their hashes.
func fingerprints(r Resources) map[string]string {
	out := map[string]string{}
	add := func(f *resource.ContextFile) {
		if f != nil {
			out[f.Path] = f.SHA256
		}
	}
	add(r.System)
	add(r.Append)
	for i := range r.ContextFiles {
		add(&r.ContextFiles[i])
	}
	for _, k := range r.Skills {
		out[k.Path] = k.SHA256
	}
	for _, t := range r.Templates {
		out[t.Path] = t.SHA256
	}
	for _, a := range r.Also {
		out[a.Path] = a.SHA256
	}
	return out
}

// differences says what is new, changed and gone, sorted by path.
func differences(was, now map[string]string) (out []string) {
	all := maps.Clone(was)
	maps.Copy(all, now)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		before, had := was[path]
		after, has := now[path]
		switch {
		case !had:
			out = append(out, fmt.Sprintf("%s (new)", path))
		case !has:
			out = append(out, fmt.Sprintf("%s (gone)", path))
		case before != after:
			out = append(out, fmt.Sprintf("%s (changed)", path))
		}
	}
	return out
}
