package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/piweb-go/piweb/message"
)

// lsDefaultLimit is how many names ls shows unless it is told, in entries.
const lsDefaultLimit = 500

// lsMaxLimit bounds what a call may ask for, in entries. The limit in bytes
// is met long before.
const lsMaxLimit = 100_000

// lsBatch is how many names are read from a folder at once, in entries.
const lsBatch = 4096

// Ls is the tool ls: one folder.
type Ls struct{ fileTool }

// NewLs builds the tool ls.
func NewLs(opts Options) *Ls {
	return &Ls{newFileTool("ls", opts)}
}

// Sequential is false: listing disturbs nobody.
func (t *Ls) Sequential() bool { return false }

type lsArgs struct {
	Path  string   `json:"path"`
	Limit *float64 `json:"limit"` // entries
}

type lsDetails struct {
	EntryLimitReached int         `json:"entryLimitReached,omitempty"` // entries
	Truncation        *Truncation `json:"truncation,omitempty"`
	FullOutputPath    string      `json:"fullOutputPath,omitempty"`
}

// Run lists the folder.
func (t *Ls) Run(ctx context.Context, call *Call) (Result, error) {
	var args lsArgs
	if failed, ok := decodeArgs(t, call, &args); !ok {
		return failed, nil
	}
	if args.Path == "" {
		args.Path = "."
	}
	limit := lsDefaultLimit
	if args.Limit != nil {
		// No limit below one: an empty list would look like an empty folder.
		limit = min(max(1, wholeNumber(*args.Limit)), lsMaxLimit)
	}
	where := placesOf(call, t.opts.Home)
	path := where.forReading(args.Path)
	list, err := listFolder(ctx, where.reach, path, limit)
	if err != nil {
		if ctx.Err() != nil {
			return Error(fmt.Sprintf("Listing %s was stopped before it was done.", args.Path)), nil
		}
		return Error(fmt.Sprintf("Cannot list %s: %s", args.Path, explainList(err, path))), nil
	}
	if len(list.names) == 0 {
		return Text("(the folder is empty)"), nil
	}
	return lsResult(call, list, limit)
}

func lsResult(call *Call, list listing, limit int) (Result, error) {
	text := strings.Join(list.names, "\n")
	// The number of lines is bounded by the limit on entries already.
	shown := cutter{noLineLimit, MaxBytes}.head(text, sizeOf(text))
	var details lsDetails
	var notes []string
	if list.total > len(list.names) {
		details.EntryLimitReached = limit
		notes = append(notes, fmt.Sprintf("%d of %d entries. More with limit=%d", len(list.names), list.total, 2*limit))
	}
	if shown.Truncated {
		details.Truncation = &shown
		notes = append(notes, fmt.Sprintf("Cut after %d names: %s is the most at once", shown.OutputLines, formatSize(MaxBytes)))
		_, _ = io.WriteString(call.Output(), text) // its failure is told by wholeOutput
		details.FullOutputPath, notes = wholeOutput(call, notes)
	}
	if len(notes) == 0 {
		return Text(text), nil
	}
	result := Text(fmt.Sprintf("%s\n\n[%s]", shown.Content, strings.Join(notes, ". ")))
	var err error
	result.Details, err = message.Marshal(details)
	return result, err
}

// listing is the first names of a folder in order, folders with a slash.
type listing struct {
	names []string
	total int // entries of the folder
}

// listFolder reads a folder in batches and keeps the first limit names only,
// so that a folder of millions costs time but no memory.
func listFolder(ctx context.Context, r reach, path string, limit int) (listing, error) {
	info, err := r.stat(path)
	if err != nil {
		return listing{}, err
	}
	if !info.IsDir() {
		return listing{}, errNotAFolder
	}
	dir, err := r.names(path)
	if err != nil {
		return listing{}, err
	}
	defer dir.Close()

	var first []sortedEntry
	total := 0
	for {
		if err := ctx.Err(); err != nil {
			return listing{}, err
		}
		batch, err := dir.ReadDir(lsBatch)
		for _, e := range batch {
			first = append(first, sortedEntry{strings.ToLower(e.Name()), e})
		}
		total += len(batch)
		slices.SortFunc(first, sortedEntry.compare)
		first = first[:min(limit, len(first))]
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return listing{}, err
		}
	}
	list := listing{total: total}
	for _, e := range first {
		list.names = append(list.names, displayName(r, path, e.entry))
	}
	return list, nil
}

// sortedEntry is an entry with its name in lower case, by which it is sorted.
type sortedEntry struct {
	key   string
	entry fs.DirEntry
}

func (e sortedEntry) compare(other sortedEntry) int {
	return cmp.Or(strings.Compare(e.key, other.key), strings.Compare(e.entry.Name(), other.entry.Name()))
}

// displayName is a name on a line of its own: with a slash if it is a folder
// or a link to one, in quotes if it holds a line feed or the like.
func displayName(r reach, dir string, e fs.DirEntry) string {
	name := e.Name()
	if strings.ContainsFunc(name, unicode.IsControl) {
		name = strconv.Quote(name)
	}
	isDir := e.IsDir()
	if e.Type()&fs.ModeSymlink != 0 {
		info, err := r.stat(filepath.Join(dir, e.Name()))
		isDir = err == nil && info.IsDir() // a link to nowhere, or out of reach, is shown as a file
	}
	if isDir {
		name += "/"
	}
	return name
}

// errNotAFolder is for a file where a folder is asked for.
var errNotAFolder = errors.New("not a folder")

// explainList says why a folder cannot be listed and what to try.
func explainList(err error, path string) string {
	if text, ok := explainOutside(err); ok {
		return text
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("there is no folder %s. List the folder above it.", path)
	case errors.Is(err, errNotAFolder):
		return "it is a file. Show it with read, or list the folder that holds it."
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("%s. This process may not list %s.", reason(err), path)
	}
	return fmt.Sprintf("%s (%s).", reason(err), path)
}
