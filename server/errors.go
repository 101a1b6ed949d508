package server

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/attachment"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/session/catalog"
	"github.com/piweb-go/piweb/subagent"
	"github.com/piweb-go/piweb/toolselect"
	"github.com/piweb-go/piweb/wrapper"
)

// problem is an error as a client sees it.
type problem struct {
	status int
	code   string
	text   string   // for the user
	fields []string // which parts of the request are no good
	allow  string   // header Allow of a 405
	retry  int      // header Retry-After, in seconds; 0 for none
	cause  error    // for the log
}

func (p *problem) Error() string { return p.code + ": " + p.text }

func (p *problem) Unwrap() error { return p.cause }

func refuse(status int, code, text string) *problem {
	return &problem{status: status, code: code, text: text}
}

// invalid says which fields of a request are no good.
func invalid(text string, fields ...string) *problem {
	return &problem{status: http.StatusBadRequest, code: "VALIDATION_FAILED", text: text, fields: fields}
}

func notFound(text string) *problem { return refuse(http.StatusNotFound, "NOT_FOUND", text) }

func noSession() *problem {
	return refuse(http.StatusNotFound, "SESSION_NOT_FOUND", "There is no session with this id. The list of sessions shows those that exist.")
}

// statusGone is for clients that went away before they got an answer; nobody
// reads it but the log.
const statusGone = 499

// row says what a matched error is for clients.
type row struct {
	err    error
	status int
	code   string
	text   string // "" where the error's own words are meant for the user
}

// table is the one place where errors of the rooms below become answers. The
// first row that matches counts.
var table = []row{
	{wrapper.ErrRunning, http.StatusConflict, "RUNNING", "The session is still answering. Wait for the end of the turn, or stop it."},
	{subagent.ErrOff, http.StatusConflict, "SUBAGENTS_OFF", "Subagents are switched off. Switch them on first."},
	{subagent.ErrNotRunning, http.StatusConflict, "NOT_RUNNING", ""},
	{subagent.ErrNoChild, http.StatusNotFound, "SESSION_NOT_FOUND", "There is no subagent with this id."},
	{subagent.ErrDepth, http.StatusConflict, "TOO_DEEP", ""},
	{subagent.ErrBudget, http.StatusConflict, "BUDGET_USED_UP", ""},
	{subagent.ErrLimits, http.StatusConflict, "LIMITS_REFUSED", ""},
	{subagent.ErrMalformed, http.StatusConflict, "PROFILE_MALFORMED", ""},
	{subagent.ErrSettings, http.StatusConflict, "SETTINGS_UNREADABLE", ""},
	{subagent.ErrProfile, http.StatusNotFound, "PROFILE_NOT_FOUND", ""},
	{subagent.ErrDraft, http.StatusBadRequest, "VALIDATION_FAILED", ""},
	{subagent.ErrScope, http.StatusBadRequest, "VALIDATION_FAILED", ""},
	{subagent.ErrSpec, http.StatusBadRequest, "VALIDATION_FAILED", ""},
	{subagent.ErrClosed, http.StatusServiceUnavailable, "SHUTTING_DOWN", "The program is shutting down. Start it again, then try again."},
	{wrapper.ErrQueueFull, http.StatusTooManyRequests, "QUEUE_FULL", ""},
	{wrapper.ErrTakenIn, http.StatusConflict, "TAKEN_IN", "The message does not wait any more: it went in."},
	{wrapper.ErrNoAsk, http.StatusConflict, "UNKNOWN_EXTENSION_UI", "This question is answered already, or the run that asked it has ended."},
	{agent.ErrNothingToCompact, http.StatusConflict, "NOTHING_TO_COMPACT", "There is nothing to sum up yet: the recent messages, which are kept as they are, are all there is."},
	{session.ErrIDTaken, http.StatusConflict, "ENTRY_EXISTS", "The session has another entry under this id. Send again under another one."},
	{session.ErrNoEntry, http.StatusNotFound, "ENTRY_NOT_FOUND", "There is no such entry in this session."},
	{wrapper.ErrChild, http.StatusConflict, "SUBAGENT", "This session is a subagent's: its tools were fixed by its profile when it was started."},
	{wrapper.ErrEmpty, http.StatusBadRequest, "EMPTY_PROMPT", "The message is empty. Write something to send."},
	{piweb.ErrAttachment, http.StatusBadRequest, "INVALID_ATTACHMENT", ""},
	{wrapper.ErrNoAttachments, http.StatusNotFound, "ATTACHMENTS_OFF", "Attachments are switched off here."},
	{attachment.ErrQuota, http.StatusRequestEntityTooLarge, "QUOTA_EXCEEDED", "The session has no room for more attachments. Delete some, or go on in a new session."},
	{piweb.ErrFavorites, http.StatusBadRequest, "INVALID_REQUEST", ""},
	{wrapper.ErrName, http.StatusBadRequest, "INVALID_REQUEST", ""},
	{wrapper.ErrFolder, http.StatusConflict, "FOLDER_GONE", ""},
	{wrapper.ErrShutdown, http.StatusServiceUnavailable, "SHUTTING_DOWN", "The program is shutting down. Start it again, then try again."},
	{wrapper.ErrClosed, http.StatusConflict, "SESSION_STOPPED", "The session was just stopped. Send again to start it anew."},
	{session.ErrClosed, http.StatusConflict, "SESSION_STOPPED", "The session was just stopped. Send again to start it anew."},
	{policy.ErrOverruled, http.StatusConflict, "TOOLS_OVERRULED", ""},
	{policy.ErrSnapshot, http.StatusConflict, "SUBAGENT", ""},
	{policy.ErrHead, http.StatusNotFound, "PROMPT_NOT_FOUND", ""},
	{piweb.ErrNoModel, http.StatusConflict, "NO_MODEL", ""},
	{toolselect.ErrNames, http.StatusBadRequest, "UNKNOWN_TOOL", ""},
	{catalog.ErrAmbiguous, http.StatusConflict, "AMBIGUOUS_ID", ""},
	{catalog.ErrNone, http.StatusNotFound, "SESSION_NOT_FOUND", noSession().text},
	{session.ErrInUse, http.StatusConflict, "IN_USE", "Another program is writing to this session. Wait until its turn has ended, or close it there."},
	{session.ErrNotSession, http.StatusUnprocessableEntity, "NOT_A_SESSION", ""},
	{session.ErrReplaced, http.StatusConflict, "REPLACED", "Another program replaced the session's file. Nothing was written. Stop the session and open it again."},
	{session.ErrPoisoned, http.StatusConflict, "NOT_DURABLE", "The disk refused to keep what was written, so the session takes nothing more. Stop it and open it again."},
	{fs.ErrNotExist, http.StatusNotFound, "SESSION_NOT_FOUND", noSession().text},
	{context.DeadlineExceeded, http.StatusGatewayTimeout, "TIMEOUT", "This took too long and was given up. Try again."},
	{context.Canceled, statusGone, "CANCELED", "The request was taken back."},
}

