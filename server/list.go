package server

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/piweb-go/piweb/policy"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/session/catalog"
	"github.com/piweb-go/piweb/toolselect"
	"github.com/piweb-go/piweb/wrapper"
)

// item is a session as the list shows it.
type item struct {
	SessionID string `json:"sessionId"`
	CWD       string `json:"cwd"`
	CreatedAt string `json:"createdAt"`
	UpdatedAt string `json:"updatedAt,omitempty"`
	Name      string `json:"name,omitempty"`
	Source    string `json:"source"`
	Activity  string `json:"activity,omitempty"` // of a live session that does something: awaiting-input, working, error
	First     string `json:"firstMessage"`
	Messages  int    `json:"messageCount"`
	Tools     string `json:"tools"` // what was chosen, in words
	Kind      string `json:"kind"`
	Path      string `json:"path"`
	Problem   string `json:"problem,omitempty"`
	Transient bool   `json:"transient,omitempty"` // live, and without a file so far

	Subagent *relation `json:"subagent,omitempty"` // nil for a session that nobody's model started
	header   string    // the parent that its header names
}

// sortKey is the time by which a list is sorted. What is no session stands at the
// end.
func (i item) sortKey() string {
	if i.Problem != "" {
		return ""
	}
	if i.UpdatedAt != "" {
		return i.UpdatedAt
	}
	return i.CreatedAt
}

// newer orders a list: the newest first, and of two equal ones the greater id.
func newer(a, b item) int {
	if c := strings.Compare(b.sortKey(), a.sortKey()); c != 0 {
		return c
	}
	return strings.Compare(b.SessionID, a.SessionID)
}

// cursor is the last item of a page.
type cursor struct {
	TS string `json:"ts"`
	ID string `json:"id"`
}

func parseCursor(text string) (cursor, bool) {
	var c cursor
	data, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
	return c, err == nil && json.Unmarshal(data, &c) == nil && c.ID != ""
}

const (
	pageSize    = 50
	maxPageSize = 200
)

func (s *Server) listSessions(w http.ResponseWriter, r *http.Request, _ map[string]string) error {
	q := r.URL.Query()
	limit := pageSize
	if q.Has("limit") {
		n, err := strconv.Atoi(q.Get("limit"))
		if err != nil || n <= 0 {
			return badQuery("limit", "limit must be a whole number above 0.")
		}
		limit = min(n, maxPageSize)
	}
	var after *item
	if text := q.Get("cursor"); text != "" {
		c, ok := parseCursor(text)
		if !ok {
			return badQuery("cursor", "cursor must be the nextCursor of an earlier answer.")
		}
		after = &item{UpdatedAt: c.TS, SessionID: c.ID}
	}
	all, err := s.targets(r.Context())
	if err != nil {
		return err
	}
	if err := s.index.describeAll(r.Context(), all); err != nil {
		return err
	}
	version := s.version(r.Context(), all)
	wanted := strings.ToLower(strings.TrimSpace(q.Get("q")))
	items := []item{}
	for _, t := range all {
		if i := s.item(t); i.matches(wanted) && (after == nil || newer(*after, i) < 0) {
			items = append(items, i)
		}
	}
	slices.SortFunc(items, newer)
	var next string
	if len(items) > limit {
		items = items[:limit]
		last := items[limit-1]
		data, _ := json.Marshal(cursor{last.sortKey(), last.SessionID}) // two strings
		next = base64.RawURLEncoding.EncodeToString(data)
	}
	if err := s.relate(r.Context(), items); err != nil {
		return err
	}
	write(w, r, http.StatusOK, struct {
		Sessions []item `json:"sessions"`
		Next     string `json:"nextCursor,omitempty"`
		Version  int64  `json:"listVersion"` // grows when a session comes, goes, or gets another name
	}{items, next, version})
	return nil
}

func badQuery(field, text string) error {
	p := refuse(http.StatusBadRequest, "INVALID_REQUEST", text)
	p.fields = []string{field}
	return p
}

// matches searches in what the list shows as title, and in the id.
func (i item) matches(q string) bool {
	title := i.Name
	if title == "" {
		title = i.First
	}
	return q == "" || strings.Contains(strings.ToLower(title+" "+i.SessionID), q)
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(session.TimeLayout)
}

// maxFirst is how much of a first message a list shows, in characters.
const maxFirst = 300

// itemOf describes a file for the list.
func itemOf(info catalog.Info, mod time.Time) item {
	i := item{CWD: info.CWD, Source: info.CWD, CreatedAt: stamp(info.Created), UpdatedAt: stamp(info.Modified), Name: info.Name, First: cut(info.First),
		Messages: info.Messages, Tools: info.Tools, Kind: kindOf(info.Tools), Path: info.Path, Problem: info.Problem, header: info.Parent}
	if i.CreatedAt == "" {
		i.CreatedAt = stamp(mod)
	}
	return i
}

// item describes a session for the list.
func (s *Server) item(t *target) item {
	i := item{Path: t.path}
	if t.file != nil {
		i = s.index.describe(t.file)
	}
	i.SessionID = t.wireID
	if t.live != nil {
		t.addLive(&i)
	}
	return i
}

// addLive adds what only a live session knows.
func (t *target) addLive(i *item) {
	switch state, _ := t.live.State(); state {
	case wrapper.Running:
		i.Activity = "working"
	case wrapper.Failed:
		i.Activity = "error"
	}
	if awaitsInput(t.live) {
		i.Activity = "awaiting-input"
	}
	p, _ := t.live.Policy()
	i.Kind = string(p.Kind)
	if t.file != nil {
		return
	}
	log := t.live.Log()
	i.Transient = !log.Persisted()
	i.CWD, i.CreatedAt = log.Header().CWD, stamp(log.Header().Created())
	i.Source, i.UpdatedAt = i.CWD, i.CreatedAt
	if name, err := log.Name(); err == nil {
		i.Name = name
	}
	if found, err := toolselect.Find(log); err == nil {
		i.Tools = found.Selection.String()
	}
}

// kindOf guesses the kind of a session that is not live from its choice alone;
// GET …/policy decides it properly.
func kindOf(tools string) string {
	switch {
	case tools == "":
		return ""
	case tools == toolselect.ChatOnly().String():
		return string(policy.ChatOnly)
	case tools == toolselect.Clear().String(), tools == toolselect.Unset.String():
		return string(policy.Open)
	}
	return string(policy.Pinned)
}

func cut(text string) string {
	runes := []rune(text)
	if len(runes) <= maxFirst {
		return text
	}
	return string(runes[:maxFirst]) + "…"
}
