package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/piweb-go/piweb/internal/confine"
)

// Confined keeps a file tool to the working folder of its calls. What is promised:
// nothing outside of the folder is read, listed, searched or changed by the tool,
// however a path is spelt, whatever links lead out, and whoever exchanges folders and
// links while it runs: the folder is held open, and the system opens all else from
// there down. Searches start no program. A file that has another name outside, a hard
// link, is replaced and not written through; reading it reads it. What is mounted
// below the folder is below the folder.
//
// ok is false for a tool that cannot be kept to a folder, such as bash, which starts
// any program: a confined session does not have it.
func Confined(t Tool) (c Tool, ok bool) {
	if slices.Contains(ConfinedNames(), t.Declaration().Name) {
		return &keptInside{t}, true
	}
	return nil, false
}

// ConfinedNames are the tools that can be kept to a folder, in a fresh slice.
func ConfinedNames() []string { return []string{"read", "edit", "write", "grep", "find", "ls"} }

type keptInside struct{ Tool }

// Run runs the tool below its folder.
func (c *keptInside) Run(ctx context.Context, call *Call) (Result, error) {
	name := c.Declaration().Name
	root, err := confine.OpenRoot(call.CWD)
	if err != nil {
		return Error(fmt.Sprintf("%s: the folder %s, to which this session is confined, cannot be opened: %s.", name, call.CWD, reason(err))), nil
	}
	defer root.Close()
	if name == "find" && outsidePattern(c.Prepare(call.Arguments), root) {
		return Error(fmt.Sprintf("find: the pattern leads out of the folder %s, to which this session is confined.", call.CWD)), nil
	}
	inside := *call
	inside.Root = root
	return c.Tool.Run(ctx, &inside)
}

// outsidePattern tells whether a glob begins outside of a folder. It would find
// nothing, and so does not say why.
func outsidePattern(args json.RawMessage, root *confine.Root) bool {
	var a struct {
		Pattern string `json:"pattern"`
	}
	if json.Unmarshal(args, &a) != nil {
		return false
	}
	for part := range strings.SplitSeq(filepath.ToSlash(a.Pattern), "/") {
		if part == ".." {
			return true
		}
	}
	if !filepath.IsAbs(a.Pattern) {
		return false
	}
	fixed := a.Pattern
	if i := strings.IndexAny(fixed, "*?[{"); i >= 0 {
		fixed = filepath.Dir(fixed[:i] + "x")
	}
	_, err := root.Rel(filepath.Clean(fixed))
	return err != nil
}
