package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/piweb-go/piweb/internal/confine"
)

// Confined keeps a file tool to the working folder of its calls: a path whose real
// place lies elsewhere is refused before the tool sees it, whatever links lead
// there. ok is false for a tool that cannot be kept to a folder, such as bash,
// which starts any program.
//
// The place is looked up before the tool opens the file. The tools themselves make
// no links, so what could slip in between is another program of the user's.
func Confined(t Tool, opts Options) (c Tool, ok bool) {
	switch t.Declaration().Name {
	case "read", "edit", "write", "grep", "find", "ls":
		return &confined{t, opts.withDefaults().Home}, true
	}
	return nil, false
}

type confined struct {
	Tool
	home string
}

// Run refuses a path outside, and runs the tool.
func (c *confined) Run(ctx context.Context, call *Call) (Result, error) {
	var args struct {
		Path     string `json:"path"`
		FilePath string `json:"file_path"`
	}
	if json.Unmarshal(c.Prepare(call.Arguments), &args) != nil {
		return c.Tool.Run(ctx, call) // it says what is wrong with them
	}
	name := c.Declaration().Name
	if args.Path == "" {
		args.Path = args.FilePath
	}
	where := places{cwd: call.CWD, home: c.home}
	path := where.forReading(args.Path)
	if name == "write" || name == "edit" {
		path, _ = where.forWriting(args.Path)
	}
	if args.Path != "" && !liesWithin(path, call.CWD) {
		return Error(fmt.Sprintf("%s: %s lies outside of the folder %s, to which this session is confined. Choose a path inside it.", name, args.Path, call.CWD)), nil
	}
	if name == "find" && outsidePattern(call.Arguments, call.CWD) {
		return Error(fmt.Sprintf("find: the pattern leads out of the folder %s, to which this session is confined.", call.CWD)), nil
	}
	return c.Tool.Run(ctx, call)
}

// liesWithin tells whether a path, which need not exist, lies in a folder, with
// all links followed.
func liesWithin(path, folder string) bool {
	for at := realPath(path); ; at = filepath.Dir(at) {
		if exists(at) {
			_, ok, err := confine.RealWithin(at, folder)
			return ok && err == nil
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}

// outsidePattern tells whether a glob begins outside of a folder.
func outsidePattern(args json.RawMessage, folder string) bool {
	var a struct {
		Pattern string `json:"pattern"`
	}
	if json.Unmarshal(args, &a) != nil {
		return false
	}
	p := filepath.ToSlash(a.Pattern)
	for part := range strings.SplitSeq(p, "/") {
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
	return !liesWithin(fixed, folder)
}
