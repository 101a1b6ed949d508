package durable

import (
	"io"
	"io/fs"
)

// NextData is where a file has bytes of its own again, from off on; before that it
// reads as NUL bytes that are stored nowhere. It is end where there are none up to
// end, and off where the system or the file cannot say.
func NextData(f io.ReaderAt, off, end int64) int64 {
	s, ok := f.(io.Seeker)
	if !ok || seekData < 0 {
		return off
	}
	switch next, err := s.Seek(off, seekData); {
	case err == nil:
		return min(max(next, off), end)
	case isNoData(err):
		return holeToEnd(f, off, end)
	}
	return off
}

// holeToEnd holds the answer that nothing follows against the size: behind the end
// of a file the system says the same.
func holeToEnd(f io.ReaderAt, off, end int64) int64 {
	if i, ok := f.(interface{ Stat() (fs.FileInfo, error) }); ok {
		if info, err := i.Stat(); err == nil {
			return max(off, min(end, info.Size()))
		}
	}
	return off
}
