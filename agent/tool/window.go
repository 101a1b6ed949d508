package tool

import (
	"bytes"
	"unicode/utf8"
)

// windowKeep is how much of the end of an output is needed to cut it like the
// whole, in bytes: the limit, the two bytes that cutter.tail asks for, and room
// for a rune that the trim would split.
const windowKeep = MaxBytes + 2 + utf8.UTFMax

// window sees an output of any length pass by and can tell at any time how its
// tail would be shown. It holds a bounded piece of it.
type window struct {
	dec  lossyDecoder
	text []byte // the end of the output, valid UTF-8, at least windowKeep bytes if there were as many

	feeds    int // line feeds so far
	bytes    int // bytes of text so far
	open     int // bytes after the last line feed
	lastLine int // bytes of the last line that a line feed ended
}

// write takes the next piece of the output.
func (w *window) write(piece []byte) {
	before := len(w.text)
	w.text = w.dec.append(w.text, piece)
	w.count(before)
}

// finish takes a rune that never got complete.
func (w *window) finish() {
	before := len(w.text)
	w.text = w.dec.finish(w.text)
	w.count(before)
}

func (w *window) count(before int) {
	added := w.text[before:]
	w.bytes += len(added)
	w.feeds += bytes.Count(added, []byte{'\n'})
	if last := bytes.LastIndexByte(added, '\n'); last < 0 {
		w.open += len(added)
	} else {
		if previous := bytes.LastIndexByte(added[:last], '\n'); previous < 0 {
			w.lastLine = w.open + last
		} else {
			w.lastLine = last - previous - 1
		}
		w.open = len(added) - last - 1
	}
	// Trim only when there is much to drop: each byte is moved once at most.
	if len(w.text) > 4*windowKeep {
		w.text = w.text[:copy(w.text, w.text[w.keepFrom():])]
	}
}

func (w *window) size() size {
	s := size{lines: w.feeds, bytes: w.bytes}
	if w.open > 0 {
		s.lines++
	}
	return s
}

// truncation is how the output so far would be shown.
func (w *window) truncation() Truncation {
	return standardCut.tail(string(w.text[w.keepFrom():]), w.size())
}

// keepFrom is where the part of the text begins that is needed.
func (w *window) keepFrom() int {
	start := max(0, len(w.text)-windowKeep)
	for start > 0 && !utf8.RuneStart(w.text[start]) {
		start--
	}
	return start
}

// cut says whether the output so far is more than is shown.
func (w *window) cut() bool { return !standardCut.fits(w.size()) }

// lastLineBytes is the length of the last line, which may still grow.
func (w *window) lastLineBytes() int {
	if w.open > 0 {
		return w.open
	}
	return w.lastLine
}
