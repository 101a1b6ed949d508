package session

import (
	"github.com/piweb-go/piweb/internal/structure"
	"github.com/tidwall/gjson"
)

// One pass over a record does everything that opening a file needs: it tells
// whether the bytes have the shape of one JSON object and where that ends, and it
// picks the fields of the envelope on its way, in any order. Nothing is allocated
// and nothing is decoded. See package structure for what shape means: a torn record,
// two on one line, a fragment in front of one, a run of NULs and a value that was cut
// out all show in it.
//
// What a validation would refuse beyond that (a control character inside a string,
// an unknown escape, a bracket closed by one of the other kind) is refused where it
// could decide something: every record is validated here but the bodies of what
// people, models and tools said, which are most of a file. Those are validated when
// they are opened, and always where they are the last record.

// rawEntry is the envelope of a record. Its strings alias the line: clone what is
// kept.
type rawEntry struct {
	typ, customType, role string // "" where they are no strings
	id, parent            string // likewise
	hasID                 bool   // there is one that is not empty
	hasParent             bool   // there is the key, whatever its value
	timestamp             string // raw JSON
}

// readHead reads the envelope of a JSON object; that of any other value is empty.
func readHead(value []byte) (h rawEntry) {
	if len(value) > 0 && value[0] == '{' {
		h.read(value, structure.Shape)
	}
	return h
}

// read reads the object that d begins with and returns where it ends, or -1 where
// there is none.
func (h *rawEntry) read(d []byte, g structure.Grammar) int {
	return g.Fields(d, 0, structure.MaxDepth, func(key []byte, at int) int {
		if key = structure.Key(key); string(key) == "message" && d[at] == '{' {
			h.role = ""
			return g.Fields(d, at, structure.MaxDepth-1, func(key []byte, at int) int {
				end := g.Value(d, at, structure.MaxDepth-2)
				if end > 0 && string(structure.Key(key)) == "role" {
					h.role = structure.Text(d[at:end])
				}
				return end
			})
		}
		end := g.Value(d, at, structure.MaxDepth-1)
		if end < 0 {
			return -1
		}
		switch string(key) {
		case "type":
			h.typ = structure.Text(d[at:end])
		case "id":
			h.id = structure.Text(d[at:end])
			h.hasID = h.id != ""
		case "parentId":
			h.parent, h.hasParent = structure.Text(d[at:end]), true
		case "timestamp":
			h.timestamp = structure.Alias(d[at:end])
		case "customType":
			h.customType = structure.Text(d[at:end])
		case "message":
			h.role = ""
		}
		return end
	})
}

// said tells whether a record is what a person, a model or a tool said, so that
// nothing in its body decides what a session may do.
func (h *rawEntry) said() bool { return isSaid(h.typ, h.role) }

func isSaid(typ, role string) bool {
	return typ == TypeMessage && (role == "user" || role == "assistant" || role == "toolResult")
}

// field is the value of a key at the top of a JSON object; where the key stands
// several times, the last one. It aliases the object.
func field(object []byte, key string) (v gjson.Result) {
	structure.Shape.Fields(object, 0, structure.MaxDepth, func(k []byte, at int) int {
		end := structure.Shape.Value(object, at, structure.MaxDepth-1)
		if end > 0 && string(structure.Key(k)) == key {
			v = gjson.Parse(structure.Alias(object[at:end]))
		}
		return end
	})
	return v
}

// wholeValue returns where the JSON value ends that d begins with, and its
// envelope; -1 where there is no whole one. Of what was said only the shape is
// looked at, unless g is strict; everything else is valid.
func wholeValue(d []byte, g structure.Grammar) (n int, h rawEntry) {
	if d[0] != '{' {
		return structure.Strict.Value(d, 0, structure.MaxDepth), h
	}
	if n = h.read(d, structure.Shape); n > 0 && (g == structure.Strict || !h.said()) && !structure.Valid(d[:n]) {
		return -1, rawEntry{}
	}
	return n, h
}
