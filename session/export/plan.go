package export

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"github.com/piweb-go/piweb/internal/structure"
	"github.com/piweb-go/piweb/session"
)

// Plan says how entries of a session stand in a new file: under which id, and on
// which parent. In the new file every id is there once, every parent exists, and
// no walk comes back to where it was, so that no reader can hang on it. Where the
// session is in order, every entry keeps its bytes.
//
// An id that occurs several times stays with its last entry, the one that
// readers find; the earlier ones get new ids, always the same ones. What refers to
// an entry follows: parents, the first kept entry of a compaction, and the edits
// of an entry, which piweb applies to every entry with the id.
type Plan struct {
	s       *session.Session
	entries []session.Entry
	parent  []int        // place of the parent, -1 for a root
	id      []session.ID // in the new file
	tail    []session.ID // what children hang on: the id, or that of a copied edit
	taken   map[session.ID]bool
	twins   map[session.ID][]int // places of ids that occur several times
	repeats map[int][]repeat     // edits that the session does not have, by place
}

// repeat is an edit that is written again for an entry that got a new id.
type repeat struct{ id, target session.ID }

// maxCopies bounds the edits that are repeated, so that a file made for it cannot
// grow by the square. No writer comes near it.
const maxCopies = 10000

// Linear plans the path to an entry as one chain, as pi exports it. The empty id
// is the session's leaf.
func Linear(s *session.Session, leaf session.ID) (*Plan, error) {
	if leaf == "" {
		leaf = s.Leaf()
	}
	b, err := s.Branch(leaf)
	if err != nil {
		return nil, err
	}
	parent := make([]int, len(b.Entries))
	for i := range parent {
		parent[i] = i - 1
	}
	return newPlan(s, b.Entries, parent)
}

// Tree plans all entries, in the order of the file. The path to the leaf is the
// one that piweb reads. On the other branches a parent whose id occurs several
// times is the nearest before the child, which is the one that its writer knew.
func Tree(s *session.Session) (*Plan, error) {
	var entries []session.Entry
	places := map[session.ID][]int{}
	byOffset := map[int64]int{}
	for e := range s.Entries() {
		places[e.ID] = append(places[e.ID], len(entries))
		byOffset[e.Offset] = len(entries)
		entries = append(entries, e)
	}
	b, err := s.Branch(s.Leaf())
	if err != nil {
		return nil, err
	}
	parent := make([]int, len(entries))
	for i, e := range entries {
		parent[i] = nearest(places[e.Parent], i)
	}
	before := -1
	for _, e := range b.Entries {
		i := byOffset[e.Offset]
		parent[i], before = before, i
	}
	cutCycles(parent)
	return newPlan(s, entries, parent)
}

// nearest is the last of some places before i, or the first behind it, or -1.
// The places are in order.
func nearest(places []int, i int) int {
	at, self := slices.BinarySearch(places, i)
	if at > 0 {
		return places[at-1]
	}
	if self {
		at++
	}
	if at < len(places) {
		return places[at]
	}
	return -1
}

// cutCycles makes a root of the entry through which a walk would come back.
func cutCycles(parent []int) {
	done := make([]int, len(parent)) // 0: not seen; else the number of the walk
	for i := range parent {
		walk := i + 1
		for at := i; at >= 0 && done[at] == 0; at = parent[at] {
			done[at] = walk
			if p := parent[at]; p >= 0 && done[p] == walk {
				parent[at] = -1
			}
		}
	}
}

func newPlan(s *session.Session, entries []session.Entry, parent []int) (*Plan, error) {
	p := &Plan{s: s, entries: entries, parent: parent, id: make([]session.ID, len(entries)), tail: make([]session.ID, len(entries)),
		taken: map[session.ID]bool{}, twins: map[session.ID][]int{}, repeats: map[int][]repeat{}}
	for e := range s.Entries() {
		p.taken[e.ID] = true // also of entries that stay behind: nothing may come to mean them
	}
	last := map[session.ID]int{}
	for i, e := range entries {
		if before, ok := last[e.ID]; ok {
			if len(p.twins[e.ID]) == 0 {
				p.twins[e.ID] = []int{before}
			}
			p.twins[e.ID] = append(p.twins[e.ID], i)
		}
		last[e.ID] = i
	}
	for i, e := range entries {
		p.id[i] = e.ID
		if last[e.ID] != i {
			p.id[i] = p.fresh(e.ID, i)
		}
		p.tail[i] = p.id[i]
	}
	return p, p.repeatEdits()
}

