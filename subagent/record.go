package subagent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/piweb-go/piweb/internal/structure"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
)

// Custom types of a child's entries.
const (
	MetaType   = policy.SubagentType
	StatusType = "pi-web:subagent-status"
	ResultType = "pi-web:subagent-result"
	// NoticeType is the message by which a parent learns of a result.
	NoticeType = "pi-web:subagent-notification"
)

// Status is where a child is in its life.
type Status string

// The states of a child. A child that was queued or running in a process that is
// gone is interrupted: nothing runs it any more, and it can be resumed (D4).
const (
	Queued      Status = "queued"
	Running     Status = "running"
	Completed   Status = "completed"
	Failed      Status = "failed"
	Aborted     Status = "aborted"
	Interrupted Status = "interrupted"
)

// Waiting tells whether a result is still to come (D5: a queued child counts).
func (s Status) Waiting() bool { return s == Queued || s == Running }

// TimeLayout is how the entries of a child spell times, in UTC.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// Meta is what a child's second line says.
type Meta struct {
	ParentID       string          `json:"parentSessionId"`
	ParentPath     string          `json:"parentSessionPath"`
	ToolCallID     string          `json:"parentToolCallId"`
	Profile        string          `json:"profile"`
	Description    string          `json:"description"`
	Task           string          `json:"task"` // as it was asked, without documents
	Background     bool            `json:"runInBackground"`
	CreatedAt      string          `json:"createdAt"`
	Snapshot       json.RawMessage `json:"resourceSnapshot"`
	WorktreePath   string          `json:"worktreePath,omitempty"`
	WorktreeBranch string          `json:"worktreeBranch,omitempty"`
	// MaxTurns is not known to pi-web, which forgets the limit of a resumed child.
	MaxTurns int `json:"maxTurns,omitempty"`
}

// Result is how a run of a child ended.
type Result struct {
	Status       Status `json:"status"`
	CompletedAt  string `json:"completedAt"`
	Text         string `json:"result,omitempty"`
	Output       string `json:"output,omitempty"`        // agent://… of the whole, where the parent keeps it
	Older        bool   `json:"outputIsOlder,omitempty"` // what is kept is the answer of an earlier run
	Error        string `json:"error,omitempty"`
	CleanupError string `json:"worktreeCleanupError,omitempty"`
}

// payload makes the entry of a record.
func payload(customType string, data any) (session.Custom, error) {
	raw, err := message.Marshal(data)
	if err != nil {
		return session.Custom{}, err
	}
	versioned := append([]byte(`{"version":1,`), raw[1:]...)
	return session.CustomOf(customType, json.RawMessage(versioned))
}

// status is what the entry of a change says.
type status struct {
	Status Status `json:"status"`
	// Output is not known to pi-web: where the answer of the run will be kept.
	Output string `json:"output,omitempty"`
}

func statusEntry(s Status) (session.Custom, error) { return payload(StatusType, status{Status: s}) }

// Run is a child as its file tells it.
type Run struct {
	ID   string `json:"sessionId"`
	Path string `json:"-"`
	// Background, call and result are those of the last resume, if there was one.
	Meta
	Result
	// Call is the tool call of the parent that waits for the result of this run, if
	// one does. A parent that died meanwhile never wrote it.
	Call     string `json:"-"`
	ChatOnly bool   `json:"chatOnly"`
	// Address is where the answers of the child are kept, agent://…, or will be; ""
	// for one that has not begun.
	Address  string `json:"-"`
	answered bool   // a complete answer was kept there
	// Delivered tells whether the parent has the result; it is filled in where the
	// parent was looked at.
	Delivered bool `json:"delivered"`
	// Turns, tokens and money of the child, from its file.
	Spent Spending `json:"spent"`
}

// View is what ReadRun reads of a session.
type View interface {
	ID() string
	Path() string
	Entries() iter.Seq[session.Entry]
	Decode(session.Entry) (session.Payload, error)
}

// ReadRun reads the run of a child from its file. ok is false for a session that
// is no child, also for one whose metadata is of another version. The status is
// what the file alone says: a child that nobody ended is interrupted unless its
// process knows better.
func ReadRun(v View) (r Run, ok bool, err error) {
	r = Run{ID: v.ID(), Path: v.Path()}
	r.Result.Status = Interrupted
	r.Spent.Children = 1
	var began, last time.Time
	defer func() { r.Spent.Seconds += between(began, last) }()
	for e := range v.Entries() {
		last = e.Time()
		if e.Type == session.TypeMessage && e.Role == string(message.RoleAssistant) {
			if err := r.Spent.addEntry(v, e); err != nil {
				return r, false, err
			}
			continue
		}
		if e.Type != session.TypeCustom {
			continue
		}
		switch e.CustomType {
		case MetaType, StatusType, ResultType:
		default:
			continue
		}
		p, err := v.Decode(e)
		if err != nil {
			return r, false, err
		}
		data := p.(session.Custom).Data
		switch {
		case e.CustomType == MetaType && !ok:
			if ok = r.meta(data); !ok {
				return r, false, nil // the first one counts
			}
		case e.CustomType == MetaType:
		case e.CustomType == StatusType:
			if r.status(data); r.Result.Status == Running {
				began = last
			}
		case e.CustomType == ResultType:
			r.result(data)
			r.Spent.Seconds += between(began, last)
			began = time.Time{}
		}
	}
	return r, ok, nil
}

