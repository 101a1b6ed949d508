package session

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/piweb-go/piweb/internal/durable"
	"github.com/piweb-go/piweb/internal/structure"
	"github.com/tidwall/gjson"
)

// Open opens a session file for reading; it becomes writable with its first
// Append. A file that is no session is a *FormatError. Opening never changes the
// file, whatever is in it.
func Open(path string, opts Options) (*Session, error) {
	s := &Session{opts: opts, path: path, twins: map[ID][]int{}, leaf: -1, nextLine: 1}
	if err := regular(opts.fs(), path); err != nil {
		return nil, err
	}
	f, err := opts.fs().OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, openError(path, err)
	}
	s.file = f
	if err := s.load(); err != nil {
		_ = f.Close()
		return nil, err
	}
	return s, nil
}

// headerLimit is how far into a file its header is looked for, in bytes. pi
// looks as far.
const headerLimit = 1 << 20

// ReadHeader reads the header of a file without the rest.
func ReadHeader(path string) (Header, error) {
	if err := regular(durable.OS{}, path); err != nil {
		return Header{}, err
	}
	f, err := os.Open(path)
	if err != nil {
		return Header{}, openError(path, err)
	}
	defer f.Close()
	s := &Session{path: path, file: f, twins: map[ID][]int{}}
	err = lines(section{s, headerLimit}, 0, 1, func(l line) error {
		if err := s.scanLine(l); err != nil {
			return err
		}
		if s.header.Raw != nil || s.refused {
			return io.EOF // far enough
		}
		return nil
	})
	if err != nil && err != io.EOF {
		return Header{}, fmt.Errorf("%s: read header: %w", path, err)
	}
	if s.header.Raw == nil {
		return Header{}, &FormatError{path, 1, "the first record is no session header", "name another file"}
	}
	return s.header, nil
}

func openError(path string, err error) error {
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s: %w; `piweb sessions list` shows those that exist (%w)", path, ErrNoFile, err)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%s: the session file cannot be read; check its owner and mode: %w", path, err)
	}
	return fmt.Errorf("%s: open session: %w", path, err)
}

// regular refuses what is no plain file before it is opened: opening a pipe would
// wait for ever.
func regular(fs durable.FS, path string) error {
	info, err := fs.Stat(path)
	if err != nil {
		return openError(path, err)
	}
	if !info.Mode().IsRegular() {
		return &FormatError{path, 1, "it is no regular file", "name a .jsonl file"}
	}
	return nil
}

func (s *Session) load() error {
	info, err := s.file.Stat()
	if err != nil {
		return fmt.Errorf("%s: open session: %w", s.path, err)
	}
	s.info = info
	if info.Size() == 0 {
		s.noHeader = true
		s.note(KindEmpty, 1, 0, "", "the file is empty; the header will be written with the first message")
		return nil
	}
	if err := s.scan(info.Size()); err != nil {
		return err
	}
	s.remember()
	if s.header.Raw == nil {
		return s.noSession()
	}
	if s.header.Version < Version {
		if err := s.migrateInMemory(); err != nil {
			return err
		}
	}
	if s.header.Version > Version {
		s.note(KindVersion, 1, 0, "", "the file says version %d, newer than %d; it is read as %d", s.header.Version, Version, Version)
	}
	s.leaf = len(s.entries) - 1
	s.noteLeaves()
	return nil
}

// scan indexes the whole file, or what was not known of it, from the last time or from
// an index on disk.
func (s *Session) scan(size int64) error {
	defer s.opts.Recent.turn(s.path)()
	recalled := s.recall(size)
	if recalled && size == s.end {
		return nil
	}
	if !recalled && !s.loadIndex(size) {
		err := s.scanFrom(0, size)
		if err == nil && s.header.Raw != nil {
			s.saveIndex()
			s.retain()
		}
		return err
	}
	if size > s.end {
		if err := s.scanOn(size); err != nil {
			return err
		}
	}
	s.retain()
	return nil
}

// scanOn indexes what stands behind the known end. A line that was seen half
// written may be whole now and is read again.
func (s *Session) scanOn(size int64) error {
	start := s.end
	if s.openTail {
		s.nextLine--
		if !s.tailRead {
			start = s.tailStart
			s.forget(KindTornTail, start)
		}
	}
	return s.scanFrom(start, size)
}

// section limits reading to the part of the file that the scan is about, so
// that a writer behind it does not matter.
type section struct {
	s   *Session
	end int64
}

