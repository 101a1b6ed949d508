package catalog

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/piweb-go/piweb/attachment"
	"github.com/piweb-go/piweb/internal/durable"
	"github.com/piweb-go/piweb/internal/structure"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/toolselect"
)

// A scan reads a file once, in blocks, and keeps of it what a list shows. Of a line
// it takes the envelope, by the pass that an open makes; the body is read only of the
// lines that a list quotes: the name, the choice of tools, the first user text.

const (
	scanBlock = 256 << 10 // of a file at once, in bytes
	longHead  = 32 << 10  // of a line longer than a block, in bytes
	longLine  = 64 << 20  // the longest line that is read as a whole, in bytes
	maxFirst  = 500       // of a first text, in characters
)

// key is what a file must still be for what is known of it to hold.
type key struct {
	size  int64
	mtime int64 // Unix nanoseconds
	inode uint64
}

func keyOf(info os.FileInfo) key {
	return key{info.Size(), info.ModTime().UnixNano(), inode(info)}
}

// record is what is known of a file. It does not change once it is made.
type record struct {
	key     key
	scanned int64 // Unix nanoseconds of the clock before the file was opened
	info    Info  // without Path; Modified is zero where only the file's time says it

	// Where a scan of what was appended begins, and with what.
	resume  int64  // 0 where the file must be read from its beginning
	version int    // of the header
	print   uint64 // of the bytes before resume
}

// Two writes within one tick of the file system's clock leave the same time. A
// record that was made so soon after the last write may have missed the second
// one, and does not hold. A time without fractions comes from a coarse clock.
const (
	tick       = 100 * time.Millisecond
	coarseTick = 2 * time.Second
)

// holds tells whether the record still describes the file.
func (r *record) holds(now key) bool {
	if r == nil || r.key != now {
		return false
	}
	wait := tick
	if now.mtime%int64(time.Second) == 0 {
		wait = coarseTick
	}
	return now.mtime+int64(wait) <= r.scanned
}

// describe is the record as a list shows it.
func (r *record) describe(path string) Info {
	info := r.info
	info.Path = path
	if info.Problem == "" && info.Modified.IsZero() {
		info.Modified = time.Unix(0, r.key.mtime).UTC()
	}
	return info
}

var blocks = sync.Pool{New: func() any { b := make([]byte, scanBlock); return &b }}

// scan reads a file. Where old is of the same file and the file has only grown,
// just the new lines are read. An error means that the file could not be read; one
// that is no session gives a record that says so.
func scan(path string, old *record, now time.Time) (*record, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, openFailed(path, err)
	}
	return scanFile(path, info, old, now)
}

