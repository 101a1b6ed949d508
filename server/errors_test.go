package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"testing"

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

// TestErrorTable: what each error of the rooms below is for a client. A row of
// the table that is not here fails.
func TestErrorTable(t *testing.T) {
	want := map[error]string{
		wrapper.ErrRunning: "409 RUNNING", wrapper.ErrChild: "409 SUBAGENT", policy.ErrSnapshot: "409 SUBAGENT", wrapper.ErrEmpty: "400 EMPTY_PROMPT",
		piweb.ErrAttachment: "400 INVALID_ATTACHMENT", wrapper.ErrNoAttachments: "404 ATTACHMENTS_OFF", attachment.ErrQuota: "413 QUOTA_EXCEEDED",
		piweb.ErrFavorites: "400 INVALID_REQUEST", wrapper.ErrName: "400 INVALID_REQUEST", wrapper.ErrFolder: "409 FOLDER_GONE", wrapper.ErrShutdown: "503 SHUTTING_DOWN",
		wrapper.ErrClosed: "409 SESSION_STOPPED", session.ErrClosed: "409 SESSION_STOPPED", policy.ErrOverruled: "409 TOOLS_OVERRULED",
		agent.ErrNothingToCompact: "409 NOTHING_TO_COMPACT", session.ErrNoEntry: "404 ENTRY_NOT_FOUND", session.ErrIDTaken: "409 ENTRY_EXISTS",
		wrapper.ErrQueueFull: "429 QUEUE_FULL", wrapper.ErrTakenIn: "409 TAKEN_IN", wrapper.ErrNoAsk: "409 UNKNOWN_EXTENSION_UI",
		policy.ErrHead:   "404 PROMPT_NOT_FOUND",
		piweb.ErrNoModel: "409 NO_MODEL", toolselect.ErrNames: "400 UNKNOWN_TOOL", catalog.ErrAmbiguous: "409 AMBIGUOUS_ID",
		catalog.ErrNone: "404 SESSION_NOT_FOUND", fs.ErrNotExist: "404 SESSION_NOT_FOUND", session.ErrInUse: "409 IN_USE", session.ErrNotSession: "422 NOT_A_SESSION",
		session.ErrReplaced: "409 REPLACED", session.ErrPoisoned: "409 NOT_DURABLE", context.DeadlineExceeded: "504 TIMEOUT", context.Canceled: "499 CANCELED",
		subagent.ErrOff: "409 SUBAGENTS_OFF", subagent.ErrNotRunning: "409 NOT_RUNNING", subagent.ErrNoChild: "404 SESSION_NOT_FOUND", subagent.ErrDepth: "409 TOO_DEEP",
		subagent.ErrBudget: "409 BUDGET_USED_UP", subagent.ErrLimits: "409 LIMITS_REFUSED", subagent.ErrMalformed: "409 PROFILE_MALFORMED",
		subagent.ErrSettings: "409 SETTINGS_UNREADABLE", subagent.ErrProfile: "404 PROFILE_NOT_FOUND", subagent.ErrDraft: "400 VALIDATION_FAILED",
		subagent.ErrScope: "400 VALIDATION_FAILED", subagent.ErrSpec: "400 VALIDATION_FAILED", subagent.ErrClosed: "503 SHUTTING_DOWN",
	}
	for _, r := range table {
		p := toProblem(fmt.Errorf("outer words: %w", r.err))
		if got := fmt.Sprintf("%d %s", p.status, p.code); got != want[r.err] || p.text == "" {
			t.Errorf("%v is %s %q, want %s", r.err, got, p.text, want[r.err])
		}
		delete(want, r.err)
	}
	for err := range want {
		t.Errorf("%v is not on the table", err)
	}
	if p := toProblem(errors.New("words of the disk")); p.status != 500 || p.code != "INTERNAL" || p.text != "" {
		t.Errorf("an unknown error is %+v", p)
	}
	if p := toProblem(&http.MaxBytesError{}); p.status != 413 {
		t.Errorf("a large body is %+v", p)
	}
}

// TestInUse: another program holds the session's file.
func TestInUse(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	path := w.sessionFile("a", "stored", "2026-01-01T00:00:00.000Z", "x")
	other, err := session.Open(path, session.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Append(session.SessionInfo{Name: "theirs"}); err != nil {
		t.Fatal(err)
	}
	a := w.do(409, "POST", "/api/sessions/stored/messages", `{"message":"x"}`)
	if a.code() != "IN_USE" {
		t.Errorf("answer %s", a.body)
	}
	if a := w.do(409, "PUT", "/api/sessions/stored/tools", `{"tools":[]}`); a.code() != "IN_USE" {
		t.Errorf("answer %s", a.body)
	}
	w.do(200, "GET", "/api/sessions/stored/messages")
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	w.say("stored", "now")
	w.idle("stored")
}

// TestLogs: logs say who asked for what and how it ended, and nothing that people
// wrote.
func TestLogs(t *testing.T) {
	w := newWorld(t, slowTalk(t))
	id := w.create(`[]`)
	w.do(200, "POST", "/api/sessions/"+id+"/messages?secret=QUERY", `{"message":"PAYLOAD hello"}`)
	w.idle(id)
	w.do(200, "GET", "/api/sessions/"+id+"/messages")
	logs := w.logs.String()
	for _, word := range []string{"QUERY", "PAYLOAD", testToken, "Good day"} {
		if strings.Contains(logs, word) {
			t.Errorf("the log has %q", word)
		}
	}
	if !strings.Contains(logs, "method=POST path=/api/sessions/"+id+"/messages user=local status=200") {
		t.Errorf("the log is\n%s", logs)
	}
}
