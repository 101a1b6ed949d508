package tool

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Located may be implemented by a [Call.Sink] that keeps what it takes where
// others can find it. It is asked once the output has ended.
type Located interface {
	// Location is the path of the kept output, for details.fullOutputPath, and
	// the name by which the model can ask for it, such as artifact://3; "" for
	// what there is not.
	Location() (path, name string)
}

// A Call.Sink may also have the methods Keep() — the output is shown in part, so
// the whole of it is wanted — and Failure() error, why it could not be kept, and
// Partial() int64, how much of it is kept where that is not all, in bytes.

// maxSpillBytes is how much of one output goes to a temporary file, in bytes.
// The rest is only counted, so that an endless output does not fill the disk.
const maxSpillBytes = 1 << 30

// spill keeps the whole of an output: in the sink of the call if there is one,
// else in a private temporary file, which is made as soon as keep is called.
// Not being able to keep it is no reason to stop the command: the first error
// is remembered and told.
type spill struct {
	sink  io.Writer // nil for a temporary file
	dir   string
	limit int // bytes of a temporary file

	pending []byte // what came before the file was made
	file    *os.File
	path    string
	written int // bytes in the file
	err     error
}

// write takes the next piece.
func (s *spill) write(piece []byte) {
	switch {
	case s.err != nil:
	case s.sink != nil:
		_, s.err = s.sink.Write(piece)
	case s.file != nil:
		s.toFile(piece)
	default:
		s.pending = append(s.pending, piece...)
	}
}

// keep makes the temporary file, unless a sink has it all already.
func (s *spill) keep() {
	if k, ok := s.sink.(interface{ Keep() }); ok {
		k.Keep()
	}
	if s.sink != nil || s.file != nil || s.err != nil {
		return
	}
	path := filepath.Join(s.dir, "pi-bash-"+randomHex(8)+".log")
	s.file, s.err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if s.err == nil {
		s.path = path
		s.toFile(s.pending)
	}
	s.pending = nil
}

func (s *spill) toFile(piece []byte) {
	if room := s.limit - s.written; len(piece) > room {
		piece = piece[:room]
	}
	if len(piece) == 0 {
		return
	}
	n, err := s.file.Write(piece)
	s.written += n
	s.err = err
}

// close ends what is kept, so that it can be asked where it is. A temporary file
// stays: the model may look at it later.
func (s *spill) close() {
	if c, ok := s.sink.(io.Closer); ok {
		if err := c.Close(); err != nil && s.err == nil {
			s.err = err
		}
	}
	if s.file == nil {
		return
	}
	if err := s.file.Close(); err != nil && s.err == nil {
		s.err = err
	}
	s.file = nil
}

// where says where the whole output is: a path for the details, and the words
// for the note. total is the output's length in bytes.
func (s *spill) where(total int) (path, words string) {
	if s.err != nil {
		return s.path, fmt.Sprintf("the whole output could not be kept: %s", reason(s.err))
	}
	if located, ok := s.sink.(Located); ok {
		return whereKept(located)
	}
	switch {
	case s.sink != nil:
		return "", "the rest is kept with the session"
	case s.written < total:
		return s.path, fmt.Sprintf("first %s of the output: %s", formatSize(s.written), s.path)
	}
	return s.path, "whole output: " + s.path
}

// whereKept says where a sink has the whole output.
func whereKept(sink Located) (path, words string) {
	path, name := sink.Location()
	if name == "" {
		name = path
	}
	if name == "" {
		words = "the rest is not kept"
		if f, ok := sink.(interface{ Failure() error }); ok && f.Failure() != nil {
			words = "the whole output could not be kept: " + reason(f.Failure())
		}
		return "", words
	}
	if p, ok := sink.(interface{ Partial() int64 }); ok && p.Partial() > 0 {
		return path, fmt.Sprintf("beginning and end of the output, %s: %s", formatSize(int(p.Partial())), name)
	}
	return path, "whole output: " + name
}
