package structure

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Key undoes the escapes of a key, which no known writer makes. key is what stands
// between the quotes.
func Key(key []byte) []byte {
	if bytes.IndexByte(key, '\\') < 0 {
		return key
	}
	s, _ := unescape(Alias(key))
	return []byte(s)
}

// Text is the value of a JSON string, and "" for any other value. It aliases the
// value where that is possible; what is not UTF-8 becomes U+FFFD, as for any
// reader, so that an id and a reference to it stay the same when they are written.
func Text(value []byte) string {
	if len(value) < 2 || value[0] != '"' {
		return ""
	}
	inner := Alias(value[1 : len(value)-1])
	if strings.IndexByte(inner, '\\') < 0 {
		if utf8.ValidString(inner) {
			return inner
		}
		return toText(inner)
	}
	s, ok := unescape(inner)
	if !ok {
		return ""
	}
	return s
}

// toText replaces each byte that is not UTF-8, as encoding/json does.
func toText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s { // U+FFFD for each bad byte
		b.WriteRune(r)
	}
	return b.String()
}

// plainEscapes are what stands behind a backslash for one character.
var plainEscapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescape reads the inside of a JSON string. Half a surrogate pair becomes U+FFFD;
// an escape that JSON does not have, and a control character, make it no string.
func unescape(s string) (string, bool) {
	out := make([]byte, 0, len(s))
	for {
		n := strings.IndexByte(s, '\\')
		run := s
		if n >= 0 {
			run = s[:n]
		}
		if !noControls(run) {
			return "", false
		}
		if out = append(out, run...); n < 0 {
			return toText(Alias(out)), true
		}
		if s = s[n+1:]; s == "" {
			return "", false
		}
		if c := plainEscapes[s[0]]; c != 0 {
			out, s = append(out, c), s[1:]
			continue
		}
		r := hexRune(s)
		if r < 0 {
			return "", false
		}
		s = s[5:]
		if utf16.IsSurrogate(r) {
			low := rune(-1)
			if len(s) > 0 && s[0] == '\\' {
				low = hexRune(s[1:])
			}
			if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
				s = s[6:]
			}
		}
		out = utf8.AppendRune(out, r)
	}
}

// hexRune is the code unit of an escape that s begins with behind its backslash, or
// -1.
func hexRune(s string) (r rune) {
	if len(s) < 5 || s[0] != 'u' {
		return -1
	}
	for _, c := range []byte(s[1:5]) {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case (c|0x20)-'a' <= 5:
			c = (c | 0x20) - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

func noControls(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' {
			return false
		}
	}
	return true
}
