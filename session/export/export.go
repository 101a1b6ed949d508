package export

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/piweb-go/piweb/internal/structure"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
	"github.com/tidwall/gjson"
)

// Redaction says what happens to secrets.
type Redaction string

// The ways to treat secrets.
const (
	RedactDefault Redaction = ""    // on for HTML and Markdown, off for JSONL
	RedactOn      Redaction = "on"  // secrets are replaced
	RedactOff     Redaction = "off" // everything stays; what is seen is reported
)

// Options say what is exported and how. The zero value is right for each format.
type Options struct {
	Entry    session.ID // the end of the branch; empty for the session's leaf
	All      bool       // all branches; JSONL only
	Redact   Redaction
	Redactor Redactor
	Force    bool             // HTML: write although there are doubts
	Now      func() time.Time // nil for time.Now
	// Progress is told how many entries were written, by the goroutine that exports;
	// nil to be told nothing.
	Progress func(session.Progress)
}

// Report says what an export did.
type Report struct {
	Entries  int       `json:"entries"`  // entries that were written or shown
	Redacted bool      `json:"redacted"` // the secrets among the findings were replaced
	Findings []Finding `json:"findings"` // secrets and doubts, without their values
	Homes    int       `json:"homes"`    // names of users in paths
	Pictures int       `json:"pictures"` // shown, or kept in JSONL; nobody looked into them
	More     int       `json:"more"`     // findings beyond the first 1000
}

// Finding is a place where something secret stands, or stood.
type Finding struct {
	Rule     string     `json:"rule"`
	Entry    session.ID `json:"entry"`
	Line     int        `json:"line"`     // of the session file
	Where    string     `json:"where"`    // what the text is: "user", "result of bash"
	TextLine int        `json:"textLine"` // 1-based, in that text
	Bytes    int        `json:"bytes"`    // how long it is
	Doubt    bool       `json:"doubt,omitempty"`
	Replaced bool       `json:"replaced"`
}

func (f Finding) String() string {
	return fmt.Sprintf("line %d, entry %s, %s, line %d of the text: %s, %d bytes", f.Line, f.Entry, f.Where, f.TextLine, f.Rule, f.Bytes)
}

// Errors to match with errors.Is.
var (
	// ErrDoubt: the text may hold secrets; nothing was written. See DoubtError.
	ErrDoubt = errors.New("the session may hold secrets")
	// ErrEmpty: the session has no header to export.
	ErrEmpty = errors.New("the session is empty")
)

// DoubtError lists where something may be a secret that would go out. It never
// holds the values.
type DoubtError struct {
	Path     string
	Findings []Finding
}

func (e *DoubtError) Error() string {
	const show = 10
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %v that would be shared in %d places; nothing was written", e.Path, ErrDoubt, len(e.Findings))
	for i, f := range e.Findings {
		if i == show {
			fmt.Fprintf(&b, "\n  and %d more", len(e.Findings)-show)
			break
		}
		fmt.Fprintf(&b, "\n  %s", f)
	}
	return b.String()
}

// Is matches ErrDoubt.
func (e *DoubtError) Is(target error) bool { return target == ErrDoubt }

// maxFindings bounds a report.
const maxFindings = 1000

// exporter is one pass over a session.
type exporter struct {
	s      *session.Session
	o      Options
	redact bool
	report Report
	entry  session.Entry // the one at hand
}

func newExporter(s *session.Session, o Options, byDefault bool) *exporter {
	return &exporter{s: s, o: o, redact: o.Redact == RedactOn || o.Redact == RedactDefault && byDefault, report: Report{Findings: []Finding{}}}
}

func (x *exporter) now() time.Time {
	if x.o.Now == nil {
		return time.Now()
	}
	return x.o.Now()
}

// text passes a text of the entry at hand through the redactor. Every text that
// goes out comes through here.
func (x *exporter) text(where, text string) string {
	out, matches := x.o.Redactor.Redact(text)
	x.found(where, text, matches)
	if !x.redact {
		return text
	}
	return out
}

func (x *exporter) found(where, text string, matches []Match) {
	line, at := 1, 0
	for _, m := range matches {
		if m.Rule == RuleHome {
			x.report.Homes++
			continue
		}
		if len(x.report.Findings) == maxFindings {
			x.report.More++
			continue
		}
		line += strings.Count(text[at:m.Start], "\n")
		at = m.Start
		doubt := m.Rule == RuleDoubt
		x.report.Findings = append(x.report.Findings, Finding{Rule: m.Rule, Entry: x.entry.ID, Line: x.entry.Line, Where: where, TextLine: line,
			Bytes: m.End - m.Start, Doubt: doubt, Replaced: x.redact && (!doubt || x.o.Redactor.Strict)})
	}
}

func secrets(matches []Match) []Match {
	return slices.DeleteFunc(slices.Clone(matches), func(m Match) bool { return !m.Secret() })
}

// open are the findings that would go out as they are.
func (r *Report) open() (open []Finding) {
	for _, f := range r.Findings {
		if !f.Replaced {
			open = append(open, f)
		}
	}
	return open
}

