package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/piweb-go/piweb/internal/durable"
	"github.com/piweb-go/piweb/message"
)

// Append writes entries below the leaf, each the child of the one before, in
// one write, and makes the last one the leaf. When it returns they survive the
// end of the process; call Sync for a power cut. On error none of them is part
// of the session, and the error says what became of the file.
//
// The first append takes the session's lock (ErrInUse). Entries that another
// program appended meanwhile are adopted: the last of them becomes the parent,
// unless a run holds the branch (see Hold).
func (s *Session) Append(payloads ...Payload) ([]ID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.append(payloads)
}

func (s *Session) append(payloads []Payload) ([]ID, error) {
	if len(payloads) == 0 {
		return nil, nil
	}
	if err := s.prepare(); err != nil {
		return nil, err
	}
	return s.put(payloads)
}

// prepare makes the session ready for one write: it is allowed, the file is
// open under the lock, other writers' entries are adopted, an old file is
// migrated.
func (s *Session) prepare() error {
	if err := s.ready(); err != nil {
		return err
	}
	if s.file == nil {
		return nil
	}
	return s.openForWriting()
}

// put writes entries after prepare.
func (s *Session) put(payloads []Payload) ([]ID, error) {
	if s.file == nil {
		return s.appendInMemory(payloads)
	}
	entries, err := s.encodeAll(payloads)
	if err != nil {
		return nil, err
	}
	return s.write(entries)
}

// Commit appends entries and makes them durable. If the sync fails, the append
// is taken back where nobody wrote behind it, so that a change that was refused
// cannot take effect later; the session is closed for writing either way. A
// session without a file holds the entries in memory, as Append does.
func (s *Session) Commit(payloads ...Payload) ([]ID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(payloads) == 0 {
		return nil, nil
	}
	if err := s.prepare(); err != nil {
		return nil, err
	}
	m := mark{s.end, len(s.entries), s.leaf, s.nextLine, s.file != nil && !s.noHeader}
	ids, err := s.put(payloads)
	if err != nil {
		return nil, err
	}
	if err := s.sync(); err != nil {
		return nil, errors.Join(err, s.takeBack(m))
	}
	return ids, nil
}

// mark is the state of the file before a write of our own.
type mark struct {
	end      int64
	entries  int
	leaf     int
	nextLine int
	had      bool // there was a file with a header
}

// takeBack cuts the entries of a failed commit off again.
func (s *Session) takeBack(m mark) error {
	info, err := s.file.Stat()
	if err != nil || info.Size() != s.end || !m.had {
		return fmt.Errorf("%s: the entries could not be taken back; they may be in the file", s.path)
	}
	if err := s.file.Truncate(m.end); err != nil {
		return fmt.Errorf("%s: the entries could not be taken back: %w", s.path, err)
	}
	for _, e := range s.entries[m.entries:] {
		s.byID.remove(s.entries, e.ID) // ids of our own are new in the file
	}
	s.forgetGists(m.entries)
	s.entries, s.end, s.leaf, s.nextLine = s.entries[:m.entries], m.end, m.leaf, m.nextLine
	s.remember()
	return nil
}

// ready refuses a session that cannot be written any more.
func (s *Session) ready() error {
	if s.closed {
		return fmt.Errorf("%s: append: %w", s.path, ErrClosed)
	}
	if s.poisoned != nil {
		return fmt.Errorf("%s: append: %w; reopen it: %w", s.path, ErrPoisoned, s.poisoned)
	}
	if s.noHeader && s.header.Raw == nil {
		return fmt.Errorf("%s: append: the file is empty and has no header yet; name its working directory first", s.path)
	}
	return nil
}

// encodeAll gives payloads ids and parents, in order. Their bytes are in mem.
func (s *Session) encodeAll(payloads []Payload) ([]Entry, error) {
	parent := s.leafID()
	taken := make(map[ID]bool, 1) // on the stack for a few
	entries := make([]Entry, 0, len(payloads))
	for _, p := range payloads {
		p, want := chosen(p)
		id, err := s.idFor(want, taken)
		if err != nil {
			return nil, err
		}
		taken[id] = true
		now := s.opts.now()
		raw, err := encode(p, id, parent, now)
		if err != nil {
			return nil, err
		}
		if s.opts.Outgoing != nil {
			if raw, err = s.opts.Outgoing(s.path, raw); err != nil {
				return nil, fmt.Errorf("%s: append: %w", s.path, err)
			}
		}
		h := readHead(raw) // cloned below: the index must not keep the line alive
		entries = append(entries, Entry{ID: id, Parent: parent,
			Type: intern(h.typ), CustomType: intern(h.customType), Role: intern(h.role),
			Len: int64(len(raw)), mem: raw, timestamp: strings.Clone(h.timestamp)})
		parent = id
	}
	return entries, nil
}

