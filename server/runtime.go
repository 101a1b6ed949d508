package server

import (
	"context"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/account"
	"github.com/piweb-go/piweb/attachment"
	"github.com/piweb-go/piweb/completion"
	"github.com/piweb-go/piweb/completion/files"
	"github.com/piweb-go/piweb/config"
	"github.com/piweb-go/piweb/media"
	"github.com/piweb-go/piweb/memory"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/server/wire"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/session/catalog"
	"github.com/piweb-go/piweb/subagent"
	"github.com/piweb-go/piweb/wrapper"
)

var _ Runtime = (*piweb.Runtime)(nil)

// Runtime is what the server needs of the program's sessions. *piweb.Runtime is
// one.
type Runtime interface {
	AgentDir() string
	// Owners knows which session is whose.
	Owners() *account.Owners
	// Memory keeps what was said beyond sessions, or is nil where it is off.
	Memory() (*memory.Service, error)
	Config(cwd string) *config.Config
	// Catalogue knows the session files.
	Catalogue(cwd string) *catalog.Catalogue
	// Create starts a session in a folder; it has no file yet.
	Create(ctx context.Context, cwd string, o piweb.OpenOptions) (*piweb.Session, error)
	// Open starts the session of a file, or returns the one that is live.
	Open(ctx context.Context, path string, o piweb.OpenOptions) (*piweb.Session, error)
	// Look opens a file for reading.
	Look(path string) (*session.Session, error)
	// Live returns the live session of a file and starts nothing.
	Live(path string) (*piweb.Session, bool)
	// LiveSessions lists the live sessions.
	LiveSessions() []*piweb.Session
	// Fork makes a new session of one, Clone of the branch that it is on.
	Fork(ctx context.Context, path string, o piweb.ForkOptions) (piweb.Forked, error)
	Clone(ctx context.Context, path string, o piweb.ForkOptions) (piweb.Forked, error)
	// SetLabel names an entry of a session.
	SetLabel(ctx context.Context, path string, target session.ID, label string) error
	// Delete moves a session and its subagents to the trash; Trashed lists what is
	// there, Restore brings one back.
	Delete(ctx context.Context, path string) ([]session.Trashed, error)
	Trashed(cwd string) ([]session.Trashed, error)
	Restore(ctx context.Context, cwd, ref string) ([]session.Trashed, error)
	// Collect finds what no session names any more.
	Collect(ctx context.Context, cwd string, o piweb.CollectOptions) (piweb.Collected, error)
	// Favorites are what the user marked.
	Favorites() *piweb.Favorites
	// Release stops a live session; its file stays.
	Release(s *piweb.Session) error
	// Completion knows who completes what in messages.
	Completion() *completion.Registry
	// CompletionScope says whose question it is that is typed in a session: live, or
	// the file at path.
	CompletionScope(path string, live *piweb.Session) (completion.Scope, error)
	// Preview is the beginning of a file that a message may name.
	Preview(s completion.Scope, id string) (files.Preview, error)
	// PictureData is the file of a picture that a block of a session's file holds or
	// refers to.
	PictureData(ctx context.Context, sessionFile string, b message.Block) ([]byte, error)
	// Thumb makes a small picture.
	Thumb(ctx context.Context, data []byte) (media.Thumb, error)
	// Attachments is the store of attachments, or nil where they are off.
	Attachments() (*attachment.Store, error)
	// Subagents start and look after the children of sessions.
	Subagents() *piweb.Subagents
	// TreeUsage adds up what a session and the subagents below it have used.
	TreeUsage(ctx context.Context, path string) (piweb.TreeUsage, error)
	// SubagentSettings are the switches of subagents.
	SubagentSettings() *subagent.SettingsFile
	// Decide resolves the policy of a file and loads nothing.
	Decide(path, cwd string) (policy.Policy, policy.Trail, error)
	// Explain says of a file what a live session would do.
	Explain(ctx context.Context, path string, o piweb.ExplainOptions) (*piweb.Explanation, error)
	// ExplainLive says it of a live session, also of one that has no file yet.
	ExplainLive(ctx context.Context, s *piweb.Session, o piweb.ExplainOptions) (*piweb.Explanation, error)
	// Loaded says what a live session has loaded; LookAtSession what the session of
	// a file would, without starting anything.
	Loaded(ctx context.Context, s *piweb.Session) (piweb.Loaded, error)
	LookAtSession(ctx context.Context, path string) (piweb.Loaded, error)
	// SetTrust records a person's decision about a folder.
	SetTrust(cwd string, decision *bool) (piweb.Trust, error)
}

// events are a subscription to the events of a session.
type events interface {
	Next(ctx context.Context) (wrapper.Event, error)
	Close()
}

// source is the part of a live session that a feed follows.
type source interface {
	subscribe(from uint64) events
	running() bool
	closed() bool
	policy() wire.Policy
	attend() (leave func()) // somebody is there who could answer
}
