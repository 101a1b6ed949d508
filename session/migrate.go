package session

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/piweb-go/piweb/internal/durable"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// migrateInMemory turns the entries of a file of version 1 or 2 into entries of
// version 3, as pi does on open, but without touching the file. The ids that a
// version-1 file lacks are derived from the session's id and the place of the
// record, so that they are the same in every process until the first append
// writes them.
func (s *Session) migrateInMemory() error {
	s.migrate = true
	old := s.entries
	s.entries, s.byID, s.twins = nil, map[ID]int{}, map[ID][]int{}
	byValue := map[int]ID{} // place among the values → id, for kept indexes
	var parent ID
	for _, e := range old {
		raw, err := s.raw(e)
		if err != nil {
			return err
		}
		if s.header.Version < 2 {
			e.ID, e.Parent = s.derivedID(e.value), parent
			if raw, err = addIDs(raw, e, byValue); err != nil {
				return fmt.Errorf("%s: migrate line %d: %w", s.path, e.Line, err)
			}
			parent, byValue[e.value] = e.ID, e.ID
		}
		if e.Type == TypeMessage && e.Role == "hookMessage" {
			if raw, err = sjson.SetBytes(raw, "message.role", "custom"); err != nil {
				return fmt.Errorf("%s: migrate line %d: %w", s.path, e.Line, err)
			}
			e.Role = "custom"
		}
		e.mem, e.Len = raw, int64(len(raw))
		s.add(e)
	}
	return nil
}

func (s *Session) derivedID(place int) ID {
	for salt := 0; ; salt++ {
		sum := sha256.Sum256([]byte(s.header.ID + "\n" + strconv.Itoa(place) + "\n" + strconv.Itoa(salt)))
		id := ID(hex.EncodeToString(sum[:4]))
		if _, taken := s.byID[id]; !taken {
			return id
		}
	}
}

// addIDs gives a version-1 record its id and parent, and turns the number of a
// kept record into its id. A number that points at the header, or at a record
// that has no id yet, is dropped.
func addIDs(raw []byte, e Entry, byValue map[int]ID) ([]byte, error) {
	var err error
	for _, key := range []string{"id", "parentId"} {
		if gjson.GetBytes(raw, key).Exists() {
			if raw, err = sjson.DeleteBytes(raw, key); err != nil {
				return nil, err
			}
		}
	}
	if kept := gjson.GetBytes(raw, "firstKeptEntryIndex"); e.Type == TypeCompaction && kept.Type == gjson.Number {
		if raw, err = sjson.DeleteBytes(raw, "firstKeptEntryIndex"); err != nil {
			return nil, err
		}
		if id, ok := byValue[int(kept.Int())]; ok {
			raw = splice(raw, `"firstKeptEntryId":`+strconv.Quote(string(id)))
		}
	}
	parent := "null"
	if e.Parent != "" {
		parent = strconv.Quote(string(e.Parent))
	}
	return splice(raw, `"id":`+strconv.Quote(string(e.ID))+`,"parentId":`+parent), nil
}

// splice adds fields at the end of a JSON object; everything before them stays
// as it is.
func splice(object []byte, fields string) []byte {
	body := bytes.TrimRight(object[:len(object)-1], " \t\r\n")
	out := append(make([]byte, 0, len(body)+len(fields)+2), body...)
	if body[len(body)-1] != '{' {
		out = append(out, ',')
	}
	return append(append(out, fields...), '}')
}

// writeMigration replaces the file by its migration and keeps the old one
// beside it. Lines that are no entries stay as they are. It is called under the
// lock and before the first append.
func (s *Session) writeMigration() error {
	fs := s.opts.fs()
	var out bytes.Buffer
	head, err := sjson.SetBytes(bytes.Clone(s.header.Raw), "version", Version)
	if err != nil {
		return fmt.Errorf("%s: migrate header: %w", s.path, err)
	}
	moved := append([]Entry(nil), s.entries...)
	next, headDone := 0, false
	err = lines(section{s, s.end}, 0, 1, func(l line) error {
		vals, _ := values(l)
		switch {
		case !headDone && len(vals) > 0 && readHead(vals[0].data).typ == typeHeader:
			headDone = true
			writeLine(&out, head)
		case next < len(moved) && moved[next].Line == l.num:
			for ; next < len(moved) && moved[next].Line == l.num; next++ {
				moved[next].Offset = int64(out.Len())
				writeLine(&out, moved[next].mem)
			}
		default:
			writeLine(&out, l.data)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: migrate: %w", s.path, err)
	}
	if err := keepOld(fs, s.path); err != nil {
		return fmt.Errorf("%s: keep the old file before its migration: %w", s.path, err)
	}
	if err := durable.Save(fs, s.path, out.Bytes(), s.info.Mode().Perm()); err != nil {
		return err
	}
	for i := range moved {
		moved[i].mem = nil
	}
	s.entries, s.header.Version, s.header.Raw = moved, Version, head
	s.migrate, s.openTail, s.end = false, false, int64(out.Len())
	return nil
}

func writeLine(out *bytes.Buffer, data []byte) {
	out.Write(data)
	out.WriteByte('\n')
}

// keepOld gives the file a second name. A name that is taken is never
// overwritten: it may hold an older migration's original.
func keepOld(fs durable.FS, path string) error {
	for n := 0; n < 1000; n++ {
		bak := path + ".bak"
		if n > 0 {
			bak += "." + strconv.Itoa(n)
		}
		err := fs.Link(path, bak)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err == nil {
			return nil
		}
		return copyOld(fs, path, bak) // a file system without links
	}
	return fmt.Errorf("%s.bak and 999 more exist", path)
}

func copyOld(fs durable.FS, path, bak string) error {
	f, err := fs.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, info.Size()), data); err != nil {
		return err
	}
	copied, err := durable.Create(fs, bak, data, info.Mode().Perm())
	if err != nil {
		return err
	}
	if err := copied.Sync(); err != nil {
		_ = copied.Close()
		return err
	}
	return copied.Close()
}
