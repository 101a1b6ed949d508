package catalog

import "bytes"

// maxDepth is how deep a record may be nested: the limit of package
// session. A deeper one is left to session, which calls it damaged: a recursive
// parser must not be led to exhaust its stack.
const maxDepth = 10000

// outline tells of a line that is longer than a block, fed with it in pieces of any
// size, whether it has the shape of one JSON object: strings closed, brackets in
// balance, nothing in front and nothing behind. It says less than the pass of
// package structure, which wants the whole line in memory: a list of files with very
// long lines is not worth that.
type outline struct {
	depth    int
	inString bool
	escaped  bool // the last byte was a backslash that escapes the next
	closed   bool // the object is complete
	broken   bool
}

// ok tells whether what was fed is one whole object.
func (b *outline) ok() bool { return b.closed && !b.broken }

func (b *outline) feed(p []byte) {
	for i := 0; i < len(p) && !b.broken; {
		if b.inString {
			i = b.skipString(p, i)
			continue
		}
		switch c := p[i]; c {
		case ' ', '\t', '\r', '\n':
		case '"':
			b.inString = true
			b.broken = b.depth == 0
		case '{', '[':
			b.broken = b.depth == 0 && (b.closed || c == '[') || b.depth >= maxDepth
			b.depth++
		case '}', ']':
			b.depth--
			b.broken = b.depth < 0
			b.closed = b.depth == 0
		default:
			b.broken = b.depth == 0
		}
		i++
	}
}

// skipString goes from inside a string to behind its end, or to the end of p.
func (b *outline) skipString(p []byte, i int) int {
	if b.escaped {
		b.escaped = false
		return i + 1
	}
	n := bytes.IndexByte(p[i:], '"')
	if n < 0 {
		b.escaped = backslashes(p[i:])%2 == 1
		return len(p)
	}
	if backslashes(p[i:i+n])%2 == 0 {
		b.inString = false
	}
	return i + n + 1
}

// backslashes counts those at the end of p.
func backslashes(p []byte) int {
	n := 0
	for n < len(p) && p[len(p)-1-n] == '\\' {
		n++
	}
	return n
}
