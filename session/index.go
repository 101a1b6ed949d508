package session

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/piweb-go/piweb/internal/durable"
	"github.com/piweb-go/piweb/internal/structure"
)

// The offset index keeps what a scan of a large file found, so that the next
// open costs the tail only. It is derived and disposable: it lies in a folder of
// its own, under a name made from the file's path, and is made anew whenever it
// does not fit the file. It never decides anything about a file; it only saves
// reading it.
//
// An index fits if the file is at least as long, and if its beginning, the bytes
// before the indexed end, and samples from all over it are what they were. A
// rewrite that slips through all of these is found when an entry is read: its
// bytes must be a record with its id.

const (
	// indexMin is how large a file must be for an index, in bytes. Smaller ones
	// are scanned in the time that an index takes.
	indexMin = 1 << 20
	// indexMagic begins an index and names its format.
	indexMagic = "piweb index 3\n"

	samples      = 16
	sampleLength = 1024
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// indexPath is where the index of the file lies, or "".
func (s *Session) indexPath() string {
	if s.opts.IndexDir == "" || s.opts.Strict {
		return ""
	}
	abs, err := filepath.Abs(s.path)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(abs))
	return filepath.Join(s.opts.IndexDir, hex.EncodeToString(sum[:16])+".idx")
}

// fingerprint sums up the beginning of a file up to end: its first bytes, its
// last ones, and samples between.
func (s *Session) fingerprint(end int64) (uint32, error) {
	h := crc32.New(castagnoli)
	buf := make([]byte, knownTail)
	add := func(at, n int64) error {
		if n = min(n, end-at); n <= 0 {
			return nil
		}
		if _, err := s.file.ReadAt(buf[:n], at); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		_, _ = h.Write(buf[:n])
		return nil
	}
	if err := errors.Join(add(0, knownTail), add(max(0, end-knownTail), knownTail)); err != nil {
		return 0, err
	}
	for i := range int64(samples) {
		if err := add(end/samples*i, sampleLength); err != nil {
			return 0, err
		}
	}
	return h.Sum32(), nil
}

// saveIndex writes the index of what was scanned. Nothing depends on it, so a
// failure is nobody's concern.
func (s *Session) saveIndex() {
	path := s.indexPath()
	if path == "" || s.file == nil || s.openTail || s.dropped || // an open line may still become another one
		s.end < s.opts.minIndexed() || s.migrate || s.header.Version < Version || s.end == s.indexEnd {
		return
	}
	sum, err := s.fingerprint(s.end)
	if err != nil {
		return
	}
	data, err := s.encodeIndex(sum)
	if err != nil {
		return
	}
	if s.opts.fs().MkdirAll(s.opts.IndexDir, 0o700) == nil && durable.Save(s.opts.fs(), path, data, 0o600) == nil {
		s.indexEnd = s.end
		durable.Sweep(s.opts.fs(), s.opts.IndexDir, s.opts.now())
	}
}

// indexHead is the part of an index that is not entries.
type indexHead struct {
	Path       string // of the file
	Sum        uint32 // its fingerprint up to End
	End        int64
	NextLine   int
	Values     int
	HeaderLine json.RawMessage
	Diags      []Diagnostic
	Entries    int
}

func (s *Session) encodeIndex(sum uint32) ([]byte, error) {
	diags := slices.DeleteFunc(slices.Clone(s.diags), func(d Diagnostic) bool { return d.Kind == KindLeaves || d.Kind == KindOtherWriter })
	head, err := json.Marshal(indexHead{s.path, sum, s.end, s.nextLine, s.values, s.header.Raw, diags, len(s.entries)})
	if err != nil {
		return nil, err
	}
	out := append(make([]byte, 0, len(head)+64*len(s.entries)), indexMagic...)
	str := func(t string) { out = append(binary.AppendUvarint(out, uint64(len(t))), t...) }
	str(string(head))
	kinds := map[kind]int{}
	last := &Entry{Line: 1}
	for i := range s.entries {
		e := &s.entries[i]
		var flags byte
		if e.Offset == last.Offset+last.Len+1 && e.Line == last.Line+1 && e.value == last.value+1 {
			flags |= nextLine
		}
		if e.Parent == last.ID && e.Parent != "" {
			flags |= nextParent
		}
		k := kind{e.Type, e.CustomType, e.Role}
		place, known := kinds[k]
		if !known {
			place = len(kinds)
			kinds[k] = place
			flags |= newKind
		}
		out = append(out, flags)
		out = binary.AppendUvarint(out, uint64(e.Len))
		if flags&nextLine == 0 {
			out = binary.AppendVarint(out, e.Offset-last.Offset)
			out = binary.AppendVarint(out, int64(e.Line-last.Line))
			out = binary.AppendVarint(out, int64(e.value-last.value))
		}
		str(string(e.ID))
		if flags&nextParent == 0 {
			str(string(e.Parent))
		}
		out = binary.AppendUvarint(out, uint64(place))
		if !known {
			str(e.Type)
			str(e.CustomType)
			str(e.Role)
		}
		str(e.timestamp)
		last = e
	}
	return binary.LittleEndian.AppendUint32(out, crc32.Checksum(out, castagnoli)), nil
}

