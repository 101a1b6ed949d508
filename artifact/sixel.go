package artifact

// SixelWanted tells whether a user wants the pictures of programs for the terminal
// let through: both gates of the reference must be open (spec/omp.md §7.4).
func SixelWanted(lookup func(name string) (string, bool)) bool {
	protocol, _ := lookup("PI_FORCE_IMAGE_PROTOCOL")
	allowed, _ := lookup("PI_ALLOW_SIXEL_PASSTHROUGH")
	return protocol == "sixel" && allowed == "1"
}

const (
	deviceBegin = "\x1bP"
	stringEnd   = "\x1b\\"
	maxParams   = 32 // bytes of numbers before the "q" that makes a device string a picture
)

// beginDevice starts a device string, of which a picture is one.
func (c *cleaner) beginDevice() {
	c.state = device
	if c.sixel {
		c.state, c.params = deviceHead, c.params[:0]
	}
}

// head takes a byte of what stands before a picture: numbers, then "q". Anything
// else is another device string, which goes.
func (c *cleaner) head(dst []byte, b byte) []byte {
	switch {
	case b == 'q':
		dst = append(append(append(c.feed(dst), deviceBegin...), c.params...), b)
		c.state = picture
	case b == 0x1B:
		c.state = deviceEscape
	case (b >= '0' && b <= '9' || b == ';') && len(c.params) < maxParams:
		c.params = append(c.params, b)
	default:
		c.state = device
	}
	return dst
}

// picture takes a byte of a picture. What a terminal has no use for there goes, so
// that nothing else can hide in it, and one that never ends is ended: else the
// terminal would take all that follows for a part of it.
func (c *cleaner) picture(dst []byte, b byte) []byte {
	switch {
	case c.state == pictureEscape:
		c.state, dst = plain, append(dst, stringEnd...)
		if b != '\\' {
			c.state, c.inside = escape, 0
			return c.escaped(dst, b)
		}
	case b == 0x1B:
		c.state = pictureEscape
	case c.inside > maxDevice:
		return c.leave(append(dst, stringEnd...), b, false)
	case b == '\n' || b >= 0x20 && b < 0x7F:
		return append(dst, b)
	}
	return dst
}
