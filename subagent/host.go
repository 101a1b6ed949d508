package subagent

import (
	"context"
	"errors"

	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/resource"
	"github.com/piweb-go/piweb/session"
)

// Host is what the program around gives a [Manager]: the sessions themselves.
// Sessions are named by the path of their file. Implementations are safe for
// concurrent use.
type Host interface {
	// Parent looks at the session that delegates, which is opened if it is not
	// live.
	Parent(ctx context.Context, path string) (Parent, error)
	// Place is where profiles and trust are looked up for a working folder.
	Place(cwd string) resource.Place
	// PickModel resolves "provider/id" or a bare id to one that can be used.
	PickModel(ctx context.Context, cwd, name string) (string, error)
	// Dispatch makes a child: its file holds the first entries, durable, when it
	// returns, and nothing runs. A parent without a file gets one.
	Dispatch(ctx context.Context, d Dispatch) (Child, error)
	// Reopen opens a child again.
	Reopen(ctx context.Context, path string) (Child, error)
	// Tree lists the files of everything that was started below a session's root.
	Tree(ctx context.Context, path string) (Tree, error)
	// Deliver hands a notice to a parent: into its running turn, or as the
	// beginning of one. ErrNotHere where the parent is neither live nor was closed
	// for idleness by this process.
	Deliver(ctx context.Context, path string, notice session.CustomMessage) error
	// Record appends entries to a session that no model sees, and makes them
	// durable.
	Record(ctx context.Context, path string, entries ...session.Payload) error
	// NameOutput gives the address that the answers of a new child of a parent will
	// have, once and for nobody else. name is what somebody called it.
	NameOutput(parent, name string) (url string, err error)
	// KeepOutput keeps the whole answer of a child under its address, durable, beside
	// its parent and beside those over it that the address names. An earlier answer
	// is replaced.
	KeepOutput(parent, url, text string) error
	// Look reads a session's file, live or not. It does not start it.
	Look(path string, do func(View) error) error
}

// ErrNotHere says that a parent is not this process's to wake.
var ErrNotHere = errors.New("the parent is not live here")

// Parent is what a start needs to know of the session that delegates.
type Parent struct {
	ID, Path, CWD  string
	Kind           policy.Kind
	OnlyReads      bool   // tools were chosen for it that only read
	Model          string // "provider/id" in use
	Thinking       string
	Messages       []message.Message // of its current branch
	ExtensionTools []ExtensionTool   // that it has now
}

// ExtensionTool is a tool of an extension of the parent.
type ExtensionTool struct {
	Name string
	From string // name of the extension or of the MCP server
}

// Dispatch is a child that is to be made.
type Dispatch struct {
	Parent   Parent
	CWD      string
	First    []session.Payload
	Model    string
	Thinking string
}

// Tree is a root session and all that was started below it.
type Tree struct {
	Root     string   // path of its file
	Depth    int      // of the session that was asked about; 0 for the root
	Children []string // files of all children, of every depth
}

// Child is a live child.
type Child interface {
	ID() string
	Path() string
	// Record appends entries and makes them durable, also while it runs.
	Record(ctx context.Context, entries ...session.Payload) error
	// Prompt starts a run; wait waits for its end. guard is asked before each
	// further request of the run, from 1 on: what it says is put in front of it as
	// a message, and an error ends the run.
	Prompt(ctx context.Context, text string, guard func(answers int) (say string, err error)) (wait func(context.Context) error, err error)
	// Steer says something into a running run.
	Steer(ctx context.Context, text string) error
	Abort() bool
	// Look reads the child's file.
	Look(do func(View) error) error
	// Release gives the child back; it is closed when nobody uses it.
	Release()
}
