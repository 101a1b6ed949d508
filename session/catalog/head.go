package catalog

import (
	"bytes"
	"time"
	"unsafe"

	"github.com/piweb-go/piweb/session"
	"github.com/tidwall/gjson"
)

// headLen is how much of a line is looked at for its envelope before the whole
// line is, in bytes. pi writes the envelope first.
const headLen = 2 << 10

// head is the envelope of a record. Its strings alias the line.
type head struct {
	typ, id, customType, role string
	hasID                     bool
	stamp                     gjson.Result // the timestamp, a number or a string
}

// view parses without copying. What it returns aliases data.
func view(data []byte) gjson.Result {
	return gjson.Parse(unsafe.String(unsafe.SliceData(data), len(data)))
}

// readHead reads the envelope from the beginning of a record, in any order of
// keys. all is false where data ended before it was complete: a key may stand
// behind, or may not be there.
func readHead(data []byte) (h head, all bool) {
	const wanted = 1 | 2 | 4 // type, id, timestamp
	seen := 0
	view(data).ForEach(func(k, v gjson.Result) bool {
		if k.Str == "message" {
			if role := v.Get("role"); role.Index+len(role.Raw) < len(data) {
				h.role = role.String()
			}
		} else if v.Index+len(v.Raw) >= len(data) {
			return false // cut off
		}
		switch k.Str {
		case "type":
			h.typ = v.String()
			seen |= 1
		case "id":
			if v.Type == gjson.String {
				h.id, h.hasID = v.Str, v.Str != ""
			}
			seen |= 2
		case "timestamp":
			h.stamp = v
			seen |= 4
		case "customType":
			h.customType = v.String()
		}
		all = seen == wanted
		switch h.typ {
		case session.TypeMessage:
			all = all && h.role != ""
		case session.TypeCustom, session.TypeCustomMessage:
			all = all && h.customType != ""
		}
		return !all
	})
	return h, all
}

// headOf reads the envelope of a whole record.
func headOf(data []byte) head {
	if h, all := readHead(data[:min(len(data), headLen)]); all {
		return h
	}
	h, _ := readHead(data)
	return h
}

// parseTime reads an ISO time or Unix milliseconds, as package session does.
func parseTime(v gjson.Result) time.Time {
	switch v.Type {
	case gjson.String:
		if t, err := time.Parse(time.RFC3339Nano, v.Str); err == nil {
			return t.UTC()
		}
	case gjson.Number:
		return time.UnixMilli(v.Int()).UTC()
	}
	return time.Time{}
}

// sessionHead is what is needed of a header.
type sessionHead struct {
	ID, CWD, Parent string
	Version         int
	Created         time.Time
}

// parseHeader reads the header from its line. ok is false for what is no plain
// header: package session then says what it is.
func parseHeader(line []byte) (h sessionHead, ok bool) {
	v := gjson.ParseBytes(line) // a copy: its strings are kept
	id, version := v.Get("id"), v.Get("version")
	if v.Get("type").String() != "session" || id.Type != gjson.String {
		return h, false
	}
	switch version.Type {
	case gjson.Null:
		h.Version = 1
	case gjson.Number:
		h.Version = int(version.Int())
	default:
		return h, false
	}
	str := func(key string) string {
		if f := v.Get(key); f.Type == gjson.String {
			return f.Str
		}
		return ""
	}
	h.ID, h.CWD, h.Parent, h.Created = id.Str, str("cwd"), str("parentSession"), parseTime(v.Get("timestamp"))
	return h, true
}

// isTitle tells whether a line is the title record that oh-my-pi writes in front
// of the header.
func isTitle(line []byte) bool { return view(line).Get("type").String() == "title" }

func blank(line []byte) bool { return len(bytes.Trim(line, " \t\r\n")) == 0 }
