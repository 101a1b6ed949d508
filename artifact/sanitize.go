package artifact

import (
	"encoding/binary"
	"unicode/utf8"
)

// cleaner turns the bytes of a terminal into plain text, piece by piece: escape
// sequences and control characters but tab and line feed go, bytes that are no
// text become U+FFFD. The result does not depend on where the pieces end, which is
// what the reference gets wrong (spec/omp.md §14, W14): a rune, an escape sequence
// or a CR LF may be split anywhere.
type cleaner struct {
	feedCR bool // a carriage return is a line feed, and not nothing
	sixel  bool // pictures for terminals are text

	params []byte // sixel: of a device string that may be a picture
	state  escState
	inside int  // bytes of the running sequence
	cr     bool // feedCR: a carriage return was seen, and nothing after it
	carry  [utf8.UTFMax]byte
	n      int // bytes in carry
}

// escState is where in an escape sequence the next byte falls.
type escState byte

const (
	plain         escState = iota
	escape                 // after ESC
	charset                // after ESC and an intermediate byte
	control                // in CSI
	str                    // in OSC, PM, APC, SOS: ends with BEL or ST, and gives up at a line feed
	device                 // in DCS: ends with ST
	strEscape              // in str, after ESC
	deviceEscape           // in device, after ESC
	deviceHead             // sixel: in the numbers of DCS, behind which it may be a picture
	picture                // in a sixel picture that is let through
	pictureEscape          // in picture, after ESC
)

// The longest sequences, in bytes. What claims to be longer is not one: the text
// from there on is shown, so that a broken escape cannot swallow an output.
const (
	maxControl = 256
	maxStr     = 16 << 10
	maxDevice  = 4 << 20 // pictures for a terminal
)

// append adds the text of piece to dst.
func (c *cleaner) append(dst, piece []byte) []byte {
	for len(piece) > 0 {
		if c.state == plain && c.n == 0 && !c.cr {
			clean := cleanPrefix(piece)
			dst = append(dst, piece[:clean]...)
			if piece = piece[clean:]; len(piece) == 0 {
				break
			}
		}
		dst, piece = c.step(dst, piece)
	}
	return dst
}

// finish adds what no more bytes can complete.
func (c *cleaner) finish(dst []byte) []byte {
	for c.n > 0 {
		dst = c.settle(dst, true)
	}
	if c.state == picture || c.state == pictureEscape {
		c.state, dst = plain, append(dst, stringEnd...)
	}
	return c.feed(dst)
}

// step takes one byte, or a whole rune.
func (c *cleaner) step(dst, piece []byte) ([]byte, []byte) {
	b := piece[0]
	if c.state != plain {
		// A C1 control inside a sequence is written in two bytes, C2 and itself.
		return c.escaped(dst, b), piece[1:]
	}
	if c.n > 0 || b >= utf8.RuneSelf {
		if c.n == 0 {
			if r, width := utf8.DecodeRune(piece); r != utf8.RuneError || width > 1 {
				return c.rune(c.feed(dst), r, piece[:width]), piece[width:]
			}
		}
		c.carry[c.n] = b
		c.n++
		return c.settle(dst, false), piece[1:]
	}
	return c.ascii(dst, b), piece[1:]
}

// settle decides about the first rune of the carry, if it can.
func (c *cleaner) settle(dst []byte, atEnd bool) []byte {
	for c.n > 0 {
		have := c.carry[:c.n]
		if have[0] < utf8.RuneSelf {
			b := have[0]
			c.drop(1)
			if c.state != plain {
				dst = c.escaped(dst, b)
			} else {
				dst = c.ascii(dst, b)
			}
			continue
		}
		if !atEnd && (halfSurrogate(have) || !utf8.FullRune(have)) {
			return dst
		}
		if c.state != plain {
			b := have[0]
			c.drop(1)
			dst = c.escaped(dst, b)
			continue
		}
		dst = c.feed(dst)
		if surrogate(have) {
			c.drop(3)
			continue
		}
		r, width := utf8.DecodeRune(have)
		var raw [utf8.UTFMax]byte
		copy(raw[:], have[:width])
		c.drop(width)
		dst = c.rune(dst, r, raw[:width])
	}
	return dst
}

func (c *cleaner) drop(n int) { c.n = copy(c.carry[:], c.carry[n:c.n]) }

// surrogate tells the encoding of half a UTF-16 pair, which is no text.
func surrogate(b []byte) bool {
	return len(b) >= 3 && b[0] == 0xED && b[1] >= 0xA0 && b[1] <= 0xBF && b[2]&0xC0 == 0x80
}

