package server

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/piweb-go/piweb/server/wire"
)

// Bounds of what pages share about a session.
const (
	maxSharedKeys     = 64
	maxSharedKey      = 256 // bytes
	maxSharedValue    = 64 << 10
	maxSharedSessions = 256
)

// boards keep what the pages of a session share: small values by name, which every
// page gets when it comes and whenever one changes. They are not written anywhere.
type boards struct {
	now func() time.Time

	mu    sync.Mutex
	all   map[string]*board // by the key of the session
	order []string
	rev   int64
}

// board is what the pages of one session share, in the order of its first use.
type board struct{ values []wire.Shared }

// start is how far revisions are from the beginning: they go up over restarts, too.
func (b *boards) next() int64 {
	b.rev = max(b.rev+1, b.now().UnixMilli()-idEpoch.UnixMilli())
	return b.rev
}

// set notes a value and returns it as it is told; false where there is no room.
func (b *boards) set(session, key string, value json.RawMessage, deleted bool) (wire.Shared, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all == nil {
		b.all = map[string]*board{}
	}
	bd := b.all[session]
	if bd == nil {
		bd = &board{}
		b.all[session] = bd
		if b.order = append(b.order, session); len(b.order) > maxSharedSessions {
			delete(b.all, b.order[0])
			b.order = b.order[1:]
		}
	}
	v := wire.Shared{Key: key, Value: value, Deleted: deleted}
	for i := range bd.values {
		if bd.values[i].Key == key {
			v.Rev = b.next()
			bd.values[i] = v
			return v, true
		}
	}
	if len(bd.values) >= maxSharedKeys {
		return v, false
	}
	v.Rev = b.next()
	bd.values = append(bd.values, v)
	return v, true
}

// of lists the values of a session as frames.
func (b *boards) of(session string) []wire.Frame {
	b.mu.Lock()
	defer b.mu.Unlock()
	var frames []wire.Frame
	if bd := b.all[session]; bd != nil {
		for _, v := range bd.values {
			frames = append(frames, wire.Frame{Control: v})
		}
	}
	return frames
}

// setShared sets or deletes a value that all pages of a session see.
func (s *Server) setShared(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	key, op := f.str("key"), f.choice("op", "set", "delete")
	if key == "" || len(key) > maxSharedKey {
		f.bad("key")
	}
	value := f.fields["value"]
	if len(value) > maxSharedValue {
		f.bad("value")
	}
	t, err := s.lookup(r.Context(), args["id"])
	if err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	if op == "delete" {
		value = nil
	} else if len(value) == 0 {
		value = json.RawMessage("null")
	}
	v, ok := s.boards.set(t.key, key, value, op == "delete")
	if !ok {
		return refuse(http.StatusConflict, "STATE_FULL", "The pages of this session share 64 values already. Take an old name for a new value.")
	}
	if feed := s.feeds.peek(t.key); feed != nil {
		feed.tell(v)
	}
	write(w, r, http.StatusOK, okay{true})
	return nil
}
