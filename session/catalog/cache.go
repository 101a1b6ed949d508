package catalog

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/piweb-go/piweb/internal/durable"
)

// The cache is one file per root:
//
//	magic, root                       the version is in the magic
//	{length, checksum, record}…       appended as files change; the last one of a path counts
//
// A record carries the key of its file, so that an old one does no harm: it does
// not hold. The file is therefore never locked. Two processes append to it side by
// side; when one replaces it, what the other appended to the old file is lost and
// read again from the sessions. Where a record is broken the reading ends and the
// file is written anew with the next change.

const (
	magic = "piweb session catalogue 1\n"
	// maxCache is the largest cache that is read, in bytes: a larger one is not
	// ours, or no help.
	maxCache = 512 << 20
	// maxRecord bounds one record, in bytes.
	maxRecord = 1 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// store is the file of a catalogue's cache.
type store struct {
	fs    durable.FS
	path  string // "" for none
	root  string
	lines int  // records in the file, old ones included
	stale bool // the file must be written anew
}

func newStore(fs durable.FS, dir, root string) *store {
	s := &store{fs: fs, root: root}
	if dir != "" {
		sum := sha256.Sum256([]byte(root))
		s.path = filepath.Join(dir, "sessions-"+hex.EncodeToString(sum[:6])+".cache")
	}
	return s
}

// head is what the file begins with.
func (s *store) head() []byte { return appendString([]byte(magic), s.root) }

// load reads what there is. It never fails: what cannot be used is made anew.
func (s *store) load() map[string]*record {
	records := map[string]*record{}
	if s.path == "" {
		return records
	}
	s.stale = true
	info, err := s.fs.Stat(s.path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxCache {
		return records
	}
	f, err := s.fs.OpenFile(s.path, os.O_RDONLY, 0)
	if err != nil {
		return records
	}
	defer f.Close()
	data := make([]byte, info.Size())
	n, err := f.ReadAt(data, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return records
	}
	data = data[:n]
	text := string(data) // the strings of all records share it
	at := len(s.head())
	if !strings.HasPrefix(text, string(s.head())) {
		return records
	}
	for at < len(data) {
		if len(data)-at < 8 {
			return records
		}
		size, sum := binary.LittleEndian.Uint32(data[at:]), binary.LittleEndian.Uint32(data[at+4:])
		if at += 8; size > maxRecord || int(size) > len(data)-at || crc32.Checksum(data[at:at+int(size)], castagnoli) != sum {
			return records
		}
		path, r, err := decode(text[at : at+int(size)])
		if err != nil {
			return records
		}
		records[path] = r
		at += int(size)
		s.lines++
	}
	s.stale = false
	return records
}

// put writes what changed, or everything where the file has become more old than
// new, or is none.
func (s *store) put(changed []string, all map[string]*record) error {
	if s.path == "" {
		return nil
	}
	if !s.stale && s.lines+len(changed) <= 2*len(all)+1000 {
		if len(changed) == 0 {
			return nil
		}
		err := s.append(encodeAll(nil, changed, all))
		if err == nil {
			s.lines += len(changed)
			return nil
		}
	}
	paths := make([]string, 0, len(all))
	for path := range all {
		paths = append(paths, path)
	}
	if err := s.fs.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return fmt.Errorf("session catalogue: %w", err)
	}
	// It quotes what people wrote: nobody else may read it.
	if err := durable.Save(s.fs, s.path, encodeAll(s.head(), paths, all), 0o600); err != nil {
		return fmt.Errorf("session catalogue: %w", err)
	}
	s.lines, s.stale = len(paths), false
	return nil
}

// append adds records to the file if it is still one of ours.
func (s *store) append(data []byte) error {
	f, err := s.fs.OpenFile(s.path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	head := make([]byte, len(s.head()))
	if _, err := f.ReadAt(head, 0); err != nil || string(head) != string(s.head()) {
		return errors.New("session catalogue: another file is in its place")
	}
	return durable.Append(f, info.Size(), data)
}

func encodeAll(out []byte, paths []string, all map[string]*record) []byte {
	for _, path := range paths {
		r := all[path]
		if r == nil {
			continue
		}
		at := len(out)
		out = encode(append(out, make([]byte, 8)...), path, r)
		body := out[at+8:]
		if len(body) > maxRecord {
			out = out[:at]
			continue
		}
		binary.LittleEndian.PutUint32(out[at:], uint32(len(body)))
		binary.LittleEndian.PutUint32(out[at+4:], crc32.Checksum(body, castagnoli))
	}
	return out
}

func encode(out []byte, path string, r *record) []byte {
	i := &r.info
	for _, s := range []string{path, i.ID, i.CWD, i.Name, i.Parent, i.First, i.Tools, i.Problem} {
		out = appendString(out, s)
	}
	for _, t := range []time.Time{i.Created, i.Modified} {
		out = binary.AppendVarint(out, t.Unix())
		out = binary.AppendVarint(out, int64(t.Nanosecond()))
	}
	for _, n := range []int64{int64(i.Messages), i.Bytes, int64(i.Notes), r.key.size, r.key.mtime, int64(r.key.inode),
		r.scanned, r.resume, int64(r.version), int64(r.print)} {
		out = binary.AppendVarint(out, n)
	}
	return out
}

func appendString(out []byte, s string) []byte {
	return append(binary.AppendUvarint(out, uint64(len(s))), s...)
}

var errRecord = errors.New("broken record")

// decode is the reverse of encode. The strings alias text.
func decode(text string) (string, *record, error) {
	d := decoder{rest: text}
	r := &record{}
	i := &r.info
	path := d.string()
	for _, s := range []*string{&i.ID, &i.CWD, &i.Name, &i.Parent, &i.First, &i.Tools, &i.Problem} {
		*s = d.string()
	}
	for _, t := range []*time.Time{&i.Created, &i.Modified} {
		*t = time.Unix(d.int(), d.int()).UTC()
	}
	i.Messages, i.Bytes, i.Notes = int(d.int()), d.int(), int(d.int())
	r.key = key{d.int(), d.int(), uint64(d.int())}
	r.scanned, r.resume, r.version, r.print = d.int(), d.int(), int(d.int()), uint64(d.int())
	if d.bad || len(d.rest) > 0 {
		return "", nil, errRecord
	}
	return path, r, nil
}

type decoder struct {
	rest string
	bad  bool
}

func (d *decoder) int() int64 {
	var ux uint64
	for i, shift := 0, 0; i < len(d.rest) && i < binary.MaxVarintLen64; i, shift = i+1, shift+7 {
		b := d.rest[i]
		ux |= uint64(b&0x7f) << shift
		if b < 0x80 {
			d.rest = d.rest[i+1:]
			x := int64(ux >> 1)
			if ux&1 != 0 {
				x = ^x
			}
			return x
		}
	}
	d.bad, d.rest = true, ""
	return 0
}

func (d *decoder) string() string {
	var n uint64
	for i, shift := 0, 0; i < len(d.rest) && i < binary.MaxVarintLen64; i, shift = i+1, shift+7 {
		b := d.rest[i]
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if rest := d.rest[i+1:]; n <= uint64(len(rest)) {
				d.rest = rest[n:]
				return rest[:n]
			}
			break
		}
	}
	d.bad, d.rest = true, ""
	return ""
}
