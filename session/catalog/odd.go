package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/piweb-go/piweb/internal/durable"
	"github.com/piweb-go/piweb/session"
)

// What is not one plain record to a line is taken apart by package session and by
// nobody else, so that a list, a search and an opened session never disagree about
// a damaged file. It gets to see a file that is not on the disk: the odd line
// behind a header, or the beginning of a file that may be no session.

// oddLine is the longest odd line that is taken apart, in bytes. A longer one is
// counted and passed over.
const oddLine = 16 << 20

// takeApart opens the records of an odd line. The session must be closed. notes
// is how many oddities the line itself shows.
func takeApart(version int, line []byte) (s *session.Session, notes int, err error) {
	data := append(fmt.Appendf(nil, `{"type":"session","version":%d,"id":"x"}`+"\n", version), line...)
	s, err = session.Open("line", session.Options{FS: memory{data}})
	if err != nil {
		return nil, 0, err
	}
	return s, lineNotes(s), nil
}

// lineNotes counts what is odd about single lines. What concerns the tree needs
// all entries at once and is not counted: the explanation of a session tells it.
func lineNotes(s *session.Session) (n int) {
	for _, d := range s.Diagnostics() {
		switch d.Kind {
		case session.KindDuplicate, session.KindLeaves, session.KindNoParent, session.KindCycle, session.KindKept, session.KindVersion:
		default:
			n++
		}
	}
	return n
}

// memory is a file system that holds one file and cannot be written.
type memory struct{ data []byte }

var errReadOnly = errors.New("catalog: a file in memory is not written")

func (m memory) OpenFile(string, int, os.FileMode) (durable.File, error) {
	return memoryFile{bytes.NewReader(m.data)}, nil
}
func (m memory) Stat(string) (os.FileInfo, error) { return memoryInfo(len(m.data)), nil }
func (memory) MkdirAll(string, os.FileMode) error { return errReadOnly }
func (memory) Rename(string, string) error        { return errReadOnly }
func (memory) Link(string, string) error          { return errReadOnly }
func (memory) Remove(string) error                { return errReadOnly }
func (memory) SyncDir(string) error               { return errReadOnly }

type memoryFile struct{ io.ReaderAt }

func (f memoryFile) Stat() (os.FileInfo, error) {
	return memoryInfo(f.ReaderAt.(*bytes.Reader).Size()), nil
}
func (memoryFile) Write([]byte) (int, error) { return 0, errReadOnly }
func (memoryFile) Close() error              { return nil }
func (memoryFile) Sync() error               { return errReadOnly }
func (memoryFile) Truncate(int64) error      { return errReadOnly }

// memoryInfo describes a file of so many bytes.
type memoryInfo int64

func (memoryInfo) Name() string       { return "line" }
func (n memoryInfo) Size() int64      { return int64(n) }
func (memoryInfo) Mode() fs.FileMode  { return 0o400 }
func (memoryInfo) ModTime() time.Time { return time.Time{} }
func (memoryInfo) IsDir() bool        { return false }
func (memoryInfo) Sys() any           { return nil }
