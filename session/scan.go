package session

import (
	"bytes"
	"fmt"
	"io"

	"github.com/piweb-go/piweb/internal/structure"
)

const (
	// scanBlock is how much of a file is read at once, in bytes. Lines may be
	// longer; the buffer grows for them.
	scanBlock = 1 << 20
	// maxLine bounds one line, in bytes. A longer one is passed over and reported: it
	// must not fill the memory. NUL bytes in front of a line do not count, since a hole
	// of a sparse file is no line; see line.zeros.
	maxLine = 512 << 20
	// showDamage is how much of a damaged line a diagnostic shows, in bytes.
	showDamage = 40
)

// line is one line of a file, without its line feed.
type line struct {
	num    int
	offset int64
	zeros  int64  // NUL bytes that it begins with, which are not in data: those of a hole
	data   []byte // valid until the next line
	whole  bool   // ended with a line feed
	cut    bool   // longer than maxLine: data is only its beginning
	length int64  // of the line in bytes
}

// lines calls fn for each line of r from the offset start on, split on LF only.
// Lines longer than maxLine are passed over; of those fn sees the beginning.
func lines(r io.ReaderAt, start int64, firstNum int, fn func(line) error) error {
	rd := lineReader{r: r, limit: maxLine, buf: make([]byte, 0, scanBlock), offset: start, num: firstNum}
	for {
		l, err := rd.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := fn(l); err != nil {
			return err
		}
	}
}

type lineReader struct {
	r      io.ReaderAt
	limit  int    // of a line, in bytes
	buf    []byte // read and not handed out
	used   int    // bytes of buf that were handed out
	offset int64  // of buf[0] in the file
	num    int
	eof    bool
}

// next returns the next line, or io.EOF.
func (r *lineReader) next() (line, error) {
	skipped, zeros := int64(0), int64(0) // bytes of the line that buf does not hold
	var begin []byte
	searched := 0 // of the rest of buf
	for {
		rest := r.buf[r.used:]
		if i := bytes.IndexByte(rest[searched:], '\n'); i >= 0 {
			return r.hand(rest[:searched+i], begin, zeros, skipped, true), nil
		}
		searched = len(rest)
		if begin == nil && len(rest) >= scanBlock/2 && rest[0] == 0 && onlyZeros(rest) {
			zeros += int64(len(rest))
			r.used, searched = len(r.buf), 0
			zeros += r.overHole()
		} else if len(rest) > r.limit {
			if begin == nil {
				begin = bytes.Clone(rest[:min(len(rest), showDamage)])
			}
			skipped += int64(len(rest))
			r.used, searched = len(r.buf), 0
			skipped += r.overHole()
		}
		if r.eof {
			if len(r.buf) == r.used && skipped+zeros == 0 {
				return line{}, io.EOF
			}
			return r.hand(r.buf[r.used:], begin, zeros, skipped, false), nil
		}
		if err := r.fill(); err != nil {
			return line{}, err
		}
	}
}

func onlyZeros(data []byte) bool {
	const step = 4 << 10
	var zeros [step]byte
	for ; len(data) >= step; data = data[step:] {
		if !bytes.Equal(data[:step], zeros[:]) {
			return false
		}
	}
	return bytes.Equal(data, zeros[:len(data)])
}

// overHole moves over the rest of a hole of the file, where all that was read is
// handled, and says how many bytes that are.
func (r *lineReader) overHole() int64 {
	h, ok := r.r.(interface{ nextData(off int64) int64 })
	if !ok {
		return 0
	}
	at := r.offset + int64(len(r.buf))
	n := h.nextData(at) - at
	if n > 0 {
		r.offset, r.buf, r.used = at+n, r.buf[:0], 0
	}
	return n
}

// hand makes the line and moves behind it.
func (r *lineReader) hand(data, begin []byte, zeros, skipped int64, whole bool) line {
	l := line{num: r.num, offset: r.offset + int64(r.used) - skipped - zeros, zeros: zeros, data: data, whole: whole,
		length: zeros + skipped + int64(len(data))}
	if skipped > 0 {
		l.cut, l.data = true, begin
	} else if zeros > 0 { // the last of them came with what follows
		l.data = bytes.TrimLeft(data, "\x00")
		l.zeros += int64(len(data) - len(l.data))
	}
	r.used += len(data)
	if whole {
		r.used++
	}
	r.num++
	return l
}