func (r section) ReadAt(p []byte, off int64) (int, error) {
	if off >= r.end {
		return 0, io.EOF
	}
	if left := r.end - off; int64(len(p)) > left {
		p = p[:left]
		n, err := r.s.file.ReadAt(p, off)
		if err == nil {
			err = io.EOF
		}
		return n, err
	}
	return r.s.file.ReadAt(p, off)
}

// nextData is where bytes of the file's own begin behind a hole.
func (r section) nextData(off int64) int64 { return durable.NextData(r.s.file, off, r.end) }

// scanFrom indexes the bytes from offset start to end and notes what it meets.
func (s *Session) scanFrom(start, end int64) error {
	var format *FormatError
	s.scanning = end
	defer func() { s.scanning = 0 }()
	told := s.opts.progress("reading the session", end-start)
	defer told.end()
	err := lines(section{s, end}, start, s.nextLine, func(l line) error {
		s.nextLine = l.num + 1
		told.at(l.offset - start)
		if l.num == 1 && bytes.HasPrefix(l.data, []byte("\xEF\xBB\xBF")) {
			format = &FormatError{s.path, 1, "it begins with a byte order mark, which pi refuses", "remove the first three bytes, for example with `tail -c +4`"}
			return format
		}
		return s.scanLine(l)
	})
	if err != nil {
		if format == nil {
			err = fmt.Errorf("%s: read session: %w", s.path, err)
		}
		return err
	}
	s.end = end
	return s.checkLast()
}

// checkLast holds the last entries against JSON, the bodies of which were only
// jumped over: what the next append hangs on must be an entry to every reader.
func (s *Session) checkLast() error {
	for n := len(s.entries); n > s.indexed; n = len(s.entries) {
		e := s.entries[n-1]
		raw, err := s.bytesOf(e)
		if err != nil {
			return err
		}
		if structure.Valid(raw) {
			s.checkText(e, raw)
			return nil
		}
		s.drop()
		s.dropped = true // it counts again when something stands behind it
		kind := KindBadLine
		if s.openTail && e.Offset >= s.tailStart {
			kind, s.tailRead = KindTornTail, false
		}
		s.note(kind, e.Line, e.Offset, "", "the last record is damaged: %s; it is not read, the bytes stay where they are", describeDamage(line{}, raw))
		s.diags[len(s.diags)-1].CustomType = e.CustomType
	}
	return nil
}

// checkText reports bytes that are no text. They cost no reader the record.
func (s *Session) checkText(e Entry, raw []byte) {
	if !utf8.Valid(raw) {
		s.note(KindNotText, e.Line, e.Offset, e.ID, notText)
	}
}

const notText = "the record has bytes that are not UTF-8; they are read as \uFFFD, by pi too"

// drop takes the last entry out of the index again.
func (s *Session) drop() {
	last := len(s.entries) - 1
	e := s.entries[last]
	defer func() { s.entries = s.entries[:last:last] }() // what others read is not written over
	s.forgetGists(last)
	twins := s.twins[e.ID]
	if len(twins) == 0 {
		s.byID.remove(s.entries, e.ID)
		return
	}
	s.forget(KindDuplicate, e.Offset)
	s.twins[e.ID] = twins[:len(twins)-1]
	s.byID.put(s.entries, e.ID, twins[len(twins)-2])
	if len(twins) == 2 {
		delete(s.twins, e.ID)
	}
}

func (s *Session) scanLine(l line) error {
	whole, damage, was := 0, "", ""
	s.segs = segments(s.segs[:0], l, s.opts.look())
	for _, seg := range s.segs {
		if seg.damage {
			damage = describeDamage(l, seg.data)
			if was == "" {
				was = customTypeOf(seg.data)
			}
			continue
		}
		whole++
		if truthy(seg.data) {
			s.scanValue(l, seg)
		}
	}
	s.openTail, s.tailStart, s.tailRead = !l.whole, l.offset, whole > 0 && damage == ""
	if damage == "" && whole > 1 {
		s.note(KindGlued, l.num, l.offset, "", "%d records stand on one line; all of them are read", whole)
	}
	if damage == "" {
		return nil
	}
	kind, what := KindBadLine, "is damaged"
	if !l.whole {
		kind, what = KindTornTail, "is a fragment of a write that did not finish"
	}
	s.note(kind, l.num, l.offset, "", "the line %s: %s; %s, the bytes stay where they are", what, damage, rescued(whole))
	s.diags[len(s.diags)-1].CustomType = was
	return nil
}

