package server

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/piweb-go/piweb/server/wire"
	"github.com/piweb-go/piweb/wrapper"
)

// pump carries the events of a session into its feed. A feed has one only while
// somebody listens or a turn runs, because a session that is subscribed to is
// never closed for being idle.
type pump struct{ cancel context.CancelFunc }

// startPump makes the feed follow its session, where it should and does not yet.
// Events that are there already are taken at once, so that the caller sees the
// session as it is. It is called under mu.
func (f *feed) startPump() {
	if f.src == nil || f.pump != nil || f.dead || !f.wanted() {
		return
	}
	sub := f.src.subscribe(f.pos)
	if f.drain(sub); f.dead || !f.wanted() {
		sub.Close()
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &pump{cancel}
	f.pump = p
	f.pumps.Go(func() { f.run(ctx, p, sub) })
}

// catchUp takes the events that are there, where nothing follows the session.
func (f *feed) catchUp() {
	if f.src == nil || f.pump != nil || f.dead {
		return
	}
	sub := f.src.subscribe(f.pos)
	defer sub.Close()
	f.drain(sub)
}

// polled is a context for asking without waiting.
var polled = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// drain takes the events that are there.
func (f *feed) drain(sub events) {
	for {
		e, err := sub.Next(polled)
		if errors.Is(err, context.Canceled) {
			return
		}
		if f.take(e, err); f.dead {
			return
		}
	}
}

// take applies an event, or the end of them.
func (f *feed) take(e wrapper.Event, err error) {
	if err != nil {
		f.end("stopped", "The session was stopped.")
		return
	}
	f.apply(e)
	f.pos = e.Seq + 1
	if e.Type == wrapper.Shutdown {
		f.end("stopped", "The session was stopped.")
	}
}

func (f *feed) run(ctx context.Context, p *pump, sub events) {
	defer sub.Close()
	for {
		e, err := sub.Next(ctx)
		f.mu.Lock()
		if f.pump != p || ctx.Err() != nil {
			f.mu.Unlock()
			return
		}
		f.take(e, err)
		f.stopPump()
		f.mu.Unlock()
	}
}

// stopPump ends the pump that nobody needs. It is called under mu.
func (f *feed) stopPump() {
	if f.pump != nil && !f.wanted() {
		f.pump.cancel()
		f.pump = nil
	}
}

// bind tells the feed which session it follows. It is false where the feed has
// come to its end and another one must be made.
func (f *feed) bind(src source) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.dead:
		return false
	case src == nil:
		return true
	case f.src != nil && f.src != src:
		f.end("stopped", "The session was stopped.")
		return false
	}
	if f.src == nil {
		f.src, f.pos = src, 1
		f.present()
	}
	f.startPump()
	return !f.dead
}

// unhold ends what feeds.hold began.
func (f *feed) unhold() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.holds--
	f.stopPump()
}

// idle tells whether the feed can be forgotten: nobody needs it, and its session
// is not live, so that it will not be asked for what has happened.
func (f *feed) idle() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead || len(f.readers) == 0 && f.holds == 0 && f.pump == nil && (f.src == nil || f.src.closed())
}

// feeds are the feeds of a server, by the real path of the session's file.
type feeds struct {
	logger  *slog.Logger
	now     func() time.Time
	limit   int
	gallery *gallery // nil signs no addresses
	boards  *boards  // nil for none

	mu     sync.Mutex
	all    map[string]*feed
	high   int64 // no id below it is given out again
	closed bool
}

func newFeeds(logger *slog.Logger, now func() time.Time, limit int) *feeds {
	return &feeds{logger: logger, now: now, limit: limit, all: map[string]*feed{}}
}

// idEpoch is where ids begin to count: their first number is the time that a feed
// began, so that they grow over restarts of the program, too, and still are exact
// in JavaScript for a century.
var idEpoch = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

const idsPerMilli = 2048

// follow returns the feed of a file, bound to its live session if there is one.
// hold keeps it following until unhold is called. It is nil when the server ends.
func (fs *feeds) follow(key string, src source, hold bool) *feed {
	for {
		f := fs.get(key)
		if f == nil {
			return nil
		}
		if hold {
			f.mu.Lock()
			f.holds++
			f.mu.Unlock()
		}
		if f.bind(src) {
			return f
		}
		if hold {
			f.unhold()
		}
		fs.forget(key, f)
	}
}

func (fs *feeds) get(key string) *feed {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.closed {
		return nil
	}
	if f := fs.all[key]; f != nil {
		return f
	}
	for k, f := range fs.all {
		if f.idle() {
			fs.drop(k, f)
		}
	}
	first := max(fs.now().Sub(idEpoch).Milliseconds()*idsPerMilli, fs.high, stride) / stride * stride
	f := &feed{logger: fs.logger, now: fs.now, key: key, gallery: fs.gallery, boards: fs.boards, limit: fs.limit, nextID: first + stride, wake: make(chan struct{}), readers: map[*reader]struct{}{}}
	f.tr = wire.NewTranslator(wire.Options{Now: fs.now, Policy: f.policy, Result: f.pictureURL})
	fs.all[key] = f
	return f
}

// policy is asked by the translator, under mu.
func (f *feed) policy() wire.Policy {
	if f.src == nil {
		return wire.Policy{}
	}
	return f.src.policy()
}

func (fs *feeds) forget(key string, f *feed) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.all[key] == f {
		fs.drop(key, f)
	}
}

func (fs *feeds) drop(key string, f *feed) {
	f.mu.Lock()
	fs.high = max(fs.high, f.nextID)
	f.mu.Unlock()
	delete(fs.all, key)
}

// peek returns the feed of a file if there is one.
func (fs *feeds) peek(key string) *feed {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.all[key]
}

// ending notes why a session is about to end.
func (f *feed) ending(code, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reason = [2]string{code, text}
}

// close ends all feeds and waits for their pumps.
func (fs *feeds) close() {
	fs.mu.Lock()
	fs.closed = true
	all := fs.all
	fs.all = map[string]*feed{}
	fs.mu.Unlock()
	for _, f := range all {
		f.mu.Lock()
		f.end("shutdown", "The program is shutting down.")
		f.mu.Unlock()
	}
	for _, f := range all {
		f.pumps.Wait()
	}
}

// live is a session as a feed follows it.
type live struct{ s *wrapper.Session }

func (l live) subscribe(from uint64) events { return l.s.Subscribe(from) }

func (l live) running() bool {
	state, _ := l.s.State()
	return state == wrapper.Running
}

func (l live) closed() bool {
	state, _ := l.s.State()
	return state == wrapper.Closed
}

func (l live) policy() wire.Policy {
	p, _ := l.s.Policy()
	return wire.Policy{Kind: string(p.Kind), Tools: p.Tools, Source: p.Source}
}

// settleTime is how long the end of a session is waited for.
const settleTime = 2 * time.Second

// settle waits until the end of the session has reached the feed, and sees to it
// that it does.
func (f *feed) settle() {
	gone := make(chan struct{})
	go func() {
		f.pumps.Wait()
		close(gone)
	}()
	select {
	case <-gone:
	case <-time.After(settleTime):
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end("stopped", "The session was stopped.")
}
