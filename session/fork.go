package session

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/piweb-go/piweb/internal/durable"
	"github.com/piweb-go/piweb/message"
)

// ForkOptions say what a fork is to be.
type ForkOptions struct {
	// Before ends the fork at the parent of the entry. The text of the entry, if
	// it is a user's message or an extension's, is returned to be edited.
	Before bool
	// Dir is the folder of the new file; "" for the source's.
	Dir string
	// CWD is the working directory of the fork, absolute; "" for the source's.
	CWD string
	// Carry is what the fork must keep beyond its path, such as the selection of
	// tools that is in effect. It stands at the end.
	Carry []Payload
	// Companions follow the session. Their copies are made before the file.
	Companions []Companion
}

// Forked is a fork that was made, durable.
type Forked struct {
	Path    string
	ID      string
	CWD     string
	Text    string // of the entry that a fork with Before leaves out
	Entries int
}

// Fork writes the path from the root to an entry into a new file beside the
// source, as pi does. Entries keep their ids and every byte but the parentId
// where it must change: labels are cut out of the path, and those of entries that
// stay are set again at the end. The file is made whole and synced, never over
// another one; on error there is none, and no copy of a companion. The source is
// not written to; one of version 1 or 2 is migrated on the way.
func Fork(src *Session, at ID, o ForkOptions) (Forked, error) {
	d, err := NewDraft(src, at, o)
	if err != nil {
		return Forked{}, err
	}
	if err := d.Carry(o.Carry...); err != nil {
		return Forked{}, err
	}
	return d.Write()
}

// Draft is a fork before it is written. Whoever must know what the fork will
// mean, to decide what it has to carry, looks at it.
type Draft struct {
	from Place
	perm os.FileMode
	s    *Session
	text string
	o    ForkOptions
}

// NewDraft makes a draft of Fork. Its Carry option is not part of it yet.
func NewDraft(src *Session, at ID, o ForkOptions) (*Draft, error) {
	src.mu.Lock()
	defer src.mu.Unlock()
	d := &Draft{o: o}
	var err error
	if d.s, d.from, err = src.offspring(o); err != nil {
		return nil, err
	}
	d.perm = src.info.Mode().Perm()
	path, err := src.forkPath(at)
	if err != nil {
		return nil, err
	}
	if o.Before && len(path) > 0 {
		if d.text, err = src.textOf(path[len(path)-1]); err != nil {
			return nil, err
		}
		path = path[:len(path)-1]
	}
	entries, err := src.withoutLabels(path)
	if err != nil {
		return nil, err
	}
	d.s.accept(entries)
	return d, d.setLabels(src)
}

// View is the draft as a session without a file, to be read.
func (d *Draft) View() *Session { return d.s }

// Carry adds entries at the end of the draft.
func (d *Draft) Carry(payloads ...Payload) error {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	if len(payloads) == 0 {
		return nil
	}
	entries, err := d.s.encodeAll(payloads)
	if err != nil {
		return err
	}
	d.s.accept(entries)
	return nil
}