// fresh derives an id that is nowhere in the file, the same at every run.
func (p *Plan) fresh(old session.ID, place int) session.ID {
	for salt := 0; ; salt++ {
		sum := sha256.Sum256([]byte(p.s.ID() + "\n" + string(old) + "\n" + strconv.Itoa(place) + "\n" + strconv.Itoa(salt)))
		id := session.ID(hex.EncodeToString(sum[:4]))
		if !p.taken[id] {
			p.taken[id] = true
			return id
		}
	}
}

// Len is the number of entries.
func (p *Plan) Len() int { return len(p.entries) }

// Entry is the entry at a place, as it is in the session.
func (p *Plan) Entry(i int) session.Entry { return p.entries[i] }

// Lines gives the lines of the entry at a place, without line feeds. It is one,
// except for an edit of an id that occurs several times on its path: there is one
// for each.
func (p *Plan) Lines(i int) ([][]byte, error) {
	raw, err := p.s.Raw(p.entries[i])
	if err != nil {
		return nil, err
	}
	parent := session.ID("")
	if p.parent[i] >= 0 {
		parent = p.tail[p.parent[i]]
	}
	if raw, err = setIDs(raw, p.entries[i], p.id[i], parent); err != nil {
		return nil, fmt.Errorf("write entry %s anew: %w", p.entries[i].ID, err)
	}
	switch p.entries[i].Type {
	case session.TypeCompaction:
		raw, err = p.kept(i, raw)
	case session.TypeContextEdit:
		return p.repeated(i, raw)
	}
	return [][]byte{raw}, err
}

// setIDs changes id and parent where they differ, and nothing else. An entry of
// a missing parent field is a root to every reader and stays as it is.
func setIDs(raw []byte, e session.Entry, id, parent session.ID) ([]byte, error) {
	var err error
	if e.ID != id {
		if raw, err = setString(raw, "id", id); err != nil {
			return nil, err
		}
	}
	if e.Parent == parent {
		return raw, nil
	}
	if parent == "" {
		return structure.Set(raw, "parentId", []byte("null"))
	}
	return setString(raw, "parentId", parent)
}

func setString(raw []byte, key string, id session.ID) ([]byte, error) {
	return structure.SetText(raw, key, string(id))
}

// kept keeps what a compaction keeps: the first entry of the path with the id, or
// nothing, which is written as the compaction's own id.
func (p *Plan) kept(i int, raw []byte) ([]byte, error) {
	first := session.ID(structure.Text(structure.Get(raw, "firstKeptEntryId")))
	if first == "" {
		return raw, nil
	}
	found := -1
	for at := p.parent[i]; at >= 0; at = p.parent[at] {
		if p.entries[at].ID == first {
			found = at
		}
	}
	want := p.id[i]
	if found >= 0 {
		want = p.id[found]
	}
	if want == first {
		return raw, nil
	}
	return setString(raw, "firstKeptEntryId", want)
}

// repeatEdits plans an edit again for every other entry that had its target's id.
func (p *Plan) repeatEdits() error {
	n := 0
	for i, e := range p.entries {
		if len(p.twins) == 0 || e.Type != session.TypeContextEdit {
			continue
		}
		raw, err := p.s.Raw(e)
		if err != nil {
			return err
		}
		target := session.ID(structure.Text(structure.Get(raw, "targetId")))
		for _, twin := range p.twins[target] {
			if p.id[twin] == target || n == maxCopies {
				continue
			}
			n++
			p.tail[i] = p.fresh(target, len(p.entries)+n)
			p.repeats[i] = append(p.repeats[i], repeat{p.tail[i], p.id[twin]})
		}
	}
	return nil
}

// repeated writes the edit of a place and what is planned behind it.
func (p *Plan) repeated(i int, raw []byte) ([][]byte, error) {
	lines := [][]byte{raw}
	parent := p.id[i]
	for _, r := range p.repeats[i] {
		more, err := setString(raw, "id", r.id)
		if err == nil {
			more, err = setString(more, "parentId", parent)
		}
		if err == nil {
			more, err = setString(more, "targetId", r.target)
		}
		if err != nil {
			return nil, err
		}
		lines = append(lines, more)
		parent = r.id
	}
	return lines, nil
}
