package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/piweb-go/piweb/wrapper"
)

// stopTime is how long requests may take to end when the server stops.
const stopTime = 10 * time.Second

// abortTime is how long a turn may take to end when it was aborted: it writes what it
// has.
const abortTime = 10 * time.Second

// errOpen says that a listener is for everybody, and nothing strong enough keeps
// strangers out.
var errOpen = errors.New("server: this address can be reached from other machines: it wants users with tokens of their own, or a token of 20 characters at least")

// Serve answers requests on ln until ctx is done. Then, in this order: nothing new
// is taken; turns that run may go on for the grace; those that still run are aborted,
// and what they have said is in their files; streams get the end of their turn and
// their last frame; requests that are under way are waited for. Each step has a time,
// so that it ends. The runtime starts no subagents any more, and is otherwise left as
// it is: close it afterwards.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	if !onMachine(ln.Addr()) && s.cfg.Token != "" && len(s.cfg.Token) < 20 {
		return errors.Join(errOpen, ln.Close())
	}
	hs := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: s.times.header,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
		TLSConfig:         s.cfg.TLS,
	}
	failed := make(chan error, 1)
	go func() {
		if s.cfg.TLS != nil {
			failed <- hs.ServeTLS(ln, "", "")
			return
		}
		failed <- hs.Serve(ln)
	}()
	serving, end := context.WithCancel(ctx)
	defer end()
	go s.giveBack(serving)
	go s.watchUsers(serving)
	select {
	case err := <-failed:
		s.Close()
		return fmt.Errorf("serve %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	s.draining.Store(true)
	rest := context.WithoutCancel(ctx)
	s.settleTurns(rest)
	s.Close()
	stop, cancel := context.WithTimeout(rest, stopTime)
	defer cancel()
	err := hs.Shutdown(stop)
	if errors.Is(err, context.DeadlineExceeded) {
		err = hs.Close()
	}
	<-failed // http.ErrServerClosed
	return err
}

// onMachine tells whether an address is reached from this machine only.
func onMachine(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return !ok || tcp.IP.IsLoopback()
}

// settleTurns waits for the turns that run, and aborts those that run for too long.
func (s *Server) settleTurns(ctx context.Context) {
	wait := func(limit time.Duration) bool {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return s.quiet(ctx)
	}
	if s.cfg.Grace > 0 && wait(s.cfg.Grace) {
		return
	}
	var aborting sync.WaitGroup
	aborting.Go(s.rt.Subagents().Close) // or a child's end would wake its parent
	n := 0
	for _, ls := range s.rt.LiveSessions() {
		if state, _ := ls.State(); state == wrapper.Running {
			n++
			aborting.Go(func() { ls.Abort() })
		}
	}
	if !ended(&aborting, abortTime) {
		s.log.Warn("aborting took too long and was given up")
	}
	if n == 0 {
		return
	}
	s.log.Info("running turns were aborted, and kept as far as they came", "turns", n)
	if !wait(abortTime) {
		s.log.Warn("a turn did not end after it was aborted")
	}
}

// ended waits for what was begun, at most for a while.
func ended(w *sync.WaitGroup, limit time.Duration) bool {
	done := make(chan struct{})
	go func() {
		w.Wait()
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-time.After(limit):
		return false
	}
}

// quiet waits until nothing runs; false where ctx ends before.
func (s *Server) quiet(ctx context.Context) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		running := false
		for _, ls := range s.rt.LiveSessions() {
			state, _ := ls.State()
			running = running || state == wrapper.Running
		}
		if !running {
			return true
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
}

// usersTime is how often the users file is looked at, to tell of lines that are not
// understood. Whom it lets in is asked with each request.
const usersTime = 5 * time.Second

// watchUsers tells the log what is wrong with the users file, once for each time
// that it changes.
func (s *Server) watchUsers(ctx context.Context) {
	if s.cfg.Users == nil {
		return
	}
	tick := time.NewTicker(usersTime)
	defer tick.Stop()
	for seen := 0; ; {
		if loads := s.cfg.Users.Loads(); loads != seen {
			seen = loads
			s.tellUsers()
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Server) tellUsers() {
	list, problems, err := s.cfg.Users.List()
	if err != nil {
		s.log.Error("the users file is not used", "file", s.cfg.Users.Path(), "error", err.Error())
		return
	}
	for _, p := range problems {
		s.log.Warn("a line of the users file lets nobody in", "file", s.cfg.Users.Path(), "line", p.Line, "problem", p.Text)
	}
	s.log.Info("the users file is in use", "file", s.cfg.Users.Path(), "users", len(list))
}
