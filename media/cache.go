package media

import (
	"container/list"
	"fmt"
	"hash/maphash"
	"sync"
)

// The bounds of the cache of admitted pictures.
const (
	cacheEntries = 128
	cacheBytes   = 64 << 20
)

// cache keeps the pictures that were admitted last, by the hash of what came.
// The content is the key, never a path.
type cache struct {
	mu    sync.Mutex
	byKey map[[32]byte]*list.Element
	order *list.List // the one used last is at the front
	bytes int
}

type cached struct {
	key     [32]byte
	picture *Admitted
}

func newCache() cache { return cache{byKey: map[[32]byte]*list.Element{}, order: list.New()} }

func (c *cache) get(key [32]byte) *Admitted {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(cached).picture
}

func (c *cache) put(key [32]byte, p *Admitted) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.byKey[key]; ok {
		return
	}
	c.byKey[key] = c.order.PushFront(cached{key, p})
	c.bytes += len(p.Data)
	for c.order.Len() > cacheEntries || c.bytes > cacheBytes && c.order.Len() > 1 {
		last := c.order.Back()
		old := c.order.Remove(last).(cached)
		delete(c.byKey, old.key)
		c.bytes -= len(old.picture.Data)
	}
}

// memoEntries bounds how many judgements of stored pictures are remembered.
const memoEntries = 4096

// judgement is what is known of a picture as it stands in a session.
type judgement struct {
	mime          string
	width, height int
	refused       *Error // why it cannot be sent, nil if it can
	again         bool   // it cannot go out as it stands
	bound         bool   // because it has to be bounded first
}

// memo remembers judgements by a keyed hash of the base64 text, so that a
// history is decoded once and not for every request.
type memo struct {
	mu   sync.Mutex
	seed maphash.Seed
	all  map[memoKey]judgement
}

type memoKey struct {
	hash uint64
	size int
}

func (k memoKey) String() string { return fmt.Sprintf("%x.%d", k.hash, k.size) }

// Key names the data of an image block as [Placed.Key] does. It counts only for
// this admitter.
func (a *Admitter) Key(data string) string { return a.memo.key(data).String() }

func newMemo() memo { return memo{seed: maphash.MakeSeed(), all: map[memoKey]judgement{}} }

func (m *memo) key(text string) memoKey { return memoKey{maphash.String(m.seed, text), len(text)} }

func (m *memo) get(k memoKey) (judgement, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	j, ok := m.all[k]
	return j, ok
}

func (m *memo) put(k memoKey, j judgement) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.all) >= memoEntries {
		clear(m.all) // a rare start from nothing is cheaper than an order
	}
	m.all[k] = j
}
