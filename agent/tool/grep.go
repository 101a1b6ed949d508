package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/piweb-go/piweb/internal/ignore"
	"github.com/piweb-go/piweb/message"
)

const (
	grepDefaultLimit = 100    // matches, unless a call asks for another number
	grepMaxLimit     = 10_000 // matches; the limit in bytes is met long before
	grepMaxContext   = 2000   // lines before and after a match
	grepAhead        = 64     // files that are searched ahead of the one whose turn it is
)

// Grep is the tool grep: lines of files.
type Grep struct{ fileTool }

// NewGrep builds the tool grep.
func NewGrep(opts Options) *Grep {
	return &Grep{newFileTool("grep", opts)}
}

// Sequential is false: searching disturbs nobody.
func (t *Grep) Sequential() bool { return false }

type grepArgs struct {
	Pattern    string   `json:"pattern"`
	Path       string   `json:"path"`
	Glob       string   `json:"glob"`
	IgnoreCase bool     `json:"ignoreCase"`
	Literal    bool     `json:"literal"`
	Context    *float64 `json:"context"` // lines
	Limit      *float64 `json:"limit"`   // matches
}

type grepDetails struct {
	MatchLimitReached int         `json:"matchLimitReached,omitempty"` // matches
	Truncation        *Truncation `json:"truncation,omitempty"`
	LinesTruncated    bool        `json:"linesTruncated,omitempty"`
	FullOutputPath    string      `json:"fullOutputPath,omitempty"`
}

// Run searches.
func (t *Grep) Run(ctx context.Context, call *Call) (Result, error) {
	var args grepArgs
	if failed, ok := decodeArgs(t, call, &args); !ok {
		return failed, nil
	}
	if args.Path == "" {
		args.Path = "."
	}
	s := search{limit: limitOf(args.Limit, grepDefaultLimit, grepMaxLimit)}
	if args.Context != nil {
		s.context = min(max(0, wholeNumber(*args.Context)), grepMaxContext)
	}
	var err error
	if s.matcher, err = newLineMatcher(args.Pattern, args.Literal, args.IgnoreCase); err != nil {
		hint := "Correct the pattern, or set literal to look for it as it stands."
		if args.Literal || errors.Is(err, errManyLines) {
			hint = "Correct the pattern."
		}
		return Error(fmt.Sprintf("Cannot search for %q: %v. %s", args.Pattern, err, hint)), nil
	}
	walk := ignore.WalkOptions{Sorted: true, Options: t.opts.ignoring(ignore.GitInRepository, ".ignore", ".rgignore")}
	if args.Glob != "" {
		filter, err := newFileFilter(args.Glob)
		if err != nil {
			return Error(fmt.Sprintf("Cannot use the glob %q: %v.", args.Glob, err)), nil
		}
		walk.Choose = filter.choose
	}

	where := placesOf(call, t.opts.Home)
	path := where.forReading(args.Path)
	answer := &grepAnswer{search: s, reach: where.reach, whole: call.Output()}
	info, err := where.reach.stat(path)
	switch {
	case err != nil:
	case info.IsDir():
		files, proposed := []string(nil), false
		// A glob is stronger than the rules, and ours to read; a program would not stay
		// in the folder of a confined call.
		if args.Glob == "" && call.Root == nil {
			files, proposed = proposeFiles(ctx, t.opts, call.CWD, path, s, walk.Options)
		}
		if proposed {
			err = answer.searchFolder(ctx, path, listed(files))
		} else {
			err = answer.searchFolder(ctx, path, walked(where.reach, path, walk, &answer.unreadable))
		}
	default:
		err = answer.searchFile(ctx, path)
	}
	if err != nil {
		if ctx.Err() != nil {
			return Error(fmt.Sprintf("Searching %s was stopped before it was done.", args.Path)), nil
		}
		return Error(fmt.Sprintf("Cannot search %s: %s", args.Path, explainSearch(err, path))), nil
	}
	return answer.result(call)
}

// limitOf is the limit that a call asks for. There is none below one: no result
// would look like nothing found.
func limitOf(asked *float64, unasked, most int) int {
	if asked == nil {
		return unasked
	}
	return min(max(1, wholeNumber(*asked)), most)
}

