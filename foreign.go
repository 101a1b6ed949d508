package piweb

import (
	"context"
	"errors"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/agent/compact"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/subagent"
	"github.com/piweb-go/piweb/toolselect"
	"github.com/piweb-go/piweb/wrapper"
)

// foreignError is an error of another program: its words, and which error of ours
// it matches.
type foreignError struct {
	Code string `json:"code,omitempty"`
	Text string `json:"text"`
}

func (e *foreignError) Error() string { return e.Text }

// Unwrap gives the error that it matches, or nil.
func (e *foreignError) Unwrap() error {
	for _, known := range foreignErrors {
		if known.code == e.Code {
			return known.err
		}
	}
	return nil
}

// foreignErrors are the errors that stay what they are on the way from one program
// to another; the first that matches counts.
var foreignErrors = []struct {
	code string
	err  error
}{
	{"canceled", context.Canceled},
	{"running", wrapper.ErrRunning},
	{"child", wrapper.ErrChild},
	{"folder", wrapper.ErrFolder},
	{"empty", wrapper.ErrEmpty},
	{"name", wrapper.ErrName},
	{"closed", wrapper.ErrClosed},
	{"shutdown", wrapper.ErrShutdown},
	{"no-model", ErrNoModel},
	{"nothing-to-compact", agent.ErrNothingToCompact},
	{"no-compactor", agent.ErrNoCompactor},
	{"no-summary", compact.ErrEmpty},
	{"limits", subagent.ErrLimits},
	{"overruled", policy.ErrOverruled},
	{"snapshot", policy.ErrSnapshot},
	{"tool-names", toolselect.ErrNames},
	{"in-use", session.ErrInUse},
	{"replaced", session.ErrReplaced},
	{"poisoned", session.ErrPoisoned},
	{"not-session", session.ErrNotSession},
	{"no-file", session.ErrNoFile},
	{"no-entry", session.ErrNoEntry},
	{"taken", session.ErrTaken},
	{"held", session.ErrHeld},
}

func toForeign(err error) *foreignError {
	f := &foreignError{Text: err.Error()}
	for _, known := range foreignErrors {
		if errors.Is(err, known.err) {
			f.Code = known.code
			break
		}
	}
	return f
}
