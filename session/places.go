package session

import (
	"hash/maphash"
	"slices"
)

// places finds the place of an entry by its id. It is a table of numbers with open
// addressing, because it is filled with every entry of a file at each open: a map of
// strings costs three times as much to fill, takes seven times the memory, and has
// the collector look at all of it. The ids themselves stand in the entries. The seed
// keeps who chooses ids from choosing collisions.
type places struct {
	seed  maphash.Seed
	slots []slot // a power of two of them; at most half are taken
	n     int
	lent  bool // others read the slots: they are copied before they change
}

// shared is the same table for another reader; whoever changes it first copies it.
func (p *places) shared() places {
	p.lent = true
	return *p
}

func (p *places) own() {
	if p.lent {
		p.slots, p.lent = slices.Clone(p.slots), false
	}
}

// slot is free where place is 0.
type slot struct {
	hash  uint32
	place int32 // plus one
}

const fewestSlots = 16

// find returns where the slot of an id is, or the free one that it would take.
func (p *places) find(entries []Entry, id ID, hash uint32) (at int, taken bool) {
	mask := len(p.slots) - 1
	for at = int(hash) & mask; p.slots[at].place != 0; at = (at + 1) & mask {
		if s := p.slots[at]; s.hash == hash && entries[s.place-1].ID == id {
			return at, true
		}
	}
	return at, false
}

func (p *places) hash(id ID) uint32 { return uint32(maphash.String(p.seed, string(id))) }

// get returns the place of an id in entries.
func (p *places) get(entries []Entry, id ID) (int, bool) {
	if p.n == 0 {
		return 0, false
	}
	at, ok := p.find(entries, id, p.hash(id))
	return int(p.slots[at].place) - 1, ok
}

// put gives an id a place, and returns the one that it had; -1 for none.
func (p *places) put(entries []Entry, id ID, place int) (before int) {
	if 2*p.n >= len(p.slots) {
		p.grow(max(fewestSlots, 2*len(p.slots)))
	}
	p.own()
	hash := p.hash(id)
	at, taken := p.find(entries, id, hash)
	before = int(p.slots[at].place) - 1
	if !taken {
		p.n++
	}
	p.slots[at] = slot{hash, int32(place) + 1}
	return before
}

// reserve makes room for n ids.
func (p *places) reserve(n int) {
	size := max(fewestSlots, len(p.slots))
	for size < 2*n {
		size *= 2
	}
	if size > len(p.slots) {
		p.grow(size)
	}
}

func (p *places) grow(size int) {
	if p.slots == nil {
		p.seed = maphash.MakeSeed()
	}
	old := p.slots
	p.slots, p.lent = make([]slot, size), false
	for _, s := range old {
		if s.place == 0 {
			continue
		}
		at := int(s.hash) & (size - 1)
		for p.slots[at].place != 0 {
			at = (at + 1) & (size - 1)
		}
		p.slots[at] = s
	}
}

// remove forgets an id. Its entry must still be there.
func (p *places) remove(entries []Entry, id ID) {
	if p.n == 0 {
		return
	}
	at, ok := p.find(entries, id, p.hash(id))
	if !ok {
		return
	}
	p.own()
	p.n--
	mask := len(p.slots) - 1
	for next := (at + 1) & mask; p.slots[next].place != 0; next = (next + 1) & mask {
		// What belongs at or before the gap moves into it.
		if home := int(p.slots[next].hash) & mask; (next-home)&mask >= (next-at)&mask {
			p.slots[at] = p.slots[next]
			at = next
		}
	}
	p.slots[at] = slot{}
}
