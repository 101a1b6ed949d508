package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/piweb-go/piweb"
	"github.com/piweb-go/piweb/internal/document"
	"github.com/piweb-go/piweb/subagent"
)

// childItem is a subagent as clients see it. Its id is that of its session.
type childItem struct {
	SessionID   string          `json:"sessionId"`
	ParentID    string          `json:"parentSessionId,omitempty"` // "" where there is no such session any more
	Profile     string          `json:"profile"`
	Description string          `json:"description"`
	Task        string          `json:"task"`
	Status      subagent.Status `json:"status"`
	Background  bool            `json:"runInBackground"`
	ChatOnly    bool            `json:"chatOnly"`
	// Pending tells that it has a result which its parent has not got yet: it goes
	// in with the parent's next prompt.
	Pending      bool              `json:"pending"`
	CreatedAt    string            `json:"createdAt"`
	CompletedAt  string            `json:"completedAt,omitempty"`
	Result       string            `json:"result,omitempty"` // its beginning
	Truncated    bool              `json:"resultTruncated,omitempty"`
	Output       string            `json:"output,omitempty"` // agent://… of the whole, where it is kept
	Error        string            `json:"error,omitempty"`
	MaxTurns     int               `json:"maxTurns,omitempty"`
	Worktree     string            `json:"worktreePath,omitempty"`
	Branch       string            `json:"worktreeBranch,omitempty"`
	CleanupError string            `json:"worktreeCleanupError,omitempty"`
	Spent        subagent.Spending `json:"spent"`
}

// maxShown is how much of a result is sent with an item, in characters. The whole
// stands in the child's session.
const maxShown = 4000

// family knows sessions by their file.
type family map[string]*target

func (s *Server) family(ctx context.Context) (family, error) {
	all, err := s.targets(ctx)
	if err != nil {
		return nil, err
	}
	f := family{}
	for _, t := range all {
		f[t.key] = t
	}
	return f, nil
}

// parent is the session that a child names, or nil. What a file says is only
// looked up among the sessions that there are.
func (f family) parent(path, id string) *target {
	if path != "" {
		if t := f[keyOf(path)]; t != nil && t.id == id {
			return t
		}
	}
	var hit *target
	for _, t := range f {
		if t.id == id {
			if hit != nil {
				return nil
			}
			hit = t
		}
	}
	return hit
}

func (f family) item(r subagent.Run) childItem {
	i := childItem{SessionID: r.ID, Profile: r.Profile, Description: r.Description, Task: r.Task, Status: r.Status, Background: r.Background, ChatOnly: r.ChatOnly,
		Pending: r.Background && r.CompletedAt != "" && !r.Delivered, CreatedAt: r.CreatedAt, CompletedAt: r.CompletedAt, Output: r.Output, Error: r.Error,
		MaxTurns: r.MaxTurns, Worktree: r.WorktreePath, Branch: r.WorktreeBranch, CleanupError: r.CleanupError, Spent: r.Spent}
	if t := f[keyOf(r.Path)]; t != nil {
		i.SessionID = t.wireID
	}
	if p := f.parent(r.ParentPath, r.ParentID); p != nil {
		i.ParentID = p.wireID
	}
	i.Result = r.Text
	if runes := []rune(r.Text); len(runes) > maxShown {
		i.Result, i.Truncated = string(runes[:maxShown]), true
	}
	return i
}

// pathOf is how the program calls a session's file.
func (t *target) pathOf() string {
	if t.live != nil {
		return t.live.Log().Path()
	}
	return t.path
}

// listChildren tells what a session has delegated, and what its tree may spend.
func (s *Server) listChildren(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	t, err := s.lookup(r.Context(), args["id"])
	if err != nil {
		return err
	}
	over, err := s.rt.Subagents().Overview(r.Context(), t.pathOf())
	if err != nil {
		return err
	}
	f, err := s.family(r.Context())
	if err != nil {
		return err
	}
	items, pending := []childItem{}, []string{}
	for _, run := range over.Runs {
		i := f.item(run)
		if items = append(items, i); i.Pending {
			pending = append(pending, i.SessionID)
		}
	}
	set, _ := s.rt.SubagentSettings().Read()
	write(w, r, http.StatusOK, struct {
		Enabled   bool        `json:"enabled"`
		Subagents []childItem `json:"subagents"`
		Pending   []string    `json:"pending"` // whose results wait
		budget
	}{set.BuiltIn, items, pending, budget{over.Limits, over.Spent, over.Depth}})
	return nil
}

