package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// State says how a server is doing.
type State string

// The states of a server.
const (
	Starting State = "starting"
	Ready    State = "ready"
	Failed   State = "failed" // it is tried again later, or at the next call
	Disabled State = "disabled"
)

// Bounds of what a server may say.
const (
	maxTools       = 500
	maxMessage     = 32 << 20 // bytes of one message
	connectTimeout = 30 * time.Second
	callWait       = 10 * time.Second // how long a call waits for a server that starts
	maxRestarts    = 6                // in a row, without a call that asks for it
)

// server is one server while somebody uses it.
type server struct {
	cfg   Server
	place Place
	opts  Options
	key   string

	stop context.CancelFunc
	done chan struct{}
	wake chan struct{} // try now

	mu       sync.Mutex
	refs     int // guarded by the pool
	subs     map[*handle]func()
	state    State
	reason   string // of Failed
	changed  chan struct{}
	tools    []*sdk.Tool
	known    bool // tools are those of this run, or were remembered
	session  *sdk.ClientSession
	errs     *tail
	progress map[string]func() // by token
	tokens   int
	listed   []Resource // as of listedAt
	listedAt time.Time
}

func newServer(cfg Server, place Place, key string, opts Options) *server {
	ctx, stop := context.WithCancel(context.Background())
	s := &server{cfg: cfg, place: place, key: key, opts: opts, stop: stop, done: make(chan struct{}), wake: make(chan struct{}, 1),
		subs: map[*handle]func(){}, state: Starting, changed: make(chan struct{}), progress: map[string]func(){}}
	if tools, ok := recall(opts.cacheFile(key)); ok {
		s.tools, s.known = tools, true
	}
	go s.run(ctx)
	return s
}

// run keeps the server going until it is stopped: after a failure it waits longer
// and longer, and in the end until a call asks for it.
func (s *server) run(ctx context.Context) {
	defer close(s.done)
	failures := 0
	for ctx.Err() == nil {
		began := time.Now()
		ready, err := s.once(ctx)
		if ctx.Err() != nil {
			return
		}
		if ready && time.Since(began) > time.Minute {
			failures = 0
		}
		failures++
		s.fail(err, ready)
		if !s.pause(ctx, failures) {
			return
		}
		s.set(func() { s.state = Starting })
	}
}

// pause waits until it is time to try again, or until a call asks for it.
func (s *server) pause(ctx context.Context, failures int) bool {
	var again <-chan time.Time
	if failures <= maxRestarts {
		t := time.NewTimer(s.opts.backoff(failures))
		defer t.Stop()
		again = t.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-again:
	case <-s.wake:
	}
	return true
}

func (o Options) backoff(failures int) time.Duration {
	return min(o.Backoff<<(failures-1), 60*o.Backoff)
}

// once connects, serves, and returns why it is over. ready tells whether it ever
// served.
func (s *server) once(ctx context.Context) (ready bool, err error) {
	start, cancel := context.WithTimeout(ctx, min(connectTimeout, max(s.cfg.Timeout, time.Second)))
	defer cancel()
	transport, ended, end, err := s.transport(start)
	if err != nil {
		return false, err
	}
	ending := sync.OnceFunc(end)
	defer ending()
	relist := make(chan struct{}, 1)
	client := sdk.NewClient(&sdk.Implementation{Name: "piweb", Version: s.opts.Version}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{}, // no roots, no sampling, no questions
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			select {
			case relist <- struct{}{}:
			default:
			}
		},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			s.progressed(fmt.Sprint(r.Params.ProgressToken))
		},
	})
	session, err := client.Connect(start, transport, nil)
	if err != nil {
		ending() // so that its last words are all there
		return false, s.explain(start, err)
	}
	over := make(chan error, 1)
	go func() { over <- session.Wait() }()
	defer func() {
		_ = session.Close()
		s.set(func() { s.session = nil })
	}()
	tools, err := list500(start, session)
	if err != nil {
		return false, s.explain(start, err)
	}
	s.serve(session, tools)
	for {
		select {
		case <-ctx.Done():
			return true, nil
		case err := <-over:
			if err == nil {
				err = errors.New("it ended")
			}
			return true, s.explain(ctx, err)
		case <-ended: // what it left behind may hold its output open
			return true, s.explain(ctx, errors.New("it ended"))
		case <-relist:
			listing, cancel := context.WithTimeout(ctx, connectTimeout)
			tools, err := list500(listing, session)
			cancel()
			if err == nil {
				s.serve(session, tools)
			}
			// A server that tells of a change all the time is asked twice a second.
			pause := time.NewTimer(500 * time.Millisecond)
			select {
			case <-ctx.Done():
			case <-pause.C:
			}
			pause.Stop()
		}
	}
}

