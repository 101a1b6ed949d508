package server

import (
	"math"
	"net/http"
	"slices"
	"strconv"

	"github.com/piweb-go/piweb/agent"
	"github.com/piweb-go/piweb/server/wire"
	"github.com/piweb-go/piweb/wrapper"
)

const (
	maxLogs    = 500 // lines that are kept of a session
	maxLogText = 500 // characters
)

// levels are the levels of log lines, the least important first.
var levels = []string{"debug", "info", "warn", "error"}

// logLine is what an event leaves in the session's log: what went wrong or was
// told, and never what people wrote.
func logLine(e wrapper.Event) (wire.LogEntry, bool) {
	l := wire.LogEntry{Level: "info", NS: "session"}
	switch e.Type {
	case wrapper.Notice, wrapper.NewerText:
		l.Msg = e.Reason
	case wrapper.PromptError:
		l.Level, l.NS, l.Msg = "error", "turn", e.Error
	case agent.AutoRetryStart:
		l.Level, l.NS, l.Msg = "warn", "turn", e.ErrorMessage
	case agent.CompactionEnd:
		l.Level, l.NS, l.Msg = "warn", "compaction", e.ErrorMessage
	case wrapper.Gap:
		l.Level, l.NS, l.Msg = "warn", "stream", wire.GapText
	}
	if runes := []rune(l.Msg); len(runes) > maxLogText {
		l.Msg = string(runes[:maxLogText]) + "…"
	}
	return l, l.Msg != ""
}

// noteLog keeps the line of an event, and tells it. It is called under mu.
func (f *feed) noteLog(e wrapper.Event) {
	l, ok := logLine(e)
	if !ok {
		return
	}
	f.logged++
	l.ID, l.TS = f.logged, f.now().UnixMilli()
	if f.logs = append(f.logs, l); len(f.logs) > maxLogs {
		f.logs = slices.Clone(f.logs[len(f.logs)-maxLogs:])
	}
	f.add([]wire.Frame{{Control: wire.Logs{Entries: []wire.LogEntry{l}}}})
}

// backlog is the frame of the lines so far; none where there are none.
func (f *feed) backlog() []wire.Frame {
	if len(f.logs) == 0 {
		return nil
	}
	return []wire.Frame{{Control: wire.Logs{Entries: slices.Clone(f.logs)}}}
}

// getLogs gives the log lines of a live session.
func (s *Server) getLogs(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	q := r.URL.Query()
	level, limit, since := 0, -1, math.Inf(-1)
	if q.Has("level") {
		if level = slices.Index(levels, q.Get("level")); level < 0 {
			return badParam("level", "level must be debug, info, warn or error.")
		}
	}
	if q.Has("limit") {
		n, err := strconv.Atoi(q.Get("limit"))
		if err != nil || n < 0 {
			return badParam("limit", "limit must be a whole number, 0 or more.")
		}
		limit = n
	}
	if q.Has("since") {
		n, err := strconv.ParseFloat(q.Get("since"), 64)
		if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
			return badParam("since", "since must be a time in milliseconds.")
		}
		since = n
	}
	t, err := s.lookup(r.Context(), args["id"])
	if err != nil {
		return err
	}
	entries := []wire.LogEntry{}
	for _, l := range s.logsOf(t) {
		if slices.Index(levels, l.Level) >= level && float64(l.TS) >= since {
			entries = append(entries, l)
		}
	}
	if limit >= 0 && len(entries) > limit {
		entries = entries[len(entries)-limit:]
	}
	write(w, r, http.StatusOK, struct {
		Entries []wire.LogEntry `json:"entries"`
	}{entries})
	return nil
}

func badParam(field, text string) error {
	p := refuse(http.StatusBadRequest, "INVALID_PARAM", text)
	p.fields = []string{field}
	return p
}

// logsOf are the lines of a session that is live, or was followed not long ago.
func (s *Server) logsOf(t *target) []wire.LogEntry {
	f := s.feeds.peek(t.key)
	if t.live != nil {
		f = s.feeds.follow(t.key, live{t.live}, false)
	}
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.catchUp()
	return slices.Clone(f.logs)
}
