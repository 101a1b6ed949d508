package policy

import (
	"strconv"
	"unicode/utf16"

	"github.com/tidwall/gjson"
)

// halfPair tells whether a JSON string holds half of a surrogate pair. No provider
// takes such a text, and decoding would put another character in its place, so it
// cannot be sent as it is.
func halfPair(v gjson.Result) bool {
	raw := v.Raw
	var high rune
	for i := 0; i < len(raw); {
		if raw[i] != '\\' || i+1 >= len(raw) {
			if high != 0 {
				return true
			}
			i++
			continue
		}
		if raw[i+1] != 'u' || i+6 > len(raw) {
			if high != 0 {
				return true
			}
			i += 2
			continue
		}
		n, err := strconv.ParseUint(raw[i+2:i+6], 16, 32)
		if err != nil {
			return true
		}
		r := rune(n)
		switch {
		case high != 0:
			if utf16.DecodeRune(high, r) == '\uFFFD' {
				return true
			}
			high = 0
		case utf16.IsSurrogate(r) && r < 0xDC00:
			high = r
		case utf16.IsSurrogate(r):
			return true
		}
		i += 6
	}
	return high != 0
}