// list500 asks for the tools, page by page, as far as anybody can mean it.
func list500(ctx context.Context, session *sdk.ClientSession) ([]*sdk.Tool, error) {
	tools := []*sdk.Tool{}
	if c := session.InitializeResult().Capabilities; c == nil || c.Tools == nil {
		return tools, nil
	}
	cursor := ""
	for range maxTools { // pages may be empty
		page, err := session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, err
		}
		for _, t := range page.Tools {
			if t != nil && len(tools) < maxTools {
				tools = append(tools, t)
			}
		}
		if cursor = page.NextCursor; cursor == "" || len(tools) >= maxTools {
			break
		}
	}
	return tools, nil
}

func (s *server) serve(session *sdk.ClientSession, tools []*sdk.Tool) {
	s.set(func() {
		s.session, s.tools, s.known, s.state, s.reason = session, tools, true, Ready, ""
	})
	remember(s.opts.cacheFile(s.key), tools)
}

// fail notes why the server is not there. One that never served takes the tools
// along that were only remembered.
func (s *server) fail(err error, served bool) {
	reason := "it ended"
	if err != nil {
		reason = clean(err.Error(), 500)
	}
	s.set(func() {
		s.state, s.reason, s.session = Failed, reason, nil
		if !served {
			s.tools, s.known = nil, true
		}
	})
}

// set changes the server and tells everybody.
func (s *server) set(change func()) {
	s.mu.Lock()
	change()
	close(s.changed)
	s.changed = make(chan struct{})
	subs := make([]func(), 0, len(s.subs))
	for _, tell := range s.subs {
		subs = append(subs, tell)
	}
	s.mu.Unlock()
	for _, tell := range subs {
		tell()
	}
}

// explain adds the last words of a program to an error, which alone often says
// only that a pipe is closed.
func (s *server) explain(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = errors.New("it did not answer in time")
	}
	s.mu.Lock()
	errs := s.errs
	s.mu.Unlock()
	if errs == nil {
		return err
	}
	if words := clean(errs.String(), 400); words != "" {
		return fmt.Errorf("%w; it wrote: %s", err, words)
	}
	return err
}

// transport starts the program, or makes ready to ask the address. ended is closed
// when the program has ended; end ends what was begun.
func (s *server) transport(ctx context.Context) (t sdk.Transport, ended <-chan struct{}, end func(), err error) {
	r, err := s.cfg.resolve(ctx, s.opts.Lookup)
	if err != nil {
		return nil, nil, nil, err
	}
	if s.cfg.URL != "" {
		client := &http.Client{Transport: &headers{r.headers, s.opts.HTTP}, CheckRedirect: sameHost}
		return &sdk.StreamableClientTransport{Endpoint: r.url, HTTPClient: client, MaxEventSize: maxMessage, MaxRetries: 2}, nil, client.CloseIdleConnections, nil
	}
	dir := s.place.Cwd
	if s.cfg.Dir != "" {
		if dir = s.cfg.Dir; !filepath.IsAbs(dir) {
			dir = filepath.Join(s.place.Cwd, dir)
		}
	}
	p, err := start(r, dir, s.opts.Environ())
	if err != nil {
		return nil, nil, nil, fmt.Errorf("it cannot be started: %w", err)
	}
	s.mu.Lock()
	s.errs = p.errs
	s.mu.Unlock()
	return &sdk.IOTransport{Reader: p.out, Writer: p.in, MaxLineLength: maxMessage}, p.done, p.stop, nil
}