// Flags of an entry in an index: what nearly always follows from the one before is
// not written.
const (
	nextLine   = 1 << iota // it is the next value, on the next line, and nothing between
	nextParent             // its parent is the entry before
	newKind                // its kind stands here for the first time
)

// kind is what few strings say of many entries.
type kind struct{ typ, customType, role string }

// loadIndex takes over an index that fits the file of the given size, and tells
// whether it did. What it changes it changes only then.
func (s *Session) loadIndex(size int64) bool {
	path := s.indexPath()
	if path == "" || size < s.opts.minIndexed() {
		return false
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	head, entries, ok := decodeIndex(data)
	if !ok || head.Path != s.path || head.End > size {
		return false
	}
	if sum, err := s.fingerprint(head.End); err != nil || sum != head.Sum {
		return false
	}
	header, refused := parseHeader(head.HeaderLine)
	if refused || header.Version < Version {
		return false
	}
	s.header, s.entries, s.diags = header, entries, head.Diags
	s.end, s.nextLine, s.values = head.End, head.NextLine, head.Values
	s.indexed, s.indexEnd = len(entries), head.End
	s.byID.reserve(len(entries))
	for i := range s.entries {
		e := &s.entries[i]
		if first := s.byID.put(entries, e.ID, i); first >= 0 {
			if len(s.twins[e.ID]) == 0 {
				s.twins[e.ID] = []int{first}
			}
			s.twins[e.ID] = append(s.twins[e.ID], i)
		}
	}
	return true
}

// decodeIndex reads an index. A wrong checksum, and anything that does not add
// up, makes it no index.
func decodeIndex(data []byte) (head indexHead, entries []Entry, ok bool) {
	if len(data) < len(indexMagic)+4 || !bytes.HasPrefix(data, []byte(indexMagic)) {
		return head, nil, false
	}
	body := data[:len(data)-4]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(data[len(body):]) {
		return head, nil, false
	}
	r := indexReader{data: structure.Alias(body), at: len(indexMagic)} // shared by all strings
	if json.Unmarshal([]byte(r.str()), &head) != nil || head.Entries < 0 || head.Entries > len(body) {
		return head, nil, false
	}
	entries = make([]Entry, head.Entries)
	var kinds []kind
	last := &Entry{Line: 1}
	for i := range entries {
		e := &entries[i]
		flags := r.byte()
		e.pos, e.Len = i, int64(r.uvarint())
		if flags&nextLine != 0 {
			e.Offset, e.Line, e.value = last.Offset+last.Len+1, last.Line+1, last.value+1
		} else {
			e.Offset, e.Line, e.value = last.Offset+r.varint(), last.Line+int(r.varint()), last.value+int(r.varint())
		}
		if e.ID = ID(r.str()); flags&nextParent != 0 {
			e.Parent = last.ID
		} else {
			e.Parent = ID(r.str())
		}
		place := r.uvarint()
		if flags&newKind != 0 {
			kinds = append(kinds, kind{intern(r.str()), intern(r.str()), intern(r.str())})
		}
		if place >= uint64(len(kinds)) {
			return head, nil, false
		}
		e.Type, e.CustomType, e.Role = kinds[place].typ, kinds[place].customType, kinds[place].role
		e.timestamp = r.str()
		if r.bad || e.Offset < 0 || e.Len < 2 || e.Offset > head.End-e.Len {
			return head, nil, false
		}
		last = e
	}
	return head, entries, !r.bad && r.at == len(r.data)
}

// indexReader reads the parts of an index; bad says that it ended too early.
type indexReader struct {
	data string
	at   int
	bad  bool
}

func (r *indexReader) byte() byte {
	if r.at >= len(r.data) {
		r.bad = true
		return 0
	}
	r.at++
	return r.data[r.at-1]
}

func (r *indexReader) uvarint() uint64 {
	var x uint64
	for shift := 0; shift < 64; shift += 7 {
		b := r.byte()
		x |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return x
		}
	}
	r.bad = true
	return 0
}

func (r *indexReader) varint() int64 {
	u := r.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

func (r *indexReader) str() string {
	n := r.uvarint()
	if n > uint64(len(r.data)-r.at) {
		r.bad = true
		return ""
	}
	r.at += int(n)
	return r.data[r.at-int(n) : r.at]
}

// checkIndexed holds the bytes of an entry that came from an index against it.
func (s *Session) checkIndexed(e Entry, raw []byte) bool {
	if e.pos >= s.indexed {
		return true
	}
	if len(raw) < 2 || raw[0] != '{' || raw[len(raw)-1] != '}' {
		return false
	}
	h := readHead(raw)
	return h.id == string(e.ID)
}
