package session

import (
	"maps"
	"os"
	"slices"
	"sync"
)

// Recent remembers what opening large files found, for a program that opens the same
// ones again and again, as a server does that is asked for one thing after the other.
// It holds no file and no body of an entry, decides nothing, and may be dropped at
// any time. It is safe for concurrent use, and nil remembers nothing.
//
// What it knows of a file holds as long as the file is the same one and has the same
// size and time. One that grew must have the bytes that it had, as for an index on
// disk (see index.go); the new part is read. Everything else is read anew.
type Recent struct {
	most int // entries, of all files

	mu    sync.Mutex
	files []*recentFile // the last used at the end
	turns map[string]*turnstile
}

// NewRecent remembers files with at most so many entries in all; some 300 bytes each.
func NewRecent(entries int) *Recent {
	return &Recent{most: entries, turns: map[string]*turnstile{}}
}

// recentFile is the state of a session behind its scan. None of it is changed after
// it was put here.
type recentFile struct {
	path     string
	info     os.FileInfo
	sum      uint32
	header   Header
	entries  []Entry
	byID     places
	twins    map[ID][]int
	diags    []Diagnostic
	end      int64
	nextLine int
	values   int
	indexEnd int64
	gists    []gist
}

// turnstile lets one at a time read a file, so that several who come at once do the
// work once.
type turnstile struct {
	mu      sync.Mutex
	waiting int
}

// turn waits for its turn with a file; the answer ends it.
func (r *Recent) turn(path string) (done func()) {
	if r == nil {
		return func() {}
	}
	r.mu.Lock()
	t := r.turns[path]
	if t == nil {
		t = &turnstile{}
		r.turns[path] = t
	}
	t.waiting++
	r.mu.Unlock()
	t.mu.Lock()
	return func() {
		t.mu.Unlock()
		r.mu.Lock()
		defer r.mu.Unlock()
		if t.waiting--; t.waiting == 0 {
			delete(r.turns, path)
		}
	}
}

// find looks a file up and makes it the last used.
func (r *Recent) find(path string) *recentFile {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.files, func(f *recentFile) bool { return f.path == path })
	if i < 0 {
		return nil
	}
	f := r.files[i]
	r.files = append(slices.Delete(r.files, i, i+1), f)
	return f
}

// put remembers a file in the place of what was known of it, and forgets what was not
// used for longest.
func (r *Recent) put(f *recentFile) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files = slices.DeleteFunc(r.files, func(o *recentFile) bool { return o.path == f.path })
	if len(f.entries) > r.most {
		return
	}
	r.files = append(r.files, f)
	n := 0
	for i := len(r.files) - 1; i >= 0; i-- {
		if n += len(r.files[i].entries); n > r.most {
			r.files = slices.Delete(r.files, 0, i+1)
			return
		}
	}
}

// recall takes over what is known of the file, and tells whether it did.
func (s *Session) recall(size int64) bool {
	if s.opts.Strict {
		return false
	}
	f := s.opts.Recent.find(s.path)
	if f == nil || !os.SameFile(f.info, s.info) || size < f.end {
		return false
	}
	if size == f.end {
		if !f.info.ModTime().Equal(s.info.ModTime()) {
			return false
		}
	} else if sum, err := s.fingerprint(f.end); err != nil || sum != f.sum {
		return false
	}
	n := len(f.entries)
	s.header, s.entries, s.diags = f.header, f.entries[:n:n], slices.Clone(f.diags)
	s.byID, s.twins = f.byID.shared(), make(map[ID][]int, len(f.twins))
	for id, at := range f.twins {
		s.twins[id] = slices.Clip(at)
	}
	s.end, s.nextLine, s.values, s.indexEnd = f.end, f.nextLine, f.values, f.indexEnd
	s.indexed, s.gists, s.gistsLent = n, f.gists, true
	return true
}

// minRecent is how large a file must be to be remembered, in bytes: a smaller one is
// read in the same time.
const minRecent = 128 << 10

func (o *Options) minRecent() int64 {
	if o.indexMin > 0 {
		return o.indexMin
	}
	return minRecent
}

// retain puts the state behind a scan into Recent. It leaves out what may still
// become something else, as the index on disk does.
func (s *Session) retain() {
	r := s.opts.Recent
	if r == nil || s.opts.Strict || s.file == nil || s.openTail || s.dropped || s.end < s.opts.minRecent() ||
		s.header.Raw == nil || s.migrate || s.header.Version < Version || len(s.entries) > r.most {
		return
	}
	sum, err := s.fingerprint(s.end)
	if err != nil {
		return
	}
	n := len(s.entries)
	r.put(&recentFile{s.path, s.info, sum, s.header, s.entries[:n:n], s.byID.shared(), maps.Clone(s.twins),
		slices.Clone(s.diags), s.end, s.nextLine, s.values, s.indexEnd, s.gists[:min(n, len(s.gists)):min(n, len(s.gists))]})
	s.entries, s.byID, s.gistsLent = s.entries[:n:n], s.byID.shared(), true
}

// share takes over what somebody else read of the messages meanwhile.
func (s *Session) share(r *Recent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := r.find(s.path); f != nil && len(s.gists) < len(f.gists) && s.openedAs(f) {
		s.gists, s.gistsLent = f.gists, true
	}
}

// lend gives what was read of the messages to the next who opens the file.
func (s *Session) lend(r *Recent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.gistsNew {
		return
	}
	f := r.find(s.path)
	if f == nil || len(s.gists) < len(f.entries) || !s.openedAs(f) {
		return
	}
	with, n := *f, len(f.entries)
	with.gists = s.gists[:n:n]
	s.gistsLent, s.gistsNew = true, false
	r.put(&with)
}

// openedAs tells whether the session was opened when the file was as it is remembered.
func (s *Session) openedAs(f *recentFile) bool {
	return s.info != nil && os.SameFile(s.info, f.info) && s.info.Size() == f.info.Size() && s.info.ModTime().Equal(f.info.ModTime())
}
