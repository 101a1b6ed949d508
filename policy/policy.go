package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/piweb-go/piweb/chatonly"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/toolselect"
)

// Kind is the sort of session that a policy makes.
type Kind string

// The kinds of policies.
const (
	ChatOnly Kind = "chat-only" // nothing pluggable, the exact context files as prompt
	Pinned   Kind = "pinned"    // exactly the pinned built-in tools; extensions load
	Open     Kind = "open"      // tools by transcript, settings or default
	Child    Kind = "child"     // a subagent under its snapshot
	Refused  Kind = "refused"   // nothing may run; see Err
)

// By names the rule that decided.
type By string

// The rules, in the order of their precedence.
const (
	BySnapshot   By = "snapshot"
	BySelection  By = "selection"
	ByRequest    By = "request"
	ByTranscript By = "transcript"
	BySettings   By = "settings"
	ByDefault    By = "default"
)

// Source is what decided a policy: a rule, and the entry that it read, if any.
type Source struct {
	By    By         `json:"by"`
	Entry session.ID `json:"entry,omitempty"`
}

func (s Source) String() string {
	if s.Entry == "" {
		return string(s.By)
	}
	return string(s.By) + " " + string(s.Entry)
}

// Loads says what may be loaded for the session.
type Loads struct {
	ContextFiles bool `json:"contextFiles"`
	SystemPrompt bool `json:"systemPrompt"` // SYSTEM.md
	AppendPrompt bool `json:"appendPrompt"` // APPEND_SYSTEM.md
	Skills       bool `json:"skills"`
	Templates    bool `json:"templates"`
	Extensions   bool `json:"extensions"`
	MCP          bool `json:"mcp"`
}

// PromptRule is a closed sum: how the head of every request is made.
type PromptRule struct {
	form promptForm
	text string
}

type promptForm int

const (
	composed promptForm = iota
	contextFiles
	exactText
)

// Composed is the rule of normal sessions: sections of piweb's own, from the
// tools that are in effect. appended is added text, or "".
func Composed(appended string) PromptRule { return PromptRule{composed, appended} }

// ContextFiles is the rule of Chat Only: exactly the context files.
func ContextFiles() PromptRule { return PromptRule{form: contextFiles} }

// ExactText is the rule of an exact prompt: these bytes and nothing else.
func ExactText(text string) PromptRule { return PromptRule{exactText, text} }

// Exact tells whether nothing may be added to the head.
func (r PromptRule) Exact() bool { return r.form != composed }

// IsContextFiles tells whether the head is exactly the context files.
func (r PromptRule) IsContextFiles() bool { return r.form == contextFiles }

// Text is the exact text, or the text that a composed head appends.
func (r PromptRule) Text() string { return r.text }

func (r PromptRule) String() string {
	switch r.form {
	case contextFiles:
		return "exactly the context files"
	case exactText:
		return fmt.Sprintf("exactly a given text of %d bytes", len(r.text))
	}
	if r.text != "" {
		return fmt.Sprintf("composed, with %d bytes appended", len(r.text))
	}
	return "composed from what is in effect"
}

// Policy is what a session may load, offer and send. It is a value: it can be
// compared with Equal and printed.
type Policy struct {
	Kind   Kind
	Source Source
	Tools  []string // the built-in tools, in the order of their declaration
	Loads  Loads
	Prompt PromptRule
	err    error
}

// Errors to match with errors.Is.
var (
	// ErrSnapshot: the session is a child and its snapshot is not valid.
	ErrSnapshot = errors.New("the subagent's policy snapshot is not valid")
	// ErrOverruled: tools were requested for a session that has its own choice.
	ErrOverruled = errors.New("the session's recorded choice overrules the requested tools")
)

// Err is why a session must not start, or nil.
func (p Policy) Err() error { return p.err }

// Equal tells whether two policies allow the same, for the same reason.
func (p Policy) Equal(o Policy) bool {
	return p.Kind == o.Kind && p.Source == o.Source && slices.Equal(p.Tools, o.Tools) &&
		p.Loads == o.Loads && p.Prompt == o.Prompt
}

func (p Policy) String() string {
	tools := "no built-in tools"
	if len(p.Tools) > 0 {
		tools = strings.Join(p.Tools, ", ")
	}
	return fmt.Sprintf("%s by %s: %s; prompt %s", p.Kind, p.Source, tools, p.Prompt)
}

// Tool is what Admits needs to know of a tool.
type Tool struct {
	Name      string
	Builtin   bool // one of piweb's own; anything else comes from an extension
	MCP       bool // it comes from an MCP server
	OnlyReads bool // it says of itself that it changes nothing
	Changes   bool // it is known to change something beyond the session
}

// Admits decides for every tool of the session, also for one that appears later,
// whether it may be offered and called, and says why not.
func (p Policy) Admits(t Tool) (ok bool, why string) {
	switch {
	case p.Kind == Refused:
		return false, "the session is refused: " + p.err.Error()
	case p.Kind == ChatOnly:
		return false, "the session is Chat Only"
	case slices.Contains(p.Tools, t.Name):
		return true, ""
	case t.Builtin:
		return false, fmt.Sprintf("the tool %q is not among the session's tools (%s)", t.Name, strings.Join(p.Tools, ", "))
	case p.Kind == Child && slices.Contains(reserved[:], t.Name):
		return false, fmt.Sprintf("a subagent may not use the control tool %q", t.Name)
	case p.Kind == Child:
		return false, fmt.Sprintf("the tool %q was not among the subagent's tools when it was started", t.Name)
	case t.MCP && !p.Loads.MCP:
		return false, fmt.Sprintf("the tool %q comes from an MCP server, and MCP servers are off", t.Name)
	case t.MCP && !t.OnlyReads && p.OnlyReads():
		return false, fmt.Sprintf("the session's tools only read, and its server does not say of the tool %q that it only reads", t.Name)
	case t.Changes && p.OnlyReads():
		return false, fmt.Sprintf("the session's tools only read, and the tool %q changes something", t.Name)
	case !p.Loads.Extensions:
		return false, fmt.Sprintf("the tool %q comes from an extension, and extensions are off", t.Name)
	}
	return true, ""
}

// OnlyReads tells whether somebody chose tools for the session that only read.
// Then a tool of an MCP server is admitted only if it says the same of itself, and one
// of ours that changes something is not.
func (p Policy) OnlyReads() bool {
	chosen := p.Kind == Pinned || p.Kind == Child
	changes := func(name string) bool { return !IsReader(name) }
	return chosen && len(p.Tools) > 0 && !slices.ContainsFunc(p.Tools, changes)
}

// readers are the tools of piweb that change nothing.
var readers = [...]string{"read", "grep", "find", "ls"}

// IsReader tells whether a tool of piweb changes nothing.
func IsReader(name string) bool { return slices.Contains(readers[:], name) }

// IsControl tells whether a name is that of a tool that controls subagents.
func IsControl(name string) bool { return slices.Contains(reserved[:], name) }

// reserved are the tools that control subagents; no child ever has them.
var reserved = [...]string{"Agent", "get_subagent_result", "steer_subagent"}

// everything is what a normal session may load.
var everything = loadsBut(chatonly.Switches{})

// builtinDefault is pi's default set.
func builtinDefault() []string {
	tools, _ := toolselect.PresetDefault.Tools()
	return tools
}
