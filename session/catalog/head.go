package catalog

import (
	"bytes"
	"errors"
	"io"
	"os"
	"time"

	"github.com/piweb-go/piweb/session"
)

// sessionHead is what is needed of a header.
type sessionHead struct {
	ID, CWD, Parent string
	Version         int
	Created         time.Time
}

func headOf(h session.Header) sessionHead {
	return sessionHead{ID: h.ID, CWD: h.CWD, Parent: h.ParentSession, Version: h.Version, Created: h.Created().UTC()}
}

// readHeader reads the header of a file and little more. What is not plain is
// read by package session.
func readHeader(path string) (sessionHead, error) {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		if h, ok := plainHeader(path); ok {
			return h, nil
		}
	}
	h, err := session.ReadHeader(path)
	if err != nil {
		return sessionHead{}, err
	}
	return headOf(h), nil
}

// plainHeader reads a header that is the first line, or the second behind a title.
func plainHeader(path string) (sessionHead, bool) {
	f, err := os.Open(path)
	if err != nil {
		return sessionHead{}, false
	}
	defer f.Close()
	buf := make([]byte, 4<<10)
	n, err := f.ReadAt(buf, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return sessionHead{}, false
	}
	return headerIn(buf[:n])
}

// headerIn reads the header from the beginning of a file.
func headerIn(data []byte) (sessionHead, bool) {
	for range 2 {
		l, rest, whole := bytes.Cut(data, []byte("\n"))
		r, ok := session.ReadRecord(l)
		if !whole || !ok {
			break
		}
		if r.Type != typeTitle {
			h, ok := session.ParseHeader(l)
			return headOf(h), ok
		}
		data = rest
	}
	return sessionHead{}, false
}

// typeTitle is the record that oh-my-pi writes in front of the header.
const typeTitle = "title"

func blank(line []byte) bool { return len(bytes.Trim(line, " \t\r\n")) == 0 }