// JSONL writes the session as a file that pi and piweb open: the header with the
// same id and a new time, then the branch as one chain, or all branches. Entries
// keep their bytes apart from the parent, and apart from secrets where redaction
// is on. Files of version 1 and 2 are written as version 3.
func JSONL(w io.Writer, s *session.Session, o Options) (Report, error) {
	x := newExporter(s, o, false)
	h := s.Header()
	if h.Raw == nil {
		return x.report, fmt.Errorf("%s: %w", s.Path(), ErrEmpty)
	}
	plan, err := x.plan()
	if err != nil {
		return x.report, err
	}
	out := bufio.NewWriterSize(w, 64<<10)
	head, err := structure.SetText(h.Raw, "timestamp", x.now().UTC().Format(session.TimeLayout))
	if err == nil && h.Version < session.Version {
		head, err = structure.Set(head, "version", strconv.AppendInt(nil, session.Version, 10))
	}
	if err != nil {
		return x.report, fmt.Errorf("%s: write the header anew: %w", s.Path(), err)
	}
	x.entry = session.Entry{Line: 1}
	if err := x.line(out, head); err != nil {
		return x.report, err
	}
	for i := range plan.Len() {
		lines, err := plan.Lines(i)
		if err != nil {
			return x.report, err
		}
		x.entry = plan.Entry(i)
		x.report.Entries++
		x.tell(i+1, plan.Len())
		for _, line := range lines {
			if err := x.line(out, line); err != nil {
				return x.report, err
			}
		}
	}
	x.report.Redacted = x.redact
	return x.report, out.Flush()
}

// tell says how far the export is.
func (x *exporter) tell(done, total int) {
	if x.o.Progress != nil {
		x.o.Progress(session.Progress{Work: "exporting", Done: int64(done), Total: int64(total), Unit: "entries"})
	}
}

func (x *exporter) plan() (*Plan, error) {
	if x.o.All {
		if x.o.Entry != "" {
			return nil, errors.New("export: all branches and the branch of one entry exclude each other")
		}
		return Tree(x.s)
	}
	return Linear(x.s, x.o.Entry)
}

func (x *exporter) line(w io.Writer, raw []byte) error {
	raw, err := x.json(raw)
	if err == nil {
		_, err = w.Write(append(raw, '\n'))
	}
	return err
}

// structural are fields whose strings programs compare: ids, kinds, times. opaque
// are fields that only a provider understands. Neither is looked into.
var (
	structural = set("type", "id", "parentId", "timestamp", "customType", "role", "targetId", "fromId", "firstKeptEntryId", "toolCallId", "mimeType",
		"provider", "modelId", "api", "model", "stopReason", "responseId", "thinkingLevel", "writer", "sha256")
	opaque = set("textSignature", "thinkingSignature", "thoughtSignature", "encryptedContent", "encrypted_content")
)

// json passes the strings of a record through the redactor. Only strings that
// change are written anew.
func (x *exporter) json(raw []byte) ([]byte, error) {
	var out []byte
	at := 0
	var err error
	var walk func(v gjson.Result, key string)
	walk = func(v gjson.Result, key string) {
		if v.IsObject() || v.IsArray() {
			v.ForEach(func(k, child gjson.Result) bool {
				name := key
				if k.Type == gjson.String {
					name = k.String()
				}
				walk(child, name)
				return err == nil
			})
			return
		}
		if v.Type != gjson.String || structural[key] || opaque[key] {
			return
		}
		text := v.String()
		if plain := escapes.ReplaceAllString(text, ""); x.redact && strings.IndexByte(text, 0x1b) >= 0 && len(secrets(x.o.Redactor.find(plain))) > 0 {
			text = plain // the colours of a terminal hide a secret: they go with it
		}
		if key == "data" && len(text) > 256 && span(text, 0, base64Byte) == len(text) {
			x.report.Pictures++ // or other bytes in base64
			return
		}
		red := x.named(cmp.Or(x.entry.Type, "header"), key, text)
		if red == v.String() {
			return
		}
		var quoted []byte
		if quoted, err = message.Marshal(red); err != nil {
			return
		}
		out = append(append(out, raw[at:v.Index]...), quoted...)
		at = v.Index + len(v.Raw)
	}
	walk(gjson.ParseBytes(raw), "")
	if err != nil || out == nil {
		return raw, err
	}
	return append(out, raw[at:]...), nil
}

// named redacts the value of a field; the field's name can say that it is a
// secret.
func (x *exporter) named(where, key, value string) string {
	if nameWeight(key) != noSecret && !strings.ContainsAny(value, "\n\"") {
		pair := `"` + key + `":"`
		if _, ms := x.o.Redactor.Redact(pair + value + `"`); len(ms) == 1 && ms[0].Rule == ruleNamed {
			x.found(where, value, []Match{{ruleNamed, 0, len(value)}})
			if x.redact {
				return mark(ruleNamed)
			}
			return value
		}
	}
	return x.text(where, value)
}
