package structure

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
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
		types := fieldsOf(t)
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
func exactFields(out, object []byte, typeOf func(key string) (reflect.Type, bool)) []byte {
	type field struct {
		key   string
		value []byte
		t     reflect.Type
	}
	var fields []field
	var place map[string]int // once there are many
	find := func(key string) int {
		if place != nil {
			at, ok := place[key]
			if !ok {
				return -1
			}
			return at
		}
		return slices.IndexFunc(fields, func(f field) bool { return f.key == key })
	}
	Each(object, func(key string, value []byte) {
		t, ok := typeOf(key)
		if !ok {
			return
		}
		if at := find(key); at >= 0 {
			fields[at].value = value
			return
		}
		fields = append(fields, field{key, value, t})
		const many = 16
		switch n := len(fields); {
		case place != nil:
			place[key] = n - 1
		case n == many:
			place = make(map[string]int, 2*many)
			for i, f := range fields {
				place[f.key] = i
			}
		}
	})
	out = append(out, '{')
	for i, f := range fields {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(AppendText(out, f.key), ':')
		out = exact(out, f.value, f.t)
	}
	return append(out, '}')
}

// known are the keys of struct types with the types of their fields: what the compiler
// knows, found once, as encoding/json does.
var known sync.Map // reflect.Type → map[string]reflect.Type

func fieldsOf(t reflect.Type) map[string]reflect.Type {
	if types, ok := known.Load(t); ok {
		return types.(map[string]reflect.Type)
	}
	types := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		if name := fieldName(f); name != "" {
			types[name] = f.Type
		}
	}
	known.Store(t, types)
	return types
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
