package server

import (
	"sort"

	"github.com/piweb-go/piweb/server/wire"
)

// reader is one stream's place in a feed. It is used by one goroutine.
type reader struct {
	f       *feed
	own     bool     // gets piweb's own controls
	prelude []record // comes before anything of the log
	cursor  int      // index of the next record
	live    int      // records before it are a replay: their sticky controls are old
	gap     int      // number of a turn of which it gets only the end and the last answer
}

// attach adds a reader. It first gets the sticky controls, then the chunks of the
// running turn from its start, or from behind lastID where that lies inside the
// turn. Of a turn that has ended it gets nothing, except where nobody listened to
// that turn. lastID is negative where the reader names none. A dead feed gives
// none.
func (f *feed) attach(lastID int64, own bool) (*reader, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.catchUp(); f.dead {
		return nil, false
	}
	if lastID >= f.nextID {
		f.renumber(lastID)
	}
	r := &reader{f: f, own: own, cursor: f.tail(), live: f.tail()}
	frames := append(f.backlog(), f.tr.Sticky()...)
	if f.boards != nil {
		frames = append(frames, f.boards.of(f.key)...)
	}
	if t := f.turn; t.running || t.n > 0 && !t.seen && lastID < t.firstID {
		r.cursor = max(t.first, f.base)
		switch {
		case t.running && lastID >= t.firstID && f.has(lastID):
			r.cursor = f.after(lastID)
		case f.missing():
			r.gap = t.n
			frames = append(frames, wire.Opening()...)
		}
		f.turn.seen = true
	}
	r.prelude = f.prelude(r.cursor, lastID, frames)
	f.readers[r] = struct{}{}
	f.present()
	f.startPump()
	return r, true
}

// missing tells whether frames of the newest turn are gone from the log.
func (f *feed) missing() bool { return f.turn.truncated || f.turn.first < f.base }

// has tells whether everything behind an id is still in the log.
func (f *feed) has(id int64) bool {
	return len(f.log) == 0 || id >= f.log[0].id-stride
}

// after is the index of the first record behind an id.
func (f *feed) after(id int64) int {
	return f.base + sort.Search(len(f.log), func(i int) bool { return f.log[i].id > id })
}

// prelude gives frames ids between what a reader had and what it gets next.
func (f *feed) prelude(cursor int, lastID int64, frames []wire.Frame) []record {
	next := f.nextID
	if i := cursor - f.base; i < len(f.log) {
		next = f.log[i].id
	}
	at := max(next-stride, lastID)
	var records []record
	for _, fr := range frames {
		data, err := fr.MarshalJSON()
		if err != nil {
			continue // they are made of plain values
		}
		at = min(at+1, next-1)
		records = append(records, record{id: at, kind: fr.Kind(), data: data})
	}
	return records
}

// renumber moves the ids behind one that a reader has from somewhere else, such
// as from before the clock was set back.
func (f *feed) renumber(lastID int64) {
	f.nextID = (lastID/stride + 2) * stride
	for i := range f.log {
		f.log[i].id = f.nextID
		if f.base+i == f.turn.first {
			f.turn.firstID = f.nextID
		}
		f.nextID += stride
	}
}

// next returns what is there for the reader, at most about max bytes. Where there
// is nothing it returns a channel that is closed when there may be.
func (r *reader) next(limit int) ([]record, <-chan struct{}, error) {
	f := r.f
	f.mu.Lock()
	defer f.mu.Unlock()
	batch, size := r.prelude, 0
	r.prelude = nil
	if r.cursor < f.base {
		return nil, nil, errSlow
	}
	from := r.cursor
	for ; r.cursor < f.tail() && size < limit; r.cursor++ {
		rec := f.log[r.cursor-f.base]
		if r.wants(&rec) {
			batch = append(batch, rec)
			size += len(rec.data)
		}
	}
	if r.cursor > from {
		f.reclaim()
	}
	if len(batch) == 0 && f.dead {
		return nil, nil, errEnded
	}
	return batch, f.wake, nil
}

func (r *reader) wants(rec *record) bool {
	switch {
	case rec.gone, rec.own && !r.own:
		return false
	case rec.sticky:
		return r.cursor >= r.live
	case rec.summary:
		return r.gap == rec.turn
	case rec.turn > 0 && rec.turn == r.gap:
		return rec.last
	}
	return true
}

// close takes the reader off.
func (r *reader) close() {
	f := r.f
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.readers, r)
	f.present()
	f.reclaim()
	f.stopPump()
}
