package artifact

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ID names an artifact within its session: decimal digits. Ids are compared as
// text, so "00" is not "0".
type ID string

// maxDigits bounds the ids that we give and count; a longer one can be asked for,
// and is not there.
const maxDigits = 15

// ParseID checks the spelling of an id.
func ParseID(s string) (ID, error) {
	if s == "" {
		return "", fmt.Errorf("%w: artifact:// needs a numeric id, as in artifact://0", ErrURL)
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return "", fmt.Errorf("%w: the id in artifact:// must be a number, not %q", ErrURL, s)
		}
	}
	return ID(s), nil
}

// URL is how a model asks for the artifact.
func (id ID) URL() string { return "artifact://" + string(id) }

// number is the value of an id, for counting on.
func (id ID) number() (int64, bool) {
	if len(id) == 0 || len(id) > maxDigits {
		return 0, false
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return n, err == nil
}

// idOf is the id of a file name: the digits before the first dot.
func idOf(name string) (ID, bool) {
	head, _, ok := strings.Cut(name, ".")
	if !ok || head == "" {
		return "", false
	}
	id, err := ParseID(head)
	return id, err == nil
}

// toolOf is the tool of a file name <id>.<tool>.log, or "".
func toolOf(name string) string {
	_, rest, _ := strings.Cut(name, ".")
	tool, ok := strings.CutSuffix(rest, ".log")
	if !ok {
		return ""
	}
	return tool
}

var unsafeRun = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

const (
	maxToolName  = 64 // characters of a tool's name in a file name
	maxAgentName = 48 // characters of a subagent's
)

// cleanName makes a part of a file name from what somebody else wrote: runs of
// anything but letters, digits, "_" and "-" become "_".
func cleanName(name string, most int, otherwise string) string {
	name = unsafeRun.ReplaceAllString(name, "_")
	if len(name) > most {
		name = name[:most]
	}
	if name = strings.Trim(name, "_"); name == "" {
		return otherwise
	}
	return name
}

// sortIDs brings ids into the order of their numbers, each once.
func sortIDs(ids []ID) []ID {
	slices.SortFunc(ids, compareIDs)
	return slices.Compact(ids)
}

// compareIDs orders by number, and spellings of one number by their letters.
func compareIDs(a, b ID) int {
	x, y := strings.TrimLeft(string(a), "0"), strings.TrimLeft(string(b), "0")
	if len(x) != len(y) {
		return len(x) - len(y)
	}
	if c := strings.Compare(x, y); c != 0 {
		return c
	}
	return strings.Compare(string(a), string(b))
}

// Errors to match with errors.Is.
var (
	// ErrURL: the URL is not written as it must be.
	ErrURL = errors.New("not a usable URL")
	// ErrNoSession: the session has no file, so it keeps nothing.
	ErrNoSession = errors.New("the session has no file yet")
	// ErrNoFolder: the session has kept nothing so far.
	ErrNoFolder = errors.New("no artifacts directory found")
	// ErrNotFound: there is no such artifact or output. The error lists what there
	// is.
	ErrNotFound = errors.New("not found")
	// ErrAmbiguous: several files have the id.
	ErrAmbiguous = errors.New("more than one file has this id")
	// ErrQuota: the folder of the session, or an output, is at its limit.
	ErrQuota = errors.New("the limit of kept outputs is reached")
	// ErrLinked: something that must be a folder or a file of ours is a link.
	ErrLinked = errors.New("it is a link, and links are not followed")
	// ErrTaken: something has the name already, and is not replaced.
	ErrTaken = errors.New("something has the name already")
)
