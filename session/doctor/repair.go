package doctor

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/piweb-go/piweb/internal/durable"
	"github.com/piweb-go/piweb/internal/structure"
	"github.com/piweb-go/piweb/session"
	"github.com/piweb-go/piweb/session/export"
	"github.com/tidwall/gjson"
)

// Change is one thing that a repaired copy has otherwise than the file.
type Change struct {
	Line  int        `json:"line,omitempty"` // of the file
	Entry session.ID `json:"entry,omitempty"`
	Text  string     `json:"text"`
}

// Repaired says what a repair did.
type Repaired struct {
	Path    string   `json:"path"`           // of the copy; empty where there was nothing to repair
	Torn    string   `json:"torn,omitempty"` // of the side file; empty where nothing had to be set aside
	Entries int      `json:"entries"`        // in the copy
	Aside   int64    `json:"aside"`          // bytes in the side file
	Changes []Change `json:"changes"`        // at most 1000
	More    int      `json:"more"`           // changes beyond those
}

// ErrCannot: the file holds no session that could be repaired.
var ErrCannot = errors.New("the file cannot be repaired")

const maxChanges = 1000

// Repair writes a repaired copy of a file beside it and returns its path. Where
// there is nothing to repair it writes nothing and the path is empty. It never
// writes over a file: one of an earlier repair is an error (fs.ErrExist). Both new
// files are synced; on error neither is left.
func Repair(path string) (string, Repaired, error) {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() > MaxFile {
		return "", Repaired{}, fmt.Errorf("%s: %w: it has %d MB, at most %d are read", path, ErrCannot, info.Size()>>20, int64(MaxFile)>>20)
	}
	s, l, err := open(path)
	if err != nil {
		if errors.Is(err, session.ErrNotSession) {
			err = fmt.Errorf("%w: %w", ErrCannot, err)
		}
		return "", Repaired{}, err
	}
	defer s.Close()
	if s.Header().Raw == nil {
		return "", Repaired{Changes: []Change{}}, nil // an empty file
	}
	if err := keepsLimits(s, path); err != nil {
		return "", Repaired{}, err
	}
	look := repair{s: s, l: l, path: path, out: bufio.NewWriter(io.Discard), torn: bufio.NewWriter(io.Discard)}
	if err := look.run(); err != nil || len(look.did.Changes) == 0 {
		return "", look.did, err
	}
	did, err := write(s, l, path, look.did.Aside > 0)
	return did.Path, did, err
}

// subagentType is the custom type of the record that limits a subagent.
const subagentType = "pi-web:subagent"

// keepsLimits refuses a subagent whose only record is damaged: a copy without it would
// be a session that may do everything.
func keepsLimits(s *session.Session, path string) error {
	for e := range s.Entries() {
		if e.CustomType == subagentType {
			return nil
		}
	}
	for _, d := range s.Diagnostics() {
		if d.CustomType == subagentType {
			return fmt.Errorf("%s: %w: the record on line %d, which says what this subagent may do, is damaged, and a copy without it could do everything; look at it with `piweb sessions show` or `piweb sessions export`", path, ErrCannot, d.Line)
		}
	}
	return nil
}

// write makes the two files.
func write(s *session.Session, l *lens, path string, aside bool) (_ Repaired, err error) {
	base := strings.TrimSuffix(path, ".jsonl") + ".repaired"
	fs := durable.OS{}
	perm := os.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		perm = info.Mode().Perm()
	}
	var files []durable.File
	defer func() {
		for _, f := range files {
			if err == nil {
				err = f.Sync()
			}
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			for i := range files {
				err = errors.Join(err, fs.Remove(base+[]string{".jsonl", ".torn"}[i]))
			}
			return
		}
		err = fs.SyncDir(filepath.Dir(path))
	}()
	r := repair{s: s, l: l, path: path, torn: bufio.NewWriter(io.Discard)}
	f, err := durable.Create(fs, base+".jsonl", nil, perm)
	if err != nil {
		return r.did, fmt.Errorf("create the repaired copy: %w", err)
	}
	files = append(files, f)
	r.out = bufio.NewWriterSize(f, 64<<10)
	if aside {
		f, err := durable.Create(fs, base+".torn", nil, perm)
		if err != nil {
			return r.did, fmt.Errorf("create the side file of the repair: %w", err)
		}
		files = append(files, f)
		r.torn = bufio.NewWriterSize(f, 64<<10)
		r.did.Torn = base + ".torn"
	}
	r.did.Path = base + ".jsonl"
	return r.did, r.run()
}

