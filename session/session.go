package session

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/piweb-go/piweb/internal/durable"
	"github.com/piweb-go/piweb/internal/structure"
)

// Options inject what tests need to control. The zero value is right for
// programs.
type Options struct {
	FS   durable.FS       // nil for the machine's
	Now  func() time.Time // nil for time.Now
	Rand io.Reader        // nil for crypto/rand
	// Outgoing, if not nil, may change the line of an entry before it is written,
	// as long as it stays that entry: it moves pictures out of the session of a
	// path. An error keeps the whole append from happening. Lines that are in a
	// file already are never given to it.
	Outgoing func(path string, line []byte) ([]byte, error)
	// IndexDir holds the offset indexes of large files; "" for none. It may be
	// deleted at any time.
	IndexDir string
	// Recent remembers what opening a file found, for the next who opens it in this
	// process; nil remembers nothing.
	Recent *Recent
	// Lease tells other processes who holds a session for writing.
	Lease Lease
	// Progress is told how far the work on a large file has come: opening it without
	// an index, forking, importing, moving and migrating it. It is called by the
	// goroutine that works, every few megabytes, and must not call back.
	Progress func(Progress)
	// Strict validates every line at the open, the bodies of messages too, which
	// otherwise are validated when they are read. A line that is no JSON is then no
	// entry, as for pi. No index is used. For tools that judge files.
	Strict bool

	indexMin int64 // tests: size from which a file gets an index
}

func (o *Options) minIndexed() int64 {
	if o.indexMin > 0 {
		return o.indexMin
	}
	return indexMin
}

// look is how closely a scan looks.
func (o *Options) look() structure.Grammar { return structure.Grammar(o.Strict) }

func (o *Options) fs() durable.FS {
	if o.FS == nil {
		return durable.OS{}
	}
	return o.FS
}

func (o *Options) now() time.Time {
	if o.Now == nil {
		return time.Now()
	}
	return o.Now()
}

func (o *Options) rand() io.Reader {
	if o.Rand == nil {
		return rand.Reader
	}
	return o.Rand
}

// Session is an open session. It is safe for concurrent use. Its methods read
// the state of the last open or append; entries of other writers are seen by
// the next Append or Refresh.
type Session struct {
	opts Options

	mu      sync.Mutex
	path    string
	header  Header
	entries []Entry
	byID    places       // the last entry with an id
	twins   map[ID][]int // all of them, where there is more than one
	leaf    int          // place of the leaf in entries, -1 for none
	diags   []Diagnostic
	held    bool // a run is on: foreign entries do not become the parent

	file      durable.File // nil until there is a file
	info      os.FileInfo  // of file, to notice a replacement
	end       int64        // size of the file that we know
	segs      []segment    // of the line that is scanned
	strand    strand       // strings of the entries
	scanning  int64        // where the bytes end that a scan is reading
	values    int          // JSON values seen
	nextLine  int          // number of the line that an append begins
	openTail  bool         // the last byte is not a line feed
	tailStart int64        // where the last line begins
	tailRead  bool         // the last line gave all that it holds
	dropped   bool         // a last record was not taken for an entry: no memory of this scan holds
	known     []byte       // the last bytes before end, to notice a rewrite in place
	scratch   []byte       // to compare with known
	buffer    []byte       // what an append writes
	indexed   int          // the first entries, that came from an index
	indexEnd  int64        // what the index on disk covers
	gists     []gist       // of the messages that an outline read, by their places
	gistsLent bool         // others read them, too: they are copied before they change
	gistsNew  bool         // there are some that Recent does not have
	author    *gistAuthor  // of the answer whose gist was made last
	adopted   int          // entries that other programs appended since the open
	foreign   []span       // which ones they are
	writable  bool         // file is open for appending
	migrate   bool         // the file has version 1 or 2 and was not written yet
	noHeader  bool         // the file is empty
	refused   bool         // the first record is no header: whatever follows, it is no session
	lock      *durable.Lock
	poisoned  error
	closed    bool
	dirty     []string // folders that have a new name in them and were not synced yet
}

// Path is the file of the session, also where it does not exist yet.
func (s *Session) Path() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.path
}

// Header is the first line of the file.
func (s *Session) Header() Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.header
}

// ID is the session's id. Ids can repeat: copies of a file keep them.
func (s *Session) ID() string { return s.Header().ID }

// Persisted tells whether the session has a file.
func (s *Session) Persisted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file != nil
}

// Len is the number of entries, those with a repeated id included.
func (s *Session) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.entries)
}

// Entries yields all entries in file order. Appends during the loop are not
// seen by it.
func (s *Session) Entries() iter.Seq[Entry] {
	s.mu.Lock()
	entries := s.entries[:len(s.entries):len(s.entries)]
	s.mu.Unlock()
	return func(yield func(Entry) bool) {
		for _, e := range entries {
			if !yield(e) {
				return
			}
		}
	}
}

// Backward yields all entries from the end of the file to its beginning.
func (s *Session) Backward() iter.Seq[Entry] {
	s.mu.Lock()
	entries := s.entries[:len(s.entries):len(s.entries)]
	s.mu.Unlock()
	return func(yield func(Entry) bool) {
		for i := len(entries) - 1; i >= 0; i-- {
			if !yield(entries[i]) {
				return
			}
		}
	}
}