// appendInMemory serves a session without a file; a user or assistant message
// creates it with everything before.
func (s *Session) appendInMemory(payloads []Payload) ([]ID, error) {
	entries, err := s.encodeAll(payloads)
	if err != nil {
		return nil, err
	}
	creates := false
	for _, p := range payloads {
		if m, ok := unwrapped(p).(MessagePayload); ok {
			creates = creates || m.Message.Role() == message.RoleUser || m.Message.Role() == message.RoleAssistant
		}
	}
	if creates {
		all := append(append([]Entry(nil), s.entries...), entries...)
		if err := s.createFile(all); err != nil {
			return nil, err
		}
		n := len(s.entries)
		s.entries, entries = all[:n:n], all[n:] // not in place: somebody may be reading the old ones
	}
	return s.accept(entries), nil
}

// accept puts written entries into the index and moves the leaf.
func (s *Session) accept(entries []Entry) []ID {
	ids := make([]ID, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
		s.add(e)
	}
	s.leaf = len(s.entries) - 1
	return ids
}

// openForWriting opens the file for appending at the first write, takes the
// lock, catches up with other writers and migrates an old file. After that it
// only catches up.
func (s *Session) openForWriting() error {
	fs := s.opts.fs()
	info, err := s.restoreIfGone()
	if err != nil {
		return err
	}
	if s.lock == nil {
		lock, err := s.opts.lockFile(s.path)
		if errors.Is(err, ErrInUse) {
			return err
		}
		if err != nil {
			return s.cannotWrite("append", err)
		}
		s.lock = lock
		s.opts.Lease.claim(s.path, s.opts.now())
		info = nil // somebody may have written before the lock was ours
	}
	if err := s.catchUpTo(info); err != nil {
		return err
	}
	if s.migrate {
		return s.writeMigration()
	}
	if s.writable {
		return nil
	}
	f, err := fs.OpenFile(s.path, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return s.cannotWrite("open session for appending", err)
	}
	return s.useFile(f)
}

// cannotWrite says what to do about a file that this user may read and not write.
func (s *Session) cannotWrite(what string, err error) error {
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("%s: %s: the session file cannot be written, so it can only be read; check its owner and mode, and those of its folder: %w", s.path, what, os.ErrPermission)
	}
	return fmt.Errorf("%s: %s: %w", s.path, what, err)
}

// useFile makes f, which is open for appending, the session's file. It must be
// the one that was read.
func (s *Session) useFile(f durable.File) error {
	info, err := f.Stat()
	if err == nil && s.info != nil && !os.SameFile(info, s.info) {
		err = fmt.Errorf("%w; nothing was written, reopen it", ErrReplaced)
	}
	if err != nil {
		_ = f.Close()
		return fmt.Errorf("%s: open session for appending: %w", s.path, err)
	}
	if s.file != nil {
		_ = s.file.Close()
	}
	s.file, s.info, s.writable = f, info, true
	return nil
}

// restoreIfGone notices that the file was deleted or replaced, and returns what it
// saw of the file, nil where it was deleted. A deleted file is written again from the
// one that is still open, header first: an append by name alone would make a file
// without a header, which nobody could open.
func (s *Session) restoreIfGone() (os.FileInfo, error) {
	info, err := s.opts.fs().Stat(s.path)
	if err == nil {
		if !os.SameFile(info, s.info) {
			return nil, fmt.Errorf("%s: append: %w; nothing was written, reopen it", s.path, ErrReplaced)
		}
		return info, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: append: %w", s.path, err)
	}
	data := make([]byte, s.end)
	if s.end > 0 {
		if _, err := s.file.ReadAt(data, 0); err != nil {
			return nil, fmt.Errorf("%s: the file was deleted and its bytes cannot be read any more: %w", s.path, err)
		}
	}
	if err := s.opts.fs().MkdirAll(filepath.Dir(s.path), 0o755); err != nil {
		return nil, fmt.Errorf("%s: write the deleted session again: %w", s.path, err)
	}
	f, err := durable.Create(s.opts.fs(), s.path, data, 0o644)
	if err != nil {
		return nil, fmt.Errorf("%s: write the deleted session again: %w", s.path, err)
	}
	s.note(KindOtherWriter, 0, 0, "", "the file was deleted by another program; it was written again with all its entries")
	_ = s.lock.Unlock()
	s.lock, s.info = nil, nil
	s.dirty = append(s.dirty, filepath.Dir(s.path))
	return nil, s.useFile(f)
}