// grepAnswer gathers what is shown, file by file in order.
type grepAnswer struct {
	search
	reach      reach
	text       strings.Builder // rows, up to the first that no longer fits
	whole      io.Writer       // all rows
	total      size            // of all rows, also those not kept
	matches    int
	more       bool // there are matches beyond the limit
	cut        bool // a line was cut
	binary     bool // the one file asked for is binary
	unreadable unreadable
}

// searchFile searches a file that was named, whatever the ignore rules say.
func (a *grepAnswer) searchFile(ctx context.Context, path string) error {
	f, err := a.reach.open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	found := newScanner(ctx, a.search).scan(f)
	if found.err != nil {
		return found.err
	}
	a.binary = found.binary
	a.add(filepath.Base(path), found)
	return nil
}

// grepJob is one file on its way through a search.
type grepJob struct {
	path  string // below the folder
	found findings
	done  chan struct{}
}

// source calls take for each file to search, by its path below a folder, in order.
// It ends with the first error of take.
type source func(ctx context.Context, take func(path string) error) error

// walked is the files of a folder that a walk meets.
func walked(r reach, root string, walk ignore.WalkOptions, left *unreadable) source {
	walk.OnError = func(path string, err error) { left.add(path) }
	return func(ctx context.Context, take func(path string) error) error {
		return r.walk(ctx, root, walk, func(e ignore.Entry) error {
			if !e.Type.IsRegular() {
				return nil
			}
			return take(e.Path)
		})
	}
}

// listed is files that are known.
func listed(paths []string) source {
	return func(_ context.Context, take func(path string) error) error {
		for _, path := range paths {
			if err := take(path); err != nil {
				return err
			}
		}
		return nil
	}
}

// searchFolder searches the files of a folder on all cores, and takes their
// findings in the order of the walk, until there are enough.
func (a *grepAnswer) searchFolder(ctx context.Context, root string, files source) error {
	ctx, enough := context.WithCancelCause(ctx)
	defer enough(nil)
	var group sync.WaitGroup
	defer group.Wait()
	defer enough(nil) // before waiting

	queue := make(chan *grepJob, grepAhead) // in order
	jobs := make(chan *grepJob, grepAhead)
	ended := make(chan error, 1)
	group.Go(func() {
		defer close(queue)
		defer close(jobs)
		ended <- files(ctx, func(path string) error {
			job := &grepJob{path: path, done: make(chan struct{})}
			for _, c := range []chan *grepJob{queue, jobs} {
				select {
				case c <- job:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return nil
		})
	})
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			scan := newScanner(ctx, a.search)
			for job := range jobs {
				job.found = scanFile(scan, a.reach, filepath.Join(root, filepath.FromSlash(job.path)))
				close(job.done)
			}
		})
	}
	for job := range queue {
		select {
		case <-job.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := job.found.err; err != nil {
			if ctx.Err() != nil {
				return err
			}
			if !errors.Is(err, fs.ErrNotExist) { // else it vanished meanwhile
				a.unreadable.add(job.path)
			}
		}
		if a.add(displayPath(job.path), job.found); a.more {
			return nil
		}
	}
	return <-ended
}

func scanFile(s *scanner, r reach, path string) findings {
	if err := s.ctx.Err(); err != nil {
		return findings{err: err}
	}
	f, err := r.openFound(path)
	if err != nil {
		return findings{err: err}
	}
	defer f.Close()
	return s.scan(f)
}

// add takes the findings of the next file. A match beyond the limit is shown as
// a line around the last one where it is near enough, and proves that there is
// more.
func (a *grepAnswer) add(name string, found findings) {
	limitHere := 0 // last line to show in this file once the limit is reached
	for _, r := range found.rows {
		if a.matches < a.limit {
			a.show(name, r)
			if r.match {
				if a.matches++; a.matches == a.limit {
					limitHere = r.line + a.context
				}
			}
			continue
		}
		a.more = a.more || r.match
		if r.line <= limitHere {
			r.match = false
			a.show(name, r)
		}
	}
	a.more = a.more || found.more || len(found.rows) >= scanMaxRows
}

