package mcp

import (
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// Options are the settings of a pool. The zero value is right for programs,
// but for CacheDir.
type Options struct {
	// Version is told to servers; "" for that of the program's build.
	Version string
	// CacheDir is a folder for the remembered tools of servers; "" for none.
	CacheDir string
	// Lookup reads an environment variable for the configuration; nil for the
	// process's. Environ is what servers inherit, nil for the process's.
	Lookup  func(name string) (string, bool)
	Environ func() []string
	// HTTP sends requests; nil for the default transport.
	HTTP http.RoundTripper
	// Grace is how long the first session ever of a server waits for its tools; 0
	// for a second. Later ones have what is remembered and do not wait.
	Grace time.Duration
	// Backoff is the first pause after a failure; 0 for a second.
	Backoff time.Duration
	// CallWait is how long a call waits for a server that starts; 0 for 10 s.
	CallWait time.Duration
}

// Pool runs servers. It is safe for concurrent use. Close ends it.
type Pool struct {
	opts Options

	mu      sync.Mutex
	servers map[string]*server
	ending  sync.WaitGroup
	closed  bool
}

// NewPool makes a pool. It starts nothing.
func NewPool(o Options) *Pool {
	if o.Version == "" {
		o.Version = "unknown"
		if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
			o.Version = info.Main.Version
		}
	}
	if o.Lookup == nil {
		o.Lookup = os.LookupEnv
	}
	if o.Environ == nil {
		o.Environ = os.Environ
	}
	if o.Grace <= 0 {
		o.Grace = time.Second
	}
	if o.Backoff <= 0 {
		o.Backoff = time.Second
	}
	if o.CallWait <= 0 {
		o.CallWait = callWait
	}
	return &Pool{opts: o, servers: map[string]*server{}}
}

// handle is one session's hold on a server.
type handle struct {
	*server
	pool *Pool
	once sync.Once
}

// acquire gets a server, and starts it if nobody has it.
func (p *Pool) acquire(cfg Server, place Place) *handle {
	key := cfg.key(place)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	s, ok := p.servers[key]
	if !ok {
		s = newServer(cfg, place, key, p.opts)
		p.servers[key] = s
	}
	s.refs++
	return &handle{server: s, pool: p}
}

// subscribe has tell called after every change, never twice at the same time for
// one server.
func (h *handle) subscribe(tell func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subs[h] = tell
}

// release gives a server back; the last one ends it, without waiting for that.
func (h *handle) release() {
	h.once.Do(func() {
		h.mu.Lock()
		delete(h.subs, h)
		h.mu.Unlock()
		p := h.pool
		p.mu.Lock()
		defer p.mu.Unlock()
		if h.refs--; h.refs > 0 {
			return
		}
		delete(p.servers, h.key)
		h.stop()
		p.ending.Go(func() { <-h.done })
	})
}

// peek is a server that runs already, or nil.
func (p *Pool) peek(key string) *server {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.servers[key]
}

// Close ends all servers and waits for them.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	for key, s := range p.servers {
		delete(p.servers, key)
		s.stop()
		p.ending.Go(func() { <-s.done })
	}
	p.mu.Unlock()
	p.ending.Wait()
	return nil
}

// Status is how a server is doing, for people.
type Status struct {
	Server   Server
	State    State
	Reason   string // of Failed
	Version  string // what it calls itself
	Sessions int    // that use it
	Tools    []ToolInfo
}

// ToolInfo is a tool of a server, for people.
type ToolInfo struct {
	Name, Description string
	OnlyReads, Hidden bool
}

// Status lists the servers that run, by name.
func (p *Pool) Status() []Status {
	p.mu.Lock()
	all := make([]*server, 0, len(p.servers))
	for _, s := range p.servers {
		all = append(all, s)
	}
	p.mu.Unlock()
	out := make([]Status, 0, len(all))
	for _, s := range all {
		out = append(out, s.status())
	}
	slices.SortFunc(out, func(a, b Status) int {
		if a.Server.Name < b.Server.Name {
			return -1
		}
		return 1
	})
	return out
}
