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
	indexMagic = "piweb index 1\n"

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
	if path == "" || s.file == nil || s.openTail || // an open line may still become another one
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
	var last Entry
	for _, e := range s.entries {
		out = binary.AppendVarint(out, e.Offset-last.Offset)
		out = binary.AppendUvarint(out, uint64(e.Len))
		out = binary.AppendVarint(out, int64(e.Line-last.Line))
		out = binary.AppendVarint(out, int64(e.value-last.value))
		str(string(e.ID))
		if e.Parent == last.ID && e.Parent != "" { // nearly always
			out = append(out, 1)
		} else {
			out = append(out, 0)
			str(string(e.Parent))
		}
		str(e.Type)
		str(e.CustomType)
		str(e.Role)
		str(e.timestamp)
		last = e
	}
	return binary.LittleEndian.AppendUint32(out, crc32.Checksum(out, castagnoli)), nil
}

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
	s.byID = make(map[ID]int, len(entries))
	for i := range s.entries {
		e := &s.entries[i]
		e.pos = i
		if first, again := s.byID[e.ID]; again {
			if len(s.twins[e.ID]) == 0 {
				s.twins[e.ID] = []int{first}
			}
			s.twins[e.ID] = append(s.twins[e.ID], i)
		}
		s.byID[e.ID] = i
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
	r := indexReader{rest: string(body[len(indexMagic):])} // one copy, shared by all strings
	if json.Unmarshal([]byte(r.str()), &head) != nil || head.Entries < 0 || head.Entries > len(body) {
		return head, nil, false
	}
	entries = make([]Entry, head.Entries)
	var last Entry
	for i := range entries {
		e := Entry{Offset: last.Offset + r.varint(), Len: int64(r.uvarint()), Line: last.Line + int(r.varint()), value: last.value + int(r.varint())}
		e.ID = ID(r.str())
		if r.byte() == 1 {
			e.Parent = last.ID
		} else {
			e.Parent = ID(r.str())
		}
		e.Type, e.CustomType, e.Role, e.timestamp = intern(r.str()), intern(r.str()), intern(r.str()), r.str()
		if r.bad || e.Offset < 0 || e.Len < 2 || e.Offset+e.Len > head.End {
			return head, nil, false
		}
		entries[i], last = e, e
	}
	return head, entries, !r.bad && r.rest == ""
}

// indexReader reads the parts of an index; bad says that it ended too early.
type indexReader struct {
	rest string
	bad  bool
}

func (r *indexReader) byte() byte {
	if r.rest == "" {
		r.bad = true
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
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
	if n > uint64(len(r.rest)) {
		r.bad = true
		return ""
	}
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
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
