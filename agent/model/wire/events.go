package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/tidwall/gjson"
)

// MaxEvent bounds one event of a stream, in bytes. A whole answer may come in one
// event, as may a picture; [MaxAnswer] bounds all of them.
const MaxEvent = 32 << 20

// ErrBigEvent says that an event is longer than [MaxEvent]; match with errors.Is.
var ErrBigEvent = errors.New("an event of the answer is too long")

// Event is one server-sent event.
type Event struct {
	Type string // "" where the server names none
	Data []byte // its lines joined by line feeds; valid until the next event
}

// Events reads the server-sent events of a body. It is not safe for concurrent
// use.
type Events struct {
	body io.ReadCloser
	scan *bufio.Scanner
	now  Event
	data bytes.Buffer
	err  error
}

// NewEvents reads from body, which Close closes.
func NewEvents(body io.ReadCloser) *Events {
	scan := bufio.NewScanner(body)
	scan.Buffer(make([]byte, 0, 4096), MaxEvent)
	scan.Split(lines)
	return &Events{body: body, scan: scan}
}

// Next reads the next event that carries data, and is false after the last one.
// An event that the end of the stream cuts is not one.
func (e *Events) Next() bool {
	e.data.Reset()
	kind, has := "", false
	for e.err == nil && e.scan.Scan() {
		line := e.scan.Bytes()
		if len(line) == 0 {
			if has {
				e.now = Event{Type: kind, Data: e.data.Bytes()}
				return true
			}
			kind = ""
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			kind = string(value)
		case "data":
			if has {
				e.data.WriteByte('\n')
			}
			has = true
			if e.data.Len()+len(value) > MaxEvent {
				e.err = fmt.Errorf("%w: more than %d bytes", ErrBigEvent, MaxEvent)
				return false
			}
			e.data.Write(value)
		}
	}
	if e.err == nil {
		e.err = e.scan.Err()
	}
	if errors.Is(e.err, bufio.ErrTooLong) {
		e.err = fmt.Errorf("%w: more than %d bytes", ErrBigEvent, MaxEvent)
	}
	// Several servers end without the empty line behind the last event.
	if e.err == nil && has {
		e.now = Event{Type: kind, Data: e.data.Bytes()}
		return gjson.ValidBytes(e.now.Data)
	}
	return false
}

// Event is the event that Next found.
func (e *Events) Event() Event { return e.now }

// Err is what ended the stream before its time.
func (e *Events) Err() error { return e.err }

// Close closes the body.
func (e *Events) Close() { _ = e.body.Close() } // what was wanted of it was read

// lines splits at LF, CR LF and CR.
func lines(data []byte, atEOF bool) (advance int, line []byte, err error) {
	if i := bytes.IndexAny(data, "\r\n"); i >= 0 {
		switch {
		case data[i] == '\n':
			return i + 1, data[:i], nil
		case i+1 < len(data):
			if data[i+1] == '\n' {
				return i + 2, data[:i], nil
			}
			return i + 1, data[:i], nil
		case atEOF:
			return i + 1, data[:i], nil
		}
		return 0, nil, nil // CR at the end: its LF may follow
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// Mark says that an event has the form of an error: the type "error", or a field
// of that name. Servers that send an empty error with every event mean none.
func (e Event) Mark() bool {
	if e.Type == "error" {
		return true
	}
	switch r := gjson.GetBytes(e.Data, "error"); r.Type {
	case gjson.Null, gjson.False:
		return false
	case gjson.String:
		return r.Str != ""
	case gjson.Number:
		return r.Num != 0
	default:
		return r.Raw != "{}" && r.Raw != "[]"
	}
}
