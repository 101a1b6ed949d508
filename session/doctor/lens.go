package doctor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/piweb-go/piweb/internal/durable"
	"github.com/piweb-go/piweb/internal/structure"
	"github.com/piweb-go/piweb/message"
	"github.com/piweb-go/piweb/session"
	"github.com/tidwall/gjson"
)

// lens shows a file that package session refuses as if its flaw were not there:
// without the first bytes, and with a header in front. What is seen through it has
// other offsets and lines than the file.
type lens struct {
	durable.OS
	skip   int64  // bytes of the file that are not seen
	prefix []byte // what is seen before the rest
	lines  int    // how many lines the file has more than what is seen, before any entry
	marks  int64  // of skip: byte order marks, which nobody misses
	front  int64  // where the header line begins that prefix stands for, if skip covers it
	flaws  []Finding
}

// headerLimit is how far into a file a header is looked for, in bytes; pi and
// piweb look as far.
const headerLimit = 1 << 20

var bom = []byte("\xEF\xBB\xBF")

// open opens a session, through a lens where it must be. The lens is never nil.
func open(path string) (*session.Session, *lens, error) {
	s, err := session.Open(path, session.Options{Strict: true})
	if err == nil {
		return withIDs(path, s)
	}
	if !errors.Is(err, session.ErrNotSession) {
		return nil, &lens{}, err
	}
	l, ok := grind(path)
	if !ok {
		return nil, &lens{}, err
	}
	s, again := session.Open(path, session.Options{FS: l, Strict: true})
	if again != nil {
		return nil, &lens{}, err
	}
	if s.Header().Raw == nil { // nothing but a mark
		_ = s.Close()
		return nil, &lens{}, err
	}
	return s, l, nil
}

// withIDs looks at a session without a single id as at one of version 1, which it
// was before pi forked it.
func withIDs(path string, s *session.Session) (*session.Session, *lens, error) {
	h := s.Header()
	noIDs := func(d session.Diagnostic) bool { return d.Kind == session.KindNoID }
	if s.Len() > 0 || h.Raw == nil || !slices.ContainsFunc(s.Diagnostics(), noIDs) {
		return s, &lens{}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return s, &lens{}, nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, headerLimit))
	i := bytes.Index(data, h.Raw)
	head, setErr := structure.Set(h.Raw, "version", []byte("1"))
	if err != nil || setErr != nil || i < 0 {
		return s, &lens{}, nil
	}
	before := bytes.Count(data[:i], []byte("\n"))
	l := &lens{front: int64(i), skip: int64(i + len(h.Raw)), prefix: head, lines: before}
	l.flaws = []Finding{{Kind: KindNoIDs, Severity: Loss, Reader: Every, Line: before + 1,
		Text: fmt.Sprintf("the header says version %d, and no record has an id; pi and piweb show none of them. pi writes such files when it forks one of version 1", h.Version), Advice: "repair it: the records become one branch"}}
	old, err := session.Open(path, session.Options{FS: l, Strict: true})
	if err != nil || old.Len() == 0 {
		return s, &lens{}, nil
	}
	_ = s.Close()
	return old, l, nil
}

// grind finds the lens that a file needs.
func grind(path string) (*lens, bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, false
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, headerLimit))
	if err != nil {
		return nil, false
	}
	l := &lens{}
	rest := data
	for bytes.HasPrefix(rest, bom) {
		rest = rest[len(bom):]
		l.skip += int64(len(bom))
	}
	if l.marks = l.skip; l.skip > 0 {
		l.flaws = append(l.flaws, Finding{Kind: KindBOM, Severity: Loss, Reader: Every, Line: 1, Text: "the file begins with a byte order mark; pi and piweb refuse it",
			Advice: "repair it, or remove the first three bytes"})
		if s, err := session.Open(path, session.Options{FS: l, Strict: true}); err == nil {
			_ = s.Close()
			return l, true
		}
	}
	return l, l.header(path, rest)
}

