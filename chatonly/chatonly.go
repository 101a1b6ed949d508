package chatonly

import (
	"strings"

	"github.com/piweb-go/piweb/resource"
)

// Switches lists what a session may be denied. True means that it is off: not
// loaded, not started, not even looked for. Switches can be compared.
type Switches struct {
	NoExtensions   bool // tools, commands, hooks; the modules are not imported
	NoSkills       bool
	NoTemplates    bool // prompt templates
	NoThemes       bool
	NoMCPServers   bool
	NoSystem       bool // SYSTEM.md
	NoAppendSystem bool // APPEND_SYSTEM.md
	NoContextFiles bool // AGENTS.md and its kin
}

// Off returns what is off in Chat Only: everything but context files
// (spec/policy.md §2.2).
func Off() Switches {
	return Switches{
		NoExtensions:   true,
		NoSkills:       true,
		NoTemplates:    true,
		NoThemes:       true,
		NoMCPServers:   true,
		NoSystem:       true,
		NoAppendSystem: true,
		NoContextFiles: false,
	}
}

// OffForChild returns what is off in a Chat Only child: context files as well,
// because its prompt is the body of its profile (spec/policy.md §2.5).
func OffForChild() Switches {
	s := Off()
	s.NoContextFiles = true
	return s
}

// separator stands between two context files, and nowhere else.
const separator = "\n\n"

// Prompt returns the head of a Chat Only session: the texts in the order given,
// joined by LF LF (spec/policy.md §2.4). Texts keep what they end with, and an
// empty one is joined like any other. The result is empty for no files and for
// one empty file; an empty head is sent as no system message at all.
//
// The caller owns the result. It changes only when the files are found anew.
func Prompt(files []resource.ContextFile) []byte {
	texts := make([]string, len(files))
	for i, f := range files {
		texts[i] = f.Text
	}
	return []byte(strings.Join(texts, separator))
}
