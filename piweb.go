// Package piweb is a session-policy runtime for coding agents: it opens the
// session files of pi, restores what each session may do, asks a model under
// exactly that policy, and records what happened.
//
//	rt, err := piweb.New(piweb.Config{Providers: providers})
//	s, err := rt.Open(ctx, "…/session.jsonl", piweb.OpenOptions{})
//	turn, err := s.Prompt(ctx, piweb.Input{Text: "what did we decide?"})
//	err = turn.Wait(ctx)
//
// The package wires the rooms below it and has no rules of its own: what a
// session may do is decided by package policy from the session's file, a live
// session is package wrapper's, and a provider is linked only if the program
// registers it (package agent/model). [Runtime.Explain] shows the five steps of
// any session file without touching it: read, decide, load, ask, record.
package piweb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/piweb-go/piweb/account"
	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/model"
	"github.com/piweb-go/piweb/completion"
	"github.com/piweb-go/piweb/config"
	"github.com/piweb-go/piweb/internal/owner"
	"github.com/piweb-go/piweb/media"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/session/catalog"
	"github.com/piweb-go/piweb/subagent"
	"github.com/piweb-go/piweb/toolselect"
	"github.com/piweb-go/piweb/wrapper"
)

// The types of a live session, named here for embedders.
type (
	Session     = wrapper.Session
	OpenOptions = wrapper.OpenOptions
	Input       = wrapper.Input
	Turn        = wrapper.Turn
	Event       = wrapper.Event
	Changed     = wrapper.Changed
	Picture     = media.Admitted
)

// Config says where a runtime finds what the user has set up. The zero value
// with a registry of providers is right for programs.
type Config struct {
	// AgentDir is pi's agent directory; "" for $PI_CODING_AGENT_DIR, else
	// ~/.pi/agent.
	AgentDir string
	// SessionDir is a flat folder of sessions; "" for what variables and settings
	// say, else <AgentDir>/sessions with a folder per project.
	SessionDir string
	// Providers are the wires that the program speaks. Without any, only
	// `explain` and the changes of tools work.
	Providers model.Registry
	// Lookup reads an environment variable; nil for the process's.
	Lookup func(name string) (string, bool)
	// Home is the user's home folder; "" for the system's.
	Home string
	// IdleTimeout closes live sessions that nobody used for so long; 0 never.
	IdleTimeout time.Duration
	// Extensions are constructed for every normal session and every subagent that
	// may have extensions, in this order; for Chat Only none of them is.
	Extensions []agent.Factory
	// NoMCP switches the servers of mcp.json off for all sessions.
	NoMCP bool
	// Pictures bounds pictures; zero fields take the defaults.
	Pictures media.Limits
	// Externalize says when large pictures go to blobs of their own; "" for what
	// piweb.json of the agent directory says, else "auto".
	Externalize config.Externalize
	// Gates judge tool calls, besides the policy.
	Gates agent.Gates
	// Ask decides on calls that a gate wants asked, in place of those who listen
	// to the session.
	Ask func(ctx context.Context, q agent.Question) (bool, error)
	// AskTimeout is how long such a call waits while nobody is there who could
	// answer; 0 for two minutes.
	AskTimeout time.Duration
	// Confine keeps the file tools of every session to its working folder and
	// leaves out bash, which cannot be kept to one.
	Confine bool
	// MaxTurns ends a prompt that goes on and on; 0 for no limit.
	MaxTurns int
	// Companions follow a session where it goes: copied by a fork, moved with it,
	// removed with it. They come after those of this package's own rooms.
	Companions []session.Companion
	// Attachments says where files are kept that travel by reference.
	Attachments AttachmentConfig
	// Reachable lets other programs of the same user ask this one for what they want
	// done with a session that it holds for writing, instead of refusing them. For
	// programs that run for long.
	Reachable bool
	// Completion are providers of completion besides our own; see
	// [Runtime.Completion].
	Completion []completion.Provider
	// Session injects clock, randomness and file system. Its Progress is told of lists
	// of sessions, too.
	Session session.Options
}

