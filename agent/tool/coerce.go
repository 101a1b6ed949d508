package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/piweb-go/piweb/message"
)

// Coerce turns arguments into what the declaration asks for where models are
// known to slip: a number or a truth value in quotes, null for an optional
// field that should be left out, one value where a list of such is asked for,
// a list or an object written as a string.
// It looks at type, properties, required and items of the schema only, and
// touches nothing that fits. Arguments that need no change come back as the
// same bytes; what it cannot help is for [Check] to report.
func Coerce(decl message.ToolDeclaration, args json.RawMessage) json.RawMessage {
	var schema any
	if json.Unmarshal(decl.Parameters, &schema) != nil {
		return args
	}
	value, err := decodeOne(args)
	if err != nil {
		return args
	}
	value, changed := coerce(schema, value)
	if !changed {
		return args
	}
	coerced, err := message.Marshal(value)
	if err != nil {
		return args
	}
	return coerced
}

func coerce(schema, value any) (any, bool) {
	s, ok := schema.(map[string]any)
	if !ok {
		return value, false
	}
	switch v := value.(type) {
	case string:
		return coerceString(s, v)
	case map[string]any:
		if wantsOnly(s, "array") && wantsOnly(asObject(s["items"]), "object") {
			item, _ := coerce(s["items"], v)
			return []any{item}, true
		}
		return v, coerceFields(s, v)
	case []any:
		changed := false
		for i := range v {
			item, c := coerce(s["items"], v[i])
			v[i], changed = item, changed || c
		}
		return v, changed
	}
	return value, false
}

func coerceFields(schema, fields map[string]any) (changed bool) {
	properties := asObject(schema["properties"])
	for name, value := range fields {
		property, ok := properties[name]
		if !ok {
			continue
		}
		if value == nil && !isRequired(schema, name) && hasType(property) && !wants(asObject(property), "null") {
			delete(fields, name)
			changed = true
			continue
		}
		coerced, c := coerce(property, value)
		if c {
			fields[name], changed = coerced, true
		}
	}
	return changed
}

// coerceString reads a string as the one type that is asked for.
func coerceString(schema map[string]any, text string) (any, bool) {
	trimmed := strings.TrimSpace(text)
	switch {
	case wantsOnly(schema, "number"), wantsOnly(schema, "integer"):
		// ParseFloat takes more than JSON does, such as 0x10 and Inf.
		if _, err := strconv.ParseFloat(trimmed, 64); err == nil && json.Valid([]byte(trimmed)) {
			return json.Number(trimmed), true
		}
	case wantsOnly(schema, "boolean"):
		if trimmed == "true" || trimmed == "false" {
			return trimmed == "true", true
		}
	case wantsOnly(schema, "array"), wantsOnly(schema, "object"):
		if value, ok := nestedJSON(schema, trimmed); ok {
			return value, true
		}
		if wantsOnly(schema, "array") && wantsOnly(asObject(schema["items"]), "string") {
			return []any{text}, true
		}
	}
	return text, false
}

// nestedJSON reads a list or an object that a model wrote as a string.
func nestedJSON(schema map[string]any, text string) (any, bool) {
	if text == "" || (text[0] != '[' && text[0] != '{') {
		return nil, false
	}
	value, err := decodeOne([]byte(text))
	if err != nil {
		return nil, false
	}
	value, _ = coerce(schema, value)
	_, isList := value.([]any)
	return value, isList == wantsOnly(schema, "array")
}

// decodeOne reads exactly one JSON value and keeps numbers as they are spelled.
func decodeOne(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("text after the value")
	}
	return value, nil
}

func asObject(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func hasType(schema any) bool { return asObject(schema)["type"] != nil }

// wantsOnly says whether a schema names this type and no other.
func wantsOnly(schema map[string]any, typ string) bool { return schema["type"] == typ }

// wants says whether typ is among the types that a schema names.
func wants(schema map[string]any, typ string) bool {
	if list, ok := schema["type"].([]any); ok {
		for _, t := range list {
			if t == typ {
				return true
			}
		}
		return false
	}
	return wantsOnly(schema, typ)
}

func isRequired(schema map[string]any, name string) bool {
	list, _ := schema["required"].([]any)
	for _, r := range list {
		if r == name {
			return true
		}
	}
	return false
}
