package session

import (
	"bytes"
	"time"

	"github.com/piweb-go/piweb/internal/structure"
	"github.com/tidwall/gjson"
)

// What lists and searches need of a line, without opening a session. It is the pass
// that Open makes, so that a list and an opened session never disagree.

// Record is the envelope of a record. Its strings alias the line that it was read
// from: clone what is kept.
type Record struct {
	Type, ID         string // "" where they are no strings
	CustomType, Role string // likewise
	timestamp        string // raw JSON
}

// Time is the time of the record, or the zero time where it has none that we read.
func (r Record) Time() time.Time { return parseTime(gjson.Parse(r.timestamp)) }

func (h *rawEntry) record() Record {
	return Record{h.typ, h.id, h.customType, h.role, h.timestamp}
}

// ReadRecord reads the envelope of a line that holds one record and nothing else.
// ok is false for every other line, the empty ones too: Open says what they are.
func ReadRecord(line []byte) (r Record, ok bool) {
	data, _ := trim(line, 0)
	if len(data) == 0 || data[0] != '{' {
		return Record{}, false
	}
	n, h := wholeValue(data, structure.Shape)
	return h.record(), n == len(data)
}

// ReadRecordStart reads the envelope of a record of which data is the beginning. ok
// tells that all of it stands there; a key that is repeated further on, which no
// writer does, is not seen.
func ReadRecordStart(data []byte) (r Record, ok bool) {
	data, _ = trim(data[:bytes.LastIndexByte(data, ',')+1], 0) // no number is cut in two
	if len(data) == 0 || data[0] != '{' {
		return Record{}, false
	}
	var h rawEntry
	h.read(data, structure.Shape) // ends where data does, with what it met
	ok = h.typ != "" && h.hasID && h.timestamp != ""
	switch h.typ {
	case TypeMessage:
		ok = ok && h.role != ""
	case TypeCustom, TypeCustomMessage:
		ok = ok && h.customType != ""
	}
	return h.record(), ok
}

// ParseHeader reads the header from its line. ok is false for what is no header that
// piweb and pi take.
func ParseHeader(line []byte) (h Header, ok bool) {
	r, ok := ReadRecord(line)
	if !ok || r.Type != typeHeader {
		return Header{}, false
	}
	data, _ := trim(line, 0)
	h, refused := parseHeader(bytes.Clone(data))
	return h, !refused
}