// header finds or makes the header that a file needs in front.
func (l *lens) header(path string, data []byte) bool {
	var first []byte // the record that could be the first entry
	firstLine, offset := 0, int64(0)
	for n, line := range bytes.SplitAfter(data, []byte("\n")) {
		text := bytes.TrimSpace(line)
		offset += int64(len(line))
		if !structure.Valid(text) || text[0] != '{' {
			continue
		}
		typ, id := field(text, "type").String(), field(text, "id")
		switch {
		case typ == "session" && id.Type == gjson.String:
			l.prefix, l.lines = append(bytes.Clone(text), '\n'), -1
			l.flaws = append(l.flaws, Finding{Kind: KindHeaderLost, Severity: Loss, Reader: Every, Line: n + 1, Text: "something stands in front of the header; pi and piweb refuse the file",
				Advice: "repair it: the header becomes the first line"})
			return true
		case typ == "session" && firstLine == 0:
			id, _ := fromName(path)
			fixed, err := structure.SetText(text, "id", id)
			if err != nil {
				return false
			}
			l.front = l.skip + offset - int64(len(line))
			l.prefix, l.skip, l.lines = append(fixed, '\n'), l.skip+offset, n
			l.flaws = append(l.flaws, Finding{Kind: KindHeaderID, Severity: Loss, Reader: Every, Line: n + 1, Text: "the header has no id; pi and piweb refuse the file",
				Advice: "repair it: the id comes from the file's name, or is new"})
			return true
		case firstLine == 0:
			first, firstLine = text, n+1
		}
	}
	if field(first, "id").Type != gjson.String || field(first, "type").Type != gjson.String || !field(first, "parentId").Exists() {
		return false
	}
	id, at := fromName(path)
	if at == "" {
		at = field(first, "timestamp").String()
	}
	head, err := message.Marshal(struct {
		Type      string `json:"type"`
		Version   int    `json:"version"`
		ID        string `json:"id"`
		Timestamp string `json:"timestamp"`
	}{"session", session.Version, id, at})
	if err != nil {
		return false
	}
	l.prefix, l.lines = append(head, '\n'), -1
	l.flaws = append(l.flaws, Finding{Kind: KindHeaderLost, Severity: Loss, Reader: Every, Line: 1, Text: "the header is lost; pi and piweb refuse the file. pi leaves such files when a session is deleted while it runs",
		Advice: "repair it: a new header takes its id and time from the file's name; the folder is not known any more, name it when you go on"})
	return true
}

var namePattern = regexp.MustCompile(`^(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d)-(\d{3}Z)_(.+)$`)

// fromName takes id and time from a file's name as pi makes it; without one the id
// is derived from the path, so that it is the same at every run.
func fromName(path string) (id, at string) {
	base := strings.TrimSuffix(filepath.Base(path), ".jsonl")
	if m := namePattern.FindStringSubmatch(base); m != nil {
		if id, err := session.ParseSessionID(m[5]); err == nil {
			return id, m[1] + ":" + m[2] + ":" + m[3] + "." + m[4]
		}
	}
	return uuid.NewSHA1(uuid.Nil, []byte("piweb doctor\n"+base)).String(), ""
}

// offset turns a place of what is seen into one of the file.
func (l *lens) offset(at int64) int64 { return at - int64(len(l.prefix)) + l.skip }

// line does the same for lines.
func (l *lens) line(n int) int {
	if n == 0 {
		return 0
	}
	return max(1, n+l.lines)
}

// OpenFile opens a file as it is seen, to read it.
func (l *lens) OpenFile(name string, flag int, perm os.FileMode) (durable.File, error) {
	if flag != os.O_RDONLY {
		return nil, errReadOnly
	}
	f, err := l.OS.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return &seen{f, l}, nil
}

var errReadOnly = fmt.Errorf("a file seen through a lens is not written")

// seen is a file through a lens.
type seen struct {
	durable.File
	l *lens
}

func (f *seen) ReadAt(p []byte, off int64) (n int, err error) {
	if head := int64(len(f.l.prefix)); off < head {
		n = copy(p, f.l.prefix[off:])
		if n == len(p) {
			return n, nil
		}
	}
	m, err := f.File.ReadAt(p[n:], f.l.offset(off+int64(n)))
	return n + m, err
}

func (f *seen) Write([]byte) (int, error) { return 0, errReadOnly }
func (f *seen) Truncate(int64) error      { return errReadOnly }
func (f *seen) Stat() (os.FileInfo, error) {
	info, err := f.File.Stat()
	if err != nil {
		return nil, err
	}
	return sized{info, info.Size() - f.l.skip + int64(len(f.l.prefix))}, nil
}

// sized is a file's description with the size that is seen.
type sized struct {
	os.FileInfo
	size int64
}

func (s sized) Size() int64 { return s.size }
