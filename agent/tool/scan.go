package tool

import (
	"bytes"
	"context"
	"errors"
	"io"
	"unicode/utf8"
)

// A file is searched block by block in one buffer, so its size does not count;
// a line that is longer than the buffer is matched while it streams by. What is
// kept of a line is no more than is shown of it.

const (
	scanBuffer  = 128 << 10 // bytes
	scanMaxRows = 20_000    // rows of one file that are kept; more than fit the limit in bytes anyway
	checkEvery  = 4 << 10   // bytes of a long line between two looks at the context
	// shownUnits is how much of a line is shown, in UTF-16 units, as pi counts.
	shownUnits = 500
	// shownBytes is enough of a line to show so much, and to see that there is
	// more, however invalid it is.
	shownBytes = 4 * (shownUnits + 2)
)

// row is a line to show.
type row struct {
	line  int // from 1
	match bool
	cut   bool   // only the beginning is shown
	text  string // "" once a file has more rows than fit
	bytes int    // length of the text
}

// findings is what a file holds.
type findings struct {
	rows   []row // up to the limit of matches and the lines around them, in order
	more   bool  // a match beyond them
	binary bool
	err    error // it could not be read, or not to its end
}

// search is what is looked for in each file.
type search struct {
	matcher *lineMatcher
	context int // lines before and after a match
	limit   int // matches, of all files together
}

// scanner searches files, one after the other.
type scanner struct {
	search
	ctx context.Context
	buf []byte
	low []byte // a block in lower case

	r          io.Reader
	start, end int // what of buf is not yet looked at
	eof        bool
	nul        bool // the file ends at a NUL, for us
	readAny    bool

	line      int   // number of the line last looked at
	before    []row // the lines before, of which the last ones count, as many as context
	after     int   // lines still to show behind a match
	windowEnd int   // last line to show once the limit is reached, or 0 before
	matches   int
	kept      int // bytes of text in rows
	found     findings
}

func newScanner(ctx context.Context, s search) *scanner {
	return &scanner{search: s, ctx: ctx, buf: make([]byte, scanBuffer)}
}

// scan searches one file.
func (s *scanner) scan(r io.Reader) findings {
	*s = scanner{search: s.search, ctx: s.ctx, buf: s.buf, low: s.low, before: s.before[:0], r: r}
	for !s.done() {
		if s.fill(); s.found.err != nil || s.found.binary {
			break
		}
		block := s.buf[s.start:s.end]
		whole := bytes.LastIndexByte(block, '\n') + 1
		switch {
		case len(block) == 0:
			return s.found
		case whole > 0:
			block = block[:whole]
		case !s.eof:
			s.longLine()
			continue
		}
		s.start += len(block)
		s.block(block)
	}
	return s.found
}

// done says that nothing more of the file can be shown or has to be known.
func (s *scanner) done() bool {
	return s.found.err != nil || len(s.found.rows) >= scanMaxRows || s.found.more && s.line >= s.windowEnd
}

// fill reads until the buffer is full, or to the end of the file.
func (s *scanner) fill() {
	if s.start > 0 {
		s.end = copy(s.buf, s.buf[s.start:s.end])
		s.start = 0
	}
	for s.end < len(s.buf) && !s.eof {
		if err := s.ctx.Err(); err != nil {
			s.found.err = err
			return
		}
		n, err := s.r.Read(s.buf[s.end:])
		piece := s.buf[s.end : s.end+n]
		s.end += n
		if nul := bytes.IndexByte(piece, 0); nul >= 0 {
			// At once it is a binary file; later it is one from here on.
			s.nul, s.eof = true, true
			s.end -= n - nul
			if !s.readAny {
				s.found.binary = true
				return
			}
			// The line with the NUL is no line.
			s.end = s.start + bytes.LastIndexByte(s.buf[s.start:s.end], '\n') + 1
			return
		}
		if err != nil {
			s.eof = true
			if !errors.Is(err, io.EOF) {
				s.found.err = err
				return
			}
		}
	}
	if !s.readAny {
		s.readAny = true
		if bytes.HasPrefix(s.buf[:s.end], []byte("\xEF\xBB\xBF")) {
			s.start = 3
		}
	}
}

// block searches lines that are in memory as a whole.
func (s *scanner) block(block []byte) {
	hay := block // what is searched for the text that is needed
	if s.matcher.fold && len(s.matcher.need) > 0 {
		s.low = appendLower(s.low[:0], block)
		hay = s.low
	}
	for n := 1; len(block) > 0 && !s.done(); n++ {
		if n%256 == 0 && s.ctx.Err() != nil {
			s.found.err = s.ctx.Err()
			return
		}
		if s.after == 0 && len(s.matcher.need) > 0 {
			skip := len(block)
			if at := bytes.Index(hay, s.matcher.need); at >= 0 {
				skip = bytes.LastIndexByte(block[:at], '\n') + 1
			}
			s.skip(block[:skip])
			block, hay = block[skip:], hay[skip:]
			if len(block) == 0 {
				return
			}
		}
		line, rest, _ := bytes.Cut(block, []byte{'\n'})
		block, hay = rest, hay[len(hay)-len(rest):]
		line = bytes.TrimSuffix(line, []byte{'\r'})
		s.take(line, s.matcher.match(line))
	}
}

