package modeltest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/piweb-go/piweb/agent/model/offline"
)

// Limits of a handler.
const (
	maxBody   = 256 << 20 // bytes of one request
	maxRecord = 4096      // requests kept; older ones are forgotten
	maxKept   = 512 << 20 // bytes of all bodies kept; the newest one always is
)

// Recorded is one request as it arrived. It is not changed later; the body is
// shared, so do not write to it.
type Recorded struct {
	N      int // counts from 1
	Method string
	Path   string
	Query  string
	Header http.Header
	Body   []byte
}

// Options changes how a handler behaves. The zero value is a strict server that
// takes any key.
type Options struct {
	// Key, if set, is the only bearer token that is served. The refusal of
	// another one repeats it, as careless providers do.
	Key string
	// Lenient leaves the rules of conversation unchecked.
	Lenient bool
	// OnRequest, if set, is called with each request before it is answered, from
	// the request's goroutine. It may block; ctx ends with the request.
	OnRequest func(ctx context.Context, r Recorded)
}

// Handler speaks the providers' wires from a script. It is an [http.Handler] that
// is safe for concurrent use. The path decides the wire: POST …/chat/completions,
// …/responses, …/messages and …:streamGenerateContent answer, GET …/models lists
// one model, everything else is 404.
type Handler struct {
	options Options
	player  *offline.Player

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at each request
	recorded []Recorded
	kept     int // bytes of their bodies
	count    int

	stop     chan struct{}
	stopOnce sync.Once
}

// NewHandler returns a handler that plays the script from its beginning.
func NewHandler(script *offline.Script, options Options) *Handler {
	return &Handler{
		options: options, player: offline.NewPlayer(script),
		changed: make(chan struct{}), stop: make(chan struct{}),
	}
}

// Close ends the answers that are under way. It may be called more than once.
func (h *Handler) Close() { h.stopOnce.Do(func() { close(h.stop) }) }

// Requests returns what was recorded so far, in the order of arrival.
func (h *Handler) Requests() []Recorded {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Recorded(nil), h.recorded...)
}

// Count is the number of requests so far, with those that were forgotten.
func (h *Handler) Count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count
}

// Last returns the newest request, and whether there is one.
func (h *Handler) Last() (Recorded, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.recorded) == 0 {
		return Recorded{}, false
	}
	return h.recorded[len(h.recorded)-1], true
}

// Wait returns when n requests have arrived, or with the error of ctx.
func (h *Handler) Wait(ctx context.Context, n int) error {
	for {
		h.mu.Lock()
		count, changed := h.count, h.changed
		h.mu.Unlock()
		if count >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("modeltest: %d of %d requests arrived: %w", count, n, ctx.Err())
		}
	}
}

// ServeHTTP records a completion request and answers it from the script.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/models") && r.Method == http.MethodGet:
		writeJSON(w, http.StatusOK, map[string]any{
			"object": "list",
			"data":   []any{map[string]any{"id": "scripted", "object": "model", "created": 1, "owned_by": "modeltest"}},
		})
	case formatOf(r.URL.Path) != nil && r.Method == http.MethodPost:
		h.complete(w, r, formatOf(r.URL.Path))
	default:
		chat{}.refuse(w, http.StatusNotFound, "no such route: "+r.Method+" "+r.URL.Path, "not_found", "")
	}
}

func (h *Handler) complete(w http.ResponseWriter, r *http.Request, f format) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		f.refuse(w, http.StatusRequestEntityTooLarge, err.Error(), "too_large", "")
		return
	}
	rec := h.record(r, body)
	if h.options.OnRequest != nil {
		h.options.OnRequest(r.Context(), rec)
	}
	if key := h.options.Key; key != "" {
		if got := f.key(r); got != key {
			f.refuse(w, http.StatusUnauthorized, "The key "+got+" is not known here.", "invalid_api_key", "")
			return
		}
	}
	t, err := f.read(r, body)
	if err != nil {
		f.refuse(w, http.StatusBadRequest, "The body is not a completion request: "+err.Error(), "invalid_json", "")
		return
	}
	if !h.options.Lenient {
		if err := t.check(); err != nil {
			f.refuse(w, http.StatusBadRequest, err.Error(), "invalid_request_error", "")
			return
		}
	}
	step, err := h.player.Next(t.lastUser)
	if err != nil {
		f.refuse(w, http.StatusInternalServerError, err.Error(), "script", "")
		return
	}
	if step.Refused() {
		h.pause(r.Context(), step.Delay())
		f.refuse(w, step.Error.Status, step.Error.Message, step.Error.Code, step.Error.RetryAfter)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	s := &sse{h: h, w: w, r: r, step: step, turn: t, n: rec.N}
	s.control = http.NewResponseController(w)
	f.stream(s)
	switch {
	case step.Garbled:
		s.raw(`{"garbled": [`)
	case step.Stall && !s.over:
		_ = s.control.Flush() // the client has gone, which it will notice itself
		select {
		case <-r.Context().Done():
		case <-h.stop:
		}
	}
}

func (h *Handler) record(r *http.Request, body []byte) Recorded {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count++
	rec := Recorded{
		N: h.count, Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery,
		Header: r.Header.Clone(), Body: body,
	}
	h.recorded = append(h.recorded, rec)
	h.kept += len(body)
	for len(h.recorded) > 1 && (len(h.recorded) > maxRecord || h.kept > maxKept) {
		h.kept -= len(h.recorded[0].Body)
		h.recorded[0] = Recorded{} // lets go of the body
		h.recorded = h.recorded[1:]
	}
	close(h.changed)
	h.changed = make(chan struct{})
	return rec
}

// pause waits, and reports whether the answer should go on.
func (h *Handler) pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	case <-h.stop:
		return false
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // the client has gone, which it will notice itself
}