// Write makes the file. A draft is written once.
func (d *Draft) Write() (Forked, error) {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	size := int64(len(d.s.header.Raw)) + 1
	for _, e := range d.s.entries {
		size += e.Len + 1
	}
	return writeFork(d.s, d.from, d.perm, d.o.Companions, d.text, len(d.s.entries), size, func(w io.Writer) error {
		if err := putLine(w, d.s.header.Raw); err != nil {
			return err
		}
		for _, e := range d.s.entries {
			if err := putLine(w, e.mem); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeFork copies what the companions have, then makes the file: a fork without
// its companions' part would use their ids again.
func writeFork(s *Session, from Place, perm os.FileMode, companions []Companion, text string, entries int, size int64, fill func(io.Writer) error) (Forked, error) {
	fs, to := s.opts.fs(), Place{s.path, s.header.ID}
	var done steps
	dirs, err := makeFolder(fs, filepath.Dir(s.path), &done)
	if err == nil {
		err = done.each(companions, func(c Companion) (Undo, error) { return c.Copy(from, to) })
	}
	if err == nil {
		err = newFile(fs, s.path, dirs, perm, &done, s.opts.counted("writing the fork", size, fill))
	}
	if err != nil {
		return Forked{}, done.rollBack(fmt.Errorf("%s: fork: %w; no fork was made", from.Path, err))
	}
	durable.Sweep(fs, filepath.Dir(s.path), s.opts.now())
	return Forked{Path: s.path, ID: s.header.ID, CWD: s.header.CWD, Text: text, Entries: entries}, nil
}

func putLine(w io.Writer, data []byte) error {
	if _, err := w.Write(data); err != nil {
		return err
	}
	_, err := w.Write([]byte{'\n'})
	return err
}

// offspring is a session without entries and file that comes from s.
func (s *Session) offspring(o ForkOptions) (*Session, Place, error) {
	switch {
	case s.closed:
		return nil, Place{}, fmt.Errorf("%s: fork: %w", s.path, ErrClosed)
	case s.file == nil:
		return nil, Place{}, fmt.Errorf("%s: fork: %w; it gets one with its first prompt", s.path, ErrNoFile)
	case s.header.Raw == nil:
		return nil, Place{}, &FormatError{s.path, 1, "the file is empty", "there is nothing to fork"}
	}
	from, err := filepath.Abs(s.path)
	if err != nil {
		return nil, Place{}, fmt.Errorf("%s: fork: %w", s.path, err)
	}
	cwd := o.CWD
	switch {
	case cwd == "" && s.header.CWD == "":
		return nil, Place{}, fmt.Errorf("%s: fork: the session names no working directory; name one for the fork", s.path)
	case cwd == "":
		cwd = s.header.CWD // as it is: it may be a path of another system
	case !filepath.IsAbs(cwd):
		return nil, Place{}, fmt.Errorf("%s: fork: the working directory %q is not absolute", s.path, cwd)
	}
	dir := o.Dir
	if dir == "" {
		dir = filepath.Dir(from)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, Place{}, fmt.Errorf("%s: fork: %w", s.path, err)
	}
	id, err := newSessionID(&s.opts)
	if err != nil {
		return nil, Place{}, err
	}
	n := &Session{opts: s.opts, twins: map[ID][]int{}, leaf: -1, nextLine: 1}
	if err := n.setHeader(id, cwd, from); err != nil {
		return nil, Place{}, err
	}
	n.path = filepath.Join(dir, FileName(n.header.Timestamp, id))
	return n, Place{from, s.header.ID}, nil
}

// forkPath is the path to an entry; the empty id is the empty path.
func (s *Session) forkPath(at ID) ([]Entry, error) {
	if at == "" {
		return nil, nil
	}
	i, ok := s.place(at)
	if !ok {
		return nil, fmt.Errorf("%s: fork: %w: %s; `piweb sessions show` lists those of the branch", s.path, ErrNoEntry, at)
	}
	return s.walk(i).Entries, nil
}

// textOf is what a person wrote, or an extension for the model; "" for any other
// entry.
func (s *Session) textOf(e Entry) (string, error) {
	if !writtenByPerson(e) {
		return "", nil
	}
	raw, err := s.raw(e)
	if err != nil {
		return "", err
	}
	p, err := decode(raw)
	if err != nil {
		return "", err
	}
	switch p := p.(type) {
	case CustomMessage:
		return p.Content.PlainText(), nil
	case MessagePayload:
		if u, ok := p.Message.(*message.User); ok {
			return u.Content.PlainText(), nil
		}
	}
	return "", nil
}

// writtenByPerson tells whether an entry is text that a person may want to write
// anew: going to it means going to its parent.
func writtenByPerson(e Entry) bool {
	return e.Type == TypeCustomMessage || e.Type == TypeMessage && e.Role == string(message.RoleUser)
}

// withoutLabels makes the entries of a fork from a path: labels are cut out,
// their children hang on what is above, and a compaction that kept from a label
// on keeps from the next entry on. The first entry becomes a root also where its
// parent was lost or a cycle ended the walk: real pi never comes back from one.
func (s *Session) withoutLabels(path []Entry) ([]Entry, error) {
	var out []Entry
	var parent ID
	var cut []ID           // labels in front of the next entry
	next := map[ID]ID{}    // a label → the entry behind it
	stays := map[ID]bool{} // ids so far
	for _, e := range path {
		if e.Type == TypeLabel {
			cut = append(cut, e.ID)
			continue
		}
		raw, err := s.raw(e)
		if err != nil {
			return nil, err
		}
		for _, label := range cut {
			next[label] = e.ID
		}
		cut = nil
		if e.Parent != parent {
			if raw, err = setID(raw, "parentId", parent); err != nil {
				return nil, fmt.Errorf("%s: fork: line %d: %w", s.path, e.Line, err)
			}
		}
		if e.Type == TypeCompaction {
			kept := ID(stringField(raw, "firstKeptEntryId"))
			if behind, isCut := next[kept]; isCut && !stays[kept] && kept != e.ID {
				if raw, err = setID(raw, "firstKeptEntryId", behind); err != nil {
					return nil, fmt.Errorf("%s: fork: line %d: %w", s.path, e.Line, err)
				}
			}
		}
		if h := readHead(raw); ID(h.id) != e.ID || ID(h.parent) != parent {
			return nil, fmt.Errorf("%s: fork: line %d: the entry %s names its id or parent in a way that cannot be carried over", s.path, e.Line, e.ID)
		}
		out = append(out, Entry{ID: e.ID, Parent: parent, Type: e.Type, CustomType: e.CustomType, Role: e.Role,
			Len: int64(len(raw)), mem: raw, timestamp: e.timestamp})
		parent, stays[e.ID] = e.ID, true
	}
	return out, nil
}

// setLabels sets the labels of the draft's entries again, as they are in the
// source and with their times.
func (d *Draft) setLabels(src *Session) error {
	type label struct {
		Entry
		raw []byte
	}
	counts := map[ID]label{} // by the entry that they name; the last one counts
	for _, e := range src.entries {
		if e.Type != TypeLabel {
			continue
		}
		raw, err := src.raw(e)
		if err != nil {
			return err
		}
		l := lenient[Label](raw)
		delete(counts, l.TargetID)
		if _, stays := d.s.place(l.TargetID); stays && l.Label != "" {
			counts[l.TargetID] = label{e, raw}
		}
	}
	inOrder := slices.SortedFunc(maps.Values(counts), func(a, b label) int { return a.pos - b.pos })
	for _, l := range inOrder {
		id, err := d.s.newID(nil)
		if err != nil {
			return err
		}
		parent := d.s.leafID()
		raw, err := setID(l.raw, "id", id)
		if err == nil {
			raw, err = setID(raw, "parentId", parent)
		}
		if err != nil {
			return fmt.Errorf("%s: fork: line %d: %w", src.path, l.Line, err)
		}
		d.s.accept([]Entry{{ID: id, Parent: parent, Type: TypeLabel, Len: int64(len(raw)), mem: raw, timestamp: l.timestamp}})
	}
	return nil
}
