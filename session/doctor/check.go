package doctor

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/piweb-go/piweb/session"
)

// Bounds of a check.
const (
	// MaxFile is the largest file that is read, in bytes.
	MaxFile = 4 << 30
	// MaxContext is the largest branch whose context is built, in bytes: building
	// holds all of it.
	MaxContext = 256 << 20
)

// Check reads a file and says what is odd about it. It does not fail: what keeps
// a file from being read is a finding.
func Check(path string) Report {
	r := Report{Path: path, Findings: []Finding{}}
	info, err := os.Stat(path)
	if err == nil {
		r.Bytes = info.Size()
	}
	if err == nil && info.Mode().IsRegular() && r.Bytes > MaxFile {
		r.add(Finding{Kind: KindTooLarge, Severity: Warning, Reader: Every, Text: fmt.Sprintf("the file has %d MB; it was not read", r.Bytes>>20),
			Advice: fmt.Sprintf("files of up to %d MB are checked", int64(MaxFile)>>20)})
		return r
	}
	s, l, err := open(path)
	if err != nil {
		r.refused(err)
		return r
	}
	defer s.Close()
	r.Opens = len(l.flaws) == 0
	for _, f := range l.flaws {
		r.add(f)
	}
	c := checker{s: s, l: l, r: &r}
	if err := c.run(); err != nil {
		r.add(Finding{Kind: KindUnreadable, Severity: Loss, Reader: Every, Text: err.Error(), Advice: "read it again; if it stays so, restore a copy"})
	}
	r.sort()
	return r
}

func (r *Report) refused(err error) {
	f := Finding{Kind: KindUnreadable, Severity: Loss, Reader: Every, Text: err.Error()}
	var format *session.FormatError
	if errors.As(err, &format) {
		f = Finding{Kind: KindNoSession, Severity: Loss, Reader: Every, Line: format.Line, Text: "this is no session: " + format.Reason, Advice: format.Advice}
	}
	r.add(f)
}

// checker looks at one open session.
type checker struct {
	s       *session.Session
	l       *lens
	r       *Report
	entries []session.Entry
	branch  []session.Entry
}

func (c *checker) run() error {
	h := c.s.Header()
	c.r.ID, c.r.Version, c.r.Entries = h.ID, h.Version, c.s.Len()
	for e := range c.s.Entries() {
		c.entries = append(c.entries, e)
	}
	b, err := c.s.Branch(c.s.Leaf())
	if err != nil {
		return err
	}
	c.branch, c.r.Branch = b.Entries, len(b.Entries)
	if h.Raw != nil {
		c.header(h)
	}
	for _, d := range c.s.Diagnostics() {
		c.diagnostic(d)
	}
	if err := c.context(b); err != nil {
		return err
	}
	c.cycles()
	c.orphans()
	return c.bodies()
}

// header looks at what stands in the header.
func (c *checker) header(h session.Header) {
	switch {
	case h.CWD == "":
		c.r.add(Finding{Kind: KindNoFolder, Severity: Note, Reader: Every, Line: 1, Text: "the header names no folder: pi works where it was started, piweb asks",
			Advice: "name one with --cwd when you go on"})
	default:
		if info, err := os.Stat(h.CWD); err != nil || !info.IsDir() {
			c.r.add(Finding{Kind: KindFolderGone, Severity: Note, Reader: Every, Line: 1,
				Text:   fmt.Sprintf("the folder %s of the header is not here: pi asks, or ends where it cannot ask; piweb refuses to go on", h.CWD),
				Advice: "go on with --cwd DIR, or make the folder again"})
		}
	}
	if h.Version < session.Version && len(c.l.flaws) == 0 {
		c.r.add(Finding{Kind: KindOldVersion, Severity: Warning, Reader: Pi, Line: 1,
			Text:   fmt.Sprintf("the file has version %d: pi rewrites all of it in place when it opens it, and a crash in between costs the rest", h.Version),
			Advice: "go on with piweb, which replaces it in one step and keeps the old one, or export it"})
	}
	if len(c.l.flaws) == 0 && len(c.entries) > 0 && c.entries[0].Offset > headerLimit {
		c.r.add(Finding{Kind: KindHeaderLate, Severity: Warning, Reader: Pi, Line: 1, Text: "the header ends behind the first MB: pi opens the file, and does not find it by its id",
			Advice: "repair it"})
	}
}

// context adds what building the context notices.
func (c *checker) context(b session.Branch) error {
	size := int64(0)
	for _, e := range b.Entries {
		size += e.Len
	}
	if size > MaxContext {
		for _, d := range b.Diagnostics {
			c.diagnostic(d)
		}
		c.r.add(Finding{Kind: KindContext, Severity: Note, Reader: Piweb, Text: fmt.Sprintf("the branch has %d MB; its context was not built", size>>20),
			Advice: "it opens; only this check is left out"})
		return nil
	}
	built, err := c.s.Context()
	if err != nil {
		return err
	}
	for _, d := range built.Diagnostics {
		c.diagnostic(d)
	}
	return nil
}