// skip passes over lines that do not match.
func (s *scanner) skip(lines []byte) {
	if len(lines) == 0 {
		return
	}
	feeds := bytes.Count(lines, []byte{'\n'})
	if lines[len(lines)-1] != '\n' {
		feeds++
	}
	if s.context > 0 {
		// Only the last lines can be shown: find where they begin.
		from, wanted := len(lines), min(s.context, feeds)
		for range wanted {
			from = bytes.LastIndexByte(lines[:max(0, from-1)], '\n') + 1
		}
		s.line += feeds - wanted
		for line := range bytes.Lines(lines[from:]) {
			s.line++
			s.remember(trimLineEnd(line))
		}
		return
	}
	s.line += feeds
}

func trimLineEnd(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte{'\r'})
}

// take deals with the next line.
func (s *scanner) take(line []byte, match bool) {
	s.line++
	switch {
	case s.windowEnd > 0: // the limit is reached
		s.found.more = s.found.more || match
		if s.line <= s.windowEnd {
			s.show(s.row(line, match))
		}
	case match:
		for _, r := range s.before[max(0, len(s.before)-s.context):] {
			s.show(r)
		}
		s.before = s.before[:0]
		s.show(s.row(line, true))
		s.after = s.context
		if s.matches++; s.matches == s.limit {
			s.windowEnd = s.line + s.context
		}
	case s.after > 0:
		s.after--
		s.show(s.row(line, false))
	default:
		s.remember(line)
	}
}

// remember keeps a line that may be shown before a match.
func (s *scanner) remember(line []byte) {
	if s.context == 0 {
		return
	}
	if len(s.before) == 2*s.context { // rarely, so that each row is moved once
		s.before = s.before[:copy(s.before, s.before[s.context:])]
	}
	s.before = append(s.before, s.row(line, false))
}

func (s *scanner) row(line []byte, match bool) row {
	text, cut := cutLine(line)
	return row{line: s.line, match: match, cut: cut, text: text, bytes: len(text)}
}

// show adds a row. Behind more text than is ever shown only its size counts.
func (s *scanner) show(r row) {
	if s.kept > MaxBytes {
		r.text = ""
	}
	s.kept += r.bytes
	s.found.rows = append(s.found.rows, r)
}

// longLine deals with the line that begins in the buffer and does not end there.
func (s *scanner) longLine() {
	start := bytes.Clone(s.buf[s.start : s.start+shownBytes])
	match := s.matcher.matchReader((*restOfLine)(s))
	// Go on to the end of the line.
	for s.found.err == nil {
		if i := bytes.IndexByte(s.buf[s.start:s.end], '\n'); i >= 0 {
			s.start += i + 1
			break
		}
		s.start = s.end
		if s.eof {
			break
		}
		s.fill()
	}
	if s.found.err == nil && !s.nul {
		s.take(start, match)
	}
}

// restOfLine reads a line from the scanner's buffer and file, up to its end.
type restOfLine scanner

// ReadRune returns io.EOF at the end of the line.
func (l *restOfLine) ReadRune() (r rune, size int, err error) {
	s := (*scanner)(l)
	if s.end-s.start < utf8.UTFMax && !s.eof && s.found.err == nil {
		s.fill()
	}
	left := s.buf[s.start:s.end]
	if s.found.err != nil || len(left) == 0 || left[0] == '\n' || left[0] == '\r' && (len(left) == 1 || left[1] == '\n') {
		return 0, 0, io.EOF
	}
	r, size = rune(left[0]), 1
	if r >= utf8.RuneSelf {
		r, size = utf8.DecodeRune(left)
	}
	// An expression can take long over a buffer: look now and then.
	if s.start/checkEvery != (s.start+size)/checkEvery && s.ctx.Err() != nil {
		s.found.err = s.ctx.Err()
		return 0, 0, io.EOF
	}
	s.start += size
	return r, size, nil
}

// cutLine makes a line valid UTF-8 and cuts it to what is shown, with a mark.
func cutLine(line []byte) (text string, cut bool) {
	if len(line) <= shownUnits {
		return string(appendValid(nil, line)), false
	}
	units, end := 0, 0
	for end < len(line) {
		r, size := utf8.DecodeRune(line[end:])
		width := 1
		if r > 0xFFFF {
			width = 2
		}
		if units+width > shownUnits {
			return string(appendValid(nil, line[:end])) + "... [cut]", true
		}
		units += width
		end += size
	}
	return string(appendValid(nil, line)), false
}
