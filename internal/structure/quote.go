package structure

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// AppendText appends a string as JSON, in the bytes that encoding/json gives it
// without HTML escaping: line feeds and other control characters are escaped, so are
// U+2028 and U+2029, and a byte that is not UTF-8 becomes the escape of U+FFFD.
func AppendText(out []byte, s string) []byte {
	out = append(out, '"')
	from := 0 // of what was not appended yet
	for i := 0; i < len(s); {
		if len(s)-i >= 8 {
			w := binary.LittleEndian.Uint64(unsafeBytes(s)[i:])
			m := stops(w) | w&highs
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) >> 3
		}
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			out = append(out, s[from:i]...)
			out = appendEscape(out, c)
			i++
			from = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			out = append(append(out, s[from:i]...), `\ufffd`...)
			from = i + n
		case r == '\u2028' || r == '\u2029':
			out = append(append(out, s[from:i]...), `\u202`...)
			out = append(out, hexDigits[r&0xF])
			from = i + n
		}
		i += n
	}
	return append(append(out, s[from:]...), '"')
}

const hexDigits = "0123456789abcdef"

func appendEscape(out []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(out, '\\', c)
	case '\b':
		return append(out, `\b`...)
	case '\f':
		return append(out, `\f`...)
	case '\n':
		return append(out, `\n`...)
	case '\r':
		return append(out, `\r`...)
	case '\t':
		return append(out, `\t`...)
	}
	return append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xF])
}