// between is the time of a run in whole seconds; clocks may go wrong.
func between(from, to time.Time) int64 {
	if from.IsZero() || to.Before(from) {
		return 0
	}
	return int64((to.Sub(from) + time.Second - 1) / time.Second)
}

func (r *Run) meta(data json.RawMessage) bool {
	var m struct {
		Version int `json:"version"`
		Meta
	}
	if structure.Unmarshal(data, &m) != nil || m.Version != 1 || m.ParentID == "" {
		return false
	}
	r.Meta = m.Meta
	if !r.Background {
		r.Call = r.ToolCallID
	}
	if strings.TrimSpace(r.Profile) == "" {
		r.Profile = DefaultProfile
	}
	if strings.TrimSpace(r.Description) == "" {
		r.Description = "Subagent"
	}
	var snap struct {
		Tools  []string `json:"tools"`
		Skills bool     `json:"loadSkills"`
		Ext    bool     `json:"loadExtensions"`
	}
	if structure.Unmarshal(m.Snapshot, &snap) == nil {
		r.ChatOnly = len(snap.Tools) == 0 && !snap.Skills && !snap.Ext
	}
	return true
}

// status notes a change; a run that begins anew has no result yet.
func (r *Run) status(data json.RawMessage) {
	var s struct {
		Version int `json:"version"`
		status
		Background *bool  `json:"runInBackground"`
		Call       string `json:"parentToolCallId"`
	}
	if structure.Unmarshal(data, &s) != nil || s.Version != 1 || !s.Status.Waiting() {
		return
	}
	r.Result = Result{Status: s.Status}
	r.Address = cmp.Or(s.Output, r.Address)
	if s.Background != nil {
		if r.Background, r.Call = *s.Background, s.Call; r.Background {
			r.Call = ""
		}
	}
}

func (r *Run) result(data json.RawMessage) {
	var s struct {
		Version int `json:"version"`
		Result
	}
	if structure.Unmarshal(data, &s) != nil || s.Version != 1 {
		return
	}
	switch s.Status {
	case Completed, Failed, Aborted, Interrupted:
		r.Result = s.Result
		r.Address = cmp.Or(s.Output, r.Address)
		r.answered = r.answered || s.Result.Status == Completed && s.Output != ""
	}
}

// FinalText is what a parent is told of a run.
func (r Run) FinalText() string {
	switch r.Status {
	case Queued, Running:
		return fmt.Sprintf("The subagent %s is %s.", r.ID, r.Status)
	case Completed:
		if r.Text == "" {
			return fmt.Sprintf("The subagent %s completed without text output.", r.ID)
		}
		return fmt.Sprintf("The subagent %s completed.\n\n%s", r.ID, r.shortText())
	case Aborted:
		return fmt.Sprintf("The subagent %s was stopped.%s", r.ID, partial(r.shortText()))
	case Interrupted:
		return fmt.Sprintf("The subagent %s was interrupted before completion; it can be resumed.%s", r.ID, partial(r.shortText()))
	}
	why := r.Error
	if why == "" {
		why = "unknown error"
	}
	return fmt.Sprintf("The subagent %s failed: %s%s", r.ID, why, partial(r.shortText()))
}

// maxText is how much of an answer goes into its parent, in bytes.
const maxText = 50_000

// shortText is the answer as far as it goes into the parent, and where the rest is.
func (r Run) shortText() string {
	if len(r.Text) <= maxText {
		return r.Text
	}
	cut := maxText
	for cut > 0 && !utf8.RuneStart(r.Text[cut]) {
		cut--
	}
	if i := strings.LastIndexByte(r.Text[:cut], '\n'); i > cut/2 {
		cut = i
	}
	where := "the whole answer stands in the subagent's session"
	if r.Output != "" && !r.Older {
		where = "read " + r.Output + " for all of it"
	}
	return fmt.Sprintf("%s\n\n[The first %d of %d bytes; %s.]", r.Text[:cut], cut, len(r.Text), where)
}

func partial(text string) string {
	if text == "" {
		return ""
	}
	return "\n\nIts last words were:\n\n" + text
}

// Details are what clients show beside a result.
type Details struct {
	Kind           string `json:"kind"`
	SessionID      string `json:"sessionId"`
	Profile        string `json:"profile"`
	Description    string `json:"description"`
	Status         Status `json:"status"`
	Background     bool   `json:"runInBackground"`
	CreatedAt      string `json:"createdAt"`
	CompletedAt    string `json:"completedAt,omitempty"`
	Error          string `json:"error,omitempty"`
	WorktreePath   string `json:"worktreePath,omitempty"`
	WorktreeBranch string `json:"worktreeBranch,omitempty"`
	CleanupError   string `json:"worktreeCleanupError,omitempty"`
}

// Details of a run.
func (r Run) Details() Details {
	return Details{"pi-web-subagent", r.ID, r.Profile, r.Description, r.Status, r.Background, r.CreatedAt, r.CompletedAt, r.Error,
		r.WorktreePath, r.WorktreeBranch, r.CleanupError}
}

func stamp(t time.Time) string { return t.UTC().Format(TimeLayout) }
