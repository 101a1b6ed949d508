package artifact

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// The limits of a page and of a search.
const (
	MaxPageLines = 2000      // lines of a page
	maxPageBytes = 1 << 20   // of a page
	maxLineBytes = 8 << 10   // shown of one line
	MaxHits      = 500       // found at once
	maxHitBytes  = 400       // shown of a line that was found
	indexStride  = 1024      // lines between two positions of an index
	maxIndexes   = 4         // kept per store
	readBlock    = 256 << 10 // bytes
)

// Line is a line of an output.
type Line struct {
	Number int64  `json:"n"` // from 1
	Text   string `json:"text"`
	Cut    bool   `json:"cut,omitempty"` // the line is longer
}

// Page is a part of an output.
type Page struct {
	Lines      []Line `json:"lines"`
	TotalLines int64  `json:"totalLines"` // a line feed at the end begins no line
	Size       int64  `json:"size"`       // bytes
}

// index says where lines begin.
type index struct {
	size     int64
	modified time.Time
	lines    int64
	starts   []int64 // of the lines 1, 1+indexStride, …
}

// pages keeps the indexes of the artifacts that were looked at last.
type pages struct {
	mu     sync.Mutex
	byName map[string]*index
	order  []string // the one used last is last
}

func (p *pages) get(ctx context.Context, f *File) (*index, error) {
	p.mu.Lock()
	x := p.byName[f.Info.Name]
	p.mu.Unlock()
	if x != nil && x.size == f.Info.Size && x.modified.Equal(f.Info.Modified) {
		p.touch(f.Info.Name, x)
		return x, nil
	}
	x, err := newIndex(ctx, f)
	if err != nil {
		return nil, err
	}
	p.touch(f.Info.Name, x)
	return x, nil
}

func (p *pages) touch(name string, x *index) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byName == nil {
		p.byName = map[string]*index{}
	}
	for i, n := range p.order {
		if n == name {
			p.order = append(p.order[:i], p.order[i+1:]...)
			break
		}
	}
	p.byName[name] = x
	if p.order = append(p.order, name); len(p.order) > maxIndexes {
		delete(p.byName, p.order[0])
		p.order = p.order[1:]
	}
}