// repair is one pass over a file: over the first writer go header and entries,
// over the second every byte between them that is not white space.
type repair struct {
	s    *session.Session
	l    *lens
	path string
	out  *bufio.Writer
	torn *bufio.Writer
	did  Repaired
}

func (r *repair) note(e session.Entry, format string, args ...any) {
	if len(r.did.Changes) == maxChanges {
		r.did.More++
		return
	}
	r.did.Changes = append(r.did.Changes, Change{r.l.line(e.Line), e.ID, fmt.Sprintf(format, args...)})
}

func (r *repair) run() error {
	r.did.Changes = []Change{}
	f, err := os.Open(r.path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	plan, err := export.Tree(r.s)
	if err != nil {
		return err
	}
	for _, flaw := range r.l.flaws {
		r.note(session.Entry{}, "%s", flaw.Text)
	}
	at, err := r.header(f, plan, info.Size())
	if err != nil {
		return err
	}
	for i := range plan.Len() {
		e := plan.Entry(i)
		start := r.l.offset(e.Offset)
		if err := r.aside(f, at, start); err != nil {
			return err
		}
		at = start + r.length(plan, i)
		if err := r.entry(plan, i); err != nil {
			return err
		}
	}
	if err := r.aside(f, at, info.Size()); err != nil {
		return err
	}
	for _, d := range r.s.Diagnostics() {
		if d.Kind == session.KindGlued {
			r.note(session.Entry{Line: d.Line}, "records that stood on one line got lines of their own")
		}
	}
	return errors.Join(r.out.Flush(), r.torn.Flush())
}

// header writes the header and returns where the file goes on behind it. What
// stands in front of it goes aside; the name in a title record of oh-my-pi goes
// into the header, where oh-my-pi looks for it too.
func (r *repair) header(f *os.File, plan *export.Plan, size int64) (int64, error) {
	h := r.s.Header()
	end := size
	if plan.Len() > 0 {
		end = r.l.offset(plan.Entry(0).Offset)
	}
	if r.l.front > 0 {
		if err := r.aside(f, r.l.marks, r.l.front); err != nil {
			return 0, err
		}
	}
	at := r.l.skip
	region := make([]byte, min(end-at, headerRegion))
	if _, err := f.ReadAt(region, at); err != nil && err != io.EOF {
		return 0, err
	}
	head := []byte(h.Raw)
	var err error
	if i := bytes.Index(region, h.Raw); i >= 0 {
		if err := r.aside(f, at, at+int64(i)); err != nil {
			return 0, err
		}
		head, err = titled(head, region[:i])
		at += int64(i) + int64(len(h.Raw))
	}
	if err == nil && h.Version < session.Version {
		head, err = structure.Set(head, "version", strconv.AppendInt(nil, session.Version, 10))
	}
	if err != nil {
		return 0, fmt.Errorf("%s: write the header anew: %w", r.path, err)
	}
	_, err = r.out.Write(append(bytes.Clone(head), '\n'))
	return at, err
}

// headerRegion bounds what is read at once to find the header.
const headerRegion = 64 << 20

// titled gives a header the title of a record in front of it.
func titled(head, front []byte) ([]byte, error) {
	if field(head, "title").Exists() {
		return head, nil
	}
	for _, line := range bytes.Split(front, []byte("\n")) {
		line = bytes.TrimSpace(line)
		if title := field(line, "title"); structure.Valid(line) && field(line, "type").String() == "title" && title.Type == gjson.String && title.Str != "" {
			return structure.SetText(head, "title", title.Str)
		}
	}
	return head, nil
}

// length is how many bytes of the file an entry takes. In files of version 1 and 2
// the entry at hand is the migrated one, so its end is looked for in the file.
func (r *repair) length(plan *export.Plan, i int) int64 {
	e := plan.Entry(i)
	if r.s.Header().Version >= session.Version {
		return e.Len
	}
	f, err := os.Open(r.path)
	if err != nil {
		return e.Len
	}
	defer f.Close()
	start := r.l.offset(e.Offset)
	return objectLen(bufio.NewReader(io.NewSectionReader(f, start, MaxFile)))
}

// objectLen is the length of the JSON object that a reader begins with.
func objectLen(in *bufio.Reader) (n int64) {
	depth, inString, escaped := 0, false, false
	for {
		c, err := in.ReadByte()
		if err != nil {
			return n
		}
		n++
		switch {
		case escaped:
			escaped = false
		case inString && c == '\\':
			escaped = true
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return n
			}
		}
	}
}

