package session

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/piweb-go/piweb/internal/structure"
	"github.com/piweb-go/piweb/message"
)

// setID puts an id, or null for the empty one, into a field of an entry. Every
// other byte stays as it is.
func setID(raw []byte, key string, id ID) ([]byte, error) {
	var value any
	if id != "" {
		value = id
	}
	text, err := message.Marshal(value)
	if err != nil {
		return nil, err
	}
	return setField(raw, key, text)
}

// setField replaces the value of a field at the top of a JSON object, or adds the
// field at its end. A field that stands there several times is replaced every
// time: which one counts differs from reader to reader.
func setField(raw []byte, key string, value []byte) ([]byte, error) {
	name, err := message.Marshal(key)
	if err != nil {
		return nil, err
	}
	var spans [][2]int
	end := structure.Shape.Fields(raw, 0, structure.MaxDepth, func(k []byte, at int) int {
		end := structure.Shape.Value(raw, at, structure.MaxDepth-1)
		if string(structure.Key(k)) == key {
			spans = append(spans, [2]int{at, end})
		}
		return end
	})
	if end != len(raw) {
		return nil, fmt.Errorf("the field %s cannot be set: this is no JSON object", key)
	}
	if len(spans) == 0 {
		return splice(raw, string(name)+":"+string(value)), nil
	}
	out := bytes.Clone(raw)
	for _, span := range slices.Backward(spans) {
		out = slices.Replace(out, span[0], span[1], value...)
	}
	return out, nil
}