// toProblem turns any error into what a client sees. What is not on the table
// keeps its words for the log.
func toProblem(err error) *problem {
	var p *problem
	if errors.As(err, &p) {
		return p
	}
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return tooLarge()
	}
	for _, r := range table {
		if errors.Is(err, r.err) {
			text := r.text
			if text == "" {
				text = err.Error()
			}
			return &problem{status: r.status, code: r.code, text: text, cause: err}
		}
	}
	return &problem{status: http.StatusInternalServerError, code: "INTERNAL", cause: err}
}

func tooLarge() *problem {
	return refuse(http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE", "The request is larger than 8 MiB. Send less at once, or put it into a file of the project.")
}

// fail answers with an error.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := toProblem(err)
	id := requestID(r)
	if p.status >= http.StatusInternalServerError && p.cause != nil {
		s.log.LogAttrs(r.Context(), slog.LevelError, "request failed", slog.String("id", id), slog.String("code", p.code), slog.String("error", p.cause.Error()))
	}
	if p.text == "" {
		p = &problem{status: p.status, code: p.code, text: "Something went wrong on the server. Its log says what, under request " + id + "."}
	}
	if p.allow != "" {
		w.Header().Set("Allow", p.allow)
	}
	retryAfter(w.Header(), p.retry)
	if p.status == http.StatusRequestEntityTooLarge {
		w.Header().Set("Connection", "close") // the rest of the body is not read
	}
	type detail struct {
		Code    string   `json:"code"`
		Message string   `json:"message"`
		Fields  []string `json:"fields,omitempty"`
	}
	// The client reads code and message at the top, the specification has them
	// inside: both are there.
	write(w, r, p.status, struct {
		Error   detail `json:"error"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}{detail{p.code, p.text, p.fields}, p.code, p.text})
}
