package server

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/piweb-go/piweb/server/wire"
	"github.com/piweb-go/piweb/wrapper"
)

// batchBytes is how much a stream writes at once, about. Each batch has the whole
// write timeout to itself.
const batchBytes = 32 << 10

// streamSession follows a session. It does not start one: where the session is
// not live, the stream waits until somebody sends to it.
func (s *Server) streamSession(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	t, err := s.lookup(r.Context(), args["id"])
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("Connection", "keep-alive")
	h.Set("X-Accel-Buffering", "no")
	h.Set("Content-Encoding", "identity")
	h.Set(versionHeader, wire.ProtocolVersion)
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	if n := s.streams.Add(1); int(n) > s.cfg.MaxStreams {
		s.streams.Add(-1)
		return plain(h, refuse(http.StatusServiceUnavailable, "TOO_MANY_STREAMS", "Too many pages follow sessions at the same time. Close one, then try again."))
	}
	defer s.streams.Add(-1)
	leave, ok := s.seats.take(whoOf(r.Context()), s.cfg.Limits.UserStreams)
	if !ok {
		p := refuse(http.StatusTooManyRequests, "TOO_MANY_STREAMS", "You follow too many sessions at the same time. Close a page, then try again.")
		p.retry = 10
		return plain(h, p)
	}
	defer leave()
	own := r.URL.Query().Get("piweb") == "1"
	rd := s.listen(t, lastEventID(r), own)
	if rd == nil {
		return plain(h, toProblem(wrapper.ErrShutdown))
	}
	defer rd.close()
	s.metrics.opened.Inc()
	if rd.gap > 0 {
		s.metrics.gaps.Inc()
	}
	if own {
		looking, stop := context.WithCancel(r.Context())
		var looks sync.WaitGroup
		looks.Go(func() { s.followFile(looking, t, rd.f) })
		defer looks.Wait()
		defer stop()
	}
	st := &stream{w: w, rc: http.NewResponseController(w), timeout: s.cfg.WriteTimeout}
	w.WriteHeader(http.StatusOK)
	st.send(nil) // the client waits for the headers before it sends
	s.pass(r, rd, st)
	return nil
}

// plain takes back the headers of a stream that does not begin.
func plain(h http.Header, p *problem) error {
	h.Del("Connection")
	h.Del("Content-Encoding")
	h.Del("X-Accel-Buffering")
	return p
}

// listen attaches a reader to the feed of a session; nil when the server ends.
func (s *Server) listen(t *target, lastID int64, own bool) *reader {
	for {
		var src source
		if t.live != nil {
			src = live{t.live}
		}
		f := s.feeds.follow(t.key, src, false)
		if f == nil {
			return nil
		}
		f.named(s.item(t).Name)
		if rd, ok := f.attach(lastID, own); ok {
			return rd
		}
		// The session has just ended. Whoever comes now waits for its next life.
		s.feeds.forget(t.key, f)
		t.live, _ = s.rt.Live(t.path)
		if t.live != nil {
			if state, _ := t.live.State(); state == wrapper.Closed {
				t.live = nil
			}
		}
	}
}

// named notes what the session is called, where its events have not told it.
func (f *feed) named(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tr.Title(name)
}

// pass carries frames from a reader to a stream until either ends.
func (s *Server) pass(r *http.Request, rd *reader, st *stream) {
	pass, _ := s.ticket(whoOf(r.Context()))
	beat := time.NewTicker(s.cfg.Heartbeat)
	defer beat.Stop()
	var buf bytes.Buffer
	for {
		batch, more, err := rd.next(batchBytes)
		if err != nil {
			if errors.Is(err, errSlow) {
				s.metrics.slow.Inc()
				s.log.Info("a stream was cut: its reader was too slow", "id", requestID(r))
			}
			return
		}
		if len(batch) > 0 {
			buf.Reset()
			for i := range batch {
				batch[i].write(&buf)
			}
			if st.send(buf.Bytes()) != nil {
				return
			}
			continue
		}
		select {
		case <-more:
		case <-beat.C:
			if now, ok := s.ticket(whoOf(r.Context())); !ok || now != pass {
				return // a user who was removed, or has another token
			}
			if st.send([]byte(": keep-alive\n\n")) != nil {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}

func (rec *record) write(b *bytes.Buffer) {
	b.WriteString("event: ")
	b.WriteString(string(rec.kind))
	b.WriteString("\nid: ")
	b.WriteString(strconv.FormatInt(rec.id, 10))
	b.WriteString("\ndata: ")
	b.Write(rec.data)
	b.WriteString("\n\n")
}

// stream writes with a deadline: a client that takes nothing is cut.
type stream struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	timeout time.Duration
}

func (st *stream) send(data []byte) error {
	_ = st.rc.SetWriteDeadline(time.Now().Add(st.timeout)) // not every writer has deadlines
	if len(data) > 0 {
		if _, err := st.w.Write(data); err != nil {
			return err
		}
	}
	return st.rc.Flush()
}

// maxEventID is the greatest number that JavaScript has exactly; ids beyond it
// were never ours.
const maxEventID = 1 << 53

// lastEventID reads the header; -1 where there is none. As in the client's own
// server the number may be followed by anything.
func lastEventID(r *http.Request) int64 {
	text := r.Header.Get("Last-Event-ID")
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	id, err := strconv.ParseInt(text[:n], 10, 64)
	if err != nil || id >= maxEventID {
		return -1
	}
	return id
}
