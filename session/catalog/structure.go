package catalog

import "bytes"

// maxDepth is how deep a record may be nested; it is the limit of package
// session. A deeper one is left to session, which calls it damaged: a recursive
// parser must not be led to exhaust its stack.
const maxDepth = 10000

// structure tells, fed with a line in pieces of any size, whether the line has
// the shape of one JSON object: strings closed, brackets in balance, nothing in
// front and nothing behind. It does not tell whether the object is valid.
//
// This is what a list needs. Every accident that the writers of session files are
// known for shows in the shape (a torn record, two records on one line, a
// fragment in front of a record, a run of NULs), and to look at the shape costs a
// fifth of what a validation costs, because the inside of a string is jumped over.
type structure struct {
	depth    int
	inString bool
	escaped  bool // the last byte was a backslash that escapes the next
	closed   bool // the object is complete
	broken   bool
}

// ok tells whether what was fed is one whole object.
func (b *structure) ok() bool { return b.closed && !b.broken }

func (b *structure) feed(p []byte) {
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
func (b *structure) skipString(p []byte, i int) int {
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