// Entry finds an entry; of several with one id, the last.
func (s *Session) Entry(id ID) (Entry, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.place(id)
	if !ok {
		return Entry{}, false
	}
	return s.entries[i], true
}

// Leaf is the entry that the next append hangs on, or "" where there is none.
func (s *Session) Leaf() ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leafID()
}

func (s *Session) leafID() ID {
	if s.leaf < 0 {
		return ""
	}
	return s.entries[s.leaf].ID
}

// Raw reads the bytes of an entry, as they are in the file. For files of
// version 1 and 2 they are the migrated ones. A message that turns out to be no
// JSON is ErrDamaged.
func (s *Session) Raw(e Entry) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	raw, err := s.raw(e)
	if err == nil && e.mem == nil && isSaid(e.Type, e.Role) && !structure.Valid(raw) {
		return nil, fmt.Errorf("%s: line %d: %w: %s; the bytes stay where they are", s.path, e.Line, ErrDamaged, describeDamage(line{}, raw))
	}
	return raw, err
}

// raw is Raw without a look at what it reads.
func (s *Session) raw(e Entry) ([]byte, error) {
	buf, err := s.bytesOf(e)
	if err == nil && e.mem == nil && !s.checkIndexed(e, buf) {
		_ = s.opts.fs().Remove(s.indexPath())
		return nil, fmt.Errorf("%s: read entry %s at byte %d: %w; reopen it", s.path, e.ID, e.Offset, ErrReplaced)
	}
	return buf, err
}

func (s *Session) bytesOf(e Entry) ([]byte, error) {
	if e.mem != nil {
		return e.mem, nil
	}
	if s.closed {
		return nil, fmt.Errorf("%s: read entry %s: %w", s.path, e.ID, ErrClosed)
	}
	buf := make([]byte, e.Len)
	if _, err := s.file.ReadAt(buf, e.Offset); err != nil {
		if errors.Is(err, io.EOF) {
			err = ErrReplaced
		}
		return nil, fmt.Errorf("%s: read entry %s at byte %d: %w", s.path, e.ID, e.Offset, err)
	}
	return buf, nil
}

// Decode reads the body of an entry. Errors are those of Raw.
func (s *Session) Decode(e Entry) (Payload, error) {
	raw, err := s.Raw(e)
	if err != nil {
		return nil, err
	}
	return decode(raw)
}

// Diagnostics lists what is odd about the file, in the order in which it was
// found. What a branch or context finds on its way is in their own results.
func (s *Session) Diagnostics() []Diagnostic {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Diagnostic(nil), s.diags...)
}

func (s *Session) note(kind Kind, line int, offset int64, id ID, format string, args ...any) {
	s.diags = append(s.diags, Diagnostic{Kind: kind, Line: line, Offset: offset, ID: id, Text: fmt.Sprintf(format, args...)})
}

// place is where the last entry with an id stands in entries.
func (s *Session) place(id ID) (int, bool) { return s.byID.get(s.entries, id) }

// add puts an entry at the end of the index. It does not move the leaf.
func (s *Session) add(e Entry) {
	e.pos = len(s.entries)
	if first := s.byID.put(s.entries, e.ID, e.pos); first >= 0 && e.ID != "" { // entries of version 1 get their ids later
		if len(s.twins[e.ID]) == 0 {
			s.twins[e.ID] = []int{first}
			s.note(KindDuplicate, e.Line, e.Offset, e.ID, "the id %s occurs again; the last entry with it counts", e.ID)
		}
		s.twins[e.ID] = append(s.twins[e.ID], e.pos)
	}
	if len(s.entries) == cap(s.entries) && e.Offset < s.scanning {
		s.reserve(e.Offset)
	}
	s.entries = append(s.entries, e)
}

// reserve makes room for the entries of the file that is scanned, of which the
// scan has come as far as the offset at, in proportion to those that it met. The
// rest of the file may be of another kind: a guess may be at most eight times what
// is there.
func (s *Session) reserve(at int64) {
	n := len(s.entries)
	if n < 16 || at <= 0 {
		return
	}
	guess := min(float64(n)*float64(s.scanning)/float64(at)*1.05, 8*float64(n))
	s.entries = slices.Grow(s.entries, int(guess)-n+1)
	s.byID.reserve(int(guess))
}

// newID draws an entry id that is not in the file.
func (s *Session) newID(taken map[ID]bool) (ID, error) {
	for range 100 {
		var b [4]byte
		if _, err := io.ReadFull(s.opts.rand(), b[:]); err != nil {
			return "", fmt.Errorf("session: draw an id: %w", err)
		}
		id := ID(hex.EncodeToString(b[:]))
		if _, ok := s.place(id); !ok && !taken[id] {
			return id, nil
		}
	}
	u, err := uuid.NewRandomFromReader(s.opts.rand())
	if err != nil {
		return "", fmt.Errorf("session: draw an id: %w", err)
	}
	return ID(u.String()), nil
}

// Close gives back the file and the lock. It does not sync the session.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	if s.end-s.indexEnd >= s.opts.minIndexed() {
		s.saveIndex()
	}
	s.closed = true
	if s.lock != nil {
		s.opts.Lease.disclaim(s.path)
	}
	err := s.lock.Unlock()
	s.lock = nil
	if s.file != nil {
		if cerr := s.file.Close(); err == nil {
			err = cerr
		}
	}
	return err
}
