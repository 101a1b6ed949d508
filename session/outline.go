package session

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/piweb-go/piweb/internal/structure"
	"github.com/piweb-go/piweb/message"
)

// Outline is [Session.Context] for those who count: the same entries, settings and
// diagnostics, and messages that have left what they say and no more than what they
// are (see [message.Bare]). Content that a context edit put in place is there. System
// is left out.
//
// A message is read once and remembered in some 60 bytes, so that the next outline
// costs a walk of the branch. TestOutlineAgainstContext holds it against Context.
func (s *Session) Outline() (*Context, error) { return s.outlineAt(s.Leaf()) }

func (s *Session) outlineAt(leaf ID) (*Context, error) {
	if r := s.opts.Recent; r != nil {
		defer r.turn(s.Path())()
		s.share(r)
		defer s.lend(r)
	}
	branch, err := s.Branch(leaf)
	if err != nil {
		return nil, err
	}
	c := &Context{Leaf: leaf, Branch: branch.IDs(), Diagnostics: branch.Diagnostics}
	b := builder{s: s, c: c, decoded: make(map[int]Payload), bare: &window{}}
	return c, b.build(branch.Entries)
}

// gist is what an outline keeps of a message.
type gist struct {
	state  gistState
	kind   gistKind
	text   gistText
	parts  []part
	word   string      // why an answer ended, the call that a result is of, a role that is unknown
	author *gistAuthor // of an answer
}

type gistState uint8

const (
	gistUnread gistState = iota
	gistDamaged
	gistNoMessage // an entry of the type message without one
	gistMessage
)

// gistText says what is odd about the bytes of a message.
type gistText bool

const gistNotUTF8 gistText = true

type gistKind uint8

const (
	gistUser gistKind = iota
	gistAnswer
	gistResult
	gistSystem
	gistBash
	gistHiddenBash
	gistCustom
	gistBranchSummary
	gistCompactionSummary
	gistUnknown
)

type gistAuthor struct{ api, provider, model string }

// part is what is kept of a block.
type part struct {
	kind, id string
	empty    bool
}

// oneText is what most messages of people and tools have.
var oneText = []part{{kind: message.TypeText}}

func partsOf(c message.Content) []part {
	if len(c) == 1 && c[0].Type == message.TypeText && c[0].Text != "" {
		return oneText
	}
	if c == nil {
		return nil
	}
	parts := make([]part, len(c))
	for i, b := range c {
		parts[i] = part{b.Type, b.ID, b.Text == ""}
	}
	return parts
}

func contentOf(parts []part) message.Content {
	if parts == nil {
		return nil
	}
	c := make(message.Content, len(parts))
	for i, p := range parts {
		c[i] = message.Block{Type: p.kind, ID: p.id}
		if p.kind == message.TypeText && !p.empty {
			c[i].Text = " "
		}
	}
	return c
}

// keep makes the gist of a bare message. before is the author of an earlier answer,
// which is shared where it is the same one.
func (g *gist) keep(m message.Message, before *gistAuthor) {
	g.state = gistMessage
	switch m := m.(type) {
	case *message.User:
		g.kind, g.parts = gistUser, partsOf(m.Content)
	case *message.Assistant:
		g.kind, g.parts, g.word = gistAnswer, partsOf(m.Content), usualStop(m.StopReason)
		if g.author = before; before == nil || *before != (gistAuthor{m.API, m.Provider, m.Model}) {
			g.author = &gistAuthor{m.API, m.Provider, m.Model}
		}
	case *message.ToolResult:
		g.kind, g.parts, g.word = gistResult, partsOf(m.Content), m.ToolCallID
	case *message.System:
		g.kind = gistSystem
	case *message.BashExecution:
		if g.kind = gistBash; m.ExcludeFromContext {
			g.kind = gistHiddenBash
		}
	case *message.Custom:
		g.kind, g.parts = gistCustom, partsOf(m.Content)
	case *message.BranchSummary:
		g.kind = gistBranchSummary
	case *message.CompactionSummary:
		g.kind = gistCompactionSummary
	default:
		g.kind, g.word = gistUnknown, string(m.Role())
	}
}

// usualStop shares the reasons for which answers end.
func usualStop(r message.StopReason) string {
	for _, known := range [...]message.StopReason{message.StopEnd, message.StopToolUse, message.StopError, message.StopAborted, message.StopLength} {
		if r == known {
			return string(known)
		}
	}
	return string(r)
}

