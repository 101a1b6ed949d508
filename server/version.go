package server

import (
	"context"
	"crypto/sha256"
	"slices"
	"strings"
	"sync"
)

// listVersion counts the changes of the list of sessions: which there are, and
// their names. Reading a session, or talking in it, is none.
type listVersion struct {
	mu sync.Mutex
	of map[string]*seenList // by the user's name
}

type seenList struct {
	sum [sha256.Size]byte
	n   int64
}

// version is the number of the list as it is now. A program that keeps a list
// reads it anew when the number is another one. The numbers go up, over restarts
// of the server, too. Each user has an own one: it is of the list that the user sees.
func (s *Server) version(ctx context.Context, all []*target) (int64, error) {
	lines := make([]string, 0, len(all))
	for _, t := range all {
		lines = append(lines, t.key+"\x00"+s.item(t).Name+"\n")
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	s.listed.mu.Lock()
	defer s.listed.mu.Unlock()
	name := whoOf(ctx).name
	v := s.listed.of[name]
	if v == nil {
		v = &seenList{}
		if s.listed.of == nil {
			s.listed.of = map[string]*seenList{}
		}
		s.listed.of[name] = v
	}
	if v.n == 0 || v.sum != sum {
		v.sum, v.n = sum, max(v.n+1, s.cfg.Now().UnixMilli()-idEpoch.UnixMilli())
	}
	return v.n, ctx.Err()
}
