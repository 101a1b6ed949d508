package tool

import "unicode/utf8"

// lossyDecoder turns bytes that arrive in pieces into valid UTF-8. Each byte
// that belongs to no rune becomes U+FFFD; a rune that is split over two pieces
// stays whole. The result does not depend on where the pieces end.
type lossyDecoder struct {
	carry [utf8.UTFMax]byte // the beginning of a rune whose end has not arrived
	n     int               // bytes in carry
}

// append adds the text of piece to dst.
func (d *lossyDecoder) append(dst, piece []byte) []byte {
	for d.n > 0 && len(piece) > 0 {
		d.carry[d.n] = piece[0]
		d.n++
		piece = piece[1:]
		dst = d.settle(dst, false)
	}
	whole := len(piece) - incompleteSuffix(piece)
	dst = appendValid(dst, piece[:whole])
	d.n += copy(d.carry[d.n:], piece[whole:])
	return dst
}

// finish adds what no more bytes can complete.
func (d *lossyDecoder) finish(dst []byte) []byte { return d.settle(dst, true) }

// settle moves from the carry to dst what is decided: whole runes, and bytes
// that cannot begin one.
func (d *lossyDecoder) settle(dst []byte, atEnd bool) []byte {
	for d.n > 0 && (atEnd || utf8.FullRune(d.carry[:d.n])) {
		r, width := utf8.DecodeRune(d.carry[:d.n])
		dst = utf8.AppendRune(dst, r)
		d.n = copy(d.carry[:], d.carry[width:d.n])
	}
	return dst
}

// incompleteSuffix is the length of a rune's beginning at the end of b.
func incompleteSuffix(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if start := b[len(b)-n:]; utf8.RuneStart(start[0]) {
			if !utf8.FullRune(start) {
				return n
			}
			return 0
		}
	}
	return 0
}

// appendValid adds b to dst, each invalid byte as U+FFFD.
func appendValid(dst, b []byte) []byte {
	if utf8.Valid(b) {
		return append(dst, b...)
	}
	for len(b) > 0 {
		r, width := utf8.DecodeRune(b)
		dst = utf8.AppendRune(dst, r)
		b = b[width:]
	}
	return dst
}
