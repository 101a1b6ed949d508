package server

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strconv"

	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/session/export"
)

// exportFormat is a form in which a session is written for other eyes.
type exportFormat struct {
	kind  string // content type
	ext   string
	write func(io.Writer, *session.Session, export.Options) (export.Report, error)
}

var exportFormats = map[string]exportFormat{
	"jsonl": {"application/x-ndjson", ".jsonl", export.JSONL},
	"md":    {"text/markdown; charset=utf-8", ".md", export.Markdown},
	"html":  {"text/html; charset=utf-8", ".html", export.HTML},
}

// redactions are the values of the query's redact, as the options of package export.
var redactions = map[string]export.Options{
	"": {}, "on": {Redact: export.RedactOn}, "off": {Redact: export.RedactOff},
	"strict": {Redact: export.RedactOn, Redactor: export.Redactor{Strict: true}},
}

// exportSession gives a session as a file for other eyes, or with report=1 what
// such a file would hold that may be secret. The file is made as a whole before
// its first byte is sent, on the disk and not in memory, so that a client never
// gets half of one.
func (s *Server) exportSession(w http.ResponseWriter, r *http.Request, args map[string]string) error {
	q := r.URL.Query()
	name := q.Get("format")
	if name == "" {
		name = "jsonl"
	}
	format, ok := exportFormats[name]
	if !ok {
		return badQuery("format", "format must be jsonl, md or html.")
	}
	o, ok := redactions[q.Get("redact")]
	if !ok {
		return badQuery("redact", "redact must be on, off or strict.")
	}
	o.Entry, o.All, o.Force, o.Now = session.ID(q.Get("entry")), q.Get("all") == "1", q.Get("force") == "1", s.cfg.Now
	switch {
	case o.All && name != "jsonl":
		return badQuery("all", "Only jsonl can hold all branches.")
	case o.All && o.Entry != "":
		return badQuery("all", "all and entry exclude each other.")
	}
	if home, err := os.UserHomeDir(); err == nil && len(home) > 1 {
		o.Redactor.Homes = []string{home}
	}
	t, err := s.lookup(r.Context(), args["id"])
	if err != nil {
		return err
	}
	if t.live != nil && !t.live.Log().Persisted() {
		return refuse(http.StatusConflict, "NOTHING_TO_EXPORT", "The session has no message yet, so there is nothing to export.")
	}
	log, err := session.Open(t.pathOf(), session.Options{Strict: true})
	if err != nil {
		return err
	}
	defer log.Close()
	if q.Get("report") == "1" {
		return s.exportReport(w, r, log, format, name, o)
	}
	tmp, err := os.CreateTemp("", "piweb-export-*")
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	defer func() { _ = os.Remove(tmp.Name()); _ = tmp.Close() }()
	if _, err := format.write(tmp, log, o); err != nil {
		return exportProblem(err)
	}
	size, err := tmp.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = tmp.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", format.kind)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": exportName(log) + format.ext}))
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = io.Copy(w, tmp) // a client that left is no news
	}
	return nil
}

// exportReport says what an export would do, without giving it.
func (s *Server) exportReport(w http.ResponseWriter, r *http.Request, log *session.Session, format exportFormat, name string, o export.Options) error {
	o.Force = true // the doubts are in the report
	report, err := format.write(io.Discard, log, o)
	if err != nil {
		return exportProblem(err)
	}
	report.Findings = append([]export.Finding{}, report.Findings...)
	write(w, r, http.StatusOK, struct {
		Format string        `json:"format"`
		Report export.Report `json:"report"`
	}{name, report})
	return nil
}

func exportProblem(err error) error {
	switch {
	case errors.Is(err, export.ErrDoubt):
		p := refuse(http.StatusConflict, "DOUBTS", "Something in it may be a secret, so nothing was written. Ask with report=1 where it stands; redact=strict takes it out, force=1 writes it all the same.")
		p.cause = err
		return p
	case errors.Is(err, export.ErrEmpty):
		return &problem{status: http.StatusConflict, code: "NOTHING_TO_EXPORT", text: "The session has no message yet, so there is nothing to export.", cause: err}
	}
	return err
}

// exportName is the session's name as a file's, or its id.
func exportName(log *session.Session) string {
	name, err := log.Name()
	if err != nil || name == "" {
		name = log.ID()
	}
	runes := []rune(name)
	for i, c := range runes {
		if c < ' ' || slices.Contains([]rune(`/\:*?"<>|`), c) || c == 0x7f {
			runes[i] = '_'
		}
	}
	return string(runes[:min(len(runes), 80)])
}