// halfSurrogate tells its beginning.
func halfSurrogate(b []byte) bool {
	return len(b) == 2 && b[0] == 0xED && b[1] >= 0xA0 && b[1] <= 0xBF
}

// rune adds a rune of two or more bytes, or U+FFFD for a byte that is none.
func (c *cleaner) rune(dst []byte, r rune, raw []byte) []byte {
	switch {
	case r == utf8.RuneError && len(raw) == 1:
		return append(dst, "\uFFFD"...)
	case r >= 0x80 && r < 0xA0:
		c.begin(byte(r))
		return dst
	}
	return append(dst, raw...)
}

// begin starts the sequence of a C1 control; the others just go.
func (c *cleaner) begin(c1 byte) {
	c.inside = 0
	switch c1 {
	case 0x9B:
		c.state = control
	case 0x90:
		c.beginDevice()
	case 0x9D, 0x98, 0x9E, 0x9F:
		c.state = str
	}
}

// ascii adds a byte below 0x80 outside any sequence.
func (c *cleaner) ascii(dst []byte, b byte) []byte {
	switch {
	case b == '\r':
		if c.feedCR {
			c.cr = true
		}
		return dst
	case b == '\n':
		c.cr = false
		return append(dst, b)
	case b == 0x1B:
		dst = c.feed(dst)
		c.state, c.inside = escape, 0
		return dst
	case b == '\t', b >= 0x20 && b != 0x7F:
		return append(c.feed(dst), b)
	}
	return dst
}

// feed adds the line feed that a carriage return stands for.
func (c *cleaner) feed(dst []byte) []byte {
	if c.cr {
		c.cr = false
		return append(dst, '\n')
	}
	return dst
}

// escaped takes a byte inside a sequence.
func (c *cleaner) escaped(dst []byte, b byte) []byte {
	c.inside++
	switch c.state {
	case escape:
		switch {
		case b == '[':
			c.state = control
		case b == ']', b == '^', b == '_', b == 'X':
			c.state = str
		case b == 'P':
			c.beginDevice()
		case b >= 0x20 && b <= 0x2F:
			c.state = charset
		default:
			return c.leave(dst, b, b >= 0x30 && b < 0x7F)
		}
	case charset:
		if b < 0x20 || b > 0x2F {
			return c.leave(dst, b, b >= 0x30 && b < 0x7F)
		}
	case control:
		if b < 0x20 || b >= 0x40 || c.inside > maxControl {
			return c.leave(dst, b, b >= 0x40 && b < 0x7F)
		}
	case str:
		switch {
		case b == 0x07:
			c.state = plain
		case b == 0x1B:
			c.state = strEscape
		case b == '\n', c.inside > maxStr:
			return c.leave(dst, b, false)
		}
	case device:
		switch {
		case b == 0x1B:
			c.state = deviceEscape
		case c.inside > maxDevice:
			return c.leave(dst, b, false)
		}
	case deviceHead:
		return c.head(dst, b)
	case picture, pictureEscape:
		return c.picture(dst, b)
	case strEscape, deviceEscape:
		// ESC \ ends the string. Any other escape ends it too, and begins anew.
		c.state, c.inside = escape, 0
		if b == '\\' {
			c.state = plain
			return dst
		}
		return c.escaped(dst, b)
	}
	return dst
}

// leave ends a sequence: with the byte, if that is its last one, else before it.
func (c *cleaner) leave(dst []byte, b byte, last bool) []byte {
	c.state = plain
	if last {
		return dst
	}
	if b >= utf8.RuneSelf {
		c.carry[c.n] = b
		c.n++
		return c.settle(dst, false)
	}
	return c.ascii(dst, b)
}

const (
	low7 = 0x7F7F7F7F7F7F7F7F
	ones = 0x0101010101010101
)

// cleanPrefix is how many bytes from the start are text as they are: ASCII but
// control characters, tabs, line feeds. Eight at a time.
func cleanPrefix(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		// A high bit in any byte, a byte below 0x20, a byte of 0x7F.
		odd := (w | (w - 0x20*ones) | ((w & low7) + ones)) &^ low7
		if odd == 0 {
			continue
		}
		for j := i; j < i+8; j++ {
			if !plainByte[b[j]] {
				return j
			}
		}
	}
	for ; i < len(b); i++ {
		if !plainByte[b[i]] {
			return i
		}
	}
	return i
}

// plainByte tells the bytes that are text as they are.
var plainByte = func() (table [256]bool) {
	for b := 0x20; b < 0x7F; b++ {
		table[b] = true
	}
	table['\t'], table['\n'] = true, true
	return table
}()