// newIndex reads a file once, in bounded memory.
func newIndex(ctx context.Context, f *File) (*index, error) {
	x := &index{size: f.Info.Size, modified: f.Info.Modified, starts: []int64{0}}
	buf := make([]byte, readBlock)
	var at int64
	last := byte('\n')
	for at < f.Info.Size {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := f.ReadAt(buf[:min(int64(len(buf)), f.Info.Size-at)], at)
		for rest, base := buf[:n], at; ; {
			// Whole strides are counted at once.
			need := indexStride - x.lines%indexStride
			if count := int64(bytes.Count(rest, []byte{'\n'})); count < need {
				x.lines += count
				break
			}
			end := 0
			for range need {
				end += bytes.IndexByte(rest[end:], '\n') + 1
			}
			x.lines += need
			base += int64(end)
			rest = rest[end:]
			x.starts = append(x.starts, base)
		}
		if n > 0 {
			last = buf[n-1]
		}
		at += int64(n)
		if err == io.EOF || n == 0 {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if last != '\n' {
		x.lines++
	}
	return x, nil
}

// Page reads lines from offset on, counted from 1. Behind the end there are none;
// that is no error. Lines that are longer than a page can show are cut.
func (s *Store) Page(ctx context.Context, f *File, offset, limit int64) (Page, error) {
	x, err := s.pages.get(ctx, f)
	if err != nil {
		return Page{}, err
	}
	page := Page{Lines: []Line{}, TotalLines: x.lines, Size: x.size}
	offset = max(1, offset)
	if limit <= 0 || limit > MaxPageLines {
		limit = MaxPageLines
	}
	if offset > x.lines {
		return page, nil
	}
	stride := min((offset-1)/indexStride, int64(len(x.starts)-1))
	sc := newScanner(io.NewSectionReader(f, x.starts[stride], x.size-x.starts[stride]), maxLineBytes)
	sc.number = stride * indexStride
	bytes := 0
	for int64(len(page.Lines)) < limit && bytes < maxPageBytes && sc.next() {
		if sc.number%indexStride == 0 && ctx.Err() != nil {
			return Page{}, ctx.Err()
		}
		if sc.number >= offset {
			page.Lines = append(page.Lines, sc.get())
			bytes += len(sc.line)
		}
	}
	return page, sc.err
}

// Found is what a search found.
type Found struct {
	Hits []Line `json:"hits"`
	More bool   `json:"more"` // there are more, from the line behind the last hit on
}

// Search finds the lines from offset on that hold a text, whatever the case of its
// letters is. A match behind the first 8 KiB of a line is found too, as long as it
// does not lie across a border of 8 KiB.
func (s *Store) Search(ctx context.Context, f *File, text string, offset int64, limit int) (Found, error) {
	found := Found{Hits: []Line{}}
	if text == "" {
		return found, errors.New("search: the text is empty")
	}
	if limit <= 0 || limit > MaxHits {
		limit = MaxHits
	}
	want := []byte(strings.ToLower(text))
	var low []byte
	sc := newScanner(io.NewSectionReader(f, 0, f.Info.Size), maxLineBytes)
	sc.parts = func(part []byte) bool {
		low = lower(low, part)
		return bytes.Contains(low, want)
	}
	for sc.next() {
		if sc.number%indexStride == 0 && ctx.Err() != nil {
			return Found{}, ctx.Err()
		}
		if sc.number < offset || !sc.hit {
			continue
		}
		if len(found.Hits) == limit {
			found.More = true
			return found, nil
		}
		line := sc.get()
		if short := headBytes([]byte(line.Text), maxHitBytes); len(short) < len(line.Text) {
			line.Text, line.Cut = string(short), true
		}
		found.Hits = append(found.Hits, line)
	}
	return found, sc.err
}

// lower writes text in small letters into a buffer that it may use again.
func lower(buffer, text []byte) []byte {
	buffer = append(buffer[:0], text...)
	for i, c := range buffer {
		if c >= utf8.RuneSelf {
			return append(buffer[:i], bytes.ToLower(text[i:])...)
		}
		if c >= 'A' && c <= 'Z' {
			buffer[i] = c + 'a' - 'A'
		}
	}
	return buffer
}

// scanner reads lines of any length in bounded memory.
type scanner struct {
	r      *bufio.Reader
	most   int
	parts  func([]byte) bool // asked of each part of a line
	number int64
	line   []byte // the beginning of the line
	cut    bool
	hit    bool
	err    error
}

func newScanner(r io.Reader, most int) *scanner {
	return &scanner{r: bufio.NewReaderSize(r, max(most, 4096)), most: most}
}

func (s *scanner) next() bool {
	s.line, s.cut, s.hit = s.line[:0], false, false
	any := false
	for {
		part, err := s.r.ReadSlice('\n')
		ended := err == nil
		if ended {
			part = part[:len(part)-1]
		}
		any = any || ended || len(part) > 0
		if s.parts != nil && len(part) > 0 && s.parts(part) {
			s.hit = true
		}
		if room := s.most - len(s.line); len(part) > room {
			s.line, s.cut = append(s.line, part[:room]...), true
		} else {
			s.line = append(s.line, part...)
		}
		if ended {
			break
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != io.EOF {
			s.err = err
			return false
		}
		break
	}
	if !any {
		return false
	}
	s.number++
	return true
}

// get is the current line as text.
func (s *scanner) get() Line {
	text := s.line
	if s.cut {
		for n := len(text); n > 0 && n > len(text)-utf8.UTFMax; n-- {
			if utf8.RuneStart(text[n-1]) {
				if !utf8.FullRune(text[n-1:]) {
					text = text[:n-1]
				}
				break
			}
		}
	}
	text = bytes.TrimSuffix(text, []byte{'\r'})
	return Line{s.number, strings.ToValidUTF8(string(text), "\uFFFD"), s.cut}
}