// startChild starts a subagent on a person's behalf. It does not wait: the result
// is delivered to the session, unless background is false, where it only stands in
// the child.
func (s *Server) startChild(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	background := true
	spec := subagent.Spec{Profile: f.optional("profile"), Task: f.str("task"), Description: f.optional("description"), Model: f.optional("model"),
		Thinking: f.optional("thinking"), MaxTurns: f.number("maxTurns"), Inherit: f.maybe("inheritContext"), Background: f.maybe("background"),
		Isolation: f.choice("isolation", "worktree", "off")}
	if spec.Background == nil {
		spec.Background = &background
	}
	if files := f.list("inputFiles"); files != nil {
		spec.InputFiles = *files
	}
	if strings.TrimSpace(spec.Task) == "" {
		f.bad("task")
	}
	if piweb.CheckThinking(spec.Thinking) != nil {
		f.bad("thinking")
	}
	if n := spec.MaxTurns; n != nil && *n < 0 {
		f.bad("maxTurns")
	}
	if err := f.check(); err != nil {
		return err
	}
	ctx, cancel := sending(r)
	defer cancel()
	var run subagent.Run
	err = s.use(ctx, args["id"], func(st *started) (err error) {
		run, err = s.rt.Subagents().Start(ctx, st.s.Log().Path(), spec)
		return err
	})
	if err != nil {
		return startProblem(err)
	}
	return s.answerChild(w, r, http.StatusCreated, run)
}

// startProblem names the field to which an error of a start belongs.
func startProblem(err error) error {
	switch {
	case errors.Is(err, subagent.ErrProfile):
		return &problem{status: http.StatusBadRequest, code: "VALIDATION_FAILED", text: err.Error(), fields: []string{"profile"}, cause: err}
	case documentProblem(err):
		return &problem{status: http.StatusBadRequest, code: "VALIDATION_FAILED", text: err.Error(), fields: []string{"inputFiles"}, cause: err}
	}
	return err
}

func documentProblem(err error) bool {
	return slices.ContainsFunc([]error{document.ErrTooMany, document.ErrEmpty, document.ErrMissing, document.ErrOutside, document.ErrNotFile, document.ErrTotal, document.ErrEncoding},
		func(e error) bool { return errors.Is(err, e) })
}

func (s *Server) answerChild(w http.ResponseWriter, r *http.Request, status int, run subagent.Run) error {
	f, err := s.family(r.Context())
	if err != nil {
		return err
	}
	write(w, r, status, struct {
		OK  bool      `json:"ok"`
		Run childItem `json:"run"`
	}{true, f.item(run)})
	return nil
}

// child finds a subagent by its session's id. One that does not exist, and a
// session that is none, are both a 404.
func (s *Server) child(ctx context.Context, name string) (run subagent.Run, parent string, err error) {
	t, err := s.lookup(ctx, name)
	if err != nil {
		return run, "", err
	}
	run, parent, ok, err := s.rt.Subagents().At(t.pathOf())
	if err != nil {
		return run, "", err
	}
	if !ok {
		return run, "", refuse(http.StatusNotFound, "SESSION_NOT_FOUND", "There is no subagent with this id.")
	}
	if parent == "" {
		f, err := s.family(ctx)
		if err != nil {
			return run, "", err
		}
		if p := f.parent(run.ParentPath, run.ParentID); p != nil {
			parent = p.pathOf()
		}
	}
	return run, parent, nil
}

func (s *Server) getChild(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	run, parent, err := s.child(r.Context(), args["id"])
	if err != nil {
		return err
	}
	if parent != "" {
		over, err := s.rt.Subagents().Overview(r.Context(), parent)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(over.Runs, func(o subagent.Run) bool { return o.Path == run.Path }); i >= 0 {
			run = over.Runs[i]
		}
	}
	f, err := s.family(r.Context())
	if err != nil {
		return err
	}
	write(w, r, http.StatusOK, struct {
		Run childItem `json:"run"`
	}{f.item(run)})
	return nil
}

