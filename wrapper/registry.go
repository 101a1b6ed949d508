package wrapper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/piweb-go/piweb/media"
	"github.com/piweb-go/piweb/session"
)

// Registry holds the live sessions of a program, by the real path of their
// file. It is safe for concurrent use.
type Registry struct {
	host Host
	opts Options

	mu     sync.Mutex
	live   map[string]*slot
	idled  map[string]bool // closed for idleness, and not opened since
	closed bool
	stop   chan struct{}
	idle   sync.WaitGroup
}

// slot is a session that is live, starting or closing.
type slot struct {
	ready   chan struct{} // closed when s or err is set
	s       *Session
	err     error
	closing chan struct{} // not nil while it closes; closed when it has
}

// maxIdled bounds what is remembered of sessions that were closed for idleness.
const maxIdled = 10_000

// NewRegistry starts an empty registry. Close ends it.
func NewRegistry(host Host, opts Options) *Registry {
	if opts.Pictures.Admitter == nil {
		opts.Pictures.Admitter = media.NewAdmitter(media.Limits{})
	}
	r := &Registry{host: host, opts: opts, live: map[string]*slot{}, idled: map[string]bool{}, stop: make(chan struct{})}
	if opts.IdleTimeout > 0 {
		r.idle.Go(r.reap)
	}
	return r
}

// ErrShutdown says that the registry takes no more sessions.
var ErrShutdown = errors.New("the program is shutting down")

