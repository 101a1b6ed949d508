package agent

import (
	"context"
	"regexp"

	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
)

// Factory makes an extension for a session. A normal session constructs each of
// its factories once per engine, and again on reload; Chat Only constructs none
// (DESIGN, "Seams").
type Factory struct {
	// Name says whose tools these are: in notices, in `explain`, in errors. It is
	// one short word and unique in a program.
	Name string
	// Owns are tool names that only this extension may bring, such as those of the
	// control tools of subagents. A name of piweb's own tools cannot be owned.
	Owns []string
	// New constructs the extension. It must not wait for anything slow: what
	// comes later is offered through Env. An error leaves the extension out of
	// the session, with a notice; the session goes on. ctx ends with the call.
	New func(ctx context.Context, env Env) (Extension, error)
}

// Env is what an extension gets to know of its session. Its functions may be
// called at any time from any goroutine, also after Close; then they do nothing.
type Env struct {
	SessionID string
	// SessionFile is the path of the session's file. The file may not exist yet.
	SessionFile func() string
	CWD         string // the working folder, absolute
	AgentDir    string // the user's agent directory

	// Peek says that the session is only looked at, by `explain`: construct what
	// is declared, start no process, open no connection, write nothing.
	Peek bool

	// Admits asks the policy that is in force now about a tool of the extension.
	// The loop asks the same again for every call.
	Admits func(t policy.Tool) (ok bool, why string)
	// Offer replaces the tools of the extension by these. They join at the next
	// request, also in the middle of a run, those that the policy admits then. A
	// call of one that was taken back is refused at once.
	Offer func(tools ...Tool)
	// Notify tells a person something, in one short sentence.
	Notify func(text string)
}

// Extension is what a factory makes. Every field may be empty.
type Extension struct {
	// Tools are offered in this order, behind piweb's own, as far as the policy
	// admits them.
	Tools []Tool
	// Commands run when a person types "/name" at the start of a prompt.
	Commands []Command
	Hooks    Hooks
	// Left names what the extension left out, for `explain`.
	Left []LeftOut
	// Close ends the extension: at the swap of the engine and at the end of the
	// session. No call runs then.
	Close func() error
}

// LeftOut is something that was not loaded, and why.
type LeftOut struct {
	What, Why string
	// Wrong says that somebody meant it to be there and has to mend something: it is
	// told, and not only listed.
	Wrong bool
}

// Hooks see messages and calls, never the head or the declarations of tools. A
// nil hook is not asked.
type Hooks struct {
	// Prompt sees a user's message before it is accepted. What it returns is
	// recorded in front of it, in the same write. An error refuses the prompt.
	Prompt func(ctx context.Context, m *message.User) ([]*message.Custom, error)
	// Call judges a call behind the gates of the program: it can block or ask, and
	// cannot allow what was refused.
	Call Gate
	// Result changes a result in front of the program's gates for media, strip
	// and artifact, so nothing gets past them.
	Result ResultGate
	// Message is told of every message that was recorded. It must return soon.
	Message func(m message.Message)
}

// Command is a command of an extension.
type Command struct {
	Name        string // without "/": lower-case letters, digits, "-", "_" and ":"
	Description string // one line
	Hint        string // what its arguments are, for people, or ""
	// Run gets what stands behind the name, trimmed.
	Run func(ctx context.Context, args string) (CommandResult, error)
}

// CommandResult is what a command leads to: a prompt for the model, or words for
// the person, or nothing.
type CommandResult struct {
	Prompt string
	Notice string
}

// traits is a tool that says more of itself than its name.
type traits interface {
	// Traits is what the policy is asked about: Name is the tool's own.
	Traits() policy.Tool
}

// PolicyTool is what a policy is asked about a tool.
func PolicyTool(t Tool) policy.Tool {
	p := policyTool(t.Declaration().Name)
	if x, ok := t.(traits); ok && !p.Builtin {
		more := x.Traits()
		p.MCP, p.OnlyReads, p.Changes = more.MCP, more.OnlyReads, more.Changes
	}
	return p
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// ValidToolName tells whether every provider takes a tool of this name.
func ValidToolName(name string) bool { return toolName.MatchString(name) }

var commandName = regexp.MustCompile(`^[a-z0-9][a-z0-9:_-]{0,63}$`)

// ValidCommandName tells whether a person can type a command of this name.
func ValidCommandName(name string) bool { return commandName.MatchString(name) }