// customTypeOf is what a damaged record says it was, "" where it does not. Quotes
// inside a string are escaped, so a text that speaks of a custom type is none.
func customTypeOf(damaged []byte) string {
	const longest = 64
	_, rest, ok := bytes.Cut(damaged, []byte(`"customType":"`))
	name, _, whole := bytes.Cut(rest[:min(len(rest), longest+1)], []byte{'"'})
	if !ok || !whole {
		return ""
	}
	return string(name)
}

func rescued(n int) string {
	switch n {
	case 0:
		return "nothing on it can be read"
	case 1:
		return "one whole record on it is read"
	}
	return fmt.Sprintf("%d whole records on it are read", n)
}

func (s *Session) scanValue(l line, v segment) {
	place := s.values
	s.values++
	h, isObject := v.head, v.data[0] == '{'
	switch {
	case s.refused:
	case s.header.Raw == nil:
		s.headerOrPreface(l, v, h, place)
	case isObject && h.typ == typeHeader:
		s.note(KindHeader, l.num, v.offset, "", "a second header; the first one counts")
	case !isObject:
		s.note(KindNotObject, l.num, v.offset, "", "a JSON value that is no entry; it is passed over")
	case !h.hasID && s.header.Version > 1:
		s.note(KindNoID, l.num, v.offset, "", "a record of type %q without an id; it is kept, and nothing can hang on it", h.typ)
	default:
		s.add(Entry{
			ID: ID(s.strand.keep(h.id)), Parent: s.keepParent(h.parent),
			Type: s.strand.intern(h.typ), CustomType: s.strand.intern(h.customType), Role: s.strand.intern(h.role),
			Line: l.num, Offset: v.offset, Len: int64(len(v.data)),
			value: place, timestamp: s.strand.keep(h.timestamp),
		})
	}
}

// headerOrPreface handles the values up to the header. pi wants the header
// first; oh-my-pi writes a title record in front of it. Anything else in front
// makes the file no session.
func (s *Session) headerOrPreface(l line, v segment, h rawEntry, place int) {
	if v.data[0] == '{' && h.typ == typeHeader {
		s.header, s.refused = parseHeader(bytes.Clone(v.data))
		return
	}
	if place == 0 && h.typ == "title" {
		s.note(KindPreface, l.num, v.offset, "", "a title record in front of the header, as oh-my-pi writes it")
		return
	}
	s.refused = true
}

// noSession says why a file without a header is none.
func (s *Session) noSession() error {
	f := &FormatError{Path: s.path, Line: 1,
		Reason: "the first record is no session header",
		Advice: `a session begins with {"type":"session","version":3,"id":…}`}
	var first gjson.Result
	_ = lines(section{s, min(s.end, 1<<20)}, 0, 1, func(l line) error {
		for _, seg := range segments(nil, l, s.opts.look()) {
			if !seg.damage && truthy(seg.data) {
				first, f.Line = gjson.ParseBytes(bytes.Clone(seg.data)), l.num
				return io.EOF
			}
		}
		return nil
	})
	switch {
	case !first.Exists():
		f.Reason = "it holds no JSON record at all"
	case first.Get("type").String() == typeHeader:
		f.Reason = "its header has no id"
	case first.IsObject():
		f.Reason = fmt.Sprintf("the first record has the type %.40q, not \"session\"; the header may have been lost", first.Get("type").String())
	}
	return f
}

// keepParent shares the id of the entry before, which nearly always is the parent.
func (s *Session) keepParent(id string) ID {
	if n := len(s.entries); n > 0 && string(s.entries[n-1].ID) == id {
		return s.entries[n-1].ID
	}
	return ID(s.strand.keep(id))
}

// strand copies short strings out of the scan buffer, many of them into one block
// of memory.
type strand struct{ block []byte }

func (t *strand) keep(s string) string {
	const size = 16 << 10
	switch {
	case s == "":
		return ""
	case len(s) > size/16:
		return strings.Clone(s)
	case len(s) > cap(t.block)-len(t.block):
		t.block = make([]byte, 0, size)
	}
	at := len(t.block)
	t.block = append(t.block, s...)
	return structure.Alias(t.block[at:])
}

// intern shares the few strings that occur in every line.
func (t *strand) intern(s string) string {
	if known, ok := usual(s); ok {
		return known
	}
	return t.keep(s)
}

// intern is that of strand for a single string.
func intern(s string) string {
	if known, ok := usual(s); ok {
		return known
	}
	return strings.Clone(s)
}

func usual(s string) (string, bool) {
	for _, known := range [...]string{
		TypeMessage, "user", "assistant", "toolResult", TypeCustom, TypeCustomMessage, TypeCompaction,
	} {
		if s == known {
			return known, true
		}
	}
	return "", false
}