// Runtime holds the live sessions of a program. It is safe for concurrent use.
type Runtime struct {
	host       *host
	registry   *wrapper.Registry
	session    session.Options
	companions []session.Companion // see host.companions
	mentions   *mentions
	roots      *roots
	favorites  *Favorites

	subagents        *subagent.Manager
	nursery          *nursery
	subagentSettings *subagent.SettingsFile

	attachments *attachments
	attached    *companion
	memories    *memories
	owners      *account.Owners

	mu         sync.Mutex
	catalogues map[string]*catalog.Catalogue // by root
	notes      map[string][]string           // by file: what its session is told when it is opened

	doorMu  sync.Mutex
	door    *owner.Door // where others ask; nil for nowhere
	doorErr error
	closed  bool
}

// New makes a runtime. It reads nothing but piweb.json and starts nothing but the clock
// that closes idle sessions. Close ends it.
func New(cfg Config) (*Runtime, error) {
	h, err := newHost(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Session.Recent == nil {
		cfg.Session.Recent = session.NewRecent(recentEntries)
	}
	if cfg.Session.IndexDir == "" {
		cfg.Session.IndexDir = filepath.Join(h.agentDir, "piweb", "index")
	}
	if cfg.Session.Outgoing == nil {
		cfg.Session.Outgoing = h.mover.outgoing
	}
	r := &Runtime{host: h, roots: newRoots(h.agentDir), favorites: newFavorites(h.agentDir), attachments: newAttachments(h, cfg.Attachments), catalogues: map[string]*catalog.Catalogue{}}
	h.files = r.attachments
	r.memories = &memories{h: h}
	h.remembers = r.memories
	r.owners = account.OpenOwners(h.agentDir)
	h.owners = r.owners
	r.attached = &companion{a: r.attachments, others: r.sameID}
	r.companions = h.companions(cfg, r.attached)
	r.subagentSettings = subagent.NewSettingsFile(h.agentDir, nil)
	r.nursery = &nursery{rt: r, trees: map[string]family{}}
	r.subagents = subagent.New(r.nursery, subagent.Options{Settings: r.subagentSettings})
	h.own = append(h.own, r.subagents.Extension())
	if r.mentions, err = newMentions(r, cfg.Completion); err != nil {
		return nil, err
	}
	if cfg.Session.Lease.Dir == "" {
		cfg.Session.Lease.Dir = filepath.Join(h.agentDir, "piweb", "leases")
	}
	if cfg.Reachable {
		cfg.Session.Lease.Announce = r.openDoor
	}
	r.session = cfg.Session
	r.registry = wrapper.NewRegistry(h, wrapper.Options{
		Session:     cfg.Session,
		IdleTimeout: cfg.IdleTimeout,
		AgentDir:    h.agentDir,
		Gates:       cfg.Gates,
		Attachments: r.attachments,
		Outputs:     h.keepOutputs,
		Mentions:    r.mentions.resolve,
		Pictures:    wrapper.Pictures{Admitter: h.pictures, Open: h.opener},
		MaxTurns:    cfg.MaxTurns,
		Ask:         cfg.Ask,
		AskTimeout:  cfg.AskTimeout,
	})
	return r, nil
}

// recentEntries is how many entries of session files are remembered after a look at
// them; they take some 40 MB at most.
const recentEntries = 1 << 17

// Close ends all live sessions: running prompts are aborted and kept as far as
// they came. MCP servers end.
func (r *Runtime) Close() error {
	r.subagents.Close()
	return errors.Join(r.registry.Close(), r.closeDoor(), r.mentions.files.Close(), r.host.closeServers(), r.memories.close())
}

// AgentDir is where the user's configuration and sessions are.
func (r *Runtime) AgentDir() string { return r.host.agentDir }

// Config reads the configuration that holds in a working folder.
func (r *Runtime) Config(cwd string) *config.Config { return r.host.config(cwd) }

// SessionRoot is the folder that holds the sessions of a working folder.
func (r *Runtime) SessionRoot(cwd string) config.SessionRoot { return r.host.config(cwd).Sessions }

// Catalogue knows the sessions that a working folder's configuration points to.
// What it remembers of them lies in <agent directory>/piweb and may be deleted at
// any time.
func (r *Runtime) Catalogue(cwd string) *catalog.Catalogue {
	root := r.SessionRoot(cwd).Dir
	r.mu.Lock()
	defer r.mu.Unlock()
	c, ok := r.catalogues[root]
	if !ok {
		c = catalog.Open(root, filepath.Join(r.host.agentDir, "piweb"), catalog.Options{Progress: r.session.Progress})
		r.catalogues[root] = c
	}
	return c
}

// Find resolves what a person calls a session: a path, an id, or the beginning
// of an id. cwd is the folder that the question comes from; its own sessions go
// before those of others.
func (r *Runtime) Find(cwd, ref string) (string, error) {
	return r.Catalogue(cwd).Find(context.Background(), cwd, ref)
}

// Sessions lists all sessions, the newest first.
func (r *Runtime) Sessions(ctx context.Context, cwd string) ([]catalog.Info, error) {
	page, err := r.Catalogue(cwd).List(ctx, catalog.Filter{})
	return page.Infos, err
}

// Open starts the live session of a file, or returns the one that is live.
func (r *Runtime) Open(ctx context.Context, path string, o OpenOptions) (*Session, error) {
	s, err := r.registry.Open(ctx, path, o)
	if err == nil {
		r.roots.remember(filepath.Dir(path))
		r.tellKept(s)
	}
	return s, err
}

// Create starts a session in a working folder. It has no file before its first
// prompt.
func (r *Runtime) Create(ctx context.Context, cwd string, o OpenOptions) (*Session, error) {
	abs, err := filepath.Abs(cwd)
	if err != nil {
		return nil, fmt.Errorf("create session: %w", err)
	}
	root := r.SessionRoot(abs)
	r.roots.remember(root.Dir)
	dir := root.Dir
	if !root.Custom {
		dir = filepath.Join(dir, session.DirName(abs))
	}
	return r.registry.Create(ctx, session.NewSession{Dir: dir, CWD: abs}, o)
}

// SetTools changes what the session of a file has chosen, live or not. Of the
// options only CWD counts, for a session without a folder.
func (r *Runtime) SetTools(ctx context.Context, path string, sel toolselect.Selection, o OpenOptions) (Changed, error) {
	s, live := r.registry.Live(path)
	if !live || !s.Log().Held() {
		if c, done, err := r.handedTools(ctx, path, sel, o); done {
			return c, err
		}
	}
	if !live {
		var err error
		if s, err = r.Open(ctx, path, OpenOptions{CWD: o.CWD}); err != nil {
			return Changed{}, err
		}
		defer r.registry.Release(s)
	}
	return s.SetTools(ctx, sel)
}

// handedTools lets the program that holds a session change its tools. What that
// means is read from the file, which has the last word.
func (r *Runtime) handedTools(ctx context.Context, path string, sel toolselect.Selection, o OpenOptions) (c Changed, done bool, err error) {
	entry, err := sel.Payload()
	if err != nil {
		return c, true, err
	}
	var res toolsResult
	if done, err = r.handed(ctx, path, askTools, toolsBody{entry.Data, o.CWD}, &res); !done || err != nil {
		return c, done, err
	}
	c.Appended, c.Recreated = res.Appended, res.Recreated
	c.Policy, c.Trail, err = r.Decide(path, o.CWD)
	return c, true, err
}

// Live returns the live session of a file, if there is one, and starts nothing.
func (r *Runtime) Live(path string) (*Session, bool) { return r.registry.Live(path) }

// LiveSessions lists the live sessions.
func (r *Runtime) LiveSessions() []*Session { return r.registry.Sessions() }

// Release closes a live session and gives its file back.
func (r *Runtime) Release(s *Session) error { return r.registry.Release(s) }

func userHome(cfg Config) (string, error) {
	if cfg.Home != "" {
		return filepath.Abs(cfg.Home)
	}
	home, err := os.UserHomeDir()
	if err != nil && cfg.AgentDir == "" {
		lookup := cfg.Lookup
		if lookup == nil {
			lookup = os.LookupEnv
		}
		if dir, ok := lookup(config.EnvAgentDir); !ok || dir == "" {
			return "", fmt.Errorf("find the home folder: %w; set $HOME, or name the agent directory with $%s", err, config.EnvAgentDir)
		}
	}
	return home, nil // "" where there is none: nothing of ours needs it then
}
