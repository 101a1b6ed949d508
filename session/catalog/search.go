package catalog

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"math"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/piweb-go/piweb/internal/durable"
	"github.com/piweb-go/piweb/internal/structure"
	"github.com/piweb-go/piweb/session"
)

// Hit is a text in which something was found.
type Hit struct {
	Session Info       `json:"session"`
	Entry   session.ID `json:"entry"`
	Line    int        `json:"line"`  // of the file, 1-based
	Where   string     `json:"where"` // the role of the message, or custom, summary, name, label
	// Snippet is the text around the first place. Spans are the places in it, in
	// bytes: from, to.
	Snippet string   `json:"snippet"`
	Spans   [][2]int `json:"spans"`
}

// FileError is a file that could not be searched. The search goes on.
type FileError struct {
	Path string
	Err  error
}

func (e *FileError) Error() string { return "search " + e.Path + ": " + e.Err.Error() }
func (e *FileError) Unwrap() error { return e.Err }

const (
	// slice is what a search does between two looks at its context, in bytes of
	// the files. A line that is longer is one slice, too.
	slice = 1 << 20
	// maxHitLine is the longest line that is searched, in bytes.
	maxHitLine = 64 << 20
)

// Search looks through the texts of all sessions and yields hits as they are
// found: the session whose file was written last first, and in it the last entry
// first. There is no index: the files are read, and decoded where they may hold a
// hit. A file that cannot be read is a *FileError beside an empty Hit, and the
// search goes on; any other error is the last. Breaking off the loop, or the end
// of ctx, stops the work after at most one slice of it.
func (c *Catalogue) Search(ctx context.Context, q Query) iter.Seq2[Hit, error] {
	return func(yield func(Hit, error) bool) {
		needles, err := q.needles()
		var files []candidate
		if err == nil {
			files, err = c.candidates(ctx)
		}
		if err != nil {
			yield(Hit{}, err)
			return
		}
		defer c.trySave()
		ctx, cancel := context.WithCancel(ctx)
		results, ahead, wait := c.searchFiles(ctx, files, needles, q)
		defer wait()
		defer cancel()
		left := q.Limit
		told := c.progress("searching", len(files))
		for i := range results {
			var r found
			select {
			case r = <-results[i]:
				<-ahead
			case <-ctx.Done():
			}
			if err := ctx.Err(); err != nil {
				yield(Hit{}, err)
				return
			}
			told.done(1)
			if r.err != nil {
				if !missing(r.err) && !yield(Hit{}, &FileError{files[i].path, r.err}) {
					return
				}
				continue
			}
			for _, h := range r.hits {
				if !yield(h, nil) {
					return
				}
				if left--; left == 0 {
					return
				}
			}
		}
	}
}

type found struct {
	hits []Hit
	err  error
}

// searchFiles searches the files in their order, a few at a time. results[i] gets
// one value at most (none after the end of ctx), and for each one must be taken from ahead: it keeps the
// workers near a reader that is slow. wait ends when all of them did.
func (c *Catalogue) searchFiles(ctx context.Context, files []candidate, needles []needle, q Query) (results []chan found, ahead chan struct{}, wait func()) {
	results = make([]chan found, len(files))
	for i := range results {
		results[i] = make(chan found, 1)
	}
	workers := min(len(files), runtime.GOMAXPROCS(0))
	next := make(chan int)
	ahead = make(chan struct{}, 8*workers+1)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(next)
		for i := range files {
			select {
			case ahead <- struct{}{}:
			case <-ctx.Done():
				return
			}
			next <- i // the workers always come back, soon after the end of ctx
		}
	})
	here := sharedFolder(q.CWD)
	for range workers {
		wg.Go(func() {
			s := &searcher{c: c, ctx: ctx, needles: needles, keep: q.PerSession, here: here}
			if s.keep <= 0 {
				s.keep = perSession
			}
			for i := range next {
				hits, err := s.file(files[i])
				results[i] <- found{hits, err}
			}
		})
	}
	return results, ahead, wg.Wait
}

