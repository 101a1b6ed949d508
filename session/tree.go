package session

import (
	"fmt"
	"slices"
	"strings"
)

// Branch is the path from a root to an entry.
type Branch struct {
	Entries     []Entry // root first
	Diagnostics []Diagnostic
}

// IDs returns the ids of the branch, root first.
func (b Branch) IDs() []ID {
	ids := make([]ID, len(b.Entries))
	for i, e := range b.Entries {
		ids[i] = e.ID
	}
	return ids
}

// Branch walks from an entry to its root. An empty id gives the empty branch.
// The walk ends in bounded time on any file: a parent that is not there, or one
// that was passed already, makes its child act as the root and is reported.
func (s *Session) Branch(leaf ID) (Branch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if leaf == "" {
		return Branch{}, nil
	}
	i, ok := s.place(leaf)
	if !ok {
		return Branch{}, fmt.Errorf("%s: %w: %s", s.path, ErrNoEntry, leaf)
	}
	return s.walk(i), nil
}

func (s *Session) walk(leaf int) Branch {
	b := Branch{Entries: make([]Entry, 0, leaf+1)}
	visited := make([]bool, len(s.entries))
	cursor := map[ID]int{} // how many twins of an id are left to try
	for i := leaf; ; {
		e := s.entries[i]
		visited[i] = true
		b.Entries = append(b.Entries, e)
		if e.Parent == "" {
			break
		}
		next, known := s.parentOf(e, visited, cursor)
		if next < 0 {
			kind, text := KindNoParent, "the parent %s is not in the file; what stood before it is not part of this branch"
			if known {
				kind, text = KindCycle, "the parent %s was passed already; the walk stops here"
			}
			b.Diagnostics = append(b.Diagnostics, Diagnostic{Kind: kind, Line: e.Line, Offset: e.Offset, ID: e.ID, Text: fmt.Sprintf(text, e.Parent)})
			break
		}
		i = next
	}
	for l, r := 0, len(b.Entries)-1; l < r; l, r = l+1, r-1 {
		b.Entries[l], b.Entries[r] = b.Entries[r], b.Entries[l]
	}
	return b
}

// parentOf finds the parent's place: the last entry with its id, as in pi. Where
// an id was used twice and the last one was passed already, the one before it
// is taken, so that a re-used id costs no history. It returns -1 when there is
// none, and whether the id exists at all.
func (s *Session) parentOf(e Entry, visited []bool, cursor map[ID]int) (place int, known bool) {
	last, ok := s.place(e.Parent)
	if !ok {
		return -1, false
	}
	if !visited[last] {
		return last, true
	}
	twins := s.twins[e.Parent]
	left, ok := cursor[e.Parent]
	if !ok {
		left = len(twins)
	}
	for left > 0 { // each twin is looked at once per walk
		left--
		if !visited[twins[left]] {
			cursor[e.Parent] = left
			return twins[left], true
		}
	}
	cursor[e.Parent] = 0
	return -1, true
}

// Leaves lists the entries that have no children, in file order. An id that
// occurs several times is one entry.
func (s *Session) Leaves() []ID {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []ID
	for _, i := range s.leafPlaces() {
		ids = append(ids, s.entries[i].ID)
	}
	return ids
}

func (s *Session) leafPlaces() []int {
	isParent := make(map[ID]bool, len(s.entries))
	for _, e := range s.entries {
		if e.Parent != e.ID {
			isParent[e.Parent] = true
		}
	}
	var places []int
	for i, e := range s.entries {
		if last, _ := s.place(e.ID); !isParent[e.ID] && last == i {
			places = append(places, i)
		}
	}
	return places
}

// noteLeaves reports a branch that the rule "the last entry is the leaf" hides:
// one that has more messages than the leaf's own, as after a late bookkeeping
// record of a process that had stood still.
func (s *Session) noteLeaves() {
	if s.leaf < 0 {
		return
	}
	depth := s.messageDepths()
	own := depth[s.leaf]
	if slices.Max(depth) == own {
		return
	}
	const show = 3
	var hidden []string
	more, line, offset := 0, 0, int64(0)
	for _, i := range s.leafPlaces() {
		if i == s.leaf || depth[i] <= own {
			continue
		}
		e := s.entries[i]
		if len(hidden) == show {
			more++
			continue
		}
		hidden = append(hidden, fmt.Sprintf("%s (%d messages)", e.ID, depth[i]))
		line, offset = e.Line, e.Offset
	}
	if more > 0 {
		hidden = append(hidden, fmt.Sprintf("and at %d more", more))
	}
	if len(hidden) > 0 {
		s.note(KindLeaves, line, offset, s.leafID(),
			"the last entry %s is the leaf, with %d messages on its branch; longer branches end at %s",
			s.leafID(), own, strings.Join(hidden, ", "))
	}
}

// messageDepths counts the messages from the root to each entry, in one pass. A
// parent that stands behind its child does not count: this is for a notice only.
func (s *Session) messageDepths() []int {
	depth := make([]int, len(s.entries))
	for i := range s.entries {
		e := &s.entries[i]
		if p, ok := s.lastBefore(e); ok {
			depth[i] = depth[p]
		}
		if e.Type == TypeMessage && e.Role != "system" {
			depth[i]++
		}
	}
	return depth
}

// lastBefore is the place of an entry's parent, if that stands before it.
func (s *Session) lastBefore(e *Entry) (int, bool) {
	if e.Parent == "" {
		return 0, false
	}
	if e.pos > 0 && s.entries[e.pos-1].ID == e.Parent && len(s.twins) == 0 { // nearly always
		return e.pos - 1, true
	}
	p, ok := s.place(e.Parent)
	return p, ok && p < e.pos
}