// entry writes one entry, and tells what changed.
func (r *repair) entry(plan *export.Plan, i int) error {
	e := plan.Entry(i)
	raw, err := r.s.Raw(e)
	if err != nil {
		return err
	}
	lines, err := plan.Lines(i)
	if err != nil {
		return err
	}
	if !bytes.Equal(lines[0], raw) {
		r.tell(e, raw, lines[0])
	}
	if len(lines) > 1 {
		r.note(e, "the edit is repeated for each entry that had the id of its target")
	}
	if body := structure.Get(lines[0], "message"); e.Type == session.TypeMessage && nullContent(e, body) {
		if body, err = structure.Set(body, "content", []byte("[]")); err == nil {
			lines[0], err = structure.Set(lines[0], "message", body)
		}
		if err != nil {
			return err
		}
		r.note(e, "the missing content of the message became an empty list")
	}
	for _, line := range lines {
		r.did.Entries++
		if _, err := r.out.Write(append(bytes.Clone(line), '\n')); err != nil {
			return err
		}
	}
	return nil
}

// tell says in which fields an entry changed.
func (r *repair) tell(e session.Entry, before, after []byte) {
	for _, key := range []string{"id", "parentId", "firstKeptEntryId"} {
		was, is := field(before, key), field(after, key)
		if was.Raw == is.Raw {
			continue
		}
		switch {
		case key == "id":
			r.note(e, "the id occurs again; this entry got the id %s", is.Str)
		case key == "firstKeptEntryId" && is.Str == field(after, "id").Str:
			r.note(e, "the compaction keeps %s, which is not on its branch; it says now that it keeps nothing", was.Str)
		case key == "firstKeptEntryId":
			r.note(e, "the compaction keeps %s, which is %s now", was.Str, is.Str)
		case is.Type == gjson.Null:
			r.note(e, "the parent %s is not there, or leads back here; the entry is a beginning now", was.Str)
		default:
			r.note(e, "the parent %s is %s now", was.Str, is.Str)
		}
	}
}

// aside copies what stands between two places of the file into the side file, one
// line for each piece, without blank lines.
func (r *repair) aside(f *os.File, from, to int64) error {
	in := bufio.NewReaderSize(io.NewSectionReader(f, from, max(0, to-from)), 64<<10)
	open := false // a piece has begun
	began := from
	for at := from; at < to; at++ {
		c, err := in.ReadByte()
		if err != nil {
			return fmt.Errorf("%s: read at byte %d: %w", r.path, at, err)
		}
		if !open && strings.IndexByte(" \t\r\n", c) >= 0 {
			continue
		}
		if !open {
			open, began = true, at
		}
		if c == '\n' {
			r.piece(began, at)
			open = false
		}
		if err := r.torn.WriteByte(c); err != nil {
			return err
		}
		r.did.Aside++
	}
	if !open {
		return nil
	}
	r.piece(began, to)
	r.did.Aside++
	return r.torn.WriteByte('\n')
}

func (r *repair) piece(from, to int64) {
	r.note(session.Entry{}, "%d bytes at byte %d are no record; they stand in the side file", to-from, from)
}

// Files lists the session files of a folder and the folders in it, in order: names
// that end in .jsonl, links to files included; no hidden ones.
func Files(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			if path == dir {
				return err
			}
			return nil // a folder that may not be read hides no other
		}
		if path != dir && strings.HasPrefix(d.Name(), ".") {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if d.IsDir() || !strings.HasSuffix(d.Name(), ".jsonl") {
			return nil
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the session files of %s: %w", dir, err)
	}
	return files, nil
}
