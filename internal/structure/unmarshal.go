package structure

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
)

// Unmarshal is json.Unmarshal with the keys of JSON.parse: a field is the key that is
// spelled as its tag, and of keys that repeat in an object the last alone counts,
// at any depth of v. Fields of the wrong type are reported as json.Unmarshal reports
// them, the others filled in. Types that decode themselves see their bytes as they
// are.
//
// It is for the small records that decide something; v is a pointer.
func Unmarshal(data []byte, v any) error {
	if value := bytes.Trim(data, " \t\r\n"); Valid(value) {
		data = exact(make([]byte, 0, len(value)), value, reflect.TypeOf(v))
	}
	return json.Unmarshal(data, v) // which words the error of what is no JSON
}

// exact appends of a JSON value what a variable of type t takes of it.
func exact(out, value []byte, t reflect.Type) []byte {
	for t != nil && t.Kind() == reflect.Pointer && !decodesItself(t) {
		t = t.Elem()
	}
	value = value[Space(value, 0):]
	if t == nil || decodesItself(t) || decodesItself(reflect.PointerTo(t)) {
		return append(out, value...)
	}
	switch kind := t.Kind(); {
	case kind == reflect.Struct && value[0] == '{':
		types := map[string]reflect.Type{}
		for _, f := range reflect.VisibleFields(t) {
			if name := fieldName(f); name != "" {
				types[name] = f.Type
			}
		}
		return exactFields(out, value, func(key string) (reflect.Type, bool) { t, ok := types[key]; return t, ok })
	case kind == reflect.Map && value[0] == '{':
		return exactFields(out, value, func(string) (reflect.Type, bool) { return t.Elem(), true })
	case (kind == reflect.Slice || kind == reflect.Array) && value[0] == '[':
		out = append(out, '[')
		begin := len(out)
		Items(value, func(item []byte) {
			if len(out) > begin {
				out = append(out, ',')
			}
			out = exact(out, item, t.Elem())
		})
		return append(out, ']')
	}
	return append(out, value...)
}

// exactFields appends an object of the fields that are known, each once.
func exactFields(out, object []byte, known func(key string) (reflect.Type, bool)) []byte {
	type field struct {
		key   string
		value []byte
		t     reflect.Type
	}
	var fields []field
	place := map[string]int{}
	Each(object, func(key string, value []byte) {
		t, ok := known(key)
		if !ok {
			return
		}
		at, again := place[key]
		if !again {
			at = len(fields)
			place[key], fields = at, append(fields, field{})
		}
		fields[at] = field{key, value, t}
	})
	out = append(out, '{')
	for i, f := range fields {
		if i > 0 {
			out = append(out, ',')
		}
		key, _ := json.Marshal(f.key) // a string always encodes
		out = append(append(out, key...), ':')
		out = exact(out, f.value, f.t)
	}
	return append(out, '}')
}

// fieldName is the key of a struct field, "" where it has none.
func fieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case !f.IsExported(), f.Anonymous && name == "", f.Tag.Get("json") == "-":
		return ""
	case name == "":
		return f.Name
	}
	return name
}

var (
	jsonDecoder = reflect.TypeFor[json.Unmarshaler]()
	textDecoder = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func decodesItself(t reflect.Type) bool {
	return t.Implements(jsonDecoder) || t.Implements(textDecoder)
}
