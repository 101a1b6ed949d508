package server

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"net/http"
	"net/netip"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/piweb-go/piweb/account"
	"github.com/piweb-go/piweb/internal/signed"
	"github.com/piweb-go/piweb/session/catalog"
)

// Config says what the server serves, and to whom. Runtime is
// required, and so is Token or Users.
type Config struct {
	Runtime Runtime
	// Page is the folder of the page, with an index.html on top; nil for none.
	Page fs.FS
	// InlineStyles lets the page set styles inside its markup. piweb's own page
	// does not need it; the built pages of others may.
	InlineStyles bool
	// Token lets a browser in by its link, and programs as bearer; who has it is an
	// administrator. "" where only Users are let in.
	Token string
	// Users are let in by tokens of their own, and see their own sessions; nil for
	// none.
	Users *account.Users
	// Secret gives what signs the cookies of browsers; it is asked once, when the first
	// browser comes. With the same one browsers stay signed in over restarts; nil for
	// one that ends with the program.
	Secret func() (string, error)
	// Limits bound what one client may use.
	Limits Limits
	// Proxies are addresses in front of the server. What they say about where a request
	// comes from is believed.
	Proxies []netip.Prefix
	// TLS serves over TLS; nil for plain HTTP. See [Certificate].
	TLS *tls.Config
	// Grace is how long turns that run may go on when the server stops, until they are
	// aborted; 0 aborts them at once. Either way what was answered is kept.
	Grace time.Duration
	// Hosts are names by which the server is reached besides the loopback ones,
	// with or without a port.
	Hosts []string
	// DefaultCWD is the folder of sessions that name none; "" for the process's.
	DefaultCWD string
	// DefaultSource is offered to the client as its source; "" offers none.
	DefaultSource string
	// HiddenProviders are not offered; a session may use one all the same.
	HiddenProviders []string
	// AttachmentOrigins are origins besides our own, such as "https://host", whose
	// pages may fetch the bytes of attachments by a signed address; "*" is all.
	AttachmentOrigins []string
	// NoManage takes away that sessions are deleted, renamed and marked.
	NoManage bool
	Version  string
	// Demo writes the demo project and its sessions. nil leaves the route out.
	Demo func(ctx context.Context) (Demo, error)
	// Log takes access and errors; nil for none.
	Log *slog.Logger
	Now func() time.Time // nil for time.Now

	Heartbeat    time.Duration // between signs of life on a stream; 0 for 15 s
	WriteTimeout time.Duration // for a client to take what it is sent; 0 for 15 s
	FeedBytes    int           // of frames that are kept per session; 0 for 8 MiB
	MaxStreams   int           // open at the same time; 0 for 256
}

// Demo is what a demo has made.
type Demo struct {
	Sessions []string `json:"sessions"` // ids
	CWD      string   `json:"cwd"`
}

// Server answers requests. It is safe for concurrent use.
type Server struct {
	cfg     Config
	rt      Runtime
	log     *slog.Logger
	cookies func() (*signed.Keys, error) // sign browsers in
	feeds   *feeds
	gallery *gallery
	index   *index
	stores  stores
	boards  boards
	listed  listVersions
	page    *page
	routes  router
	streams atomic.Int64
	seats   seats // streams of users
	metrics *metrics

	byAddress, byUser, byFailure *buckets

	requests atomic.Int64 // answered so far
	draining atomic.Bool
	times    times
}

// times are how long clients may take to send something.
type times struct{ header, body time.Duration }

// New makes a server. Close ends it; the runtime stays the caller's.
func New(cfg Config) (*Server, error) {
	if cfg.Runtime == nil {
		return nil, errors.New("server: no runtime was given")
	}
	if cfg.Token == "" && cfg.Users == nil {
		return nil, errors.New("server: no token was given; without one every program on the machine could use the sessions")
	}
	cwd, err := filepath.Abs(cfg.DefaultCWD)
	if err != nil {
		return nil, fmt.Errorf("server: default folder: %w", err)
	}
	cfg.DefaultCWD = cwd
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	defaultTo(&cfg.Heartbeat, 15*time.Second)
	defaultTo(&cfg.WriteTimeout, 15*time.Second)
	defaultTo(&cfg.FeedBytes, 8<<20)
	defaultTo(&cfg.MaxStreams, 256)
	s := &Server{cfg: cfg, rt: cfg.Runtime, log: cfg.Log, metrics: newMetrics(), times: times{10 * time.Second, bodyTime}}
	s.cookies = sync.OnceValues(func() (*signed.Keys, error) { return cookieKeys(cfg.Secret) })
	l := cfg.Limits.withDefaults()
	s.cfg.Limits = l
	s.byAddress, s.byUser, s.byFailure = newBuckets(l.AddressRate, l.AddressBurst), newBuckets(l.UserRate, l.UserBurst), newBuckets(l.FailedRate, l.FailedBurst)
	s.metrics.watch(s)
	s.feeds = newFeeds(cfg.Log, cfg.Now, cfg.FeedBytes)
	if s.gallery, err = newGallery(rand.Text()+rand.Text(), cfg.Now); err != nil {
		return nil, err
	}
	s.feeds.gallery = s.gallery
	s.boards.now, s.feeds.boards = cfg.Now, &s.boards
	s.index = newIndex(func() *catalog.Catalogue { return cfg.Runtime.Catalogue(cwd) })
	s.page = newPage(cfg.Page, cfg.InlineStyles)
	s.addRoutes()
	return s, nil
}

func defaultTo[T int | time.Duration](v *T, to T) {
	if *v <= 0 {
		*v = to
	}
}