// catchUp indexes what other writers appended behind the end that we know.
func (s *Session) catchUp() error { return s.catchUpTo(nil) }

// catchUpTo is catchUp where the file was looked at just now; nil where it was not.
func (s *Session) catchUpTo(info os.FileInfo) error {
	if info == nil {
		var err error
		if info, err = s.file.Stat(); err != nil {
			return fmt.Errorf("%s: append: %w", s.path, err)
		}
	}
	if info.Size() < s.end {
		return fmt.Errorf("%s: the file is %d bytes long and was %d: %w; nothing was written, reopen it",
			s.path, info.Size(), s.end, ErrReplaced)
	}
	if err := s.recognise(); err != nil {
		return err
	}
	switch {
	case info.Size() == s.end:
		return nil
	case s.migrate || s.noHeader:
		return fmt.Errorf("%s: another program wrote to it: %w; nothing was written, reopen it", s.path, ErrReplaced)
	}
	return s.adopt(info.Size())
}

// knownTail is how many bytes before the end are remembered. It holds the ids of
// the last entries, unless the last line is very long.
const knownTail = 4096

// remember keeps the last bytes of the file that we know.
func (s *Session) remember() {
	n := min(s.end, knownTail)
	s.known = make([]byte, n)
	if n > 0 {
		if _, err := s.file.ReadAt(s.known, s.end-n); err != nil && err != io.EOF {
			s.known = nil // nothing to compare with
		}
	}
}

// recognise notices a file that was rewritten in place.
func (s *Session) recognise() error {
	if len(s.known) == 0 {
		return nil
	}
	if cap(s.scratch) < len(s.known) {
		s.scratch = make([]byte, knownTail)
	}
	now := s.scratch[:len(s.known)]
	if _, err := s.file.ReadAt(now, s.end-int64(len(now))); err != nil && err != io.EOF || !bytes.Equal(now, s.known) {
		return fmt.Errorf("%s: %w; nothing was written, reopen it", s.path, ErrReplaced)
	}
	return nil
}

// adopt reads foreign lines. While a run is on they become siblings of its
// chain; otherwise the last of them is the new leaf, as it would be for pi.
func (s *Session) adopt(size int64) error {
	before, line := len(s.entries), s.nextLine
	if err := s.scanOn(size); err != nil {
		return err
	}
	s.remember()
	if n := len(s.entries) - before; n > 0 {
		what := "the last of them is the leaf now"
		if s.held {
			what = "they are a branch beside the running turn"
		} else {
			s.leaf = len(s.entries) - 1
		}
		s.adopted += n
		s.foreign = append(s.foreign, span{before, before + n})
		s.note(KindOtherWriter, line, s.entries[before].Offset, s.entries[len(s.entries)-1].ID,
			"another program appended %d entries; %s", n, what)
	}
	return nil
}

// forget drops a diagnostic that is not true any more.
func (s *Session) forget(kind Kind, offset int64) {
	s.diags = slices.DeleteFunc(s.diags, func(d Diagnostic) bool { return d.Kind == kind && d.Offset == offset })
}

// Adopted counts the entries that other programs appended since the open.
func (s *Session) Adopted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.adopted
}

// Refresh reads what other programs appended, without writing.
func (s *Session) Refresh() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil || s.closed {
		return nil
	}
	if info, err := s.opts.fs().Stat(s.path); err == nil && !os.SameFile(info, s.info) {
		return fmt.Errorf("%s: %w; reopen it", s.path, ErrReplaced)
	}
	return s.catchUp()
}

// Hold keeps the leaf on the chain of a run: entries that other programs append
// meanwhile become siblings. Release ends it.
func (s *Session) Hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = true
}

// Release ends a Hold.
func (s *Session) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = false
}

// maxBuffer is how much of a write is kept for the next one, in bytes.
const maxBuffer = 64 << 10

