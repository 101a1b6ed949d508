package structure

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// HalfPairBytes is how long an escape of half a surrogate pair is.
const HalfPairBytes = len(`\ud83d`)

// HalfPair finds the first escape of half a surrogate pair in a JSON text, or in a
// part of one that begins outside of an escape: where it begins, or -1. Decoding puts
// another character in its place, and many servers choke on it.
func HalfPair(text []byte) int {
	for i := 0; ; {
		n := bytes.IndexByte(text[i:], '\\')
		if n < 0 {
			return -1
		}
		i += n
		unit := hexRune(Alias(text[i+1:]))
		switch {
		case unit < 0:
			i = min(i+2, len(text)) // the escaped character cannot begin an escape
			continue
		case !utf16.IsSurrogate(unit):
			i += HalfPairBytes
			continue
		}
		next := text[i+HalfPairBytes:]
		if len(next) == 0 || next[0] != '\\' || utf16.DecodeRune(unit, hexRune(Alias(next[1:]))) == utf8.RuneError {
			return i
		}
		i += 2 * HalfPairBytes
	}
}