// message is the bare message again, for one reader to change.
func (g *gist) message() message.Message {
	switch g.kind {
	case gistUser:
		return &message.User{Content: contentOf(g.parts)}
	case gistAnswer:
		return &message.Assistant{Content: contentOf(g.parts), API: g.author.api, Provider: g.author.provider, Model: g.author.model, StopReason: message.StopReason(g.word)}
	case gistResult:
		return &message.ToolResult{Content: contentOf(g.parts), ToolCallID: g.word}
	case gistSystem:
		return &message.System{}
	case gistBash, gistHiddenBash:
		return &message.BashExecution{ExcludeFromContext: g.kind == gistHiddenBash}
	case gistCustom:
		return &message.Custom{Content: contentOf(g.parts)}
	case gistBranchSummary:
		return &message.BranchSummary{}
	case gistCompactionSummary:
		return &message.CompactionSummary{}
	}
	return &message.Unknown{Kind: message.Role(g.word)}
}

// gistOf reads a message, or remembers it.
func (s *Session) gistOf(e Entry, w *window) (gist, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.mem == nil && e.pos < len(s.gists) && s.gists[e.pos].state != gistUnread {
		return s.gists[e.pos], nil
	}
	raw, err := s.viewOf(e, w)
	if err != nil {
		return gist{}, err
	}
	var g gist
	switch typ, body := "", []byte(nil); {
	case e.mem == nil && isSaid(e.Type, e.Role) && !structure.Valid(raw):
		g.state = gistDamaged
	default:
		g.text = gistText(isSaid(e.Type, e.Role) && !utf8.Valid(raw))
		g.state = gistNoMessage
		if typ, body = typeAndMessage(raw); typ == TypeMessage && len(body) > 0 && body[0] == '{' {
			g.keep(message.Bare(body), s.author)
		}
	}
	if g.author != nil {
		s.author = g.author
	}
	if e.mem == nil {
		s.remark(e.pos, g)
	}
	return g, nil
}

// remark remembers a gist. Those that others may read are copied first.
func (s *Session) remark(pos int, g gist) {
	if s.gistsLent {
		s.gists, s.gistsLent = slices.Clone(s.gists), false
	}
	if pos >= len(s.gists) {
		s.gists = append(s.gists, make([]gist, len(s.entries)-len(s.gists))...)
	}
	s.gists[pos], s.gistsNew = g, true
}

// forgetGists is called where entries are taken out of the index.
func (s *Session) forgetGists(from int) {
	if from < len(s.gists) {
		s.gists, s.gistsLent = slices.Clone(s.gists[:from]), false
	}
}

// window is a part of a file that was read ahead: a branch nearly always goes on
// where it is.
type window struct {
	at   int64
	data []byte
	next int64 // how much is read next, in bytes: more from time to time
}

// viewOf is raw without a copy: what it gives is valid until the next call.
func (s *Session) viewOf(e Entry, w *window) ([]byte, error) {
	if e.mem != nil {
		return e.mem, nil
	}
	if s.closed {
		return nil, fmt.Errorf("%s: read entry %s: %w", s.path, e.ID, ErrClosed)
	}
	if end := e.Offset + e.Len; e.Offset < w.at || end > w.at+int64(len(w.data)) {
		w.next = min(max(2*w.next, scanBlock/16), scanBlock)
		from, to := e.Offset, max(end, min(s.end, e.Offset+w.next))
		if e.Offset < w.at || len(w.data) == 0 { // settings are looked for from the leaf on
			from, to = min(e.Offset, max(0, end-w.next)), end
		}
		if int64(cap(w.data)) < to-from {
			w.data = make([]byte, to-from)
		}
		w.at, w.data = from, w.data[:to-from]
		n, err := s.file.ReadAt(w.data, w.at)
		if w.data = w.data[:n]; w.at+int64(n) < end {
			return nil, fmt.Errorf("%s: read entry %s at byte %d: %w", s.path, e.ID, e.Offset, replacedAtEnd(err))
		}
	}
	raw := w.data[e.Offset-w.at:][:e.Len]
	if !s.checkIndexed(e, raw) {
		return s.raw(e) // says it as everybody hears it
	}
	return raw, nil
}

// replacedAtEnd takes an early end of a file for what it is.
func replacedAtEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return ErrReplaced
	}
	return err
}
