package server

import (
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/server/wire"
	"github.com/piweb-go/piweb/wrapper"
)

// stride is the distance between the ids of two frames. The ids between belong to
// what a reader is given when it comes: that must be newer than the frame which
// the reader had last, and older than the one it gets next.
const stride = 128

// overhead is what a frame costs in memory beside its data, roughly.
const overhead = 128

// record is a frame in the log of a feed.
type record struct {
	id      int64
	kind    wire.Kind
	data    []byte
	turn    int    // number of the turn of a chunk; 0 for a control
	prelim  string // the call whose preliminary output it is
	sticky  bool
	own     bool
	summary bool // only for readers that missed a part of the turn
	last    bool // belongs to the end of the turn: error and terminal chunk
	gone    bool // was taken out; its place stays
}

func (r *record) cost() int {
	if r.gone {
		return 0
	}
	return len(r.data) + overhead
}

// mark says where the newest turn is.
type mark struct {
	n         int // counts from 1; 0 for no turn yet
	first     int // index of its first frame
	firstID   int64
	running   bool
	truncated bool // its first frames are not in the log any more
	seen      bool // somebody listened to it
}

// feed follows one session and lets readers follow it. The log holds the frames
// of the running turn, and older ones only until every reader has them.
type feed struct {
	logger  *slog.Logger
	now     func() time.Time
	key     string // of the session
	gallery *gallery
	boards  *boards
	limit   int // bytes that the log may hold

	mu      sync.Mutex
	tr      *wire.Translator
	src     source
	pos     uint64 // number of the next event
	pump    *pump
	log     []record
	base    int // index of log[0]
	bytes   int
	nextID  int64
	turn    mark
	readers map[*reader]struct{}
	holds   int           // sends that are under way
	leave   func()        // says that the readers have gone; nil where the session knows of none
	wake    chan struct{} // closed at the next frame
	dead    bool
	reason  [2]string // code and text for the end, where it is known beforehand
	pumps   sync.WaitGroup

	fileSize int64 // of the session's file when it was looked at last; 0 for never, -1 where the session is live
	adopted  int   // entries of other programs that the live session had then

	logs   []wire.LogEntry
	logged int64 // lines so far

	idleEnd uint64   // number of the newest end of a prompt that was no turn
	awaited []uint64 // numbers of those whose pages wait
}

// errEnded says that the session has ended and the reader has everything.
var errEnded = errors.New("the session has ended")

// errSlow says that a reader is so far behind that frames it needs are gone.
var errSlow = errors.New("the reader was too slow")

// apply translates one event. It is called under mu.
func (f *feed) apply(e wrapper.Event) {
	if e.Type == wrapper.Shutdown && f.reason[0] != "" {
		f.add(f.tr.End(f.reason[0], f.reason[1]))
		return
	}
	f.noteLog(e)
	f.noteEnd(e)
	f.add(f.tr.Translate(e))
}

// end says why the session has ended; readers get that as their last frame.
func (f *feed) end(code, text string) {
	if f.dead {
		return
	}
	f.add(f.tr.End(code, text))
	f.dead = true
	f.present()
	if f.pump != nil {
		f.pump.cancel()
		f.pump = nil
	}
	f.wakeUp()
}

func (f *feed) wakeUp() {
	close(f.wake)
	f.wake = make(chan struct{})
}

// add appends frames to the log.
func (f *feed) add(frames []wire.Frame) {
	if len(frames) == 0 {
		return
	}
	ends := slices.ContainsFunc(frames, wire.Frame.Terminal)
	for i, fr := range frames {
		last := ends && isEnd(frames, i)
		if last && f.turn.truncated {
			f.turn.truncated = false // said once; the turn is over anyway
			for _, s := range f.tr.Summary() {
				f.put(s, record{turn: f.turn.n, summary: true})
			}
		}
		if fr.Starts() {
			f.turn = mark{n: f.turn.n + 1, first: f.tail(), firstID: f.nextID, running: true, seen: len(f.readers) > 0}
		}
		rec := record{sticky: fr.Sticky(), own: fr.Own, last: last}
		if fr.Chunk != nil {
			rec.turn = f.turn.n
			if fr.Chunk.Preliminary {
				rec.prelim = fr.Chunk.ToolCallID
			}
		}
		f.put(fr, rec)
		if fr.Terminal() {
			f.turn.running = false
		}
	}
	f.trim()
	f.reclaim()
	f.wakeUp()
}

// isEnd tells whether a frame is the terminal chunk of a turn or the error right
// before it.
func isEnd(frames []wire.Frame, i int) bool {
	if frames[i].Terminal() {
		return true
	}
	c := frames[i].Chunk
	return c != nil && c.Type == wire.Error && i+1 < len(frames) && frames[i+1].Terminal()
}

func (f *feed) put(fr wire.Frame, rec record) {
	data, err := message.Marshal(fr)
	if err != nil {
		f.logger.Error("a frame could not be written and was left out", "error", err)
		return
	}
	rec.id, rec.kind, rec.data = f.nextID, fr.Kind(), data
	f.nextID += stride
	f.log = append(f.log, rec)
	f.bytes += rec.cost()
}

func (f *feed) tail() int { return f.base + len(f.log) }

// trim keeps the log within its limit: first outputs of calls go that a newer one
// replaces, then the oldest frames, whoever still needs them.
func (f *feed) trim() {
	if f.bytes <= f.limit {
		return
	}
	f.squeeze()
	if f.bytes <= f.limit {
		return
	}
	n := 0
	for n < len(f.log)-1 && f.bytes > f.limit*3/4 {
		f.bytes -= f.log[n].cost()
		if r := f.log[n]; r.turn == f.turn.n && r.turn > 0 && !r.gone && f.turn.running {
			f.turn.truncated = true
		}
		n++
	}
	f.drop(n)
}

// squeeze takes out preliminary outputs that are not the newest of their call.
func (f *feed) squeeze() {
	newer := map[string]bool{}
	for i := len(f.log) - 1; i >= 0; i-- {
		r := &f.log[i]
		if r.prelim == "" || r.gone {
			continue
		}
		if newer[r.prelim] {
			f.bytes -= r.cost()
			r.gone, r.data = true, nil
		}
		newer[r.prelim] = true
	}
}

func (f *feed) drop(n int) {
	if n > 0 {
		f.log = slices.Clone(f.log[n:])
		f.base += n
	}
}

// reclaim lets go of what nobody will read any more: everything before the turn
// that runs or was not seen, once all readers have it.
func (f *feed) reclaim() {
	keep := f.tail()
	if f.turn.running || f.turn.n > 0 && !f.turn.seen {
		keep = f.turn.first
	}
	for r := range f.readers {
		keep = min(keep, r.cursor)
	}
	n := min(keep-f.base, len(f.log))
	if n <= 0 || n < 64 && n < len(f.log) {
		return
	}
	for _, r := range f.log[:n] {
		f.bytes -= r.cost()
	}
	f.drop(n)
}

// wanted tells whether events have to be followed now.
func (f *feed) wanted() bool {
	return len(f.readers) > 0 || f.holds > 0 || f.tr.Running() || f.src != nil && f.src.running()
}