// write appends encoded entries to the file.
func (s *Session) write(entries []Entry) ([]ID, error) {
	lines := s.buffer[:0]
	if s.noHeader {
		lines = append(append(lines, s.header.Raw...), '\n')
	}
	if s.openTail {
		lines = append(lines, '\n') // a fragment stays as a line of its own
	}
	for i := range entries {
		entries[i].Offset = s.end + int64(len(lines))
		lines = append(append(lines, entries[i].mem...), '\n')
	}
	if s.buffer = lines; cap(lines) > maxBuffer {
		s.buffer = nil
	}
	if err := durable.Append(s.file, s.end, lines); err != nil {
		return nil, s.failedWrite(err)
	}
	// pi takes no lock: it may have written between our look at the end and the
	// write, or since.
	switch info, err := s.file.Stat(); {
	case err != nil:
		return nil, s.failedWrite(fmt.Errorf("%w: %w", durable.ErrUnknownState, err))
	case info.Size() != s.end+int64(len(lines)):
		return s.interleaved(info.Size(), entries)
	}
	first := s.nextLine
	if s.noHeader {
		first++
	}
	for i := range entries {
		entries[i].Line, entries[i].mem = first+i, nil
	}
	s.end += int64(len(lines))
	s.nextLine = first + len(entries)
	s.openTail, s.noHeader = false, false
	s.rememberAlso(lines)
	return s.accept(entries), nil
}

// interleaved finds our entries among those that another program wrote at the same
// time. Where a run holds the branch, it goes on from ours.
func (s *Session) interleaved(size int64, entries []Entry) ([]ID, error) {
	before, line := len(s.entries), s.nextLine
	s.noHeader = false
	err := s.scanOn(size)
	ids := make([]ID, len(entries))
	ours := make(map[ID]bool, len(entries))
	for i, e := range entries {
		ids[i], ours[e.ID] = e.ID, true
		if _, ok := s.place(e.ID); err == nil && !ok {
			err = ErrReplaced
		}
	}
	if err != nil {
		s.poisoned = err
		return nil, fmt.Errorf("%s: append: another program wrote at the same time, and what is in the file is unknown; reopen the session: %w", s.path, err)
	}
	s.remember()
	for i := before; i < len(s.entries); i++ {
		if !ours[s.entries[i].ID] {
			s.foreign = append(s.foreign, span{i, i + 1})
			s.adopted++
		}
	}
	s.leaf = len(s.entries) - 1
	what := "the last of all is the leaf now"
	if s.held {
		s.leaf, _ = s.place(ids[len(ids)-1])
		what = "they are a branch beside the running turn"
	}
	if n := len(s.entries) - before - len(entries); n > 0 {
		s.note(KindOtherWriter, line, s.entries[before].Offset, s.entries[len(s.entries)-1].ID, "another program appended %d entries at the same time; %s", n, what)
	}
	return ids, nil
}

// rememberAlso is remember after a write of ours of which all is known.
func (s *Session) rememberAlso(data []byte) {
	if s.known == nil {
		s.remember()
		return
	}
	if len(data) >= knownTail {
		s.known = append(s.known[:0], data[len(data)-knownTail:]...)
		return
	}
	keep := min(len(s.known), knownTail-len(data))
	n := copy(s.known, s.known[len(s.known)-keep:])
	s.known = append(s.known[:n], data...)
}

// failedWrite brings the index in line with the file after a write that failed.
func (s *Session) failedWrite(err error) error {
	outcome := "nothing was recorded and the file is as it was"
	switch {
	case errors.Is(err, durable.ErrUnknownState):
		// What stands behind the end may be half of ours: nobody may build on it.
		s.poisoned = err
		return fmt.Errorf("%s: append failed, and what is in the file is unknown; reopen the session: %w", s.path, err)
	case errors.Is(err, durable.ErrOthersWrote):
		outcome = "the half line was closed and stays as a dead line"
	}
	if cerr := s.catchUp(); cerr != nil {
		err = errors.Join(err, cerr)
	}
	return fmt.Errorf("%s: append failed, %s: %w", s.path, outcome, err)
}

// Sync makes everything appended so far survive a power cut. A failed sync
// closes the session for writing: what is on the disk is unknown until it is
// opened again.
func (s *Session) Sync() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sync()
}

func (s *Session) sync() error {
	if s.file == nil || !s.writable {
		return nil // nothing of ours is in a file
	}
	if s.poisoned != nil {
		return fmt.Errorf("%s: sync: %w: %w", s.path, ErrPoisoned, s.poisoned)
	}
	err := s.file.Sync()
	for err == nil && len(s.dirty) > 0 {
		if err = s.opts.fs().SyncDir(s.dirty[0]); err == nil {
			s.dirty = s.dirty[1:]
		}
	}
	if err != nil {
		s.poisoned = err
		return fmt.Errorf("%s: sync failed, what is durable is unknown; reopen the session: %w", s.path, err)
	}
	return nil
}

// CustomOf builds the payload of a custom entry from any value.
func CustomOf(customType string, data any) (Custom, error) {
	raw, err := message.Marshal(data)
	if err != nil {
		return Custom{}, fmt.Errorf("session: encode %s: %w", customType, err)
	}
	return Custom{customType, json.RawMessage(raw)}, nil
}
