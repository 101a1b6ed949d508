package artifact

import "bytes"

// ellipsis stands at the end of a line that was cut.
const ellipsis = "…"

// columns cuts long lines of a stream. A line of at most most bytes passes; of a
// longer one the first most-3 bytes and an ellipsis stay. Because it cannot know
// which one a line is, it holds up to three bytes back.
type columns struct {
	most int // bytes; 0 for no limit

	out     []byte
	line    int    // bytes of the current line that were passed on
	held    []byte // bytes of it that may still be cut
	over    bool   // it was cut; the rest goes
	lines   int64  // lines cut
	dropped int64  // bytes
}

// cut is what of a piece may be shown by now.
func (c *columns) cut(text []byte) []byte {
	if c.most <= len(ellipsis) {
		return text
	}
	c.out = c.out[:0]
	for len(text) > 0 {
		line := text
		end := bytes.IndexByte(text, '\n')
		if end >= 0 {
			line = text[:end]
		}
		c.add(line)
		if end < 0 {
			break
		}
		c.out = append(append(c.out, c.held...), '\n')
		c.held, c.line, c.over = c.held[:0], 0, false
		text = text[end+1:]
	}
	return c.out
}

// add takes a part of a line.
func (c *columns) add(part []byte) {
	if c.over {
		c.dropped += int64(len(part))
		return
	}
	first := c.most - len(ellipsis)
	c.held = append(c.held, part...)
	if c.line+len(c.held) <= c.most {
		// What fits in any case goes out, in whole runes.
		if room := first - c.line; room > 0 {
			n := len(headBytes(c.held, room))
			c.pass(n)
		}
		return
	}
	if room := first - c.line; room > 0 {
		c.pass(len(headBytes(c.held, room)))
	}
	c.dropped += int64(len(c.held))
	c.out = append(c.out, ellipsis...)
	c.held, c.over = c.held[:0], true
	c.lines++
}

func (c *columns) pass(n int) {
	c.out = append(c.out, c.held[:n]...)
	c.line += n
	c.held = c.held[:copy(c.held, c.held[n:])]
}

// finish is what is still held back when the text has ended.
func (c *columns) finish() []byte {
	held := c.held
	c.held = nil
	return held
}
