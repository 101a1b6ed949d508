package files

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// block is how many folders a goroutine takes at once, and how many are searched
// between two looks at the context.
const block = 64

// small is how many files are searched without further goroutines.
const small = 4000

// search finds the best limit hits of a tree. points are those of single paths.
// within are the places of the folders that are worth a look, nil for all; live are
// those of them that a longer query may match as well.
func search(ctx context.Context, t *tree, q *query, limit int, points map[string]int, within []int32) (hits []hit, live []int32, err error) {
	if limit <= 0 || len(q.runes) > maxQuery {
		return nil, nil, ctx.Err()
	}
	run := &searching{ctx: ctx, t: t, q: q, limit: limit, within: within}
	run.favourites(points)
	n := len(t.dirs)
	if within != nil {
		n = len(within)
	}
	blocks := (n + block - 1) / block
	workers := min(runtime.GOMAXPROCS(0), blocks)
	if t.files < small {
		workers = 1
	}
	var mu sync.Mutex
	lists := make([][]int32, blocks)
	work := func() {
		w := &worker{searching: run, scorer: newScorer(q), words: q.words()}
		for {
			b := int(run.next.Add(1)) - 1
			if b >= blocks || ctx.Err() != nil {
				break
			}
			lists[b] = w.block(b*block, min((b+1)*block, n))
		}
		mu.Lock()
		defer mu.Unlock()
		hits = append(hits, w.best...)
	}
	if workers <= 1 {
		work()
	} else {
		var group sync.WaitGroup
		for range workers {
			group.Go(work)
		}
		group.Wait()
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	hits = append(hits, run.favoured...)
	slices.SortFunc(hits, func(a, b hit) int {
		if better(&a, &b) {
			return -1
		}
		return 1
	})
	return hits[:min(len(hits), limit)], slices.Concat(lists...), nil
}

type searching struct {
	ctx    context.Context
	t      *tree
	q      *query
	limit  int
	within []int32
	next   atomic.Int64

	favoured []hit                 // those with points that match
	skip     map[[2]int32]struct{} // those with points, so that they are met once
	bar      atomic.Uint64         // no lesser key is among the best
}

// favourites ranks the paths that have points before all others.
func (s *searching) favourites(points map[string]int) {
	if len(points) == 0 {
		return
	}
	s.skip = map[[2]int32]struct{}{}
	sc := newScorer(s.q)
	for path, score := range points {
		n, i, ok := s.t.locate(path)
		if !ok {
			continue
		}
		at := [2]int32{int32(n), int32(i)}
		if _, twice := s.skip[at]; twice {
			continue
		}
		s.skip[at] = struct{}{}
		d := s.t.dirs[n]
		var k key
		if i < 0 {
			k = sc.folder(d, score, 0)
		} else {
			k = sc.rank(d, d.path, d.fold, d.name(i), d.foldOf(i, sc.buf[:]), s.q.at(d.fold), false, score, 0)
		}
		if k > 0 {
			s.favoured = append(s.favoured, hit{key: k, d: d, i: i})
		}
	}
}

// folder ranks a folder itself.
func (s *scorer) folder(d *dir, points int, below key) key {
	at := strings.LastIndexByte(d.fold, '/')
	parent := d.fold[:max(at, 0)]
	p := s.q.at(parent)
	if bound := s.q.bound(p, d.mask, points); bound == 0 || bound < below {
		return 0
	}
	return s.rank(d, d.path[:max(strings.LastIndexByte(d.path, '/'), 0)], parent, d.base(), d.fold[at+1:], p, true, points, below)
}

// worker searches blocks of folders and keeps the best hits that it meets.
type worker struct {
	*searching
	*scorer
	best  []hit // a heap with the worst on top
	words key   // more than any name can have that does not begin with the query
}

// words is more than any key of a name that does not begin with the query; where
// that is not known, more than any key.
func (q *query) words() key {
	if q.slash || q.name == "" || q.name[0] >= utf8.RuneSelf {
		return ^key(0)
	}
	return bestKey(classWord, pointsCase)
}

// block searches some folders and says which of them a longer query may match.
func (w *worker) block(from, to int) (live []int32) {
	q := w.scorer.q
	for at := from; at < to; at++ {
		n := int32(at)
		if w.within != nil {
			n = w.within[at]
		}
		if !w.t.letters[n].hold(&q.all) {
			continue
		}
		d := w.t.dirs[n]
		k := q.reach(d.fold)
		need := q.suffix[k]
		inside, itself := d.union&need == need, d.path != "" && k >= len(q.runes) && q.advance(d.fold, 0) >= len(q.runes)
		if !inside && !itself {
			continue
		}
		live = append(live, n)
		if itself {
			w.offer(d, n, -1, w.folder(d, 0, w.least()))
		}
		if !inside {
			continue
		}
		p := q.atReached(d.fold, k)
		if q.bound(p, d.union, 0) < w.least() {
			continue
		}
		for i := range d.files {
			mask, below := d.files[i].mask, w.least()
			if mask&need != need {
				continue
			}
			if below > w.words && d.folds == nil && lowered[d.first(i)] != q.name[0] {
				continue // only what begins with the query is good enough
			}
			if bound := q.bound(p, mask, 0); bound == 0 || bound < below {
				continue
			}
			w.offer(d, n, i, w.rank(d, d.path, d.fold, d.name(i), d.foldOf(i, w.buf[:]), p, false, 0, below))
		}
	}
	return live
}

// least is a key below which nothing is among the best.
func (w *worker) least() key {
	if len(w.best) == w.limit {
		return max(w.best[0].key, key(w.bar.Load()))
	}
	return key(w.bar.Load())
}

// offer takes a hit if it is among the best so far.
func (w *worker) offer(d *dir, n int32, i int, k key) {
	if k == 0 || k < w.least() {
		return
	}
	if _, known := w.skip[[2]int32{n, int32(i)}]; known {
		return
	}
	h := hit{key: k, d: d, i: i}
	switch {
	case len(w.best) < w.limit:
		w.best = append(w.best, h)
		w.up(len(w.best) - 1)
	case better(&h, &w.best[0]):
		w.best[0] = h
		w.down(0)
	default:
		return
	}
	if len(w.best) == w.limit {
		for worst := uint64(w.best[0].key); ; {
			bar := w.bar.Load()
			if bar >= worst || w.bar.CompareAndSwap(bar, worst) {
				return
			}
		}
	}
}

func (w *worker) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !better(&w.best[parent], &w.best[i]) {
			return
		}
		w.best[i], w.best[parent] = w.best[parent], w.best[i]
		i = parent
	}
}

func (w *worker) down(i int) {
	for {
		worst := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(w.best); child++ {
			if better(&w.best[worst], &w.best[child]) {
				worst = child
			}
		}
		if worst == i {
			return
		}
		w.best[i], w.best[worst] = w.best[worst], w.best[i]
		i = worst
	}
}