// diagnostic turns a diagnostic of package session into a finding: its words, and
// what it costs.
func (c *checker) diagnostic(d session.Diagnostic) {
	f := Finding{Kind: string(d.Kind), Severity: Warning, Reader: Pi, Line: c.l.line(d.Line), Entry: d.ID, Text: d.Text, Advice: "repair it"}
	switch d.Kind {
	case session.KindEmpty:
		f.Severity, f.Reader, f.Advice = Note, Every, ""
	case session.KindTornTail, session.KindBadLine:
		f.Reader = Every
		if c.onLine(d.Line) {
			f.Severity, f.Reader = Loss, Pi
			f.Text += "; pi reads nothing of the line"
		}
	case session.KindGlued:
		f.Severity = Loss
		f.Text += "; pi reads none of them, and loses what stands before them too"
	case session.KindNotObject, session.KindNoID:
		f.Text += "; pi keeps it as an entry that nothing can find"
		if c.last(d.Line) {
			f.Severity = Loss
			f.Text += "; as it stands last, pi begins anew at the next prompt, and the history is out of its context"
		}
	case session.KindHeader:
		f.Severity = Note
		f.Text += "; pi reads it so too"
	case session.KindPreface:
		f.Severity = Loss
		f.Text += "; pi refuses the file and does not list it"
	case session.KindDuplicate:
		f.Text += "; pi's tree shows it several times"
	case session.KindNoParent:
		f.Severity, f.Reader = Loss, Every
		f.Advice = "the entries before may be on a damaged line or in a backup; a repair makes this entry a beginning"
	case session.KindCycle:
		return // cycles finds them on every branch
	case session.KindKept:
		f.Reader = Every
		f.Text += "; pi reads it so too"
	case session.KindVersion:
		f.Severity, f.Reader, f.Advice = Note, Every, "go on with a newer program where you can"
	case session.KindLeaves:
		f.Reader, f.Advice = Every, "choose the branch that you want; nothing is lost"
	}
	c.r.add(f)
}

// onLine tells whether an entry was read from a line.
func (c *checker) onLine(line int) bool {
	i, ok := slices.BinarySearchFunc(c.entries, line, func(e session.Entry, line int) int { return e.Line - line })
	return ok && i < len(c.entries)
}

// last tells whether no entry stands behind a line.
func (c *checker) last(line int) bool {
	return len(c.entries) == 0 || c.entries[len(c.entries)-1].Line < line
}

// cycles finds ids from which pi's walk comes back: pi knows of each id only the
// last entry, and has no guard.
func (c *checker) cycles() {
	last := map[session.ID]session.Entry{}
	for _, e := range c.entries {
		last[e.ID] = e
	}
	own := map[session.ID]bool{}
	for _, e := range c.branch {
		own[e.ID] = true
	}
	done := map[session.ID]int{}
	bad := map[session.ID]bool{}
	for i, e := range c.entries {
		walk := i + 1
		id := e.ID
		for id != "" && done[id] == 0 {
			done[id] = walk
			next, ok := last[last[id].Parent]
			if !ok {
				break
			}
			id = next.ID
			if done[id] == walk && !bad[id] {
				bad[id] = true
				when := "when it shows this branch"
				if own[id] {
					when = "as soon as it opens the session"
				}
				c.r.add(Finding{Kind: string(session.KindCycle), Severity: Loss, Reader: Pi, Line: c.l.line(last[id].Line), Entry: id,
					Text:   fmt.Sprintf("from the entry %s the walk to the root comes back to it; pi walks on until its memory is full %s", id, when),
					Advice: "repair it before you open it in pi"})
			}
		}
	}
}

// orphans finds other branches that begin at a parent that is not there; of the
// leaf's own branch the context told.
func (c *checker) orphans() {
	known := map[session.ID]bool{"": true}
	for _, e := range c.entries {
		known[e.ID] = true
	}
	own := map[int64]bool{}
	for _, e := range c.branch {
		own[e.Offset] = true
	}
	for _, e := range c.entries {
		if !known[e.Parent] && !own[e.Offset] {
			c.r.add(Finding{Kind: string(session.KindNoParent), Severity: Warning, Reader: Every, Line: c.l.line(e.Line), Entry: e.ID,
				Text:   fmt.Sprintf("the parent %s is not in the file; another branch begins here", e.Parent),
				Advice: "the entries before may be on a damaged line or in a backup; a repair makes this entry a beginning"})
		}
	}
}