// addRoutes lists all addresses below /api. Literal segments come before
// parameters.
func (s *Server) addRoutes() {
	rt := &s.routes
	rt.add("GET", "bootstrap", s.getBootstrap)
	rt.is(personal)
	rt.add("GET", "sessions", s.listSessions)
	rt.is(personal)
	rt.add("POST", "sessions", s.createSession)
	rt.is(personal)
	rt.add("POST", "sessions/rename", s.managed(s.renameSession))
	rt.is(personal)
	rt.add("GET", "search", s.searchSessions)
	rt.is(personal)
	rt.add("DELETE", "sessions/:id", s.stopSession)
	rt.add("GET", "sessions/:id/stream", s.streamSession)
	rt.add("GET", "sessions/:id/messages", s.getMessages)
	rt.add("GET", "sessions/:id/transcript", s.getTranscript)
	rt.add("POST", "sessions/:id/messages", s.sendMessage)
	rt.add("POST", "sessions/:id/abort", s.abortSession)
	rt.add("POST", "sessions/:id/steer", s.steer)
	rt.add("POST", "sessions/:id/follow_up", s.followUp)
	rt.add("POST", "sessions/:id/clear_queue", s.clearQueue)
	rt.add("POST", "sessions/:id/ui-response", s.answerAsk)
	rt.add("GET", "sessions/:id/usage", s.getUsage)
	rt.add("GET", "sessions/:id/stats", s.getStats)
	rt.add("POST", "sessions/:id/compact", s.compactSession)
	rt.add("POST", "sessions/:id/navigate", s.navigateSession)
	rt.add("GET", "sessions/:id/state", s.getState)
	rt.add("GET", "sessions/:id/attachments", s.listAttachments)
	rt.add("POST", "sessions/:id/attachments", s.uploadAttachment)
	rt.takesUploads()
	rt.add("GET", "sessions/:id/attachments/:attachmentId", s.getAttachment)
	rt.add("DELETE", "sessions/:id/attachments/:attachmentId", s.deleteAttachment)
	rt.add("GET", "settings", s.getSettings)
	rt.is(shared)
	rt.add("PUT", "settings", s.setSettings)
	rt.is(forAdmins)
	rt.add("GET", "models", s.folderModels)
	rt.is(shared)
	rt.add("GET", "sessions/:id/models", s.getModels)
	rt.add("POST", "sessions/:id/models", s.setModel)
	rt.add("POST", "sessions/:id/thinking", s.setThinking)
	rt.add("GET", "sessions/:id/tools", s.getTools)
	rt.add("PUT", "sessions/:id/tools", s.setTools)
	rt.add("DELETE", "sessions/:id/tools", s.clearTools)
	rt.add("GET", "sessions/:id/policy", s.getPolicy)
	rt.add("GET", "sessions/:id/resources", s.getResources)
	rt.add("POST", "sessions/:id/reload", s.reloadSession)
	rt.add("POST", "sessions/:id/trust", s.trustFolder)
	rt.is(forAdmins)
	rt.add("GET", "sessions/:id/subagents", s.listChildren)
	rt.add("POST", "sessions/:id/subagents", s.startChild)
	rt.add("GET", "sessions/:id/budget", s.getBudget)
	rt.add("PUT", "sessions/:id/budget", s.setBudget)
	rt.add("GET", "subagents/settings", s.getSubagentSettings)
	rt.is(shared)
	rt.add("PUT", "subagents/settings", s.setSubagentSettings)
	rt.is(forAdmins)
	rt.add("GET", "subagents/profiles", s.listProfiles)
	rt.is(shared)
	rt.add("PUT", "subagents/profiles", s.saveProfile)
	rt.is(forAdmins)
	rt.add("PATCH", "subagents/profiles", s.toggleProfile)
	rt.is(forAdmins)
	rt.add("DELETE", "subagents/profiles", s.deleteProfile)
	rt.is(forAdmins)
	rt.add("GET", "subagents/:id", s.getChild)
	rt.add("POST", "subagents/:id", s.tellChild)
	rt.add("GET", "sessions/:id/completion", s.complete)
	rt.add("GET", "sessions/:id/completion/triggers", s.getTriggers)
	rt.add("GET", "sessions/:id/completion/preview", s.previewFile)
	rt.add("GET", "sessions/:id/artifacts", s.listOutputs)
	rt.add("GET", "sessions/:id/artifacts/page", s.pageOutput)
	rt.add("GET", "sessions/:id/artifacts/search", s.searchOutput)
	rt.add("GET", "sessions/:id/artifacts/raw", s.rawOutput)
	rt.add("GET", "sessions/:id/heads/:sha256", s.getHead)
	s.addMemoryRoutes()
	s.addClientRoutes()
	s.addManageRoutes()
	s.addDocumentRoutes()
	if s.cfg.Demo != nil {
		rt.add("POST", "demo", s.makeDemo)
		rt.is(forAdmins)
	}
}

// Handler answers requests. Hosts are judged by the address at which a request
// came in, so it may be served by any http.Server.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serve) }

// quietTime is how long nobody asks before memory is given back.
const quietTime = 4 * time.Second

// giveBack returns memory to the system when a burst of requests is over. The
// runtime would keep it for the next one, which for a page that stays open all day
// may be hours away.
func (s *Server) giveBack(ctx context.Context) {
	tick := time.NewTicker(quietTime)
	defer tick.Stop()
	given, last := int64(-1), int64(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := s.requests.Load()
		if now == last && now != given {
			runtime.GC() // what pools keep goes with the second one
			debug.FreeOSMemory()
			given = now
		}
		last = now
	}
}

// Close ends the streams and takes no more sends. It may be called more than
// once.
func (s *Server) Close() {
	s.draining.Store(true)
	s.feeds.close()
}
