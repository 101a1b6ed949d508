package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/piweb-go/piweb/message"
)

// editMaxBytes is the largest file that edit takes, in bytes: it holds the file
// several times.
const editMaxBytes = 64 << 20

// byteOrderMark is the mark that some editors put before a text. Models do not
// see it.
const byteOrderMark = "\uFEFF"

// Edit is the tool edit: pieces of one file.
type Edit struct{ fileTool }

// NewEdit builds the tool edit.
func NewEdit(opts Options) *Edit {
	return &Edit{newFileTool("edit", opts)}
}

// Sequential is true: the second of two edits of one file must find what the
// first one left, and a command of the same batch must see the file.
func (t *Edit) Sequential() bool { return true }

// Prepare accepts edits as a string or as one object, and the older form with
// oldText and newText beside the path.
func (t *Edit) Prepare(args json.RawMessage) json.RawMessage {
	return Coerce(t.decl, adoptSingleEdit(t.fileTool.Prepare(args)))
}

// adoptSingleEdit moves oldText and newText of the call to the end of edits.
// Arguments without both, or of another shape, come back as they are.
func adoptSingleEdit(args json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(args, &fields) != nil {
		return args
	}
	var oldText, newText *string
	if json.Unmarshal(fields["oldText"], &oldText) != nil || json.Unmarshal(fields["newText"], &newText) != nil ||
		oldText == nil || newText == nil {
		return args
	}
	var edits []json.RawMessage
	_ = json.Unmarshal(fields["edits"], &edits) // anything but a list gives way
	one, err := message.Marshal(map[string]string{"oldText": *oldText, "newText": *newText})
	if err != nil {
		return args
	}
	list, err := message.Marshal(append(edits, one))
	if err != nil {
		return args
	}
	delete(fields, "oldText")
	delete(fields, "newText")
	fields["edits"] = list
	adopted, err := message.Marshal(fields)
	if err != nil {
		return args
	}
	return adopted
}

type editArgs struct {
	Path  string `json:"path"`
	Edits []struct {
		OldText string `json:"oldText"`
		NewText string `json:"newText"`
	} `json:"edits"`
}

// Run changes the file, or leaves it as it is and says why.
func (t *Edit) Run(ctx context.Context, call *Call) (Result, error) {
	var args editArgs
	if failed, ok := decodeArgs(t, call, &args); !ok {
		return failed, nil
	}
	switch {
	case args.Path == "":
		return Error("edit: path is empty. Name the file to change."), nil
	case len(args.Edits) == 0:
		return Error(fmt.Sprintf("Nothing to do in %s: edits is empty. Give at least one pair of oldText and newText.", args.Path)), nil
	}
	where := placesOf(call, t.opts.Home)
	path, name := where.forWriting(args.Path)
	stopped := Error(fmt.Sprintf("Editing %s was stopped before the file was written; it is unchanged.", name))
	unlock, err := t.opts.Locks.Lock(ctx, path)
	if err != nil {
		return stopped, nil
	}
	defer unlock()

	raw, err := readWhole(where.reach, path, editMaxBytes)
	if err != nil {
		return Error(fmt.Sprintf("Cannot edit %s: %s", name, explainEdit(err, path, where, args.Path))), nil
	}
	content, mark := raw, ""
	if rest, ok := strings.CutPrefix(raw, byteOrderMark); ok {
		content, mark = rest, byteOrderMark
	}
	edits := make([]textEdit, len(args.Edits))
	for i, e := range args.Edits {
		edits[i] = textEdit{toLF(e.OldText), toLF(e.NewText)}
		if mark != "" && strings.HasPrefix(edits[i].oldText, mark) {
			// A model that saw the mark repeats it; it stays where it is.
			edits[i].oldText = strings.TrimPrefix(edits[i].oldText, mark)
			edits[i].newText = strings.TrimPrefix(edits[i].newText, mark)
		}
	}
	before := toLF(content)
	plan, folded, err := planEdits(before, edits)
	if err != nil {
		return Error(fmt.Sprintf("Cannot edit %s: %s. The file is unchanged.", name, err)), nil
	}
	after := applyPlan(before, plan)
	if after == before {
		return Error(fmt.Sprintf("Cannot edit %s: the new text is what stands there already. Check what you want to change; the file is unchanged.", name)), nil
	}
	// Before writing: what fails here must not fail after the change.
	details, err := message.Marshal(compareTexts(name, before, after))
	if err != nil {
		return Result{}, err
	}
	if ctx.Err() != nil {
		return stopped, nil
	}
	if err := where.reach.save(path, []byte(mark+splice(content, plan)), false); err != nil {
		return Error(fmt.Sprintf("Cannot edit %s: %s", name, explainWrite(err, path))), nil
	}
	result := Text(editDone(name, len(edits), folded))
	result.Details = details
	return result, nil
}

func editDone(name string, n int, folded bool) string {
	text := fmt.Sprintf("Made %s in %s.", plural(n, "replacement"), name)
	if folded {
		text += " Not every oldText matched exactly: blanks at line ends, quotes, dashes or special spaces differed. The lines touched are now written in plain form."
	}
	return text
}

// errTooLarge is for a file beyond editMaxBytes.
var errTooLarge = errors.New("too large")

// readWhole reads a regular file of at most limit bytes.
func readWhole(r reach, path string, limit int) (string, error) {
	f, err := r.open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return "", err
	}
	if len(data) > limit {
		return "", errTooLarge
	}
	return string(data), nil
}

// explainEdit says why a file cannot be changed. Where reading would find a
// file of a similar name, it says which.
func explainEdit(err error, path string, where places, asked string) string {
	similar := where.forReading(asked)
	switch {
	case errors.Is(err, errTooLarge):
		return fmt.Sprintf("it is larger than %s. Change it with a program, such as sed in bash.", formatSize(editMaxBytes))
	case similar != path && where.reach.exists(similar):
		return fmt.Sprintf("there is no file %s. Did you mean %s? Names are taken literally here.", path, similar)
	}
	return explainRead(err, path)
}
