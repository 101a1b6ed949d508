package openai

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

const replacement = "\ufffd"

// valid puts U+FFFD in the place of bytes that are not UTF-8.
func valid(s string) string { return strings.ToValidUTF8(s, replacement) }

// validJSON does the same for a JSON text, and for escapes of half a surrogate
// pair: many servers choke on them, and then on every later request. A text
// without such a fault is returned as it is, byte for byte.
func validJSON(text []byte) []byte {
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte(replacement))
	}
	if !bytes.Contains(text, []byte(`\u`)) {
		return text
	}
	var out []byte
	copied := 0
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		unit, ok := escape(text[i:])
		if !ok {
			i++ // the escaped character cannot begin an escape
			continue
		}
		if low, ok := escape(text[min(i+6, len(text)):]); isHigh(unit) && ok && isLow(low) {
			i += 11
			continue
		}
		if isHigh(unit) || isLow(unit) {
			out = append(append(out, text[copied:i]...), replacement...)
			copied = i + 6
		}
		i += 5
	}
	if copied == 0 {
		return text
	}
	return append(out, text[copied:]...)
}

// escape reads \uXXXX at the start of text.
func escape(text []byte) (unit uint64, ok bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return unit, err == nil
}

func isHigh(unit uint64) bool { return unit >= 0xd800 && unit < 0xdc00 }
func isLow(unit uint64) bool  { return unit >= 0xdc00 && unit < 0xe000 }