// tellChild steers, stops or resumes a subagent.
func (s *Server) tellChild(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	action := f.choice("action", "steer", "abort", "resume")
	if action == "" {
		f.bad("action")
	}
	text := f.optional("message")
	if action != "abort" && strings.TrimSpace(text) == "" {
		f.bad("message")
	}
	background := cmp.Or(f.maybe("background"), new(bool))
	if !f.has("background") {
		*background = true
	}
	if err := f.check(); err != nil {
		return err
	}
	run, parent, err := s.child(r.Context(), args["id"])
	if err != nil {
		return err
	}
	if parent == "" {
		return refuse(http.StatusConflict, "NO_PARENT", "The session that started this subagent is gone. Open the subagent and talk to it as to any session.")
	}
	ctx, cancel := sending(r)
	defer cancel()
	m := s.rt.Subagents()
	switch action {
	case "steer":
		err = m.Steer(ctx, parent, run.ID, strings.TrimSpace(text))
	case "abort":
		err = m.Cancel(ctx, parent, run.ID)
	case "resume":
		run, err = m.Resume(ctx, parent, run.ID, text, background)
	}
	if err != nil {
		return err
	}
	if now, err := m.Run(ctx, parent, run.ID); err == nil {
		run = now
	}
	return s.answerChild(w, r, http.StatusOK, run)
}

// budget is what a tree may spend and has spent.
type budget struct {
	Limits subagent.Limits   `json:"limits"`
	Spent  subagent.Spending `json:"spent"`
	Depth  int               `json:"depth"` // of the session that was asked for; 0 where it began
}

func (s *Server) getBudget(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	t, err := s.lookup(r.Context(), args["id"])
	if err != nil {
		return err
	}
	return s.answerBudget(w, r, t.pathOf())
}

func (s *Server) answerBudget(w http.ResponseWriter, r *http.Request, path string) error {
	over, err := s.rt.Subagents().Overview(r.Context(), path)
	if err != nil {
		return err
	}
	write(w, r, http.StatusOK, struct {
		budget
		Defaults subagent.Limits `json:"defaults"`
	}{budget{over.Limits, over.Spent, over.Depth}, subagent.DefaultLimits()})
	return nil
}

// setBudget sets the limits of a session's tree. What is missing is the default.
func (s *Server) setBudget(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	f, err := readForm(w, r)
	if err != nil {
		return err
	}
	// The limits stand in the body, or in "limits" as the answer has them: taken for
	// nothing, they would all go back to the defaults.
	fields, in := f.fields, ""
	if raw, ok := f.fields["limits"]; ok {
		fields, in = nil, "limits."
		if json.Unmarshal(raw, &fields) != nil || fields == nil {
			f.bad("limits")
		}
	}
	var l subagent.Limits
	for name, into := range map[string]any{"depth": &l.Depth, "concurrent": &l.Concurrent, "total": &l.Total, "turns": &l.Turns, "tokens": &l.Tokens,
		"dollars": &l.Dollars, "seconds": &l.Seconds} {
		raw, ok := fields[name]
		if !ok {
			continue
		}
		if string(raw) == "null" || json.Unmarshal(raw, into) != nil {
			f.bad(in + name)
		}
	}
	slices.Sort(f.wrong)
	if err := f.check(); err != nil {
		return err
	}
	if err := l.Check(); err != nil {
		return invalid(err.Error(), l.Wrong())
	}
	ctx, cancel := sending(r)
	defer cancel()
	var path string
	err = s.use(ctx, args["id"], func(st *started) error {
		path = st.s.Log().Path()
		return s.rt.Subagents().SetLimits(ctx, path, l)
	})
	if err != nil {
		return err
	}
	return s.answerBudget(w, r, path)
}

// relate adds to the items of a list whose children they are.
func (s *Server) relate(ctx context.Context, items []item) error {
	var f family
	for i := range items {
		it := &items[i]
		if it.header == "" {
			continue
		}
		run, _, ok, err := s.rt.Subagents().At(it.Path)
		if err != nil || !ok {
			continue // an item without relations is still an item
		}
		if f == nil {
			if f, err = s.family(ctx); err != nil {
				return err
			}
		}
		it.Subagent = &relation{Profile: run.Profile, Description: run.Description, Status: run.Status}
		if p := f.parent(run.ParentPath, run.ParentID); p != nil {
			it.Subagent.ParentID = p.wireID
		}
	}
	return nil
}

// relation is what a list tells of a subagent.
type relation struct {
	ParentID    string          `json:"parentSessionId,omitempty"`
	Profile     string          `json:"profile"`
	Description string          `json:"description"`
	Status      subagent.Status `json:"status"`
}
