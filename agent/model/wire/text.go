package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/piweb-go/piweb/internal/structure"
	"github.com/piweb-go/piweb/message"
)

const replacement = "\ufffd"

// Valid puts U+FFFD in the place of bytes that are not UTF-8.
func Valid(s string) string { return strings.ToValidUTF8(s, replacement) }

// ValidJSON does the same for a JSON text, and for escapes of half a surrogate
// pair: many servers choke on them, and then on every later request. A text
// without such a fault is returned as it is, byte for byte.
func ValidJSON(text []byte) []byte {
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte(replacement))
	}
	at := structure.HalfPair(text)
	if at < 0 {
		return text
	}
	var out []byte
	for ; at >= 0; at = structure.HalfPair(text) {
		out = append(append(out, text[:at]...), replacement...)
		text = text[at+structure.HalfPairBytes:]
	}
	return append(out, text...)
}

// Head is a system prompt as JSON can carry it. JSON cannot carry bytes that are
// not UTF-8: such a head is refused, since to repair it would send another one
// than was recorded.
func Head(head []byte) (string, error) {
	if !utf8.Valid(head) {
		return "", fmt.Errorf("the system prompt is not valid UTF-8 at byte %d and cannot be sent as it is", invalidAt(head))
	}
	return string(head), nil
}

func invalidAt(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(b)
}

// Schema is the JSON Schema of a tool's parameters. It keeps its bytes: order of
// keys and spelling of numbers are a part of what the model reads. A tool
// without one takes no arguments.
func Schema(t message.ToolDeclaration) (json.RawMessage, error) {
	schema := bytes.TrimSpace(t.Parameters)
	switch {
	case len(schema) == 0 || bytes.Equal(schema, []byte("null")):
		return json.RawMessage(`{"type":"object","properties":{}}`), nil
	case !json.Valid(schema) || schema[0] != '{':
		return nil, errors.New("the parameters of the tool " + t.Name + " are not a JSON Schema")
	}
	return ValidJSON(schema), nil
}

// Arguments are the arguments of a call as a JSON object.
func Arguments(raw json.RawMessage) json.RawMessage {
	if args := bytes.TrimSpace(raw); len(args) > 0 && args[0] == '{' && json.Valid(args) {
		return ValidJSON(raw)
	}
	return json.RawMessage("{}")
}

// PlainID makes an id of another wire fit one that takes letters, digits, "_" and
// "-" only, and at most limit characters. One id always becomes the same one, and
// two do not become one, so that calls and results still meet.
func PlainID(id string, limit int) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case 'A' <= r && r <= 'Z', 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, id)
	if len(plain) <= limit {
		return plain
	}
	sum := sha256.Sum256([]byte(id))
	return plain[:limit-13] + "_" + hex.EncodeToString(sum[:6])
}
