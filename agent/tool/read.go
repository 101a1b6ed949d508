package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"

	"github.com/piweb-go/piweb/media"
	"github.com/piweb-go/piweb/message"
)

// Read is the tool read: text files by line, and pictures.
type Read struct{ fileTool }

// NewRead builds the tool read.
func NewRead(opts Options) *Read {
	return &Read{newFileTool("read", opts)}
}

// Sequential is false: reading disturbs nobody.
func (t *Read) Sequential() bool { return false }

type readArgs struct {
	Path   string   `json:"path"`
	Offset *float64 `json:"offset"` // lines, from 1
	Limit  *float64 `json:"limit"`  // lines
	Part   *struct {
		X, Y, Width, Height float64
	} `json:"part"` // of a picture, in pixels
}

// picturePart is the part of a picture that is wanted; the zero value for all.
func (a readArgs) picturePart() media.Part {
	if a.Part == nil {
		return media.Part{}
	}
	return media.Part{X: wholeNumber(a.Part.X), Y: wholeNumber(a.Part.Y), Width: wholeNumber(a.Part.Width), Height: wholeNumber(a.Part.Height)}
}

// lines turns the arguments into a range. An offset before the file begins
// with the file; a limit below one line is one line.
func (a readArgs) lines() lineRange {
	part := lineRange{end: -1}
	if a.Offset != nil {
		part.first = max(0, wholeNumber(*a.Offset)-1)
	}
	if a.Limit != nil {
		part.end = part.first + max(1, wholeNumber(*a.Limit))
	}
	return part
}

// wholeNumber rounds towards zero, within what adds up without overflow.
func wholeNumber(f float64) int {
	const bound = 1 << 52
	if math.IsNaN(f) {
		return 0
	}
	return int(max(-bound, min(bound, f)))
}

// Run shows the file.
func (t *Read) Run(ctx context.Context, call *Call) (Result, error) {
	var args readArgs
	if failed, ok := decodeArgs(t, call, &args); !ok {
		return failed, nil
	}
	if args.Path == "" {
		return Error("read: path is empty. Name the file to read."), nil
	}
	if call.Links != nil && call.Links.Handles(args.Path) {
		return readLink(ctx, call, args)
	}
	where := placesOf(call, t.opts.Home)
	path := where.forReading(args.Path)
	f, err := where.reach.open(path)
	if err != nil {
		return Error(fmt.Sprintf("Cannot read %s: %s", args.Path, explainRead(err, path))), nil
	}
	defer f.Close()

	start := make([]byte, media.SniffBytes)
	n, err := io.ReadFull(f, start)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return Error(fmt.Sprintf("Cannot read %s: %s", args.Path, reason(err))), nil
	}
	start = start[:n]
	if v := media.Judge(path, start); v.Kind != media.Other {
		return t.picture(ctx, args, f, start, v)
	}

	return readLines(ctx, args, io.MultiReader(bytes.NewReader(start), f))
}

// readLines shows the lines that were asked for.
func readLines(ctx context.Context, args readArgs, r io.Reader) (Result, error) {
	part := args.lines()
	found, err := selectLines(ctx, r, part)
	if err != nil {
		if ctx.Err() != nil {
			return Error(fmt.Sprintf("Reading %s was stopped before it was done.", args.Path)), nil
		}
		return Error(fmt.Sprintf("Cannot read %s: %s", args.Path, reason(err))), nil
	}
	if part.first >= found.fileLines {
		return Error(fmt.Sprintf("Cannot read %s from line %d: the file has %s. Choose an offset from 1 to %d.",
			args.Path, part.first+1, plural(found.fileLines, "line"), found.fileLines)), nil
	}
	return readResult(args.Path, part, found)
}

// readResult puts the note under the text that says how to go on.
func readResult(name string, part lineRange, found selection) (Result, error) {
	shown := found.shown
	first := part.first + 1
	if !shown.Truncated {
		text := shown.Content
		if part.end >= 0 && part.end < found.fileLines {
			text += fmt.Sprintf("\n\n[Lines %d-%d of %d, as limited; %s more. Go on with offset=%d.]",
				first, part.end, found.fileLines, plural(found.fileLines-part.end, "line"), part.end+1)
		}
		return Text(text), nil
	}

	var text string
	last := first + shown.OutputLines - 1
	switch {
	case shown.FirstLineExceedsLimit:
		text = fmt.Sprintf("[Line %d alone has %s, more than the %s that fit. See a part of it with bash: sed -n '%dp' %s | head -c %d]",
			first, formatSize(found.firstLineBytes), formatSize(MaxBytes), first, shellQuote(name), MaxBytes)
	case shown.TruncatedBy == CutLines:
		text = fmt.Sprintf("%s\n\n[Lines %d-%d of %d. Go on with offset=%d.]",
			shown.Content, first, last, found.fileLines, last+1)
	default:
		text = fmt.Sprintf("%s\n\n[Lines %d-%d of %d; %s is the most at once. Go on with offset=%d.]",
			shown.Content, first, last, found.fileLines, formatSize(MaxBytes), last+1)
	}
	details, err := message.Marshal(struct {
		Truncation Truncation `json:"truncation"`
	}{shown})
	if err != nil {
		return Result{}, err
	}
	result := Text(text)
	result.Details = details
	return result, nil
}

// errNotAFile is for what is neither a file nor a folder: opening a pipe would
// wait for a writer, and a device may have no end.
var errNotAFile = errors.New("neither a file nor a folder")

// errFolder is for a folder where a file is asked for.
var errFolder = errors.New("a folder")

// openForReading opens a regular file.
func openForReading(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	switch {
	case info.IsDir():
		return nil, errFolder
	case !info.Mode().IsRegular():
		return nil, errNotAFile
	}
	return os.Open(path)
}

// explainRead says why a file cannot be read and what to try.
func explainRead(err error, path string) string {
	if text, ok := explainOutside(err); ok {
		return text
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("there is no file %s. Check the name with ls.", path)
	case errors.Is(err, errFolder):
		return "it is a folder. List it with ls, or name a file in it."
	case errors.Is(err, errNotAFile):
		return "it is a device, a pipe or a socket. Name a regular file."
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("%s. This process may not read %s.", reason(err), path)
	}
	return fmt.Sprintf("%s (%s).", reason(err), path)
}