// scanFile is scan of a file that was looked at.
func scanFile(path string, info os.FileInfo, old *record, now time.Time) (*record, error) {
	if !info.Mode().IsRegular() {
		return slow(path, key{}, now) // session says why not; opening could wait for ever
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, openFailed(path, err)
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, err
	}
	r := &record{key: keyOf(info), scanned: now.UnixNano()}
	s := scanner{f: f, r: r, end: info.Size()}
	grown := old.grown(r.key, f)
	if grown {
		r.info, r.version, r.resume = old.info, old.version, old.resume
		s.at, s.headed = old.resume, true
	}
	buf := blocks.Get().(*[]byte)
	defer blocks.Put(buf)
	err = s.run(*buf)
	if errors.Is(err, errOdd) || err == nil && !s.headed {
		return slow(path, r.key, now)
	}
	if err != nil {
		return nil, err
	}
	r.info.Bytes = s.end
	r.resume = 0
	if !s.open {
		r.resume = s.end
		var all io.ReaderAt = f
		if !grown && s.end <= scanBlock {
			all = bytes.NewReader((*buf)[:s.end]) // it is still there
		}
		if r.print, err = fingerprint(all, s.end); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// openFailed lets package session word the error, so that it reads the same
// everywhere.
func openFailed(path string, err error) error {
	s, serr := session.Open(path, session.Options{})
	if serr == nil {
		_ = s.Close()
		return err
	}
	return serr
}

// grown tells whether the file that is now is the one of the record with more
// behind it.
func (r *record) grown(now key, f io.ReaderAt) bool {
	if r == nil || r.resume == 0 || r.key.inode != now.inode || now.size < r.resume || now.size <= r.key.size {
		return false
	}
	print, err := fingerprint(f, r.resume)
	return err == nil && print == r.print
}

// fingerprint is of the beginning of a file and of the last bytes before end. A
// writer that changes anything else and appends in one go, in the same file, is
// not noticed; none is known.
func fingerprint(f io.ReaderAt, end int64) (uint64, error) {
	const first, last = 1 << 10, 4 << 10
	buf := make([]byte, first+last)
	n := int(min(end, first))
	m := int(min(end, last))
	if _, err := f.ReadAt(buf[:n], 0); err != nil && err != io.EOF {
		return 0, err
	}
	if _, err := f.ReadAt(buf[n:n+m], end-int64(m)); err != nil && err != io.EOF {
		return 0, err
	}
	sum := sha256.Sum256(buf[:n+m])
	return binary.LittleEndian.Uint64(sum[:]), nil
}

// errOdd is a file that only package session reads.
var errOdd = errors.New("catalog: no plain session file")

// scanner fills a record.
type scanner struct {
	f      io.ReaderAt
	r      *record
	at     int64 // where the next block is read
	end    int64
	headed bool
	titled bool
	open   bool // the last line has no line feed
}

// run reads all lines from at to end.
func (s *scanner) run(buf []byte) error {
	held := 0 // bytes of buf that belong to an unfinished line
	for s.at < s.end {
		n, err := s.read(buf[held:])
		if err != nil {
			return err
		}
		data := buf[:held+n]
		for {
			i := bytes.IndexByte(data, '\n')
			if i < 0 {
				break
			}
			if err := s.line(data[:i], s.at-int64(len(data))); err != nil {
				return err
			}
			data = data[i+1:]
		}
		held = copy(buf, data)
		if held == len(buf) {
			if err := s.long(buf); err != nil {
				return err
			}
			held = 0
		}
	}
	if held > 0 {
		s.open = true
		return s.line(buf[:held], s.end-int64(held))
	}
	return nil
}

// read reads a block and moves on. A file that was cut meanwhile ends there.
func (s *scanner) read(buf []byte) (int, error) {
	if left := s.end - s.at; int64(len(buf)) > left {
		buf = buf[:left]
	}
	n, err := s.f.ReadAt(buf, s.at)
	if err == io.EOF && n < len(buf) {
		err, s.end = nil, s.at+int64(n)
	}
	if err != nil && err != io.EOF {
		return 0, err
	}
	s.at += int64(n)
	return n, nil
}

// long handles a line that begins with a whole block: it is not held, only
// measured, and read again where its body is wanted.
func (s *scanner) long(block []byte) error {
	start := s.at - int64(len(block))
	var shape outline
	for piece := block; ; {
		i := bytes.IndexByte(piece, '\n')
		if i >= 0 {
			shape.feed(piece[:i])
			s.at -= int64(len(piece) - i - 1)
			break
		}
		shape.feed(piece)
		if durable.NextData(s.f, s.at, s.end) > s.at {
			return errOdd // a hole, which no record has
		}
		if s.at >= s.end {
			s.open = true
			break
		}
		n, err := s.read(block)
		if err != nil {
			return err
		}
		piece = block[:n]
	}
	stop := s.at
	if !s.open {
		stop--
	}
	l := line{s: s, offset: start, length: stop - start, plain: shape.ok()}
	if l.plain && s.headed {
		begin := make([]byte, longHead)
		if _, err := s.f.ReadAt(begin, start); err != nil && err != io.EOF {
			return err
		}
		if r, all := session.ReadRecordStart(begin); all {
			return s.record(r, r.ID != "", &l)
		}
	}
	data, err := l.whole()
	if err != nil {
		return err
	}
	if data == nil { // longer than we read
		if !s.headed {
			return errOdd
		}
		s.r.info.Notes++
		return nil
	}
	return s.line(data, start)
}

// line is a line of which the body may have to be read.
type line struct {
	s      *scanner
	offset int64
	length int64
	plain  bool
	data   []byte
}

// whole returns the line, or nil where it is too long to be held.
func (l *line) whole() ([]byte, error) {
	if l.data == nil && l.length <= longLine {
		l.data = make([]byte, l.length)
		if _, err := l.s.f.ReadAt(l.data, l.offset); err != nil && err != io.EOF {
			return nil, err
		}
	}
	return l.data, nil
}

func (s *scanner) line(data []byte, offset int64) error {
	r, plain := session.ReadRecord(data)
	switch {
	case !plain && blank(data):
		return nil
	case !plain && !s.headed:
		return errOdd
	case !plain:
		return s.odd(data)
	case !s.headed:
		return s.header(r, data)
	}
	return s.record(r, r.ID != "", &line{s: s, offset: offset, length: int64(len(data)), data: data})
}

func (s *scanner) header(r session.Record, data []byte) error {
	if !s.titled && r.Type == typeTitle {
		s.titled = true
		s.r.info.Notes++
		return nil
	}
	full, ok := session.ParseHeader(data)
	if !ok {
		return errOdd
	}
	h := headOf(full)
	s.headed = true
	i := &s.r.info
	i.ID, i.CWD, i.Parent, i.Created, i.Modified = h.ID, h.CWD, h.Parent, h.Created, h.Created
	i.Tools = toolselect.Unset.String()
	s.r.version = h.Version
	return nil
}

// odd counts the records of a line that is not one plain record.
func (s *scanner) odd(data []byte) error {
	if len(data) > oddLine {
		s.r.info.Notes++
		return nil
	}
	part, notes, err := takeApart(s.r.version, data)
	if err != nil {
		return errOdd // whatever it is, session decides with the whole file
	}
	defer part.Close()
	s.r.info.Notes += notes
	for e := range part.Entries() {
		raw, err := part.Raw(e)
		if errors.Is(err, session.ErrDamaged) {
			s.r.info.Messages++ // its envelope is whole
			continue
		}
		if err != nil {
			return err
		}
		r, _ := session.ReadRecord(raw)
		if err := s.record(r, true, &line{s: s, length: int64(len(raw)), data: raw}); err != nil {
			return err
		}
	}
	return nil
}

// record counts one record. One without an id is an entry only where session gives
// it one.
func (s *scanner) record(r session.Record, hasID bool, l *line) error {
	info := &s.r.info
	switch {
	case r.Type == "session":
		info.Notes++
		return nil
	case !hasID && s.r.version > 1:
		info.Notes++
		return nil
	}
	switch r.Type {
	case session.TypeMessage:
		return s.message(r, l)
	case session.TypeSessionInfo:
		data, err := l.whole()
		info.Name = strings.Clone(session.CleanName(structure.Text(structure.Get(data, "name"))))
		return err
	case session.TypeCustom:
		if r.CustomType != toolselect.CustomType {
			return nil
		}
		data, err := l.whole()
		if choice, bad := toolselect.Parse(structure.Get(data, "data")); bad == nil {
			info.Tools = choice.String()
		}
		return err
	}
	return nil
}

func (s *scanner) message(r session.Record, l *line) error {
	info := &s.r.info
	info.Messages++
	if r.Role != string(message.RoleUser) && r.Role != string(message.RoleAssistant) {
		return nil
	}
	if t := r.Time().UTC(); t.After(info.Modified) {
		info.Modified = t
	}
	if info.First != "" || r.Role != string(message.RoleUser) {
		return nil
	}
	data, err := l.whole()
	info.First = clip(attachment.Title(firstText(structure.Get(structure.Get(data, "message"), "content"))))
	return err
}

// firstText joins the text blocks of a content.
func firstText(content []byte) string {
	var parts []string
	contentTexts("", content, func(_ string, v []byte) bool {
		parts = append(parts, structure.Text(v))
		return true
	})
	return strings.Join(parts, " ")
}

// clip keeps the beginning of a text, in valid UTF-8 and apart from the line that
// it was read from.
func clip(text string) string {
	n := 0
	for i := range text {
		if n == maxFirst {
			return strings.ToValidUTF8(text[:i], "\uFFFD")
		}
		n++
	}
	return strings.Clone(strings.ToValidUTF8(text, "\uFFFD"))
}

// slow describes a file by opening it as a session. What is no session is known
// by its beginning, so that a large file of something else costs no more.
func slow(path string, k key, now time.Time) (*record, error) {
	r := &record{key: k, scanned: now.UnixNano()}
	if err := beginning(path); err != nil {
		if !errors.Is(err, session.ErrNotSession) || k == (key{}) {
			return nil, err
		}
		r.info.Problem = err.Error()
		return r, nil
	}
	s, err := session.Open(path, session.Options{})
	if errors.Is(err, session.ErrNotSession) {
		r.info.Problem = err.Error()
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	defer s.Close()
	h := s.Header()
	i := &r.info
	i.ID, i.CWD, i.Parent, i.Created, i.Bytes = h.ID, h.CWD, h.ParentSession, h.Created().UTC(), k.size
	if h.Raw == nil {
		i.Created = time.Time{}
	}
	i.Modified, i.Notes, i.Tools = i.Created, lineNotes(s), toolselect.Unset.String()
	fill := scanner{r: r}
	r.version = session.Version // what session hands out is migrated
	for e := range s.Entries() {
		r := session.Record{Type: e.Type, ID: string(e.ID), CustomType: e.CustomType, Role: e.Role}
		l := line{length: e.Len}
		if e.Type == session.TypeMessage || e.Type == session.TypeSessionInfo || e.CustomType == toolselect.CustomType {
			if l.data, err = s.Raw(e); errors.Is(err, session.ErrDamaged) {
				i.Messages++
				continue
			} else if err != nil {
				return nil, err
			}
			r, _ = session.ReadRecord(l.data)
		}
		if err := fill.record(r, true, &l); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// beginning opens the beginning of a file as if it were all.
func beginning(path string) error {
	const limit = 1 << 20 // as far as session looks for a header
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() <= limit {
		return nil // Open of the whole says it
	}
	f, err := os.Open(path)
	if err != nil {
		return openFailed(path, err)
	}
	defer f.Close()
	data := make([]byte, limit)
	n, err := io.ReadFull(f, data)
	if err != nil && err != io.ErrUnexpectedEOF {
		return err
	}
	s, err := session.Open(path, session.Options{FS: memory{data[:n]}})
	if err != nil {
		return err
	}
	return s.Close()
}
