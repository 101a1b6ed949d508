package session

import (
	"bytes"
	"fmt"
	"io"

	"github.com/tidwall/gjson"
)

const (
	// scanBlock is how much of a file is read at once, in bytes. Lines may be
	// longer; the buffer grows for them.
	scanBlock = 1 << 20
	// maxDepth is how deep a record may be nested. Deeper ones are treated as
	// damaged: no writer makes them, and a parser must not be led to exhaust its
	// stack. It is the limit of encoding/json.
	maxDepth = 10000
)

// line is one line of a file, without its line feed.
type line struct {
	num    int
	offset int64
	data   []byte // valid until the next line
	whole  bool   // ended with a line feed
}

// lines calls fn for each line of r from the offset start on, split on LF only.
// Lines may have any length.
func lines(r io.ReaderAt, start int64, firstNum int, fn func(line) error) error {
	buf := make([]byte, 0, scanBlock)
	offset, num := start, firstNum // of buf[0]
	for eof := false; !eof || len(buf) > 0; {
		if !eof {
			if cap(buf)-len(buf) < scanBlock/2 {
				buf = append(make([]byte, 0, 2*cap(buf)), buf...)
			}
			n, err := r.ReadAt(buf[len(buf):cap(buf)], offset+int64(len(buf)))
			buf = buf[:len(buf)+n]
			if err == io.EOF {
				eof = true
			} else if err != nil {
				return err
			}
		}
		used := 0
		for {
			i := bytes.IndexByte(buf[used:], '\n')
			if i < 0 {
				break
			}
			if err := fn(line{num: num, offset: offset + int64(used), data: buf[used : used+i], whole: true}); err != nil {
				return err
			}
			used += i + 1
			num++
		}
		if eof {
			if used < len(buf) {
				return fn(line{num: num, offset: offset + int64(used), data: buf[used:]})
			}
			return nil
		}
		rest := copy(buf, buf[used:])
		buf = buf[:rest]
		offset += int64(used)
	}
	return nil
}

// value is one JSON value of a line.
type value struct {
	offset int64
	data   []byte
}

// values returns the whole JSON values of a line and the bytes that belong to
// none. A sound line has one value. Where writers lost a line feed a line holds
// several, and where one died in the middle of a record a fragment stands in
// front of a whole one; both give back every record that is still whole.
func values(l line) (vals []value, damage string) {
	data, offset := l.data, l.offset
	for {
		trimmed := bytes.TrimLeft(data, " \t\r\n")
		offset += int64(len(data) - len(trimmed))
		data = bytes.TrimRight(trimmed, " \t\r\n")
		if len(data) == 0 {
			return vals, damage
		}
		if valid(data) {
			return append(vals, value{offset, data}), damage
		}
		if n := wholeObject(data); n > 0 {
			vals = append(vals, value{offset, data[:n]})
			data, offset = data[n:], offset+int64(n)
			continue
		}
		i := nextRecord(data)
		if i < 0 {
			return vals, describeDamage(data)
		}
		damage = describeDamage(data[:i])
		data, offset = data[i:], offset+int64(i)
	}
}

// nextRecord finds a whole entry inside a damaged line. It begins with an
// unescaped quote after its brace, which cannot occur inside a JSON string; it
// must have the fields of an entry, because the blocks of a torn message are
// whole objects too. It returns -1 when there is none.
func nextRecord(data []byte) int {
	const maxTries = 1000 // bounds the work on a hostile line
	at := 0
	for range maxTries {
		i := bytes.Index(data[at+1:], []byte(`{"type":"`))
		if i < 0 {
			return -1
		}
		at += 1 + i
		n := wholeObject(data[at:])
		if n == 0 {
			continue
		}
		v := gjson.ParseBytes(data[at : at+n])
		if v.Get("id").Type == gjson.String && v.Get("parentId").Exists() {
			return at
		}
	}
	return -1
}

func describeDamage(data []byte) string {
	const show = 40
	if len(bytes.Trim(data, "\x00")) == 0 {
		return fmt.Sprintf("%d NUL bytes", len(data))
	}
	if len(data) > show {
		return fmt.Sprintf("%d bytes that are not JSON, beginning %q", len(data), data[:show])
	}
	return fmt.Sprintf("%d bytes that are not JSON: %q", len(data), data)
}

// valid tells whether data is one JSON value of bounded depth.
func valid(data []byte) bool {
	return shallow(data) && gjson.ValidBytes(data)
}

// brackets calls at for each bracket outside of strings, with its place and the
// depth behind it, until at says stop.
func brackets(data []byte, at func(i, depth int) (goOn bool)) {
	depth, inString := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
			continue
		case c == '"':
			inString = !inString
			continue
		case inString:
			continue
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		default:
			continue
		}
		if !at(i, depth) {
			return
		}
	}
}

// shallow bounds the nesting before a recursive parser sees the data.
func shallow(data []byte) bool {
	if bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) <= maxDepth {
		return true
	}
	ok := true
	brackets(data, func(_, depth int) bool {
		ok = depth <= maxDepth
		return ok
	})
	return ok
}

// wholeObject returns the length of the JSON object that data begins with, or 0
// if there is no whole and valid one.
func wholeObject(data []byte) (n int) {
	if data[0] != '{' {
		return 0
	}
	brackets(data, func(i, depth int) bool {
		if depth > 0 {
			return true
		}
		if valid(data[:i+1]) {
			n = i + 1
		}
		return false
	})
	return n
}
