package session

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/piweb-go/piweb/internal/durable"
	"github.com/piweb-go/piweb/internal/structure"
	"github.com/tidwall/gjson"
)

// migrateInMemory turns the entries of a file of version 1 or 2 into entries of
// version 3, as pi does on open, but without touching the file. The ids that a
// version-1 file lacks are derived from the session's id and the place of the
// record, so that they are the same in every process until the first append
// writes them.
func (s *Session) migrateInMemory() error {
	s.migrate = true
	old := s.entries
	s.entries, s.byID, s.twins = nil, places{}, map[ID][]int{}
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
			if raw, err = asCustom(raw); err != nil {
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
		if _, taken := s.place(id); !taken {
			return id
		}
	}
}

// asCustom gives a message the role that replaced hookMessage.
func asCustom(raw []byte) ([]byte, error) {
	body, err := structure.SetText(structure.Get(raw, "message"), "role", "custom")
	if err != nil {
		return nil, err
	}
	return structure.Set(raw, "message", body)
}

// addIDs gives a version-1 record its id and parent, and turns the number of a
// kept record into its id. A number that points at the header, or at a record
// that has no id yet, is dropped.
func addIDs(raw []byte, e Entry, byValue map[int]ID) ([]byte, error) {
	var err error
	for _, key := range []string{"id", "parentId"} {
		if raw, err = structure.Delete(raw, key); err != nil {
			return nil, err
		}
	}
	if kept := field(raw, "firstKeptEntryIndex"); e.Type == TypeCompaction && kept.Type == gjson.Number {
		place := int(kept.Int())
		if raw, err = structure.Delete(raw, "firstKeptEntryIndex"); err != nil {
			return nil, err
		}
		if id, ok := byValue[place]; ok {
			if raw, err = setID(raw, "firstKeptEntryId", id); err != nil {
				return nil, err
			}
		}
	}
	if raw, err = setID(raw, "id", e.ID); err != nil {
		return nil, err
	}
	return setID(raw, "parentId", e.Parent)
}

// writeMigration replaces the file by its migration and keeps the old one
// beside it. Every value gets a line of its own; what is no entry stays as it is.
// It is called under the lock and before the first append. Nothing of s changes
// before the new file is open.
func (s *Session) writeMigration() error {
	m := migration{s: s, moved: append([]Entry(nil), s.entries...)}
	if err := m.build(); err != nil {
		return fmt.Errorf("%s: migrate: %w", s.path, err)
	}
	fs := s.opts.fs()
	if err := keepOld(fs, s.path); err != nil {
		return fmt.Errorf("%s: keep the old file before its migration: %w", s.path, err)
	}
	// Windows does not rename over an open file; all bodies are in memory.
	_ = s.file.Close()
	saveErr := durable.Save(fs, s.path, m.out.Bytes(), s.info.Mode().Perm())
	f, err := fs.OpenFile(s.path, os.O_RDWR|os.O_APPEND, 0)
	var info os.FileInfo
	if err == nil {
		info, err = f.Stat()
	}
	if err = errors.Join(saveErr, err); f == nil || info == nil || saveErr != nil && !os.SameFile(info, s.info) {
		s.poisoned = err // neither the old file nor the new one is ours to go on with
		return fmt.Errorf("%s: migrate: %w", s.path, err)
	}
	s.file, s.info, s.writable = f, info, true
	if saveErr != nil {
		return fmt.Errorf("%s: migrate, the old file is as it was: %w", s.path, saveErr)
	}
	for i := range m.moved {
		m.moved[i].mem = nil
	}
	s.entries, s.header.Version, s.header.Raw = m.moved, Version, m.head
	s.migrate, s.openTail, s.end, s.nextLine = false, false, int64(m.out.Len()), m.line+1
	s.remember()
	durable.Sweep(fs, filepath.Dir(s.path), s.opts.now())
	return s.relock()
}

// relock moves the lock from a replaced file to the one that took its name.
func (s *Session) relock() error {
	_ = s.lock.Unlock()
	s.lock = nil
	lock, err := s.opts.lockFile(s.path)
	if err != nil {
		return fmt.Errorf("%s: lock the migrated file: %w", s.path, err)
	}
	s.lock = lock
	return nil
}

// migration builds the new file.
type migration struct {
	s     *Session
	moved []Entry // with their new places
	next  int     // the entry that comes next
	head  []byte
	out   bytes.Buffer
	line  int // lines written
}

func (m *migration) build() error {
	var err error
	if m.head == nil { // a fork brings its own
		if m.head, err = structure.Set(m.s.header.Raw, "version", strconv.AppendInt(nil, Version, 10)); err != nil {
			return err
		}
	}
	headDone := false
	told := m.s.opts.progress("bringing the session to version 3", m.s.end)
	defer told.end()
	err = lines(section{m.s, m.s.end}, 0, 1, func(l line) error {
		told.at(l.offset)
		if l.cut || l.length > maxLine {
			return fmt.Errorf("line %d is longer than %d MB; it cannot be carried over", l.num, maxLine>>20)
		}
		segs := segments(nil, l, m.s.opts.look())
		if len(segs) == 0 {
			m.write(l.data) // a blank line stays
		}
		for _, seg := range segs {
			switch {
			case !headDone && !seg.damage && seg.head.typ == typeHeader:
				headDone = true
				m.write(m.head)
			case m.next < len(m.moved) && m.moved[m.next].Offset == seg.offset:
				e := &m.moved[m.next]
				e.Offset, e.Line = int64(m.out.Len()), m.line+1
				m.write(e.mem)
				m.next++
			case seg.zeros > 0:
				m.write(make([]byte, seg.zeros))
			default:
				m.write(seg.data)
			}
		}
		return nil
	})
	if err == nil && m.next != len(m.moved) {
		err = fmt.Errorf("%d of %d entries were not found again", len(m.moved)-m.next, len(m.moved))
	}
	return err
}

func (m *migration) write(data []byte) {
	writeLine(&m.out, data)
	m.line++
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