// headers sends the configured headers along.
type headers struct {
	more map[string]string
	base http.RoundTripper
}

func (h *headers) RoundTrip(req *http.Request) (*http.Response, error) {
	base := h.base
	if base == nil {
		base = http.DefaultTransport
	}
	if len(h.more) > 0 {
		req = req.Clone(req.Context())
		for name, value := range h.more {
			req.Header.Set(name, value)
		}
	}
	resp, err := base.RoundTrip(req)
	if err == nil && (resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden) {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("it wants a sign-in (HTTP %d); put a token into its headers in mcp.json", resp.StatusCode)
	}
	return resp, err
}

func (h *headers) CloseIdleConnections() {
	if c, ok := h.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// sameHost follows a redirect only to where the headers were meant for.
func sameHost(req *http.Request, via []*http.Request) error {
	if len(via) >= 5 {
		return errors.New("it redirects too often")
	}
	if req.URL.Host != via[0].URL.Host || req.URL.Scheme != via[0].URL.Scheme {
		return fmt.Errorf("it redirects to %s, which is not the address in mcp.json", req.URL.Host)
	}
	return nil
}

// live waits for a session; a server that failed is tried again at once.
func (s *server) live(ctx context.Context) (*sdk.ClientSession, error) {
	ctx, cancel := context.WithTimeout(ctx, min(callWait, s.opts.CallWait))
	defer cancel()
	asked := false
	for {
		s.mu.Lock()
		session, state, reason, changed := s.session, s.state, s.reason, s.changed
		s.mu.Unlock()
		if session != nil {
			return session, nil
		}
		if state == Failed {
			if asked {
				return nil, fmt.Errorf("the MCP server %s cannot be reached: %s", s.cfg.Name, reason)
			}
			asked = true
			select {
			case s.wake <- struct{}{}:
			default:
			}
		}
		select {
		case <-changed:
		case <-s.done:
			return nil, fmt.Errorf("the MCP server %s was ended", s.cfg.Name)
		case <-ctx.Done():
			if reason == "" {
				reason = "it is still starting"
			}
			return nil, fmt.Errorf("the MCP server %s cannot be reached: %s", s.cfg.Name, reason)
		}
	}
}

// call calls a tool. The timeout counts from the last sign of life.
func (s *server) call(ctx context.Context, tool string, args json.RawMessage) (*sdk.CallToolResult, error) {
	session, err := s.live(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := fmt.Errorf("the MCP server %s did not answer within %v", s.cfg.Name, s.cfg.Timeout)
	timer := time.AfterFunc(s.cfg.Timeout, func() { cancel(late) })
	defer timer.Stop()
	s.mu.Lock()
	s.tokens++
	token := "call-" + strconv.Itoa(s.tokens)
	s.progress[token] = func() { timer.Reset(s.cfg.Timeout) }
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.progress, token)
		s.mu.Unlock()
	}()
	params := &sdk.CallToolParams{Name: tool, Arguments: args}
	params.SetProgressToken(token)
	r, err := session.CallTool(ctx, params)
	switch {
	case err == nil:
		return r, nil
	case errors.Is(context.Cause(ctx), late):
		return nil, late
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, fmt.Errorf("the MCP server %s: %w", s.cfg.Name, s.explain(ctx, err))
}

func (s *server) progressed(token string) {
	s.mu.Lock()
	alive := s.progress[token]
	s.mu.Unlock()
	if alive != nil {
		alive()
	}
}

// status is what people are shown.
func (s *server) status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{Server: s.cfg, State: s.state, Reason: s.reason, Sessions: len(s.subs)}
	if s.state == Ready && s.session != nil {
		if info := s.session.InitializeResult(); info != nil && info.ServerInfo != nil {
			st.Version = clean(info.ServerInfo.Name+" "+info.ServerInfo.Version, 100)
		}
	}
	for _, t := range s.tools {
		st.Tools = append(st.Tools, ToolInfo{Name: clean(t.Name, 200), Description: clean(t.Description, 300),
			OnlyReads: t.Annotations != nil && t.Annotations.ReadOnlyHint, Hidden: s.cfg.hidden(t.Name)})
	}
	return st
}
