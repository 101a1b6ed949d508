package session

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/piweb-go/piweb/message"
	"github.com/tidwall/gjson"
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
	view(raw).ForEach(func(k, v gjson.Result) bool {
		if k.String() == key {
			spans = append(spans, [2]int{v.Index, v.Index + len(v.Raw)})
		}
		return true
	})
	if len(spans) == 0 {
		return splice(raw, string(name)+":"+string(value)), nil
	}
	out := bytes.Clone(raw)
	for _, span := range slices.Backward(spans) {
		if span[0] <= 0 || span[1] > len(raw) {
			return nil, fmt.Errorf("the field %s was not found again", key)
		}
		out = slices.Replace(out, span[0], span[1], value...)
	}
	return out, nil
}
