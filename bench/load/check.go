package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// check compares what the streams of one session saw of its turns.
type check struct {
	tally *tally

	mu      sync.Mutex
	turns   map[int64][]mark   // by the id of the last chunk: as the stream that stays saw it
	order   []int64            // of the turns
	waiting map[int64][][]mark // what others saw before the one that stays
}

func newCheck(t *tally) *check {
	return &check{tally: t, turns: map[int64][]mark{}, waiting: map[int64][][]mark{}}
}

// keep is how many turns are remembered for streams that are behind.
const keep = 20

// turnOf takes a whole turn, as one stream saw it.
func (c *check) turnOf(truth bool, turn []mark) {
	turn = slices.Clone(turn)
	end := turn[len(turn)-1].id
	c.mu.Lock()
	defer c.mu.Unlock()
	if truth {
		c.tally.turn()
		c.turns[end] = turn
		if c.order = append(c.order, end); len(c.order) > keep {
			delete(c.turns, c.order[0])
			c.order = c.order[1:]
		}
		for _, seen := range c.waiting[end] {
			c.compare(turn, seen)
		}
		delete(c.waiting, end)
		return
	}
	if known, ok := c.turns[end]; ok {
		c.compare(known, turn)
		return
	}
	c.waiting[end] = append(c.waiting[end], turn)
}

func (c *check) compare(want, got []mark) {
	lost, doubled, other := difference(want, got)
	c.tally.compared(lost, doubled, other)
}

// difference counts what is missing, what is there more than once or should not be
// there, and what is there with another content.
func difference(want, got []mark) (lost, doubled, other int) {
	seen := map[int64]int{}
	hash := map[int64]uint64{}
	for _, m := range got {
		seen[m.id]++
		hash[m.id] = m.hash
	}
	for _, m := range want {
		switch {
		case seen[m.id] == 0:
			lost++
		case hash[m.id] != m.hash:
			other++
		}
		delete(hash, m.id)
		if seen[m.id] > 1 {
			doubled += seen[m.id] - 1
		}
	}
	return lost, doubled + len(hash), other
}

// tally is what the whole run counts.
type tally struct {
	begun time.Time

	mu                           sync.Mutex
	turns, seen, away            int
	lost, twice, different       int
	frames, bytes                int64
	streams, reconnects, most    int
	texts, textsWrong, errsCount int
	errs                         []string
}

func (t *tally) add(do func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	do()
}

func (t *tally) turn()         { t.add(func() { t.turns++ }) }
func (t *tally) missed()       { t.add(func() { t.away++ }) }
func (t *tally) came()         { t.add(func() { t.reconnects++ }) }
func (t *tally) count(n int)   { t.add(func() { t.frames++; t.bytes += int64(n) }) }
func (t *tally) open(n int)    { t.add(func() { t.streams += n; t.most = max(t.most, t.streams) }) }
func (t *tally) nowOpen() int  { t.mu.Lock(); defer t.mu.Unlock(); return t.streams }
func (t *tally) nowTurns() int { t.mu.Lock(); defer t.mu.Unlock(); return t.turns }

func (t *tally) compared(lost, twice, other int) {
	t.add(func() { t.seen++; t.lost += lost; t.twice += twice; t.different += other })
}

func (t *tally) compareText(heard, kept string) {
	t.add(func() {
		if t.texts++; heard != kept {
			t.textsWrong++
		}
	})
}

// wrong notes what should not happen.
func (t *tally) wrong(format string, args ...any) {
	t.add(func() {
		if t.errsCount++; len(t.errs) < 10 {
			t.errs = append(t.errs, fmt.Sprintf(format, args...))
		}
	})
}

// failed notes an error that is not the end of the run, or of a stay.
func (t *tally) failed(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		t.wrong("%v", err)
	}
}

// report prints what was seen and tells whether it is as it should be.
func (t *tally) report(w io.Writer) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	took := time.Since(t.begun)
	fmt.Fprintf(w, "\n%d turns; %d frames, %.0f a second, %.1f MB; at most %d streams open, %d reconnects\n", t.turns, t.frames, float64(t.frames)/took.Seconds(), float64(t.bytes)/1e6, t.most, t.reconnects)
	fmt.Fprintf(w, "%d turns compared over streams that came and went: %d events lost, %d doubled, %d different\n", t.seen, t.lost, t.twice, t.different)
	fmt.Fprintf(w, "%d turns ended while a stream was away; their text is in the history\n", t.away)
	fmt.Fprintf(w, "%d texts compared with the session's file: %d different\n", t.texts, t.textsWrong)
	fmt.Fprintf(w, "%d errors\n", t.errsCount)
	for _, e := range t.errs {
		fmt.Fprintf(w, "  %s\n", e)
	}
	return t.lost+t.twice+t.different+t.textsWrong+t.errsCount == 0 && t.seen > 0
}
