package tool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// Write is the tool write: whole files.
type Write struct{ fileTool }

// NewWrite builds the tool write.
func NewWrite(opts Options) *Write {
	return &Write{newFileTool("write", opts)}
}

// Sequential is true: of two calls that write one file the later one must win,
// and a command of the same batch must see the file.
func (t *Write) Sequential() bool { return true }

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// newFolderMode is the mode of a new folder before the umask.
const newFolderMode = 0o777

// Run writes the file.
func (t *Write) Run(ctx context.Context, call *Call) (Result, error) {
	var args writeArgs
	if failed, ok := decodeArgs(t, call, &args); !ok {
		return failed, nil
	}
	if args.Path == "" {
		return Error("write: path is empty. Name the file to write."), nil
	}
	where := placesOf(call, t.opts.Home)
	path, name := where.forWriting(args.Path)
	unlock, err := t.opts.Locks.Lock(ctx, path)
	if err != nil {
		return Error(fmt.Sprintf("Writing %s was stopped before it began; the file is unchanged.", name)), nil
	}
	defer unlock()
	if ctx.Err() != nil {
		return Error(fmt.Sprintf("Writing %s was stopped before it began; the file is unchanged.", name)), nil
	}

	isNew := !where.reach.exists(path)
	if err := where.reach.save(path, []byte(args.Content), true); err != nil {
		return Error(fmt.Sprintf("Cannot write %s: %s", name, explainWrite(err, path))), nil
	}
	text := fmt.Sprintf("Wrote %s to %s", plural(len(args.Content), "byte"), name)
	if isNew {
		text += ", a new file"
	}
	return Text(text + "."), nil
}

// explainWrite says why a file cannot be written and what to try.
func explainWrite(err error, path string) string {
	if text, ok := explainOutside(err); ok {
		return text
	}
	if missing, ok := errors.AsType[*noFolder](err); ok {
		return fmt.Sprintf("the folder %s cannot be made: %s. Choose another path.", missing.path, reason(missing.err))
	}
	switch {
	case errors.Is(err, errFolder):
		return "it is a folder. Name a file in it."
	case errors.Is(err, errNotAFile):
		return "it is a device, a pipe or a socket. Name a regular file."
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("%s. This process may not write %s.", reason(err), path)
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Sprintf("%s. Make room on the disk of %s and write it again.", reason(err), path)
	}
	return fmt.Sprintf("%s (%s).", reason(err), path)
}
