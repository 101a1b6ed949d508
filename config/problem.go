package config

import (
	"errors"
	"fmt"
	"strings"
)

// What a problem is; match with errors.Is.
var (
	ErrUnreadable = errors.New("the file cannot be read")
	ErrSyntax     = errors.New("the file is not valid JSON")
	ErrSchema     = errors.New("the file does not have the expected form")
	ErrValue      = errors.New("the value is not usable")
	ErrOpenAccess = errors.New("others may read the file")
)

// Problem is something wrong in a configuration file. It never holds a value
// that may be secret. A problem is an error; a warning left the rest of its file
// in force, anything else set the whole file aside.
type Problem struct {
	File    string // absolute
	Line    int    // from 1, 0 when the place is not known
	Column  int    // in bytes, from 1
	Offset  int64  // in bytes, from 0; counts only with Line
	Path    string // place in the document, such as "providers.local.models.0.id"
	What    string // one sentence without the place
	Hint    string // what to do
	Warning bool
	Err     error // one of the Err values of this package, possibly with a cause
}

func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": ")
	if p.Path != "" {
		fmt.Fprintf(&b, "%s: ", p.Path)
	}
	b.WriteString(p.What)
	if p.Hint != "" {
		fmt.Fprintf(&b, " (%s)", p.Hint)
	}
	return b.String()
}

func (p *Problem) Unwrap() error { return p.Err }