func (a *grepAnswer) show(name string, r row) {
	mark := byte('-')
	if r.match {
		mark = ':'
	}
	number := strconv.Itoa(r.line)
	if a.total.lines > 0 {
		a.total.bytes++ // the line feed before it
	}
	a.total.lines++
	a.total.bytes += len(name) + len(number) + len(":: ") + r.bytes
	a.cut = a.cut || r.cut
	line := fmt.Sprintf("%s%c%s%c %s", name, mark, number, mark, r.text)
	if a.total.lines > 1 {
		line = "\n" + line
	}
	_, _ = io.WriteString(a.whole, line) // its failure is told by wholeOutput
	if a.text.Len() < headKeep {
		a.text.WriteString(line)
	}
}

func (a *grepAnswer) result(call *Call) (Result, error) {
	var details grepDetails
	var notes []string
	text := "(no matches)"
	switch {
	case a.binary:
		text = "(not searched: it is a binary file)"
	case a.matches > 0:
		// The number of lines is bounded by the limits on matches and context.
		shown := cutter{noLineLimit, MaxBytes}.head(a.text.String(), a.total)
		text = shown.Content
		if a.more {
			details.MatchLimitReached = a.limit
			notes = append(notes, limitNote(a.limit, grepMaxLimit, "match", "matches"))
		}
		if shown.Truncated {
			details.Truncation = &shown
			notes = append(notes, fmt.Sprintf("Cut after %s: %s is the most at once", plural(shown.OutputLines, "line"), formatSize(MaxBytes)))
			details.FullOutputPath, notes = wholeOutput(call, notes)
		}
		if a.cut {
			details.LinesTruncated = true
			notes = append(notes, fmt.Sprintf("Of lines longer than %d characters the beginning is shown; see them whole with read", shownUnits))
		}
	}
	return notedResult(text, append(notes, a.unreadable.notes()...), details, details != grepDetails{})
}

// limitNote says that a limit kept some results back, and how to get them.
func limitNote(limit, most int, one, many string) string {
	shown := fmt.Sprintf("Only the first %d %s are shown", limit, many)
	if limit == 1 {
		shown = fmt.Sprintf("Only the first %s is shown", one)
	}
	if limit >= most {
		return shown + ". Narrow the pattern"
	}
	return fmt.Sprintf("%s. See more with limit=%d, or narrow the pattern", shown, min(2*limit, most))
}

// notedResult is a text with notes in brackets under it.
func notedResult(text string, notes []string, details any, detailed bool) (Result, error) {
	if len(notes) > 0 {
		text = fmt.Sprintf("%s\n\n[%s]", text, strings.Join(notes, ". "))
	}
	result := Text(text)
	if !detailed {
		return result, nil
	}
	var err error
	result.Details, err = message.Marshal(details)
	return result, err
}

// unreadable gathers what a search had to leave out. It may be used from many
// goroutines.
type unreadable struct {
	mu    sync.Mutex
	names []string // the first ones
	count int
}

// unreadableNames is how many names a note gives.
const unreadableNames = 3

func (u *unreadable) add(name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.count++; len(u.names) < unreadableNames {
		u.names = append(u.names, displayPath(name))
	}
}

func (u *unreadable) notes() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.count == 0 {
		return nil
	}
	names := strings.Join(u.names, ", ")
	if more := u.count - len(u.names); more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return []string{"Left out, because this process may not or cannot read it: " + names}
}

// displayPath is a path on a line of its own: in quotes if it holds a line feed
// or the like, or bytes that are no text.
func displayPath(path string) string {
	if !utf8.ValidString(path) || strings.ContainsFunc(path, unicode.IsControl) {
		return strconv.Quote(path)
	}
	return path
}

// explainSearch says why a place cannot be searched and what to try.
func explainSearch(err error, path string) string {
	if text, ok := explainOutside(err); ok {
		return text
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("there is nothing at %s. Check the name with ls.", path)
	case errors.Is(err, errNotAFile):
		return "it is a device, a pipe or a socket. Name a folder or a regular file."
	case errors.Is(err, errNotAFolder):
		return "it is a file. Name the folder that holds it."
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("%s. This process may not read %s.", reason(err), path)
	}
	return fmt.Sprintf("%s (%s).", reason(err), path)
}
