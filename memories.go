package piweb

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/attachment/handle"
	"github.com/piweb-go/piweb/config"
	"github.com/piweb-go/piweb/extension/recall"
	"github.com/piweb-go/piweb/gc"
	"github.com/piweb-go/piweb/memory"
	"github.com/piweb-go/piweb/session/export"
)

// MemoryUser is the user of a program that knows only one, and of sessions that
// nobody owns.
const MemoryUser = "local"

// memoryUser is whose memories a session has: its owner's.
func (h *host) memoryUser(sessionFile string) (string, error) {
	owner, err := h.ownerOf(sessionFile)
	return cmp.Or(owner, MemoryUser), err
}

// memories are opened when they are first needed.
type memories struct {
	h *host

	mu      sync.Mutex
	service *memory.Service
	closed  bool
}

// dir is where memories are: they are primary state, which nothing can make again.
func (m *memories) dir() string { return filepath.Join(m.h.agentDir, "piweb-data", "memory") }

func (m *memories) open() (*memory.Service, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.service != nil || m.closed {
		return m.service, nil
	}
	own, problem := config.ReadOwn(m.h.agentDir)
	if problem != nil {
		return nil, fmt.Errorf("memory: %w", problem)
	}
	set := own.Memory
	if set.Off {
		return nil, nil
	}
	o := memory.Options{Dir: m.dir(), OpenSenders: set.Senders == "open", Aliases: map[string][]string{MemoryUser: set.Aliases}, StrictNames: set.StrictNames, Redact: func(text string) string {
		text, _ = export.Redactor{}.Redact(text)
		return text
	}}
	if set.Upstream != "" {
		o.Fallback = set.Fallback
		o.Upstream = &memory.UpstreamConfig{Kind: memory.Kind(set.Kind), URL: set.Upstream, Timeout: time.Duration(set.TimeoutSeconds) * time.Second, Retries: set.Retries}
		if set.TokenVariable != "" {
			token, ok := m.h.lookup(set.TokenVariable)
			if !ok || token == "" {
				return nil, fmt.Errorf("memory: the variable %s, which holds the key of the memory service, is not set; set it, or take memory.tokenVariable out of piweb.json", set.TokenVariable)
			}
			o.Upstream.Token = token
		}
	}
	var err error
	if m.service, err = memory.Open(context.Background(), o); err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	return m.service, nil
}

func (m *memories) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	if m.service == nil {
		return nil
	}
	err := m.service.Close()
	m.service = nil
	return err
}

// Memory keeps what was said beyond sessions, or is nil where that is switched off.
// The first call opens it, and makes it where there is none.
func (r *Runtime) Memory() (*memory.Service, error) { return r.memories.open() }

// recallTools are the tools remember and recall, where the user wants them.
func (h *host) recallTools() []agent.Factory {
	if own, _ := config.ReadOwn(h.agentDir); !own.Memory.Tools || own.Memory.Off || h.remembers == nil {
		return nil
	}
	return []agent.Factory{recall.Factory(recall.Options{
		User: h.memoryUser,
		Open: func() (recall.Store, error) {
			s, err := h.remembers.open()
			if s == nil {
				return nil, err // and not a nil of another type
			}
			return s, nil
		},
		Files: func(sessionID string) handle.Context {
			if h.files == nil {
				return handle.None{}
			}
			return h.files.scope(sessionID)
		},
	})}
}

// memoryRoot marks the attachments that memories name.
func (r *Runtime) memoryRoot() gc.Root {
	return gc.Texts(func(ctx context.Context) ([]string, error) {
		if !memory.Exists(r.memories.dir()) {
			return nil, nil
		}
		s, err := r.Memory()
		if err != nil {
			return nil, err
		}
		if s == nil { // it is switched off, and may be switched on again
			s, err = memory.Open(ctx, memory.Options{Dir: r.memories.dir()})
			if err != nil {
				return nil, err
			}
			defer s.Close()
		}
		return s.Named(ctx, recall.Scheme)
	})
}