// RealPath is the key of a session's file: its path without links. Of a path
// that does not exist yet, the part that exists is resolved.
func RealPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	rest := ""
	for at := abs; ; at = filepath.Dir(at) {
		real, err := filepath.EvalSymlinks(at)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if !errors.Is(err, os.ErrNotExist) || at == filepath.Dir(at) {
			return "", err
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

// Open returns the live session of a file, and starts it if there is none.
// However many callers ask at once, it starts once, with the options of the
// first; all get the same session or the same error. A failed start leaves
// nothing behind.
func (r *Registry) Open(ctx context.Context, path string, wish OpenOptions) (*Session, error) {
	key, err := RealPath(path)
	if err != nil {
		return nil, fmt.Errorf("%s: open session: %w", path, err)
	}
	return r.start(ctx, key, wish, func() (*session.Session, error) {
		log, err := session.Open(key, r.opts.Session)
		if err != nil {
			return nil, err
		}
		if log.Header().Raw == nil { // an empty file takes the caller's folder
			if err := adopt(log, wish.CWD); err != nil {
				_ = log.Close()
				return nil, err
			}
		}
		return log, nil
	})
}

func adopt(log *session.Session, cwd string) error {
	if cwd == "" {
		return fmt.Errorf("%s: the file is empty, so it names no working folder: %w; name one with --cwd DIR, or start a session with `piweb run --new`", log.Path(), ErrFolder)
	}
	abs, err := filepath.Abs(cwd)
	if err != nil {
		return err
	}
	return log.Adopt(abs)
}

// Create makes a live session without a file yet.
func (r *Registry) Create(ctx context.Context, n session.NewSession, wish OpenOptions) (*Session, error) {
	if !isDir(n.CWD) {
		return nil, fmt.Errorf("%w: %q is no folder", ErrFolder, n.CWD)
	}
	log, err := session.Create(n, r.opts.Session)
	if err != nil {
		return nil, err
	}
	key, err := RealPath(log.Path())
	if err != nil {
		return nil, fmt.Errorf("%s: create session: %w", log.Path(), err)
	}
	return r.start(ctx, key, wish, func() (*session.Session, error) { return log, nil })
}

func (r *Registry) start(ctx context.Context, key string, wish OpenOptions, open func() (*session.Session, error)) (*Session, error) {
	for {
		r.mu.Lock()
		if r.closed {
			r.mu.Unlock()
			return nil, ErrShutdown
		}
		old, ok := r.live[key]
		if !ok {
			fresh := &slot{ready: make(chan struct{})}
			r.live[key] = fresh
			delete(r.idled, key)
			r.mu.Unlock()
			return r.fill(ctx, key, fresh, wish, open)
		}
		closing := old.closing
		if closing == nil && old.s != nil {
			old.s.touch() // under r.mu: it must not be closed for idleness now
		}
		r.mu.Unlock()
		if closing == nil {
			s, again, err := r.join(ctx, old, wish)
			if again {
				continue
			}
			return s, err
		}
		select { // the new one starts when the old one has given the file back
		case <-closing:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// join waits for a session that another caller started. again says that it has
// to be started anew: its file cannot be gone on with.
func (r *Registry) join(ctx context.Context, sl *slot, wish OpenOptions) (s *Session, again bool, err error) {
	select {
	case <-sl.ready:
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	if sl.err != nil {
		return nil, false, sl.err
	}
	if sl.s.broken.Load() {
		_, err := r.release(sl.s, nil)
		return nil, err == nil, err
	}
	if wish.Tools != nil {
		if err := sl.s.request(ctx, *wish.Tools); err != nil {
			return nil, false, err
		}
	}
	return sl.s, false, nil
}

func (r *Registry) fill(ctx context.Context, key string, sl *slot, wish OpenOptions, open func() (*session.Session, error)) (*Session, error) {
	log, err := open()
	var s *Session
	if err == nil {
		if s, err = newSession(ctx, r.host, r.opts, log, wish); err != nil {
			_ = log.Close()
		}
	}
	r.mu.Lock()
	if s != nil {
		s.key = key
	}
	sl.s, sl.err = s, err
	if err != nil {
		delete(r.live, key)
	}
	r.mu.Unlock()
	close(sl.ready)
	return s, err
}

// Live returns the live session of a file, if there is one.
func (r *Registry) Live(path string) (*Session, bool) {
	key, err := RealPath(path)
	if err != nil {
		return nil, false
	}
	r.mu.Lock()
	sl, ok := r.live[key]
	r.mu.Unlock()
	if !ok {
		return nil, false
	}
	select {
	case <-sl.ready:
		return sl.s, sl.s != nil
	default:
		return nil, false
	}
}

// Sessions lists the live sessions.
func (r *Registry) Sessions() []*Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*Session
	for _, sl := range r.live {
		select {
		case <-sl.ready:
			if sl.s != nil {
				out = append(out, sl.s)
			}
		default:
		}
	}
	return out
}

// all waits for the sessions that are starting and lists all.
func (r *Registry) all() []*Session {
	r.mu.Lock()
	var slots []*slot
	for _, sl := range r.live {
		slots = append(slots, sl)
	}
	r.mu.Unlock()
	var out []*Session
	for _, sl := range slots {
		if <-sl.ready; sl.s != nil {
			out = append(out, sl.s)
		}
	}
	return out
}

// Release closes a live session: its prompt is aborted, its file given back.
func (r *Registry) Release(s *Session) error {
	_, err := r.release(s, nil)
	return err
}

// ReleaseIdle is Release for a session on which nothing runs; it is ErrRunning
// otherwise, and then nothing happens to the session.
func (r *Registry) ReleaseIdle(s *Session) error {
	closed, err := r.release(s, func() bool {
		state, _ := s.State()
		return state != Running
	})
	if err == nil && !closed {
		err = fmt.Errorf("%w: wait until the running prompt has ended, or stop it", ErrRunning)
	}
	return err
}

func (r *Registry) release(s *Session, onlyIdle func() bool) (closed bool, err error) {
	key := s.key // not the path as it resolves now: folders move
	r.mu.Lock()
	sl, ok := r.live[key]
	if !ok || sl.s != s {
		r.mu.Unlock()
		return s.close(onlyIdle)
	}
	if sl.closing != nil {
		closing := sl.closing
		r.mu.Unlock()
		<-closing
		return true, nil
	}
	closing := make(chan struct{})
	sl.closing = closing
	r.mu.Unlock()

	closed, err = s.close(onlyIdle)

	r.mu.Lock()
	sl.closing = nil
	if closed && r.live[key] == sl { // never the one that took its place
		delete(r.live, key)
	}
	r.mu.Unlock()
	close(closing)
	return closed, err
}

// reap closes sessions that nobody used for the idle time. A session that runs,
// or that somebody listens to, is in use.
func (r *Registry) reap() {
	every := max(min(r.opts.IdleTimeout/4, time.Minute), time.Millisecond)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-r.stop:
			return
		case <-tick.C:
		}
		for _, s := range r.Sessions() {
			unused := func() bool {
				state, _ := s.State()
				quiet := time.Since(time.Unix(0, s.used.Load()))
				return state != Running && s.hub.subscribers() == 0 && quiet >= r.opts.IdleTimeout
			}
			if unused() {
				if closed, _ := r.release(s, unused); closed { // asked again under its lock
					r.mu.Lock()
					if len(r.idled) < maxIdled && r.live[s.key] == nil {
						r.idled[s.key] = true
					}
					r.mu.Unlock()
				}
			}
		}
	}
}

// Close ends all sessions: running prompts are aborted, files given back.
func (r *Registry) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	close(r.stop)
	r.mu.Unlock()
	r.idle.Wait()
	var errs []error
	for _, s := range r.all() {
		errs = append(errs, r.Release(s))
	}
	return errors.Join(errs...)
}
