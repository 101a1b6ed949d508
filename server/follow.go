package server

import (
	"context"
	"os"

	"github.com/piweb-go/piweb/server/wire"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/wrapper"
)

// followFile tells the readers of a feed when another program wrote to the
// session's file, until ctx ends. What this program writes itself is told by the
// session's own events. Each stream of ours looks; what one of them has told, the
// others do not tell again.
func (s *Server) followFile(ctx context.Context, t *target, f *feed) {
	if t.path == "" {
		return
	}
	session.Watch(ctx, t.path, func() {
		live, ok := s.rt.Live(t.path)
		if !ok {
			f.seeFile(sizeOf(t.path), -1)
			return
		}
		switch state, _ := live.State(); state {
		case wrapper.Closed:
			return
		case wrapper.Running: // what others wrote is told at the end of the turn
			f.passOver(live.Log().Adopted())
			return
		}
		if live.Log().Refresh() == nil { // else the next command says what happened to the file
			f.seeFile(-1, live.Log().Adopted())
		}
	})
}

// seeFile tells of entries of others: by the size of a file that is not live here,
// or by how many a live session has taken over; -1 for what is not known.
func (f *feed) seeFile(size int64, adopted int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	news := size >= 0 && f.fileSize > 0 && size != f.fileSize || adopted > f.adopted && f.fileSize < 0
	f.fileSize, f.adopted = size, adopted
	if news && !f.dead {
		f.add([]wire.Frame{{Control: wire.History{}, Own: true}})
	}
}

// passOver notes that the session is live, and what it took over that needs no
// telling: there may be no further look before another program writes.
func (f *feed) passOver(adopted int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fileSize, f.adopted = -1, adopted
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
