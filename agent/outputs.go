package agent

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/piweb-go/piweb/agent/tool"
	"github.com/piweb-go/piweb/message"
)

// Outputs keeps whole outputs beside the session, because a model is shown a part
// of them. It is the gate behind all others: what it keeps is what the model would
// have got. It is safe for concurrent use.
type Outputs interface {
	// Sink takes the output of one call of a tool while it streams. It keeps
	// nothing as long as all of it is shown. See tool.Located and tool.Call.Sink.
	Sink(tool string) io.WriteCloser
	// Save keeps a whole text and returns its path, and the name by which a model
	// can ask for it.
	Save(tool, text string) (path, name string, err error)
	// Links opens what was kept.
	tool.Links
}

// keepOutput gives a call its sink and its links. The returned function closes the
// sink on every way out of the tool.
func (l *Loop) keepOutput(call *tool.Call) (closeSink func()) {
	sink := l.cfg.Outputs.Sink(call.Name)
	call.Sink, call.Links = sink, l.cfg.Outputs
	return func() { _ = sink.Close() }
}

// The part of a result that is shown where it is too long and its tool has not cut
// it: the end, as pi and oh-my-pi do (spec/omp.md §7.6).
const (
	spillLimit = tool.MaxBytes // bytes of text that pass as they are
	spillBytes = 20 << 10      // shown of more
	spillLines = 500
)

// spillResult keeps the text of a result that is too long for a model, and shows
// the end of it. A result that its tool has cut itself is left alone. Where the
// text cannot be kept the result is shown whole: a successful call must not become
// an error for that.
func spillResult(o Outputs, call *tool.Call, r tool.Result) tool.Result {
	size := 0
	for _, b := range r.Content {
		if b.Type == message.TypeText {
			size += len(b.Text) + 1
		}
	}
	if size-1 <= spillLimit || cutAlready(r.Details) {
		return r
	}
	var texts []string
	rest := message.Content{}
	for _, b := range r.Content {
		if b.Type == message.TypeText {
			texts = append(texts, b.Text)
		} else {
			rest = append(rest, b)
		}
	}
	text := strings.Join(texts, "\n")
	if len(text) <= spillLimit {
		return r
	}
	path, name, err := o.Save(call.Name, text)
	if err != nil {
		return r
	}
	shown := tailOf(text, spillBytes, spillLines)
	details, err := withTruncation(r.Details, shown, path, name)
	if err != nil {
		return r
	}
	note := fmt.Sprintf("[Lines %d-%d of %d; whole output: %s]", shown.first, shown.total, shown.total, name)
	if shown.partial {
		note = fmt.Sprintf("[Last %d bytes of line %d; whole output: %s]", len(shown.text), shown.total, name)
	}
	r.Content = append(rest, message.Text(shown.text+"\n\n"+note))
	r.Details = details
	return r
}

// cutAlready tells whether a tool has cut its own output: then the result says so,
// in pi's way or in oh-my-pi's.
func cutAlready(details json.RawMessage) bool {
	var d struct {
		Truncation *struct{} `json:"truncation"`
		Meta       struct {
			Truncation *struct{} `json:"truncation"`
		} `json:"meta"`
	}
	return json.Unmarshal(details, &d) == nil && (d.Truncation != nil || d.Meta.Truncation != nil)
}

// tailShown is the end of a text.
type tailShown struct {
	text       string
	first      int // line, from 1
	total      int // lines
	totalBytes int
	byBytes    bool
	partial    bool // the end of one long line
}

func tailOf(text string, maxBytes, maxLines int) tailShown {
	body := strings.TrimSuffix(text, "\n")
	t := tailShown{total: strings.Count(body, "\n") + 1, totalBytes: len(text)}
	start, lines := len(body)+1, 0
	for start > 0 && lines < maxLines {
		at := strings.LastIndexByte(body[:start-1], '\n') + 1
		if len(body)-at > maxBytes {
			t.byBytes = true
			break
		}
		start = at
		lines++
	}
	if lines == 0 {
		start, lines, t.partial = len(body)-maxBytes, 1, true
		for start < len(body) && !utf8.RuneStart(body[start]) {
			start++
		}
	}
	t.text, t.first = body[start:], t.total-lines+1
	return t
}

// withTruncation adds what was cut to the details of a result, and keeps what they
// said.
func withTruncation(details json.RawMessage, t tailShown, path, name string) (json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	if details != nil {
		if err := json.Unmarshal(details, &all); err != nil || all == nil {
			all = map[string]json.RawMessage{}
		}
	}
	meta := map[string]json.RawMessage{}
	if err := json.Unmarshal(all["meta"], &meta); err != nil || meta == nil {
		meta = map[string]json.RawMessage{}
	}
	by := "lines"
	if t.byBytes {
		by = "bytes"
	}
	type lineRange struct {
		Start int `json:"start"`
		End   int `json:"end"`
	}
	var err error
	meta["truncation"], err = message.Marshal(struct {
		Direction   string    `json:"direction"`
		TruncatedBy string    `json:"truncatedBy"`
		TotalLines  int       `json:"totalLines"`
		TotalBytes  int       `json:"totalBytes"`
		OutputLines int       `json:"outputLines"`
		OutputBytes int       `json:"outputBytes"`
		MaxBytes    int       `json:"maxBytes"`
		ShownRange  lineRange `json:"shownRange"`
		ArtifactID  string    `json:"artifactId"`
	}{"tail", by, t.total, t.totalBytes, t.total - t.first + 1, len(t.text), spillBytes, lineRange{t.first, t.total},
		strings.TrimPrefix(name, "artifact://")})
	if err != nil {
		return nil, err
	}
	if all["meta"], err = message.Marshal(meta); err != nil {
		return nil, err
	}
	if all["fullOutputPath"], err = message.Marshal(path); err != nil {
		return nil, err
	}
	return message.Marshal(all)
}
