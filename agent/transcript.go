package agent

import (
	"context"
	"encoding/json"

	"github.com/piweb-go/piweb/agent/tool"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
)

// Transcript is where a conversation is recorded. *session.Session is one.
type Transcript interface {
	// Context is the context of the leaf.
	Context() (*session.Context, error)
	// Append records entries below the leaf in one write.
	Append(...session.Payload) ([]session.ID, error)
	// Commit is Append and Sync; if the sync fails, the entries are taken back.
	Commit(...session.Payload) ([]session.ID, error)
	// Sync makes what was appended survive a power cut.
	Sync() error
}

// Tool is what the loop needs of a tool.
type Tool interface {
	Declaration() message.ToolDeclaration
	Sequential() bool
	Run(ctx context.Context, call *tool.Call) (tool.Result, error)
}

// Decision is what a gate says of a call.
type Decision int

// The decisions.
const (
	Allow Decision = iota
	Block
	Ask // wait for a person's answer
)

// Verdict is a decision with its reason. The model is told the reason of a
// blocked call; a person is shown the reason of an asked one.
type Verdict struct {
	Decision Decision
	Reason   string
}

// Question is a call on which a person decides.
type Question struct {
	CallID    string
	Tool      string
	Arguments json.RawMessage
	Reason    string
}

// Gate judges a call before it runs.
type Gate func(ctx context.Context, call *tool.Call) Verdict

// ResultGate changes a result before it is recorded. An error becomes the
// result.
type ResultGate func(ctx context.Context, call *tool.Call, r tool.Result) (tool.Result, error)

// Gates are the gates of a session, in the order of their fields. The policy
// gate stands before all of them and cannot be left out. A nil gate passes; the
// pictures of every result are admitted also where Media is nil.
type Gates struct {
	Owner    Gate
	Budget   Gate
	Media    ResultGate
	Strip    ResultGate
	Artifact ResultGate
}
