package server

import (
	"context"
	"crypto/sha256"
	"slices"
	"strings"
	"sync"
)

// listVersions count the changes of each user's list of sessions: which there are,
// and their names. Reading a session, or talking in it, is none.
type listVersions struct {
	mu     sync.Mutex
	byUser map[string]listVersion
}

type listVersion struct {
	sum [sha256.Size]byte
	n   int64
}

// version is the number of a user's list as it is now. A program that keeps a list
// reads it anew when the number is another one. The numbers go up, over restarts
// of the server, too.
func (s *Server) version(ctx context.Context, all []*target) int64 {
	lines := make([]string, 0, len(all))
	for _, t := range all {
		lines = append(lines, t.key+"\x00"+s.item(t).Name+"\n")
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	user := whoOf(ctx).name
	s.listed.mu.Lock()
	defer s.listed.mu.Unlock()
	v, known := s.listed.byUser[user]
	if !known || v.sum != sum {
		v = listVersion{sum, max(v.n+1, s.cfg.Now().UnixMilli()-idEpoch.UnixMilli())}
		if s.listed.byUser == nil {
			s.listed.byUser = map[string]listVersion{}
		}
		s.listed.byUser[user] = v
	}
	return v.n
}
