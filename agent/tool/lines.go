package tool

import (
	"bytes"
	"context"
	"errors"
	"io"
)

// lineRange is a part of a file: lines from first on, counted from 0, up to
// but without end; end < 0 for the rest of the file.
type lineRange struct{ first, end int }

// selection is what reading a range found.
type selection struct {
	fileLines      int // pieces between line feeds, so one more after a last line feed
	shown          Truncation
	firstLineBytes int // length of the first line of the range
}

// readChunk is how much of a file is read at once, in bytes.
const readChunk = 64 << 10

// selectLines reads all of r, to count its lines, and cuts the lines of the
// range at their head. It holds no more than the limit asks for, whatever the
// size of the file; the result is that of splitting the whole text.
func selectLines(ctx context.Context, r io.Reader, part lineRange) (selection, error) {
	s := selector{part: part}
	buf := make([]byte, readChunk)
	var text []byte
	for {
		if err := ctx.Err(); err != nil {
			return selection{}, err
		}
		n, err := r.Read(buf)
		text = s.dec.append(text[:0], buf[:n])
		s.take(text)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return selection{}, err
			}
			s.take(s.dec.finish(text[:0]))
			return s.result(), nil
		}
	}
}

// headKeep is how much of the beginning of a text cutter.head needs, in bytes.
const headKeep = MaxBytes + 2

type selector struct {
	part lineRange
	dec  lossyDecoder
	line int // the line that the next byte belongs to

	kept           []byte // the first headKeep bytes of the range
	bytes, feeds   int    // of the range
	open           bool   // the range's last line has bytes
	firstLineBytes int
}

func (s *selector) take(text []byte) {
	for len(text) > 0 {
		i := bytes.IndexByte(text, '\n')
		if i < 0 {
			s.add(text, false)
			return
		}
		s.add(text[:i], true)
		s.line++
		text = text[i+1:]
	}
}

// add takes bytes of the current line, with the line feed behind them if fed.
// Line feeds stand between the lines of a range, not behind its last.
func (s *selector) add(line []byte, fed bool) {
	if s.line < s.part.first || (s.part.end >= 0 && s.line >= s.part.end) {
		return
	}
	if s.line == s.part.first {
		s.firstLineBytes += len(line)
	}
	s.keep(line)
	s.open = s.open || len(line) > 0
	if fed && (s.part.end < 0 || s.line+1 < s.part.end) {
		s.keep([]byte{'\n'})
		s.feeds++
		s.open = false
	}
}

func (s *selector) keep(b []byte) {
	s.bytes += len(b)
	if room := headKeep - len(s.kept); room > 0 {
		s.kept = append(s.kept, b[:min(room, len(b))]...)
	}
}

func (s *selector) result() selection {
	total := size{lines: s.feeds, bytes: s.bytes}
	if s.open {
		total.lines++
	}
	return selection{
		fileLines:      s.line + 1,
		shown:          standardCut.head(string(s.kept), total),
		firstLineBytes: s.firstLineBytes,
	}
}
