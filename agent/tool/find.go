package tool

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/piweb-go/piweb/internal/ignore"
)

const (
	findDefaultLimit = 1000    // results, unless a call asks for another number
	findMaxLimit     = 100_000 // results; the limit in bytes is met long before
)

// Find is the tool find: files and folders by name.
type Find struct{ fileTool }

// NewFind builds the tool find.
func NewFind(opts Options) *Find {
	return &Find{newFileTool("find", opts)}
}

// Sequential is false: searching disturbs nobody.
func (t *Find) Sequential() bool { return false }

type findArgs struct {
	Pattern string   `json:"pattern"`
	Path    string   `json:"path"`
	Limit   *float64 `json:"limit"` // results
}

type findDetails struct {
	ResultLimitReached int         `json:"resultLimitReached,omitempty"` // results
	Truncation         *Truncation `json:"truncation,omitempty"`
	FullOutputPath     string      `json:"fullOutputPath,omitempty"`
}

// Run searches.
func (t *Find) Run(ctx context.Context, call *Call) (Result, error) {
	var args findArgs
	if failed, ok := decodeArgs(t, call, &args); !ok {
		return failed, nil
	}
	if args.Path == "" {
		args.Path = "."
	}
	where := placesOf(call, t.opts.Home)
	path := where.forReading(args.Path)
	glob, err := newNameGlob(args.Pattern, path)
	if err != nil {
		return Error(fmt.Sprintf("Cannot use the glob %q: %v.", args.Pattern, err)), nil
	}
	answer := findAnswer{whole: call.Output(), limit: limitOf(args.Limit, findDefaultLimit, findMaxLimit)}
	if err := answer.search(ctx, call, path, glob.smartCase(), t.opts); err != nil {
		if ctx.Err() != nil {
			return Error(fmt.Sprintf("Searching %s was stopped before it was done.", args.Path)), nil
		}
		return Error(fmt.Sprintf("Cannot search %s: %s", args.Path, explainSearch(err, path))), nil
	}
	return answer.result(call)
}

// findAnswer gathers what is shown.
type findAnswer struct {
	limit      int             // results
	text       strings.Builder // results, up to the first that no longer fits
	whole      io.Writer       // all results
	total      size            // of all results
	more       bool            // there are results beyond the limit
	unreadable unreadable
}

func (a *findAnswer) search(ctx context.Context, call *Call, root string, glob nameGlob, opts Options) error {
	reach := call.reach()
	info, err := reach.stat(root)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return errNotAFolder
	}
	rules := opts.ignoring(ignore.GitEverywhere, ".ignore", ".fdignore")
	take := func(e ignore.Entry) error {
		if !glob.match(e) {
			return nil
		}
		if a.total.lines == a.limit {
			a.more = true
			return fs.SkipAll
		}
		a.add(e)
		return nil
	}
	if call.Root == nil { // a program would not stay in the folder of a confined call
		if entries, ok := proposeEntries(ctx, opts, call.CWD, root, rules); ok {
			for _, e := range entries {
				if take(e) != nil {
					break
				}
			}
			return nil
		}
	}
	return reach.walk(ctx, root, ignore.WalkOptions{
		Sorted:  true,
		Options: rules,
		OnError: func(path string, err error) { a.unreadable.add(path) },
	}, take)
}

func (a *findAnswer) add(e ignore.Entry) {
	name := displayPath(e.Path)
	if e.IsDir() {
		name += "/"
	}
	if a.total.lines > 0 {
		name = "\n" + name
	}
	_, _ = io.WriteString(a.whole, name) // its failure is told by wholeOutput
	if a.text.Len() < headKeep {
		a.text.WriteString(name)
	}
	a.total.lines++
	a.total.bytes += len(name)
}

func (a *findAnswer) result(call *Call) (Result, error) {
	var details findDetails
	var notes []string
	text := "(nothing found)"
	if a.total.lines > 0 {
		// The number of lines is bounded by the limit on results already.
		shown := cutter{noLineLimit, MaxBytes}.head(a.text.String(), a.total)
		text = shown.Content
		if a.more {
			details.ResultLimitReached = a.limit
			notes = append(notes, limitNote(a.limit, findMaxLimit, "result", "results"))
		}
		if shown.Truncated {
			details.Truncation = &shown
			notes = append(notes, fmt.Sprintf("Cut after %s: %s is the most at once", plural(shown.OutputLines, "result"), formatSize(MaxBytes)))
			details.FullOutputPath, notes = wholeOutput(call, notes)
		}
	}
	return notedResult(text, append(notes, a.unreadable.notes()...), details, details != findDetails{})
}
