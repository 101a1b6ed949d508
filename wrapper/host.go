package wrapper

import (
	"context"
	"time"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/compact"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/resource"
	"github.com/piweb-go/piweb/session"
)

// Host gives a live session what it needs from the program around it.
// Implementations are safe for concurrent use.
type Host interface {
	// Settings is the defaultTools setting for a folder.
	Settings(cwd string) (policy.Setting, error)
	// Resources reads the texts that a policy lets in.
	Resources(ctx context.Context, cwd string, loads policy.Loads) (Resources, error)
	// Tools constructs built-in tools for a folder; names that this program does
	// not have are left out.
	Tools(cwd string, names []string) ([]agent.Tool, error)
	// Extensions are the factories that a normal session of a folder constructs.
	// It is asked only if a policy loads extensions.
	Extensions(cwd string, loads policy.Loads) []agent.Factory
	// Model picks and opens the model for a session.
	Model(ctx context.Context, want ModelWish) (Chosen, error)
}

// ModelWish says which model a session would like.
type ModelWish struct {
	CWD      string
	Explicit string            // asked for by the caller: "provider/id" or "id"; must be had
	Session  *session.ModelRef // last used by the session; had if possible
	Thinking string            // asked for by the caller, "" for none
	Level    string            // last used by the session, "" for never
}

// Chosen is the model that a session gets.
type Chosen struct {
	Model    agent.Model
	Thinking string // a level that the model has
	Record   bool   // write the choice into the file
	Notice   string // why it is not what was wished for, or ""
	Conduct  Conduct
}

// Conduct is how a session's runs go with its model: what the settings say of
// retries and queues. The zero value tries nothing again.
type Conduct struct {
	Retry              agent.Retry
	Steering, FollowUp QueueMode
	Compaction         compact.Settings
	Picture            func(message.Block) int // tokens that an image block takes; nil counts a fixed number
}

// Resources are the texts that were read for a session.
type Resources struct {
	ContextFiles []resource.ContextFile
	System       *resource.ContextFile // SYSTEM.md
	Append       *resource.ContextFile // APPEND_SYSTEM.md
	Skills       []resource.Skill
	Templates    []resource.Template
	Also         []policy.SourceHash // files that extensions read, to notice changes
	Left         []resource.Omission // what was left out, and why
}

// Options are the settings of a registry.
type Options struct {
	Session session.Options
	// IdleTimeout closes a session that nobody used for so long; 0 never does.
	IdleTimeout time.Duration
	Gates       agent.Gates
	Pictures    Pictures
	// Attachments judges calls, frees results and makes prompts of files; nil for a
	// program without attachments.
	Attachments Attachments
	AgentDir    string // told to extensions
	// Outputs keeps whole outputs of tools beside a session's file; nil for nothing.
	Outputs func(sessionFile string) agent.Outputs
	// Mentions resolves what a user's own text names, before anything is put in its
	// place; nil leaves the text as it is.
	Mentions func(ctx context.Context, at Place, text string) Mentioned
	MaxTurns int
	// Ask, if not nil, decides on asked calls in place of whoever listens.
	Ask func(ctx context.Context, q agent.Question) (bool, error)
	// AskTimeout is how long a question waits while nobody is there; 0 for two
	// minutes.
	AskTimeout time.Duration
}