// sharedFolder is sameFolder for several goroutines; nil where any folder will do.
func sharedFolder(dir string) func(string) bool {
	if dir == "" {
		return nil
	}
	var mu sync.Mutex
	here := sameFolder(dir)
	return func(other string) bool {
		mu.Lock()
		defer mu.Unlock()
		return here(other)
	}
}

// searcher searches one file after the other.
type searcher struct {
	c       *Catalogue
	ctx     context.Context
	needles []needle
	keep    int
	here    func(string) bool

	buf, low []byte // a block as it is, and in lower case

	// of the file at hand
	f     io.ReaderAt
	hits  []Hit // the last ones, oldest first
	seen  uint64
	head  sessionHead
	ready bool // the header was read
}

var errNoSession = errors.New("catalog: no session")

// file searches one file. What is no session has no hits.
func (s *searcher) file(c candidate) ([]Hit, error) {
	if s.here != nil {
		if _, cwd, ok := s.c.identity(c); !ok || !s.here(cwd) {
			return nil, nil
		}
	}
	f, err := os.Open(c.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s.f, s.hits, s.seen, s.ready = f, nil, 0, false
	err = s.blocks(c)
	if errors.Is(err, errNoSession) {
		return nil, nil
	}
	if errors.Is(err, errOdd) {
		err = s.opened(c.path)
	}
	if err != nil || s.seen != 1<<len(s.needles)-1 {
		return nil, err
	}
	info := s.c.Describe(c.path)
	for i, j := 0, len(s.hits)-1; i < j; i, j = i+1, j-1 {
		s.hits[i], s.hits[j] = s.hits[j], s.hits[i]
	}
	for i := range s.hits {
		s.hits[i].Session = info
	}
	return s.hits, nil
}

// blocks goes through a file block by block; the unfinished line of one is the
// beginning of the next.
func (s *searcher) blocks(c candidate) error {
	if len(s.buf) < slice {
		s.buf, s.low = make([]byte, slice), make([]byte, slice)
	}
	if len(s.buf) > slice { // it grew for a line of the last file
		s.buf, s.low = s.buf[:slice:slice], s.low[:slice:slice]
	}
	held, num, at := 0, 1, int64(0)
	for {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		room := min(len(s.buf), held+slice)
		n, err := s.f.ReadAt(s.buf[held:room], at)
		if err != nil && err != io.EOF {
			return err
		}
		last := err == io.EOF
		at += int64(n)
		block := s.buf[:held+n]
		lower(s.low[held:held+n], block[held:])
		cut := len(block)
		if !last {
			cut = bytes.LastIndexByte(block, '\n') + 1
		}
		if len(block) < slice && last && num == 1 && !s.possible(s.low[:len(block)]) {
			return nil // the whole file, and a word is missing
		}
		if err := s.lines(block[:cut], s.low[:cut], c.path, num); err != nil {
			return err
		}
		if last {
			return nil
		}
		num += bytes.Count(block[:cut], []byte{'\n'})
		held = copy(s.buf, block[cut:])
		copy(s.low, s.low[cut:len(block)])
		if held == len(s.buf) {
			if held >= maxHitLine {
				skipped, err := s.skipLine(at)
				if err != nil {
					return err
				}
				at, num, held = skipped, num+1, 0
				continue
			}
			s.buf = append(s.buf, make([]byte, len(s.buf))...)
			s.low = append(s.low, make([]byte, len(s.low))...)
		}
	}
}

// skipLine finds the end of a line that is too long to be held.
func (s *searcher) skipLine(at int64) (int64, error) {
	for {
		if err := s.ctx.Err(); err != nil {
			return 0, err
		}
		at = durable.NextData(s.f, at, math.MaxInt64)
		n, err := s.f.ReadAt(s.buf[:slice], at)
		if i := bytes.IndexByte(s.buf[:n], '\n'); i >= 0 {
			return at + int64(i) + 1, nil
		}
		if at += int64(n); err != nil {
			if err == io.EOF {
				err = nil
			}
			return at, err
		}
	}
}

// possible tells whether every word may be in the bytes.
func (s *searcher) possible(low []byte) bool {
	for i := range s.needles {
		if s.needles[i].sieve.find(low, 0) < 0 {
			return false
		}
	}
	return true
}

// lines looks at the lines of a block that may hold a word.
func (s *searcher) lines(block, low []byte, path string, num int) error {
	counted := 0
	places := make([]int, len(s.needles)) // the next place of each word, as far as it is known
	for i := range places {
		places[i] = -1
	}
	for from := 0; from < len(block); {
		at := len(block)
		for i := range s.needles {
			if places[i] < from {
				if places[i] = s.needles[i].sieve.find(low, from); places[i] < 0 {
					places[i] = len(block)
				}
			}
			at = min(at, places[i])
		}
		if at == len(block) {
			return nil
		}
		start := bytes.LastIndexByte(block[from:at], '\n') + 1 + from
		stop := len(block)
		if i := bytes.IndexByte(block[at:], '\n'); i >= 0 {
			stop = at + i
		}
		num += bytes.Count(block[counted:start], []byte{'\n'})
		counted = start
		if err := s.line(block[start:stop], path, num); err != nil {
			return err
		}
		from = stop + 1
		if err := s.ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// line looks for the words in the texts of one line.
func (s *searcher) line(data []byte, path string, num int) error {
	if !s.ready {
		if err := s.header(path); err != nil {
			return err
		}
	}
	if r, plain := session.ReadRecord(data); plain && structure.Valid(bytes.TrimSpace(data)) {
		if r.ID != "" && r.Type != "session" {
			s.entry(session.ID(strings.Clone(r.ID)), num, data)
		}
		return nil
	}
	if blank(data) || len(data) > oddLine {
		return nil
	}
	part, _, err := takeApart(s.head.Version, data)
	if err != nil {
		return errOdd
	}
	defer part.Close()
	for e := range part.Entries() {
		raw, err := part.Raw(e)
		if errors.Is(err, session.ErrDamaged) {
			continue
		}
		if err != nil {
			return err
		}
		s.entry(e.ID, num, raw)
	}
	return nil
}

// header makes sure that the file is a session, at the first line that counts.
func (s *searcher) header(path string) error {
	beginning := make([]byte, 4<<10)
	n, err := s.f.ReadAt(beginning, 0)
	if err != nil && err != io.EOF {
		return err
	}
	h, ok := headerIn(beginning[:n])
	if !ok {
		if h, err = readHeader(path); errors.Is(err, session.ErrNotSession) {
			return errNoSession
		} else if err != nil {
			return err
		}
	}
	if h.Version < 2 {
		return errOdd // its entries have no ids of their own
	}
	s.head, s.ready = h, true
	return nil
}

// entry looks for the words in one entry.
func (s *searcher) entry(id session.ID, num int, raw []byte) {
	hit := false
	eachText(raw, func(where, text string) bool {
		f := fold(text)
		any := false
		for i := range s.needles {
			if strings.Contains(f.text, s.needles[i].text) {
				s.seen |= 1 << i
				any = true
			}
		}
		if any && !hit {
			hit = true
			h := Hit{Entry: id, Line: num, Where: strings.Clone(where)}
			h.Snippet, h.Spans = snippet(text, &f, s.needles)
			if len(s.hits) == s.keep {
				s.hits = append(s.hits[:0], s.hits[1:]...)
			}
			s.hits = append(s.hits, h)
		}
		return true
	})
}

// opened searches a file through package session, which gives ids to the entries
// of old versions.
func (s *searcher) opened(path string) error {
	s.hits, s.seen = nil, 0
	log, err := session.Open(path, session.Options{})
	if errors.Is(err, session.ErrNotSession) {
		return nil
	}
	if err != nil {
		return err
	}
	defer log.Close()
	for e := range log.Entries() {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		raw, err := log.Raw(e)
		if errors.Is(err, session.ErrDamaged) {
			continue
		}
		if err != nil {
			return err
		}
		s.entry(e.ID, e.Line, raw)
	}
	return nil
}
