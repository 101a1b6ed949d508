package tool

import (
	"encoding/json"
	"os"
	"slices"

	"github.com/piweb-go/piweb/media"
	"github.com/piweb-go/piweb/message"
)

// Tool is a built-in tool: a [Runner] with what the rest of piweb wants to know
// about it.
type Tool interface {
	Runner
	// Snippet is the one line that a composed prompt says of the tool.
	Snippet() string
	// Guidelines are rules that a composed prompt adds while the tool is
	// offered. There may be none.
	Guidelines() []string
	// Prepare turns the spellings that models are known to use into declared
	// ones. Call it before [Check]; Run calls it again, to no effect. Arguments
	// that it does not understand come back as they are.
	Prepare(args json.RawMessage) json.RawMessage
}

// Options is what the tools of a set need from outside. The zero value works.
type Options struct {
	// Home is what a leading ~ of a path stands for; "" for the user's home.
	Home string

	// ShellPath is the shell of bash, from the setting shellPath; "" to look
	// for one.
	ShellPath string

	// ShellCommandPrefix is put on a line before each command, from the
	// setting shellCommandPrefix.
	ShellCommandPrefix string

	// TempDir takes the whole outputs of bash while no sink does; "" for the
	// system's.
	TempDir string

	// Environ is the environment that commands start from, without the session's
	// part; nil for the process's own. Secrets of piweb are left out of it. With
	// Home, it leads grep and find to the user's configuration of git.
	Environ func() []string

	// Pictures admits the pictures that read finds. Share one among all sets of
	// a process; nil for one of this set with the default limits.
	Pictures *media.Admitter

	// Locks keeps two calls from changing one file at the same time. Share one
	// table among all sets of a process; nil for a table of this set.
	Locks *Locks
}

// withDefaults fills what was left open, once per set.
func (o Options) withDefaults() Options {
	if o.Home == "" {
		o.Home, _ = os.UserHomeDir() // without a home, ~ stays a name
	}
	if o.TempDir == "" {
		o.TempDir = os.TempDir()
	}
	if o.Environ == nil {
		o.Environ = os.Environ
	}
	if o.Pictures == nil {
		o.Pictures = media.NewAdmitter(media.Limits{})
	}
	if o.Locks == nil {
		o.Locks = &Locks{}
	}
	return o
}

// builtin is one row of the table of tools.
type builtin struct {
	name  string
	build func(Options) Tool
}

// builtins lists the tools in pi's order.
func builtins() []builtin {
	return []builtin{
		{"read", func(o Options) Tool { return NewRead(o) }},
		{"bash", func(o Options) Tool { return NewBash(o) }},
		{"edit", func(o Options) Tool { return NewEdit(o) }},
		{"write", func(o Options) Tool { return NewWrite(o) }},
		{"grep", func(o Options) Tool { return NewGrep(o) }},
		{"find", func(o Options) Tool { return NewFind(o) }},
		{"ls", func(o Options) Tool { return NewLs(o) }},
	}
}

// Names returns the names of the built-in tools in pi's order.
func Names() []string {
	var names []string
	for _, b := range builtins() {
		names = append(names, b.name)
	}
	return names
}

// Lookup returns the constructor of a built-in tool. Tools that are built one
// by one share a lock table only if Options.Locks is set.
func Lookup(name string) (build func(Options) Tool, ok bool) {
	for _, b := range builtins() {
		if b.name == name {
			return b.build, true
		}
	}
	return nil, false
}

// Builtin builds all built-in tools in pi's order.
func Builtin(opts Options) []Tool {
	opts = opts.withDefaults()
	var tools []Tool
	for _, b := range builtins() {
		tools = append(tools, b.build(opts))
	}
	return tools
}

// described is the part of a tool that comes from its prose.
type described struct {
	decl       message.ToolDeclaration
	snippet    string
	guidelines []string
}

// Declaration is what the model is told.
func (d *described) Declaration() message.ToolDeclaration { return d.decl }

// Snippet is the tool's line in a composed prompt.
func (d *described) Snippet() string { return d.snippet }

// Guidelines are the tool's rules in a composed prompt.
func (d *described) Guidelines() []string { return slices.Clone(d.guidelines) }

// fileTool is what the tools have in common whose first argument is a path.
type fileTool struct {
	described
	opts Options
}

func newFileTool(name string, opts Options) fileTool {
	return fileTool{described: describe(name), opts: opts.withDefaults()}
}

// Prepare accepts the other names that models give to path.
func (t *fileTool) Prepare(args json.RawMessage) json.RawMessage {
	return Coerce(t.decl, renamePath(args))
}