// fill reads more behind what is there, growing the buffer for a long line.
func (r *lineReader) fill() error {
	if r.used > 0 {
		n := copy(r.buf, r.buf[r.used:])
		r.buf, r.offset, r.used = r.buf[:n], r.offset+int64(r.used), 0
	}
	if cap(r.buf)-len(r.buf) < scanBlock/2 {
		size := 2 * cap(r.buf)
		if size >= r.limit && cap(r.buf) <= r.limit {
			size = r.limit + scanBlock // as much as is needed to see that it is too long
		}
		r.buf = append(make([]byte, 0, size), r.buf...)
	}
	n, err := r.r.ReadAt(r.buf[len(r.buf):cap(r.buf)], r.offset+int64(len(r.buf)))
	r.buf = r.buf[:len(r.buf)+n]
	if err == io.EOF {
		r.eof = true
		return nil
	}
	return err
}

// segment is a part of a line: a JSON value, or bytes that belong to none.
type segment struct {
	offset int64
	data   []byte
	damage bool
	zeros  int64    // of damage that is a hole: data is empty then
	head   rawEntry // of a value that is an object
}

// segments takes a line apart and puts the parts behind those of into. A sound
// line is one value. Where writers lost a line feed a line holds several, and
// where one died in the middle of a record a fragment stands in front of a whole
// one; both give back every record that is still whole.
func segments(into []segment, l line, g structure.Grammar) []segment {
	if l.zeros > 0 {
		into = append(into, segment{offset: l.offset, damage: true, zeros: l.zeros})
	}
	data, offset := trim(l.data, l.offset+l.zeros)
	if len(data) > 0 && l.cut {
		return append(into, segment{offset: offset, data: data, damage: true})
	}
	for alone := l.zeros == 0; len(data) > 0; alone = false {
		n, head := wholeValue(data, g)
		damage := n < 0 || data[0] != '{' && (!alone || n < len(data))
		if damage {
			if n = nextRecord(data); n < 0 {
				n = len(data)
			}
		}
		into = append(into, segment{offset: offset, data: data[:n], damage: damage, head: head})
		data, offset = trim(data[n:], offset+int64(n))
	}
	return into
}

// trim removes JSON white space at both ends and follows with the offset.
func trim(data []byte, offset int64) ([]byte, int64) {
	if n := len(data); n > 0 && data[0] > ' ' && data[n-1] > ' ' {
		return data, offset // nearly always
	}
	left := bytes.TrimLeft(data, " \t\r\n")
	offset += int64(len(data) - len(left))
	return bytes.TrimRight(left, " \t\r\n"), offset
}

// nextRecord finds a whole entry inside a damaged line. It begins with an
// unescaped quote after its brace, which cannot occur inside a JSON string; it
// must have the fields of an entry, because the blocks of a torn message are
// whole objects too. It returns -1 when there is none.
func nextRecord(data []byte) int {
	// Each try may look at all that follows: what a hostile line can cost is bounded.
	const mostTries, mostWork = 1000, 1 << 28
	at := 0
	for range max(8, min(mostTries, mostWork/len(data))) {
		i := bytes.Index(data[at+1:], []byte(`{"type":"`))
		if i < 0 {
			return -1
		}
		at += 1 + i
		if n, h := wholeValue(data[at:], structure.Strict); n > 0 && h.hasID && h.hasParent {
			return at
		}
	}
	return -1
}

func describeDamage(l line, data []byte) string {
	if l.cut {
		return fmt.Sprintf("%d bytes, more than the %d MB that a line may have", l.length, maxLine>>20)
	}
	if len(data) == 0 && l.zeros > 0 {
		return fmt.Sprintf("%d NUL bytes", l.zeros)
	}
	if len(bytes.Trim(data, "\x00")) == 0 {
		return fmt.Sprintf("%d NUL bytes", len(data))
	}
	if len(data) > showDamage {
		return fmt.Sprintf("%d bytes that are not JSON, beginning %q", len(data), data[:showDamage])
	}
	return fmt.Sprintf("%d bytes that are not JSON: %q", len(data), data)
}
