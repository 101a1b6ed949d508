package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/config"
	"github.com/piweb-go/piweb/gc"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/session/catalog"
	"github.com/piweb-go/piweb/session/export"
	"github.com/piweb-go/piweb/subagent"
	"github.com/piweb-go/piweb/toolselect"
	"github.com/piweb-go/piweb/wrapper"
)

// The exit codes.
const (
	exitOK       = 0
	exitFailed   = 1   // the command failed, or a receipt does not hold
	exitUsage    = 2   // the command line is wrong
	exitNotFound = 3   // no such session, or the file is none
	exitRefused  = 4   // the session's policy or state does not allow it
	exitNoModel  = 5   // no usable model, or the provider failed
	exitAborted  = 130 // Ctrl-C
)

// problem is how an error is shown: a word for programs and an exit code.
type problem struct {
	code string
	exit int
}

// table maps errors to problems; the first line that matches counts.
var table = []struct {
	err error
	problem
}{
	{errAborted, problem{"ABORTED", exitAborted}},
	{context.Canceled, problem{"ABORTED", exitAborted}},
	{errProvider, problem{"PROVIDER_FAILED", exitNoModel}},
	{errServers, problem{"MCP_FAILED", exitFailed}},
	{piweb.ErrNoServer, problem{"NO_SERVER", exitNotFound}},
	{config.ErrBusy, problem{"IN_USE", exitRefused}},
	{errDiffers, problem{"RECEIPT_DIFFERS", exitFailed}},
	{piweb.ErrNoModel, problem{"NO_MODEL", exitNoModel}},
	{policy.ErrOverruled, problem{"TOOLS_OVERRULED", exitRefused}},
	{policy.ErrSnapshot, problem{"SNAPSHOT_INVALID", exitRefused}},
	{subagent.ErrOff, problem{"SUBAGENTS_OFF", exitRefused}},
	{subagent.ErrProfile, problem{"NO_PROFILE", exitNotFound}},
	{subagent.ErrDepth, problem{"TOO_DEEP", exitRefused}},
	{subagent.ErrBudget, problem{"BUDGET_USED_UP", exitRefused}},
	{subagent.ErrLimits, problem{"LIMITS_REFUSED", exitRefused}},
	{subagent.ErrSettings, problem{"SETTINGS_UNREADABLE", exitFailed}},
	{subagent.ErrMalformed, problem{"PROFILE_MALFORMED", exitFailed}},
	{subagent.ErrDraft, problem{"BAD_PROFILE", exitUsage}},
	{subagent.ErrScope, problem{"BAD_PROFILE", exitUsage}},
	{subagent.ErrSpec, problem{"BAD_TASK", exitUsage}},
	{toolselect.ErrNames, problem{"UNKNOWN_TOOL", exitUsage}},
	{wrapper.ErrRunning, problem{"RUNNING", exitRefused}},
	{wrapper.ErrChild, problem{"SUBAGENT", exitRefused}},
	{wrapper.ErrFolder, problem{"FOLDER_GONE", exitRefused}},
	{wrapper.ErrEmpty, problem{"EMPTY_PROMPT", exitUsage}},
	{session.ErrInUse, problem{"IN_USE", exitRefused}},
	{gc.ErrBusy, problem{"GC_RUNNING", exitRefused}},
	{gc.ErrMissing, problem{"FOLDER_MISSING", exitRefused}},
	{piweb.ErrRoot, problem{"NOT_FOUND", exitNotFound}},
	{session.ErrReplaced, problem{"FILE_REPLACED", exitFailed}},
	{session.ErrNotSession, problem{"NOT_A_SESSION", exitNotFound}},
	{catalog.ErrAmbiguous, problem{"AMBIGUOUS", exitNotFound}},
	{catalog.ErrNone, problem{"NOT_FOUND", exitNotFound}},
	{session.ErrNoFile, problem{"NOT_FOUND", exitNotFound}},
	{session.ErrNoEntry, problem{"NO_ENTRY", exitNotFound}},
	{policy.ErrHead, problem{"NO_PROMPT", exitNotFound}},
	{session.ErrTaken, problem{"TAKEN", exitRefused}},
	{wrapper.ErrName, problem{"BAD_NAME", exitUsage}},
	{export.ErrDoubt, problem{"DOUBTS", exitRefused}},
	{export.ErrEmpty, problem{"NOT_A_SESSION", exitNotFound}},
	{errLoses, problem{"LOSES_DATA", exitFailed}},
	{errNotRepaired, problem{"NOT_REPAIRED", exitFailed}},
	{fs.ErrExist, problem{"EXISTS", exitFailed}},
	{fs.ErrPermission, problem{"NO_PERMISSION", exitFailed}},
}

var (
	errAborted  = errors.New("stopped")
	errProvider = errors.New("the model gave no answer")
	errDiffers  = errors.New("a receipt does not hold")
)

// usageError is a wrong command line.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

func usage(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

// silent is an error that was told already.
type silent struct{ error }

func (s silent) Unwrap() error { return s.error }

func classify(err error) problem {
	var by *stoppedBy
	if errors.As(err, &by) {
		return problem{"ABORTED", by.code()}
	}
	var u usageError
	if errors.As(err, &u) || strings.HasPrefix(err.Error(), "unknown command") {
		return problem{"USAGE", exitUsage}
	}
	for _, row := range table {
		if errors.Is(err, row.err) {
			return row.problem
		}
	}
	return problem{"FAILED", exitFailed}
}

// printProblem shows an error in words, or as one JSON object where the command
// speaks JSON.
func (a *app) printProblem(p problem, err error) {
	if a.json {
		a.printJSONLine(map[string]any{"type": "error", "error": map[string]any{"code": p.code, "message": err.Error(), "exit": p.exit}})
		return
	}
	a.notef("piweb: %v\n", err)
	if p.exit == exitUsage {
		a.notef("Try `piweb --help`.\n")
	}
}

// printJSON prints a value for people and programs alike.
func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// printJSONLine prints a value on one line.
func (a *app) printJSONLine(v any) {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
}
